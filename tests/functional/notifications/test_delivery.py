"""Notifications reach each person once, in the inbox, and by mail as they chose."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
import time_machine
from django.conf import settings
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from competitions.catalog.models import Announcement
from competitions.catalog.texts.announcements import announcement_save, announcement_withdraw
from competitions.leaderboards.models import Score
from competitions.notifications.mails import digests_mail, notifications_mail
from competitions.notifications.models import Delivery, Kind, Notification
from competitions.notifications.services import KEPT, notifications_expire, notify, preferences_set
from competitions.runs.services import submission_rerun
from competitions.submissions.notices import deadlines_notify
from competitions.submissions.services import (
    submission_disqualify,
    submission_reinstate,
    team_disqualify,
    team_reinstate,
)
from competitions.teams.models import Membership, Registration
from core.reconciler import reconcile
from tests.permissions import user_client
from tests.scenario import Scenario, person

pytestmark = pytest.mark.django_db
BROKEN = {"outcome": "failed", "reason": "output_invalid", "code": "nan", "detail": "The array 'y_pred' holds NaN."}


def recipients(kind: Kind) -> list[tuple[str, str]]:
    """Recipients and subjects of this kind's notifications, oldest first."""
    rows = Notification.objects.filter(kind=kind).order_by("pk")
    return [(row.user.username, row.subject) for row in rows]


def tell(site: Scenario, user: User, *, kind: Kind = Kind.DEADLINE, event: str = "", subject: str = "Soon") -> int:
    people = User.objects.filter(pk=user.pk)
    return notify(
        people=people, kind=kind, competition=site.competition, subject=subject, text="Text.", path="/", event=event
    )


def announce(site: Scenario) -> Announcement:
    row = Announcement(competition=site.competition, title="New data", body="Here.", published_at=site.now)
    return announcement_save(announcement=row, now=site.now)


def test_who_submitted_is_told_of_the_end_once_and_of_no_score(site: Scenario) -> None:
    mate, member = person(), site.member()
    Membership.objects.create(team=site.team, user=mate, competition=site.competition, joined_at=site.now)
    first, second = site.score(site.submit(), 0.987654321), site.answer(site.submit(), BROKEN)
    ended = [
        (member.username, f"Submission #{first.pk} has been scored"),
        (member.username, f"Submission #{second.pk} has failed"),
    ]
    assert recipients(Kind.RUN) == ended
    assert "0.98" not in "".join(Notification.objects.values_list("text", flat=True))
    submission_rerun(submission=first, actor="organizer", now=site.now)
    first.refresh_from_db()
    site.score(first, 0.5)
    submission_rerun(submission=second, actor="organizer", now=site.now)
    assert {name for name, _ in recipients(Kind.RESCORING)} == {member.username, mate.username}
    assert len(recipients(Kind.RESCORING)) == 2, "once for the phase, not for each submission"
    assert recipients(Kind.RUN) == ended, "it has been scored, as before"


def test_who_submitted_is_told_why_it_failed_and_that_it_was_free(site: Scenario) -> None:
    site.answer(site.submit(), BROKEN)
    site.answer(site.submit(), BROKEN | {"reason": "scoring_error", "detail": f"Line 9 {'x' * 300}"})
    site.answer(site.submit(phase=site.sealed), BROKEN | {"detail": "MAE 0.987 is too good."})
    charged, free, sealed = [row.text for row in Notification.objects.filter(kind=Kind.RUN).order_by("pk")]
    assert charged.endswith("failed: The array 'y_pred' holds NaN.")
    assert free.endswith("xx… It cost no quota.")
    assert len(free.partition("failed: ")[2]) < 225
    assert "failed: The output cannot be scored" in sealed
    assert "0.987" not in sealed


def read_details(user: User) -> str:
    """The details that a person's inbox shows."""
    page = user_client(user).get(reverse("web:notifications")).content.decode()
    return " ".join(re.findall(r'class="inbox-detail">(.*?)</p>', page, re.DOTALL))


