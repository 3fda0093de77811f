"""An engine's words on a team's image that cannot be loaded or started: the host's fault or not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests

from tests.unit.workers.agent.test_file_faults import stages
from tests.unit.workers.protocol.test_jobs_and_settings import JOB
from tests.unit.workers.sandbox.test_engine import engine_with
from workers.agent.runs.execution import RunExecution
from workers.agent.runs.staging import Unrunnable
from workers.agent.runs.state import RunFolder
from workers.engines.faults import HIDDEN, is_of_host, without_host_paths
from workers.engines.images import unsuitable
from workers.errors import SandboxError
from workers.protocol.hosts import Host
from workers.protocol.jobs import parse_job
from workers.sandbox.verdict import failed

RUNC = "starting the container: failed to create task for container: OCI runtime create failed: runc create failed: "
HOOK = RUNC + "unable to start container process: error running prestart hook #0: exit status 1, stdout: , stderr: "
DISK_FULL = "write /var/lib/docker/tmp/layer: no space left on device"
NO_FORMAT = "failed to load image: payload does not match any of the supported image formats:\n"
NO_OCI = " * oci: open /var/tmp/load.tar/index.json: not a directory\n"
NO_FOLDER = " * dir: open /var/tmp/load.tar/manifest.json: not a directory\n"
ARCHIVE = " * docker-archive: "
LAYER = 'writing blob: adding layer with blob "sha256:0": processing tar file'
OF_THE_HOST = {
    "full disk": f"creating the container x: {DISK_FULL}",
    "full disk, in containerd's words": "starting the container: failed to mkdir /run/containerd/x: no space left on device: unknown",
    "full disk, in Podman's words": f"{LAYER}(write /x: no space left on device): exit status 1",
    "full disk for an archive": f"{NO_FORMAT}{NO_OCI}{ARCHIVE}{LAYER}(write /x: no space left on device): exit status 1\n{NO_FOLDER}",
    "full disk for a copy": f"{NO_FORMAT}{NO_OCI} * oci-archive: write /var/tmp/x: no space left on device\n{NO_FOLDER}",
    "broken disk": "creating the container x: open /var/lib/docker/overlay2/l: input/output error",
    "read-only disk": "creating the container x: mkdir /var/lib/docker/overlay2/x: read-only file system",
    "no driver": 'starting the container: could not select device driver "nvidia" with capabilities: [[gpu compute]]',
    "no device for Podman": "starting the container: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=GPU-0",
    "driver gone": f"{HOOK}nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown",
    "GPU gone": f"{HOOK}Auto-detected mode as 'legacy'\nnvidia-container-cli: device error: GPU-0: unknown device: unknown",
}
OF_THE_IMAGE = {
    "no such program": f'{RUNC}exec: "/no/such/program": stat /no/such/program: no such file or directory: unknown',
    "app is a file": f'{RUNC}error mounting "/data" to rootfs at "/app/wheels": mkdir /merged/app: not a directory: unknown',
    "link into a mount": f'{RUNC}error mounting "/data" to rootfs at "/app/output": mkdir /merged/x: read-only file system: unknown',
    "newer driver demanded": f"{HOOK}nvidia-container-cli: requirement error: unsatisfied condition: cuda>=99: unknown",
    "driver's file in the image": f"{HOOK}nvidia-container-cli: mount error: file creation failed: /libcuda.so: file exists: unknown",
    "program called as a full disk": f'{RUNC}exec: "x: no space left on device": executable file not found in $PATH: unknown',
    "program called as a GPU fault": f'{RUNC}exec: "nvidia-container-cli: device error": executable file not found in $PATH: unknown',
    "file called as Podman's full disk": f"{LAYER}(open /x: no space left on device): exit status 1: file exists): exit status 1",
    "file called as a line": f"{LAYER}(open /x\nwrite: no space left on device\ny: file exists): exit status 1",
    "file called as the line of a format": f"{NO_FORMAT}{NO_OCI}{ARCHIVE}{LAYER}(open /x\n * dir: no space left on device\n"
    f" * oci: y: file exists): exit status 1\n{NO_FOLDER}",
    "file called as an unknown format": f"{NO_FORMAT}{ARCHIVE}{LAYER}(open /x\n * sif: no space left on device\n"
    f"y: file exists): exit status 1\n{NO_FOLDER}",
    "file called as all formats": f"{LAYER}(open /{NO_FORMAT} * dir: no space left on device\n * oci: y: file exists): exit status 1",
    "folder called as a missing device": f"{RUNC}mkdir /merged/a: unresolvable CDI devices: not a directory: unknown",
    "folder called as a GPU fault": f"{RUNC}mkdir /merged/a: nvidia-container-cli: device error: not a directory: unknown",
}


@pytest.mark.parametrize("words", OF_THE_HOST.values(), ids=OF_THE_HOST)
def test_a_fault_of_the_host_is_told_by_the_engines_words(words: str) -> None:
    assert is_of_host(words)


@pytest.mark.parametrize("words", OF_THE_IMAGE.values(), ids=OF_THE_IMAGE)
def test_an_image_is_not_excused_by_what_it_calls_its_files(words: str) -> None:
    assert not is_of_host(words)


def refusal(error: SandboxError) -> Exception:
    """The exception that an error in creating the container of a team's image becomes."""
    stage = stages()["ingestion"].model_copy(update={"is_image_of_team": True})
    execution: Any = SimpleNamespace(job=SimpleNamespace(stages=[stage]))
    run: Any = SimpleNamespace(name="ingestion", started_monotonic=None)

    def fail() -> None:
        raise error

    with pytest.raises((SandboxError, Unrunnable)) as raised:
        RunExecution._act_for(execution, run, fail)
    return raised.value


