"""Starts of the demo whose baselines ended otherwise than they must, as on a busy machine."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest

from competitions.submissions.models import Submission
from competitions.submissions.states import State
from config.demo import baselines
from config.demo.baselines import Sent
from config.management.commands.demo import Command
from examples.baselines import Baseline
from tests.scenario import Scenario

pytestmark = pytest.mark.django_db
PROCESSES: Any = SimpleNamespace(url="http://127.0.0.1:1", check=lambda: None)


class Site:
    """The answers of the demo's web server: those of its API, about the submissions of this test."""

    def __init__(self, url: str) -> None:
        self.boards = {"phases": [{"slug": "test-dev"}], "columns": [], "rows": []}

    def get(self, path: str, token: str) -> Any:
        if not path.startswith("/submissions/"):
            return self.boards
        row = Submission.objects.select_related("team").get(pk=path.split("/")[2])
        verdict = {"reason": row.reason, "detail": ""} if row.reason else None
        return {
            "id": row.pk,
            "competition": "c",
            "team": row.team.name,
            "status": row.status,
            "verdict": verdict,
            "scores": {},
        }


def too_slow(site: Scenario) -> Sent:
    """A baseline that must finish, and was stopped at the time limit."""
    answer = {"outcome": "failed", "reason": "time_limit", "code": "", "detail": "It ran for 45.1 s of 45 s."}
    submission = site.answer(site.submit(), answer)
    assert (submission.status, submission.reason) == (State.FAILED, "time_limit")
    baseline = Baseline(
        competition="c",
        name="b",
        title="B",
        description="",
        kind="prediction",
        phase="test-dev",
        filename="b.zip",
        outcome="finished",
        reason=None,
        metric="mae",
        score_range=None,
    )
    return Sent(baseline, "token", submission.pk, Site("").get(f"/submissions/{submission.pk}/", ""))


@pytest.fixture
def sent(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> Sent:
    slow = too_slow(site)
    monkeypatch.setattr(baselines, "Client", Site)
    monkeypatch.setattr(baselines, "send_all", lambda client, content, *, is_check: [slow])
    return slow


def start(*, is_check: bool) -> str:
    output, content = StringIO(), SimpleNamespace(slugs=[], account_token=lambda role: "token")
    Command(stdout=output).score(PROCESSES, content, 0.1, is_check=is_check)  # type: ignore[arg-type]
    return output.getvalue()


def test_a_baseline_that_ended_wrongly_is_run_again_by_the_next_start_which_stays_up(sent: Sent) -> None:
    output = start(is_check=False)
    assert Submission.objects.get(pk=sent.pk).status == State.QUEUED
    assert "is run again; it had ended as failed: time_limit" in output
    assert "Not scored within" in output
    assert "The site stays up." in output


def test_a_site_that_does_not_answer_in_time_is_said_and_stays_up() -> None:
    output, content = StringIO(), SimpleNamespace(slugs=["c"], account_token=lambda role: "token")
    Command(stdout=output).score(PROCESSES, content, 0.1, is_check=False)  # type: ignore[arg-type]
    assert "The site gave no answer to GET /competitions/c/" in output.getvalue()
    assert "The site stays up." in output.getvalue()


def test_a_check_fails_where_a_baseline_does_not_end_as_expected(sent: Sent) -> None:
    with pytest.raises(baselines.Unexpected, match="Not scored within"):
        start(is_check=True)


def test_a_score_is_compared_without_the_deviation_that_its_board_shows_behind_it(sent: Sent) -> None:
    sent.baseline = replace(sent.baseline, score_range=(0.48, 0.50))
    scored = sent.answer | {"status": "finished", "verdict": None}
    sent.answer = scored | {"scores": {"mae": "0.4942 ± 0.0150"}}
    baselines.require_as_expected([sent])
    sent.answer = scored | {"scores": {"mae": "0.5142 ± 0.0150"}}
    with pytest.raises(baselines.Unexpected, match=r"mae 0\.5142, expected 0\.4800 to 0\.5000"):
        baselines.require_as_expected([sent])
