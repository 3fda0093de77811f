"""The best score of each competition in a list, where every visitor may see it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AnonymousUser
from django.db.models import OuterRef, Prefetch, Subquery, prefetch_related_objects

from competitions.catalog.models import Competition, Leaderboard, Phase
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import visible_columns
from competitions.leaderboards.models import Entry
from competitions.leaderboards.ranking.values import primary_column
from competitions.leaderboards.reading.submission_scores import load_boards


@dataclass(frozen=True)
class BestScore:
    """The first row of the main board, as the board shows it."""

    title: str
    value: str
    team: str


def best_scores(competitions: Iterable[Competition], now: datetime) -> dict[int, BestScore]:
    """By the competition's number, in two queries, and a third where scores were under seal.

    Read as a visitor who is not signed in, whoever asks: a list is no place for what is sealed.
    """
    visitor = Reader(AnonymousUser(), now)
    phases = {
        competition.pk: phase
        for competition in competitions
        if competition.is_published and (phase := _shown_phase(competition, now))
    }
    _load_boards(list(phases.values()))
    best = {pk: _best(phase, visitor) for pk, phase in phases.items()}
    return {pk: score for pk, score in best.items() if score is not None}


def _shown_phase(competition: Competition, now: datetime) -> Phase | None:
    """The first that is open, else the last that has begun."""
    begun = [phase for phase in competition.phases.all() if phase.opens_at <= now]
    phase = next((candidate for candidate in begun if candidate.is_open(now)), begun[-1] if begun else None)
    if phase is not None:
        phase.competition = competition
    return phase


def _load_boards(phases: list[Phase]) -> None:
    rows = Entry.objects.filter(leaderboard=OuterRef("pk"), is_baseline=False).order_by(*Entry.IN_ORDER)
    boards = Leaderboard.objects.annotate(
        best_values=Subquery(rows.values("values")[:1]), best_team=Subquery(rows.values("team__name")[:1])
    )
    prefetch_related_objects(phases, Prefetch("leaderboards", boards))
    load_boards(phases)


def _best(phase: Phase, visitor: Reader) -> BestScore | None:
    board = phase.main_board
    column = primary_column(list(board.columns.all())) if board is not None else None
    if board is None or column is None or column.is_relative or column not in visible_columns(visitor, board):
        return None
    values, team = getattr(board, "best_values", None), getattr(board, "best_team", None)
    value = column.shown_in(values) if values else None
    return BestScore(column.title, value, team) if value and team else None
