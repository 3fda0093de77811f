"""The rules that choose which of a team's scored submissions stand on a board: one function for each."""

from collections.abc import Callable
from typing import Final

from django.db.models import QuerySet

from competitions.catalog.models import Agents, Column, Leaderboard, Phase
from competitions.leaderboards.models import Pick, Score
from competitions.leaderboards.ranking.values import further_columns
from competitions.submissions.models import Submission
from competitions.teams.models import Team

Rule = Leaderboard.Rule

# The names of Codabench's `submission_rule`.
CODABENCH_RULES: Final[dict[str, Rule]] = {
    "Add": Rule.ADD,
    "Add_And_Delete": Rule.ADD_AND_DELETE,
    "Add_And_Delete_Multiple": Rule.ADD_AND_DELETE_MULTIPLE,
    "Force_Last": Rule.LAST,
    "Force_Latest_Multiple": Rule.ALL,
    "Force_Best": Rule.BEST,
}
CODABENCH_NAMES: Final = {rule: name for name, rule in CODABENCH_RULES.items()}
# Where teams choose, what they did not choose stays their own. Under the other rules every score was for everybody when it came.
PICKED: Final = (Rule.SELECTED, Rule.ADD, Rule.ADD_AND_DELETE, Rule.ADD_AND_DELETE_MULTIPLE)
ONE_REPLACES: Final = (Rule.ADD, Rule.ADD_AND_DELETE)
REMOVABLE: Final = (Rule.SELECTED, Rule.ADD_AND_DELETE, Rule.ADD_AND_DELETE_MULTIPLE)


def is_ranked_on(board: Leaderboard, submission: Submission) -> bool:
    """False where the phase parts agents from people, and the board is for the others."""
    return board.entrants in ("all", "people" if submission.agent is None else "agents")


def eligible_scores(board: Leaderboard) -> QuerySet[Score]:
    """Scores that may stand on the board: not disqualified, in time, and received before a freeze."""
    scores = Score.objects.filter(leaderboard=board, is_eligible=True)
    return scores if board.frozen_from is None else scores.filter(received_at__lt=board.frozen_from)


def may_stand(board: Leaderboard, score: Score) -> bool:
    """True where the score is one of the board's `eligible_scores`."""
    return score.is_eligible and (board.frozen_from is None or score.received_at < board.frozen_from)


def counting_scores(board: Leaderboard, team: Team, columns: list[Column]) -> list[Score]:
    """The team's scores that stand on the board now; empty when none does."""
    scores = eligible_scores(board).filter(team=team)
    return _COUNTING[Rule(board.rule)](board, team, scores, columns)


def _best(board: Leaderboard, team: Team, scores: QuerySet[Score], columns: list[Column]) -> list[Score]:
    """The best by the primary column, then by the `further_columns`, then the earliest."""
    first = scores.order_by("rank_value").values("rank_value")[:1]
    equal = list(scores.filter(rank_value=first).order_by("received_at", "pk")[:1000])
    return [min(equal, key=lambda score: _further(score, columns))] if equal else []


def _further(score: Score, columns: list[Column]) -> list[float]:
    """The values of a score that tell it from equal ones, smaller is better; a missing value comes last."""
    return [
        column.rank_value(score.values[column.key]) if column.key in score.values else float("inf")
        for column in further_columns(columns)
    ]


def _last(board: Leaderboard, team: Team, scores: QuerySet[Score], columns: list[Column]) -> list[Score]:
    return list(scores.order_by("-received_at", "-pk")[:1])


def _all(board: Leaderboard, team: Team, scores: QuerySet[Score], columns: list[Column]) -> list[Score]:
    return list(scores.order_by("received_at", "pk"))


def _added(board: Leaderboard, team: Team, scores: QuerySet[Score], columns: list[Column]) -> list[Score]:
    return list(scores.filter(submission__in=_picked(board, team)).order_by("received_at", "pk"))


def _selected(board: Leaderboard, team: Team, scores: QuerySet[Score], columns: list[Column]) -> list[Score]:
    """The team's best selected scores; without any, its best public submission."""
    chosen = _best(board, team, scores.filter(submission__in=_picked(board, team)), columns)
    return chosen or _best_public(board, team, scores, columns)


def _best_public(board: Leaderboard, team: Team, scores: QuerySet[Score], columns: list[Column]) -> list[Score]:
    public = public_board(board)
    if public is None:
        return _best(board, team, scores, columns)
    # Also those that a freeze keeps off the public board: when it ends must not change what counts here.
    candidates = public.scores.filter(is_eligible=True, team=team, submission__in=scores.values("submission"))
    best = _best(public, team, candidates, list(public.columns.all()))
    return list(scores.filter(submission=best[0].submission_id)) if best else []


def public_board(board: Leaderboard) -> Leaderboard | None:
    """The board that everybody saw during selection: the phase's first that is not sealed or hidden."""
    if board.phase.visibility != board.phase.Visibility.PUBLIC or board.visibility != Leaderboard.Visibility.SEALED:
        return None
    others = Leaderboard.objects.filter(
        phase=board.phase_id, visibility=Leaderboard.Visibility.AS_PHASE, is_hidden=False
    )
    return _with_the_same_entrants(others.exclude(pk=board.pk), board).select_related("phase").first()


def compared_board(board: Leaderboard) -> Leaderboard | None:
    """The board that everybody saw before: the phase's public one, else that of the public phase before."""
    if (public := public_board(board)) is not None:
        return public
    if board.phase.visibility != Phase.Visibility.SEALED:
        return None
    phases = Phase.objects.filter(competition=board.phase.competition_id, visibility=Phase.Visibility.PUBLIC)
    before = phases.filter(index__lt=board.phase.index).order_by("-index").first() or phases.first()
    boards = Leaderboard.objects.filter(visibility=Leaderboard.Visibility.AS_PHASE, is_hidden=False)
    return _with_the_same_entrants(boards, board).filter(phase=before).first() if before else None


def _with_the_same_entrants(boards: QuerySet[Leaderboard], board: Leaderboard) -> QuerySet[Leaderboard]:
    """The boards but those for agents where `board` is for people, and the other way round."""
    return boards.exclude(phase__agents=Agents.OWN_BOARD, for_agents=not board.for_agents)


def _picked(board: Leaderboard, team: Team) -> QuerySet[Pick]:
    return Pick.objects.filter(leaderboard=board, team=team).values("submission")  # type: ignore[return-value]  # a subquery


_COUNTING: Final[dict[Rule, Callable[[Leaderboard, Team, QuerySet[Score], list[Column]], list[Score]]]] = {
    Rule.BEST: _best,
    Rule.LAST: _last,
    Rule.SELECTED: _selected,
    Rule.ADD: _added,
    Rule.ADD_AND_DELETE: _added,
    Rule.ADD_AND_DELETE_MULTIPLE: _added,
    Rule.ALL: _all,
}
