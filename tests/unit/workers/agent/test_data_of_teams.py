"""An exception over a team's data is a refusal of the data, and no fault of the worker."""

from __future__ import annotations

import errno
import io
import json
import os
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workers.agent.environments.building import read_answer
from workers.agent.environments.wheels import EnvironmentRefused
from workers.agent.runs.archive import ArchiveRefused, unpack
from workers.agent.runs.command import CommandMissing, read_command
from workers.errors import Judged, OutputRefused, SandboxError, reading
from workers.sandbox.collect import list_output, read_bounded
from workers.sandbox.scores import ScoresInvalid, read_progress, read_refusal, read_scores

ANSWER = {
    "tags": ["py3-none-any"],
    "values": {"python_version": "3.11", "implementation_name": "cpython", "platform_machine": "x86_64"},
}
DEEP = b"[" * 500_000
MONSTERS = {
    "deep": DEEP,
    "deep object": b'{"a":' * 100_000,
    "huge number": b"9" * 5000,
    "list": b"[]",
    "null": b"null",
    "lone surrogate": b'{"tags": ["\\ud800"], "values": {}}',
    "not UTF-8": b"\xff\xfe",
    "NUL": b"\0" * 100,
    "true": b"!!bool x",
    "empty integer": b'command: !!int ""',
    "no moment": b"command: !!timestamp x",
    "character beyond all": b'command: "\\UFFFFFFFF"',
    "NaN": b'{"score": NaN, "fraction": NaN, "message": 1}',
    "huge float": b'{"score": 1e999, "fraction": 1e999}',
    "huge integer": b'{"score": ' + b"9" * 400 + b', "fraction": ' + b"9" * 400 + b"}",
    "merge": b"command: {<<: 1}",
}


def changed(**values: object) -> bytes:
    return json.dumps(ANSWER | {"values": ANSWER["values"] | values}).encode()  # type: ignore[operator]


def unpack_file(folder: Path) -> None:
    unpack(folder / "file", folder / "unpacked")


READERS: dict[str, tuple[str, Callable[[Path], object], tuple[type[Judged], ...]]] = {
    "an image's answer": ("python.json", read_answer, (EnvironmentRefused,)),
    "a program's metadata": ("metadata.yaml", lambda folder: read_command(folder, "scoring"), (CommandMissing,)),
    "an archive": ("file", unpack_file, (ArchiveRefused,)),
    "scores": ("scores.json", lambda folder: read_scores(folder, ["score"]), (ScoresInvalid,)),
    "scores as text": ("scores.txt", lambda folder: read_scores(folder, ["score"]), (ScoresInvalid,)),
    "a refusal": ("refusal.json", read_refusal, ()),
    "progress": ("progress.json", read_progress, ()),
}


@pytest.mark.parametrize("content", MONSTERS.values(), ids=MONSTERS)
@pytest.mark.parametrize("reader", READERS)
def test_no_content_makes_a_reader_raise_anything_but_its_refusal(tmp_path: Path, reader: str, content: bytes) -> None:
    name, read, refusals = READERS[reader]
    (tmp_path / name).write_bytes(content)
    with suppress(*refusals):
        read(tmp_path)


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode(errors="replace")))
)
def test_no_random_content_makes_a_reader_raise_anything_but_its_refusal(
    tmp_path: Path, reader: str, content: bytes
) -> None:
    name, read, refusals = READERS[reader]
    (tmp_path / name).write_bytes(content)
    with suppress(*refusals):
        read(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        changed(python_version="3.8"),
        changed(python_version="3.99"),
        changed(python_version="2.7"),
        changed(python_version=3.11),
        changed(python_version="3.11\n"),
        changed(python_version="3.1\u0661"),
        changed(implementation_name="graalpy"),
        changed(platform_machine="mips"),
        changed(platform_machine=["x86_64"]),
        changed(implementation_name={"a": 1}),
        b'{"tags": ["a-b-c-d"], "values": {}}',
        b'{"tags": {"a": 1}, "values": {}}',
        b'{"tags": ["py3-none-any"], "values": []}',
    ],
)
def test_an_image_whose_python_is_none_that_lists_are_read_for_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "python.json").write_bytes(content)
    with pytest.raises(EnvironmentRefused) as refused:
        read_answer(tmp_path)
    assert refused.value.code == "no_python"
    assert "\n" not in refused.value.detail


def test_an_image_that_says_what_python_it_has_is_believed_that_alone(tmp_path: Path) -> None:
    (tmp_path / "python.json").write_bytes(changed(sys_platform="win32", python_full_version="x"))
    answer = read_answer(tmp_path)
    assert (answer.python.minor, answer.python.machine, [str(tag) for tag in answer.tags]) == (
        11,
        "x86_64",
        ["py3-none-any"],
    )


@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda path: path.symlink_to("/etc/passwd"), os.mkdir], ids=["pipe", "link", "folder"]
)
def test_an_answer_that_is_no_file_is_refused(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "python.json")
    with pytest.raises(EnvironmentRefused):
        read_answer(tmp_path)


def test_an_archive_whose_member_cannot_be_unpacked_is_refused(tmp_path: Path) -> None:
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", method) as archive:
            archive.writestr("a", b"x" * 100)
        content = bytearray(packed.getvalue())
        content[35:45] = b"\xff" * 10
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(ArchiveRefused):
            unpack(tmp_path / "file", tmp_path / f"unpacked-{method}")


def test_what_tells_of_the_host_is_no_refusal(tmp_path: Path) -> None:
    def refused(words: str) -> Judged:
        return OutputRefused("output_invalid", "x", words)

    for fault in (
        OSError(errno.ENOSPC, "full"),
        OSError(errno.EIO, "broken"),
        OSError(errno.EMFILE, "many"),
        MemoryError(),
    ):
        with pytest.raises(type(fault)), reading(refused):
            raise fault
    with pytest.raises(SandboxError), reading(refused):
        raise SandboxError("engine_unreachable", "it is away")
    with pytest.raises(OutputRefused, match="File name too long") as refusal, reading(refused):
        (tmp_path / ("x" * 300)).write_text("")
    assert str(tmp_path) not in str(refusal.value)


def test_a_folder_in_the_place_of_a_file_is_the_programs_failure(tmp_path: Path) -> None:
    (tmp_path / "scores.json").mkdir()
    with pytest.raises(OutputRefused):
        read_bounded(tmp_path, "scores.json", 10)
    with pytest.raises(OutputRefused):
        list_output(tmp_path / "none", max_files=1, max_bytes=1)
