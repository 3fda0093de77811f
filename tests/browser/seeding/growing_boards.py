"""Two competitions with growing boards: one with cells in every state, one still empty."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

from django.test import override_settings

from accounts.models import User
from competitions.catalog.models import Column, Leaderboard, Phase
from competitions.compute.models import Queue
from competitions.leaderboards.services import board_rebuild
from competitions.runs.models import Run, TeamTurn
from competitions.runs.queue.ranking import enter_queue
from competitions.submissions.datasets import datasets_changed
from competitions.submissions.models import Dataset
from competitions.submissions.states import State
from competitions.teams.models import Team
from tests.browser.seeding import place as places
from tests.growing import Scores, grow, join, reconcile, settle, submit_code, submit_dataset, work
from tests.scenario import Scenario

TEAMS = ("Hedgehog", "Ibex", "Jackdaw", "Kestrel", "Lynx and the very patient people of the second floor")
DATASETS = 22  # more than a page of the board shows
SENT = 3  # through the services, which are tested elsewhere; the others are copies
LONG_NAME = "Soil moisture of forty-one alpine meadows since 1961"
NAMES = ["Dataset 1", LONG_NAME, *(f"Dataset {number}" for number in range(3, DATASETS + 1))]


def growing(organizer: User, place: places.Place) -> None:
    """Fill the board; "hedi" is the first member, the last dataset is unfinished, others failed."""
    site = _world(organizer, place)
    for number, name in enumerate(TEAMS):
        user = places.person(
            "hedi" if not number else f"{name.split()[0].lower()}-captain", f"{name.split()[0]} Captain"
        )
        site.join(name, user=user)
        submit_code(site, site.teams[number])
    site.join("Nearest mean", is_baseline=True)
    submit_code(site, site.teams[-1])
    for number in range(SENT):
        submit_dataset(site, site.teams[number], name=NAMES[number])
    work(site, _scores(site))
    join(site)
    for number in range(SENT, DATASETS):
        _copy_dataset(site.teams[number % len(TEAMS)], NAMES[number])
    datasets_changed.send(sender=Dataset, phase=site.phase)
    _settle(site)
    submit_dataset(site, site.teams[0], name="Still being filled")
    work(site, {})
    reconcile(site)
    work(site, {}, 0.25, limit=3)
    _fail_by_the_platform(site)


def _copy_dataset(team: Team, name: str) -> None:
    """Write the rows of the last dataset once more, as another team's."""
    dataset = Dataset.objects.select_related("submission", "task").latest("pk")
    submission, task, run = dataset.submission, dataset.task, dataset.submission.runs.get()
    submission.pk, submission.team, submission.submitted_by = None, team, team.captain
    submission.file_name = f"{name}.zip"
    task.pk, task.key, task.name = None, uuid4(), name
    run.pk, run.submission, run.team = uuid4(), submission, team
    dataset.pk, dataset.submission, dataset.task, dataset.name = None, submission, task, name
    for row in (submission, task, run, dataset):
        row.save(force_insert=True)


def _settle(site: Scenario) -> None:
    """Score every cell; boards are made of all at once, not anew with each."""
    scores = _scores(site)
    reconcile(site)
    _write_cells(site, scores)
    Dataset.objects.filter(submission__phase=site.phase).update(counts_from=site.now)
    for board in site.phase.leaderboards.all():
        board_rebuild(board)
    settle(site, scores)


def _write_cells(site: Scenario, scores: Scores) -> None:
    """End the runs that fill the board as if a worker had.

    One by one, they would take longer than all else here.
    """
    cells = list(Run.objects.filter(fills_board=True, state=State.QUEUED).select_related("submission__team", "task"))
    for run in cells:
        score_or_reason = scores[run.submission.team.name, run.task.name]
        run.started_at = run.finished_at = site.now
        if isinstance(score_or_reason, str):
            run.state, run.reason = State.FAILED, score_or_reason
        else:
            run.state, run.scores = State.FINISHED, {"mae": score_or_reason}
    Run.objects.bulk_update(cells, ["started_at", "finished_at", "state", "reason", "scores"])
    TeamTurn.objects.filter(queue=site.queue).update(waiting_since=None)


def _world(organizer: User, place: places.Place) -> Scenario:
    phase = places.phase(place, "test-dev", "public", 0, {"name": "Algorithms and data"})
    site = Scenario(organizer, place.queue, "", place.competition, {"test-dev": phase}, place.now)
    Column.objects.filter(leaderboard__phase=phase).exclude(key="mae").delete()
    grow(site)
    Phase.objects.filter(pk=phase.pk).update(max_datasets_per_team=6)
    phase.refresh_from_db()
    board = phase.leaderboards.get()
    transposed = Leaderboard.objects.create(
        phase=phase, key="transposed", title="Datasets as rows", index=1, is_transposed=True
    )
    for column in board.columns.all():
        column.pk, column.leaderboard = None, transposed
        column.save(force_insert=True)
    return site


def _scores(site: Scenario) -> Scores:
    """Each algorithm a little better than the next, but on every third dataset; some fail."""
    scores: dict[tuple[str, str], float | str] = {}
    for place, team in enumerate(team.name for team in site.teams):
        scores[team, "test-dev"] = 0.1 + 0.05 * place
        for number, name in enumerate(NAMES):
            scores[team, name] = round(0.12 + 0.04 * ((place * (number % 3 + 1)) % len(TEAMS)), 3)
    return scores | {("Ibex", "Dataset 1"): "time_limit", ("Kestrel", LONG_NAME): "memory_limit"}


def _fail_by_the_platform(site: Scenario) -> None:
    last = Dataset.objects.filter(submission__phase=site.phase).latest("pk")
    run = Run.objects.filter(task=last.task_id, state=State.QUEUED).earliest("pk")
    Run.objects.filter(pk=run.pk).update(priority=1)
    enter_queue(Run.objects.filter(pk=run.pk), now=site.now)
    with override_settings(MAX_ATTEMPTS=1):
        work(site, {(run.submission.team.name, last.name): "infrastructure"}, limit=1)


def growing_boards(organizer: User, now: datetime) -> None:
    """Both on a queue of their own, which no worker serves."""
    queue = Queue.objects.create(name="growing", contact="c")
    began = now - timedelta(minutes=5)
    growing(organizer, places.competition("both", "Both grow", organizer, queue, began))
    _world(organizer, places.competition("both-empty", "Both grow, nothing yet", organizer, queue, began))
