"""A worker without root meets outputs whose program took the rights to read them away."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.unit.workers.limits import limits
from workers.agent.host.janitor import remove_run_folder
from workers.engines.docker.client import DockerEngine
from workers.engines.spec import StageSpec
from workers.errors import OutputRefused
from workers.sandbox.collect import list_output, open_folder
from workers.sandbox.output_volume import OutputVolume
from workers.sandbox.stage import StageRun
from workers.sandbox.watch import HIDDEN, TOO_LARGE, TOO_MANY_FILES
from workers.sandbox.work import WritableInputs

NOBODY = 65_534
LIMITS = limits(60, memory_bytes=1 << 27, cpus=1.0)
CONTEXT = multiprocessing.get_context("fork")  # what a test checks is a function of its own


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that a user without rights may reach, and owns."""
    path = Path(tempfile.mkdtemp(prefix="podium-", dir="/tmp"))
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    yield path
    shutil.rmtree(path)


def without_root(check: Callable[[], None]) -> None:
    """Run a check as a user without rights, in a process of its own; its failure is the test's."""

    def drop_and_check() -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
        check()

    child = CONTEXT.Process(target=drop_and_check)
    child.start()
    child.join(30)
    if child.is_alive():
        child.kill()
    assert child.exitcode == 0, "the check failed as a user without rights; see above"


def hidden_output(folder: Path, *, mode: int, size_bytes: int = 1 << 20) -> OutputVolume:
    """An output with 2 MiB in a folder of these rights, which lies in another one."""
    volume = OutputVolume(folder, "output", size_bytes=size_bytes, files=10, quota=False)
    volume.create()
    hidden = volume.path / "a" / "hidden"
    hidden.mkdir(parents=True)
    (hidden / "big").write_bytes(bytes(2 << 20))
    (hidden / "big").chmod(0)
    for path in (hidden, hidden.parent, volume.path):
        path.chmod(mode)
    return volume


@pytest.mark.parametrize("mode", [0o000, 0o300, 0o400, 0o077])
def test_what_a_program_hides_counts_for_its_limit_and_is_removed_in_the_end(folder: Path, mode: int) -> None:
    def check() -> None:
        volume = hidden_output(folder, mode=mode)
        usage = volume.usage()
        assert (usage.full, usage.hidden) == (True, None)
        assert usage.used_bytes >= 2 << 20
        volume.destroy()
        assert not volume.path.exists()

    without_root(check)


@pytest.mark.parametrize("mode", [0o000, 0o300, 0o400])
def test_a_hidden_folder_is_listed_and_removed_without_having_been_measured(folder: Path, mode: int) -> None:
    def check() -> None:
        volume = hidden_output(folder / "lease", mode=mode)
        listing = list_output(volume.path, max_files=10, max_bytes=4 << 20)
        assert [file.path for file in listing.files] == ["a/hidden/big"]
        (volume.path / "a").chmod(mode)
        remove_run_folder(folder / "lease")
        assert list(folder.iterdir()) == []

    without_root(check)


def test_folders_of_any_depth_are_removed_whatever_rights_they_have(folder: Path) -> None:
    def check() -> None:
        volume = OutputVolume(folder, "output", size_bytes=1 << 20, files=10, quota=False)
        volume.create()
        os.chdir(volume.path)
        for _ in range(60):
            os.mkdir("d" * 100)  # noqa: PTH102  its path is longer than the kernel takes
            os.chdir("d" * 100)
        Path("x").touch()
        Path().chmod(0)
        os.chdir("/")
        volume.destroy()
        assert list(folder.iterdir()) == []

    without_root(check)


def test_rights_are_given_to_no_file_that_a_link_leads_to(folder: Path) -> None:
    def check() -> None:
        for name in ("own", "output"):
            (folder / name).mkdir(mode=0o500)
        (folder / "link").symlink_to(folder / "own")
        with pytest.raises(NotADirectoryError):
            open_folder(folder / "link")
        assert stat.S_IMODE((folder / "own").stat().st_mode) == 0o500
        os.close(open_folder(folder / "output"))
        assert stat.S_IMODE((folder / "output").stat().st_mode) == 0o700

    without_root(check)


def test_a_program_that_takes_the_rights_away_again_and_again_is_ended_for_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check() -> None:
        stage = stage_over(hidden_output(folder, mode=0o700))
        (folder / "output" / "a" / "hidden").chmod(0)
        # The program is faster than the worker: no right that is given is there any more when it is used.
        monkeypatch.setattr(os, "chmod", lambda path, mode: None)
        assert stage._overgrown() == HIDDEN
        assert stage._outgrown.startswith("'/app/output/a/hidden' cannot be read")

    without_root(check)


def stage_over(
    output: OutputVolume, shared: OutputVolume | None = None, inputs: WritableInputs | None = None
) -> StageRun:
    spec = StageSpec("n", "i", ("x",), (), output.path, LIMITS, {}, "g", plain_files=shared is not None)
    return StageRun("ingestion", DockerEngine.__new__(DockerEngine), spec, output, shared=shared, inputs=inputs)


def test_each_folder_that_a_program_writes_to_is_watched(tmp_path: Path) -> None:
    source = tmp_path / "program"
    source.mkdir()
    (source / "main.py").write_text("print()")
    output, shared = (OutputVolume(tmp_path, name, size_bytes=1 << 20, files=10, quota=False) for name in ("o", "s"))
    inputs = WritableInputs(tmp_path, "inputs", False, {"/app/program": source}, owner=os.geteuid())
    for volume in (output, shared):
        volume.create()
    inputs.fill({})
    stage = stage_over(output, shared, inputs)
    assert stage._overgrown() is None
    (shared.path / "big").write_bytes(bytes(2 << 20))
    assert (stage._overgrown(), stage._outgrown) == (TOO_LARGE, "/app/shared grew beyond its limit of 1048576 bytes.")
    (shared.path / "big").unlink()
    for number in range(2100):
        (inputs.path / "program" / str(number)).touch()
    assert stage._overgrown() == TOO_MANY_FILES
    inputs.destroy()
    assert not inputs.path.exists()


def test_a_file_of_another_user_that_cannot_be_read_is_refused_by_its_path(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("without root nobody can make a file of another user")
    (folder / "sub").mkdir()
    (folder / "sub" / "answer.txt").touch(0o600)
    (folder / "sub").chmod(0o755)

    def check() -> None:
        with pytest.raises(OutputRefused, match=r"'sub/answer\.txt' cannot be read") as refused:
            list_output(folder, max_files=10, max_bytes=10)
        assert (refused.value.reason, refused.value.code) == ("output_invalid", "unreadable_output")

    without_root(check)
