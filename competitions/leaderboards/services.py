"""Keeping boards true: every settled submission updates its team's rows, under the board's lock."""

import math
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from accounts.models import Profile, User
from competitions.catalog.models import Column, Competition, Leaderboard, Phase
from competitions.catalog.sealed_keys import sealed_keys_record
from competitions.factsheets.models import Question
from competitions.leaderboards.commitment import amending
from competitions.leaderboards.models import Cell, Entry, Milestone, Pick, Score, ScoreReplicates
from competitions.leaderboards.ranking.entries import entries_write, outcomes_record
from competitions.leaderboards.ranking.fact_columns import (
    PREFIX,
    SOURCE,
    FactColumn,
    badge_values,
    fact_columns,
    fact_values,
)
from competitions.leaderboards.ranking.relative_ranks import average_ranks_refresh
from competitions.leaderboards.ranking.rules import ONE_REPLACES, Rule, eligible_scores, is_ranked_on, may_stand
from competitions.leaderboards.ranking.values import column_values, dataset_values, deciding_column
from competitions.leaderboards.removed_rows import noting_removed
from competitions.leaderboards.uncertainty.asking import ask_uncertainty, begin_uncertainty
from competitions.runs.rescoring import is_rescoring
from competitions.submissions.models import Dataset, Submission
from competitions.submissions.states import State
from competitions.teams.models import Team

BATCH: Final = 2000


def boards_locked(*phases: int) -> list[Leaderboard]:
    """Lock and return the boards of these phases, in order of their key, so that updates take turns."""
    locked = (
        Leaderboard.objects.select_for_update(of=("self",), no_key=True)
        .filter(phase__in=phases)
        .select_related("phase")
    )
    return list(locked.prefetch_related("columns").order_by("pk"))


@transaction.atomic(savepoint=False)
def board_follow(
    sender: type[Submission], submission: Submission, *, reason: str = "", now: datetime | None = None, **kwargs: Any
) -> None:
    """Receiver of `submission_settled`; runs inside the transaction that moved the run."""
    if is_rescoring(submission):  # no score until its proposal is applied
        return
    now = now or timezone.now()
    sealed_keys_record(phase=submission.phase, now=now)
    boards = boards_locked(submission.phase_id)
    with amending(boards, submission.team, reason=reason, now=now):
        _follow(boards, [submission])
    if submission.status == State.FINISHED and submission.finished_at == now:
        outcomes_record(boards, submission)


@transaction.atomic(savepoint=False)
def boards_follow_decision(
    sender: type[Submission], submissions: Sequence[Submission], reason: str, now: datetime, **kwargs: Any
) -> None:
    """Receiver of `standing_changed`: one team's submissions count no longer, or again."""
    by_phase: dict[int, list[Submission]] = {}
    for submission in submissions:
        by_phase.setdefault(submission.phase_id, []).append(submission)
    boards, team = boards_locked(*by_phase), submissions[0].team
    with amending(boards, team, reason=reason, now=now), noting_removed(boards, team, reason=reason, now=now):
        for phase, group in by_phase.items():
            _follow([board for board in boards if board.phase_id == phase], group)


def _follow(boards: Sequence[Leaderboard], submissions: Sequence[Submission]) -> None:
    """Make the boards, which are locked, show what one team's submissions reached."""
    facts = fact_columns(boards[0].phase) if boards else []
    more = [[_score_record(board, submission, facts) for submission in submissions] for board in boards]
    for board, changes in zip(boards, more, strict=True):  # what counts on one may follow from another's scores
        more_scores = sum(changes) if min(changes) >= 0 else None
        entries_refresh(board, submissions[0].team, facts, more_scores=more_scores)


