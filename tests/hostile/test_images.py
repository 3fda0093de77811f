"""An image's own declarations give a program no place, time or privilege beside its run's."""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable, Iterator

import pytest

from tests.engines import TestedEngine, hand_over
from tests.hostile.programs.answer import ANSWER
from tests.integration.workers.harness import MIB, Bench, Outcome
from workers.engines.docker.client import DockerEngine
from workers.engines.spec import slot_uid
from workers.errors import SandboxError
from workers.protocol.jobs import PullPolicy

BuildImage = Callable[[str], str]
FILL = """
import os
for folder in {folders}:
    written = 0
    try:
        with open(folder + '/big', 'wb', buffering=0) as file:
            while written < 64:
                if file.write(bytes(1 << 20)) < 1 << 20:
                    raise OSError(28, 'short')
                written += 1
    except OSError as error:
        print(folder, 'stopped at', written, 'by', error.errno)
    else:
        print(folder, 'FILLED')
    try:
        os.remove(folder + '/big')
    except OSError:
        pass
    program = folder + '/program'
    try:
        with open(program, 'w') as file:
            file.write('#!/bin/sh\\n')
        os.chmod(program, 0o755)
        os.execv(program, [program]) if os.fork() == 0 else os.wait()
    except OSError as error:
        print(folder, 'exec', error.errno, flush=True)
        if os.getpid() != PARENT:
            os._exit(0)
"""


@pytest.fixture
def build_image(bench: Bench, tested: TestedEngine) -> Iterator[BuildImage]:
    """Makes an image of the runtime image and further lines of a Dockerfile; removed afterwards.

    Podman's own builder makes none with odd volumes, but Podman runs those that Docker made.
    """
    builder = DockerEngine().api if tested.name.startswith("podman") else bench.docker
    built: list[str] = []

    def build(lines: str) -> str:
        tag = f"podium-test/{bench.worker.key}:{len(built)}"
        unique = uuid.uuid4().hex  # tests beside this one remove images of the same content
        text = f"FROM {tested.image}\nLABEL podium.test={unique}\nUSER root\n{lines}\n".encode()
        for line in builder.build(fileobj=io.BytesIO(text), tag=tag, rm=True, decode=True, network_mode="none"):
            assert "error" not in line, line
        built.append(tag)
        if builder is not bench.docker:
            hand_over(tag, tested.url)
        return tag

    yield build
    for tag in built:
        for engine in {builder, bench.docker}:
            engine.remove_image(tag, force=True)


def run_in(bench: Bench, image: str, source: str, **limits: float) -> Outcome:
    """Run a submission in another image; asserts that its containers have no volume of the engine's."""
    job = bench.code_job(source, **limits)
    job["stages"][0]["image"] = image
    execution = bench.prepared(job)
    for stage in execution.staged.stages.values():
        if stage.container:
            mounts = bench.docker.inspect_container(stage.container)["Mounts"]
            assert [mount for mount in mounts if mount["Type"] == "volume"] == []
    return bench.see_through(execution)


def test_declared_volumes_are_bounded_and_run_nothing(bench: Bench, build_image: BuildImage) -> None:
    image = build_image(
        "RUN mkdir -p /data /run/deep && chmod 777 /data /run/deep && echo hidden > /data/inside\n"
        'VOLUME ["/data", "//data/", "/run/x/../deep", "/var/tmp"]'
    )
    folders = "['/data', '/run/deep', '/var/tmp', '/dev/shm', '/dev/mqueue', '/run', '/dev', '/var/lib']"
    source = (
        "import os\nPARENT = os.getpid()\nprint(os.listdir('/data'))\n" + FILL.replace("{folders}", folders) + ANSWER
    )
    outcome = run_in(bench, image, source, tmp_bytes=8 * MIB, memory_bytes=256 * MIB)
    assert outcome.result["scores"] == {"score": 0.5}, outcome.log
    for folder in ("/data", "/run/deep", "/var/tmp"):
        assert f"{folder} stopped at 8 by 28" in outcome.log, outcome.log
        assert f"{folder} exec 13" in outcome.log, outcome.log
    for folder in ("/run", "/var/lib", "/dev"):
        assert f"{folder} stopped at 0 by" in outcome.log, outcome.log
    assert "/dev/shm exec 13" in outcome.log, outcome.log
    assert "FILLED" not in outcome.log
    assert any("declares volumes" in note for note in outcome.result["notes"])


@pytest.mark.parametrize(
    ("volume", "words"),
    [
        ("/etc", "the system folder /etc"),  # small: the engine copies what an image has there
        ("/proc/x", "the system folder /proc/x"),
        ("/app/program/cache", "inside a folder that Podium mounts"),
        ("data/x", "'data/x', which is not an absolute path"),
    ],
)
def test_an_image_whose_volume_cannot_be_covered_is_refused(
    bench: Bench, build_image: BuildImage, volume: str, words: str
) -> None:
    outcome = run_in(bench, build_image(f"VOLUME {volume}"), ANSWER)
    assert (outcome.reason, outcome.code) == ("setup_error", "image_unsuitable")
    assert words in outcome.result["detail"]


