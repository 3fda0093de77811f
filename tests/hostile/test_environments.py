"""A team's environment attacks its worker: the disk, other teams, and readers of its answers."""

from __future__ import annotations

import hashlib
import io
import stat
import uuid
import warnings
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.engines import IN_GVISOR, not_in_gvisor
from tests.integration.workers.harness import MIB, SCORER, SECRET, Bench, Outcome
from tests.integration.workers.mirrors import index_pages, lock_line, serving, wheel_bytes
from tests.soak import mostly_in_soak
from workers.agent.site.client import SiteClient, SiteError
from workers.errors import SandboxError
from workers.protocol.jobs import plain_file_name

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


def member(name: str, attributes: int) -> zipfile.ZipInfo:
    """A member of a zip with these attributes."""
    info = zipfile.ZipInfo(name, (2030, 1, 1, 0, 0, 0))
    info.create_system, info.external_attr = 3, attributes
    return info


def built(bench: Bench, base: str, recipe: str) -> str:
    """The name of an image that is made by this recipe."""
    apart = bench.docker.create_host_config(network_mode="none")
    container = bench.docker.create_container(
        base, entrypoint="/bin/sh", command=["-c", "command -v python3"], host_config=apart
    )["Id"]
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
        "target": "/app/environment",
        "requirements": bench.file(lock.encode(), "requirements.txt"),
        "mirror": f"{mirror}/simple/",
        "wall_s": 120.0,
        "max_bytes": ROOM,
    }
    first["mounts"].append(built_from | more)
    if image:
        first |= {"image": image, "is_image_of_team": True, "pull": "missing"}
    labels = bench.mount("/app/input/ref", {"labels.txt": SECRET}, secret=True)
    result = {"target": "/app/input/res", "stage_output": "ingestion"}
    return bench.job([first, bench.stage("scoring", [bench.program("/app/program", SCORER), labels, result])])


def installed(bench: Bench, image: str, evil: str, version: str) -> Outcome:
    """The result of a run whose image runs this program in the place of pip."""
    name, wheel = wheel_bytes("small", version, more={"small_evil.py": f"{MAKE}{evil}".encode()})
    with serving(index_pages({name: wheel})) as address:
        return bench.run(job_with(bench, lock_line("small", wheel, version), address, image=image))


def cached(bench: Bench) -> list[Path]:
    """The environments that the worker keeps, without the installer that it made them with."""
    entries = (bench.worker.data_dir / "cache" / "open").glob("*-made")
    return [entry for entry in entries if not entry.name.startswith("installer-")]


@pytest.mark.parametrize(
    ("evil", "code", "words"),
    [
        (
            "open('a', 'wb').write(bytes(1 << 20))\nfor n in range(10):\n    os.link('a', f'd/{n}')",
            "install_failed",
            "hard link",
        ),
        ("for n in range(8):\n    open(f'd/{n}', 'wb').truncate(4 << 20)", "environment_too_large", "larger than"),
        ("for n in range(5000):\n    open(f'd/{n}', 'w').close()", "environment_too_large", "files and folders"),
        ("for n in range(5000):\n    os.mkdir(f'd/{n}')", "environment_too_large", "takes "),
        ("os.symlink('/etc', 'd/etc')", "install_failed", "symbolic link"),
        pytest.param("os.mkfifo('d/pipe')", "install_failed", "not a regular file", marks=not_in_gvisor),
        ("open('d/a\\nb', 'w').close()", "install_failed", "name"),
        (
            "os.chdir('/app/output'); os.rename('packages', 'x'); os.symlink('/etc', 'packages')",
            "install_failed",
            "no folder",
        ),
        ("open('/app/installer/pip/__init__.py', 'a')", "install_failed", "'/app/installer/pip/__init__.py'"),
    ],
    ids=[
        "hard links",
        "holes",
        "empty files",
        "empty folders",
        "link",
        "pipe",
        "odd name",
        "link in its place",
        "installer",
    ],
)
def test_what_an_image_makes_in_the_place_of_packages_is_checked_before_it_is_kept(
    bench: Bench, own_pip: str, evil: str, code: str, words: str
) -> None:
    before = cached(bench)
    outcome = installed(bench, own_pip, evil, "1.0")
    assert (outcome.reason, outcome.code) == ("environment_error", code), outcome.result["detail"]
    assert words in outcome.result["detail"]
    assert cached(bench) == before


