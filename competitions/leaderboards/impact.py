"""Words to organizers on boards: columns that are missing, and ranks after a change.

Once it is written, ranks are made anew.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from competitions.catalog.changes.boards import UNRANKED, Compare, board_watch
from competitions.catalog.changes.change import Change, impact_check
from competitions.catalog.models import Agents, Column, Competition, Leaderboard, Phase
from competitions.catalog.readiness import ReadinessWarning, readiness_check
from competitions.disclosure.scores import scores_are_public
from competitions.leaderboards.ranking.entries import team_ranks
from competitions.leaderboards.ranking.values import deciding_column
from competitions.leaderboards.services import board_rebuild, board_touch
from competitions.runs.models import Run
from competitions.submissions.models import Submission
from competitions.submissions.states import State
from competitions.teams.models import Team
from files.text import quantity

LATEST = 50  # scored submissions of a phase that tell which keys their scores have


def board_follow_change(sender: type[Leaderboard], change: Change[Leaderboard], **kwargs: Any) -> None:
    """Receiver of `definition_changed`: rank the board again, or redraw its pages if no row can move."""
    if change.before is not None and change.fields <= UNRANKED:
        board_touch(change.row)
    else:
        board_rebuild(change.row)


def boards_follow_agents(sender: type[Phase], change: Change[Phase], **kwargs: Any) -> None:
    """Receiver of `definition_changed`: rank again where agents get a board of their own, or lose it."""
    if change.before is None or "agents" not in change.fields:
        return
    if Agents.OWN_BOARD in (change.before.agents, change.row.agents):
        for board in Leaderboard.objects.filter(phase=change.row).order_by("pk"):
            board_rebuild(board)


@impact_check(Phase)
def agents_move(phase: Phase, changes: Mapping[str, object], now: datetime) -> Iterator[str]:
    if Agents.OWN_BOARD not in (phase.agents, changes.get("agents")) or "agents" not in changes:
        return
    moved = (
        Submission.objects.filter(phase=phase, status=State.FINISHED, is_smoke=False).exclude(agent_model="").count()
    )
    count = f"{quantity(moved, 'scored submission')} of agents"
    if changes["agents"] != Agents.OWN_BOARD:
        yield f"Agents and people share the boards again: {count} so far. All boards of the phase are ranked again."
        return
    to = "to the boards for agents" if phase.leaderboards.filter(for_agents=True).exists() else "off the boards"
    yield f"Agents leave the boards for people, and people those for agents: {count} so far, which move {to}."


@impact_check(Leaderboard)
def freeze_moves(board: Leaderboard, changes: Mapping[str, datetime | None], now: datetime) -> Iterator[str]:
    if "freeze_at" not in changes:
        return
    freeze_at: datetime | None = changes["freeze_at"]
    if freeze_at is None:
        yield "The freeze ends: everything that stayed off comes on the board."
        return
    later = Submission.objects.filter(phase=board.phase_id, received_at__gte=freeze_at).count()
    count = f"{quantity(later, 'submission')} so far" if later else "none so far"
    yield f"What is received from {freeze_at:%Y-%m-%d %H:%M} UTC on stays off the board: {count}."


@board_watch
def watch_ranks(board: Leaderboard) -> Compare:
    """Compare ranks before and after a change; tells nothing of a sealed board."""
    was_public, before = scores_are_public(board), team_ranks(board)

    def compare(changed: Leaderboard) -> list[str]:
        if not (was_public and scores_are_public(changed)):
            return ["The board is sealed, so rank changes are not shown. Everything on it is ranked again."]
        return rank_differences(before, team_ranks(changed))

    return compare


@board_watch
def watch_keys(board: Leaderboard) -> Compare:
    """Say which columns wait for their scores where others leave the board, as after a key was changed."""
    known, before = _known_keys(board), _score_keys(board)

    def compare(changed: Leaderboard) -> list[str]:
        titles = _score_keys(changed)
        if titles.keys() >= before.keys():
            return []
        return [
            f"No submission has a score {key!r}, so the column “{title}” stays empty until the scoring program writes it."
            for key, title in titles.items()
            if key not in known
        ]

    return compare


def empty_columns(board: Leaderboard, keys: Collection[str]) -> list[str]:
    """Say of each column that the board has beside these keys that no submission has a score for it yet.

    Scores of keys that no board shows are not stored, so only what is scored from now on may have them.
    """
    known = _known_keys(board)
    added = [(key, title) for key, title in _score_keys(board).items() if key not in known and key not in keys]
    return [
        f"No submission has a score “{key}” so far; they have {', '.join(sorted(known))}. The column “{title}” stays empty until the "
        "scoring program writes it. Run earlier submissions again to fill it for them."
        for key, title in added
        if known
    ]


def _known_keys(board: Leaderboard) -> set[str]:
    """The keys that the newest scores of the board's phase have, whichever board shows them."""
    latest = Submission.objects.filter(phase=board.phase_id, status=State.FINISHED, is_smoke=False).order_by("-pk")
    runs = Run.objects.filter(submission__in=list(latest.values_list("pk", flat=True)[:LATEST]), is_smoke=False)
    return {key for scores in runs.values_list("scores", flat=True) for key in scores}


