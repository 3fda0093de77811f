"""Askers of background work take turns over all kinds of it; long work has a queue of its own."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
import zstandard
from django.apps import apps
from django.db import connection
from django.db.models import Index
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from competitions.bundles.exports import export_begin
from competitions.bundles.models import BundleExport
from competitions.catalog.models import Phase
from competitions.environments.checks import refused
from competitions.environments.models import EnvironmentFile
from competitions.environments.services import environment_file_add, environment_file_remove
from competitions.resources.models import Upload
from competitions.resources.uploads import upload_append, upload_begin
from competitions.runs import checks
from competitions.submissions.models import FileCheck
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import Kind
from competitions.teams.models import Team
from core.background import jobs
from core.background.allowance import TooManyRefusedFiles, require_allowance
from core.background.jobs import turn_take
from core.background.rows import AskedRow
from core.celery import app
from core.models import Turn
from tests.background import run_background
from tests.scenario import CODE, Scenario, zip_bytes
from tests.unit.environments.archives import docker_files, image_config, tar_bytes

IMAGE = EnvironmentFile.Kind.IMAGE
SHORT, LONG = jobs.Queue.SHORT, jobs.Queue.LONG


@pytest.fixture
def open_site(site: Scenario) -> Scenario:
    Phase.objects.update(own_weights=True, own_images=True)
    return site


def bomb(unpacked_mib: int) -> bytes:
    """An archive whose one layer is a file of zeros, and whose configuration names another digest."""
    layer, zeros = io.BytesIO(), bytes(1 << 20)
    with tarfile.open(fileobj=layer, mode="w") as archive:
        entry = tarfile.TarInfo("zeros")
        archive.addfile(entry)
    entry.size = unpacked_mib << 20
    compressor = zstandard.ZstdCompressor(level=3).compressobj()
    packed = [compressor.compress(entry.tobuf(tarfile.GNU_FORMAT))]
    packed += [compressor.compress(zeros) for _ in range(unpacked_mib)]
    packed.append(compressor.flush())
    return tar_bytes(docker_files([b"".join(packed)], config=image_config([b"another"])))


def sent_image(site: Scenario, content: bytes, *, team: Team | None = None) -> EnvironmentFile:
    """An image that waits for its check."""
    user = site.member(team)
    begun = upload_begin(user=user, file_name="i.tar", size_bytes=len(content), now=site.now, is_environment=True)
    upload: Upload = upload_append(key=begun.key, user=user, offset=0, chunks=[content], now=site.now)
    return environment_file_add(
        user=user, competition=site.competition, kind=IMAGE, name="image", upload=upload, now=site.now
    )


def sent_code(site: Scenario, *, team: Team | None = None) -> FileCheck:
    user = site.member(team)
    upload = site.upload(zip_bytes(CODE), "code.zip", user=user)
    submission = submission_create(
        NewSubmission(user=user, phase=site.phase, upload=upload, kind=Kind.CODE), now=site.now
    )
    return submission.file_check


def send_work(*rows: Any) -> None:
    """Do the work that follows the commit of these rows."""
    for row in rows:
        job = next(job for job in jobs.jobs() if job.waiting().model is type(row))
        assert jobs.send(job.name, row.pk)


def worked_on(queue: jobs.Queue) -> Iterator[str]:
    """The people whose rows are worked on, one after the other."""
    seen = set(Turn.objects.filter(queue=queue, served_at__isnull=False).values_list("asker", "served_at"))
    while jobs.work(queue):
        now = set(Turn.objects.filter(queue=queue, served_at__isnull=False).values_list("asker", "served_at"))
        yield from (asker for asker, _ in now - seen)
        seen = now


def test_a_team_with_many_files_waits_after_each_for_all_others(open_site: Scenario) -> None:
    other = open_site.join("Other")
    send_work(*[sent_image(open_site, tar_bytes(docker_files())) for _ in range(4)])
    send_work(sent_image(open_site, tar_bytes(docker_files()), team=other))
    export = export_begin(
        competition=open_site.competition, by=open_site.organizer, with_files=False, now=open_site.now
    )
    send_work(export)
    first, second, person = (
        f"team:{open_site.team.pk}",
        f"team:{other.pk}",
        f"person:{open_site.organizer.pk}",
    )
    assert list(worked_on(LONG)) == [first, second, person, first, first, first]
    assert set(EnvironmentFile.objects.values_list("state", flat=True)) == {"ready"}
    assert BundleExport.objects.get().is_over


def test_nobody_has_two_pieces_of_work_at_a_time(open_site: Scenario, settings: Any) -> None:
    lease_s = settings.BACKGROUND_LEASE_S
    send_work(*[sent_image(open_site, tar_bytes(docker_files())) for _ in range(2)])
    assert turn_take(LONG, now=timezone.now(), lease_s=lease_s) is not None
    assert turn_take(LONG, now=timezone.now(), lease_s=lease_s) is None
    late = timezone.now() + timedelta(seconds=lease_s + 1)
    assert turn_take(LONG, now=late, lease_s=lease_s) is not None, "the process that had it is gone"


def test_a_check_of_a_submission_never_waits_for_what_takes_long(open_site: Scenario, settings: Any) -> None:
    check = sent_code(open_site)
    send_work(sent_image(open_site, tar_bytes(docker_files())), check)
    assert turn_take(LONG, now=timezone.now(), lease_s=settings.BACKGROUND_LEASE_S), "its own team's image is checked"
    assert jobs.work(SHORT)
    check.refresh_from_db()
    assert check.outcome == FileCheck.Status.PASSED
    long = {job.name for job in jobs.jobs() if job.queue == LONG}
    assert long == {
        "environment_file",
        "bundle-import",
        "bundle-export",
        "data-export",
        "dataset-joining",
        "competition-push",
        "competition-build",
        "new-solution",
        "proposal",
    }


def test_a_layer_that_unpacks_to_far_more_than_it_is_stops_the_reading_at_once(open_site: Scenario) -> None:
    content = bomb(512)
    image = sent_image(open_site, content)
    run_background()
    image.refresh_from_db()
    assert (image.state, image.code) == ("refused", "too_dense"), image.detail
    assert "200 times" in image.detail


def test_refused_images_and_refused_submissions_count_together(open_site: Scenario, settings: Any) -> None:
    settings.REFUSED_FILES_PER_DAY = 2
    wrong = tar_bytes(docker_files(config=image_config([b"another"])))
    images = [sent_image(open_site, wrong) for _ in range(3)]
    run_background()
    assert [EnvironmentFile.objects.get(pk=image.pk).code for image in images] == [
        "wrong_digest",
        "wrong_digest",
        "too_many_refused_files",
    ]
    for image in EnvironmentFile.objects.all():
        environment_file_remove(file=image, note="gone")
    assert refused().count() == 2, "those that are taken away still count"
    with pytest.raises(TooManyRefusedFiles):
        sent_code(open_site)
    with pytest.raises(TooManyRefusedFiles):
        sent_image(open_site, wrong)
    require_allowance(asker=f"team:{open_site.join('Other').pk}", now=open_site.now)


def test_an_image_that_is_ready_and_removed_is_no_refused_file(open_site: Scenario) -> None:
    image = sent_image(open_site, tar_bytes(docker_files()))
    run_background()
    image.refresh_from_db()
    environment_file_remove(file=image, note="gone")
    assert not refused().exists()


def test_work_that_raises_keeps_nobody_else_waiting_and_is_not_repeated_at_once(
    open_site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, other = sent_code(open_site), sent_code(open_site, team=open_site.join("Other"))
    send_work(broken, other)

    def fails(**_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(checks, "file_contract", fails)
    with pytest.raises(ZeroDivisionError):
        jobs.work(SHORT)
    monkeypatch.undo()
    monkeypatch.setattr(app, "send_task", lambda *_, **__: None)
    with time_machine.travel(timezone.now() + timedelta(minutes=1)):
        assert jobs.work(SHORT)
        assert not jobs.work(SHORT), "the first waits for the reconciler"
        assert jobs.resend(now=timezone.now()) == 1
        assert jobs.work(SHORT)
    assert set(FileCheck.objects.values_list("outcome", flat=True)) == {"passed"}


def test_every_kind_of_work_says_who_asked_and_finds_its_rows_by_an_index(site: Scenario) -> None:
    kinds = {job.waiting().model for job in jobs.jobs()}
    assert kinds == {model for model in apps.get_models() if issubclass(model, AskedRow)}
    for model in kinds:
        named = [index.fields[0] for index in model._meta.indexes if isinstance(index, Index) and index.fields]
        assert "asker" in named, model


def test_a_turn_costs_the_same_however_many_rows_wait(site: Scenario, settings: Any) -> None:
    costs = []
    for _ in range(2):
        rows = [sent_code(site, team=site.join()) for _ in range(3)]
        send_work(*rows)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert turn_take(SHORT, now=timezone.now(), lease_s=settings.BACKGROUND_LEASE_S) is not None
        costs.append(len(queries))
    assert costs == [2, 2]
