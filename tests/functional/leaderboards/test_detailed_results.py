"""Rows link to detailed results of what counts, if all who see the board may see them."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Competition, Leaderboard, Phase
from competitions.leaderboards.models import Entry
from competitions.resources.storage import store_bytes
from competitions.runs.models import RunOutput
from competitions.submissions.models import Submission
from competitions.web.details import SIZE_SCRIPT
from tests.permissions import user_client
from tests.scenario import Scenario

PAGE = b"<script>document.title = 'ran'</script><p>details</p>"


@pytest.fixture
def submission(site: Scenario) -> Submission:
    """A scored submission with detailed results, in a competition that shows them to everybody."""
    Competition.objects.filter(pk=site.competition.pk).update(enable_detailed_results=True)
    submission = site.score(site.submit(), 0.5)
    run = submission.runs.get()
    RunOutput.objects.create(run=run, attempt=run.attempt, name="detailed_results.html", file=store_bytes(PAGE))
    return submission


def places(submission: Submission) -> tuple[str, str, str]:
    """The board, the row's own page, and the frame in it."""
    entry = Entry.objects.get(score__submission=submission, leaderboard=submission.phase.leaderboard)
    board = reverse("web:leaderboard", args=[submission.phase.competition.slug])
    frame = reverse("web:entry-details", args=[entry.pk, submission.runs.get().pk])
    return f"{board}?phase={submission.phase.slug}", reverse("web:entry", args=[entry.pk]), frame


def links(visitor: Client, submission: Submission) -> tuple[int, bool, int]:
    """The board's links to details, True if the row's page shows them, and the status of the frame."""
    board, entry, frame = places(submission)
    rows = visitor.get(board).content.decode().count(f'href="{entry}#details"')
    return rows, frame in visitor.get(entry).content.decode(), visitor.get(frame).status_code


def test_everybody_follows_a_row_to_its_detailed_results(site: Scenario, submission: Submission) -> None:
    bare = site.score(site.submit(team=site.join()), 0.7)
    assert links(Client(), submission) == (1, True, 200)
    assert links(user_client(site.member()), submission) == (2, True, 200), "in its place, and pinned"
    response = Client().get(places(submission)[2])
    assert response.content == PAGE + SIZE_SCRIPT
    assert response["Content-Security-Policy"].startswith("sandbox allow-scripts; default-src 'none'")
    assert links(Client(), bare) == (0, False, 404), "there is no page to link to"


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (Competition, {"enable_detailed_results": False}),
        (Competition, {"show_detailed_results_in_leaderboard": False}),
        (Phase, {"hide_score_output": True}),
    ],
)
def test_no_row_links_to_what_the_organizers_keep(
    site: Scenario, submission: Submission, model: type[Competition | Phase], change: dict[str, bool]
) -> None:
    """The same version of the board was drawn with links before."""
    assert links(Client(), submission) == (1, True, 200)
    model.objects.filter(pk=submission.phase_id if model is Phase else site.competition.pk).update(**change)
    for visitor in (Client(), user_client(site.member()), user_client(site.organizer)):
        assert links(visitor, submission) == (0, False, 404)


@pytest.mark.parametrize("hiding", [{"visibility": "sealed"}, {"is_hidden": True}])
def test_details_wait_for_the_last_sealed_or_hidden_board_of_their_phase(
    site: Scenario, submission: Submission, hiding: dict[str, object]
) -> None:
    Leaderboard.objects.create(phase=site.phase, key="private", index=1, **hiding)
    for visitor in (Client(), user_client(site.member()), user_client(site.organizer)):
        assert links(visitor, submission) == (0, False, 404)


def test_a_sealed_board_has_no_such_links_even_for_those_with_the_right(site: Scenario, submission: Submission) -> None:
    Phase.objects.filter(pk=submission.phase_id).update(visibility="sealed")
    site.competition.competitionorganizer_set.update(can_see_sealed=True)
    board, _, frame = places(submission)
    assert Client().get(frame).status_code == 404
    assert "#details" not in user_client(site.organizer).get(board).content.decode()
    assert user_client(site.organizer).get(frame).status_code == 404


def test_a_turned_board_links_from_its_columns(site: Scenario, submission: Submission) -> None:
    Leaderboard.objects.filter(phase=site.phase).update(is_transposed=True)
    assert links(Client(), submission) == (1, True, 200)


def test_a_board_without_columns_breaks_no_page(site: Scenario) -> None:
    Leaderboard.objects.create(phase=site.phase, key="empty", index=1)
    for board in ("main", "empty"):
        page = Client().get(
            reverse("web:leaderboard", args=[site.competition.slug]), {"phase": site.phase.slug, "board": board}
        )
        assert page.status_code == 200
