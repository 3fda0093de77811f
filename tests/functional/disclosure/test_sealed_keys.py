"""A key scored under seal stays sealed until the reveal, whatever changes on boards or tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Column, Leaderboard, Phase, SealedKey
from competitions.catalog.services import phase_reveal
from competitions.leaderboards.auto_migration import phase_migrate
from competitions.leaderboards.services import board_rebuild
from competitions.runs.leases import reports
from competitions.runs.models import Run
from competitions.runs.refusals import TASK_SEALED
from competitions.runs.reruns import submission_repeat
from competitions.submissions.models import Submission
from tests.admin_forms import form_fields
from tests.answers import read_result
from tests.functional.disclosure.test_sealing_walk import SECRET, SHOWN
from tests.permissions import body_text, user_client
from tests.refusals import refuses
from tests.scenario import Scenario, lease
from tests.shared_rows import shared
from tests.soak import SOAKS, in_soak


@shared
def scored_final(common_site: Scenario) -> Leaderboard:
    """A sealed board beside the public phase's open one, with a submission that was scored on both."""
    site = common_site
    board = Leaderboard.objects.create(phase=site.phase, key="final", title="Final", index=1, visibility="sealed")
    Column.objects.create(leaderboard=board, key="private", title="MAE", sorting="asc", is_primary=True)
    site.submit()
    complete(site, site.claim())
    assert [sealed_key.key for sealed_key in SealedKey.objects.all()] == ["private"]
    return board


@pytest.fixture
def final(site: Scenario, scored_final: Leaderboard) -> Leaderboard:
    """It, for a test of the site."""
    return scored_final


def complete(site: Scenario, run: Run) -> None:
    body = {"outcome": "finished", "scores": {"mae": 0.25, "private": SECRET}}
    reports.run_complete(**lease(run), result=read_result(body, columns=["mae", "private"]), now=site.now)


def open_column(site: Scenario, board: Leaderboard | None = None, **fields: Any) -> None:
    """Show the sealed score on the phase's open board, or on this one, as a wrong row would."""
    shown = board or site.phase.leaderboard
    Column.objects.create(
        **{"leaderboard": shown, "key": "private", "title": "P", "sorting": "asc", "index": 5} | fields
    )
    board_rebuild(shown)


def rename(site: Scenario, final: Leaderboard) -> None:
    final.columns.update(key="other")
    board_rebuild(final)
    open_column(site)


def delete_column(site: Scenario, final: Leaderboard) -> None:
    final.columns.all().delete()
    open_column(site)


def compute(site: Scenario, final: Leaderboard) -> None:
    open_column(site, is_hidden=True)
    open_column(site, key="sum", kind="computed", computation="sum", sources=["private"], index=6)


def add_board(site: Scenario, final: Leaderboard) -> None:
    open_column(site, Leaderboard.objects.create(phase=site.phase, key="more", title="More", index=2), is_primary=True)


def unseal(site: Scenario, final: Leaderboard) -> None:
    Leaderboard.objects.filter(pk=final.pk).update(visibility="phase")


def unseal_and_rename(site: Scenario, final: Leaderboard) -> None:
    unseal(site, final)
    Column.objects.filter(leaderboard=final).update(key="other")


def make_it_main(site: Scenario, final: Leaderboard) -> None:
    unseal(site, final)
    Leaderboard.objects.filter(pk=final.pk).update(index=0)
    Leaderboard.objects.filter(phase=site.phase, key="main").update(index=1)


WAYS = [rename, delete_column, compute, add_board, unseal, unseal_and_rename, make_it_main]


