"""A team's image, weights and locked packages, on a real engine."""

from __future__ import annotations

import io
import json
import tarfile
import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.integration.workers import mirrors
from tests.integration.workers.harness import BASE, SCORER, SECRET, TEAM_IMAGE, Bench
from tests.integration.workers.mirrors import index_pages, lock_line, serving, wheel_bytes
from tests.waiting import wait_for
from workers.agent.context import LABEL_WORKER
from workers.agent.environments import mirror as mirror_module
from workers.agent.environments.images import OwnImages
from workers.agent.host.slots import Slot
from workers.agent.runs.handling import HeldRuns, RunHandling
from workers.engines.docker import client as docker_client
from workers.protocol.files.image_archive import ArchiveLimits, check_archive, describe_archive
from workers.protocol.jobs import parse_job

SHELL_PROGRAM = "read value < /opt/model.txt; id -u > /app/output/uid.txt; echo $value > /app/output/answer.txt\n"


@pytest.fixture
def own_images(bench: Bench) -> Iterator[OwnImages]:
    """The worker's keeping of images; all that a test brought are removed at its end."""
    yield bench.worker.own_images
    OwnImages(bench.worker.data_dir / "images", bench.worker.engine, max_bytes=0, max_age_s=0).trim()


def code_stage(bench: Bench, program: str, *, shell: bool = False, **limits: float) -> dict[str, Any]:
    runner = "sh $program/main" if shell else "python3 $program/main"
    files: dict[str, str | bytes] = {"main": program, "metadata.yaml": f"command: {runner}\n"}
    return bench.stage("ingestion", [bench.mount("/app/program", files)], **limits)


def scored_job(bench: Bench, first: dict[str, Any]) -> dict[str, Any]:
    """A job with this first stage, and the scorer that reads answer.txt."""
    labels = bench.mount("/app/input/ref", {"labels.txt": SECRET}, secret=True)
    result = {"target": "/app/input/res", "stage_output": "ingestion"}
    return bench.job([first, bench.stage("scoring", [bench.program("/app/program", SCORER), labels, result])])


def in_own_image(bench: Bench, archive: Path, program: str = SHELL_PROGRAM, **more: Any) -> dict[str, Any]:
    image_id = check_archive(archive, ArchiveLimits(max_bytes=1 << 30)).image_id
    file = bench.file(archive.read_bytes(), "image.tar")
    brought = {"image": image_id, "own_image": {"archive": file, "image_id": image_id}, "is_image_of_team": True}
    return scored_job(bench, code_stage(bench, program, shell=True) | brought | more)


def test_code_runs_in_the_image_of_its_team_as_an_ordinary_user_and_the_image_gets_no_name(
    bench: Bench, archive: Path, own_images: OwnImages
) -> None:
    job = in_own_image(bench, archive)
    outcome = bench.run(job)
    assert outcome.result["outcome"] == "finished", outcome.result
    assert outcome.result["scores"] == {"score": 42.5}
    assert outcome.archived()["uid.txt"].strip() != b"0"
    stages = {stage["name"]: stage for stage in outcome.result["stages"]}
    assert stages["ingestion"]["image_digest"] == job["stages"][0]["image"]
    assert stages["scoring"]["image"] == bench.stage("scoring", [])["image"]
    assert TEAM_IMAGE not in bench.worker.engine.image_names()


