"""Pages of a submission on its way, their live parts, and the number of queries."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from competitions.catalog.models import Phase
from competitions.catalog.readiness import ReadinessWarning
from competitions.runs.queue.positions import queue_positions
from competitions.runs.services import submission_cancel
from competitions.submissions.models import Submission
from competitions.submissions.services import submission_disqualify
from competitions.submissions.states import Kind, packages_advice
from competitions.teams.services import invite, register
from competitions.web.checklist import checklist
from competitions.web.progress import Progress, submission_progress
from tests.pages import page_words
from tests.permissions import user_client
from tests.scenario import Scenario, person

MAX_QUERIES = 12  # one of them only while something waits, one only while a board is drawn anew


@pytest.fixture
def member(site: Scenario) -> Client:
    return user_client(site.member())


def progress(submission: Submission, now: datetime) -> Progress:
    """The submission's progress, as its page says it."""
    stored = Submission.objects.prefetch_related("runs__queue").select_related("phase").get(pk=submission.pk)
    return submission_progress(stored, queue_positions(stored.runs.all(), now=now), now=now)


def sentence(site: Scenario, submission: Submission, after_s: float = 0) -> str:
    return progress(submission, site.now + timedelta(seconds=after_s)).sentence


def test_a_form_that_is_sent_empty_says_what_is_missing(site: Scenario, member: Client) -> None:
    organizer = user_client(site.organizer)
    forms = [(member, "web:topic-new"), (member, "web:team-webhooks")]
    forms += [
        (organizer, f"organize:{name}") for name in ("announcement-new", "images", "mail", "proposals", "webhooks")
    ]
    for client, name in forms:
        answer = client.post(reverse(name, args=[site.competition.slug]))
        assert (answer.status_code, "errorlist" in answer.content.decode()) == (422, True), name


def test_places_in_the_queue_count_up_and_move_on(site: Scenario) -> None:
    sent = [site.submit(at=site.now + timedelta(seconds=number)) for number in range(3)]
    assert [sentence(site, submission) for submission in sent] == [
        "First in the queue",
        *(f"Waiting at place {place} of the queue" for place in (2, 3)),
    ]
    submission_cancel(submission=sent[0], actor="test", now=site.now)
    assert sentence(site, sent[2]) == "Waiting at place 2 of the queue"


def test_a_phase_with_priority_goes_before(site: Scenario) -> None:
    first = site.submit()
    site.sealed.priority = 5
    site.sealed.save()
    urgent = site.submit(phase=site.sealed, at=site.now + timedelta(minutes=1))
    assert (sentence(site, urgent), sentence(site, first)) == (
        "First in the queue",
        "Waiting at place 2 of the queue",
    )


def test_a_paused_queue_is_said(site: Scenario) -> None:
    sent = site.submit()
    site.queue.is_paused = True
    site.queue.save()
    assert sentence(site, sent) == "Waiting at place 1; the organizers have paused the queue"


def test_workers_that_fell_silent_are_noticed_after_a_minute(site: Scenario) -> None:
    site.worker()
    sent = site.submit()
    assert not progress(sent, site.now + timedelta(seconds=59)).is_silent
    assert progress(sent, site.now + timedelta(seconds=61)).is_silent


def test_a_queue_without_workers_is_silent(site: Scenario) -> None:
    shown = progress(site.submit(), site.now)
    assert (shown.is_silent, shown.worker_seen_at) == (True, None)


def test_a_held_run_is_being_prepared_and_costs_nothing_yet(site: Scenario) -> None:
    sent = site.submit(kind=Kind.CODE)
    site.claim()
    assert sentence(site, sent) == "A compute worker is preparing the run; this is not charged to your budget"


