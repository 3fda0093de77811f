"""Making a proposal true: its files, its column, the scores of every copy, and the boards by them.

The same code compares: then the transaction is taken back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import QuerySet

from competitions.catalog.changes.boards import MOST_RANKED, store_board
from competitions.catalog.models import Column, Leaderboard, Phase, Proposal, Task
from competitions.leaderboards.commitment import amending
from competitions.leaderboards.models import BoardUncertainty, ProposedStanding
from competitions.leaderboards.ranking.entries import ranked_entries
from competitions.leaderboards.ranking.values import primary_column
from competitions.leaderboards.rescoring.services import column_faults
from competitions.leaderboards.services import board_follow, board_rebuild, boards_locked
from competitions.leaderboards.uncertainty.reading import ReplicateFiles, read_missing
from competitions.leaderboards.uncertainty.refreshing import row_tiers
from competitions.resources.models import Resource
from competitions.runs.models import Rescoring, Run
from competitions.runs.rescoring import is_superseded, scored_tasks, scores_take
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
FIRST: Final = 30  # teams of which rows are kept, by rank before and after
MOVED: Final = 30  # more of them, by how far they move


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


def proposal_rehearse(proposal: Proposal, *, files: ReplicateFiles, now: datetime) -> list[ProposedStanding]:
    """Boards with the proposal and without it; nothing is written.

    Files that say how sure the boards then are, are read between rehearsals, when no board is locked. Raises `Stopped` or
    `PROPOSAL_OUTDATED`.
    """
    files.notes_unknown = True
    while True:
        with transaction.atomic():
            standings = proposal_adopt(proposal, untaken_lock(proposal), now=now, files=files)
            transaction.set_rollback(True)
        if not files.read_noted():
            break
    files.notes_unknown = False
    return standings


@transaction.atomic
def proposal_adopt(
    proposal: Proposal, rescorings: Sequence[Rescoring], *, now: datetime, files: ReplicateFiles
) -> list[ProposedStanding]:
    """Put the proposal in force and return what it did to each board, not saved.

    `rescorings`: those of `untaken_lock`, which comes before any lock of a board. A rehearsal has read `files` before. Raises
    `Stopped`, `PROPOSAL_OUTDATED` or `PROPOSAL_COLUMN_REFUSED`.
    """
    locked = [board for phase in affected_phases(proposal) for board in boards_locked(phase.pk)]
    before = {board.pk: team_standings(board) for board in affected_boards(proposal)}
    with amending(locked, None, reason=reason_in_public(proposal), now=now):
        _put_files(proposal)
        for rescoring in rescorings:
            scores_take(rescoring=rescoring, actor=_actor(proposal), now=now)
        _rebuild(proposal, now)
    standings = []
    for board in affected_boards(proposal):
        after = team_standings(board, tiers=tiers_now(board, files))
        facts = asdict(compare(before[board.pk], after))
        rows = shown_rows(before[board.pk], after)
        standings.append(ProposedStanding(proposal=proposal, leaderboard=board, facts=facts, rows=rows))
    return standings


def untaken_lock(proposal: Proposal) -> Sequence[Rescoring]:
    """Lock every run that takes other scores over, with its submission, and return their rescorings."""
    return _lock_runs(_untaken(proposal))


def _untaken(proposal: Proposal) -> QuerySet[Rescoring]:
    """The rescorings whose copy has ended and that nobody took yet."""
    return Rescoring.objects.filter(proposal=proposal, taken_at=None, copy__status__in=FINAL)


def _lock_runs(chosen: QuerySet[Rescoring]) -> Sequence[Rescoring]:
    """Lock the submissions with their runs, and return what was chosen."""
    rescorings = list(chosen.select_related("proposal", "submission", "copy").prefetch_related("copy__runs"))
    runs = Run.objects.select_for_update().filter(submission__in=[each.submission_id for each in rescorings])
    list(runs.order_by("pk").values_list("pk"))
    submissions = Submission.objects.select_for_update(no_key=True).filter(
        pk__in=[each.submission_id for each in rescorings]
    )
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
    if is_superseded(proposal):  # by one that was applied while these locks were waited for
        return False
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


@dataclass(frozen=True)
class Standing:
    """A team's best row: rank, the deciding column with its value as shown, and tier where that is known."""

    rank: int
    score: str
    column: str
    tier: int | None = None


