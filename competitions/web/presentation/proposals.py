"""Boards before and after a proposal, as a reader may see them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from competitions.catalog.models import Leaderboard, Proposal
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import may_know_board, may_see_board, visible_columns
from competitions.leaderboards.models import ProposedStanding, Snapshot
from competitions.leaderboards.snapshots import snapshot_path
from competitions.teams.models import Team
from files.text import quantity


@dataclass(frozen=True)
class ShownMove:
    """One team before and after; `gain` is by how many places it rises."""

    team: str
    before: Mapping[str, object] | None
    after: Mapping[str, object] | None
    gain: int


@dataclass(frozen=True)
class ShownStanding:
    """A board before and after. `is_withheld`: nothing is said, as the reader may not see its scores."""

    board: Leaderboard
    is_withheld: bool
    sentences: list[str]
    moves: list[ShownMove]
    has_tiers: bool
    snapshot: Snapshot | None
    snapshot_url: str


def shown_standings(proposal: Proposal, reader: Reader, *, would: bool) -> list[ShownStanding]:
    """Each board that the reader may know; `would`: the proposal is not in force yet. Three queries."""
    rows = proposal.standings.select_related("leaderboard__phase__competition", "snapshot")
    standings = [
        standing
        for standing in rows.prefetch_related("leaderboard__columns")
        if may_know_board(reader, standing.leaderboard)
    ]
    named = {row["team"] for standing in standings for row in standing.rows}
    named |= {
        team for standing in standings for name in ("first_before", "first_after") for team in standing.facts[name]
    }
    names = dict(Team.objects.filter(pk__in=named).values_list("pk", "name"))
    return [_standing(standing, names, reader, would=would) for standing in standings]


def shows_column(proposal: Proposal, reader: Reader) -> bool:
    """True if the proposal changes a column that this reader may know of."""
    board = proposal.board
    if board is None or not may_know_board(reader, board):
        return False
    return reader.organizes(board.phase) or proposal.column_key in {column.key for column in board.visible_columns}


def _standing(standing: ProposedStanding, names: Mapping[int, str], reader: Reader, *, would: bool) -> ShownStanding:
    board = standing.leaderboard
    is_withheld = not may_see_board(reader, board)
    keys = {column.key for column in visible_columns(reader, board)}
    if standing.snapshot is not None:
        standing.snapshot.leaderboard = board
    return ShownStanding(
        board=board,
        is_withheld=is_withheld,
        sentences=[] if is_withheld else list(_sentences(standing.facts, names, would=would)),
        moves=[] if is_withheld else [_move(row, names, keys) for row in standing.rows],
        has_tiers=bool(standing.facts["has_tiers"]),
        snapshot=standing.snapshot,
        snapshot_url=snapshot_path(standing.snapshot) if standing.snapshot is not None else "",
    )


def _move(row: Mapping[str, Any], names: Mapping[int, str], keys: Collection[str]) -> ShownMove:
    """One team's rows; their scores are left out of columns that are hidden by now."""
    before, after = (
        row_then and row_then | {"score": row_then["score"] if row_then.get("column") in keys else ""}
        for row_then in (row["before"], row["after"])
    )
    gain = before["rank"] - after["rank"] if before and after else 0
    return ShownMove(names.get(row["team"], "a team that was removed"), before, after, gain)


def _sentences(facts: Mapping[str, Any], names: Mapping[int, str], *, would: bool) -> Iterator[str]:
    if not facts["moved"] and not facts["come"] and not facts["gone"]:
        yield "No team would change its rank." if would else "No team changed its rank."
    if facts["moved"]:
        teams, its = ("team", "its") if facts["teams"] == 1 else ("teams", "their")
        do = f"would change {its} rank" if would else f"changed {its} rank"
        rise, fall = (quantity(facts[name], f"{word}s", word) for name, word in (("gain", "rise"), ("lose", "fall")))
        yield f"{facts['moved']:,} of {facts['teams']:,} {teams} {do}: {rise}, {fall}."
    if facts["first_before"] != facts["first_after"]:
        first, was = _named(facts["first_after"], names), _named(facts["first_before"], names)
        yield f"First would be {first}; it is {was}." if would else f"First is {first}; it was {was}."
    for name, do, did in (
        ("come", "would join the board", "joined the board"),
        ("gone", "would leave the board", "left the board"),
        ("other_tier", "would change the tier", "changed the tier"),
    ):
        if count := facts[name]:
            yield f"{'1 team' if count == 1 else f'{count:,} teams'} {do if would else did}."


def _named(teams: Iterable[int], names: Mapping[int, str]) -> str:
    return ", ".join(names.get(team, "a team that was removed") for team in teams) or "nobody"
