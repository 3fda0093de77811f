"""Making a proposal true: its files, its column, the scores of every copy, and the boards by them.

The same code compares: then the transaction is taken back.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import QuerySet

from competitions.catalog.changes.boards import store_board
from competitions.catalog.models import Leaderboard, Phase, Proposal, Task
from competitions.leaderboards.commitment.amendments import amending
from competitions.leaderboards.models import ProposedStanding
from competitions.leaderboards.rescoring.services import column_faults
from competitions.leaderboards.rescoring.standings import compare, shown_rows, team_standings, tiers_now
from competitions.leaderboards.services import board_follow, board_rebuild, boards_locked
from competitions.resources.models import Resource
from competitions.runs.models import Rescoring, Run
from competitions.runs.rescoring import scored_tasks, scores_take
from competitions.submissions.models import Submission
from competitions.submissions.states import FINAL
from core.refusals import RefusalKind

PROPOSAL_OUTDATED: Final = RefusalKind(
    409,
    "proposal_outdated",
    "The {slot} of the task “{task}” was replaced since it was proposed. Drop this proposal, and propose it again for what is there now.",
)


PROPOSAL_COLUMN_REFUSED: Final = RefusalKind(
    409,
    "proposal_column_refused",
    "The column cannot stand on the board any more: {faults} Drop this proposal, and begin another one.",
)


def affected_phases(proposal: Proposal) -> list[Phase]:
    """The phases whose boards a proposal may change, in order."""
    tasks = scored_tasks(proposal)
    phases = Phase.objects.filter(competition=proposal.competition_id, tasks__in=tasks)
    if proposal.board is not None:
        phases |= Phase.objects.filter(pk=proposal.board.phase_id)
    return list(phases.distinct().order_by("index", "pk"))


def affected_boards(proposal: Proposal) -> list[Leaderboard]:
    """The boards that a proposal may change."""
    boards = Leaderboard.objects.filter(phase__in=affected_phases(proposal)).select_related("phase__competition")
    return list(boards.prefetch_related("columns").order_by("phase__index", "index", "pk"))


def proposal_rehearse(proposal: Proposal, *, is_wanted: Callable[[], bool], now: datetime) -> list[ProposedStanding]:
    """Boards with the proposal and without it; nothing is written.

    Raises `Stopped` or `PROPOSAL_OUTDATED`.
    """
    with transaction.atomic():
        standings = proposal_adopt(proposal, now=now, is_wanted=is_wanted)
        transaction.set_rollback(True)
    return standings


@transaction.atomic
def proposal_adopt(proposal: Proposal, *, now: datetime, is_wanted: Callable[[], bool]) -> list[ProposedStanding]:
    """Put the proposal in force and return what it did to each board, not saved.

    Locks: every run that takes other scores over, then the boards. Raises `Stopped`, `PROPOSAL_OUTDATED` or
    `PROPOSAL_COLUMN_REFUSED`.
    """
    rescorings = _lock_runs(_untaken(proposal))
    affected = affected_boards(proposal)
    before = {board.pk: team_standings(board) for board in affected}
    locked = [board for phase in affected_phases(proposal) for board in boards_locked(phase.pk)]
    with amending(locked, None, reason=reason_in_public(proposal), now=now):
        _put_files(proposal)
        for rescoring in rescorings:
            scores_take(rescoring=rescoring, actor=_actor(proposal), now=now)
        _rebuild(proposal, now)
    standings = []
    for board in affected_boards(proposal):
        after = team_standings(board, tiers=tiers_now(board, is_wanted))
        facts = asdict(compare(before[board.pk], after))
        rows = shown_rows(before[board.pk], after)
        standings.append(ProposedStanding(proposal=proposal, leaderboard=board, facts=facts, rows=rows))
    return standings


def _untaken(proposal: Proposal) -> QuerySet[Rescoring]:
    """Those whose copy has ended and that nobody took yet."""
    return Rescoring.objects.filter(proposal=proposal, taken_at=None, copy__status__in=FINAL)


def _lock_runs(chosen: QuerySet[Rescoring]) -> Sequence[Rescoring]:
    """Lock the submissions with their runs, and return what was chosen."""
    rescorings = list(chosen.select_related("proposal", "submission", "copy").prefetch_related("copy__runs"))
    runs = Run.objects.select_for_update().filter(submission__in=[each.submission_id for each in rescorings])
    list(runs.order_by("pk").values_list("pk"))
    submissions = Submission.objects.select_for_update().filter(pk__in=[each.submission_id for each in rescorings])
    list(submissions.order_by("pk").values_list("pk"))
    return rescorings


def _put_files(proposal: Proposal) -> None:
    """Let every task name its new version. Raises `PROPOSAL_OUTDATED`."""
    for proposed in proposal.files.select_related("task", "resource"):
        rows = Task.objects.filter(pk=proposed.task_id, **{proposed.slot: proposed.replaces_id})
        if not rows.update(**{proposed.slot: proposed.resource_id}):
            raise PROPOSAL_OUTDATED(slot=proposed.get_slot_display(), task=proposed.task)
        Resource.objects.filter(pk=proposed.resource_id).update(replaces=proposed.replaces_id)


def _rebuild(proposal: Proposal, now: datetime) -> None:
    """Rank every affected board by the scores of now; the one with the other column by that."""
    for board in affected_boards(proposal):
        if board.pk == proposal.board_id:
            if faults := column_faults(proposal):
                raise PROPOSAL_COLUMN_REFUSED(faults=" ".join(faults))
            store_board(board, proposal.columns_after(board), now=now)  # which ranks it, too
        else:
            board_rebuild(board)


def take_late_scores(proposal: Proposal, *, now: datetime) -> int:
    """Take over what ended after the proposal was applied; returns how many submissions."""
    return sum(_take_late(proposal, pk, now) for pk in _untaken(proposal).values_list("pk", flat=True))


@transaction.atomic
def _take_late(proposal: Proposal, pk: int, now: datetime) -> bool:
    rescoring = _lock_runs(_untaken(proposal).filter(pk=pk))
    if not rescoring or not scores_take(rescoring=rescoring[0], actor=_actor(proposal), now=now):
        return False
    submission = Submission.objects.select_related("phase__competition", "team").get(pk=rescoring[0].submission_id)
    board_follow(Submission, submission, reason=reason_in_public(proposal), now=now)
    return True


def _actor(proposal: Proposal) -> str:
    return f"proposal:{proposal.number}"


def reason_in_public(proposal: Proposal) -> str:
    """The reason of an amendment that the proposal makes."""
    return f"Proposal {proposal.number}: {proposal.title}"