def test_an_image_of_a_team_is_loaded_once_and_goes_by_age_but_not_while_a_run_needs_it(
    bench: Bench, archive: Path, own_images: OwnImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, job = bench.worker.engine, in_own_image(bench, archive)
    image = job["stages"][0]["image"]
    loads: list[int] = []
    load = type(engine).load_image

    def count_load(self: Any, chunks: Iterator[bytes]) -> None:
        loads.append(1)
        load(self, chunks)

    monkeypatch.setattr(type(engine), "load_image", count_load)
    execution = bench.prepared(job)
    old = OwnImages(bench.worker.data_dir / "images", engine, max_bytes=1 << 40, max_age_s=0)
    assert (own_images.trim(), old.trim()) == (0, 0)  # a container of it is there
    assert bench.see_through(execution).result["outcome"] == "finished"
    assert bench.run(in_own_image(bench, archive)).result["outcome"] == "finished"
    assert len(loads) == 1
    assert old.trim() == 1
    assert engine.find_image(image) is None


def test_a_cancelled_run_does_not_wait_until_its_image_is_loaded(
    bench: Bench, archive: Path, own_images: OwnImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = in_own_image(bench, archive)
    execution = bench.claimed(job)
    load, taken = type(bench.worker.engine).load_image, []

    def cancelled_meanwhile(self: Any, chunks: Iterator[bytes]) -> None:
        def until_cancelled() -> Iterator[bytes]:
            for chunk in chunks:
                taken.append(len(chunk))
                yield chunk
                execution.cancel("cancelled")

        load(self, until_cancelled())

    monkeypatch.setattr(type(bench.worker.engine), "load_image", cancelled_meanwhile)
    execution.prepare()
    outcome = bench.see_through(execution)
    assert outcome.result["outcome"] == "cancelled", outcome.result
    assert len(taken) == 1
    assert bench.worker.engine.find_image(job["stages"][0]["image"]) is None


def test_an_image_that_the_host_had_before_is_never_removed(bench: Bench, own_images: OwnImages) -> None:
    facts = own_images.acquire(BASE, lambda: pytest.fail("it is there"))
    own_images.release(BASE)
    OwnImages(bench.worker.data_dir / "images", bench.worker.engine, max_bytes=0, max_age_s=0).trim()
    assert bench.worker.engine.find_image(BASE) == facts


def test_an_image_without_what_the_command_asks_for_is_the_teams_failure(
    bench: Bench, archive: Path, own_images: OwnImages
) -> None:
    job = in_own_image(bench, archive)
    job["stages"][0] |= {"command": ["/no/such/program"]}
    assert bench.run(job).reason in ("program_error", "environment_error")


def test_an_image_that_is_larger_than_it_may_be_is_refused_and_not_kept(
    bench: Bench, archive: Path, own_images: OwnImages
) -> None:
    job = in_own_image(bench, archive, image_max_bytes=1 << 20)
    outcome = bench.run(job)
    assert (outcome.reason, outcome.code) == ("environment_error", "image_too_large")
    assert bench.worker.engine.find_image(job["stages"][0]["image"]) is None


def registry_pages(archive: Path) -> tuple[str, dict[str, bytes], dict[str, str]]:
    """The image of an archive as a registry serves it: digest of its manifest, pages, and their types."""
    image, kind = describe_archive(archive), "application/vnd.oci.image"
    with tarfile.open(archive) as packed:
        layers = [file.read() for layer in image.layers if (file := packed.extractfile(layer.member)) is not None]
    config, *described = (
        {"mediaType": media, "digest": f"sha256:{sha256(content).hexdigest()}", "size": len(content)}
        for media, content in [
            (f"{kind}.config.v1+json", image.config),
            *((f"{kind}.layer.v1.tar", layer) for layer in layers),
        ]
    )
    manifest = json.dumps(
        {"schemaVersion": 2, "mediaType": f"{kind}.manifest.v1+json", "config": config, "layers": described}
    ).encode()
    digest = f"sha256:{sha256(manifest).hexdigest()}"
    pages = {f"/v2/lab/model/blobs/sha256:{sha256(blob).hexdigest()}": blob for blob in (image.config, *layers)}
    path = f"/v2/lab/model/manifests/{digest}"
    return (
        digest,
        pages | {"/v2/": b"{}", path: manifest},
        {path: f"{kind}.manifest.v1+json", "/v2/": "application/json"},
    )


def test_an_image_is_pulled_by_digest_from_a_registry_and_one_that_is_not_there_is_the_teams_failure(
    bench: Bench, archive: Path, own_images: OwnImages
) -> None:
    digest, pages, types = registry_pages(archive)
    with serving(pages, types) as address:
        registry = address.removeprefix("http://")
        first = code_stage(bench, SHELL_PROGRAM, shell=True) | {"is_image_of_team": True, "pull": "missing"}
        outcome = bench.run(scored_job(bench, first | {"image": f"{registry}/lab/model@{digest}"}))
        missing = bench.run(scored_job(bench, first | {"image": f"{registry}/lab/model@sha256:{'0' * 64}"}))
    assert outcome.result["scores"] == {"score": 42.5}, outcome.result
    assert outcome.result["stages"][0]["image_digest"] == digest
    assert (missing.reason, missing.code) == ("environment_error", "image_unknown")


def test_a_pull_that_takes_too_long_is_a_failure_of_this_host_and_not_given_back(
    bench: Bench, archive: Path, own_images: OwnImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker_client, "PULL_TIMEOUT_S", -1)
    digest, pages, types = registry_pages(archive)
    with serving(pages, types) as address:
        image = f"{address.removeprefix('http://')}/lab/model@{digest}"
        first = code_stage(bench, SHELL_PROGRAM, shell=True) | {"is_image_of_team": True, "pull": "missing"}
        outcome = bench.run(scored_job(bench, first | {"image": image}))
    assert (outcome.reason, outcome.code) == ("infrastructure", "image_pull_failed"), outcome.result


def test_weights_are_seen_read_only_by_the_program_and_not_by_the_scorer(bench: Bench) -> None:
    program = (
        "import os, pathlib\nfolder = pathlib.Path(os.environ['PODIUM_WEIGHTS'])\nvalue = (folder / 'w.txt').read_text()\n"
        "try:\n    (folder / 'w.txt').write_text('0')\nexcept OSError:\n    pathlib.Path('/app/output/answer.txt').write_text(value)\n"
    )
    first = code_stage(bench, program)
    first["mounts"].append({"target": "/app/weights", "file": bench.file(b"7.5", "w.txt"), "unpack": False})
    outcome = bench.run(scored_job(bench, first))
    assert outcome.result["scores"] == {"score": 7.5}, outcome.result


# --- packages from a locked list

PROGRAM = "import pathlib, small\npathlib.Path('/app/output/answer.txt').write_text(small.VALUE)\n"


def with_packages(bench: Bench, lock: str, mirror: str, **more: Any) -> dict[str, Any]:
    first = code_stage(bench, PROGRAM)
    first["mounts"].append(
        {
            "target": "/app/environment",
            "requirements": bench.file(lock.encode(), "requirements.txt"),
            "mirror": f"{mirror}/simple/",
            "wall_s": 120.0,
            "max_bytes": 32 << 20,
        }
        | more
    )
    return scored_job(bench, first)


def test_packages_are_built_once_for_a_list_and_the_budget_is_not_charged(bench: Bench) -> None:
    name, wheel = wheel_bytes("small", "3.5")
    lock = lock_line("small", wheel, "3.5")
    with serving(index_pages({name: wheel})) as address:
        outcome = bench.run(with_packages(bench, lock, address))
    assert outcome.result["scores"] == {"score": 3.5}, outcome.result
    assert any("Installed 1 packages" in note for note in outcome.result["notes"])
    ingestion = outcome.result["stages"][0]
    assert [stage["name"] for stage in outcome.result["stages"]] == ["ingestion", "scoring"]
    assert ingestion["wall_s"] < outcome.result["timings"]["staging_s"] + 20
    again = bench.run(with_packages(bench, lock, address))  # the mirror is gone: nothing asks it
    assert again.result["scores"] == {"score": 3.5}, again.result


def test_a_cancelled_run_does_not_wait_until_its_packages_are_installed(bench: Bench) -> None:
    name, wheel = wheel_bytes("small", "4.0", modules=20_000)
    with serving(index_pages({name: wheel})) as address:
        execution = bench.claimed(with_packages(bench, lock_line("small", wheel, "4.0"), address))
        preparing = threading.Thread(target=execution.prepare)
        preparing.start()
        wait_for(
            lambda: any("environment-install" in container for container in running_containers(bench)), what="pip runs"
        )
        execution.cancel("cancelled")
        preparing.join(60)
    assert not preparing.is_alive()
    result = bench.see_through(execution).result
    assert result["outcome"] == "cancelled"
    assert not [note for note in result["notes"] if "Installed" in note], "pip was stopped before its end"


def test_a_worker_that_stops_gives_back_what_it_has_not_staged(
    bench: Bench, archive: Path, own_images: OwnImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    for name in ("release", "complete"):
        monkeypatch.setattr(bench.worker.client, name, lambda *_, call=name, **__: calls.append(call))
    stopping = threading.Event()
    monkeypatch.setattr(bench.worker, "stopping", stopping)
    stopping.set()
    handling = RunHandling(Slot(bench.worker, 0, None, ()), parse_job(in_own_image(bench, archive)), HeldRuns())
    assert not handling.prepare()
    assert calls == ["release"]
    bench.assert_nothing_left()


def running_containers(bench: Bench) -> list[str]:
    """Names of the worker's containers that run."""
    rows = bench.docker.containers(filters={"label": f"{LABEL_WORKER}={bench.worker.key}"})
    return [name for row in rows for name in row["Names"]]


SMALL_NAME, SMALL = wheel_bytes("small", "2.0")
SOURCE = {"small-2.0.tar.gz": b"source"}
OTHER_PLATFORM = dict([wheel_bytes("small", "2.0", tag="cp27-cp27m-win32")])
LARGE_NAME, LARGE = wheel_bytes("small", "2.0", padding=3 << 20)
NEEDY_NAME, NEEDY = wheel_bytes("small", "2.0", requires="absent")


@pytest.mark.parametrize(
    ("files", "content", "more", "code"),
    [
        ({}, SMALL, {}, "not_on_mirror"),
        (dict([wheel_bytes("small", "1.0")]), SMALL, {}, "not_on_mirror"),
        (SOURCE, SMALL, {}, "only_source"),
        (OTHER_PLATFORM, SMALL, {}, "no_wheel_for_image"),
        ({SMALL_NAME: LARGE}, SMALL, {}, "bad_hash"),
        ({LARGE_NAME: LARGE}, LARGE, {"max_bytes": 1 << 20}, "environment_too_large"),
        ({NEEDY_NAME: NEEDY}, NEEDY, {}, "install_failed"),
        ({SMALL_NAME: b"no zip"}, b"no zip", {}, "install_failed"),
    ],
    ids=[
        "no package",
        "no version",
        "source alone",
        "other platform",
        "bad hash",
        "huge wheel",
        "list not whole",
        "no wheel at all",
    ],
)
def test_what_the_mirror_lacks_or_the_list_gets_wrong_is_the_teams_failure(
    bench: Bench, files: dict[str, bytes], content: bytes, more: dict[str, Any], code: str
) -> None:
    with serving(index_pages(files)) as address:
        outcome = bench.run(with_packages(bench, lock_line("small", content, "2.0"), address, **more))
    assert (outcome.reason, outcome.code) == ("environment_error", code), outcome.result["detail"]
    assert outcome.result["stages"] == []


@pytest.fixture
def app_is_a_file(bench: Bench) -> Iterator[str]:
    """An image whose `/app` is a file, where a container has folders; its name."""
    container = bench.docker.create_container(BASE, command="true")["Id"]
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as packed:
        packed.addfile(tarfile.TarInfo("app"))
    bench.docker.put_archive(container, "/", content.getvalue())
    bench.docker.commit(container, repository="podium/app-is-a-file", tag="1")
    bench.docker.remove_container(container)
    yield "podium/app-is-a-file:1"
    bench.docker.remove_image("podium/app-is-a-file:1")


@pytest.mark.parametrize("is_image_of_team", [True, False], ids=["of the team", "of the competition"])
def test_an_image_in_which_nothing_can_be_installed_is_the_failure_of_whoever_brought_it(
    bench: Bench, app_is_a_file: str, is_image_of_team: bool
) -> None:
    job = with_packages(bench, lock_line("small", SMALL, "2.0"), "http://127.0.0.1:9")
    job["stages"][0] |= {"image": app_is_a_file, "is_image_of_team": is_image_of_team, "pull": "missing"}
    outcome = bench.run(job)
    expected = ("environment_error", "image_not_startable") if is_image_of_team else ("infrastructure", "engine_error")
    assert (outcome.reason, outcome.code) == expected, outcome.result["detail"]


def test_a_wheel_that_is_another_than_its_index_says_is_refused(bench: Bench) -> None:
    pages = index_pages({SMALL_NAME: SMALL}) | {f"/files/{SMALL_NAME}": LARGE}
    with serving(pages) as address:
        outcome = bench.run(with_packages(bench, lock_line("small", SMALL, "2.0"), address))
    assert (outcome.reason, outcome.code) == ("environment_error", "bad_hash")


def test_a_mirror_that_is_away_hangs_or_points_elsewhere_is_no_teams_failure(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror_module, "TIMEOUT_S", (1.0, 1.0))
    lock = lock_line("small", SMALL, "2.0")
    outcomes = [bench.run(with_packages(bench, lock, "http://127.0.0.1:9"))]
    with serving({}, silent=threading.Event()) as address:
        outcomes.append(bench.run(with_packages(bench, lock, address)))
    with serving(index_pages({SMALL_NAME: SMALL}, elsewhere="http://127.0.0.2:9/files")) as address:
        outcomes.append(bench.run(with_packages(bench, lock, address)))
    assert [(outcome.reason, outcome.code) for outcome in outcomes] == [("infrastructure", "mirror_unreachable")] * 3


def test_the_wheels_of_this_module_are_what_they_are_called() -> None:
    assert mirrors.wheel_bytes("small", "2.0") == (SMALL_NAME, SMALL)