def test_scores_and_ranks_are_told_while_everybody_may_see_them(
    site: Scenario, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    rival, member = site.join(), site.member()
    preferences_set(user=member, competition=None, chosen={Kind.RUN: Delivery.AT_ONCE})
    site.score(site.submit(team=rival), 0.3)
    first = site.score(site.submit(), 0.5)
    site.score(site.submit(phase=site.sealed), 0.987654321)
    client, board = user_client(member), site.phase.leaderboards.get()
    assert "Leaderboard: MAE 0.5000, the first score of your team; rank 2." in read_details(member)
    with CaptureQueriesContext(connection) as few:
        client.get(reverse("web:notifications"))
    second, third = site.score(site.submit(), 0.25), site.score(site.submit(), 0.3125)
    with django_assert_num_queries(len(few)):
        shown = client.get(reverse("web:notifications"))
    shown_details = read_details(member)
    assert "MAE 0.2500, the best of your team so far (\N{MINUS SIGN}0.2500); rank 1." in shown_details
    assert "MAE 0.3125 (+0.0625 to the best of your team)." in shown_details, "it is not the row, and so has no rank"
    assert "0.98" not in shown.content.decode()
    by_path = {row["path"]: row["detail"] for row in client.get("/api/v1/notifications/").json()["results"]}
    assert by_path[f"/submissions/{second.pk}/"].endswith("rank 1.")
    notifications_mail(now=site.now)
    assert "rank 1." in "".join(str(letter.body) for letter in mail.outbox)
    assert "0.98" not in "".join(str(letter.body) for letter in mail.outbox)
    submission_disqualify(submission=second, reason="External data.", now=site.now)
    submission_rerun(submission=third, actor="organizer", now=site.now)
    third.refresh_from_db()
    site.score(third, 0.125)
    shown_details = read_details(member)
    assert "MAE 0.2500." in shown_details, "no rank of a submission that was disqualified"
    assert "MAE 0.1250, the best of your team so far (\N{MINUS SIGN}0.3750); rank 1." in shown_details, (
        "as of the run anew"
    )
    Score.objects.filter(submission=third).update(values={"mae": 0.75}, rank_value=0.75)
    assert "MAE 0.7500." in read_details(member), "the rank of then is not told of a score that came otherwise"
    board.is_hidden = True
    board.save()
    assert read_details(member) == "", "nothing of a board that is hidden or sealed by now"
    board.is_hidden, board.visibility = False, "sealed"
    board.save()
    assert read_details(member) == ""
    board.visibility = "as_phase"
    board.save()
    assert "rank 2." in read_details(member)
    Membership.objects.filter(user=member).delete()
    assert read_details(member) == "", f"who left the team reads nothing of #{first.pk}"


def test_who_left_the_team_is_told_nothing_of_its_submissions(site: Scenario) -> None:
    submission = site.submit()
    Membership.objects.filter(user=site.member()).delete()
    site.score(submission, 0.5)
    assert recipients(Kind.RUN) == []


def test_disqualifications_are_told_with_their_reason_and_so_is_their_end(site: Scenario) -> None:
    submission, name = site.submit(), site.member().username
    submission_disqualify(submission=submission, reason="External data.", now=site.now)
    submission_disqualify(submission=submission, reason="External data.", now=site.now)
    submission_reinstate(submission=submission, reason="The data were allowed.", now=site.now)
    team_disqualify(team=site.team, reason="Two accounts.", now=site.now)
    team_reinstate(team=site.team, reason="They are two people.", now=site.now)
    assert recipients(Kind.DISQUALIFICATION) == [
        (name, f"Submission #{submission.pk} was disqualified"),
        (name, f"Submission #{submission.pk} counts again"),
        (name, f"The team {site.team} was disqualified"),
        (name, f"The team {site.team} takes part again"),
    ]
    texts = " ".join(Notification.objects.values_list("text", flat=True))
    assert all(
        reason in texts
        for reason in ("External data.", "The data were allowed.", "Two accounts.", "They are two people.")
    )


def test_an_announcement_is_told_to_the_registered_and_leaves_the_inbox_when_it_is_withdrawn(site: Scenario) -> None:
    denied = site.join()
    Registration.objects.filter(user=denied.captain).update(state=Registration.State.DENIED)
    row = announce(site)
    announcement_save(announcement=row, now=site.now)
    assert recipients(Kind.ANNOUNCEMENT) == [(site.member().username, f"{site.competition}: New data")]
    announcement_withdraw(announcement=row, now=site.now)
    assert recipients(Kind.ANNOUNCEMENT) == []
    assert notifications_mail(now=site.now) == 0, "nor is it mailed any more"
    row.refresh_from_db()
    announcement_save(announcement=row, now=site.now)
    assert recipients(Kind.ANNOUNCEMENT) == [(site.member().username, f"{site.competition}: New data")]


def test_the_mail_of_an_announcement_has_its_text_as_long_as_it_is_shown(site: Scenario) -> None:
    row, member = announce(site), site.member()
    Announcement.objects.filter(pk=row.pk).update(body=f"Download **again**. {'word ' * 1000}")
    notifications_mail(now=site.now)
    (letter,) = mail.outbox
    assert "\n\nDownload **again**. word" in letter.body
    rest = f"The rest is on the competition's page:\n\n{settings.SITE_URL}/competitions/{site.competition.slug}/"
    assert rest in letter.body
    assert len(letter.body) < 5000
    assert "Download again." in read_details(member), "no marks of Markdown"
    assert len(read_details(member)) < 700, "the inbox stays a list"
    site.competition.is_published = False
    site.competition.save()
    assert read_details(member) == "", "the page is hidden by now"


def test_a_digest_has_the_beginning_of_an_announcement(site: Scenario) -> None:
    preferences_set(user=site.member(), competition=None, chosen={Kind.ANNOUNCEMENT: Delivery.DIGEST})
    row = announce(site)
    Announcement.objects.filter(pk=row.pk).update(body=f"Download again. {'word ' * 1000}")
    digests_mail(now=timezone.now() + timedelta(days=1))
    (digest,) = mail.outbox
    assert "Download again. word" in digest.body
    assert len(digest.body) < 1500


def test_deadlines_are_told_twice_to_those_who_still_may_submit(site: Scenario) -> None:
    used, out, baseline = site.join(), site.join(), site.join(is_baseline=True)
    site.phase.max_submissions = 1
    site.phase.save()
    site.submit(team=used)
    team_disqualify(team=out, reason="Out.", now=site.now)
    closes_at = site.phase.closes_at
    assert closes_at is not None
    site.phases["test-challenge"].delete()
    counts = {}
    for days in (4, 3, 2, 1, 0.5):
        counts[days] = [deadlines_notify(now=closes_at - timedelta(days=days)) for _ in range(2)]
    assert counts == {4: [0, 0], 3: [1, 0], 2: [0, 0], 1: [1, 0], 0.5: [0, 0]}
    assert {name for name, _ in recipients(Kind.DEADLINE)} == {site.member().username}
    assert baseline.captain.username not in str(recipients(Kind.DEADLINE))
    site.phase.closes_at = closes_at + timedelta(days=7)
    site.phase.save()
    assert deadlines_notify(now=closes_at + timedelta(days=4)) == 1, "an end that was moved is told again"


def test_a_phase_that_is_shorter_than_the_notice_needs_none(site: Scenario) -> None:
    site.phases["test-challenge"].delete()
    site.phase.opens_at, site.phase.closes_at = site.now, site.now + timedelta(days=2)
    site.phase.save()
    assert deadlines_notify(now=site.now) == 0
    assert deadlines_notify(now=site.now + timedelta(days=1)) == 1


def test_the_same_event_is_told_once_and_robots_have_no_inbox(site: Scenario) -> None:
    robot = person(is_robot=True)
    assert tell(site, robot) == 0
    for _ in range(2):
        tell(site, site.member(), event="deadline-1")
    assert len(recipients(Kind.DEADLINE)) == 1


def test_the_choice_for_a_competition_precedes_that_for_all(site: Scenario) -> None:
    user = site.member()
    preferences_set(user=user, competition=None, chosen={Kind.DEADLINE: Delivery.DIGEST})
    preferences_set(user=user, competition=site.competition, chosen={Kind.DEADLINE: Delivery.NONE})
    tell(site, user)
    preferences_set(user=user, competition=site.competition, chosen={Kind.DEADLINE: None})
    tell(site, user)
    tell(site, user, kind=Kind.MERGE)
    tell(site, user, kind=Kind.RUN)
    deliveries = list(Notification.objects.order_by("pk").values_list("delivery", flat=True))
    assert deliveries == [Delivery.NONE, Delivery.DIGEST, Delivery.AT_ONCE, Delivery.NONE]


def test_the_reconciler_mails_once_what_is_mailed_at_once(site: Scenario) -> None:
    tell(site, site.member(), subject="Two\nlines")
    for _ in range(3):
        reconcile(now=site.now)
    assert [message.subject for message in mail.outbox] == ["Two lines"]


def test_the_digest_comes_once_a_day_with_what_is_unread(site: Scenario) -> None:
    user = site.member()
    preferences_set(user=user, competition=None, chosen={Kind.DEADLINE: Delivery.DIGEST})
    with time_machine.travel(site.now, tick=False):  # noon
        for name in ("read", "first", "second"):
            tell(site, user, subject=name)
    Notification.objects.filter(subject="read").update(read_at=site.now)
    morning = site.now + timedelta(hours=18)
    assert notifications_mail(now=site.now) == 0
    assert digests_mail(now=morning - timedelta(microseconds=1)) == 0
    assert [digests_mail(now=morning) for _ in range(2)] == [1, 0]
    (digest,) = mail.outbox
    assert digest.subject == "Podium: 2 new notifications"
    assert "first" in digest.body
    assert "second" in digest.body
    assert "read\n" not in digest.body


def test_what_is_half_a_year_old_goes(site: Scenario) -> None:
    with time_machine.travel(site.now, tick=False):
        tell(site, site.member())
    assert notifications_expire(now=site.now + KEPT - timedelta(seconds=1)) == 0
    assert notifications_expire(now=site.now + KEPT) == 1
