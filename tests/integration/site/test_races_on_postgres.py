"""Simultaneous actions of two or twenty people on PostgreSQL; a control shows the race."""

from __future__ import annotations

import contextlib
import functools
import itertools
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
import requests
from django.conf import LazySettings
from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import Scope, token_create
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
from competitions.compute import wakeups
from competitions.compute.launchers import launcher_report
from competitions.compute.models import ComputeWorker, Launcher
from competitions.discussions.models import Post, Topic
from competitions.discussions.moderation import writer_ban
from competitions.discussions.reading import topic_page
from competitions.discussions.services import Draft, reply_create, topic_create
from competitions.environments.models import EnvironmentFile
from competitions.environments.services import environment_file_add
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
from competitions.people import deleting
from competitions.people.models import AccountDeletion
from competitions.resources import uploads
from competitions.resources.models import Resource
from competitions.resources.storage import open_stored, store_bytes
from competitions.runs import dispatch
from competitions.runs.leases import interrupts, reports
from competitions.runs.models import Rescoring, Run, RunEvent
from competitions.runs.queue.ranking import enter_queue
from competitions.runs.services import submission_cancel
from competitions.submissions.annotations import Annotations, annotations_edit
from competitions.submissions.models import Submission
from competitions.submissions.services import NewSubmission, submission_create, submission_disqualify
from competitions.submissions.states import Kind, State
from competitions.teams import merging
from competitions.teams import services as teams
from competitions.teams.links import link_accept, link_make
from competitions.teams.models import Membership, Team
from competitions.winners import services as winners
from competitions.winners.models import Lane, Place, PlaceEvent
from competitions.winners.models import State as PlaceState
from competitions.winners.services import code_hand_in, invite_next
from core.background.jobs import perform
from core.refusals import Refusal
from tests.answers import read_result
from tests.background import run_background
from tests.functional.leaderboards.test_proposals import answer, carry_on, proposal
from tests.scenario import FILE_NAME, Scenario, lease, person, prediction_bytes, scenario, zip_bytes
from workers.protocol.launching import LauncherReport

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Scenario:
    monkeypatch.setattr(wakeups, "wake", lambda name: True)
    assert connection.vendor == "postgresql"
    return scenario(now=timezone.now())


def at_once(count: int, act: Callable[[int], Any]) -> Counter[str]:
    """Run `act(0..count-1)` in threads that start together; counts what came of it."""
    barrier = threading.Barrier(count)

    def one(number: int) -> str:
        barrier.wait(timeout=30)
        try:
            outcome = act(number)
            return outcome if isinstance(outcome, str) else "accepted"
        except Refusal as refusal:
            return refusal.code
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return Counter(pool.map(one, range(count)))


def meet(
    monkeypatch: pytest.MonkeyPatch, pause: tuple[Any, str], first: Callable[[], Any], second: Callable[[], Any]
) -> Counter[str]:
    """Start `second` while `first` pauses behind its first call of the function that `pause` names."""
    has_called, call = threading.Event(), getattr(*pause)

    def slowly(*arguments: Any, **options: Any) -> Any:
        result = call(*arguments, **options)
        if not has_called.is_set():
            has_called.set()
            time.sleep(0.3)
        return result

    def act(number: int) -> Any:
        if number:
            assert has_called.wait(timeout=30)
        return (first, second)[number]()

    monkeypatch.setattr(*pause, slowly)
    return at_once(2, act)


@contextlib.contextmanager
def without_row_locks() -> Iterator[None]:
    """Every `select_for_update` takes no lock: the control."""
    with mock.patch.object(QuerySet, "select_for_update", lambda rows, *_, **__: rows.all()):
        yield


def gap_before_writing(count: int, *, lock: bool) -> Callable[[], object]:
    """The gap between counting and writing; in the control all have counted before one of them writes."""
    if lock:
        return functools.partial(time.sleep, 0.05)
    return functools.partial(threading.Barrier(count).wait, timeout=30)


@contextlib.contextmanager
def counting_before(gap: Callable[[], object]) -> Iterator[None]:
    """Each submission waits for the gap after its team's quota was counted."""
    from competitions.submissions import services

    counted = services._require_quota

    def slow(*arguments: Any) -> None:
        counted(*arguments)
        gap()

    with mock.patch.object(services, "_require_quota", slow):
        yield