@pytest.mark.parametrize(
    ("reason", "expected", "blame"),
    [
        ("time_limit", "Over the time limit: why", "your submission"),
        ("scoring_error", "The scoring program failed: why", "the organizers' setup"),
        ("output_invalid", "The output is not valid: why", "your submission"),
    ],
)
def test_a_failure_says_what_whose_fault_and_what_to_do(site: Scenario, reason: str, expected: str, blame: str) -> None:
    submission = site.answer(site.submit(), {"outcome": "failed", "reason": reason, "detail": "why"})
    shown = progress(submission, site.now)
    assert (shown.sentence, shown.blame) == (expected, blame)
    assert shown.advice


def test_an_organizer_reads_whose_fault_it_was_without_advice_for_the_team(site: Scenario, member: Client) -> None:
    sent = site.answer(site.submit(), {"outcome": "failed", "reason": "output_invalid", "detail": "why"})
    for name in ("web:submission", "web:submission-live"):
        url = reverse(name, args=[sent.pk])
        theirs, own = (page_words(client.get(url)) for client in (user_client(site.organizer), member))
        assert "Cause: the team's submission." in theirs
        assert "The message says what was wrong" not in theirs
        assert "Cause: your submission. The message says what was wrong" in own
    assert 'class="message error"' in member.get(url).content.decode().split("<dl")[0]


def test_a_refused_file_says_how_many_more_the_team_may_have(site: Scenario, member: Client, settings: Any) -> None:
    sent = site.answer(site.submit(), {"outcome": "failed", "reason": "output_invalid", "detail": "why"})
    settings.REFUSED_FILES_PER_DAY = 3
    Submission.objects.update(reason="file_invalid")
    page = page_words(member.get(reverse("web:submission", args=[sent.pk])))
    assert "A team may send 3 such files a day; yours has 3 left." in page


def test_a_missing_package_alone_brings_up_those_of_the_image(site: Scenario) -> None:
    site.phase.docker_image = "podium/runtime:1"
    held = packages_advice("Traceback\nModuleNotFoundError: No module named 'torch'\n", site.phase)
    assert "Python 3.11 with numpy" in held
    assert packages_advice("ValueError: no\n", site.phase) == ""


def test_a_cancelled_or_disqualified_submission_says_by_whom_and_shows_no_place(site: Scenario, member: Client) -> None:
    cancelled, scored = site.submit(), site.submit()
    member.post(reverse("web:submission-cancel", args=[cancelled.pk]))
    page = page_words(member.get(reverse("web:submission", args=[cancelled.pk])))
    assert f"Cancelled by {site.member().username}." in page
    site.score(scored, 0.5)
    url = reverse("web:submission", args=[scored.pk])
    assert "<dt>Place</dt>" in member.get(url).content.decode()
    submission_disqualify(submission=scored, reason="Copied", now=site.now)
    page = member.get(url).content.decode()
    assert ("Disqualified: Copied" in page, "<dt>Place" in page) == (True, False)


def test_a_row_asks_again_until_its_submission_has_ended(site: Scenario, member: Client) -> None:
    sent = site.submit()
    url = reverse("web:submission-row", args=[sent.pk])
    assert f'hx-get="{url}"' in member.get(url).content.decode()
    site.score(sent, 0.5)
    assert "hx-get" not in member.get(url).content.decode()


def test_the_history_of_a_run_says_to_the_second_when_and_for_how_long(site: Scenario, member: Client) -> None:
    sent = site.submit()
    site.claim(at=site.now + timedelta(seconds=7))
    page = member.get(reverse("web:submission", args=[sent.pk])).content.decode()
    history = re.findall(r"<li><time[^>]*>([^<]*)</time> (.*?)</li>", page)
    assert history == [
        ("2030-05-01 12:00:00&nbsp;UTC", "checking for 0.0 s → queued"),
        ("2030-05-01 12:00:07&nbsp;UTC", "queued for 7.0 s → starting"),
    ]


