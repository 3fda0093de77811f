"""An organizer's own pages: queues with tokens, files with versions, series."""

from __future__ import annotations

import io
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from competitions.catalog.models import Series
from competitions.compute.models import ComputeWorker, Queue, queue_by_token
from competitions.leaderboards.models import Entry
from competitions.resources.models import Resource
from competitions.runs.models import Run
from competitions.winners.models import Lane
from tests.admin_forms import form_fields
from tests.permissions import user_client
from tests.scenario import Scenario, scenario


@pytest.fixture
def organizer(site: Scenario) -> Client:
    return user_client(site.organizer)


def send(client: Client, url: str, **changed: Any) -> Any:
    """Open the form, change these fields, send it."""
    return client.post(url, form_fields(client.get(url)) | changed)


def zip_file(**files: str) -> io.BytesIO:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "."), text)
    packed.seek(0)
    packed.name = "program.zip"
    return packed


@pytest.fixture
def own_queue(site: Scenario) -> Queue:
    return Queue.objects.create(name="lab", owner=site.organizer)


def test_a_queue_is_made_and_its_token_is_shown_once(site: Scenario, organizer: Client) -> None:
    assert send(organizer, reverse("organize:queue-new"), name="lab").status_code == 302
    queue = Queue.objects.get(name="lab")
    assert queue.owner == site.organizer
    shown = organizer.post(reverse("organize:queue-token", args=["lab"]), {"action": "issue"})
    assert queue_by_token(shown.context["secret"]) == queue
    assert shown.context["secret"] in shown.content.decode()
    assert "no-store" in shown["Cache-Control"]
    assert shown.context["secret"] not in organizer.get(reverse("organize:queue", args=["lab"])).content.decode()


def test_a_token_is_replaced_or_ended_only_once_that_is_confirmed(organizer: Client, own_queue: Queue) -> None:
    url = reverse("organize:queue-token", args=["lab"])
    secret = organizer.post(url, {"action": "issue"}).context["secret"]
    confirm_page = organizer.post(url, {"action": "revoke"})
    assert "every worker of lab is refused" in confirm_page.content.decode()
    assert queue_by_token(secret) == own_queue
    assert organizer.post(url, form_fields(confirm_page) | {"action": "revoke", "confirmed": "yes"}).status_code == 302
    assert queue_by_token(secret) is None


def test_a_worker_is_drained_taken_back_and_released(organizer: Client, own_queue: Queue) -> None:
    now = timezone.now()
    worker = ComputeWorker.objects.create(
        queue=own_queue, name="box", registered_at=now, last_seen_at=now, quarantined_at=now, infrastructure_failures=3
    )
    url = reverse("organize:queue-worker", args=["lab", worker.key])
    assert "in quarantine" in organizer.get(reverse("organize:queue", args=["lab"])).content.decode()
    for action in ("drain", "release"):
        assert organizer.post(url, {"action": action}).status_code == 302
    worker.refresh_from_db()
    assert (worker.quarantined_at, worker.infrastructure_failures) == (None, 0)
    assert worker.drained_at is not None
    organizer.post(url, {"action": "undrain"})
    worker.refresh_from_db()
    assert worker.drained_at is None


def test_the_list_of_queues_counts_the_workers_that_respond(
    site: Scenario, organizer: Client, own_queue: Queue
) -> None:
    def listed() -> str:
        return " ".join(organizer.get(reverse("organize:queues")).content.decode().split())

    assert "no workers." in listed()
    worker = ComputeWorker.objects.create(
        queue=own_queue, name="box", registered_at=site.now, last_seen_at=site.now - timedelta(days=1)
    )
    assert "0 of 1 worker responding" in listed()
    fault = "no worker is responding</span>"
    assert fault not in listed(), "nothing waits"
    site.submit()
    Run.objects.update(queue=own_queue)
    assert fault in listed()
    ComputeWorker.objects.filter(pk=worker.pk).update(last_seen_at=timezone.now())
    assert "1 of 1 worker responding" in listed()
    assert fault not in listed()


def test_pausing_a_queue_says_whose_submissions_wait(site: Scenario, organizer: Client, own_queue: Queue) -> None:
    type(site.competition).objects.filter(pk=site.competition.pk).update(queue=own_queue)
    url = reverse("organize:queue-settings", args=["lab"])
    form = form_fields(organizer.get(url)) | {"is_paused": "on"}
    confirm_page = organizer.post(url, form)
    assert "1 published competition runs on it" in confirm_page.content.decode()
    assert not Queue.objects.get(pk=own_queue.pk).is_paused
    assert organizer.post(url, form | {"confirmed": confirm_page.context["form"].confirmation}).status_code == 302
    assert Queue.objects.get(pk=own_queue.pk).is_paused


