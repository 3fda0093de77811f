"""Moves in the winners' lane: invite, hand in, decide. A place's row is locked while it moves."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.db import transaction
from django.db.models import Q, QuerySet

from accounts.models import User
from accounts.outbox import mail_person
from competitions.catalog.models import Leaderboard
from competitions.catalog.repositories import RepositoryInvalid, commit_hash, repository_address
from competitions.disclosure.scores import scores_are_public
from competitions.environments.models import EnvironmentFile
from competitions.environments.refusals import FILE_OF_WINNER
from competitions.leaderboards.commitment import decision_publish
from competitions.leaderboards.models import Entry
from competitions.leaderboards.services import board_follow
from competitions.resources.models import StoredFile, Upload
from competitions.resources.storage import local_copy
from competitions.resources.uploads import UploadIncomplete, upload_finish
from competitions.submissions.file_checks.preflight import file_contract, look
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind
from competitions.teams.models import Membership, Team
from competitions.teams.services import require_admitted
from competitions.winners import refusals
from competitions.winners.models import NEXT, OPEN, TEAMS_TURN, Lane, Place, PlaceEvent, State
from workers.protocol.texts import printable

MOST_TIED: Final = 1000  # teams that are looked through for those of a winner's tier


class IllegalMove(Exception):
    """A move that is not in the table: a fault of the program, never of a client."""

    def __init__(self, source: State, target: State) -> None:
        super().__init__(f"A place does not go from {source} to {target}.")


@transaction.atomic
def place_move(
    *, place: Place, source: State, target: State, actor: str, now: datetime, note: str = "", **changes: Any
) -> bool:
    """Compare-and-swap: True for the one caller who moved the place, False for everyone who came late."""
    if target not in NEXT.get(source, ()):
        raise IllegalMove(source, target)
    moved = Place.objects.filter(pk=place.pk, state=source).update(state=target, **changes)
    if moved:
        PlaceEvent.objects.create(place=place, source=source, target=target, actor=actor, note=note[:1000], at=now)
        place.refresh_from_db()
    return bool(moved)


@transaction.atomic
def invite_next(*, lane: Lane, actor: str, now: datetime) -> list[Place]:
    """Invite the best teams not yet in the lane to its free places.

    Raises `NOT_REVEALED_YET` or `NOBODY_LEFT`.
    """
    board = (
        Leaderboard.objects.select_for_update(of=("self",), no_key=True)
        .select_related("phase__competition")
        .get(pk=lane.leaderboard_id)
    )
    if not _may_invite(board, now):
        raise refusals.NOT_REVEALED_YET(lane=lane)
    invited = _invite_free(lane, board, actor, now)
    if not invited:
        raise refusals.NOBODY_LEFT()
    return invited


def _may_invite(board: Leaderboard, now: datetime) -> bool:
    return scores_are_public(board) and board.phase.closes_at is not None and now >= board.phase.closes_at


def _invite_free(lane: Lane, board: Leaderboard, actor: str, now: datetime) -> list[Place]:
    taken = Place.objects.filter(lane=lane, state__in=(*OPEN, State.CONFIRMED)).count()
    free = max(lane.top - taken, 0)
    candidates = _candidates(lane, board)
    chosen, others = candidates[:free], candidates[free:]
    if lane.by_tier:
        tiers = [tier for _, entry in chosen if (tier := _tier(entry)) is not None]
        chosen += [(rank, entry) for rank, entry in others if (_tier(entry) or math.inf) <= max(tiers, default=0)]
    return [_invite(lane, entry, rank, actor, now) for rank, entry in chosen]


def _tier(entry: Entry) -> int | None:
    """The row's tier; None where the board says nothing of it."""
    uncertainty = getattr(entry, "uncertainty", None)
    return None if uncertainty is None else uncertainty.tier


