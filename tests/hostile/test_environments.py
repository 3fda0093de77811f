"""What a team brings for its code attacks the worker that installs it: its disk, its other teams, and whoever reads what it says."""

from __future__ import annotations

import io
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.workers.harness import MIB, SCORER, SECRET, Bench, Outcome
from tests.integration.workers.mirrors import index_of, lock_line, serving, wheel_of

pytestmark = pytest.mark.timeout(240)
ROOM = 16 * MIB
PROGRAM = "import pathlib, small\npathlib.Path('/app/output/answer.txt').write_text(small.VALUE)\n"
# A python3 that says what Python it is, and in the place of pip runs what lies in a wheel of its team.
OWN_PIP = """
FROM {base}
LABEL podium.test={unique}
USER root
RUN printf '#!/bin/sh\\ncase "$*" in *pip*) exec {python} -c "import glob, zipfile; exec(zipfile.ZipFile(\\
glob.glob(\\\\"/app/wheels/wheels/*\\\\")[0]).read(\\\\"small_evil.py\\\\"))";; *) exec {python} "$@";; esac\\n' \\
    > /usr/local/sbin/python3 && chmod 755 /usr/local/sbin/python3
"""
OWN_ANSWER = """
FROM {base}
LABEL podium.test={unique}
USER root
RUN printf '#!/bin/sh\\nhead -c 500000 /dev/zero | tr "\\\\\\\\0" "[" > /app/output/python.json\\n' \\
    > /usr/local/sbin/python3 && chmod 755 /usr/local/sbin/python3
"""
MAKE = "import os\nos.makedirs('/app/output/packages/d')\nos.chdir('/app/output/packages')\nopen('small.py', 'w').write('VALUE = \"1\"')\n"


def built(bench: Bench, base: str, recipe: str) -> str:
    """The name of an image that is made by this recipe."""
    container = bench.docker.create_container(base, entrypoint="/bin/sh", command=["-c", "command -v python3"])["Id"]
    bench.docker.start(container)
    bench.docker.wait(container)
    python = bench.docker.logs(container).decode().strip()
    bench.docker.remove_container(container)
    tag = f"podium-test/{uuid.uuid4().hex[:12]}:1"
    text = recipe.replace("{base}", base).replace("{unique}", uuid.uuid4().hex).replace("{python}", python)
    for line in bench.docker.build(
        fileobj=io.BytesIO(text.encode()), tag=tag, rm=True, decode=True, network_mode="none"
    ):
        assert "error" not in line, line
    return tag


@pytest.fixture(scope="module")
def own_pip(bench: Bench, runtime_image: str) -> Iterator[str]:
    """A team's image whose python3 runs what its team likes in the place of pip."""
    tag = built(bench, runtime_image, OWN_PIP)
    yield tag
    bench.docker.remove_image(tag, force=True)


@pytest.fixture(scope="module")
def own_answer(bench: Bench, runtime_image: str) -> Iterator[str]:
    """A team's image whose python3 answers every question with 500 kB of brackets."""
    tag = built(bench, runtime_image, OWN_ANSWER)
    yield tag
    bench.docker.remove_image(tag, force=True)


def job_with(
    bench: Bench, lock: str, mirror: str, program: str = PROGRAM, *, image: str = "", **more: Any
) -> dict[str, Any]:
    """A job of code whose packages are installed from this list, in this image of its team."""
    files: dict[str, str | bytes] = {"main.py": program, "metadata.yaml": "command: python3 $program/main.py\n"}
    first = bench.stage("ingestion", [bench.mount("/app/program", files)])
    built_from = {
        "target": "/app/environment", "requirements": bench.file(lock.encode(), "requirements.txt"), "mirror": f"{mirror}/simple/",
        "wall_s": 120.0, "max_bytes": ROOM,
    }  # fmt: skip
    first["mounts"].append(built_from | more)
    if image:
        first |= {"image": image, "is_image_of_team": True, "pull": "missing"}
    labels = bench.mount("/app/input/ref", {"labels.txt": SECRET}, secret=True)
    result = {"target": "/app/input/res", "stage_output": "ingestion"}
    return bench.job([first, bench.stage("scoring", [bench.program("/app/program", SCORER), labels, result])])