def answers(site: Scenario, client: Client) -> dict[str, str]:
    """The text of every page with scores of the phase for this visitor."""
    slug, phase = site.competition.slug, site.phase
    submission = Submission.objects.get(phase=phase)
    urls = [
        reverse(name, args=[slug, phase.slug])
        for name in ("api:leaderboard", "api:leaderboard-csv", "web:leaderboard-csv")
    ]
    urls += [reverse(name, args=[slug]) for name in ("web:leaderboard", "web:history")]
    urls = [
        f"{url}?phase={phase.slug}&board={key}"
        for url in urls
        for key in phase.leaderboards.values_list("key", flat=True)
    ]
    urls += [
        reverse("codabench:phase-board", args=[phase.pk]),
        reverse("codabench:results-json", args=[site.competition.pk]),
    ]
    urls += [
        reverse(name, args=[submission.pk]) for name in ("codabench:submission", "api:submission", "web:submission")
    ]
    urls += [reverse("api:submissions"), reverse("web:submissions", args=[slug])]
    return {url: body_text(client.get(url)) for url in urls}


# Two others begin with `unseal`.
@pytest.mark.parametrize(
    "way", [pytest.param(way, id=way.__name__, marks=[in_soak] if way is unseal else []) for way in WAYS]
)
def test_no_change_of_rows_shows_what_was_scored_under_seal(
    site: Scenario, final: Leaderboard, way: Callable[[Scenario, Leaderboard], None]
) -> None:
    way(site, final)
    readers = [user_client(site.member()), user_client(site.organizer)]
    for client in [*readers, Client()] if SOAKS else readers:  # nobody sees what a member does not
        assert not [url for url, text in answers(site, client).items() if SHOWN.search(text)]
    phase = Phase.objects.get(pk=site.phase.pk)
    assert phase.holds_sealed_scores
    phase_reveal(phase=phase, now=site.now, before_the_end=True)
    assert not Phase.objects.get(pk=phase.pk).holds_sealed_scores


def test_the_walk_would_find_it_after_the_reveal_everybody_sees_it(site: Scenario, final: Leaderboard) -> None:
    rename(site, final)
    phase_reveal(phase=site.phase, now=site.now, before_the_end=True)
    assert len([url for url, text in answers(site, user_client(site.member())).items() if SHOWN.search(text)]) > 5


def test_a_board_that_shows_nothing_sealed_stays_open(site: Scenario, final: Leaderboard) -> None:
    page = reverse("api:leaderboard", args=[site.competition.slug, site.phase.slug])
    assert Client().get(page).json()["rows"][0]["scores"] == {"mae": "0.2500"}


def test_a_sealed_phase_that_is_set_public_shows_nothing(site: Scenario) -> None:
    site.score(site.submit(phase=site.sealed), SECRET)
    Phase.objects.filter(pk=site.sealed.pk).update(visibility="public")
    board = reverse("api:leaderboard", args=[site.competition.slug, site.sealed.slug])
    assert Client().get(board).status_code == 403


def test_what_a_worker_was_asked_for_is_sealed_also_where_its_board_changes_meanwhile(site: Scenario) -> None:
    board = Leaderboard.objects.create(phase=site.phase, key="final", title="Final", index=1, visibility="sealed")
    Column.objects.create(leaderboard=board, key="private", title="MAE", sorting="asc", is_primary=True)
    site.submit()
    run = site.claim()
    board.columns.all().delete()
    complete(site, run)
    open_column(site)
    assert not [url for url, text in answers(site, user_client(site.member())).items() if SHOWN.search(text)]


def board_url(board: Leaderboard) -> str:
    return reverse("organize:board", args=[board.phase.competition.slug, board.pk])


def saved(site: Scenario, board: Leaderboard, **changed: Any) -> str:
    """The errors of a board's form, or nothing where it was saved."""
    client = user_client(site.organizer)
    fields = form_fields(client.get(board_url(board))) | changed
    answer = client.post(board_url(board), fields)
    if answer.status_code == 200 and not answer.context["form"].is_refused:
        answer = client.post(board_url(board), fields | {"confirmed": answer.context["form"].confirmation})
    return "" if answer.status_code == 302 else body_text(answer)


