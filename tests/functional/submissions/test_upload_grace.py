"""An upload announced before the end, or held back past it, gains nothing by what came meanwhile."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.urls import reverse

from competitions.catalog.models import Leaderboard, Phase
from competitions.catalog.services import StillOpen, phase_reveal
from competitions.leaderboards.picks import SELECTION_CLOSED, pick_add
from competitions.leaderboards.sealing import NOT_CLOSED_YET, board_commit, reveal_planned
from competitions.resources.models import Upload
from competitions.resources.uploads import upload_append, upload_begin
from competitions.submissions.models import Submission
from competitions.submissions.quota import allowances
from competitions.submissions.refusals import REVEALED_MEANWHILE, PhaseClosed
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import Kind
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import FILE_NAME, Scenario, person, prediction_bytes

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def phase_end(phase: Phase) -> datetime:
    assert phase.closes_at is not None
    return phase.closes_at


def announced(site: Scenario, phase: Phase, *, at: datetime, user: Any = None) -> Upload:
    """An upload of which the site knows name and size, and has no byte."""
    name = FILE_NAME.replace("test-dev", phase.slug)
    size = len(prediction_bytes())
    return upload_begin(user=user or site.member(), file_name=name, size_bytes=size, now=at)


def completed(upload: Upload, *, at: datetime) -> Upload:
    return upload_append(key=upload.key, user=upload.user, offset=0, chunks=[prediction_bytes()], now=at)


def submitted(site: Scenario, phase: Phase, upload: Upload, *, at: datetime) -> Submission:
    phase.refresh_from_db()
    return submission_create(NewSubmission(user=upload.user, phase=phase, upload=upload, kind=Kind.PREDICTION), now=at)


@pytest.mark.parametrize(
    ("after_the_end", "counts"), [(SECOND, True), (15 * MINUTE - SECOND, True), (15 * MINUTE, False)]
)
def test_what_was_begun_in_time_counts_when_it_is_submitted_within_the_grace(
    site: Scenario, after_the_end: timedelta, counts: bool
) -> None:
    end = phase_end(site.phase)
    upload = completed(announced(site, site.phase, at=end - SECOND), at=end + after_the_end)
    if counts:
        submission = submitted(site, site.phase, upload, at=end + after_the_end)
        assert not submission.is_late
        assert submission.received_at < end
    else:
        with pytest.raises(PhaseClosed, match="at most 15 minutes after"):
            submitted(site, site.phase, upload, at=end + after_the_end)
        assert not Submission.objects.exists()


def test_a_file_that_was_whole_in_time_and_kept_back_does_not_count(site: Scenario) -> None:
    end = phase_end(site.phase)
    upload = completed(announced(site, site.phase, at=end - MINUTE), at=end - SECOND)
    with pytest.raises(PhaseClosed):
        submitted(site, site.phase, upload, at=end + 16 * MINUTE)
    Phase.objects.filter(pk=site.phase.pk).update(accepts_late=True)
    assert submitted(site, site.phase, upload, at=end + 16 * MINUTE).is_late


def test_nothing_counts_that_is_submitted_after_the_reveal(site: Scenario) -> None:
    end = phase_end(site.sealed)
    upload = completed(announced(site, site.sealed, at=end - SECOND), at=end + SECOND)
    phase_reveal(phase=site.sealed, now=end + MINUTE, before_the_end=True)
    with refuses(REVEALED_MEANWHILE, match="were revealed"):
        submitted(site, site.sealed, upload, at=end + 2 * MINUTE)
    Phase.objects.filter(pk=site.sealed.pk).update(accepts_late=True)
    assert submitted(site, site.sealed, upload, at=end + 2 * MINUTE).is_late


def test_a_reveal_waits_for_uploads_that_may_still_count(site: Scenario) -> None:
    end = phase_end(site.sealed)
    Phase.objects.filter(pk=site.sealed.pk).update(reveal_at=end)
    board: Leaderboard = site.sealed.leaderboard
    for early in (end, end + 15 * MINUTE - SECOND):
        assert reveal_planned(now=early) == 0
        with pytest.raises(StillOpen, match="uploads on their way"):
            phase_reveal(phase=site.sealed, now=early)
        with refuses(NOT_CLOSED_YET):
            board_commit(board=board, now=early)
    assert reveal_planned(now=end + 15 * MINUTE) == 1


def test_an_organizer_chooses_the_grace_and_it_is_shown(site: Scenario) -> None:
    Phase.objects.filter(pk=site.phase.pk).update(upload_grace_minutes=3)
    site.phase.refresh_from_db()
    end = phase_end(site.phase)
    upload = completed(announced(site, site.phase, at=end - SECOND), at=end)
    with pytest.raises(PhaseClosed, match="at most 3 minutes after"):
        submitted(site, site.phase, upload, at=end + 4 * MINUTE)
    client, slug = user_client(site.member()), site.competition.slug
    page = client.get(reverse("web:submissions", args=[slug]), {"phase": site.phase.slug}).content.decode()
    assert "within 3 minutes" in page
    phases = client.get(f"/api/v1/competitions/{slug}/").json()["phases"]
    assert [phase["upload_grace_minutes"] for phase in phases] == [3, 15]
    form = user_client(site.organizer).get(reverse("admin:catalog_phase_change", args=[site.phase.pk])).content.decode()
    assert 'name="upload_grace_minutes"' in form


def test_an_upload_of_yesterday_is_no_submission_of_yesterday(site: Scenario) -> None:
    midnight = site.now.replace(hour=0)
    site.team.memberships.update(joined_at=midnight - timedelta(days=2))
    Phase.objects.filter(pk=site.phase.pk).update(max_submissions_per_day=1)
    upload = completed(announced(site, site.phase, at=midnight - 6 * 60 * MINUTE), at=midnight)
    submission = submitted(site, site.phase, upload, at=site.now)
    assert submission.received_at == site.now - 15 * MINUTE
    (today, *_) = allowances(team_id=site.team.pk, phase=site.phase, now=site.now)
    assert today.left == 0


def test_an_upload_begun_before_its_person_joined_the_team_counts_from_then(site: Scenario) -> None:
    end = phase_end(site.phase)
    newcomer = person()
    upload = announced(site, site.phase, at=end - SECOND, user=newcomer)
    team = site.join(user=newcomer)
    team.memberships.update(joined_at=end + SECOND)
    with pytest.raises(PhaseClosed):
        submitted(site, site.phase, completed(upload, at=end + MINUTE), at=end + MINUTE)


def test_final_submissions_are_not_chosen_once_the_scores_are_known(site: Scenario) -> None:
    board: Leaderboard = site.sealed.leaderboard
    Leaderboard.objects.filter(pk=board.pk).update(
        rule="selected", selection_closes_at=phase_end(site.sealed) + 60 * MINUTE
    )
    submission = site.score(site.submit(phase=site.sealed), 0.5)
    phase_reveal(phase=site.sealed, now=phase_end(site.sealed) + 20 * MINUTE)
    board = Leaderboard.objects.get(pk=board.pk)
    with refuses(SELECTION_CLOSED):
        pick_add(board=board, submission=submission, by=site.member(), now=phase_end(site.sealed) + 30 * MINUTE)


def test_bytes_that_come_an_hour_after_the_end_do_not_count_for_robots_either(site: Scenario) -> None:
    end = phase_end(site.phase)
    with time_machine.travel(end - SECOND, tick=False) as clock:
        client = user_client(site.member())
        upload = client.post(
            "/api/v1/uploads/",
            {"file_name": FILE_NAME, "size_bytes": len(prediction_bytes())},
            content_type="application/json",
        ).json()
        clock.move_to(end + 60 * MINUTE)
        sent = client.patch(
            f"/api/v1/uploads/{upload['key']}/",
            prediction_bytes(),
            content_type="application/offset+octet-stream",
            headers={"Upload-Offset": "0"},
        )
        assert sent.status_code == 200
        answer = client.post(
            "/api/v1/submissions/",
            {"phase": site.phase.pk, "kind": "prediction", "upload": upload["key"]},
            content_type="application/json",
        )
    assert (answer.status_code, answer.json()["code"]) == (403, "phase_closed")
