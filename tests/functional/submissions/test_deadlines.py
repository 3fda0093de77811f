"""Late submissions, changes of a phase that has begun, and what is put on record about sealed scores."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.urls import reverse

from competitions.catalog.models import Column, CompetitionOrganizer, Leaderboard, Phase, SealedUse
from competitions.submissions.models import Submission
from competitions.submissions.refusals import PhaseClosed
from competitions.submissions.states import State
from tests.admin_forms import save_confirmed, save_form
from tests.pages import page_words
from tests.permissions import user_client
from tests.scenario import Scenario

MICROSECOND = timedelta(microseconds=1)


@pytest.mark.parametrize(("before", "is_late"), [(MICROSECOND, False), (timedelta(0), True)])
def test_a_late_submission_runs_and_is_scored_and_never_ranked(
    site: Scenario, before: timedelta, is_late: bool
) -> None:
    Phase.objects.filter(pk=site.phase.pk).update(accepts_late=True, closes_at=site.now + timedelta(days=1))
    site.phase.refresh_from_db()
    assert site.phase.closes_at is not None
    submission = site.score(site.submit(at=site.phase.closes_at - before), 0.1)
    assert (submission.status, submission.is_late) == (State.FINISHED, is_late)
    board: Leaderboard = site.phase.leaderboard
    assert submission.scores.get().values == {"mae": 0.1}
    assert board.entries.exists() is not is_late
    row = user_client(site.member()).get(reverse("web:submission-row", args=[submission.pk])).content.decode()
    assert ("late, not ranked" in row) is is_late
    assert "0.1000" in row


def test_where_late_ones_are_not_taken_the_end_is_the_end(site: Scenario) -> None:
    assert site.phase.closes_at is not None
    with pytest.raises(PhaseClosed, match="An upload counts if your team began it"):
        site.submit(at=site.phase.closes_at)
    assert not Submission.objects.exists()


def test_a_closed_phase_that_takes_late_ones_says_so(site: Scenario) -> None:
    past = site.now - timedelta(days=1)
    Phase.objects.filter(competition=site.competition).update(closes_at=past)
    Phase.objects.filter(pk=site.phase.pk).update(accepts_late=True)
    client, slug = user_client(site.member()), site.competition.slug
    page = client.get(reverse("web:submissions", args=[slug]), {"phase": site.phase.slug})
    assert "Late: submissions made now are scored" in page.content.decode()
    assert ">Late submission</a>" in client.get(reverse("web:overview", args=[slug])).content.decode()


def submissions_page(site: Scenario) -> str:
    url = reverse("web:submissions", args=[site.competition.slug])
    return page_words(user_client(site.member()).get(url, {"phase": site.phase.slug}))


def test_a_phase_that_takes_nothing_says_when_and_offers_no_quota(site: Scenario) -> None:
    assert f"Submit to {site.phase.name}" in submissions_page(site)
    assert "All limits and the deadline" in submissions_page(site)
    Phase.objects.filter(pk=site.phase.pk).update(closes_at=site.now - timedelta(days=1))
    closed = submissions_page(site)
    assert "Submissions are closed Closed on" in closed
    assert "Submit to" not in closed
    assert "All limits and the deadline" not in closed
    Phase.objects.filter(pk=site.phase.pk).update(opens_at=site.now + timedelta(days=1), closes_at=None)
    assert "Submissions open on" in submissions_page(site)


def change(site: Scenario, **fields: list[str] | None) -> str:
    answer = save_form(
        user_client(site.organizer), reverse("admin:catalog_phase_change", args=[site.phase.pk]), **fields
    )
    return answer.content.decode() if answer.status_code == 200 else ""


def confirm(site: Scenario, **fields: list[str] | None) -> Any:
    url = reverse("admin:catalog_phase_change", args=[site.phase.pk])
    return save_confirmed(user_client(site.organizer), url, **fields)


def test_a_change_of_a_phase_that_has_begun_says_what_it_does_before_it_is_saved(site: Scenario) -> None:
    site.score(site.submit(at=site.now + timedelta(days=3)), 0.5)
    site.submit()
    changed = {
        "closes_at": ["2030-05-02T00:00"],
        "max_submissions": ["1"],
        "time_limit_s": ["60"],
    }
    page = change(site, **changed)
    for sentence in (
        "Nothing is saved yet",
        "Its end moves from 2030-05-31 12:00 UTC to 2030-05-02 00:00 UTC",
        "1 submission came after the new end",
        "1 team used 1 or more in total",
        "1 run not finished yet would start under the new budget",
    ):
        assert sentence in page
    site.phase.refresh_from_db()
    assert (site.phase.time_limit_s, site.phase.max_submissions) == (600, 100)
    assert confirm(site, **changed).status_code == 302
    site.phase.refresh_from_db()
    assert (site.phase.time_limit_s, site.phase.max_submissions) == (60, 1)


def test_what_a_preset_changes_is_said_before_it_is_saved(site: Scenario) -> None:
    site.submit()
    page = change(site, preset=["pcqm4mv2-test-dev"], memory_bytes=["1"])
    assert "Nothing is saved yet" in page
    assert "1 run not finished yet would start under the new budget" in page
    site.phase.refresh_from_db()
    assert site.phase.time_limit_s == 600
    assert confirm(site, preset=["pcqm4mv2-test-dev"]).status_code == 302
    site.phase.refresh_from_db()
    assert site.phase.time_limit_s == 4 * 3600


def test_what_changes_nothing_for_anybody_is_saved_at_once(site: Scenario) -> None:
    opens_at = site.phase.opens_at.replace(microsecond=123456)
    Phase.objects.filter(pk=site.phase.pk).update(opens_at=opens_at)
    assert change(site, description=["New words."]) == ""
    assert Phase.objects.get(pk=site.phase.pk).opens_at == opens_at
    Phase.objects.filter(pk=site.phase.pk).update(opens_at=site.now + timedelta(days=1))
    assert change(site, time_limit_s=["60"]) == ""


def final_board(site: Scenario) -> Leaderboard:
    final = Leaderboard.objects.create(phase=site.phase, key="final", title="Final", index=1, visibility="sealed")
    Column.objects.create(leaderboard=final, key="private", title="Private", is_primary=True)
    return final


def test_a_sealed_board_with_scores_is_not_opened_by_a_form(site: Scenario) -> None:
    final = final_board(site)
    submission = site.score(site.submit(), 0.5)
    final.scores.create(
        submission=submission, team=submission.team, values={"private": 1.0}, rank_value=1.0, received_at=site.now
    )
    url = reverse("organize:board", args=[site.competition.slug, final.pk])
    answer = save_form(user_client(site.organizer), url, visibility=["phase"])
    assert "use the action Reveal" in answer.content.decode()
    final.refresh_from_db()
    assert final.is_sealed


def test_a_sealed_score_is_not_put_on_a_public_board(site: Scenario) -> None:
    final_board(site)
    board: Leaderboard = site.phase.leaderboard
    url = reverse("organize:board", args=[site.competition.slug, board.pk])
    added = {
        "key": "private",
        "title": "Peek",
        "index": "1",
        "sorting": "asc",
        "precision": "4",
        "kind": "score",
        "sources": "[]",
    }
    changed = {f"columns-1-{name}": [value] for name, value in added.items()}
    answer = save_form(user_client(site.organizer), url, **changed)
    assert "is sealed in this phase until the reveal" in answer.content.decode()
    assert board.columns.count() == 1


def test_who_sees_sealed_scores_is_put_on_record(site: Scenario) -> None:
    site.score(site.submit(phase=site.sealed), 0.5)
    client = user_client(site.organizer)
    url = reverse("web:leaderboard", args=[site.competition.slug])
    client.get(url, {"phase": site.sealed.slug})
    assert not SealedUse.objects.exists()
    CompetitionOrganizer.objects.filter(user=site.organizer).update(can_see_sealed=True)
    client.get(url, {"phase": site.phase.slug})
    assert not SealedUse.objects.exists()
    for number in (1, 2):
        client.get(url, {"phase": site.sealed.slug})
        (use,) = SealedUse.objects.all()
        assert (use.user, use.phase, use.uses) == (site.organizer, site.sealed, number)
    client.get(reverse("api:leaderboard", args=[site.competition.slug, site.sealed.slug]))
    assert SealedUse.objects.get().uses == 3
    listed = client.get(reverse("organize:settings", args=[site.competition.slug])).content.decode()
    assert "Who looked at sealed scores" in listed


PROMISES: list[tuple[dict[str, list[str]], list[str]]] = [
    ({"max_submissions_per_day": ["1"]}, ["from 5 to 1 a day", "1 team used 1 or more today"]),
    ({"max_submissions_per_day": ["4"]}, ["from 5 to 4 a day"]),
    ({"max_submissions_per_week": ["2"]}, ["from unlimited to 2 a week", "1 team used 2 or more this week"]),
    ({"max_submissions": ["99"]}, ["from 100 to 99 in total"]),
    ({"upload_grace_minutes": ["5"]}, ["from 15 to 5 minutes"]),
    (
        {"prediction_format_kind": ["official"], "prediction_format_official": ["lsc-pcqm4mv2 test-dev"]},
        ["another file format"],
    ),
]


def test_every_smaller_promise_to_teams_is_said_before_it_is_saved(site: Scenario) -> None:
    Phase.objects.filter(pk=site.phase.pk).update(prediction_format=None, max_submissions_per_day=5)
    site.submit()
    site.submit()
    for changed, sentences in PROMISES:
        with time_machine.travel(site.now, tick=False):
            page = change(site, **changed)
        for sentence in ("Nothing is saved yet", *sentences):
            assert sentence in page, changed


def test_a_larger_quota_is_saved_at_once(site: Scenario) -> None:
    Phase.objects.filter(pk=site.phase.pk).update(max_submissions_per_day=5)
    assert change(site, max_submissions_per_day=["6"]) == ""
    assert change(site, max_submissions_per_day=[""]) == ""
