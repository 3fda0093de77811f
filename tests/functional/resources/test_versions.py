"""Programs and data of organizers: shared between competitions, replaced by new versions, bounded, and cleaned away."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from competitions.bundles.importing.importer import bundle_import
from competitions.catalog.models import Competition, Task
from competitions.resources.models import Resource
from competitions.resources.storage import store_bytes
from competitions.resources.versions import StorageQuotaUsed, resource_replace, storage_used
from tests.bundle_files import second, write
from tests.permissions import user_client
from tests.scenario import NOON, Scenario, person, resource, scenario, zip_bytes


def test_a_new_version_is_used_from_now_on_and_old_runs_keep_theirs(site: Scenario) -> None:
    task = site.phase.tasks.get()
    old = task.scoring_program
    submission = site.score(site.submit(), 0.5)
    fresh = resource_replace(
        resource=old, file=store_bytes(zip_bytes({"metadata": "command: new"})), file_name="new.zip"
    )
    task.refresh_from_db()
    assert task.scoring_program == fresh
    assert (fresh.replaces, fresh.kind, fresh.owner) == (old, old.kind, old.owner)
    assert submission.runs.get().receipt["inputs"]["scoring_program"] == f"sha256:{old.file_id}"
    again = site.submit()
    run = site.claim()
    assert run.submission == again
    assert run.receipt["inputs"]["scoring_program"] == f"sha256:{fresh.file_id}"


def test_competitions_of_others_keep_the_version_of_a_shared_file_that_they_have(site: Scenario) -> None:
    other = scenario()
    shared = site.phase.tasks.get().scoring_program
    Resource.objects.filter(pk=shared.pk).update(is_public=True)
    Task.objects.filter(phases=other.phase).update(scoring_program=shared)
    own_task = Task.objects.create(owner=site.organizer, name="Of no competition yet", scoring_program=shared)
    url = reverse("admin:resources_resource_change", args=[shared.pk])
    upload = SimpleUploadedFile("new.zip", zip_bytes({"metadata": "command: new"}))
    answer = user_client(site.organizer).post(
        url, {"name": shared.name, "is_public": "on", "upload": upload}, follow=True
    )
    assert "those keep the version that they have" in answer.content.decode()
    fresh = shared.replaced_by.get()
    assert {task.scoring_program for task in Task.objects.filter(phases=other.phase)} == {shared}
    assert {task.scoring_program for task in (site.phase.tasks.get(), Task.objects.get(pk=own_task.pk))} == {fresh}


def test_files_are_usable_by_their_owner_by_those_they_are_shared_with_and_public_ones_by_all(site: Scenario) -> None:
    other = person(is_staff=True)
    own_file = resource(site.organizer, Resource.Kind.INPUT_DATA, b"x")
    assert own_file in Resource.objects.usable_by(site.organizer)
    assert own_file not in Resource.objects.usable_by(other)
    own_file.shared_with.add(other)
    assert own_file in Resource.objects.usable_by(other)
    own_file.shared_with.clear()
    Resource.objects.filter(pk=own_file.pk).update(is_public=True)
    assert own_file in Resource.objects.usable_by(other)


def test_room_is_counted_once_for_each_content_and_bounded(
    site: Scenario, tmp_path: Path, settings: pytest.FixtureRequest
) -> None:
    owner = person(is_staff=True)
    for _ in range(2):
        resource(owner, Resource.Kind.INPUT_DATA, b"x" * 1000)
    assert storage_used(owner) == 1000
    settings.ORGANIZER_STORAGE_BYTES = 1010  # type: ignore[attr-defined]
    before = Competition.objects.count()
    with pytest.raises(StorageQuotaUsed, match="Your files take 1,000 of 1,010 bytes"):
        bundle_import(source=write(tmp_path / "b", second()), owner=owner, queue=site.queue, now=NOON)
    assert Competition.objects.count() == before


def test_the_list_of_files_says_how_much_room_they_take(site: Scenario, settings: Any) -> None:
    settings.ORGANIZER_STORAGE_BYTES = 5 * 1024**3
    owner, chief = person(is_staff=True), person(is_staff=True, is_superuser=True)
    resource(owner, Resource.Kind.INPUT_DATA, b"x" * 2048)
    url = reverse("admin:resources_resource_changelist")
    own = html.unescape(user_client(owner).get(url).content.decode()).replace("\xa0", " ")
    assert f"The files of {owner} take 2.0 KB of 5.0 GB" in own
    narrowed = user_client(chief).get(url, {"owner__id__exact": owner.pk}).content.decode().replace("\xa0", " ")
    assert f"The files of {owner} take 2.0 KB of 5.0 GB" in narrowed
    assert f"The files of {chief} take 0 bytes;" in user_client(chief).get(url).content.decode().replace("\xa0", " ")