def test_the_owner_of_a_queue_cannot_be_sent_along(site: Scenario, organizer: Client, own_queue: Queue) -> None:
    send(organizer, reverse("organize:queue-settings", args=["lab"]), owner=scenario().organizer.pk, contact="Lab")
    own_queue.refresh_from_db()
    assert (own_queue.owner, own_queue.contact) == (site.organizer, "Lab")


def test_a_program_is_kept_and_what_no_worker_could_unpack_is_not(organizer: Client) -> None:
    url = reverse("organize:own-file-new")
    refused = organizer.post(url, {"kind": "scoring_program", "file": io.BytesIO(b"no zip")})
    assert refused.status_code == 422
    answer = organizer.post(
        url, {"kind": "scoring_program", "file": zip_file(metadata__yaml="command: python score.py")}
    )
    resource = Resource.objects.get(file_name="program.zip")
    assert answer["Location"] == reverse("organize:own-file", args=[resource.key])
    assert (resource.kind, resource.name) == ("scoring_program", "program.zip")
    downloaded = b"".join(organizer.get(reverse("organize:own-file-download", args=[resource.key])))
    assert zipfile.ZipFile(io.BytesIO(downloaded)).namelist() == ["metadata.yaml"]


def test_a_new_version_takes_the_place_in_own_competitions_alone(site: Scenario, organizer: Client) -> None:
    task, elsewhere = site.phase.tasks.get(), scenario()
    resource = task.scoring_program
    other = elsewhere.phase.tasks.get()
    type(other).objects.filter(pk=other.pk).update(scoring_program=resource)
    url = reverse("organize:own-file", args=[resource.key])
    sent = organizer.post(url, {"file": zip_file(metadata__yaml="command: python new.py")}, follow=True)
    assert "A task or phase of competitions that you do not organize kept" in sent.content.decode()
    task.refresh_from_db()
    other.refresh_from_db()
    assert task.scoring_program.replaces == resource
    assert other.scoring_program == resource


def test_a_file_in_use_is_not_deleted(site: Scenario, organizer: Client) -> None:
    resource = site.phase.tasks.get().scoring_program
    url = reverse("organize:own-file-delete", args=[resource.key])
    assert "1 task or phase uses it" in organizer.get(url).content.decode()
    assert organizer.post(url, {"confirmed": "x"}).status_code == 409
    organizer.post(reverse("organize:own-file-new"), {"kind": "public_data", "file": io.BytesIO(b"a,b")})
    spare = Resource.objects.get(kind="public_data")
    url = reverse("organize:own-file-delete", args=[spare.key])
    assert organizer.post(url, form_fields(organizer.get(url))).status_code == 302
    assert not Resource.objects.filter(pk=spare.pk).exists()


def test_a_file_is_opened_to_every_organizer_only_once_that_is_confirmed(site: Scenario, organizer: Client) -> None:
    resource = site.phase.tasks.get().scoring_program
    url = reverse("organize:own-file", args=[resource.key])
    form = form_fields(organizer.get(url)) | {"is_public": "on"}
    confirm_page = organizer.post(url, form)
    assert "Every organizer of this site can use it" in confirm_page.content.decode()
    resource.refresh_from_db()
    assert not resource.is_public
    organizer.post(url, form | {"confirmed": confirm_page.context["form"].confirmation})
    resource.refresh_from_db()
    assert resource.is_public


def test_a_series_gets_an_address_of_its_title_and_keeps_its_tracks_when_it_goes(
    site: Scenario, organizer: Client
) -> None:
    assert send(organizer, reverse("organize:series-new"), title="Molecules 2027").status_code == 302
    series = Series.objects.get()
    assert (series.slug, series.owner) == ("molecules-2027", site.organizer)
    site.competition.series = series
    site.competition.save()
    url = reverse("organize:series-delete", args=[series.slug])
    confirm_page = organizer.get(url)
    assert "1 competition stays" in confirm_page.content.decode()
    assert organizer.post(url, form_fields(confirm_page)).status_code == 302
    site.competition.refresh_from_db()
    assert site.competition.series is None


def test_the_winners_lane_of_a_board_is_made_and_changed(site: Scenario, organizer: Client) -> None:
    url = reverse("organize:winners", args=[site.competition.slug, site.phase.leaderboard.pk])
    assert send(organizer, url, top="5", days="21").status_code == 302
    lane = Lane.objects.get()
    assert (lane.leaderboard, lane.top, lane.days) == (site.phase.leaderboard, 5, 21)
    refused = send(organizer, url, tolerance="0.1")
    assert refused.status_code == 422
    assert "Say how the tolerance was found" in refused.content.decode()
    assert Entry.objects.count() == 0