def test_the_quota_that_is_left_is_asked_for_again_when_a_row_has_ended(site: Scenario, member: Client) -> None:
    Phase.objects.filter(pk=site.phase.pk).update(max_submissions_per_day=20, max_submissions_per_week=30)
    sent = site.submit()
    url = reverse("web:submission-row", args=[sent.pk])
    assert "HX-Trigger" not in member.get(url)
    submission_cancel(submission=sent, actor="test", now=site.now)
    assert member.get(url)["HX-Trigger"] == "submission-ended"
    with time_machine.travel(site.now, tick=False):
        page = member.get(reverse("web:submissions", args=[site.competition.slug])).content.decode()
    page = " ".join(page.split())
    assert 'hx-trigger="submission-ended from:body" hx-select="#limit-chips"' in page
    assert "20 of 20 left for today, resets at 00:00 UTC<" in page
    assert re.search(r"30 of 30 left for this week, resets at 00:00 UTC on \d+ \w+<", page)
    own = reverse("web:submissions", args=[site.competition.slug])
    assert f'<a class="button primary" href="{own}"' not in page, "to the same page: it would drop a chosen file"
    Phase.objects.filter(pk=site.phase.pk).update(
        max_submissions_per_day=0, closes_at=site.now + timedelta(hours=2), name="Test"
    )
    with time_machine.travel(site.now, tick=False):
        page = " ".join(member.get(own).content.decode().split())
    assert "No more can be made before Test closes." in page


def test_the_row_served_alone_is_the_row_of_the_page(site: Scenario, member: Client) -> None:
    sent = site.score(site.submit(), 0.5)
    row = member.get(reverse("web:submission-row", args=[sent.pk])).content.decode().strip()
    page = member.get(reverse("web:submissions", args=[site.competition.slug])).content.decode()
    assert row.startswith("<tr")
    assert row in page


def test_the_live_part_served_alone_is_part_of_the_page(site: Scenario, member: Client) -> None:
    sent = site.score(site.submit(), 0.5)
    part = member.get(reverse("web:submission-live", args=[sent.pk])).content.decode().strip()
    assert "<html" not in part
    assert part in member.get(reverse("web:submission", args=[sent.pk])).content.decode()


def test_scores_come_with_their_unit_and_the_one_that_counts_is_marked(site: Scenario, member: Client) -> None:
    worse, better = site.score(site.submit(), 0.9), site.score(site.submit(), 0.5)
    rows = {
        submission: member.get(reverse("web:submission-row", args=[submission.pk])).content.decode()
        for submission in (worse, better)
    }
    assert "0.9000 eV" in rows[worse]
    assert "counts now" not in rows[worse]
    assert "counts now" in rows[better]


def test_a_sealed_submission_does_not_say_that_it_counts(site: Scenario, member: Client) -> None:
    sent = site.score(site.submit(phase=site.sealed), 0.5)
    row = member.get(reverse("web:submission-row", args=[sent.pk])).content.decode()
    assert "sealed" in row
    assert "counts now" not in row


def test_the_list_can_be_narrowed(site: Scenario, member: Client) -> None:
    site.score(site.submit(), 0.5)
    site.answer(site.submit(), {"outcome": "failed", "reason": "time_limit"})
    site.submit()
    for show, count in (("all", 3), ("finished", 1), ("failed", 1), ("running", 1), ("nonsense", 3)):
        page = member.get(reverse("web:submissions", args=[site.competition.slug]), {"show": show}).content.decode()
        assert page.count('id="submission-') == count, show


def test_a_list_on_which_all_has_ended_shows_what_changed_since_it_was_drawn(site: Scenario, member: Client) -> None:
    ended = site.score(site.submit(), 0.5)
    url = reverse("web:submissions", args=[site.competition.slug])
    first, again = (member.get(url).content.decode() for _ in range(2))
    assert "counts now" in first
    assert "counts now" in again
    submission_disqualify(submission=ended, reason="Labels were used.", now=site.now)
    changed = member.get(url).content.decode()
    assert "Labels were used." in changed
    assert "counts now" not in changed


