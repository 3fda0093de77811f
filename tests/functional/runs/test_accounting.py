"""The cost of runs by month, and GPU hours that run out: nothing is lost by it."""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.urls import reverse

from competitions.compute.models import ClusterJob, Launcher
from competitions.notifications.models import Notification
from competitions.runs import dispatch
from competitions.runs.accounting.gpu_hours import allowances, give_gpu_hours, warn_of_gpu_hours
from competitions.runs.accounting.usage import Month, Use, cluster_use, slots_in, total_use, use_rows, waiting_times
from competitions.runs.leases.reports import run_complete, run_heartbeat, run_release
from competitions.runs.leases.retries import expire_leases
from competitions.runs.models import Run, SlotUse
from competitions.runs.queue.demand import queue_depths
from competitions.runs.queue.positions import queue_positions
from competitions.submissions.states import Kind, State
from competitions.web.progress import submission_progress
from core.refusals import Refusal
from podium.models import Submission as Answer
from podium.output import describe
from tests.answers import read_result
from tests.pages import page_words
from tests.permissions import user_client
from tests.scenario import Scenario, lease, person, scenario
from workers.protocol.plan import Needs

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
SCORED = read_result({"outcome": "finished", "scores": {"mae": 1.0}}, columns=["mae"])


@pytest.fixture
def gpu_site(site: Scenario) -> Scenario:
    """A competition for code on a GPU, which one slot of one worker runs."""
    site.phase.gpus, site.phase.max_submissions_per_day = 1, None
    site.phase.save()
    return site


def start(run: Run, at: datetime) -> Run:
    """Its first container starts."""
    return run_heartbeat(**lease(run), state=State.INGESTING, meters={}, now=at)


def run_for(site: Scenario, held: timedelta, *, at: datetime | None = None) -> Run:
    """A run with a GPU that is claimed an hour later, or then, and starts a minute after that."""
    claimed = at or site.now + HOUR
    site.submit(kind=Kind.CODE)
    run = site.claim(site.worker(gpus=1), free_gpus=1, at=claimed)
    start(run, claimed + MINUTE)
    run_complete(**lease(run), result=SCORED, now=claimed + MINUTE + held)
    return run


def claim_again(site: Scenario, at: datetime) -> Run | None:
    return dispatch.run_claim(worker=site.worker(gpus=1), free_gpus=1, now=at)


def test_a_run_costs_the_time_from_its_first_container_to_its_end(gpu_site: Scenario) -> None:
    site = gpu_site
    run_for(site, 3 * HOUR)
    now = site.now + 5 * HOUR
    site.submit(at=site.now)
    ahead = site.claim(at=now - HOUR)
    assert total_use(slots_in(Month.at(now), now=now)).runs == 1, "what is prepared costs nothing"
    start(ahead, now - HOUR / 2)
    month = slots_in(Month.at(now), now=now)
    assert total_use(month) == Use(runs=2, hours=3.5, gpu_hours=3.0)
    for field, name in (("competition", site.competition.title), ("phase", site.phase.name), ("team", site.team.name)):
        key = "title" if field == "competition" else "name"
        (row,) = use_rows(month, field, f"{field}__{key}")
        assert (row.name, row.use.gpu_hours, row.share) == (name, 3.0, 1.0)
    assert [percent for percent, _ in waiting_times(month)] == [50, 90, 99]
    assert waiting_times(month)[0][1] == pytest.approx((61 * 60 + 4.5 * 3600) / 2)
    stage = {
        "name": "scoring",
        "wall_s": 0.4,
        "cpu_s": 0.3,
        "memory_peak_bytes": 1,
        "output_bytes": 1,
        "image_digest": f"sha256:{'ab' * 32}",
        "exit_code": 0,
    }
    short = {"outcome": "finished", "scores": {"mae": 0.5}, "stages": [stage]}
    site.answer(site.submit(at=now), short, worker=site.worker())
    assert total_use(month).runs == 3, "one that was too short for a heartbeat has run, too"


def test_who_hands_a_run_back_unstarted_pays_nothing(site: Scenario) -> None:
    site.submit()
    run = site.claim()
    run_release(**lease(run), note="", now=site.now + HOUR)
    assert not SlotUse.objects.exists()
    again = start(site.claim(at=site.now + 2 * HOUR), site.now + 3 * HOUR)
    assert SlotUse.objects.get(run=again).waits_since == site.now


def test_every_slot_counts_in_the_month_of_its_end(gpu_site: Scenario) -> None:
    month = Month.at(gpu_site.now)
    run_for(gpu_site, 2 * HOUR, at=month.ends_at - HOUR)
    later = month.ends_at + 3 * HOUR
    assert total_use(slots_in(month, now=later)) == Use()
    assert total_use(slots_in(month.after, now=later)).gpu_hours == 2.0