def _candidates(lane: Lane, board: Leaderboard) -> list[tuple[int, Entry]]:
    """Best rows of teams that were not invited yet, with ranks, best first."""
    invited = set(Place.objects.filter(lane=lane).values_list("team", flat=True))
    most = MOST_TIED if lane.by_tier else lane.top
    rows = Entry.objects.filter(leaderboard=board, is_baseline=False)
    in_order = rows.order_by(*Entry.IN_ORDER).values_list("pk", "team", "rank_value", "tie_key")
    ranks: dict[int, int] = {}
    rank, value = 0, None
    for place, (pk, team, *rank_key) in enumerate(in_order.iterator(), start=1):  # a team may have any number of rows
        rank, value = (rank, value) if rank_key == value else (place, rank_key)
        if team not in invited:
            invited.add(team)
            ranks[pk] = rank
            if len(ranks) == most:
                break
    entries = rows.select_related("team__captain", "score__submission", "uncertainty").in_bulk(ranks)
    return [(rank, entries[pk]) for pk, rank in ranks.items()]


def _invite(lane: Lane, entry: Entry, rank: int, actor: str, now: datetime) -> Place:
    place = Place.objects.create(
        lane=lane,
        team=entry.team,
        submission=entry.score.submission,
        rank=rank,
        invited_at=now,
        due_at=now + timedelta(days=lane.days),
    )
    PlaceEvent.objects.create(place=place, target=State.INVITED, actor=actor, at=now)
    phase = entry.score.submission.phase
    mail_person(
        to=entry.team.captain,
        subject=f"{entry.team} has rank {rank} in {phase.competition}",
        text=f"Your team is invited to show that its code does what was submitted to “{phase.name}”. Hand in code, report and "
        f"hardware by {place.due_at:%Y-%m-%d %H:%M} UTC.",
        path=f"/winners/{place.key}/",
    )
    return place


def places_to_answer(user: User) -> QuerySet[Place]:
    """Places of the user's teams for which the team has something to hand in, the first that is due first."""
    return waiting_places().filter(team__in=Membership.objects.filter(user=user).values("team"))


def waiting_places() -> QuerySet[Place]:
    """Places for which the team has something to hand in, the first that is due first."""
    return Place.objects.filter(state__in=TEAMS_TURN).order_by("due_at", "pk")


def locked_place(key: UUID) -> Place:
    """The place under its lock. Call inside a transaction."""
    rows = Place.objects.select_for_update(of=("self",)).select_related(
        "lane__leaderboard__phase__competition", "team", "submission"
    )
    return rows.get(key=key)


def _of_team(place: Place, by: User, source: State, item: str, now: datetime) -> None:
    if not Membership.objects.filter(team=place.team_id, user=by).exists():
        raise refusals.NOT_IN_THIS_LANE()
    require_admitted(user=by, competition=place.lane.leaderboard.phase.competition)
    if place.state != source:
        raise refusals.NotYourTurn(place, item)
    if place.is_overdue(now):
        raise refusals.OVERDUE(place=place)


@transaction.atomic
def code_hand_in(
    *, key: UUID, by: User, repository_url: str, commit: str, now: datetime, upload: Upload | None = None
) -> Place:
    """Code as a public repository at a commit, which nobody fetches, and a bundle that can be run here.

    A code submission is its own bundle.

    Raises `NOT_IN_THIS_LANE`, `NotYourTurn`, `OVERDUE`, `HAND_IN_INVALID` or `InvalidFile`; then nothing is changed.
    """
    place = locked_place(key)
    _of_team(place, by, State.INVITED, "Code", now)
    try:
        url, commit = repository_address(repository_url), commit_hash(commit)
    except RepositoryInvalid as error:
        raise refusals.HAND_IN_INVALID(detail=str(error)) from error
    file, name = _bundle(place, upload)
    place_move(
        place=place,
        source=State.INVITED,
        target=State.CODE,
        actor=actor_name(by),
        now=now,
        note=f"{url} at {commit}",
        repository_url=url,
        commit=commit,
        code=file,
        code_name=name,
    )
    return place


def _bundle(place: Place, upload: Upload | None) -> tuple[StoredFile | None, str]:
    if upload is None:
        is_code = place.submission.kind == Kind.CODE
        return (place.submission.file, place.submission.file_name) if is_code else (None, "")
    stored = upload_finish(upload).file
    if stored is None:
        raise UploadIncomplete(upload)
    with local_copy(stored) as path:
        look(file_contract(phase=place.lane.leaderboard.phase, kind=Kind.CODE, file_name=upload.file_name), path)
    return stored, upload.file_name


