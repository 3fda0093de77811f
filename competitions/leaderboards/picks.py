"""A team's choice of what stands on a board: final submissions, or added and removed by hand."""

from collections.abc import Collection
from datetime import datetime
from typing import Final

from django.db import transaction

from accounts.models import User
from competitions.catalog.models import Leaderboard
from competitions.leaderboards.models import Pick
from competitions.leaderboards.ranking.rules import ONE_REPLACES, PICKED, REMOVABLE, Rule, is_ranked_on
from competitions.leaderboards.removed_rows import noting_removed
from competitions.leaderboards.services import entries_refresh
from competitions.submissions.models import Submission
from competitions.submissions.states import State
from competitions.teams.models import Membership, Team
from competitions.teams.services import require_admitted, require_team
from core.refusals import Conflict, RefusalKind


class NothingToPick(Conflict):
    code = "nothing_to_pick"

    def __init__(self, board: Leaderboard) -> None:
        super().__init__(
            f"On the leaderboard “{board.title}” {board.get_rule_display()}, so there is nothing to choose by hand."
        )


SELECTION_CLOSED: Final = RefusalKind(
    409,
    "selection_closed",
    "What counts on the leaderboard “{board.title}” could be chosen until "
    "{board.selection_ends_at:%Y-%m-%d %H:%M} UTC. It stays as it was then.",
)

TOO_MANY_SELECTED: Final = RefusalKind(
    409,
    "too_many_selected",
    "Your team has selected {limit} of {limit} submissions for “{board.title}”. Take one of them back first.",
    tells=("limit",),
)

TOO_MANY_FINALS: Final = RefusalKind(
    409,
    "too_many_selected",
    "{number} submissions would be selected for “{board.title}”; at most {limit} may be. Nothing was changed.",
    tells=("limit",),
)

SELECTION_CHANGED: Final = RefusalKind(
    409,
    "selection_changed",
    "Somebody in your team has changed the selection for “{board.title}” meanwhile. Nothing was changed now; look at it "
    "again and choose once more.",
)

CANNOT_COUNT: Final = RefusalKind(409, "cannot_count", "Submission #{submission.pk} cannot be chosen: {why}.")

STAYS_ON_BOARD: Final = RefusalKind(
    409,
    "stays_on_board",
    "A submission cannot be taken off the leaderboard “{board.title}”, only replaced: put another one on it.",
)

NOT_OF_YOUR_TEAM: Final = RefusalKind(
    403, "not_of_your_team", "Submission #{submission.pk} is another team's. Only its own team chooses what counts."
)


@transaction.atomic
def pick_add(*, board: Leaderboard, submission: Submission, by: User, now: datetime) -> Pick:
    """Choose the submission for the board, in place of the former one if only one counts.

    A submission chosen before gives the same pick.

    Raises `NOT_OF_YOUR_TEAM`, `NothingToPick`, `SELECTION_CLOSED`, `CANNOT_COUNT` or `TOO_MANY_SELECTED`; then nothing is changed.
    """
    _require_choice(board, submission, by, now)
    Team.objects.select_for_update(no_key=True).get(pk=submission.team_id)  # choices take turns: the limit holds
    submission.refresh_from_db()
    _require_usable(board, submission)
    team_picks = Pick.objects.filter(leaderboard=board, team=submission.team_id)
    if (pick := team_picks.filter(submission=submission).first()) is not None:
        return pick
    if board.rule in ONE_REPLACES:
        team_picks.delete()
    if board.rule == Rule.SELECTED and team_picks.count() >= board.max_selected:
        raise TOO_MANY_SELECTED(board=board, limit=board.max_selected)
    pick = Pick.objects.create(
        leaderboard=board, submission=submission, team_id=submission.team_id, picked_by=by, picked_at=now
    )
    _refresh(board, submission.team, now)
    return pick