def test_health_checks_users_and_variables_of_an_image_change_nothing(bench: Bench, build_image: BuildImage) -> None:
    image = build_image(
        "HEALTHCHECK --interval=1s CMD touch /tmp/healthy\nUSER 0\nSTOPSIGNAL SIGUSR1\nENV USER=root\n"
        'LABEL podium.lease=other podium.worker=other\nENTRYPOINT ["/usr/bin/env", "STARTED=1"]\nONBUILD RUN false'
    )
    source = "import os, time\ntime.sleep(2)\nprint(os.path.exists('/tmp/healthy'), os.getuid())\n"
    source += "print(os.environ['USER'], os.environ['STARTED'])\n"
    outcome = run_in(bench, image, source + ANSWER)
    assert outcome.log == f"False {slot_uid(bench.worker.key, 0)}\nrunner 1\n"
    assert outcome.result["scores"] == {"score": 0.5}


def test_a_container_has_no_label_of_its_image_by_which_tools_of_the_host_would_find_it(
    bench: Bench, build_image: BuildImage
) -> None:
    project = uuid.uuid4().hex
    image = build_image(
        f"LABEL com.docker.compose.project={project} com.docker.compose.service=web com.docker.compose.oneoff=False podium.lease=other"
    )
    job = bench.code_job(ANSWER)
    job["stages"][0]["image"] = image
    execution = bench.prepared(job)
    container = execution.staged.stages["ingestion"].container
    labels = bench.docker.inspect_container(container)["Config"]["Labels"]
    assert {key: value for key, value in labels.items() if value and not key.startswith("podium.")} == {}
    assert labels["podium.lease"] == execution.folder.lease
    found_by_tools = bench.docker.containers(all=True, filters={"label": f"com.docker.compose.project={project}"})
    assert found_by_tools == []
    assert bench.see_through(execution).result["scores"] == {"score": 0.5}


def test_variables_that_loaders_and_hooks_obey_reach_the_program_and_nothing_before_it(
    bench: Bench, build_image: BuildImage
) -> None:
    image = build_image(
        "ENV LD_LIBRARY_PATH=/opt/own LD_AUDIT=/nowhere.so NVIDIA_DRIVER_CAPABILITIES=all\n"
        "ENV CUDA_HOME=/usr/local/cuda GLIBC_TUNABLES=x OTHER=kept"
    )
    source = (
        "import os\nbefore = open('/proc/1/environ').read().split('\\0')\n"
        "names = ('LD_', 'NVIDIA_', 'CUDA_', 'GLIBC_', 'OTHER')\n"
        "print(sorted(pair for pair in before if pair.startswith(names)))\n"
        "print(sorted(f'{k}={v}' for k, v in os.environ.items() if k.startswith(names)))\n"
    )
    outcome = run_in(bench, image, source + ANSWER)
    before, inside = outcome.log.splitlines()[-2:]
    assert before == "['NVIDIA_VISIBLE_DEVICES=void', 'OTHER=kept']"
    assert inside == (
        "['CUDA_HOME=/usr/local/cuda', 'GLIBC_TUNABLES=x', 'LD_AUDIT=/nowhere.so', 'LD_LIBRARY_PATH=/opt/own', "
        "'NVIDIA_VISIBLE_DEVICES=void', 'OTHER=kept']"
    )
    assert outcome.result["scores"] == {"score": 0.5}


def test_an_image_without_a_shell_runs_with_two_streams(
    bench: Bench, build_image: BuildImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = build_image("RUN rm /bin/sh")
    outcome = run_in(bench, image, "import sys\nprint('out')\nprint('err', file=sys.stderr)\n" + ANSWER)
    assert sorted(outcome.log.splitlines()) == ["err", "out"]
    facts = bench.worker.engine.find_image(image)
    assert facts is not None
    assert not facts.has_shell


def test_both_streams_of_a_program_keep_their_order(bench: Bench) -> None:
    source = """
import os
for number in range(3000):
    os.write(1 + number % 2, b'%d\\n' % number)
"""
    outcome = bench.run(bench.code_job(source + ANSWER))
    assert outcome.log.split() == [str(number) for number in range(3000)]


def test_a_command_that_the_image_does_not_have_is_its_authors_failure(bench: Bench) -> None:
    job = bench.code_job("")
    job["stages"][0]["mounts"][0] = bench.mount("/app/program", {"metadata.yaml": "command: pyhton3 main.py\n"})
    outcome = bench.run(job)
    assert (outcome.reason, outcome.code) == ("program_error", "exit_code")
    assert "pyhton3" in outcome.log


def test_a_missing_image_is_no_image(bench: Bench) -> None:
    with pytest.raises(SandboxError, match="none-such"):
        bench.worker.engine.ensure_image("podium-test/none-such:1", PullPolicy.NEVER)