@pytest.mark.parametrize("words", OF_THE_HOST.values(), ids=OF_THE_HOST)
def test_a_team_does_not_answer_for_a_host_that_cannot_start_its_image(words: str) -> None:
    error = SandboxError("engine_error", words)
    assert refusal(error) is error


@pytest.mark.parametrize(
    "error",
    [
        *(SandboxError("engine_error", words) for words in OF_THE_IMAGE.values()),
        unsuitable("has nvidia-container-cli: x"),
    ],
    ids=[*OF_THE_IMAGE, "unsuitable"],
)
def test_a_team_answers_for_an_image_that_no_host_can_start(error: SandboxError) -> None:
    refused = refusal(error)
    assert isinstance(refused, Unrunnable)
    assert (refused.verdict.reason, refused.verdict.code) == ("environment_error", "image_not_startable")


@pytest.mark.parametrize(
    ("status", "text", "code"),
    [
        (200, f'{{"errorDetail":{{"message":"{DISK_FULL}"}},"error":"{DISK_FULL}"}}\r\n', "engine_error"),
        (500, f'{{"message":"{DISK_FULL}"}}', "engine_error"),
        (200, '{"stream":"Loading"}\r\n{"error":"archive/tar: invalid tar header"}', "image_not_loaded"),
        (200, '{"error":"open /no space left on device: file exists"}', "image_not_loaded"),
        (400, "Bad Request", "image_not_loaded"),
    ],
    ids=["full disk", "full disk before it began", "bad layer", "file called as a full disk", "no JSON"],
)
def test_an_image_that_the_engine_cannot_load_is_the_teams_fault_unless_the_disk_is_full(
    status: int, text: str, code: str
) -> None:
    api: Any = SimpleNamespace(base_url="http+docker://localhost", api_version="1.41")
    answer = requests.Response()
    answer.status_code, answer._content = status, text.encode()
    api.post = lambda *_, **__: answer
    with pytest.raises(SandboxError) as error:
        engine_with(api).load_image(iter([b"tar"]))
    assert error.value.code == code


def test_an_image_that_the_engine_took_is_no_error() -> None:
    api: Any = SimpleNamespace(base_url="http+docker://localhost", api_version="1.41")
    answer = requests.Response()
    answer.status_code, answer._content = 200, b'{"stream":"Loaded image ID: sha256:0\\n"}\r\n'
    api.post = lambda *_, **__: answer
    engine_with(api).load_image(iter([b"tar"]))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            f'{RUNC}error mounting "/data/worker/cache/1/tree" to rootfs at "/app/environment": mkdir /var/lib/docker/1/merged/app: x',
            f'{RUNC}error mounting "{HIDDEN}" to rootfs at "/app/environment": mkdir /app: x',
        ),
        (f'{RUNC}exec: "/no/such/program": stat /no/such/program: no such file or directory: unknown', None),
        (
            "the worker's folder: [Errno 28] No space left: '/data/worker/runs/1/job.json'",
            f"the worker's folder: [Errno 28] No space left: '{HIDDEN}'",
        ),
        ("open /run/containerd/io.containerd.runtime.v2.task/moby/1/config.json: x", f"open {HIDDEN}: x"),
        ("write /srv/docker/tmp/layer: no space left on device", f"write {HIDDEN}: no space left on device"),
        ("/proc/self/fd/7: x", f"{HIDDEN}: x"),
        ("mkdir [/var/lib/docker/overlay2/1/merged/app]: x", "mkdir [/app]: x"),
        ("the image ghcr.io/lab/run/proc@sha256:1 takes 5 bytes; /app/output is full", None),
    ],
)
def test_an_engines_words_for_a_team_hold_no_path_of_the_host(words: str, expected: str | None) -> None:
    assert without_host_paths(words, ["/data/worker", "/srv/docker", ""]) == (expected or words)


def test_every_failure_that_is_told_in_the_engines_words_is_told_without_paths(tmp_path: Path) -> None:
    worker: Any = SimpleNamespace(
        data_dir=Path("/data/worker"), facts=SimpleNamespace(root="/srv/docker"), pool=None, host=Host()
    )
    execution = RunExecution(worker, parse_job(JOB), RunFolder(tmp_path, "lease"))
    for reason, code in (
        ("infrastructure", "engine_error"),
        ("environment_error", "image_not_startable"),
        ("setup_error", "image_unknown"),
    ):
        execution.verdict = failed(reason, code, "write /srv/docker/tmp/layer or /data/worker/x: full")
        assert execution.result({}).detail == f"write {HIDDEN} or {HIDDEN}: full"
    execution.verdict = failed("program_error", "x", "the program says /srv/docker/x")
    assert execution.result({}).detail == "the program says /srv/docker/x"