@contextlib.contextmanager
def quota_counted_late() -> Iterator[None]:
    """Let every second thread look for its key, and then wait until another one has taken the last place."""
    from competitions.submissions import services

    counted, turns, thread = services._require_quota, itertools.count(), threading.local()

    def late(team: Any, phase: Any, *arguments: Any) -> None:
        is_first_call, thread.has_asked = not hasattr(thread, "has_asked"), True
        if is_first_call and next(turns) % 2:
            give_up = time.monotonic() + 30
            while not Submission.objects.filter(phase=phase).exists() and time.monotonic() < give_up:
                time.sleep(0.01)
        counted(team, phase, *arguments)

    with mock.patch.object(services, "_require_quota", late):
        yield


@pytest.mark.parametrize("lock", [True, False], ids=["locked", "control: the race is real"])
def test_twenty_submissions_share_one_last_slot(site: Scenario, lock: bool) -> None:
    site.phase.max_submissions_per_day = 1
    site.phase.save()
    user = site.member()
    uploads = [site.upload(prediction_bytes(), user=user) for _ in range(20)]

    def submit(number: int) -> None:
        submission_create(
            NewSubmission(user=user, phase=site.phase, upload=uploads[number], kind=Kind.PREDICTION), now=site.now
        )

    with contextlib.nullcontext() if lock else without_row_locks(), counting_before(gap_before_writing(20, lock=lock)):
        outcomes = at_once(20, submit)
    assert outcomes == (Counter(accepted=1, quota_used=19) if lock else Counter(accepted=20))
    assert Submission.objects.count() == outcomes["accepted"]


def test_one_key_sent_ten_times_at_once_makes_one_submission_of_the_last_place(site: Scenario) -> None:
    site.phase.max_submissions_per_day = 1
    site.phase.save()
    user = site.member()
    upload = site.upload(prediction_bytes(), user=user)

    def submit(number: int) -> None:
        submission_create(
            NewSubmission(user=user, phase=site.phase, upload=upload, kind=Kind.PREDICTION, idempotency_key="k"),
            now=site.now,
        )

    with quota_counted_late():
        assert at_once(10, submit) == Counter(accepted=10)
    assert Submission.objects.count() == 1


def test_no_run_is_handed_out_twice(site: Scenario) -> None:
    site.phase.max_submissions_per_day = None
    site.phase.save()
    for _ in range(8):
        site.submit()
    workers = [site.worker() for _ in range(12)]
    claimed: list[Any] = []

    def claim(number: int) -> str:
        run = dispatch.run_claim(worker=workers[number], free_gpus=0, now=timezone.now())
        claimed.append(run.pk if run else None)
        return "nothing" if run is None else "a run"

    outcomes = at_once(12, claim)
    runs = [pk for pk in claimed if pk]
    assert len(runs) == len(set(runs))
    for worker in workers:  # whoever found every row locked comes again
        while dispatch.run_claim(worker=worker, free_gpus=0, now=timezone.now()):
            pass
    assert sum(outcomes.values()) == 12
    assert RunEvent.objects.filter(target=State.LEASED).count() == 8


@pytest.mark.parametrize("lock", [True, False], ids=["locked", "control: the race is real"])
def test_two_claims_at_once_keep_to_a_teams_runs_in_flight(
    site: Scenario, monkeypatch: pytest.MonkeyPatch, lock: bool
) -> None:
    site.queue.max_in_flight_per_team = 1
    site.queue.save()
    site.submit(), site.submit()
    workers = [site.worker(), site.worker()]

    def claim(worker: ComputeWorker) -> str:
        run = dispatch.run_claim(worker=worker, free_gpus=0, now=site.now)
        return "nothing" if run is None else "a run"

    if not lock:
        monkeypatch.setattr(dispatch, "Queue", mock.Mock())
    outcomes = meet(monkeypatch, (dispatch, "take_turn"), lambda: claim(workers[0]), lambda: claim(workers[1]))
    assert outcomes == ({"a run": 1, "nothing": 1} if lock else {"a run": 2})


