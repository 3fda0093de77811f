"""Simultaneous changes of boards and of what organizers define on PostgreSQL; a control shows a race."""

from __future__ import annotations

import contextlib
import functools
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from django.db import connection, transaction
from django.utils import timezone

from competitions.bundles.models import CompetitionPush
from competitions.bundles.pushing.document import LiveDocument
from competitions.bundles.pushing.jobs import forget_push_files, push_agree, push_begin, push_perform
from competitions.catalog.changes.boards import change_board
from competitions.catalog.models import (
    Competition,
    CompetitionOrganizer,
    Leaderboard,
    Page,
    Phase,
    ProposedFile,
    SealedKey,
)
from competitions.catalog.organizers import organizer_remove
from competitions.catalog.sealed_keys import sealed_keys_record
from competitions.catalog.services import phase_reveal
from competitions.catalog.texts import pages
from competitions.discussions.models import Post, Topic
from competitions.discussions.moderation import writer_ban
from competitions.discussions.reading import topic_page
from competitions.discussions.services import Draft, reply_create, topic_create
from competitions.factsheets.models import Question
from competitions.factsheets.services import save_question
from competitions.leaderboards import picks
from competitions.leaderboards import services as boards
from competitions.leaderboards.models import Commitment, Entry, Pick
from competitions.leaderboards.picks import pick_add
from competitions.leaderboards.ranking.rules import Rule
from competitions.leaderboards.rescoring import adopting
from competitions.leaderboards.rescoring import jobs as proposals
from competitions.leaderboards.rescoring import services as rescoring
from competitions.leaderboards.sealing import commit_closed_boards
from competitions.leaderboards.uncertainty.reading import ReplicateFiles
from competitions.organize.inviting import invitation_accept, organizer_invite
from competitions.organize.models import OrganizerInvitation
from competitions.resources.models import Resource
from competitions.resources.storage import open_stored, store_bytes
from competitions.runs import dispatch
from competitions.runs.leases import reports
from competitions.runs.models import Rescoring, Run
from competitions.submissions.annotations import Annotations, annotations_edit
from competitions.submissions.models import Submission
from competitions.submissions.services import submission_disqualify
from competitions.submissions.states import State
from competitions.teams import services as teams
from competitions.winners import services as winners
from competitions.winners.models import Lane, Place, PlaceEvent
from competitions.winners.models import State as PlaceState
from competitions.winners.services import code_hand_in, invite_next
from core.background.jobs import perform
from tests.answers import read_result
from tests.background import run_background
from tests.functional.leaderboards.test_proposals import answer, carry_on, proposal
from tests.races import at_once, gap_before_writing, meet, site, without_row_locks
from tests.scenario import Scenario, lease, person, zip_bytes

__all__ = ["site"]


pytestmark = pytest.mark.django_db(transaction=True)


def test_scores_that_arrive_at_once_leave_the_best_on_the_board(site: Scenario) -> None:
    site.phase.max_submissions_per_day = None
    site.phase.save()
    values = [0.9, 0.5, 0.7, 0.3, 0.8, 0.6]
    for _ in values:
        site.submit()
    runs = [site.claim(at=timezone.now()) for _ in values]

    def complete(number: int) -> None:
        result = read_result({"outcome": "finished", "scores": {"mae": values[number]}}, columns=["mae"])
        reports.run_complete(**lease(runs[number]), result=result, now=timezone.now())

    at_once(len(values), complete)
    entry = Entry.objects.get()
    assert (entry.values, entry.submissions) == ({"mae": 0.3}, len(values))


@pytest.mark.parametrize("lock", [True, False], ids=["locked", "control: the race is real"])
def test_selecting_many_at_once_keeps_to_the_limit(site: Scenario, lock: bool) -> None:
    Leaderboard.objects.filter(phase=site.phase).update(rule=Rule.SELECTED, max_selected=2)
    Phase.objects.filter(pk=site.phase.pk).update(max_submissions_per_day=None)
    site.phase.refresh_from_db()
    board = Leaderboard.objects.select_related("phase").get(phase=site.phase)
    sent = [site.score(site.submit(), 0.5) for _ in range(8)]
    user = site.member()
    create, gap = Pick.objects.create, gap_before_writing(8, lock=lock)

    def slowly(**fields: Any) -> Pick:
        gap()
        return create(**fields)

    def select(number: int) -> None:
        pick_add(board=board, submission=sent[number], by=user, now=site.now)

    with (
        contextlib.nullcontext() if lock else without_row_locks(),
        mock.patch.object(Pick.objects, "create", slowly),
        mock.patch.object(picks, "_refresh", return_value=None),  # rows of the board have tests of their own
    ):
        outcomes = at_once(8, select)
    assert outcomes == (Counter(accepted=2, too_many_selected=6) if lock else Counter(accepted=8))
    assert Pick.objects.count() == outcomes["accepted"]