def _web_address(text: str, what: str) -> str:
    try:
        URLValidator(schemes=["http", "https"])(text.strip())
    except ValidationError as error:
        raise refusals.HAND_IN_INVALID(
            detail=f"{what}: {text[:80]!r} is not a web address. Write it in full, with https://."
        ) from error
    return text.strip()


@transaction.atomic
def report_hand_in(*, key: UUID, by: User, report_url: str, now: datetime) -> Place:
    """The technical report, as the address of a page or PDF (arXiv, for instance)."""
    place = locked_place(key)
    _of_team(place, by, State.CODE, "The report", now)
    url = _web_address(report_url, "The report")
    place_move(
        place=place, source=State.CODE, target=State.REPORT, actor=actor_name(by), now=now, note=url, report_url=url
    )
    return place


@transaction.atomic
def hardware_hand_in(*, key: UUID, by: User, hardware: str, now: datetime) -> Place:
    """Hand in the hardware that it was trained and run on: CPU, GPU, memory."""
    place = locked_place(key)
    _of_team(place, by, State.REPORT, "The hardware", now)
    text = printable(hardware).strip()[:1000]
    if len(text) < 3:
        raise refusals.HAND_IN_INVALID(
            detail="Say on what it ran: processor, GPU and memory, for instance “1 V100 32 GB, 2 Xeon 6230, 256 GB”."
        )
    place_move(
        place=place, source=State.REPORT, target=State.HARDWARE, actor=actor_name(by), now=now, note=text, hardware=text
    )
    return place


def actor_name(by: User) -> str:
    """The person as the history of a place names them."""
    return f"user:{by.username}"


@transaction.atomic
def place_confirm(*, key: UUID, actor: str, now: datetime) -> Place:
    """Confirm a place whose code was run and compared within the tolerance; its row gets the badge.

    Raises `NotReady` or `OutsideTolerance`; then nothing is changed.
    """
    rows = Submission.objects.select_for_update(no_key=True)  # locked before its board, as everywhere
    submission = rows.get(pk__in=Place.objects.filter(key=key).values("submission"))
    _locked_board(key)
    place = locked_place(key)
    if place.state != State.COMPARED:
        raise refusals.NotReady(place, "Confirming")
    if not place.comparison.get("is_within"):
        raise refusals.OutsideTolerance(place)
    place_move(place=place, source=State.COMPARED, target=State.CONFIRMED, actor=actor, now=now)
    submission.verified_at, submission.verified_s = now, place.comparison.get("wall_s")
    submission.save(update_fields=["verified_at", "verified_s"])
    board_follow(sender=Submission, submission=submission)
    _tell(place, "confirmed", "Your team's place is confirmed: the code does what was submitted.")
    return place


@transaction.atomic
def place_fail(*, key: UUID, reason: str, actor: str, now: datetime) -> Place:
    """End a place with a public reason, and invite the next team. Raises `REASON_MISSING` or `NotReady`."""
    board = _locked_board(key)
    place = locked_place(key)
    text = printable(reason).strip()[:1000]
    if not text:
        raise refusals.REASON_MISSING()
    if place.state not in OPEN or place.state == State.VERIFYING:
        raise refusals.NotReady(place, "Ending it")
    _end(place, text, actor, now)
    decision_publish(board=board, reason=f"Rank {place.rank}, {place.team}, is not confirmed: {text}", now=now)
    _follow_up(place.lane, board, actor, now)
    return place


def _end(place: Place, reason: str, actor: str, now: datetime) -> None:
    source = State(place.state)
    place_move(place=place, source=source, target=State.FAILED, actor=actor, now=now, note=reason, reason=reason)
    _tell(place, "not confirmed", f"Your team's place was not confirmed: {reason}")


def _follow_up(lane: Lane, board: Leaderboard, actor: str, now: datetime) -> None:
    """Invite the next team for a place that became free, if there is one."""
    if _may_invite(board, now):
        _invite_free(lane, board, actor, now)


