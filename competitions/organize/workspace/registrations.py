"""The organizer's list of registrations, as a file, too; and decisions on those that are chosen."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django import forms
from django.db.models import Q, QuerySet
from django.http import HttpResponse

from accounts.models import User
from competitions.catalog.models import Competition
from competitions.catalog.questions import shown_answer
from competitions.organize.forms import ListForm
from competitions.organize.refusals import REASON_MISSING
from competitions.teams.models import Membership, Registration, Team
from competitions.teams.services import registration_decide
from core.spreadsheets import safe_cell

ACTIONS: Final[Mapping[str, tuple[str, str]]] = {"approve": ("Approve", "approved"), "deny": ("Deny", "denied")}


class RegistrationFilter(ListForm):
    """Filters of the list of registrations."""

    person = forms.CharField(label="Name or e-mail", required=False, max_length=150)
    state = forms.ChoiceField(choices=[("", "All"), *Registration.State.choices], required=False)

    def narrowed(self, competition: Competition) -> QuerySet[Registration]:
        """The competition's registrations that the address asks for, the newest first."""
        self.is_valid()
        rows = Registration.objects.filter(competition=competition)
        if text := self.cleaned_data.get("person"):
            names = ("username", "email", "first_name", "last_name")
            matches = [Q(**{f"user__{name}__icontains": text}) for name in names]
            rows = rows.filter(matches[0] | matches[1] | matches[2] | matches[3])
        rows = rows.select_related("user", "rules_version", "decided_by", "competition")
        return self.filtered(rows, state="state")


@dataclass(frozen=True)
class RegistrationRow:
    """A registration with the answers as their questions ask for them, and the person's team."""

    registration: Registration
    answers: list[tuple[str, str]]
    team: Team | None


def registration_rows(competition: Competition, registrations: Sequence[Registration]) -> list[RegistrationRow]:
    """Rows of these registrations, in a few queries for any number of them."""
    titles = dict(competition.registration_questions.values_list("key", "title"))
    people = [registration.user_id for registration in registrations]
    memberships = Membership.objects.filter(competition=competition, user__in=people).select_related("team")
    teams = {membership.user_id: membership.team for membership in memberships}
    return [
        RegistrationRow(
            registration,
            [(titles.get(key, key), shown_answer(answer)) for key, answer in registration.answers.items()],
            teams.get(registration.user_id),
        )
        for registration in registrations
    ]


def decide(registrations: QuerySet[Registration], action: str, *, reason: str, by: User, now: datetime) -> int:
    """Approve or deny each; returns how many were not so before. Raises `REASON_MISSING`."""
    if action == "deny" and not reason.strip():
        raise REASON_MISSING()
    approve = action == "approve"
    return sum(
        registration_decide(registration=registration, approve=approve, by=by, now=now, reason=reason)
        for registration in registrations
    )


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
