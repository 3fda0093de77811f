"""All submissions as CSV, with scores as far as they are disclosed to who asks."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import User
from competitions.catalog.models import Column, CompetitionOrganizer, Leaderboard, SealedUse
from competitions.leaderboards.reading import export
from competitions.submissions.models import Submission
from competitions.submissions.services import submission_disqualify
from tests.permissions import body_text, user_client
from tests.scenario import Scenario, person

pytestmark = pytest.mark.django_db


def page(site: Scenario) -> str:
    return reverse("organize:submissions-csv", args=[site.competition.slug])


def rows(user: User, path: str, **filters: Any) -> list[dict[str, str]]:
    answer = user_client(user).get(path, filters)
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(body_text(answer))))


def test_organizers_get_every_submission_with_its_exact_scores(site: Scenario) -> None:
    first, second = site.score(site.submit(), 0.123456), site.submit()
    Submission.objects.filter(pk=second.pk).update(description='=HYPERLINK("x")')
    submission_disqualify(submission=first, reason="Copied", now=site.now)
    newest, oldest = rows(site.organizer, page(site))
    assert [newest["id"], oldest["id"]] == [str(second.pk), str(first.pk)]
    assert (oldest["status"], oldest["test-dev/main/mae"], oldest["disqualified"]) == (
        "finished",
        "0.1234560000",
        "Copied",
    )
    assert (newest["status"], newest["test-dev/main/mae"], newest["team"]) == ("queued", "", site.team.name)
    assert newest["description"] == '\'=HYPERLINK("x")', "no formula for a spreadsheet"
    (by_file,) = rows(site.organizer, page(site), state="queued", before=1)
    assert by_file["id"] == str(second.pk), "the filters of the page, and all of its pages"
    by_api = rows(site.organizer, f"/api/v1/competitions/{site.competition.slug}/submissions.csv", phase="test-dev")
    assert [row["mae"] for row in by_api] == ["", "0.1234560000"], "one board needs no long names"


def test_sealed_scores_are_for_those_with_the_right_and_on_record(site: Scenario) -> None:
    submission = site.score(site.submit(phase=site.sealed), 0.77777)
    paths = (page(site), f"/api/submissions/?format=csv&phase={site.sealed.pk}")
    for path in paths:
        (row,) = rows(site.organizer, path)
        assert (row["id"], row["has_sealed_scores"]) == (str(submission.pk), "yes")
        assert not any("0.777" in value for value in row.values())
        assert [name for name in row if "mae" in name] in (["test-dev/main/mae"], []), "nor the names of their columns"
    assert not SealedUse.objects.exists()
    CompetitionOrganizer.objects.filter(competition=site.competition).update(can_see_sealed=True)
    (row,) = rows(site.organizer, page(site))
    assert row["test-challenge/main/mae"] == "0.7777700000"
    assert SealedUse.objects.get().user == site.organizer


def test_codabenchs_clients_get_what_they_may_read(site: Scenario) -> None:
    """A team has its own, rounded as on the board where that gives no exact scores."""
    board = Leaderboard.objects.filter(phase=site.phase)
    site.score(site.submit(), 0.123456)
    other = site.join()
    site.submit(team=other)
    path = f"/api/submissions/?phase={site.phase.pk}&format=csv"
    for is_exact, shown in ((False, "0.1235"), (True, "0.1234560000")):
        board.update(gives_exact_scores=is_exact)
        (row,) = rows(site.member(), path)
        assert (row["team"], row["mae"]) == (site.team.name, shown)
    Column.objects.filter(leaderboard__phase=site.phase).update(is_hidden=True)
    (row,) = rows(site.member(), path)
    assert "mae" not in row
    assert len(rows(site.organizer, path)) == 2
    assert rows(person(), path) == []
    refused = user_client(site.member()).get("/api/submissions/?format=xml")
    assert refused.status_code == 404
    wrong = user_client(site.member()).get("/api/submissions/?format=csv&phase=x")
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid"), "what is refused is said as JSON"


def test_neither_memory_nor_a_query_grows_with_the_number_of_submissions(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "AT_ONCE", 3)
    for _ in range(3):
        site.submit()
    with CaptureQueriesContext(
        connection,
    ) as few:
        rows(site.organizer, page(site))
    other = site.join()
    for _ in range(3):
        site.submit(team=other)
    with CaptureQueriesContext(connection) as many:
        assert len(rows(site.organizer, page(site))) == 6
    read = [query["sql"] for query in many if 'FROM "submissions_submission"' in query["sql"]]
    assert all("LIMIT 3" in sql or "IN (" in sql for sql in read)
    assert len(many) - len(few) <= 3, "three for each further piece"
