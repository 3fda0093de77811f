"""A world whose board grows by algorithms and by datasets, and a worker that answers what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from competitions.catalog.models import Column, Leaderboard, Phase, Task
from competitions.leaderboards.growing.joining import JOINING_JOB, datasets_join
from competitions.leaderboards.growing.missing_runs import boards_fill, datasets_begin_to_count
from competitions.leaderboards.models import Entry
from competitions.runs import dispatch
from competitions.runs.leases import reports
from competitions.runs.models import Run
from competitions.submissions.models import Dataset, Submission
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import Kind
from competitions.teams.models import Team
from tests.answers import read_result
from tests.background import run_background
from tests.scenario import Scenario, lease, zip_bytes

DATASET = {"input_data/rows.csv": "1,2\n", "reference_data/labels.csv": "0\n", "README.md": "Mine."}
Scores = Mapping[tuple[str, str], float | str]


def grow(site: Scenario) -> Phase:
    """Let the public phase's board grow, by `mae` on the organizers' dataset; the average rank decides."""
    phase = site.phase
    program = phase.tasks.get().scoring_program
    phase.dataset_check = Task.objects.create(competition=site.competition, name="Check", scoring_program=program)
    phase.accepts_predictions, phase.accepts_datasets, phase.prediction_format = False, True, None
    phase.max_submissions_per_day = None
    phase.full_clean()
    phase.save()
    board = phase.leaderboards.get()
    board.columns.update(is_primary=False)
    Column.objects.create(
        leaderboard=board,
        key="rank",
        title="Average rank",
        kind="computed",
        computation="avg_rank",
        sources=["mae"],
        sorting="asc",
        precision=2,
        index=0,
        is_primary=True,
    )
    Column.objects.filter(leaderboard=board, key="mae").update(index=1)
    return phase


def submit_dataset(
    site: Scenario, team: Team | None = None, *, name: str = "mine", files: Mapping[str, str] = DATASET, at: Any = None
) -> Submission:
    user, moment = site.member(team), at or site.now
    upload = site.upload(zip_bytes({**files, "README.md": name}), f"{name}.zip", user=user, at=moment)
    submission = submission_create(
        NewSubmission(user=user, phase=site.phase, upload=upload, kind=Kind.DATASET), now=moment
    )
    run_background(at=moment)
    submission.refresh_from_db()
    return submission


def submit_code(site: Scenario, team: Team | None = None, *, at: Any = None) -> Submission:
    return site.submit(team=team, kind=Kind.CODE, at=at)


def work(site: Scenario, scores: Scores, default: float = 0.5, *, limit: int = 1000) -> list[Run]:
    """Take and end all waiting runs, with scores by (team, task); a text is a reason of failure."""
    worker = site.worker()
    done: list[Run] = []
    while len(done) < limit and (run := dispatch.run_claim(worker=worker, free_gpus=0, now=site.now)) is not None:
        score_or_reason = scores.get((run.submission.team.name, run.task.name), default)
        body = (
            {"outcome": "failed", "reason": score_or_reason}
            if isinstance(score_or_reason, str)
            else {"outcome": "finished", "scores": {"mae": score_or_reason}}
        )
        reports.run_complete(**lease(run), result=read_result(body, columns=["mae"]), now=site.now)
        done.append(run)
    return done


def join(site: Scenario) -> int:
    """Let checked datasets join; returns how many were found."""
    count = datasets_join(now=site.now)
    run_background(at=site.now, only=JOINING_JOB)
    return count


def reconcile(site: Scenario) -> tuple[int, int, int]:
    """The reconciler's part: numbers of datasets joined, cells changed, and datasets that now count."""
    return join(site), boards_fill(now=site.now), datasets_begin_to_count(now=site.now)


def settle(site: Scenario, scores: Scores, default: float = 0.5) -> None:
    """Until nothing is left to do."""
    while any(reconcile(site)) or work(site, scores, default):
        pass


def joined(site: Scenario, team: Team | None = None, *, name: str = "mine") -> Dataset:
    """A team's dataset, checked and on the board."""
    submission = submit_dataset(site, team, name=name)
    work(site, {})
    join(site)
    return Dataset.objects.get(submission=submission)


def main_board(site: Scenario) -> Leaderboard:
    return Leaderboard.objects.select_related("phase").get(phase=site.phase)


def order(site: Scenario) -> list[tuple[str, float]]:
    """Teams with their average ranks, best first."""
    rows = (
        Entry.objects.filter(leaderboard__phase=site.phase).select_related("team").order_by("rank_value", "team__name")
    )
    return [(row.team.name, round(row.values["rank"], 4)) for row in rows]


def cells(**fields: Any) -> Any:
    """The runs that fill a board; `fields` narrow them."""
    return Run.objects.filter(fills_board=True, **fields)