def test_the_form_of_a_board_refuses_the_key_of_a_sealed_score(site: Scenario, final: Leaderboard) -> None:
    Column.objects.filter(leaderboard=final).update(key="other")
    new = {
        "columns-1-title": ["P"],
        "columns-1-kind": ["score"],
        "columns-1-key": ["private"],
    }
    more = {
        "columns-1-index": ["1"],
        "columns-1-sorting": ["asc"],
        "columns-1-precision": ["4"],
        "columns-1-sources": ["[]"],
    }
    page = saved(site, site.phase.leaderboard, **new, **more)
    assert "The score &#x27;private&#x27; is sealed in this phase until the reveal" in page
    assert site.phase.leaderboard.columns.count() == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"columns-0-key": ["other"]},
        pytest.param({"columns-0-kind": ["meter"], "columns-0-key": ["wall_s"]}, marks=in_soak),
        {"columns-0-DELETE": ["on"]},
    ],
)
def test_the_form_of_a_board_keeps_a_sealed_column(
    site: Scenario, final: Leaderboard, changed: dict[str, list[str]]
) -> None:
    assert "it keeps its key and stays on the board until the reveal" in saved(site, final, **changed)
    assert final.columns.get().key == "private"
    phase_reveal(phase=site.phase, now=site.now, before_the_end=True)
    assert not saved(site, final, **changed)


def test_the_form_of_a_board_does_not_open_it(site: Scenario, final: Leaderboard) -> None:
    assert "use the action Reveal" in saved(site, final, visibility=["phase"])


def test_a_board_is_not_sealed_while_an_open_one_shows_the_same_score(site: Scenario, final: Leaderboard) -> None:
    board = Leaderboard.objects.create(phase=site.phase, key="more", title="More", index=2)
    Column.objects.create(leaderboard=board, key="mae", title="MAE", sorting="asc", is_primary=True)
    assert "is on an open board of this phase, too" in saved(site, board, visibility=["sealed"])


def test_a_task_of_a_sealed_phase_is_not_run_for_an_open_one(site: Scenario) -> None:
    site.score(site.submit(phase=site.sealed), SECRET)
    submission = site.score(site.submit(), 0.25)
    with refuses(TASK_SEALED, match="after the reveal"):
        submission_repeat(submission=submission, by=site.organizer, now=site.now, task=site.sealed.tasks.get())
    phase_reveal(phase=site.sealed, now=site.now, before_the_end=True)
    assert submission_repeat(submission=submission, by=site.organizer, now=site.now, task=site.sealed.tasks.get()).pk


def test_the_form_of_a_phase_refuses_a_task_whose_scores_another_keeps_sealed(site: Scenario) -> None:
    site.score(site.submit(phase=site.sealed), SECRET)
    url = reverse("admin:catalog_phase_change", args=[site.phase.pk])
    client = user_client(site.organizer)
    tasks = [str(site.phase.tasks.get().pk), str(site.sealed.tasks.get().pk)]
    answer = client.post(url, form_fields(client.get(url)) | {"tasks": tasks})
    assert "keeps the score &#x27;mae&#x27; sealed on one of these tasks" in body_text(answer)


def test_what_counts_in_a_sealed_phase_is_not_carried_into_an_open_one_on_its_task(site: Scenario) -> None:
    Leaderboard.objects.filter(phase=site.sealed).update(rule="last")
    site.score(site.submit(phase=site.sealed), SECRET)
    after = Phase.objects.create(
        competition=site.competition,
        slug="after",
        name="After",
        index=5,
        opens_at=site.now,
        auto_migrate_to_this_phase=True,
    )
    after.tasks.add(site.sealed.tasks.get())
    Column.objects.create(leaderboard=Leaderboard.objects.create(phase=after), key="mae", title="MAE", is_primary=True)
    assert phase_migrate(phase=after, now=site.now) == 0
    phase_reveal(phase=site.sealed, now=site.now, before_the_end=True)
    assert phase_migrate(phase=after, now=site.now) == 1
