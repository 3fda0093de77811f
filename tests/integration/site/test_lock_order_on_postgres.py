"""Two actions that lock the same rows do so in one order, or one of them would end in a deadlock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.urls import reverse

from competitions.catalog import sealed_keys
from competitions.catalog.models import Announcement, Competition, CompetitionOrganizer, Phase, Task
from competitions.catalog.organizers import organizer_remove
from competitions.catalog.services import phase_reveal
from competitions.catalog.texts.announcements import announcement_save, announcement_withdraw
from competitions.discussions import services as discussions
from competitions.discussions.models import Post, Topic, Writer
from competitions.discussions.moderation import post_approve
from competitions.discussions.services import Draft, reply_create, topic_create
from competitions.factsheets.models import Question
from competitions.factsheets.services import save_question
from competitions.leaderboards import sealing
from competitions.leaderboards import services as boards
from competitions.leaderboards.models import Entry, RankChange
from competitions.organize.views import teams as views
from competitions.organize.views.editing import phases
from competitions.people import deleting
from competitions.people.models import AccountDeletion
from competitions.runs import dispatch, services
from competitions.runs.leases import reports
from competitions.runs.models import Run, TeamTurn
from competitions.runs.reruns import submission_repeat
from competitions.runs.transitions import cancel_held
from competitions.submissions import services as submissions
from competitions.submissions.annotations import Annotations, annotations_edit
from competitions.submissions.models import Submission
from competitions.submissions.services import NewSubmission
from competitions.submissions.states import Kind, State
from competitions.teams import merging
from competitions.teams import services as teams
from competitions.teams.links import link_accept, link_make
from competitions.teams.models import Membership, Registration
from competitions.webhooks import services as webhooks
from competitions.webhooks.models import Webhook
from competitions.winners.models import Lane
from tests.answers import read_result
from tests.permissions import user_client
from tests.races import meet, site
from tests.scenario import FILE_NAME, Scenario, lease, person, prediction_bytes
from tests.waiting import wait_for

__all__ = ["site"]

pytestmark = pytest.mark.django_db(transaction=True)


def question(site: Scenario) -> Question:
    return Question(
        competition=site.competition, key="size", title="Size", kind="number", is_public=True, is_on_board=True
    )


def test_a_claim_on_a_queue_with_a_limit_waits_for_no_run_that_its_team_queues(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New runs refer to the queue, which the claim has locked before the team's turns."""
    site.queue.max_in_flight_per_team = 2
    site.queue.save()
    first = site.score(site.submit(), 0.5)
    site.submit()
    worker = site.worker()
    outcomes = meet(
        monkeypatch,
        (dispatch, "fitting_runs"),
        lambda: str(dispatch.run_claim(worker=worker, free_gpus=0, now=site.now) is not None),
        lambda: str(submission_repeat(submission=first, by=site.organizer, now=site.now).status),
    )
    assert outcomes == {"True": 1, State.QUEUED: 1}