def test_a_lost_worker_costs_its_slot_and_the_next_wait_begins_there(site: Scenario) -> None:
    site.submit()
    lost = start(site.claim(), site.now)
    assert lost.lease_expires_at is not None
    expired = lost.lease_expires_at + MINUTE
    assert expire_leases(now=expired) == 1
    again = expired + 2 * HOUR
    start(site.claim(at=again), again + MINUTE)
    first, second = SlotUse.objects.filter(run=lost)
    assert (first.ended_at, second.waits_since, second.started_at) == (expired, expired, again + MINUTE)


def test_months_are_read_and_refused() -> None:
    assert Month.parse("2026-12").after == Month(2027, 1)
    assert Month.at(datetime(2027, 1, 1, tzinfo=UTC)).before == Month.parse("2026-12")
    for text in ("2026-13", "2026-1", "11", "0000-01", "9999-12", "2026-11-01", "2026-11 "):
        with pytest.raises(Refusal, match="2026-11"):
            Month.parse(text)


def test_runs_wait_once_the_gpu_hours_are_used_up(gpu_site: Scenario) -> None:
    site, other = gpu_site, scenario()
    site.queue.gpu_hours_per_competition = 2
    site.queue.save()
    other.competition.queue = site.queue
    other.competition.save()
    other.phase.gpus = 1
    other.phase.save()
    run_for(site, 2 * HOUR)
    now = site.now + 4 * HOUR
    waiting = site.submit(kind=Kind.CODE, at=now)
    run = Run.objects.select_related("queue").get(submission=waiting)
    assert claim_again(site, now) is None
    assert [depth.waiting for depth in queue_depths([site.queue], now=now)] == [0]
    position = queue_positions([run], now=now)[run.pk]
    assert (position.place, position.goes_on_at) == (None, Month.at(now).ends_at)
    words = submission_progress(waiting, {run.pk: position}, now=now)
    assert "used up its GPU hours" in words.sentence
    assert words.position is None
    with time_machine.travel(now, tick=False):
        answer = user_client(site.member()).get(reverse("api:submission", args=[waiting.pk])).json()
    assert "waits for GPU hours of the competition, which are available on 2030-06-01" in describe(Answer(**answer))

    predicted = site.submit(at=now)
    assert site.claim(at=now).submission_id == predicted.pk  # needs no GPU
    Run.objects.filter(pk=run.pk).update(needs=Needs.SCORING)
    assert queue_depths([site.queue], now=now)[0].waiting == 1  # its program has run: it is scored
    Run.objects.filter(pk=run.pk).update(needs=Needs.TOGETHER)
    others = other.submit(kind=Kind.CODE, at=now)
    of_others = Run.objects.select_related("queue").get(submission=others)
    assert queue_positions([of_others], now=now)[of_others.pk].place == 1, "what is held up is not before it"
    taken = claim_again(site, now)
    assert taken == of_others

    next_month = claim_again(site, Month.at(now).ends_at)
    assert next_month is not None
    assert next_month.submission_id == waiting.pk


def test_more_hours_for_one_competition_let_it_go_on(gpu_site: Scenario) -> None:
    site = gpu_site
    run_for(site, 2 * HOUR)
    give_gpu_hours(site.queue, site.competition, 0)
    now = site.now + 4 * HOUR
    waiting = site.submit(kind=Kind.CODE, at=now)
    assert claim_again(site, now) is None
    give_gpu_hours(site.queue, site.competition, 3)
    run = claim_again(site, now)
    assert run is not None
    assert run.submission_id == waiting.pk
    start(run, now)
    assert allowances(site.queue, now=now + HOUR)[site.competition.pk].is_spent, "what runs counts as far as it came"
    run_complete(**lease(run), result=SCORED, now=now + 2 * HOUR)  # it went on to its end
    waiting.refresh_from_db()
    assert waiting.status == State.FINISHED


def test_organizers_are_told_before_and_when_hours_run_out(gpu_site: Scenario) -> None:
    site = gpu_site
    give_gpu_hours(site.queue, site.competition, 10)
    run_for(site, 8 * HOUR)
    now = site.now + 9 * HOUR
    assert (warn_of_gpu_hours(now=now), warn_of_gpu_hours(now=now)) == (1, 0)
    run_for(site, 2 * HOUR, at=now + HOUR)
    now += 3 * HOUR
    assert (warn_of_gpu_hours(now=now), warn_of_gpu_hours(now=now)) == (1, 0)
    give_gpu_hours(site.queue, site.competition, 12)
    assert warn_of_gpu_hours(now=now) == 1, "more hours are warned of anew"
    notices = Notification.objects.filter(kind="gpu_hours").order_by("pk")
    assert {notice.user_id for notice in notices} == {site.organizer.pk}
    assert "has used 8 of its 10 GPU hours" in notices[0].subject
    assert "has used up its 10 GPU hours" in notices[1].subject
    assert "Nothing is lost" in notices[1].text