def test_runs_of_two_priorities_are_claimed_and_given_back_at_once(site: Scenario) -> None:
    site.phase.max_submissions_per_day = None
    site.phase.save()
    for _ in range(8):
        site.submit()
    urgent = Run.objects.filter(pk__in=list(Run.objects.values_list("pk", flat=True)[:4]))
    urgent.update(priority=5)
    with transaction.atomic():
        enter_queue(urgent, now=site.now)
    workers = [site.worker() for _ in range(6)]

    def claim_and_give_back(number: int) -> None:
        for _ in range(15):
            if run := dispatch.run_claim(worker=workers[number], free_gpus=0, now=timezone.now()):
                reports.run_release(**lease(run), note="", now=timezone.now())

    assert at_once(len(workers), claim_and_give_back) == Counter({"accepted": len(workers)})


def test_an_answer_sent_by_five_threads_counts_once(site: Scenario) -> None:
    site.submit()
    run = site.claim(at=timezone.now())
    result = read_result({"outcome": "finished", "scores": {"mae": 0.5}}, columns=["mae"])

    def complete(number: int) -> str:
        return reports.run_complete(**lease(run), result=result, now=timezone.now())

    assert at_once(5, complete) == Counter({State.FINISHED: 5})
    assert Entry.objects.get().submissions == 1


def test_cancel_and_finish_at_once_end_in_one_final_state(site: Scenario) -> None:
    for _ in range(5):
        submission = site.submit()
        run = site.claim(at=timezone.now())
        result = read_result({"outcome": "finished", "scores": {"mae": 0.5}}, columns=["mae"])

        def act(number: int, submission: Submission = submission, run: Run = run, result: Any = result) -> Any:
            if number:
                return submission_cancel(submission=submission, actor="test", now=timezone.now())
            return reports.run_complete(**lease(run), result=result, now=timezone.now())

        at_once(2, act)
        submission.refresh_from_db()
        assert submission.status == State.FINISHED
        assert RunEvent.objects.filter(run=run, target__in=[State.FINISHED, State.CANCELLED]).count() == 1


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


def test_two_invited_people_share_the_last_place_of_a_team(site: Scenario) -> None:
    site.competition.max_team_size = 3
    site.competition.save()
    people = [person() for _ in range(2)]
    invitations = []
    for user in people:
        teams.register(user=user, competition=site.competition, rules_version=1, now=site.now)
        invitations.append(teams.invite(team=site.team, by=site.team.captain, person=user.username, now=site.now))
    site.competition.max_team_size = 2
    site.competition.save()

    def accept(number: int) -> None:
        teams.invitation_accept(invitation=invitations[number], by=people[number], now=timezone.now())

    assert at_once(2, accept) == Counter(accepted=1, team_full=1)
    assert site.team.memberships.count() == 2


def test_one_person_founds_one_team_however_often_they_click(site: Scenario) -> None:
    user = person()
    teams.register(user=user, competition=site.competition, rules_version=1, now=site.now)

    def found_team(number: int) -> None:
        teams.team_create(user=user, competition=site.competition, name=f"Team {number}", now=timezone.now())

    outcomes = at_once(4, found_team)
    assert outcomes == Counter(accepted=1, already_in_a_team=3)
    assert Team.objects.filter(memberships__user=user).count() == 1


def test_twenty_posts_at_once_over_http_share_one_last_slot(site: Scenario, live_server: Any) -> None:
    site.phase.max_submissions = 1
    site.phase.save()
    expires_at = timezone.now() + timedelta(hours=1)
    _, secret = token_create(user=site.member(), name="robot", scopes=[Scope.SUBMIT], expires_at=expires_at)

    def post(number: int) -> str:
        answer = requests.post(
            f"{live_server.url}/api/v1/submissions/",
            headers={"Authorization": f"Bearer {secret}"},
            data={"phase": site.phase.pk, "kind": "prediction"},
            files={"file": (FILE_NAME, prediction_bytes())},
            timeout=60,
        )
        return "accepted" if answer.status_code == 201 else str(answer.json()["code"])

    assert at_once(20, post) == Counter(accepted=1, quota_used=19)
    assert Submission.objects.count() == 1


