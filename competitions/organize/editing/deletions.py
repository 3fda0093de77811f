"""Deletes tasks and boards once the effects are confirmed; refused where results would be lost."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.db import transaction
from django.db.models import ProtectedError

from competitions.catalog.models import Competition, Leaderboard, Phase, Task
from competitions.leaderboards.models import Commitment, Pick, RankChange
from competitions.organize.refusals import DELETION_CHANGED, NOT_DELETED
from competitions.winners.models import Place
from core.confirmations import state_digest
from core.rows import RowT
from files.text import quantity


@dataclass(frozen=True)
class Deletion:
    """The consequences of deleting a row, in sentences, or why it is refused."""

    what: str  # as it goes on in a sentence
    consequences: tuple[str, ...]
    refusals: tuple[str, ...]

    @property
    def confirmation(self) -> str:
        """The confirmation of exactly these consequences."""
        return state_digest([self.what, *self.consequences, *self.refusals])


def board_deletion(board: Leaderboard) -> Deletion:
    """The consequences of deleting the board."""
    return Deletion(f"the board “{board.title}”", tuple(_of_board(board)), tuple(_keeps_board(board)))


def _keeps_board(board: Leaderboard) -> Iterator[str]:
    if board.sealed_keys.exists():
        yield "Scores were recorded under its seal. They would be lost, or open too early: hide the board instead."
    if Commitment.objects.filter(leaderboard=board).exists():
        yield "A digest of it was published at the close, by which anybody can check it. It stays on record."
    if Place.objects.filter(lane__leaderboard=board).exists():
        yield "Winners were invited by its ranks. Their places stay on record."
    if RankChange.objects.filter(leaderboard=board).exists() or RankChange.objects.filter(compared_with=board).exists():
        yield "It is part of a shake-up that was published at a reveal."


def _of_board(board: Leaderboard) -> Iterator[str]:
    ranked, baselines = (board.entries.filter(is_baseline=is_baseline) for is_baseline in (False, True))
    gone = []
    if teams := ranked.values("team").distinct().count():
        gone.append(f"{quantity(ranked.count(), 'row')} of {quantity(teams, 'team')}")
    if baseline_rows := baselines.count():
        gone.append(f"{quantity(baseline_rows, 'row')} of baselines")
    if gone:
        yield f"{' and '.join(gone)} go, with ranks, trends and the chart of best scores."
    if board.score_count:
        yield "Submissions keep what the scoring program gave them; a new board with the same columns shows it again."
    if picks := Pick.objects.filter(leaderboard=board).values("team").distinct().count():
        yield f"{picks} team{' has' if picks == 1 else 's have'} chosen what counts on it. The choices are lost."
    if board.phase.leaderboards.count() == 1:
        yield f"The phase “{board.phase.name}” has no board then: nothing of it is ranked, and teams see no scores of it."


def task_deletion(task: Task, competition: Competition) -> Deletion:
    """The consequences of deleting the task for teams of this and of other competitions."""
    phases = list(task.phases.select_related("competition").prefetch_related("tasks").order_by("index", "pk"))
    own = [phase for phase in phases if phase.competition_id == competition.pk]
    return Deletion(f"the task “{task.name}”", tuple(_of_task(task, own)), tuple(_keeps_task(task, phases, own)))


def _keeps_task(task: Task, phases: list[Phase], own: list[Phase]) -> Iterator[str]:
    if count := task.runs.values("submission").distinct().count():
        were = "submission was" if count == 1 else "submissions were"
        yield f"{count:,} {were} run on it. To keep their results, take it out of its phases instead."
    if len(phases) > len(own):
        yield "A phase of another competition uses it."
    for phase in own:
        if len(phase.tasks.all()) == 1:
            yield f"It is the only task of the phase “{phase.name}”. Choose another one there first."


def _of_task(task: Task, phases: list[Phase]) -> Iterator[str]:
    for phase in phases:
        left = len(phase.tasks.all()) - 1
        yield f"Submissions to “{phase.name}” are run on {quantity(left, 'task')} from now on, not on this one."
    for check in task.checked_by.all():
        yield f"The check “{check.name}” of winners' code goes with it."
    yield "Its files stay for whatever else uses them."


@transaction.atomic
def delete_confirmed(
    row: RowT,
    describe: Callable[[RowT], Deletion],
    confirmed: str,
    delete: Callable[[RowT], object] = lambda row: row.delete(),
) -> Deletion:
    """Delete a row if exactly this was confirmed. Raises `NOT_DELETED` or `DELETION_CHANGED`."""
    locked: RowT = type(row)._default_manager.select_for_update(of=("self",)).get(pk=row.pk)
    deletion = describe(locked)
    if deletion.refusals:
        raise NOT_DELETED(what=deletion.what, reasons=" ".join(deletion.refusals))
    if confirmed != deletion.confirmation:
        raise DELETION_CHANGED(what=deletion.what)
    try:
        with transaction.atomic():
            delete(locked)
    except ProtectedError as error:  # a phase checks datasets by the task, or a check of it was run
        kinds = sorted({str(dependent._meta.verbose_name) for dependent in error.protected_objects})
        raise NOT_DELETED(what=deletion.what, reasons=f"It is needed by: {', '.join(kinds)}.") from error
    return deletion