def test_an_invited_person_is_told_on_every_page_of_the_competition(site: Scenario) -> None:
    guest = person()
    register(user=guest, competition=site.competition, rules_version=1, now=site.now)
    client, message = user_client(guest), "You are invited to a team."
    pages = [
        reverse(f"web:{name}", args=[site.competition.slug]) for name in ("overview", "data", "rules", "leaderboard")
    ]
    assert all(message not in client.get(page).content.decode() for page in pages)
    invite(team=site.team, by=site.team.captain, person=guest.username, now=site.now)
    assert all(message in client.get(page).content.decode() for page in pages)


def test_the_overview_tells_organizers_alone_of_a_hidden_board(site: Scenario, member: Client) -> None:
    site.score(site.submit(), 0.5)
    url, message = reverse("web:overview", args=[site.competition.slug]), "1 row on the leaderboard"
    assert message in member.get(url).content.decode()
    site.phase.leaderboards.update(is_hidden=True)
    assert message not in member.get(url).content.decode()
    assert message in user_client(site.organizer).get(url).content.decode()


def test_a_members_pages_take_the_same_few_queries_with_many_rows(
    site: Scenario, member: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    site.phase.max_submissions_per_day = None
    site.phase.save()
    for number in range(4):
        site.score(site.submit(), 0.5 + number)
    for number in range(10):
        site.submit(phase=site.sealed if number % 5 == 0 else site.phase)
    for _ in range(6):
        site.join()
    for name in ("overview", "leaderboard", "submissions"):
        url: Any = reverse(f"web:{name}", args=[site.competition.slug])
        with django_assert_max_num_queries(MAX_QUERIES):
            assert member.get(url).status_code == 200


def test_the_checklist_gathers_every_warning_under_its_step(site: Scenario) -> None:
    codes = ["no_rules", "no_task", "no_board", "queue_paused", "not_published", "never_heard_of"]
    steps = checklist(site.competition, [ReadinessWarning(code, "where", code) for code in codes])
    todo = {step.title: [warning.code for warning in step.todo] for step in steps if not step.is_done}
    assert todo == {
        "Rules": ["no_rules"],
        "Tasks and data": ["no_task"],
        "Leaderboards": ["no_board"],
        "Compute workers": ["queue_paused"],
        "Published": ["not_published"],
        "Further": ["never_heard_of"],
    }
    assert [step.title for step in steps if step.is_done] == ["Phases", "Pages"]


def test_without_a_phase_what_belongs_to_phases_is_not_called_done(site: Scenario) -> None:
    steps = checklist(site.competition, [ReadinessWarning("no_phase", "Phases", "Add one.")])
    assert {step.title for step in steps if step.is_later} == {"Tasks and data", "Leaderboards"}


def test_each_team_sees_its_own_row_marked_and_no_other_on_a_board_that_is_drawn_once(site: Scenario) -> None:
    other = site.join("Other team")
    site.score(site.submit(), 0.5)
    site.score(site.submit(team=other), 0.25)
    url = f"{reverse('web:leaderboard', args=[site.competition.slug])}?phase={site.phase.slug}"
    for team in (site.team, other, site.team):
        page = user_client(site.member(team)).get(url).content.decode()
        rows = re.findall(
            r'<tr class="([^"]*)"[^>]*>\s*<td class="num">(\d)</td>\s*<th scope="row"><a[^>]*>([^<]*?)\s*<', page
        )
        rank = {site.team: "2", other: "1"}
        assert rows[0] == ("own pinned", rank[team], team.name)
        assert rows[1:] == [
            ("own" if ranked_team == team else "", rank[ranked_team], ranked_team.name)
            for ranked_team in (other, site.team)
        ]
    assert "own" not in Client().get(url).content.decode().split("<tbody>")[1].split("</tbody>")[0]