@transaction.atomic
def boards_follow_team(sender: type[Team], team: Team, **kwargs: Any) -> None:
    """Receiver of `team_changed`: update the team's name, mark and ranking on its boards."""
    rows, columns = Entry.objects.filter(team=team), Dataset.objects.filter(submission__team=team)
    boards = Leaderboard.objects.filter(
        Q(pk__in=rows.values("leaderboard")) | Q(phase__in=columns.values("submission__phase"))
    )
    for board in boards.select_for_update(of=("self",), no_key=True).select_related("phase").order_by("pk"):
        if Entry.objects.filter(leaderboard=board, team=team).exclude(is_baseline=team.is_baseline).exists():
            milestones_rebuild(board)
        entries_refresh(board, team)


def boards_follow_members(sender: type[Team], team: Team, **kwargs: Any) -> None:
    """Receiver of `members_changed`: invalidate pages of boards that name the team's members."""
    _draw_anew(Entry.objects.filter(team=team))


def boards_follow_person(sender: type[Profile], user: User, **kwargs: Any) -> None:
    """Receiver of `profile_switched`: draw boards anew whose rows name the person."""
    _draw_anew(Entry.objects.filter(team__memberships__user=user))


def _draw_anew(rows: QuerySet[Entry]) -> None:
    """Give the boards of these rows a new version, in one order, as they are locked everywhere."""
    for board in list(rows.order_by("leaderboard").values_list("leaderboard", flat=True).distinct()):
        Leaderboard.objects.filter(pk=board).update(version=F("version") + 1)


@transaction.atomic(savepoint=False)
def boards_follow_source(sender: type[Submission], submission: Submission, **kwargs: Any) -> None:
    """Receiver of `source_changed`: show commit and link on the submission's rows, ranked as they are."""
    boards = boards_locked(submission.phase_id)
    badges = badge_values(submission)
    for score in Score.objects.filter(submission=submission, leaderboard__in=boards):
        rows = list(Entry.objects.filter(score=score))
        both: list[Score | Entry] = [score, *rows]
        for shown in both:  # a row has values that its score has not: average ranks
            others = {key: value for key, value in shown.values.items() if key != SOURCE}
            shown.values = others | {key: badges[key] for key in (SOURCE,) if key in badges}
            shown.save(update_fields=["values"])
        if rows:
            Leaderboard.objects.filter(pk=score.leaderboard_id).update(version=F("version") + 1)


def _score_record(board: Leaderboard, submission: Submission, facts: Sequence[FactColumn]) -> int:
    """Write, change or remove the submission's score; by how many the board has more scores then.

    The board's lock must be held; its rows are refreshed after it.
    """
    before = Score.objects.filter(leaderboard=board, submission=submission).first()
    placed = None if before is None else _placed(before)
    if before is not None:  # a run anew may have other ones
        ScoreReplicates.objects.filter(score=before).delete()
    score = _score(board, submission, list(board.columns.all()), facts, before)
    if score is not None:
        score.save()
        begin_uncertainty(board, submission)
    if before is None and score is not None:
        _milestone_if_best(board, score)
        return 1
    if before is not None and score is None:
        before.delete()
        milestones_rebuild(board)
        return -1
    if score is not None and placed != _placed(score):
        milestones_rebuild(board)
    return 0


def _placed(score: Score) -> tuple[float, bool, int]:
    """The part of a score that the board's history depends on."""
    return score.rank_value, score.is_eligible, score.team_id


def _score(
    board: Leaderboard,
    submission: Submission,
    columns: Sequence[Column],
    facts: Sequence[FactColumn],
    before: Score | None,
) -> Score | None:
    """The submission's score, not saved yet; None if it has no value to be ranked by.

    `before`: its score so far. `facts`: columns of answers. The board's lock keeps others from writing the same score.
    """
    deciding, grows = deciding_column(columns), board.phase.grows
    values = column_values(submission, columns, each_task=grows)
    if deciding is None or deciding.key not in values or submission.status != State.FINISHED:
        return None
    if not is_ranked_on(board, submission):
        return None
    score = before or Score(leaderboard=board, submission=submission)
    score.team = submission.team
    score.values = values | fact_values(submission, facts) | badge_values(submission)
    if grows:
        score.values |= dataset_values(submission, columns)
    score.rank_value = deciding.rank_value(values[deciding.key])
    score.received_at = submission.received_at
    score.is_eligible = submission.may_rank
    return score


