"""Teams' weights and images: uploaded once, checked in the background, used by that team only."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from competitions.catalog.models import Phase
from competitions.environments import refusals, services
from competitions.environments.choice import NamedEnvironment
from competitions.environments.models import EnvironmentFile
from competitions.environments.services import environment_file_add, environment_file_remove, remove_unused
from competitions.resources.models import StoredFile, Upload
from competitions.resources.orphans import remove_orphans
from competitions.resources.uploads import UploadIncomplete, upload_append, upload_begin
from competitions.runs.dispatch import run_claim
from competitions.runs.worker_api.jobs import file_urls, job_for
from competitions.submissions.models import Submission
from competitions.submissions.refusals import ENVIRONMENT_WITHOUT_CODE, UPLOADED_FOR_ENVIRONMENT
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import Kind, State
from competitions.teams.merging import merge_accept, merge_propose
from competitions.teams.models import Team
from core.refusals import Refusal, RefusalKind
from tests.background import run_background
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import CODE, FILE_NAME, Scenario, person, prediction_bytes, scenario, zip_bytes
from tests.unit.environments.archives import LAYER, docker_files, image_config, sha256, tar_bytes
from workers.protocol.jobs import StagedFile

WEIGHTS = EnvironmentFile.Kind.WEIGHTS
IMAGE = EnvironmentFile.Kind.IMAGE
LOCK = f"numpy==2.3.1 --hash=sha256:{'a' * 64}\n"
REFERENCE = f"registry.example.org/lab/model@sha256:{'c' * 64}"


@pytest.fixture
def open_site(site: Scenario) -> Scenario:
    """A competition whose phases take all of it."""
    Phase.objects.update(own_weights=True, own_images=True, own_requirements=True)
    site.queue.image_registries = "registry.example.org\nghcr.io/lab"
    site.queue.package_mirror = "https://mirror.example.org/simple/"
    site.queue.save()
    for phase in site.phases.values():
        phase.refresh_from_db()
    return site


def uploaded(site: Scenario, content: bytes, *, team: Team | None = None, name: str = "w.npz") -> Upload:
    user = site.member(team)
    begun = upload_begin(user=user, file_name=name, size_bytes=len(content), now=site.now, is_environment=True)
    return upload_append(key=begun.key, user=user, offset=0, chunks=[content], now=site.now)


def added(
    site: Scenario,
    kind: EnvironmentFile.Kind = WEIGHTS,
    content: bytes = b"weights",
    *,
    name: str = "gap-model",
    team: Team | None = None,
) -> EnvironmentFile:
    """A file of the team, as the background left it."""
    file = environment_file_add(
        user=site.member(team),
        competition=site.competition,
        kind=kind,
        name=name,
        upload=uploaded(site, content, team=team),
        now=site.now,
    )
    run_background(at=site.now)
    file.refresh_from_db()
    return file


def submitted(
    site: Scenario, chosen_files: NamedEnvironment, *, team: Team | None = None, content: bytes = b"", **more: Any
) -> Submission:
    user = site.member(team)
    upload = site.upload(content or zip_bytes(CODE), "code.zip", user=user)
    submission = submission_create(
        NewSubmission(
            user=user,
            phase=site.phase,
            upload=upload,
            kind=more.pop("kind", Kind.CODE),
            environment=chosen_files,
            **more,
        ),
        now=site.now,
    )
    run_background(at=site.now)
    submission.refresh_from_db()
    return submission


def test_no_request_stores_weights_and_each_upload_of_a_name_is_its_next_version(open_site: Scenario) -> None:
    upload = uploaded(open_site, b"weights")
    assert (upload.received_bytes, upload.is_complete) == (7, False)
    first, second = added(open_site), added(open_site, content=b"better")
    assert [(file.reference, file.state, file.sha256) for file in (first, second)] == [
        ("gap-model@1", "ready", sha256(b"weights")),
        ("gap-model@2", "ready", sha256(b"better")),
    ]


def test_the_same_upload_is_one_file_however_often_it_is_said(open_site: Scenario) -> None:
    upload = uploaded(open_site, b"weights")
    files = [
        environment_file_add(
            user=open_site.member(),
            competition=open_site.competition,
            kind=WEIGHTS,
            name="a",
            upload=upload,
            now=open_site.now,
        )
        for _ in range(2)
    ]
    assert files[0].pk == files[1].pk
    other = scenario()
    other.join(user=open_site.member())
    Phase.objects.filter(pk=other.phase.pk).update(own_weights=True)
    with refuses(refusals.UPLOAD_USED):
        environment_file_add(
            user=open_site.member(),
            competition=other.competition,
            kind=WEIGHTS,
            name="a",
            upload=upload,
            now=open_site.now,
        )


def test_a_run_is_given_its_teams_weights_and_the_receipt_names_their_digest(open_site: Scenario) -> None:
    file = added(open_site)
    submission = submitted(open_site, NamedEnvironment(weights="gap-model"))
    run = open_site.claim()
    first, scoring = job_for(run).stages
    mount = next(mount for mount in first.mounts if mount.target == "/app/weights")
    assert isinstance(mount, StagedFile)
    assert (mount.file.sha256, mount.file.name, mount.unpack) == (file.sha256, "w.npz", False)
    assert "/app/weights" not in {mount.target for mount in scoring.mounts}
    assert file.sha256 in file_urls(run)
    run.refresh_from_db()
    assert run.receipt["inputs"]["weights"] == f"sha256:{file.sha256}"
    assert run.receipt["environment"] == {"weights": "gap-model@1"}
    assert submission.weights == file


def test_an_image_is_checked_and_only_the_scoring_program_stays_out_of_it(open_site: Scenario) -> None:
    files = docker_files()
    image = added(open_site, IMAGE, tar_bytes(files), name="torch")
    assert (image.state, image.facts["platform"]) == ("ready", "linux/amd64")
    submission = submitted(open_site, NamedEnvironment(image="torch@1"))
    first, scoring = job_for(open_site.claim()).stages
    assert first.own_image is not None
    assert (first.image, first.own_image.archive.sha256) == (image.image_id, image.sha256)
    assert (scoring.image, scoring.own_image, scoring.is_image_of_team) == (submission.phase.image_name, None, False)


def test_a_wrong_image_is_refused_and_its_bytes_are_let_go(open_site: Scenario) -> None:
    image = added(
        open_site, IMAGE, tar_bytes(docker_files(config=image_config([LAYER], architecture="arm64"))), name="torch"
    )
    assert (image.state, image.code, image.file) == ("refused", "wrong_platform", None)
    with pytest.raises(refusals.FileNotReady, match=r"was refused: .*[^.]\.$"):
        submitted(open_site, NamedEnvironment(image="torch@1"))


def test_an_image_by_digest_is_taken_from_the_queues_registries_alone(open_site: Scenario) -> None:
    submitted(open_site, NamedEnvironment(image=REFERENCE))
    first, scoring = job_for(open_site.claim()).stages
    assert (first.image, first.is_image_of_team) == (REFERENCE, True)
    assert scoring.image == open_site.phase.image_name
    expected: dict[str, RefusalKind | type[Refusal]] = {
        f"evil.example.org/x@sha256:{'c' * 64}": refusals.RegistryNotAllowed,
        f"library/debian@sha256:{'c' * 64}": refusals.RegistryNotAllowed,
        f"ghcr.io/laboratory/x@sha256:{'c' * 64}": refusals.RegistryNotAllowed,
        f"registry.example.org/x:latest@sha256:{'c' * 64}": refusals.REFERENCE_INVALID,
        "registry.example.org/x:latest": refusals.UnknownFile,
        "registry.example.org/x@sha256:12": refusals.REFERENCE_INVALID,
    }
    for reference, refusal in expected.items():
        with refuses(refusal):
            submitted(open_site, NamedEnvironment(image=reference))


def test_what_is_no_longer_there_ends_a_run_instead_of_running_it_without(open_site: Scenario) -> None:
    submission = submitted(open_site, NamedEnvironment(image=REFERENCE))
    open_site.queue.image_registries = ""
    open_site.queue.save()
    assert run_claim(worker=open_site.worker(), free_gpus=0, now=open_site.now) is None
    run = submission.runs.get()
    assert (run.state, run.reason, run.code) == (State.FAILED, "environment_error", "environment_gone")


def test_locked_requirements_in_the_zip_are_built_for_the_run(open_site: Scenario) -> None:
    submission = submitted(open_site, NamedEnvironment(), content=zip_bytes(CODE | {"requirements.txt": LOCK}))
    assert submission.requirements is not None
    assert submission.requirements.sha256 == sha256(LOCK.encode())
    first, scoring = job_for(open_site.claim()).stages
    built = next(mount for mount in first.mounts if mount.target == "/app/environment").model_dump()
    assert (built["mirror"], built["requirements"]["sha256"]) == (open_site.queue.package_mirror, sha256(LOCK.encode()))
    assert "/app/environment" not in {mount.target for mount in scoring.mounts}


def test_a_lock_without_hashes_is_refused_before_anything_runs(open_site: Scenario) -> None:
    submission = submitted(
        open_site, NamedEnvironment(), content=zip_bytes(CODE | {"requirements.txt": "numpy==2.3.1\n"})
    )
    run = submission.runs.get()
    assert (run.reason, run.code) == ("file_invalid", "requirements_invalid")
    assert "line 1" in run.detail


def test_without_a_mirror_it_is_the_organizers_fault(open_site: Scenario) -> None:
    open_site.queue.package_mirror = ""
    open_site.queue.save()
    submission = submitted(open_site, NamedEnvironment(), content=zip_bytes(CODE | {"requirements.txt": LOCK}))
    assert run_claim(worker=open_site.worker(), free_gpus=0, now=open_site.now) is None
    assert (submission.runs.get().reason, submission.runs.get().code) == ("setup_error", "no_package_mirror")


def test_a_phase_that_takes_none_of_it_runs_a_zip_with_requirements_as_before(site: Scenario) -> None:
    submission = submitted(site, NamedEnvironment(), content=zip_bytes(CODE | {"requirements.txt": "anything\n"}))
    assert (submission.requirements, submission.status) == (None, State.QUEUED)
    with pytest.raises(refusals.EnvironmentNotAccepted):
        submitted(site, NamedEnvironment(weights="gap-model"))
    with refuses(refusals.NO_PHASE_ACCEPTS):
        added(site)


@pytest.mark.parametrize(
    ("chosen_files", "kind", "refusal"),
    [
        (NamedEnvironment(weights="other@1"), Kind.CODE, refusals.UnknownFile),
        (NamedEnvironment(weights="gap-model@7"), Kind.CODE, refusals.UnknownFile),
        (NamedEnvironment(weights="gap-model@x"), Kind.CODE, refusals.UnknownFile),
        (NamedEnvironment(image="gap-model@1"), Kind.CODE, refusals.UnknownFile),
        (NamedEnvironment(weights="gap-model@1"), Kind.PREDICTION, ENVIRONMENT_WITHOUT_CODE),
    ],
)
def test_a_wish_that_cannot_be_met_makes_no_submission(
    open_site: Scenario, chosen_files: NamedEnvironment, kind: Kind, refusal: RefusalKind | type[Refusal]
) -> None:
    added(open_site)
    content, name = (zip_bytes(CODE), "code.zip") if kind == Kind.CODE else (prediction_bytes(), FILE_NAME)
    upload = open_site.upload(content, name)
    with refuses(refusal):
        submission_create(
            NewSubmission(
                user=open_site.member(), phase=open_site.phase, upload=upload, kind=kind, environment=chosen_files
            ),
            now=open_site.now,
        )
    assert not Submission.objects.exists()


def test_another_teams_weights_do_not_exist(open_site: Scenario) -> None:
    file, other = added(open_site), open_site.join("Other")
    with pytest.raises(refusals.UnknownFile):
        submitted(open_site, NamedEnvironment(weights="gap-model@1"), team=other)
    outsiders = [
        user_client(open_site.member(other)),
        user_client(open_site.organizer),
        user_client(person()),
        Client(),
    ]
    for client in outsiders:
        assert client.get(f"/api/v1/environment-files/{file.key}/").status_code in (401, 404)
        assert client.delete(f"/api/v1/environment-files/{file.key}/").status_code in (401, 403, 404)
        page = client.get(f"/competitions/{open_site.competition.slug}/team/environment/")
        assert "gap-model@1" not in page.content.decode()
    file.refresh_from_db()
    assert file.state == "ready"


def test_what_a_waiting_run_needs_stays_and_goes_once_it_has_ended(
    open_site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = added(open_site)
    submission = submitted(open_site, NamedEnvironment(weights="gap-model@1"))
    with refuses(refusals.FILE_IN_USE, match=f"#{submission.pk}"):
        environment_file_remove(file=file, note="")
    assert remove_unused(now=open_site.now + timedelta(days=999)) == 0
    monkeypatch.setattr(services, "REMOVED_AT_ONCE", 1)
    other = added(open_site, name="other")
    EnvironmentFile.objects.filter(pk=other.pk).update(last_used_at=open_site.now + timedelta(days=1))
    assert remove_unused(now=open_site.now + timedelta(days=999)) == 1, "what is needed holds up no other"
    open_site.score(submission, 1.0)
    assert remove_unused(now=open_site.now + timedelta(days=1)) == 0
    assert remove_unused(now=open_site.now + timedelta(days=999)) == 1
    file.refresh_from_db()
    assert (file.state, file.file, file.sha256) == ("removed", None, sha256(b"weights"))
    with pytest.raises(refusals.FileNotReady, match="removed"):
        submitted(open_site, NamedEnvironment(weights="gap-model@1"))


def test_room_number_and_size_are_bounded(open_site: Scenario, settings: Any) -> None:
    settings.TEAM_ENVIRONMENT_BYTES = 10
    added(open_site, content=b"1234567")
    with refuses(refusals.ROOM_USED):
        added(open_site, content=b"1234567")
    settings.TEAM_ENVIRONMENT_BYTES, settings.ENVIRONMENT_FILE_MAX_BYTES = 1000, 8
    upload = uploaded(open_site, b"12345678")
    settings.ENVIRONMENT_FILE_MAX_BYTES = 7
    arguments: dict[str, Any] = {
        "user": open_site.member(),
        "competition": open_site.competition,
        "name": "a",
        "upload": upload,
        "now": open_site.now,
    }
    with refuses(refusals.FILE_TOO_LARGE):
        environment_file_add(kind=WEIGHTS, **arguments)
    with refuses(refusals.NAME_INVALID):
        environment_file_add(kind=WEIGHTS, **arguments | {"name": "../x", "upload": uploaded(open_site, b"1")})


def test_an_unfinished_upload_is_no_file_and_one_for_weights_is_no_submission(open_site: Scenario) -> None:
    user = open_site.member()
    begun = upload_begin(user=user, file_name="w", size_bytes=9, now=open_site.now, is_environment=True)
    with pytest.raises(UploadIncomplete):
        environment_file_add(
            user=user, competition=open_site.competition, kind=WEIGHTS, name="a", upload=begun, now=open_site.now
        )
    with refuses(UPLOADED_FOR_ENVIRONMENT):
        submission_create(
            NewSubmission(
                user=user, phase=open_site.phase, upload=uploaded(open_site, zip_bytes(CODE)), kind=Kind.CODE
            ),
            now=open_site.now,
        )


def test_teams_that_merge_keep_the_versions_of_both(open_site: Scenario) -> None:
    other = open_site.join("Other")
    added(open_site, content=b"ours")
    theirs = added(open_site, content=b"theirs", team=other)
    proposal = merge_propose(team=open_site.team, by=open_site.team.captain, other_name="Other", now=open_site.now)
    merge_accept(proposal=proposal, by=other.captain, now=open_site.now)
    theirs.refresh_from_db()
    assert (theirs.team, theirs.reference) == (open_site.team, "gap-model@2")


def test_page_and_api_take_a_file_and_show_what_became_of_it(open_site: Scenario) -> None:
    client = user_client(open_site.member())
    page = f"/competitions/{open_site.competition.slug}/team/environment/"
    file = SimpleUploadedFile("w.npz", b"weights")
    sent = client.post(f"{page}add/", {"kind": "weights", "name": "gap-model", "file": file})
    assert sent.status_code == 302
    run_background(at=open_site.now)
    shown = client.get(page).content.decode()
    assert "gap-model@1" in shown
    assert sha256(b"weights")[:12] in shown
    announced = client.post(
        "/api/v1/uploads/", {"file_name": "w", "size_bytes": 2, "is_environment": True}, content_type="application/json"
    ).json()
    client.patch(
        f"/api/v1/uploads/{announced['key']}/",
        b"ab",
        content_type="application/offset+octet-stream",
        headers={"Upload-Offset": "0"},
    )
    response = client.post(
        f"/api/v1/competitions/{open_site.competition.slug}/weights/",
        {"name": "gap-model", "upload": announced["key"]},
        content_type="application/json",
    )
    assert (response.status_code, response.json()["reference"], response.json()["state"]) == (
        201,
        "gap-model@2",
        "checking",
    )
    run_background(at=open_site.now)
    listed = client.get(f"/api/v1/competitions/{open_site.competition.slug}/weights/").json()
    assert [(row["reference"], row["state"]) for row in listed] == [("gap-model@2", "ready"), ("gap-model@1", "ready")]
    assert client.delete(f"/api/v1/environment-files/{response.json()['key']}/").status_code == 204


def test_the_bytes_of_a_removed_file_go_once_nothing_points_at_them(open_site: Scenario) -> None:
    file = added(open_site, content=b"only here")
    environment_file_remove(file=file, note="")
    Upload.objects.all().delete()
    remove_orphans(now=open_site.now)
    remove_orphans(now=open_site.now + timedelta(days=8))
    assert not StoredFile.objects.filter(pk=sha256(b"only here")).exists()


def test_the_page_asks_as_much_of_the_database_for_many_files_as_for_one(
    open_site: Scenario, django_assert_max_num_queries: Any
) -> None:
    for number in range(12):
        added(open_site, content=str(number).encode())
    client = user_client(open_site.member())
    page = f"/competitions/{open_site.competition.slug}/team/environment/"
    client.get(page)
    with django_assert_max_num_queries(10):
        assert client.get(page).status_code == 200