@pytest.mark.skipif(not IN_GVISOR, reason="gVisor alone keeps pipes to itself")
def test_a_pipe_that_is_made_in_gvisor_is_nowhere_outside(bench: Bench, own_pip: str) -> None:
    before = cached(bench)
    outcome = installed(bench, own_pip, "os.mkfifo('d/pipe')", "1.0")
    assert outcome.result["scores"] == {"score": 1.0}, outcome.result
    (entry,) = set(cached(bench)) - set(before)
    assert {path.name for path in (entry / "tree").rglob("*")} == {"d", "small.py"}


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
    name, wheel = wheel_bytes("small", "1.0")
    with serving(index_pages({name: wheel})) as address:
        outcome = bench.run(job_with(bench, lock_line("small", wheel), address, image=own_answer))
    assert (outcome.reason, outcome.code) == ("environment_error", "no_python"), outcome.result["detail"]


@pytest.mark.parametrize(
    "metadata",
    ["command: !!bool x", "[" * 30_000],
    ids=["bool", "deep"],
)
def test_a_metadata_file_that_no_reader_expects_is_its_teams_failure(bench: Bench, metadata: str) -> None:
    job = bench.code_job("")
    job["stages"][0]["mounts"][0] = bench.mount("/app/program", {"main.py": "", "metadata.yaml": metadata})
    outcome = bench.run(job)
    assert (outcome.reason, outcome.code) == ("program_error", "bad_metadata"), outcome.result["detail"]


def test_a_marker_that_cannot_be_compared_is_its_teams_failure(bench: Bench) -> None:
    name, wheel = wheel_bytes("small", "1.0")
    lock = lock_line("small", wheel).replace(" --hash", ' ; python_version ~= "abc" --hash')
    with serving(index_pages({name: wheel})) as address:
        outcome = bench.run(job_with(bench, lock, address))
    assert (outcome.reason, outcome.code) == ("environment_error", "requirements_invalid"), outcome.result["detail"]
    assert "line 1" in outcome.result["detail"]


# --- wheels that attack whoever installs or uses them

LINK_MODE = (stat.S_IFLNK | 0o777) << 16
SETUID_MODE = (stat.S_IFREG | 0o6755) << 16
SPEAKS_UP = b"""
import os, sys
for folder in ("/app/output", "/app/environment", "/app/input/ref", "/app/program"):
    try:
        open(folder + "/spoke-up.txt", "w").write(sys.argv[0] if sys.argv else "")
    except OSError:
        pass
"""
BOMB = bytes(64 * MIB)
INFO = "small-1.0.dist-info"
# Further members of a wheel, by path or as a description of the member.
EVIL: dict[str, list[tuple[str | zipfile.ZipInfo, bytes]]] = {
    "sitecustomize": [("sitecustomize.py", SPEAKS_UP), ("usercustomize.py", SPEAKS_UP)],
    "a .pth file": [("evil.pth", b"import os; open('/app/output/pth.txt', 'w').write('ran')\n")],
    "pip in the place of pip": [
        ("pip/__init__.py", SPEAKS_UP),
        ("pip/__main__.py", SPEAKS_UP),
        ("packaging/__init__.py", SPEAKS_UP),
    ],
    "a path that leaves": [("../outside.py", b"VALUE = 1\n")],
    "an absolute path": [("/app/output/absolute.py", b"VALUE = 1\n")],
    "backslashes": [("..\\\\outside.py", b"VALUE = 1\n")],
    "a NUL in a name": [("a\0b.py", b"VALUE = 1\n")],
    "a link": [(member("small_link", LINK_MODE), b"/etc/passwd")],
    "a link and a file behind it": [(member("out", LINK_MODE), b"/app/output"), ("out/through.py", b"VALUE = 1\n")],
    "set-user-ID": [(member("small_run", SETUID_MODE), b"#!/bin/sh\n")],
    "scripts": [("small-1.0.data/scripts/small-run", b"#!python\nprint(1)\n")],
    "data beside the packages": [
        ("small-1.0.data/data/etc/small.conf", b"x"),
        ("small-1.0.data/headers/small.h", b"x"),
    ],
    "data that leaves": [("small-1.0.data/data/../../../outside.txt", b"x")],
    "a scheme of its own": [("small-1.0.data/evil/x", b"x")],
    "entry points with line breaks": [
        (f"{INFO}/entry_points.txt", b"[console_scripts]\n../../x = small:main\ny\\nz = os:system\n")
    ],
    "deep folders": [("/".join(["d"] * 60) + "/deep.py", b"x")],
    "an odd name": [("small_\u202etxt.py", b"x")],
    "a bomb": [("bomb.bin", BOMB)],
    "metadata of another package": [(f"{INFO}/METADATA", b"Metadata-Version: 2.1\nName: other\nVersion: 9\n")],
    "metadata that nests": [
        (f"{INFO}/METADATA", b"Metadata-Version: 2.1\nName: small\nVersion: 1.0\nRequires-Dist: a; " + b"(" * 50_000)
    ],
}


