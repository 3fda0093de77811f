"""The organizer's overview: days are counted by the reconciler, and the page says what to do."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
import time_machine
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Profile
from accounts.people.profiles import profile_report
from audit.models import AuditEntry
from competitions.catalog.models import CompetitionOrganizer, Phase
from competitions.compute.models import ClusterJob, ComputeWorker, Launcher, Queue
from competitions.discussions.models import Post, Topic
from competitions.discussions.moderation import post_report
from competitions.organize.models import CompetitionDay, HostRequest
from competitions.organize.workspace.days import count_days, days_recount
from competitions.runs.leases import reports
from competitions.runs.models import Run
from competitions.runs.services import Cost, bulk_cost
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind, Reason, State
from competitions.teams.models import Registration
from tests.permissions import user_client
from tests.scenario import Scenario, lease, person, scenario


def test_each_page_of_the_rail_has_a_word_and_an_icon_of_its_own(site: Scenario, organizer: Client) -> None:
    text = organizer.get(reverse("organize:overview", args=[site.competition.slug])).content.decode()
    rail = text.split('aria-label="Organize"')[1].split("</nav>")[0]
    links = re.findall(r'<svg class="icon" aria-hidden="true"><use href="[^"#]+#([\w-]+)"/></svg> (\w+)</a>', rail)
    assert len(links) == rail.count("<li>") == 17
    sprite = (settings.BASE_DIR / "platform/static/podium/icons.svg").read_text()
    assert all(f'<symbol id="{icon}"' in sprite for icon, _ in links)
    for names in zip(*links, strict=True):
        assert len(set(names)) == len(links)


def test_days_are_counted_anew_and_not_added_to(site: Scenario) -> None:
    site.score(site.submit(), 0.5)
    site.answer(site.submit(), {"outcome": "failed", "reason": "scoring_error", "code": "x", "detail": "y"})
    assert count_days(now=site.now) == 1
    site.submit()
    count_days(now=site.now)
    count_days(now=site.now)
    day = CompetitionDay.objects.get()
    assert (day.day, day.submitted, day.scored, day.failures) == (site.now.date(), 3, 1, {"scoring_error": 1})


def test_days_long_past_stay_as_they_were_counted(site: Scenario) -> None:
    site.submit(at=site.now - timedelta(days=9))
    count_days(now=site.now - timedelta(days=9))
    site.submit()
    Submission.objects.filter(created_at__lt=site.now).update(created_at=site.now - timedelta(days=8))
    assert count_days(now=site.now) == 1
    assert sorted(CompetitionDay.objects.values_list("submitted", flat=True)) == [1, 1]


def test_what_comes_as_of_earlier_days_is_seen_when_they_are_counted_anew(site: Scenario) -> None:
    site.submit()
    other = scenario()
    other.submit()
    count_days(now=site.now)
    site.score(site.submit(at=site.now - timedelta(days=9)), 0.5)
    count_days(now=site.now)
    days = CompetitionDay.objects.filter(competition=site.competition).order_by("day")
    assert [day.submitted for day in days] == [1]
    days_recount(site.competition, now=site.now)
    assert [(day.submitted, day.scored) for day in days.all()] == [(1, 1), (1, 0)]
    assert CompetitionDay.objects.get(competition=other.competition).submitted == 1


def test_a_day_is_counted_whole_though_later_numbers_are_of_earlier_days(site: Scenario) -> None:
    site.submit()
    count_days(now=site.now)
    scenario().submit(at=site.now - timedelta(days=9))
    site.submit()
    count_days(now=site.now)
    assert CompetitionDay.objects.get(competition=site.competition).submitted == 2


def test_waiting_ends_when_the_first_program_starts(site: Scenario) -> None:
    site.submit(kind=Kind.CODE)
    run = site.claim()
    for state, seconds in ((State.INGESTING, 10), (State.SCORING, 100)):
        reports.run_heartbeat(**lease(run), state=state, meters={}, now=site.now + timedelta(seconds=seconds))
    count_days(now=site.now)
    day = CompetitionDay.objects.get()
    assert (day.runs, day.waited_s) == (1, 10)


@pytest.fixture
def organizer(site: Scenario) -> Client:
    return user_client(site.organizer)


def shown(site: Scenario, client: Client) -> str:
    return client.get(f"/host/competitions/{site.competition.slug}/").content.decode()


def report_post(site: Scenario) -> None:
    """A post of a member that somebody has reported."""
    topic = Topic.objects.create(
        competition=site.competition, author=site.member(), title="Ads", created_at=site.now, last_post_at=site.now
    )
    post = Post.objects.create(topic=topic, author=site.member(), body="Buy this", created_at=site.now)
    post_report(post=post, by=site.organizer, text="An advertisement", now=site.now)


def test_the_overview_shows_numbers_charts_and_what_waits_for_somebody(site: Scenario, organizer: Client) -> None:
    assert "No submissions in four weeks" in shown(site, organizer)
    site.score(site.submit(), 0.5)
    site.answer(site.submit(), {"outcome": "failed", "reason": "scoring_error", "code": "x", "detail": "y"})
    Registration.objects.filter(user=site.member()).update(state=Registration.State.PENDING)
    report_post(site)
    count_days(now=site.now)
    text = shown(site, organizer)
    for words in (
        "1 submission of this week failed",
        "1 person waits",
        "1 post in the discussion waits for your decision.",
        "Submissions a day",
        "Failures by reason",
        "MAE over time",
    ):
        assert words in text, words


def test_charts_of_submissions_count_in_whole_numbers(site: Scenario, organizer: Client) -> None:
    site.answer(site.submit(), {"outcome": "failed", "reason": "scoring_error", "code": "x", "detail": "y"})
    count_days(now=site.now)
    page = shown(site, organizer)
    axes = re.findall(r'"y": \{"title": "([^"]*)", "scale": "([^"]*)"', page)
    assert axes[:2] == [("Submissions", "count"), ("Submissions", "count")]


def test_the_queue_is_named_with_its_workers_and_how_long_a_run_waits(site: Scenario, organizer: Client) -> None:
    assert "No worker takes runs at this moment" in shown(site, organizer)
    for _ in range(3):
        site.score(site.submit(), 0.5)
    site.submit()
    with time_machine.travel(site.now, tick=False):
        text = shown(site, organizer)
    for words in (
        f"The queue “{site.queue.name}”",
        "1 waiting, 0 running, from all competitions that use it.",
        ">online</span>",
        "1 slot,",
    ):
        assert words in text, words


def test_a_queue_whose_workers_have_fallen_silent_needs_attention(site: Scenario, organizer: Client) -> None:
    for _ in range(3):
        site.score(site.submit(), 0.5)
    site.submit()
    Queue.objects.update(contact="the lab")
    silent = "No worker is responding (last seen <time"
    with time_machine.travel(site.now + timedelta(seconds=59), tick=False):
        text = shown(site, organizer)
    assert (silent in text, "New submissions start" in text) == (False, True)
    assert "Nothing needs your attention." in text
    for after_s in (61, 85):
        with time_machine.travel(site.now + timedelta(seconds=after_s), tick=False):
            text = shown(site, organizer)
        assert silent in text
        assert "1 run is waiting." in text
        assert "New submissions start" not in text, "nobody knows when a worker comes back"
    site.worker()
    ComputeWorker.objects.update(drained_at=site.now)
    with time_machine.travel(site.now, tick=False):
        text = shown(site, organizer)
        assert "All workers are silent, drained or in quarantine. 1 run is waiting." in text
        assert "write to the lab" in text
        text = shown(site, user_client(person(is_staff=True, is_superuser=True)))
        assert ("write to the lab" in text, "Start a worker</a>" in text) == (False, True), (
            "administrators run the workers"
        )


def test_administrators_are_told_first_of_what_waits_for_them(site: Scenario) -> None:
    administrator = user_client(person(is_staff=True, is_superuser=True))
    with time_machine.travel(site.now, tick=False):
        assert "Needs attention" not in administrator.get("/admin/").content.decode()
    site.worker("node-7")
    site.submit()
    Queue.objects.create(name="aside")
    report_post(site)
    HostRequest.objects.create(user=site.member(), purpose="A contest", created_at=site.now)
    profile = Profile.objects.create(user=site.member(), is_public=True)
    profile_report(profile=profile, by=site.organizer, text="Ads", now=site.now)
    with time_machine.travel(site.now + timedelta(minutes=2), tick=False):
        page = " ".join(administrator.get("/admin/").content.decode().split())
        queue = " ".join(administrator.get(reverse("organize:queue", args=[site.queue.name])).content.decode().split())
        queues = administrator.get(reverse("organize:queues")).content.decode()
    for words in (
        f"1 run waits on the queue “{site.queue}”, and no worker is responding; the oldest since",
        "1 person asks to host competitions.",
        "1 reported post waits for a decision.",
        "1 report of profiles waits for a decision.",
    ):
        assert words in page, words
    assert "Degraded: workers" not in page, "said once"
    assert "No worker is responding; 1 run has waited since" in queue
    assert "The last one, <strong>node-7</strong>, was seen" in queue
    assert [name for name in re.findall(r"/host/queues/([\w-]+)/", queues) if name in ("aside", site.queue.name)] == [
        site.queue.name,
        "aside",
    ]
    assert 'value="drain"' not in queue, "what is silent is not to be drained, but started"
    assert "state__exact=queued" in queue
    ComputeWorker.objects.update(quarantined_at=site.now)
    Queue.objects.update(is_paused=True)
    held = site.submit()
    failed = {"state": State.FAILED, "reason": Reason.INFRASTRUCTURE, "finished_at": site.now}
    held.runs.update(**failed)
    Submission.objects.filter(pk=held.pk).update(
        status=State.FAILED, reason=Reason.INFRASTRUCTURE, finished_at=site.now
    )
    with time_machine.travel(site.now + timedelta(minutes=2), tick=False):
        page = " ".join(administrator.get("/admin/").content.decode().split())
        for words, place, listed in (
            (f"1 run waits on the queue “{site.queue}”, which is paused; the oldest since", "", ""),
            ("1 worker is in quarantine.", "compute/computeworker/?state=quarantined", "in quarantine for"),
            ("1 submission of the last four weeks failed", "runs/run/?held=platform", f"/submissions/{held.pk}/"),
        ):
            assert words in page
            assert place in page
            assert listed in administrator.get(f"/admin/{place}").content.decode()


def test_a_node_that_is_on_its_way_keeps_the_queue_from_the_list(site: Scenario, organizer: Client) -> None:
    site.worker()
    later = site.now + timedelta(minutes=5)
    launcher = Launcher.objects.create(name="cluster", last_seen_at=later)
    launcher.queues.add(site.queue)
    with time_machine.travel(later, tick=False):
        assert "No worker is responding" not in shown(site, organizer), "nothing waits"
        site.submit()
        assert "No worker is responding" in shown(site, organizer)
        ClusterJob.objects.create(
            launcher=launcher,
            queue=site.queue,
            job="1",
            state=ClusterJob.State.PENDING,
            submitted_at=later,
            reported_at=later,
        )
        assert "No worker is responding" not in shown(site, organizer)


def test_a_competition_with_closed_phases_alone_says_so(site: Scenario, organizer: Client) -> None:
    closed = "All phases are closed, so teams cannot submit."
    assert closed not in shown(site, organizer)
    site.competition.phases.update(closes_at=site.now)
    with time_machine.travel(site.now, tick=False):
        assert closed in shown(site, organizer)
        Phase.objects.filter(pk=site.phase.pk).update(accepts_late=True)
        assert closed not in shown(site, organizer)


def test_an_organizer_without_the_admin_is_not_led_there(site: Scenario) -> None:
    host = person()
    CompetitionOrganizer.objects.create(competition=site.competition, user=host)
    assert "/admin/" not in shown(site, user_client(host))


def test_sealed_scores_are_in_no_chart(site: Scenario, organizer: Client) -> None:
    site.phases["test-dev"].delete()
    site.score(site.submit(phase=site.sealed), 0.123456)
    count_days(now=site.now)
    assert "0.1235" not in shown(site, organizer)


def test_the_overview_costs_the_same_for_few_and_many(site: Scenario, organizer: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            shown(site, organizer)
        return len(captured)

    site.submit()
    count_days(now=site.now)
    few = queries()
    for number in range(4):
        site.submit(team=site.join(f"Team of {number}"))
    count_days(now=site.now)
    assert queries() <= few


def posted(site: Scenario, client: Client, *chosen: Submission, **values: str) -> str:
    url = f"/host/competitions/{site.competition.slug}/submissions/"
    answered = client.post(
        url,
        {"chosen": [submission.pk for submission in chosen]} | values,
        follow=True,
        headers={"Referer": f"http://testserver{url}"},
    )
    return answered.content.decode()


def listed(site: Scenario, client: Client, **query: str | int) -> list[int]:
    text = client.get(f"/host/competitions/{site.competition.slug}/submissions/", query).content.decode()
    return [int(pk) for pk in re.findall(r'name="chosen" value="(\d+)"', text)]


def test_the_list_is_narrowed_by_its_address(site: Scenario, organizer: Client) -> None:
    scored, sealed = site.score(site.submit(), 0.5), site.submit(phase=site.sealed)
    other = site.submit(team=site.join("The Others"))
    assert listed(site, organizer) == [other.pk, sealed.pk, scored.pk]
    assert listed(site, organizer, state="finished") == [scored.pk]
    assert listed(site, organizer, phase=site.sealed.pk) == [sealed.pk]
    assert listed(site, organizer, team="others") == [other.pk]
    assert listed(site, organizer, team=scored.file_name.upper()) == [other.pk, scored.pk]
    Submission.objects.filter(pk=sealed.pk).update(is_charged=False)
    assert listed(site, organizer, standing="free") == [sealed.pk]
    assert listed(site, organizer, before=sealed.pk) == [scored.pk]
    assert listed(site, organizer, state="nonsense", phase="x", before="-1") == [other.pk, sealed.pk, scored.pk]


def test_the_list_shows_scores_but_no_sealed_ones(site: Scenario, organizer: Client) -> None:
    site.score(site.submit(), 0.25)
    site.score(site.submit(phase=site.sealed), 0.123456)
    text = organizer.get(f"/host/competitions/{site.competition.slug}/submissions/").content.decode()
    assert ("0.2500" in text, "0.1235" in text) == (True, False)


def test_what_costs_compute_is_shown_with_its_cost_first(site: Scenario, organizer: Client) -> None:
    scored = site.score(site.submit(), 0.5)
    Run.objects.update(meters={"wall_s": 12.5}, gpus=1)
    cost = Cost(1, 1, 0, 0, 1, used_s=12.5, at_most_s=site.phase.scoring_time_limit_s, gpu_runs=1)
    assert bulk_cost(Submission.objects.all()) == cost
    assert "This concerns 1 submission with 1 run" in posted(site, organizer, scored, action="rerun")
    scored.refresh_from_db()
    assert scored.status == "finished"
    assert "1 of 1 queued again" in posted(site, organizer, scored, action="rerun", confirmed="yes")
    scored.refresh_from_db()
    assert scored.status == "queued"
    posted(site, organizer, scored, action="cancel", confirmed="yes")
    scored.refresh_from_db()
    assert scored.status == "cancelled"


def test_what_waits_moves_to_another_queue_and_what_runs_stays(site: Scenario, organizer: Client) -> None:
    other = Queue.objects.create(name="my-gpus", owner=site.organizer)
    foreign = Queue.objects.create(name="foreign", owner=person())
    sent = [site.submit(), site.submit()]
    running = site.claim()
    form_page = posted(site, organizer, *sent, action="move")
    assert ("my-gpus" in form_page, site.queue.name in form_page, foreign.name in form_page) == (True, True, False)
    posted(site, organizer, *sent, action="move", confirmed="yes", queue=foreign.name)
    assert "Choose one of the queues" in posted(site, organizer, *sent, action="move", confirmed="yes")
    assert set(Run.objects.values_list("queue", flat=True)) == {site.queue.pk}
    assert "1 of 2 moved" in posted(site, organizer, *sent, action="move", confirmed="yes", queue=other.name)
    moved = Run.objects.exclude(pk=running.pk).get()
    assert (moved.queue, Run.objects.get(pk=running.pk).queue) == (other, site.queue)
    assert moved.events.latest("pk").note == "moved to the queue my-gpus"


def test_an_organizer_sees_where_a_run_went_and_its_team_does_not(site: Scenario, organizer: Client) -> None:
    submission = site.score(site.submit(), 0.5)
    worker = submission.runs.get().worker
    assert worker is not None
    url = reverse("web:submission", args=[submission.pk])
    words = f"queue {site.queue.name}, worker {worker.name}"
    pages = [client.get(url).content.decode() for client in (organizer, user_client(site.member()))]
    assert [words in page for page in pages] == [True, False]


def test_a_disqualification_needs_a_reason_and_can_be_undone(site: Scenario, organizer: Client) -> None:
    scored = site.score(site.submit(), 0.5)
    assert "Give the reason" in posted(site, organizer, scored, action="disqualify")
    assert "1 of 1 disqualified" in posted(site, organizer, scored, action="disqualify", reason="Two accounts")
    scored.refresh_from_db()
    assert scored.disqualified_reason == "Two accounts"
    assert "Give the reason" in posted(site, organizer, scored, action="reinstate")
    posted(site, organizer, scored, action="reinstate", reason="They are two people")
    scored.refresh_from_db()
    assert (scored.disqualified_at, scored.disqualified_reason) == (None, "")
    page = user_client(site.member()).get(reverse("web:submission", args=[scored.pk])).content.decode()
    assert "Counts again after a disqualification: They are two people" in page


@pytest.mark.parametrize("number", ["9" * 40, "\u0667", "x", ""])
def test_what_is_no_number_of_a_submission_chooses_none(site: Scenario, organizer: Client, number: str) -> None:
    url = f"/host/competitions/{site.competition.slug}/submissions/"
    chosen = {"submission": number, "action": "cancel"}
    answer = organizer.post(url, chosen, follow=True, headers={"Referer": f"http://testserver{url}"})
    assert answer.status_code < 500
    assert "No submission was chosen" in answer.content.decode()


def test_the_list_says_the_first_words_of_a_failure(site: Scenario, organizer: Client) -> None:
    failed = site.submit()
    Submission.objects.filter(pk=failed.pk).update(status="failed", reason="program_error")
    failed.runs.update(state="failed", reason="program_error", detail="No module named 'rdkit'. " + "More. " * 50)
    text = organizer.get(f"/host/competitions/{site.competition.slug}/submissions/").content.decode()
    assert "the program failed: No module named &#x27;rdkit&#x27;. More." in text
    assert "More. " * 30 not in text


def test_a_filter_that_is_not_right_is_said(site: Scenario, organizer: Client) -> None:
    page = organizer.get(f"/host/competitions/{site.competition.slug}/submissions/" + "?state=bogus")
    assert "bogus is not one of the available choices" in page.content.decode()


def test_nothing_of_another_competition_is_touched(site: Scenario) -> None:
    scored, elsewhere = site.score(site.submit(), 0.5), scenario()
    assert "No submission was chosen" in posted(
        elsewhere, user_client(elsewhere.organizer), scored, action="disqualify", reason="Mine"
    )
    scored.refresh_from_db()
    assert scored.disqualified_at is None


def test_what_an_organizer_without_the_admin_does_is_in_the_audit_log(site: Scenario) -> None:
    host = person()
    CompetitionOrganizer.objects.create(competition=site.competition, user=host)
    posted(site, user_client(host), site.score(site.submit(), 0.5), action="disqualify", reason="Two accounts")
    entry = AuditEntry.objects.get(actor=host)
    assert (entry.view, entry.action) == ("organize:submissions", "disqualify")