def test_submissions_made_while_teams_merge_belong_to_the_team_that_stays(site: Scenario) -> None:
    other = site.join("Other team")
    proposal = merging.merge_propose(team=site.team, by=site.team.captain, other_name=other.name, now=site.now)
    uploads = [site.upload(prediction_bytes(), FILE_NAME, user=other.captain) for _ in range(6)]

    def act(number: int) -> str:
        if number == 6:
            merging.merge_accept(proposal=proposal, by=other.captain, now=site.now)
            return "merged"
        submission_create(
            NewSubmission(user=other.captain, phase=site.phase, upload=uploads[number], kind=Kind.PREDICTION),
            now=site.now,
        )
        return "submitted"

    outcomes = at_once(7, act)
    assert outcomes["merged"] == 1
    assert set(outcomes) <= {"merged", "submitted", "team_merged", "quota_used"}, outcomes
    assert Submission.objects.filter(team=site.team).count() == outcomes["submitted"]
    assert not Submission.objects.filter(team=other).exists()
    assert not Run.objects.filter(team=other).exists()


def test_weights_that_come_while_teams_merge_are_not_left_with_the_team_that_goes(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = site.join("Other team")
    proposed = merging.merge_propose(team=site.team, by=site.team.captain, other_name=other.name, now=site.now)
    Phase.objects.filter(pk=site.phase.pk).update(accepts_code=True, own_weights=True)
    upload = site.upload(b"weights", "w.bin", user=other.captain)

    def add() -> None:
        environment_file_add(
            user=other.captain,
            competition=site.competition,
            kind=EnvironmentFile.Kind.WEIGHTS,
            name="w",
            upload=upload,
            now=site.now,
        )

    merge = functools.partial(merging.merge_accept, proposal=proposed, by=other.captain, now=site.now)
    assert meet(monkeypatch, (merging, "_locked_pair"), merge, add) == {"accepted": 1, "no_team": 1}
    add()
    assert EnvironmentFile.objects.get().team == site.team


def test_of_a_proposal_that_is_accepted_and_withdrawn_at_once_one_answer_counts(site: Scenario) -> None:
    other = site.join("Other team")
    proposal = merging.merge_propose(team=site.team, by=site.team.captain, other_name=other.name, now=site.now)

    def act(number: int) -> str:
        if number % 2:
            merging.merge_withdraw(proposal=proposal, by=site.team.captain, now=site.now)
            return "withdrawn"
        merging.merge_accept(proposal=proposal, by=other.captain, now=site.now)
        return "accepted"

    outcomes = at_once(6, act)
    assert outcomes["withdrawn"] + outcomes["accepted"] == 1, outcomes
    other.refresh_from_db()
    assert (other.merged_into_id is not None) == bool(outcomes["accepted"])


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


def test_inviting_many_times_at_once_fills_the_places_once(site: Scenario) -> None:
    for name in ("aa", "bb", "cc", "dd"):
        site.score(site.submit(team=site.join(name)), 0.5)
    Phase.objects.filter(pk=site.phase.pk).update(closes_at=site.now)
    lane = Lane.objects.create(leaderboard=site.phase.leaderboard, top=2)
    outcomes = at_once(8, lambda _: len(invite_next(lane=lane, actor="test", now=site.now)) and None)
    assert outcomes == Counter(accepted=1, nobody_left=7)
    assert Place.objects.count() == 2


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


def test_a_launcher_reports_two_jobs_while_the_run_of_the_second_is_handed_back(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both runs move the turns of one team, each behind its own submission."""
    launcher = Launcher.objects.create(name="lab")
    launcher.queues.add(site.queue)
    runs, jobs = [], []
    for number in ("17", "18"):
        site.submit()
        worker = site.worker()
        ComputeWorker.objects.filter(pk=worker.pk).update(job=number)
        runs.append(site.claim(worker))
        jobs.append({"id": number, "queue": site.queue.name, "kind": "gpu", "submitted_at": 1_900_000_000})
    ends = [job | {"state": "ended", "end": "preempted"} for job in jobs]
    report = LauncherReport.model_validate({"source": "lab", "version": "1", "is_complete": False, "jobs": ends})
    outcomes = meet(
        monkeypatch,
        (interrupts, "give_turn_back"),
        lambda: str(launcher_report(launcher, report, now=site.now)),
        lambda: interrupts.run_interrupt(**lease(runs[1]), detail="The job ends.", now=site.now),
    )
    assert outcomes == {"2": 1, State.QUEUED: 1}
    states = Run.objects.values_list("state", "attempt", "faults")
    assert list(states) == [(State.QUEUED, 2, 0)] * 2


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


def test_an_account_ends_while_a_team_mate_chooses_what_counts(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    Leaderboard.objects.filter(phase=site.phase).update(rule=Rule.SELECTED)
    board = Leaderboard.objects.select_related("phase").get(phase=site.phase)
    submission, captain, leaving = site.score(site.submit(), 0.5), site.member(), person()
    Membership.objects.create(team=site.team, user=leaving, competition=site.competition, joined_at=site.now)
    AccountDeletion.objects.create(user=leaving, asked_at=site.now, due_at=site.now)
    outcomes = meet(
        monkeypatch,
        (deleting, "boards_follow_person"),
        lambda: deleting.account_delete(leaving.pk, now=site.now),
        lambda: pick_add(board=board, submission=submission, by=captain, now=site.now),
    )
    assert outcomes == {"accepted": 2}
    assert (list(site.team.members.all()), Pick.objects.count()) == ([captain], 1)


def test_nobody_joins_a_team_whose_captains_account_is_about_to_end(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.score(site.submit(), 0.5)
    captain, joining = site.member(), person()
    teams.register(user=joining, competition=site.competition, rules_version=1, now=site.now)
    link = link_make(team=site.team, by=captain, max_uses=1, days=1, now=site.now)
    AccountDeletion.objects.create(user=captain, asked_at=site.now, due_at=site.now)
    outcomes = meet(
        monkeypatch,
        (deleting, "obstacles"),
        lambda: deleting.account_delete(captain.pk, now=site.now),
        lambda: link_accept(link=link, by=joining, now=site.now),
    )
    assert outcomes == {"accepted": 1, "invitation_link_over": 1}
    assert not site.team.members.exists()


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


def test_uploads_that_begin_at_once_keep_to_the_limit_of_an_hour(
    site: Scenario, monkeypatch: pytest.MonkeyPatch, settings: LazySettings
) -> None:
    settings.UPLOADS_PER_HOUR = 3
    user, count_room = site.member(), uploads.upload_room_used

    def slowly(*arguments: Any, **options: Any) -> int:
        time.sleep(0.05)
        return count_room(*arguments, **options)

    monkeypatch.setattr(uploads, "upload_room_used", slowly)
    outcomes = at_once(8, lambda _: uploads.upload_begin(user=user, file_name="x", size_bytes=1, now=site.now))
    assert outcomes == {"accepted": 3, "too_many_uploads": 5}


def test_two_slots_of_a_worker_that_fail_at_once_both_count(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    worker, barrier, keep_usage = site.worker(), threading.Barrier(2), reports.keep_usage
    sent = [site.submit(team=team) for team in (site.team, site.join())]
    runs = [site.claim(worker) for _ in sent]
    failed = read_result({"outcome": "failed", "reason": "infrastructure", "code": "engine_lost"}, columns=["mae"])

    def together(*arguments: Any) -> None:
        barrier.wait(timeout=30)  # both have read their run by now
        keep_usage(*arguments)

    monkeypatch.setattr(reports, "keep_usage", together)
    answers = at_once(2, lambda number: reports.run_complete(**lease(runs[number]), result=failed, now=site.now))
    assert answers == {State.QUEUED: 2}
    worker.refresh_from_db()
    assert (worker.infrastructure_failures, set(worker.failed_teams)) == (2, {run.team_id for run in runs})


def test_a_worker_claims_a_run_of_a_team_while_it_hands_another_back(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attempt that ends refers to the worker, which the claim has locked before the turns."""
    worker = site.worker()
    site.submit(), site.submit()
    run = site.claim(worker)
    outcomes = meet(
        monkeypatch,
        (dispatch, "fitting_runs"),
        lambda: dispatch.run_claim(worker=worker, free_gpus=0, now=site.now, claim_id="c1"),
        lambda: interrupts.run_interrupt(**lease(run), detail="The job ends.", now=site.now),
    )
    assert outcomes == {"accepted": 1, State.QUEUED: 1}
    assert Counter(Run.objects.values_list("state", flat=True)) == {State.LEASED: 1, State.QUEUED: 1}