def test_a_submission_is_run_again_while_its_team_merges(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns are locked behind the boards that a result leaves."""
    other = site.join("Other team")
    scored = site.score(site.submit(), 0.5)
    site.submit(team=other)
    proposal = merging.merge_propose(team=site.team, by=site.team.captain, other_name=other.name, now=site.now)
    outcomes = meet(
        monkeypatch,
        (services, "enter_queue"),
        lambda: str(merging.merge_accept(proposal=proposal, by=other.captain, now=site.now) == site.team),
        lambda: str(services.submission_rerun(submission=scored, actor="test", now=site.now)),
    )
    assert outcomes == {"True": 1, "1": 1}
    assert set(Run.objects.values_list("team", "state")) == {(site.team.pk, State.QUEUED)}
    assert TeamTurn.objects.filter(team=site.team, waiting_since__isnull=False).exists()


def test_a_team_is_disqualified_while_a_question_changes_its_boards(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both lock the boards by their numbers, whatever the order of the phases."""
    Phase.objects.filter(pk=site.phase.pk).update(index=9)
    for phase in (site.phase, site.sealed):
        site.score(site.submit(phase=phase), 0.5)
    outcomes = meet(
        monkeypatch,
        (boards, "boards_locked"),
        lambda: str(submissions.team_disqualify(team=site.team, reason="Copied.", now=site.now)),
        lambda: save_question(question(site)),
    )
    assert outcomes == {"True": 1, "accepted": 1}
    assert not Entry.objects.exists()


def test_a_sealed_run_is_claimed_while_the_commit_of_its_submission_changes(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The submission is locked before the phase, whose sealed scores the first claim puts on record."""
    submission, worker = site.submit(phase=site.sealed), site.worker()
    outcomes = meet(
        monkeypatch,
        (sealed_keys, "_record"),
        lambda: str(dispatch.run_claim(worker=worker, free_gpus=0, now=site.now) is not None),
        lambda: annotations_edit(submission=submission, annotations=Annotations((), "a" * 40, ""), by=site.member()),
    )
    assert outcomes == {"True": 1, "accepted": 1}


def test_scores_are_revealed_while_a_question_changes_the_boards(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes of rank refer to the board that everybody saw before, which the reveal has not locked."""
    for phase in (site.phase, site.sealed):
        site.score(site.submit(phase=phase), 0.5)
    outcomes = meet(
        monkeypatch,
        (sealing, "team_ranks"),
        lambda: phase_reveal(phase=site.sealed, now=site.now, before_the_end=True),
        lambda: save_question(question(site)),
    )
    assert outcomes == {"accepted": 2}
    assert RankChange.objects.get().compared_with == site.phase.leaderboard


def test_a_member_joins_while_another_adds_a_webhook(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """Member and webhook both refer to team and competition, of which each has locked one."""
    captain, joining = site.member(), person()
    teams.register(user=joining, competition=site.competition, rules_version=1, now=site.now)
    link = link_make(team=site.team, by=captain, max_uses=1, days=1, now=site.now)
    values: dict[str, Any] = {
        "competition": site.competition,
        "team": site.team,
        "url": "https://example.org/",
        "kinds": [],
    }
    outcomes = meet(
        monkeypatch,
        (webhooks, "webhooks_for"),
        lambda: webhooks.webhook_create(**values, by=captain, now=site.now),
        lambda: link_accept(link=link, by=joining, now=site.now),
    )
    assert outcomes == {"accepted": 2}


def test_a_member_who_is_denied_at_the_same_instant_has_no_webhook(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = site.member()
    values: dict[str, Any] = {
        "competition": site.competition,
        "team": site.team,
        "url": "https://example.org/",
        "kinds": [],
    }
    registration = member.registrations.get()
    outcomes = meet(
        monkeypatch,
        (webhooks, "webhooks_for"),
        lambda: webhooks.webhook_create(**values, by=member, now=site.now),
        lambda: (
            teams.registration_decide(registration=registration, approve=False, by=site.organizer, now=site.now)
            and None
        ),
    )
    assert outcomes == {"accepted": 2}
    assert not Webhook.objects.filter(stopped_at=None).exists()


def test_a_submission_that_comes_with_the_reveal_is_before_it_or_refused(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its upload began before the end; who has seen the scores could send it in."""
    Phase.objects.filter(pk=site.sealed.pk).update(closes_at=site.now, upload_grace_minutes=60)
    phase, now = Phase.objects.get(pk=site.sealed.pk), site.now + timedelta(minutes=1)
    upload = site.upload(
        prediction_bytes(), FILE_NAME.replace("test-dev", phase.slug), at=site.now - timedelta(hours=1)
    )
    Membership.objects.update(joined_at=site.now - timedelta(days=1))
    new = NewSubmission(user=site.member(), phase=phase, upload=upload, kind=Kind.PREDICTION)
    revealed: list[bool] = []

    def reveal() -> None:
        phase_reveal(phase=phase, now=now, before_the_end=True)
        revealed.append(Submission.objects.exists())

    outcomes = meet(
        monkeypatch,
        (submissions, "_require_no_reveal_meanwhile"),
        lambda: submissions.submission_create(new, now=now),
        reveal,
    )
    assert (outcomes, revealed) == ({"accepted": 2}, [True])


def test_scores_are_revealed_while_a_short_run_ends(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """The use of its slot refers to the phase, which the reveal locks before its boards."""
    site.submit(phase=site.sealed)
    run = site.claim()
    body = {"outcome": "finished", "scores": {"mae": 0.5}, "stages": [{"name": "scoring", "wall_s": 1.0}]}
    now = site.now + timedelta(days=60)
    outcomes = meet(
        monkeypatch,
        (Phase, "is_settled"),
        lambda: phase_reveal(phase=site.sealed, now=now),
        lambda: reports.run_complete(**lease(run), result=read_result(body, columns=["mae"]), now=now),
    )
    assert outcomes == {"accepted": 1, State.FINISHED: 1}


def test_runs_that_may_not_be_handed_out_end_while_the_commit_of_a_submission_changes(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each ends by itself, as each locks its submission and then the boards."""
    site.queue.allowed_images = "lab/"
    site.queue.save()
    site.submit(), site.submit()
    later, worker = Run.objects.order_by("queued_at", "pk")[1].submission, site.worker()
    outcomes = meet(
        monkeypatch,
        (dispatch, "run_fail"),
        lambda: str(dispatch.run_claim(worker=worker, free_gpus=0, now=site.now)),
        lambda: annotations_edit(submission=later, annotations=Annotations((), "a" * 40, ""), by=site.member()),
    )
    assert outcomes == {"None": 1, "accepted": 1}
    assert set(Run.objects.values_list("state", "code")) == {(State.FAILED, "image_forbidden")}


def test_a_team_gets_another_name_while_its_score_arrives(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """The score refers to the team, which is locked before its boards."""
    site.score(site.submit(), 0.5)
    site.submit()
    run, visitor = site.claim(), user_client(site.organizer)
    result = read_result({"outcome": "finished", "scores": {"mae": 0.4}}, columns=["mae"])
    address = reverse("organize:team-settings", args=[site.competition.slug, site.team.key])
    outcomes = meet(
        monkeypatch,
        (views, "TeamForm"),
        lambda: str(visitor.post(address, {"name": "Renamed"}).status_code),
        lambda: reports.run_complete(**lease(run), result=result, now=site.now),
    )
    assert outcomes == {"302": 1, State.FINISHED: 1}
    assert set(Entry.objects.values_list("team__name", flat=True)) == {"Renamed"}


def test_an_account_ends_while_a_post_of_its_person_is_let_through(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both lock the writer before the topic."""
    author = site.join().captain
    Competition.objects.filter(pk=site.competition.pk).update(discussion=Competition.Discussion.HERE)
    site.competition.refresh_from_db()
    topic_create(competition=site.competition, title="Data", draft=Draft(author, "Where is it?"), now=site.now)
    Post.objects.update(state=Post.State.WAITING)
    AccountDeletion.objects.create(user=author, asked_at=site.now, due_at=site.now)
    outcomes = meet(
        monkeypatch,
        (Writer.objects, "update_or_create"),
        lambda: post_approve(post=Post.objects.get(), by=site.organizer, now=site.now),
        lambda: str(deleting.account_delete(author.pk, now=site.now)),
    )
    assert outcomes == {"accepted": 1, "1": 1}
    post = Post.objects.get()
    assert (post.state, post.author) == (Post.State.SHOWN, None)


def test_a_reply_counts_while_its_announcement_is_withdrawn(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    Competition.objects.filter(pk=site.competition.pk).update(discussion=Competition.Discussion.HERE)
    news = Announcement(competition=site.competition, title="News", body="Soon.", published_at=site.now)
    news.competition.refresh_from_db()
    announcement_save(announcement=news, now=site.now)
    topic = Topic.objects.get()
    outcomes = meet(
        monkeypatch,
        (discussions, "post_show"),
        lambda: reply_create(topic=topic, draft=Draft(site.member(), "When?"), now=site.now),
        lambda: announcement_withdraw(announcement=news, now=site.now),
    )
    assert outcomes == {"accepted": 2}
    assert Topic.objects.values_list("reply_count", "is_shown").get() == (1, False)


def test_nobody_is_admitted_by_registering_again_while_they_are_denied(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = site.member()
    registration = member.registrations.get()
    Registration.objects.update(state=Registration.State.PENDING)
    outcomes = meet(
        monkeypatch,
        (Registration.objects, "get_or_create"),
        lambda: teams.register(user=member, competition=site.competition, rules_version=1, now=site.now),
        lambda: teams.registration_decide(registration=registration, approve=False, by=site.organizer, now=site.now),
    )
    assert outcomes == {"registration_denied": 1, "accepted": 1}
    assert Registration.objects.get().state == Registration.State.DENIED


def test_of_two_organizers_who_go_at_once_one_stays(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    other = CompetitionOrganizer.objects.create(competition=site.competition, user=person())
    AccountDeletion.objects.create(user=site.organizer, asked_at=site.now, due_at=site.now)
    outcomes = meet(
        monkeypatch,
        (deleting, "obstacles"),
        lambda: str(deleting.account_delete(site.organizer.pk, now=site.now)),
        lambda: organizer_remove(organizer=other),
    )
    assert outcomes == {"1": 1, "last_organizer": 1}
    assert list(site.competition.organizers.all()) == [other.user]


def test_settings_of_a_lane_that_are_saved_meanwhile_keep_its_baselines_run(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    board, run = site.phase.leaderboard, site.submit()
    Lane.objects.create(leaderboard=board)
    address, visitor = reverse("organize:winners", args=[site.competition.slug, board.pk]), user_client(site.organizer)
    fields = {"top": 5, "days": 14, "min_equal_share": 0.99, "tolerance": 0, "score_tolerance": 0}
    outcomes = meet(
        monkeypatch,
        (phases, "LaneForm"),
        lambda: str(visitor.post(address, fields | {"stored": "{}"}).status_code),
        lambda: Lane.objects.update(baseline_run=run),
    )
    assert outcomes == {"302": 1, "accepted": 1}
    assert Lane.objects.values_list("top", "baseline_run").get() == (5, run.pk)


def test_two_organizers_who_disqualify_at_once_tell_the_team_once(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = site.score(site.submit(), 0.5)
    outcomes = meet(
        monkeypatch,
        (boards, "boards_locked"),
        lambda: str(submissions.submission_disqualify(submission=submission, reason="Copied.", now=site.now)),
        lambda: str(submissions.submission_disqualify(submission=submission, reason="Late.", now=site.now)),
    )
    assert outcomes == {"True": 1, "False": 1}
    assert Submission.objects.get().disqualified_reason == "Copied."


def waiting_for_locks(number: int) -> bool:
    """True once so many connections wait for a row that another one has locked."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_locks"
            " JOIN pg_database ON pg_database.oid = database WHERE datname = current_database())"
        )
        return bool(cursor.fetchone()[0] >= number)


def test_runs_are_asked_to_stop_while_their_submission_is_cancelled(site: Scenario) -> None:
    """Both lock the runs by their numbers, wherever they lie in the table."""
    program = site.phase.tasks.get().scoring_program
    site.phase.tasks.add(Task.objects.create(competition=site.competition, name="Second", scoring_program=program))
    submission = site.submit()
    first, last = sorted((site.claim(), site.claim()), key=lambda run: run.pk)
    Run.objects.filter(pk=first.pk).update(detail="It lies behind the other one now.")

    def closing(act: Callable[[], object]) -> None:
        try:
            act()
        finally:
            connection.close()

    acts: list[Callable[[], object]] = [
        lambda: cancel_held(Run.objects.all(), now=site.now),
        lambda: services.submission_cancel(submission=submission, actor="test", now=site.now),
    ]
    with ThreadPoolExecutor(2) as pool:
        with transaction.atomic():
            Run.objects.select_for_update().get(pk=last.pk)
            begun = []
            for number, act in enumerate(acts, start=1):
                begun.append(pool.submit(closing, act))
                wait_for(partial(waiting_for_locks, number), 30, "it waits for a run", every_s=0.01)
        assert [each.exception(timeout=30) for each in begun] == [None, None]
    assert not Run.objects.filter(cancel_requested_at=None).exists()