@transaction.atomic
def pick_remove(*, board: Leaderboard, submission: Submission, by: User, now: datetime) -> bool:
    """Take the choice back; False when it was not chosen. Raises as `pick_add`, and `STAYS_ON_BOARD`."""
    _require_choice(board, submission, by, now)
    if board.rule not in REMOVABLE:
        raise STAYS_ON_BOARD(board=board)
    Team.objects.select_for_update(no_key=True).get(pk=submission.team_id)
    removed, _ = Pick.objects.filter(leaderboard=board, submission=submission).delete()
    if removed:
        _refresh(board, submission.team, now)
    return bool(removed)


@transaction.atomic
def finals_choose(
    *,
    board: Leaderboard,
    by: User,
    seen: Collection[int],
    shown: Collection[int],
    chosen: Collection[int],
    now: datetime,
) -> None:
    """Make `chosen` the team's final submissions among those `shown`; others keep their state.

    `seen`: those selected when the list was drawn. Raises `SELECTION_CHANGED` if that has changed, else `NO_TEAM` or
    what `pick_add` does; then nothing is changed.
    """
    if board.rule != Rule.SELECTED:
        raise NothingToPick(board)
    _require_open(board, now)
    require_admitted(user=by, competition=board.phase.competition)
    team = require_team(user=by, competition=board.phase.competition)
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    team_picks = Pick.objects.filter(leaderboard=board, team=team)
    selected = set(team_picks.values_list("submission", flat=True))
    if selected & set(shown) != set(seen):
        raise SELECTION_CHANGED(board=board)
    final = selected - set(shown) | set(chosen)
    if len(final) > board.max_selected:
        raise TOO_MANY_FINALS(board=board, number=len(final), limit=board.max_selected)
    for submission in Submission.objects.select_related("team").filter(pk__in=final - selected):
        if submission.team_id != team.pk:
            raise NOT_OF_YOUR_TEAM(submission=submission)
        if submission.phase_id != board.phase_id:
            raise NothingToPick(board)
        _require_usable(board, submission)
        Pick.objects.create(leaderboard=board, submission=submission, team=team, picked_by=by, picked_at=now)
    team_picks.exclude(submission__in=final).delete()
    _refresh(board, team, now)


def _require_choice(board: Leaderboard, submission: Submission, by: User, now: datetime) -> None:
    if not Membership.objects.filter(team=submission.team_id, user=by).exists():
        raise NOT_OF_YOUR_TEAM(submission=submission)
    require_admitted(user=by, competition=board.phase.competition)
    if board.phase_id != submission.phase_id:
        raise NothingToPick(board)
    _require_open(board, now)


def _require_open(board: Leaderboard, now: datetime) -> None:
    if board.rule not in PICKED:
        raise NothingToPick(board)
    if not may_choose(board, now):
        raise SELECTION_CLOSED(board=board)


def may_choose(board: Leaderboard, now: datetime) -> bool:
    """True while a team may change what counts on this board."""
    ends_at = board.selection_ends_at
    if board.was_revealed:  # whoever saw the scores would choose with them
        return False
    return board.rule in PICKED and (ends_at is None or now < ends_at)


def _require_usable(board: Leaderboard, submission: Submission) -> None:
    if submission.status in (State.FAILED, State.CANCELLED):
        raise CANNOT_COUNT(submission=submission, why="it has no score")
    if not submission.may_rank:
        raise CANNOT_COUNT(submission=submission, why="it is disqualified, late, or not one of the competition")
    if not is_ranked_on(board, submission):
        raise CANNOT_COUNT(
            submission=submission,
            why="the leaderboard is for agents, and a person sent it"
            if board.for_agents
            else "an agent sent it, and agents have a leaderboard of their own",
        )
    if board.rule != Rule.SELECTED and not submission.scores.filter(leaderboard=board).exists():
        raise CANNOT_COUNT(submission=submission, why="it has no score on this leaderboard yet")


def _refresh(board: Leaderboard, team: Team, now: datetime) -> None:
    locked = Leaderboard.objects.select_for_update(of=("self",), no_key=True).select_related("phase").get(pk=board.pk)
    with noting_removed([locked], team, now=now):
        entries_refresh(locked, team)