@transaction.atomic(savepoint=False)
def entries_refresh(
    board: Leaderboard, team: Team, facts: Sequence[FactColumn] | None = None, *, more_scores: int | None = None
) -> None:
    """Make the team's rows show the scores that count now. The board's lock must be held.

    `more_scores`: so many scores came to the board and no score or row left it, since it was last counted. Otherwise it is
    counted anew, which would cost each result more the longer a competition goes on.
    """
    columns = list(board.columns.all())
    more_entries = entries_write(board, team, columns, fact_columns(board.phase) if facts is None else facts)
    average_ranks_refresh(board, columns)
    if more_scores is None:
        version_raise(board)
    else:
        version_raise(board, entry_count=F("entry_count") + more_entries, score_count=F("score_count") + more_scores)


def version_raise(board: Leaderboard, **counts: Any) -> None:
    """Raise the version that caches the board's pages, and update its counts, counted if not given."""
    counts = counts or {"entry_count": board.entries.count(), "score_count": board.scores.count()}
    rows = Leaderboard.objects.filter(pk=board.pk)
    rows.update(version=F("version") + 1, updated_at=timezone.now(), **counts)
    ask_uncertainty(board)


def _milestone_if_best(board: Leaderboard, score: Score) -> None:
    """Note a score that beats all before it; one older than a noted score asks for a rebuild."""
    if score.team.is_baseline or not may_stand(board, score):
        return
    newest = Milestone.objects.filter(leaderboard=board).order_by("-received_at", "rank_value").first()
    if newest is not None and score.received_at < newest.received_at:
        milestones_rebuild(board)
    elif newest is None or score.rank_value < newest.rank_value:
        _milestone(board, score).save(force_insert=True)


def _milestone(board: Leaderboard, score: Score) -> Milestone:
    return Milestone(leaderboard=board, score=score, rank_value=score.rank_value, received_at=score.received_at)


@transaction.atomic
def milestones_rebuild(board: Leaderboard) -> None:
    """Walk the board's history again; for the rare changes of what was scored before."""
    best = math.inf
    milestones = []
    history = eligible_scores(board).filter(team__is_baseline=False).order_by("received_at", "pk")
    for score in history.iterator(chunk_size=5000):
        if score.rank_value < best:
            best = score.rank_value
            milestones.append(_milestone(board, score))
    Milestone.objects.filter(leaderboard=board).delete()
    Milestone.objects.bulk_create(milestones)


@transaction.atomic
def boards_follow_questions(
    sender: type[Question], competition: Competition, *, is_shown_alone: bool = False, **kwargs: Any
) -> None:
    """Receiver of `questions_changed`: answers come on the boards of the competition, or leave them."""
    boards = Leaderboard.objects.filter(phase__competition=competition)
    for board in boards.select_for_update(of=("self",), no_key=True).select_related("phase").order_by("pk"):
        if not is_shown_alone:
            _answers_rewrite(board)
        version_raise(board)


def _answers_rewrite(board: Leaderboard) -> None:
    """Give the rows of a board, which is locked, the answers of now. Scores and their resamples stay."""
    columns, facts = list(board.columns.all()), fact_columns(board.phase)
    scores = Score.objects.filter(leaderboard=board).select_related("submission").order_by("pk").iterator(BATCH)
    while batch := list(islice(scores, BATCH)):
        for score in batch:
            others = {key: value for key, value in score.values.items() if not key.startswith(PREFIX)}
            score.values = others | fact_values(score.submission, facts)
        Score.objects.bulk_update(batch, ["values"], batch_size=500)
    Cell.objects.filter(entry__leaderboard=board).delete()
    for team in Team.objects.filter(entries__leaderboard=board).distinct().order_by("pk").iterator(BATCH):
        entries_write(board, team, columns, facts)
    average_ranks_refresh(board, columns)