Standings = Mapping[int, Standing]  # by team


@dataclass(frozen=True)
class Facts:
    """Counts over all teams of a board."""

    teams: int
    moved: int
    gain: int
    lose: int
    come: int
    gone: int
    other_tier: int
    first_before: list[int]
    first_after: list[int]
    has_tiers: bool


def team_standings(board: Leaderboard, *, tiers: Mapping[int, int | None] | None = None) -> Standings:
    """Each team's best row now. `tiers` by row, where those that are stored are of other scores."""
    column = primary_column(list(board.columns.all()))
    rows = ranked_entries(board).values_list("pk", "team", "rank", "values", "uncertainty__tier")
    standings: dict[int, Standing] = {}
    for pk, team, rank, values, stored_tier in rows:
        tier = stored_tier if tiers is None else tiers.get(pk)
        standings.setdefault(team, Standing(rank, _shown(column, values), column.key if column else "", tier))
    return standings


def _shown(column: Column | None, values: Mapping[str, float]) -> str:
    """The deciding value, rounded as on the board; empty where the column is hidden or has none."""
    if column is None or column.is_hidden or column.key not in values:
        return ""
    return column.shown(values[column.key])


def tiers_now(board: Leaderboard, files: ReplicateFiles) -> dict[int, int | None]:
    """The tier of each row by the replicates of its score of now; empty without, and on a large board.

    Raises `Stopped`.
    """
    follows = BoardUncertainty.objects.filter(leaderboard=board).exists()
    if not follows or not board.shows_uncertainty or board.entry_count > MOST_RANKED:
        return {}
    read_missing(board, files=files)
    return row_tiers(board)


def compare(before: Standings, after: Standings) -> Facts:
    """The numbers of teams that move, come and go."""
    both = before.keys() & after.keys()
    moves = {team: before[team].rank - after[team].rank for team in both}
    tiers = [(before[team].tier, after[team].tier) for team in both]
    has_tiers = any(tier is not None for _, tier in tiers)
    return Facts(
        teams=len(before.keys() | after.keys()),
        moved=sum(move != 0 for move in moves.values()),
        gain=sum(move > 0 for move in moves.values()),
        lose=sum(move < 0 for move in moves.values()),
        come=len(after.keys() - before.keys()),
        gone=len(before.keys() - after.keys()),
        other_tier=sum(old is not None and new is not None and old != new for old, new in tiers),
        first_before=_first(before),
        first_after=_first(after),
        has_tiers=has_tiers,
    )


def _first(standings: Standings) -> list[int]:
    return [team for team, standing in standings.items() if standing.rank == 1][:3]


def shown_rows(before: Standings, after: Standings) -> list[dict[str, object]]:
    """Rows of the first teams, before and after, and of those that move most, by their new rank."""
    first = {team for each in (before, after) for team, standing in each.items() if standing.rank <= FIRST}
    chosen = first | set(_movers(before, after))
    last = len(before) + len(after)
    order = sorted(chosen, key=lambda team: (after[team].rank if team in after else last, team))
    return [
        {
            "team": team,
            "before": asdict(before[team]) if team in before else None,
            "after": asdict(after[team]) if team in after else None,
        }
        for team in order
    ]


def _movers(before: Standings, after: Standings) -> Sequence[int]:
    moved = [team for team in before.keys() & after.keys() if before[team].rank != after[team].rank]
    return sorted(moved, key=lambda team: -abs(before[team].rank - after[team].rank))[:MOVED]