def test_a_step_of_the_lane_is_taken_once_however_often_it_is_sent(site: Scenario) -> None:
    site.score(site.submit(), 0.5)
    Phase.objects.filter(pk=site.phase.pk).update(closes_at=site.now)
    lane = Lane.objects.create(leaderboard=site.phase.leaderboard)
    (place,) = invite_next(lane=lane, actor="test", now=site.now)
    arguments: dict[str, Any] = {
        "by": site.member(),
        "repository_url": "https://example.org/team/code",
        "commit": "0123abcd" * 5,
    }

    def hand_in(number: int) -> None:
        code_hand_in(key=place.key, now=site.now, **arguments)

    outcomes = at_once(8, hand_in)
    assert outcomes == Counter(accepted=1, not_your_turn=7)
    assert PlaceEvent.objects.filter(place=place).count() == 2


def test_many_reconcilers_commit_to_a_board_once(site: Scenario) -> None:
    site.score(site.submit(phase=site.sealed), 0.5)
    settled = site.sealed.grace_ends_at
    assert settled is not None
    at_once(6, lambda _: commit_closed_boards(now=settled) and None)
    assert Commitment.objects.count() == 1


def test_keys_are_put_on_record_and_revealed_one_after_the_other(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both lock the phase before its boards: a reveal that comes while the first claim is at it waits."""

    def record() -> None:
        with transaction.atomic():
            sealed_keys_record(phase=site.sealed, now=site.now)

    def reveal() -> None:
        phase_reveal(phase=site.sealed, now=site.now, before_the_end=True)

    assert meet(monkeypatch, (SealedKey.objects, "bulk_create"), record, reveal) == {"accepted": 2}
    assert Phase.objects.get(pk=site.sealed.pk).revealed_at == site.now
    assert SealedKey.objects.filter(phase=site.sealed).count() == 1


def test_of_two_pushes_that_are_applied_while_a_score_arrives_one_counts(site: Scenario) -> None:
    """The other push was compared with an outdated version; the score stands on the new board."""
    submission = site.submit()
    document = LiveDocument(Competition.objects.get(pk=site.competition.pk), site.organizer)
    folder: dict[str, str | bytes] = {**document.texts}
    for path, stored in document.stored.items():
        with open_stored(stored) as file:
            folder[path] = file.read()
    pushes = []
    for reward in ("A cup", "A medal"):
        text = document.yaml.replace("precision: 4", "precision: 3") + f"reward: {reward}\n"
        bundle = store_bytes(zip_bytes(folder | {"competition.yaml": text}))
        pushes.append(
            push_begin(
                owner=site.organizer,
                bundle=bundle,
                digests={},
                base=document.version,
                is_forced=False,
                now=timezone.now(),
            )
        )
    run_background()
    for push in pushes:
        push_agree(push=push, now=timezone.now())
    acts: list[Callable[[], object]] = [
        lambda: push_perform(pushes[0].pk),
        lambda: push_perform(pushes[1].pk),
        lambda: site.score(submission, 0.5),
    ]
    at_once(3, lambda number: acts[number]())
    assert Counter(CompetitionPush.objects.values_list("state", flat=True)) == {"applied": 1, "failed": 1}
    assert Competition.objects.get(pk=site.competition.pk).reward in ("A cup", "A medal")
    assert Entry.objects.get(leaderboard__phase=site.phase).rank_value == 0.5


def test_nobody_agrees_to_a_push_while_its_files_are_forgotten(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    file, at = store_bytes(b"program"), timezone.now() - timedelta(days=2)
    Resource.objects.create(owner=site.organizer, kind=Resource.Kind.INPUT_DATA, name="Own", file=file)
    digests = {"input.zip": file.sha256}
    push = push_begin(owner=site.organizer, bundle=file, digests=digests, base="", is_forced=False, now=at)
    CompetitionPush.objects.update(state=CompetitionPush.State.COMPARED)
    outcomes = meet(
        monkeypatch,
        (CompetitionPush.parts.through.objects, "filter"),
        lambda: forget_push_files(now=timezone.now()),
        lambda: push_agree(push=push, now=timezone.now()),
    )
    assert outcomes == {"accepted": 1, "not_compared": 1}
    push.refresh_from_db()
    assert (push.state, push.bundle, push.digests, push.parts.count()) == ("compared", None, {}, 0)


def test_whoever_joins_does_not_wait_for_a_push_and_is_counted_later(site: Scenario) -> None:
    def join() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '5s'")
            site.join()
        connection.close()

    with transaction.atomic(), ThreadPoolExecutor(1) as pool:
        Competition.objects.select_for_update(no_key=True).get(pk=site.competition.pk)  # as a push does while it ranks
        pool.submit(join).result(timeout=30)
    numbers = Competition.objects.values_list("team_count", flat=True)
    assert numbers.get(pk=site.competition.pk) == 1
    assert (teams.teams_recount(now=site.now), teams.teams_recount(now=site.now)) == (1, 0)
    assert numbers.get(pk=site.competition.pk) == 2


def test_a_reply_that_is_sent_many_times_at_once_is_one_and_counters_hold(site: Scenario) -> None:
    """Double clicks, replies of three people, and an organizer who excludes one of them meanwhile."""
    people = [site.member(), site.member(site.join()), site.member(site.join())]
    opening = topic_create(
        competition=site.competition, draft=Draft(people[0], "Which seed?"), title="Seeds", now=site.now
    )
    topic = Topic.objects.select_related("competition").get(pk=opening.topic_id)
    keys = [uuid.uuid4() for _ in people]

    def act(number: int) -> str:
        who = number % 4
        if who == 3:
            where, by = site.competition, site.organizer
            writer_ban(competition=where, user=people[2], by=by, reason="Spam.", removes=True, now=site.now)
            return "excluded"
        return str(reply_create(topic=topic, draft=Draft(people[who], f"Seed {who}", keys[who]), now=site.now).pk)

    outcomes = at_once(12, act)
    assert outcomes["excluded"] == 3
    assert set(outcomes) - {"banned", "excluded"} <= {str(pk) for pk in Post.objects.values_list("pk", flat=True)}
    assert Post.objects.filter(topic=topic, author=people[0], is_opening=False).count() == 1
    shown = Post.objects.filter(topic=topic, is_opening=False, state=Post.State.SHOWN).count()
    assert Topic.objects.get(pk=topic.pk).reply_count == shown
    assert topic_page(site.competition, people[0], words="whic see").topics == [topic]


def test_a_place_is_confirmed_while_its_submission_is_disqualified(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = site.score(site.submit(), 0.5)
    Phase.objects.filter(pk=site.phase.pk).update(closes_at=site.now)
    lane = Lane.objects.create(leaderboard=site.phase.leaderboard)
    (place,) = invite_next(lane=lane, actor="test", now=site.now)
    Place.objects.update(state=PlaceState.COMPARED, comparison={"is_within": True})
    outcomes = meet(
        monkeypatch,
        (winners, "locked_place"),
        lambda: winners.place_confirm(key=place.key, actor="test", now=site.now),
        lambda: submission_disqualify(submission=submission, reason="Copied.", now=site.now),
    )
    assert outcomes == {"accepted": 2}
    assert Place.objects.get().state == PlaceState.FAILED
    assert Submission.objects.get().verified_at is None


@pytest.mark.parametrize("meanwhile", ["a decision", "a question"])
def test_a_proposal_is_applied_while_something_else_changes_its_boards(
    site: Scenario, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    """Runs, submissions and competition are locked before the boards that are frozen."""
    submission = site.score(site.submit(), 0.5)
    begun = proposal(site)
    answer(site, {submission.pk: 0.4})
    carry_on(site)
    begun.refresh_from_db()
    confirmed = rescoring.comparison_digest(begun)
    rescoring.proposal_apply(proposal=begun, by=site.organizer, confirmed=confirmed, now=site.now)
    question = Question(
        competition=site.competition, key="size", title="Size", kind="number", is_public=True, is_on_board=True
    )
    outcomes = meet(
        monkeypatch,
        (proposals, "snapshot_before"),
        lambda: perform(rescoring.PROPOSAL_JOB, begun.pk),
        lambda: (
            submission_disqualify(submission=submission, reason="Copied.", now=site.now)
            if meanwhile == "a decision"
            else save_question(question)
        ),
    )
    assert outcomes == {"accepted": 2}
    begun.refresh_from_db()
    assert (begun.state, Entry.objects.count()) == ("applied", int(meanwhile == "a question"))


def test_a_proposal_is_compared_while_a_question_changes_its_boards(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both lock the boards by their numbers, whatever the order of the phases."""
    Phase.objects.filter(pk=site.phase.pk).update(index=9)
    begun = proposal(site, start=False)
    for phase in (site.phase, site.sealed):
        ProposedFile.objects.update_or_create(
            proposal=begun,
            task=phase.tasks.get(),
            slot="scoring_program",
            defaults={
                "resource": Resource.objects.get(name__contains="proposal"),
                "replaces": phase.tasks.get().scoring_program,
            },
        )
    question = Question(
        competition=site.competition, key="size", title="Size", kind="number", is_public=True, is_on_board=True
    )
    outcomes = meet(
        monkeypatch,
        (adopting, "boards_locked"),
        lambda: str(len(adopting.proposal_rehearse(begun, files=ReplicateFiles(lambda: True), now=site.now))),
        lambda: save_question(question),
    )
    assert outcomes == {"2": 1, "accepted": 1}


def test_a_column_is_proposed_while_its_board_changes(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both lock the phase before the board."""
    site.score(site.submit(), 0.5)
    begun = proposal(site, start=False, column_key="mae", column_sorting="desc")
    begun.refresh_from_db()

    def change() -> None:
        board = site.phase.leaderboards.get()
        board.title = "Places"
        change_board(board, list(board.columns.all()), now=site.now)

    outcomes = meet(
        monkeypatch,
        (adopting, "affected_boards_locked"),
        lambda: str(len(adopting.proposal_rehearse(begun, files=ReplicateFiles(lambda: True), now=site.now))),
        change,
    )
    assert outcomes == {"1": 1, "accepted": 1}


def test_a_board_is_rebuilt_while_the_commit_of_a_submission_on_it_changes(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its new rows refer to the submission, which is looked at when they are committed."""
    submission = site.score(site.submit(), 0.5)
    outcomes = meet(
        monkeypatch,
        (boards, "rows_rebuild"),
        lambda: boards.board_rebuild(site.phase.leaderboards.get()),
        lambda: annotations_edit(submission=submission, annotations=Annotations((), "a" * 40, ""), by=site.member()),
    )
    assert outcomes == {"accepted": 2}
    assert (Submission.objects.get().commit, Entry.objects.count()) == ("a" * 40, 1)


def test_a_copy_that_is_claimed_while_its_proposal_is_dropped_is_cancelled_by_its_worker(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = site.score(site.submit(), 0.5)
    proposal = rescoring.proposal_begin(
        competition=site.competition, title="New", reason="Better.", by=site.organizer, now=site.now
    )
    Rescoring.objects.create(proposal=proposal, submission=submission, copy=site.submit())
    outcomes = meet(
        monkeypatch,
        (dispatch, "run_move"),
        lambda: str(dispatch.run_claim(worker=site.worker(), free_gpus=0, now=site.now) is not None),
        lambda: rescoring.copies_cancel(proposal, now=site.now),
    )
    assert outcomes == {"True": 1, "accepted": 1}
    copy = Run.objects.exclude(submission=submission).get()
    assert (copy.state, copy.cancel_requested_at) == (State.LEASED, site.now)


def test_of_two_pages_that_are_deleted_at_once_neither_leaves_its_tab(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    competition = site.competition
    both = [
        Page.objects.create(competition=competition, tab=Page.Tab.OWN, slug=name, title=name, body=name, index=place)
        for place, name in enumerate(("first", "second"))
    ]
    pages.list_own_tabs(competition)
    assert len(competition.own_tabs) == 2
    first, second = (functools.partial(pages.page_delete, Page.objects.get(pk=page.pk)) for page in both)
    assert meet(monkeypatch, (pages, "list_own_tabs"), first, second) == {"accepted": 2}
    assert Competition.objects.get(pk=competition.pk).own_tabs == []


@pytest.mark.parametrize("lock", [True, False], ids=["locked", "control: the race is real"])
def test_nobody_accepts_the_invitation_of_an_organizer_who_is_being_removed(
    site: Scenario, monkeypatch: pytest.MonkeyPatch, lock: bool
) -> None:
    inviting = CompetitionOrganizer.objects.create(competition=site.competition, user=person())
    guest = person()
    organizer_invite(competition=site.competition, person=guest.username, by=inviting.user, now=site.now)
    invitation = OrganizerInvitation.objects.get()
    with contextlib.nullcontext() if lock else without_row_locks():
        outcomes = meet(
            monkeypatch,
            (CompetitionOrganizer, "delete"),
            lambda: organizer_remove(organizer=inviting),
            lambda: invitation_accept(invitation=invitation, by=guest),
        )
    assert outcomes == ({"accepted": 1, "no_longer_asked": 1} if lock else {"accepted": 2})