ALWAYS = (
    "sitecustomize",
    "pip in the place of pip",
    "a path that leaves",
    "a link",
    "set-user-ID",
    "a bomb",
    "metadata of another package",
)
RUN_TOO = ("sitecustomize", "a .pth file", "pip in the place of pip")
# Code of the refusal; the others are installed, for their own team alone.
REFUSED = dict.fromkeys(
    (
        "a path that leaves",
        "an absolute path",
        "backslashes",
        "a link and a file behind it",
        "data that leaves",
        "a scheme of its own",
        "entry points with line breaks",
        "deep folders",
        "an odd name",
        "a bomb",
        "metadata of another package",
        "metadata that nests",
    ),
    "install_failed",
)


@pytest.mark.parametrize("name", mostly_in_soak(EVIL, always=ALWAYS))
def test_an_evil_wheel_harms_nobody_but_its_team(bench: Bench, name: str) -> None:
    """It is refused, or installed for its own team alone.

    The worker is not at fault, no file outside its folder changes, and the scorer hears nothing.
    """
    before = cached(bench)
    file_name, wheel = wheel_bytes("small", "1.0")
    evil = io.BytesIO(wheel)
    with zipfile.ZipFile(evil, "a", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        for path, content in EVIL[name]:
            archive.writestr(path, content)
    with serving(index_pages({file_name: evil.getvalue()})) as address:
        execution = bench.prepared(job_with(bench, lock_line("small", evil.getvalue()), address))
    verdict, code = execution.verdict, REFUSED.get(name, "")
    if name == "a bomb" and not bench.worker.quota:  # it is ended before it fails by itself
        code = "environment_too_large"
    assert ("" if verdict is None else verdict.code) == code, verdict
    if name in RUN_TOO:
        outcome = bench.see_through(execution)
        assert outcome.result["scores"] == {"score": 1.0}, outcome.result
        assert set(outcome.archived()) <= {"answer.txt", "spoke-up.txt"}
        assert set(outcome.archived("scoring.zip")) == {"scores.json"}, "nothing of it runs beside the scoring program"
    else:
        execution.destroy()
    for entry in set(cached(bench)) - set(before):
        paths = list((entry / "tree").rglob("*"))
        assert not [path for path in paths if path.is_symlink() or path.lstat().st_mode & 0o7000]
    assert not Path("/outside.py").exists()
    assert not Path("/tmp/outside.py").exists()


@pytest.mark.parametrize("lies", ["the page", "the file", "both digests are in the list"])
def test_digests_that_lie_are_found_out(bench: Bench, lies: str) -> None:
    name, good = wheel_bytes("small", "1.0")
    _, evil = wheel_bytes("small", "1.0", more={"evil.py": b""})
    pages = index_pages({name: evil if lies == "the page" else good})
    if lies == "the page":  # it says the good one's digest, and has the other
        has, says = (hashlib.sha256(content).hexdigest().encode() for content in (evil, good))
        pages = {path: page.replace(has, says) for path, page in pages.items()}
    if lies == "the file":  # the page says nothing of digests
        pages = index_pages({name: evil}, hashes=False)
    lock = lock_line("small", good)
    if lies == "both digests are in the list":
        lock = lock.strip() + lock_line("small", evil).removeprefix("small==1.0")
    with serving(pages) as address:
        outcome = bench.run(job_with(bench, lock, address))
    if lies == "both digests are in the list":
        assert outcome.result["scores"] == {"score": 1.0}, outcome.result
    else:
        assert (outcome.reason, outcome.code) == ("environment_error", "bad_hash"), outcome.result["detail"]


# --- two teams, one worker


def test_one_team_cannot_put_packages_into_the_environment_of_another_with_the_same_list(
    bench: Bench, own_pip: str
) -> None:
    """The packages that its image made are kept for that image alone, whoever comes first."""
    name, wheel = wheel_bytes("small", "7.0", more={"small_evil.py": f"{MAKE}".encode()})
    lock = lock_line("small", wheel, "7.0")
    with serving(index_pages({name: wheel})) as address:
        evil = bench.run(job_with(bench, lock, address, image=own_pip))
        honest = bench.run(job_with(bench, lock, address))
        again = bench.run(job_with(bench, lock, address, image=own_pip))
    assert evil.result["scores"] == {"score": 1.0}, evil.result
    assert honest.result["scores"] == {"score": 7.0}, honest.result
    assert again.result["scores"] == {"score": 1.0}, again.result


def test_a_program_cannot_change_the_environment_that_others_share(bench: Bench) -> None:
    name, wheel = wheel_bytes("small", "8.0")
    lock = lock_line("small", wheel, "8.0")
    tries = """
import os, pathlib
for act in (
    lambda: open('/app/environment/small.py', 'w').write('VALUE = "0"'), lambda: os.remove('/app/environment/small.py'),
    lambda: os.chmod('/app/environment', 0o777), lambda: os.mkdir('/app/environment/x'), lambda: os.symlink('/', '/app/environment/y'),
    lambda: os.link('/app/environment/small.py', '/app/output/z'), lambda: os.utime('/app/environment/small.py'),
):
    try:
        act()
        print('CHANGED')
    except OSError:
        pass
"""
    with serving(index_pages({name: wheel})) as address:
        first = bench.run(job_with(bench, lock, address, f"{tries}{PROGRAM}"))
        second = bench.run(job_with(bench, lock, address))
    assert "CHANGED" not in first.log
    assert [run.result["scores"] for run in (first, second)] == [{"score": 8.0}] * 2


def test_a_build_that_one_team_breaks_off_is_made_whole_for_another(bench: Bench) -> None:
    name, wheel = wheel_bytes("small", "9.0", modules=500)
    lock = lock_line("small", wheel, "9.0")
    with serving(index_pages({name: wheel})) as address:
        first = bench.claimed(job_with(bench, lock, address))
        second = bench.claimed(job_with(bench, lock, address))
        with ThreadPoolExecutor(2) as pool:
            building = pool.submit(first.prepare)
            waiting = pool.submit(second.prepare)
            first.cancel("cancelled")
            building.result()
            waiting.result()
        cancelled = bench.see_through(first, alone=False)
        outcome = bench.see_through(second)
    assert cancelled.result["outcome"] == "cancelled"
    assert outcome.result["scores"] == {"score": 9.0}, outcome.result


# --- weights

WEIGHTS_PROGRAM = """
import hashlib, os, pathlib
folder = pathlib.Path('/app/weights')
found = list(folder.rglob('*'))
print(len(found), [path.is_file() and not path.is_symlink() for path in found], oct(found[0].stat().st_mode))
print(hashlib.sha256(found[0].read_bytes()).hexdigest())
pathlib.Path('/app/output/answer.txt').write_text('1')
"""
PICKLE = b"cposix\nsystem\n(S'touch /tmp/pickled'\ntR."
LINKS = io.BytesIO()
with zipfile.ZipFile(LINKS, "w") as links:
    links.writestr("../../outside.py", "x")
    links.writestr(member("link", LINK_MODE), "/etc/passwd")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.zip", LINKS.getvalue()),
        ("model.pkl", PICKLE),
        ("sitecustomize.py", SPEAKS_UP),
        ("../../../etc/passwd", b"x"),
        ("..", b"x"),
        ("a\nb\0c", b"x"),
        ("empty", b""),
    ],
    ids=["archive", "pickle", "sitecustomize", "path", "parent", "line break", "empty"],
)
def test_weights_are_one_opaque_file_whatever_they_hold_or_are_called(bench: Bench, name: str, content: bytes) -> None:
    files: dict[str, str | bytes] = {"main.py": WEIGHTS_PROGRAM, "metadata.yaml": "command: python3 $program/main.py\n"}
    first = bench.stage("ingestion", [bench.mount("/app/program", files)])
    first["mounts"].append(
        {"target": "/app/weights", "file": bench.file(content, plain_file_name(name)), "unpack": False}
    )
    labels = bench.mount("/app/input/ref", {"labels.txt": SECRET}, secret=True)
    result = {"target": "/app/input/res", "stage_output": "ingestion"}
    scoring = bench.stage("scoring", [bench.program("/app/program", SCORER), labels, result])
    outcome = bench.run(bench.job([first, scoring]))
    assert outcome.result["scores"] == {"score": 1.0}, outcome.log
    assert outcome.log.splitlines() == ["1 [True] 0o100644", hashlib.sha256(content).hexdigest()]
    assert set(outcome.archived()) == {"answer.txt"}
    assert not Path("/tmp/pickled").exists()


@pytest.mark.parametrize("claimed", [{"size_bytes": 1}, {"sha256": "0" * 64}], ids=["size", "digest"])
def test_weights_that_are_others_than_the_site_says_are_not_used(tmp_path: Path, claimed: dict[str, Any]) -> None:
    content = b"weights"
    sent: dict[str, Any] = {"sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)} | claimed
    with serving({"/w": content}) as address:
        client = SiteClient(address, "token")
        with pytest.raises((SandboxError, SiteError)):
            client.download(f"{address}/w", tmp_path / "w", **sent, patience_s=0, stop=lambda: False)
