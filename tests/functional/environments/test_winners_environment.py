"""A winner's code is verified with the environment that it had, which is kept until then."""

from __future__ import annotations

import pytest

from competitions.catalog.models import Phase
from competitions.environments.models import EnvironmentFile
from competitions.environments.refusals import FILE_OF_WINNER
from competitions.environments.services import environment_file_remove
from competitions.resources.storage import store_bytes
from competitions.runs.worker_api.jobs import job_for
from competitions.submissions.models import Submission
from competitions.winners.models import Lane, Place, State
from competitions.winners.verification import verification_start
from tests.functional.leaderboards.test_winners import handed_in, lane
from tests.refusals import refuses
from tests.scenario import CODE, Scenario, zip_bytes
from workers.protocol.jobs import BuiltEnvironment, StagedFile

__all__ = ["lane"]  # a fixture


def brought(site: Scenario, place: Place, kind: str, content: bytes) -> EnvironmentFile:
    """A file of the winners, which their submission named."""
    file = EnvironmentFile.objects.create(
        team=place.team,
        kind=kind,
        name="gap-model",
        version=1,
        file=store_bytes(content),
        file_name="w.npz",
        size_bytes=len(content),
        state="ready",
        uploaded_by=site.member(place.team),
        created_at=site.now,
        last_used_at=site.now,
        image_id="sha256:" + "d" * 64,
    )
    Submission.objects.filter(pk=place.submission_id).update(**{kind: file})
    return file


def test_the_code_finds_the_weights_and_the_image_that_won(site: Scenario, lane: Lane) -> None:
    place = handed_in(site, lane)
    weights, image = brought(site, place, "weights", b"weights"), brought(site, place, "image", b"image")
    verification_start(key=place.key, by=site.organizer, now=site.now)
    first = job_for(site.claim(site.worker(gpus=1), free_gpus=1)).stages[0]
    assert weights.file_id in {mount.file.sha256 for mount in first.mounts if isinstance(mount, StagedFile)}
    assert first.own_image is not None
    assert first.own_image.archive.sha256 == image.file_id


def test_the_bundles_locked_packages_are_installed_where_the_phase_takes_them(site: Scenario, lane: Lane) -> None:
    place = handed_in(site, lane)
    lock = f"numpy==2.3.1 --hash=sha256:{'a' * 64}\n"
    Place.objects.filter(pk=place.pk).update(code=store_bytes(zip_bytes(CODE | {"requirements.txt": lock})))
    Phase.objects.filter(pk=site.sealed.pk).update(own_requirements=True)
    site.queue.package_mirror = "https://mirror.example.org/simple/"
    site.queue.save()
    verification_start(key=place.key, by=site.organizer, now=site.now)
    first = job_for(site.claim(site.worker(gpus=1), free_gpus=1)).stages[0]
    assert [mount.mirror for mount in first.mounts if isinstance(mount, BuiltEnvironment)] == [
        site.queue.package_mirror
    ]


@pytest.mark.parametrize("state", [State.INVITED, State.HARDWARE, State.COMPARED])
def test_they_are_kept_until_the_organizers_have_decided(site: Scenario, lane: Lane, state: State) -> None:
    place = handed_in(site, lane)
    file = brought(site, place, "weights", b"weights")
    Place.objects.filter(pk=place.pk).update(state=state)
    with refuses(FILE_OF_WINNER, match=rf"gap-model@1 is kept .* submission #{place.submission_id}"):
        environment_file_remove(file=file, note="gone")
    Place.objects.filter(pk=place.pk).update(state=State.CONFIRMED)
    environment_file_remove(file=file, note="gone")
    assert EnvironmentFile.objects.get(pk=file.pk).state == EnvironmentFile.State.REMOVED