def _locked_board(key: UUID) -> Leaderboard:
    """The board of a place under its lock, which is taken before the place's."""
    boards = Leaderboard.objects.select_for_update(of=("self",), no_key=True).select_related("phase__competition")
    return boards.get(winners_lane__places__key=key)


def places_follow_decision(
    sender: type[Submission], submissions: Sequence[Submission], now: datetime, **kwargs: Any
) -> None:
    """Receiver of `standing_changed`: free places of disqualified submissions, and invite the next team.

    Boards have followed already, so their locks are held.
    """
    disqualified = [submission.pk for submission in submissions if submission.disqualified_at is not None]
    places = Place.objects.filter(submission__in=disqualified, state__in=(*OPEN, State.CONFIRMED)).order_by("pk")
    for key in places.values_list("key", flat=True):
        board, place = _locked_board(key), locked_place(key)
        Submission.objects.filter(pk=place.submission_id).update(verified_at=None, verified_s=None)
        _end(place, f"disqualified: {place.submission.disqualified_reason}", "site", now)
        _follow_up(place.lane, board, "site", now)


@transaction.atomic
def place_decline(*, key: UUID, by: User, now: datetime) -> Place:
    """The team steps back, and the next one is invited.

    Raises `NOT_IN_THIS_LANE`, `NotReady` or why the person is not admitted.
    """
    board = _locked_board(key)
    place = locked_place(key)
    if not Membership.objects.filter(team=place.team_id, user=by).exists():
        raise refusals.NOT_IN_THIS_LANE()
    require_admitted(user=by, competition=board.phase.competition)
    source = State(place.state)
    if State.DECLINED not in NEXT.get(source, ()):
        raise refusals.NotReady(place, "Stepping back")
    place_move(place=place, source=source, target=State.DECLINED, actor=actor_name(by), now=now)
    decision_publish(board=board, reason=f"Rank {place.rank}, {place.team}, withdrew from the verification.", now=now)
    _follow_up(place.lane, board, actor_name(by), now)
    return place


@transaction.atomic
def place_extend(*, key: UUID, due_at: datetime, actor: str, now: datetime) -> Place:
    """Give the team until another instant."""
    place = locked_place(key)
    if not place.is_open:
        raise refusals.NotReady(place, "More time")
    Place.objects.filter(pk=place.pk).update(due_at=due_at)
    note = f"until {due_at:%Y-%m-%d %H:%M} UTC"
    PlaceEvent.objects.create(place=place, source=place.state, target=place.state, actor=actor, note=note, at=now)
    place.refresh_from_db()
    return place


def _tell(place: Place, word: str, text: str) -> None:
    competition = place.lane.leaderboard.phase.competition
    mail_person(
        to=place.team.captain,
        subject=f"Your place in {competition} was {word}",
        text=text,
        path=f"/winners/{place.key}/",
    )


def refuse_of_winner(sender: type[EnvironmentFile], file: EnvironmentFile, **kwargs: Any) -> None:
    """Receiver of `environment_file_removing`: refuse while a verification may still need the file.

    Raises `FILE_OF_WINNER`.
    """
    submissions = Submission.objects.filter(Q(weights=file) | Q(image=file))
    place = Place.objects.filter(submission__in=submissions, state__in=OPEN).order_by("pk").first()
    if place is not None:
        raise FILE_OF_WINNER(file=file, submission=place.submission_id)


def places_follow_merge(sender: type[Team], team: Team, absorbed: Team, **kwargs: Any) -> None:
    """Receiver of `teams_merged`: pass the absorbed team's invitation to the other team.

    If both were invited to one lane, the absorbed team's place stays as it is: a team has one, and organizers end the
    other.
    """
    taken = Place.objects.filter(team=team).values("lane")
    moving = Place.objects.select_for_update(of=("self",)).filter(team=absorbed).exclude(lane__in=taken).order_by("pk")
    Place.objects.filter(pk__in=list(moving.values_list("pk", flat=True))).update(team=team)
