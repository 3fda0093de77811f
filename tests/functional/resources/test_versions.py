"""Organizers' programs and data: shared by competitions, versioned, bounded, and cleaned up."""

from __future__ import annotations

from pathlib import Path

import pytest

from competitions.bundles.importing.importer import bundle_import
from competitions.catalog.models import Competition
from competitions.resources.models import Resource
from competitions.resources.storage import store_bytes
from competitions.resources.versions import StorageQuotaUsed, resource_replace, storage_used
from tests.bundle_files import second, write
from tests.scenario import NOON, Scenario, person, resource, zip_bytes


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