@transaction.atomic
def board_rebuild(board: Leaderboard) -> None:
    """Make the whole board again from the scores of its runs, for instance after its columns changed."""
    finished = Submission.objects.filter(
        phase=board.phase_id, status=State.FINISHED, is_smoke=False, rescores=None
    ).select_related("team")
    if finished.exists():  # before the board's lock, because it takes those of others
        sealed_keys_record(phase=Phase.objects.get(pk=board.phase_id), now=timezone.now())
    locked = Leaderboard.objects.select_for_update(of=("self",), no_key=True).select_related("phase").get(pk=board.pk)
    columns, facts = list(locked.columns.all()), fact_columns(locked.phase)
    Score.objects.filter(leaderboard=locked).delete()
    submissions = finished.prefetch_related("runs").order_by("pk").iterator(BATCH)
    scores = filter(None, (_score(locked, submission, columns, facts, None) for submission in submissions))
    while batch := list(islice(scores, BATCH)):
        Score.objects.bulk_create(batch)
    rows_rebuild(locked)


@transaction.atomic
def board_touch(board: Leaderboard) -> None:
    """Invalidate the board's cached pages after a change of anything but its rows."""
    version_raise(Leaderboard.objects.select_for_update(of=("self",), no_key=True).get(pk=board.pk))


@transaction.atomic
def board_freeze(*, board: Leaderboard, at: datetime | None) -> None:
    """Keep what is received from `at` on off the board; None shows everything again."""
    locked = Leaderboard.objects.select_for_update(of=("self",), no_key=True).select_related("phase").get(pk=board.pk)
    locked.freeze_at = at
    locked.save(update_fields=["freeze_at"])
    rows_rebuild(locked)


@transaction.atomic
def rows_rebuild(board: Leaderboard) -> None:
    """Rebuild the board's rows from its scores, as when a freeze begins or ends; hold the lock."""
    columns, facts = list(board.columns.all()), fact_columns(board.phase)
    Entry.objects.filter(leaderboard=board).delete()
    for team in Team.objects.filter(scores__leaderboard=board).distinct().order_by("pk").iterator(2000):
        entries_write(board, team, columns, facts)
    average_ranks_refresh(board, columns)
    milestones_rebuild(board)
    version_raise(board)


def boards_follow_merge(sender: type[Team], team: Team, absorbed: Team, **kwargs: Any) -> None:
    """Receiver of `teams_merged`: give the absorbed team's scores and choices to the other.

    The absorbed team's rows are removed.
    """
    boards = Leaderboard.objects.filter(phase__competition=team.competition_id)
    locked = list(boards.select_for_update(of=("self",), no_key=True).select_related("phase").order_by("pk"))
    for board in locked:
        Score.objects.filter(leaderboard=board, team=absorbed).update(team=team)
        Entry.objects.filter(leaderboard=board, team=absorbed).delete()
        _join_picks(board, team, absorbed)
    for board in locked:  # after all of them: what counts on one may follow from another
        entries_refresh(board, team)


def _join_picks(board: Leaderboard, team: Team, absorbed: Team) -> None:
    """Add the absorbed team's choices to the other's, earliest first, as far as they fit."""
    limit = {**dict.fromkeys(ONE_REPLACES, 1), Rule.SELECTED: board.max_selected}.get(Rule(board.rule))
    absorbed_picks = Pick.objects.filter(leaderboard=board, team=absorbed)
    if limit is not None:
        room = max(limit - Pick.objects.filter(leaderboard=board, team=team).count(), 0)
        fitting_picks = list(absorbed_picks.order_by("picked_at", "pk").values_list("pk", flat=True)[:room])
        absorbed_picks.exclude(pk__in=fitting_picks).delete()
    absorbed_picks.update(team=team)