def _score_keys(board: Leaderboard) -> dict[str, str]:
    """The columns that scoring programs fill: key to title."""
    return dict(board.columns.filter(kind=Column.Kind.SCORE).values_list("key", "title"))


def rank_differences(before: Mapping[int, int], after: Mapping[int, int]) -> list[str]:
    """Say in a few sentences which teams stand elsewhere; both are each team's best rank."""
    moved = [team for team, rank in before.items() if after.get(team) != rank]
    come = [team for team in after if team not in before]
    if not moved and not come:
        return []
    change = "team changes its rank" if len(before) == 1 else "teams change their rank"
    joins = quantity(len(come), "team joins the board", "teams join the board")
    sentences = [f"{len(moved)} of {len(before)} {change}." if moved else f"{joins}."]
    gone = sum(team not in after for team in before)
    if gone:
        sentences.append(f"{gone} of them leave the board.")
    first_before, first_after = _first(before), _first(after)
    if first_before != first_after:
        sentences.append(f"First is {first_after or 'nobody'}; it was {first_before or 'nobody'}.")
    return sentences


def _first(ranks: Mapping[int, int]) -> str:
    leaders = [team for team, rank in ranks.items() if rank == 1]
    return ", ".join(Team.objects.filter(pk__in=leaders[:3]).order_by("name").values_list("name", flat=True))


@readiness_check
def boards_have_columns(competition: Competition) -> Iterator[ReadinessWarning]:
    for phase in competition.phases.prefetch_related("leaderboards__columns"):
        boards = list(phase.leaderboards.all())
        if not boards:
            yield ReadinessWarning(
                "no_board", phase.name, "The phase has no leaderboard, so scores are shown nowhere. Add one."
            )
        yield from _entrants_warnings(phase, boards)
        for board in boards:
            yield from _column_warnings(phase, board)


def _entrants_warnings(phase: Phase, boards: Sequence[Leaderboard]) -> Iterator[ReadinessWarning]:
    if phase.agents != Agents.OWN_BOARD or not boards:
        return
    for for_agents, entrants in ((True, "agents"), (False, "people")):
        if not any(board.for_agents == for_agents for board in boards):
            yield ReadinessWarning(
                f"no_board_for_{entrants}",
                phase.name,
                f"Agents have a board of their own, and no board is for {entrants}, so their scores are shown nowhere. Add one.",
            )


def _column_warnings(phase: Phase, board: Leaderboard) -> Iterator[ReadinessWarning]:
    columns = list(board.columns.all())
    keys = {column.key for column in columns}
    if not columns:
        yield ReadinessWarning(
            "no_column", phase.name, "The leaderboard has no column, so nothing can be ranked. Add one."
        )
    elif deciding_column(columns) is None:
        yield ReadinessWarning(
            "no_deciding_column",
            f"{phase.name}, {board.title}",
            "The board is ranked by an average rank over columns that it does not have. Name columns of this board.",
        )
    for column in columns:
        if missing := [key for key in column.sources if key not in keys]:
            yield ReadinessWarning(
                "no_source",
                f"{phase.name}, {column.title}",
                f"The column is computed from {', '.join(missing)}, which the board does not have.",
            )
