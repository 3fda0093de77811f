"""Zips that must not, or cannot, be unpacked."""

import contextlib
import errno
import io
import re
import stat
import struct
import tempfile
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.refusals import InvalidFile
from files import archives
from files.archives import ArchiveLimits, check_zip
from tests.scenario import zip_bytes
from tests.soak import examples
from workers.agent.runs.archive import unpack

LIMITS = ArchiveLimits(unpacked_bytes=1_000_000, files=20, ratio=100)


def refusal_code(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(InvalidFile) as refusal:
        check_zip(path, limits=LIMITS, what="The submission 'x.zip'")
    assert refusal.value.detail.startswith("The submission 'x.zip'")
    return refusal.value.code


def test_a_disk_that_fails_is_the_fault_of_no_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, reads = tmp_path / "x.zip", 0
    path.write_bytes(zip_bytes({"a.txt": "hello"}))

    class FailingFile(archives._BoundedFile):
        def read(self, size: int | None = -1, /) -> bytes:
            nonlocal reads
            if (reads := reads - 1) < 0:
                raise OSError(errno.EIO, "Input/output error")
            return super().read(size)

    monkeypatch.setattr(archives, "_BoundedFile", FailingFile)
    for reads_before in range(5):  # the end, the directory, the member's header and its bytes
        reads = reads_before
        with pytest.raises(OSError, match="Input/output error"):
            check_zip(path, limits=LIMITS, what="The submission 'x.zip'")


def link(name: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    return packed.getvalue()


def encrypted() -> bytes:
    """A zip whose member claims to be encrypted, in both of its headers."""
    raw = bytearray(zip_bytes({"a.txt": "hello"}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = raw.index(signature) + offset
        raw[at : at + 2] = struct.pack("<H", 0x1)
    return bytes(raw)


def twice(name: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, "1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr(name, "2")
    return packed.getvalue()


def bomb() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", b"0" * 900_000)
    return packed.getvalue()


def bad_checksum() -> bytes:
    raw = bytearray(zip_bytes({"a.txt": "hello world"}))
    raw[raw.index(b"hello")] ^= 0xFF
    return bytes(raw)


def lying_size() -> bytes:
    """Headers that announce 5 bytes for a member of 5,000."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", bytes(range(250)) * 20)
    raw = bytearray(packed.getvalue())
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = raw.index(signature) + offset
        raw[at : at + 4] = struct.pack("<I", 5)
    return bytes(raw)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "not_a_zip"),
        (b"<html>", "not_a_zip"),
        (zip_bytes({"a": "1"})[:-5], "zip_truncated"),
        (zip_bytes({}), "zip_empty"),
        (zip_bytes({"../a": "1"}), "zip_path_outside"),
        (zip_bytes({"x/../../a": "1"}), "zip_path_outside"),
        (zip_bytes({"/a": "1"}), "zip_path_outside"),
        (zip_bytes({"..\\a": "1"}), "zip_path_outside"),
        (zip_bytes({"C:\\a": "1"}), "zip_path_outside"),
        (link("a"), "zip_link"),
        (encrypted(), "zip_encrypted"),
        (zip_bytes({f"{number}": "1" for number in range(21)}), "zip_too_many_files"),
        (zip_bytes({"a.txt": "1"} | {f"{number}/": "" for number in range(20)}), "zip_too_many_files"),
        (zip_bytes({"/".join("abcdefghijklmnopqrst") + "/a.txt": "1"}), "zip_too_many_files"),
        (bomb(), "zip_too_large"),
        (zip_bytes({"a": b"x" * 1_000_001}), "zip_too_large"),
        (bad_checksum(), "zip_crc_error"),
        (lying_size(), "zip_crc_error"),
    ],
    ids=[
        "empty", "html", "cut off", "no member", "parent", "hidden parent", "absolute", "backslash", "drive", "link",
        "encrypted", "many", "many folders", "many implied folders", "ratio", "size", "checksum", "lying size",
    ],
)  # fmt: skip
def test_a_hostile_or_broken_archive_is_refused_by_name(tmp_path: Path, content: bytes, code: str) -> None:
    assert refusal_code(tmp_path / "x.zip", content) == code


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("/a", "it begins with a slash"),
        ("..\\a", "it holds a backslash"),
        ("C:a", "it begins with the drive 'C:'"),
        ("a/../b", "a part of it is empty, '.' or '..'"),
        ("x" * 300, "a name in it is too long"),
    ],
)
def test_of_a_path_that_is_refused_it_is_said_why(tmp_path: Path, name: str, fault: str) -> None:
    (tmp_path / "x.zip").write_bytes(zip_bytes({name: "1"}))
    with pytest.raises(InvalidFile, match=f"whose path is not allowed: {re.escape(fault)}\\. Use plain"):
        check_zip(tmp_path / "x.zip", limits=LIMITS, what="x")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice_with_the_same_bytes_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for _ in range(2):
            archive.writestr("a/b.txt", "the same")
    assert check_zip(path, limits=LIMITS, what="x") == ["a/b.txt"]
    unpack(path, tmp_path / "out")
    assert (tmp_path / "out" / "a" / "b.txt").read_text() == "the same"


def test_two_different_members_of_one_name_are_refused(tmp_path: Path) -> None:
    assert refusal_code(tmp_path / "x.zip", twice("a.txt")) == "zip_duplicate_name"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_and_one_checksum_are_compared_by_their_bytes(tmp_path: Path) -> None:
    path, same_crc32 = tmp_path / "x.zip", (b"plumless", b"buckeroo")
    assert len({zlib.crc32(content) for content in same_crc32}) == 1
    with zipfile.ZipFile(path, "w") as archive:
        for content in same_crc32:
            archive.writestr("a.txt", content)
    assert refusal_code(path, path.read_bytes()) == "zip_duplicate_name"


def test_an_ordinary_archive_gives_its_file_names(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(zip_bytes({"predict.py": "1", "model/weights.bin": b"\x00" * 1000}))
    assert check_zip(path, limits=LIMITS, what="x") == ["predict.py", "model/weights.bin"]


WHOLE = zip_bytes({"predict.py": "print('hello')\n" * 50, "model/weights.bin": bytes(range(256))})


@settings(max_examples=examples(1500), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=6),
    st.integers(0, len(WHOLE)),
)
def test_a_damaged_archive_is_refused_or_read_and_never_breaks_the_site(
    changes: list[tuple[int, int]], cut: int
) -> None:
    raw = bytearray(WHOLE)
    for at, value in changes:
        raw[at] = value
    if cut % 5 == 0:
        del raw[cut:]
    with tempfile.NamedTemporaryFile() as file, contextlib.suppress(InvalidFile):
        file.write(raw)
        file.flush()
        assert check_zip(Path(file.name), limits=LIMITS, what="x")