def test_nodes_of_clusters_are_counted_with_their_idle_time(gpu_site: Scenario) -> None:
    site = gpu_site
    launcher = Launcher.objects.create(name="lab")
    worker = site.worker(gpus=1)
    worker.job = "17"
    worker.save()
    site.submit(kind=Kind.CODE)
    run = start(site.claim(worker, free_gpus=1, at=site.now), site.now)
    run_complete(**lease(run), result=SCORED, now=site.now + HOUR)
    shared = {"launcher": launcher, "queue": site.queue, "gpus": 1, "submitted_at": site.now, "reported_at": site.now}
    ended = {"state": "ended", "started_at": site.now, "ended_at": site.now + 2 * HOUR}
    ClusterJob.objects.create(**shared, **ended, job="17", end_reason="completed")
    ClusterJob.objects.create(**shared, **ended, job="18", end_reason="preempted")
    ClusterJob.objects.create(**shared, state="pending", job="19")
    use = cluster_use(site.queue, Month.at(site.now), now=site.now + 3 * HOUR)
    assert use is not None
    assert (use.nodes, use.node_hours, use.gpu_hours, use.idle_percent) == (2, 4.0, 4.0, 75)
    assert dict(use.ends) == {"by itself": 1, "preempted by another job": 1}


def test_the_pages_show_what_compute_cost(gpu_site: Scenario) -> None:
    site = gpu_site
    site.team.name = "=cmd|' /C calc'!A0"
    site.team.save()
    run_for(site, 3 * HOUR)
    admin, host = user_client(person(is_superuser=True, is_staff=True)), user_client(site.organizer)
    queue_url = reverse("organize:queue", args=[site.queue.name])
    hours_url = reverse("organize:queue-gpu-hours", args=[site.queue.name])
    with time_machine.travel(site.now + 5 * HOUR, tick=False):
        assert admin.post(hours_url, {"competition": site.competition.slug, "hours": "-1"}).status_code == 422
        assert admin.post(hours_url, {"competition": "another", "hours": "3"}).status_code == 404
        assert admin.post(hours_url, {"competition": site.competition.slug, "hours": "3"}).status_code == 302
        assert host.post(hours_url, {"competition": site.competition.slug, "hours": "9"}).status_code == 404
        words = page_words(admin.get(queue_url))
        assert f"{site.competition.title} used up 3.00 3.00 1" in words
        assert f"{site.team.name} · {site.competition.title} 3.00" in words, "teams of several competitions share names"
        own = page_words(host.get(reverse("organize:usage", args=[site.competition.slug])))
        assert f"{site.team.name} 3.00" in own
        assert "3.0 of 3 GPU hours are used. Runs with a GPU wait until" in own
        assert "3 GPU hours for this month are used up" in page_words(
            host.get(reverse("organize:overview", args=[site.competition.slug]))
        )
        before = Month.at(site.now).before
        assert "No run has been on a worker" in page_words(admin.get(queue_url, {"month": str(before)}))
        assert admin.get(queue_url, {"month": "soon"}).status_code == 400
        after, own_url = Month.at(site.now).after, reverse("organize:usage", args=[site.competition.slug])
        for url, client in ((queue_url, admin), (own_url, host)):
            for month, offers_later in ((before, True), (after.before, False), (after, False)):
                links = re.findall(
                    r"\?month=([0-9-]+)#compute", client.get(url, {"month": str(month)}).content.decode()
                )
                assert links == [str(month.before), *([str(month.after)] if offers_later else [])]
        for url, client in (
            (reverse("organize:queue-usage-csv", args=[site.queue.name]), admin),
            (reverse("organize:usage-csv", args=[site.competition.slug]), host),
        ):
            text = b"".join(client.get(url).streaming_content).decode()  # type: ignore[attr-defined]
            (row,) = csv.DictReader(StringIO(text))
            assert (row["team"], row["gpu_hours"]) == (f"'{site.team.name}", "3.0000")
        assert admin.post(hours_url, {"competition": site.competition.slug, "hours": ""}).status_code == 302
        assert not allowances(site.queue, now=site.now)


def test_the_command_prints_the_use(gpu_site: Scenario) -> None:
    run_for(gpu_site, 3 * HOUR)
    month = str(Month.at(gpu_site.now))
    printed = StringIO()
    call_command("usage", csv=True, month=month, queue=gpu_site.queue.name, stdout=printed)
    (row,) = csv.DictReader(StringIO(printed.getvalue()))
    assert (row["month"], row["competition"], row["runs"]) == (month, gpu_site.competition.slug, "1")
    summary = StringIO()
    call_command("usage", month=month, stdout=summary)
    assert "3.00 GPU h" in summary.getvalue()
    for wrong in ({"month": "soon"}, {"queue": "no-such-queue"}):
        with pytest.raises(CommandError):
            call_command("usage", **wrong)