def installed(bench: Bench, image: str, evil: str, version: str) -> Outcome:
    """What comes of a run whose image runs this program in the place of pip."""
    name, wheel = wheel_of("small", version, more={"small_evil.py": f"{MAKE}{evil}".encode()})
    with serving(index_of({name: wheel})) as address:
        return bench.run(job_with(bench, lock_line("small", wheel, version), address, image=image))


def cached(bench: Bench) -> list[Path]:
    """The environments that the worker keeps."""
    return list((bench.worker.data_dir / "cache" / "open").glob("*-made"))


@pytest.mark.parametrize(
    ("evil", "code", "words"),
    [
        (
            "open('a', 'wb').write(bytes(1 << 20))\nfor n in range(60):\n    os.link('a', f'd/{n}')",
            "install_failed",
            "hard link",
        ),
        ("for n in range(8):\n    open(f'd/{n}', 'wb').truncate(4 << 20)", "environment_too_large", "larger than"),
        ("for n in range(5000):\n    open(f'd/{n}', 'w').close()", "environment_too_large", "files and folders"),
        ("for n in range(5000):\n    os.mkdir(f'd/{n}')", "environment_too_large", "takes more"),
        ("os.symlink('/etc', 'd/etc')", "install_failed", "symbolic link"),
        ("os.mkfifo('d/pipe')", "install_failed", "no regular file"),
        ("open('d/a\\nb', 'w').close()", "install_failed", "name"),
        (
            "os.chdir('/app/output'); os.rename('packages', 'x'); os.symlink('/etc', 'packages')",
            "install_failed",
            "no folder",
        ),
    ],
    ids=["hard links", "holes", "empty files", "empty folders", "link", "pipe", "odd name", "link in its place"],
)
def test_what_an_image_makes_in_the_place_of_packages_is_checked_before_it_is_kept(
    bench: Bench, own_pip: str, evil: str, code: str, words: str
) -> None:
    before = cached(bench)
    outcome = installed(bench, own_pip, evil, "1.0")
    assert (outcome.reason, outcome.code) == ("environment_error", code), outcome.result["detail"]
    assert words in outcome.result["detail"]
    assert cached(bench) == before


def test_no_file_of_an_environment_lends_rights_to_whoever_runs_it(bench: Bench, own_pip: str) -> None:
    before = cached(bench)
    evil = "open('run', 'w').write('#!/bin/sh')\nos.chmod('run', 0o6755)\nos.chmod('d', 0o7777)\nos.chmod('.', 0o3755)"
    outcome = installed(bench, own_pip, evil, "2.0")
    assert outcome.result["scores"] == {"score": 1.0}, outcome.result
    (entry,) = set(cached(bench)) - set(before)
    modes = [path.lstat().st_mode for path in [entry / "tree", *(entry / "tree").rglob("*")]]
    assert len(modes) == 4
    assert [oct(mode) for mode in modes if stat.S_IMODE(mode) & 0o7000] == []


def test_an_image_that_answers_with_brackets_is_its_teams_failure(bench: Bench, own_answer: str) -> None:
    name, wheel = wheel_of("small", "1.0")
    with serving(index_of({name: wheel})) as address:
        outcome = bench.run(job_with(bench, lock_line("small", wheel), address, image=own_answer))
    assert (outcome.reason, outcome.code) == ("environment_error", "no_python"), outcome.result["detail"]


@pytest.mark.parametrize(
    "metadata",
    ["command: !!bool x", 'command: !!int ""', "command: !!timestamp x", "[" * 30_000],
    ids=["bool", "int", "time", "deep"],
)
def test_a_metadata_file_that_no_reader_expects_is_its_teams_failure(bench: Bench, metadata: str) -> None:
    job = bench.code_job("")
    job["stages"][0]["mounts"][0] = bench.mount("/app/program", {"main.py": "", "metadata.yaml": metadata})
    outcome = bench.run(job)
    assert (outcome.reason, outcome.code) == ("program_error", "bad_metadata"), outcome.result["detail"]


def test_a_marker_that_cannot_be_compared_is_its_teams_failure(bench: Bench) -> None:
    name, wheel = wheel_of("small", "1.0")
    lock = lock_line("small", wheel).replace(" --hash", ' ; python_version ~= "abc" --hash')
    with serving(index_of({name: wheel})) as address:
        outcome = bench.run(job_with(bench, lock, address))
    assert (outcome.reason, outcome.code) == ("environment_error", "requirements_invalid"), outcome.result["detail"]
    assert "line 1" in outcome.result["detail"]
