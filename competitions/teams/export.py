"""Registrations with their answers as CSV, for organizers."""

import csv

from django.db.models import QuerySet
from django.http import HttpResponse

from competitions.teams.models import Registration
from core.spreadsheets import safe_cell


def registrations_csv(registrations: QuerySet[Registration]) -> HttpResponse:
    """One line a registration, one column a question that anybody answered."""
    rows = list(registrations)
    keys = sorted({key for row in rows for key in row.answers})
    response = HttpResponse(
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="registrations.csv"'},
    )
    writer = csv.writer(response)
    writer.writerow(["competition", "user", "email", "state", "rules_version", "accepted_at", *keys])
    for row in rows:
        answers = [safe_cell(str(row.answers.get(key, ""))) for key in keys]
        person = [safe_cell(row.user.username), safe_cell(row.user.email)]
        writer.writerow(
            [row.competition.slug, *person, row.state, row.rules_version.number, row.accepted_at.isoformat(), *answers]
        )
    return response
