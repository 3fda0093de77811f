"""Collecting an output: what is listed, what is refused, what is packed. No container needed."""

from __future__ import annotations

import os
import socket
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from workers.errors import OutputRefused
from workers.sandbox.collect import list_output, open_regular, read_bounded, require_text, zip_output


def listed(root: Path, *, max_files: int = 100, max_bytes: int = 1 << 20) -> list[str]:
    return [file.path for file in list_output(root, max_files=max_files, max_bytes=max_bytes).files]


def test_regular_files_are_listed_in_order_with_their_folders(tmp_path: Path) -> None:
    (tmp_path / "b" / "c").mkdir(parents=True)
    for name in ("z.txt", "a.txt", "b/c/d.txt"):
        (tmp_path / name).write_text("x")
    assert listed(tmp_path) == ["a.txt", "b/c/d.txt", "z.txt"]


def test_an_empty_output_is_an_empty_list(tmp_path: Path) -> None:
    assert listed(tmp_path) == []


def symlink(root: Path) -> None:
    (root / "link").symlink_to("/etc/passwd")


def hard_link(root: Path) -> None:
    (root / "a").write_text("x")
    os.link(root / "a", root / "b")


def pipe(root: Path) -> None:
    os.mkfifo(root / "pipe")


def unix_socket(root: Path) -> None:
    here = Path.cwd()
    os.chdir(root)  # the whole path may be too long for a socket's name
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind("sock")
    finally:
        os.chdir(here)


def deep(root: Path) -> None:
    (root / "/".join(["d"] * 40)).mkdir(parents=True)


def named(name: bytes) -> Callable[[Path], None]:
    def make(root: Path) -> None:
        (Path(os.fsdecode(os.fsencode(root) + b"/" + name))).write_text("x")

    return make


REFUSED = {
    "a symbolic link": (symlink, "output_invalid", "link_in_output"),
    "a hard link": (hard_link, "output_invalid", "link_in_output"),
    "a named pipe": (pipe, "output_invalid", "special_file"),
    "a socket": (unix_socket, "output_invalid", "special_file"),
    "folders in folders": (deep, "output_invalid", "too_deep"),
    "a line break in a name": (named(b"a\nb"), "output_invalid", "bad_name"),
    "an escape in a name": (named(b"a\x1b[31m"), "output_invalid", "bad_name"),
    "bytes that are no UTF-8": (named(b"\xff"), "output_invalid", "bad_name"),
    "a name that turns the text around": (named("\u202ea".encode()), "output_invalid", "bad_name"),
    "a backslash": (named(b"a\\b"), "output_invalid", "bad_name"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_ordinary_file_with_an_ordinary_name_is_refused(tmp_path: Path, name: str) -> None:
    make, reason, code = REFUSED[name]
    make(tmp_path)
    with pytest.raises(OutputRefused) as refused:
        listed(tmp_path)
    assert (refused.value.reason, refused.value.code) == (reason, code)
    assert refused.value.detail.isprintable()


@pytest.mark.parametrize(("count", "refused"), [(3, False), (4, True)], ids=["as many as allowed", "one more"])
def test_the_number_of_files_and_folders_has_a_limit(tmp_path: Path, count: int, refused: bool) -> None:
    for n in range(count - 1):
        (tmp_path / str(n)).write_text("")
    (tmp_path / "folder").mkdir()
    if not refused:
        assert len(listed(tmp_path, max_files=3)) == 2
        return
    with pytest.raises(OutputRefused, match="more than 3"):
        listed(tmp_path, max_files=3)


def test_holes_count_in_full_so_a_terabyte_is_refused_without_reading_it(tmp_path: Path) -> None:
    with (tmp_path / "hole").open("wb") as sink:
        os.truncate(sink.fileno(), 1 << 40)
    with pytest.raises(OutputRefused) as refused:
        listed(tmp_path)
    assert (refused.value.reason, refused.value.code) == ("disk_limit", "output_too_large")


def test_a_file_that_became_a_link_since_it_was_listed_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("label")
    output = tmp_path / "output"
    output.mkdir()
    (output / "a").write_text("x")
    listing = list_output(output, max_files=10, max_bytes=100)
    (output / "a").unlink()
    (output / "a").symlink_to(secret)
    with pytest.raises(OutputRefused):
        zip_output(output, listing, tmp_path / "out.zip")
    assert b"label" not in (tmp_path / "out.zip").read_bytes()


def test_a_folder_that_became_a_link_is_not_followed_either(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a").write_text("label")
    output = tmp_path / "output"
    output.mkdir()
    (output / "folder").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputRefused):
        open_regular(output, "folder/a")


def test_the_same_files_give_the_same_archive_whatever_their_times(tmp_path: Path) -> None:
    archives = []
    for moment in (0, 10**9):
        root = tmp_path / str(moment)
        (root / "d").mkdir(parents=True)
        (root / "d" / "x.csv").write_text("1,2\n" * 1000)
        os.utime(root / "d" / "x.csv", (moment, moment))
        listing = list_output(root, max_files=10, max_bytes=1 << 20)
        zip_output(root, listing, tmp_path / f"{moment}.zip")
        archives.append((tmp_path / f"{moment}.zip").read_bytes())
    assert archives[0] == archives[1]
    with zipfile.ZipFile(tmp_path / "0.zip") as archive:
        assert archive.read("d/x.csv") == b"1,2\n" * 1000


def test_a_file_that_grew_is_cut_at_its_checked_size(tmp_path: Path) -> None:
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "a").write_text("1234")
    listing = list_output(tmp_path / "o", max_files=10, max_bytes=100)
    (tmp_path / "o" / "a").write_text("12345678")
    zip_output(tmp_path / "o", listing, tmp_path / "out.zip")
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        assert archive.read("a") == b"1234"


def test_a_small_file_is_read_up_to_its_bound_and_not_beyond(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("12345")
    assert read_bounded(tmp_path, "a", 5) == b"12345"
    assert read_bounded(tmp_path, "missing", 5) is None
    with pytest.raises(OutputRefused, match="larger than 4"):
        read_bounded(tmp_path, "a", 4)


def test_a_pipe_is_refused_at_once_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "scores.json")
    with pytest.raises(OutputRefused):
        read_bounded(tmp_path, "scores.json", 100)


@pytest.mark.parametrize("size", [0, (1 << 20) - 1, 1 << 20])
def test_an_output_that_its_name_calls_text_must_be_text(tmp_path: Path, size: int) -> None:
    (tmp_path / "a.csv").write_bytes(b"x" * size + "é".encode() + b"\xef\xbb\xbf")
    (tmp_path / "b.bin").write_bytes(b"\xff")
    listing = list_output(tmp_path, max_files=9, max_bytes=1 << 22)
    require_text(tmp_path, listing, ["*.csv", "*.txt"])
    (tmp_path / "a.csv").write_bytes(b"x" * size + "é".encode() + b"\xff")
    with pytest.raises(OutputRefused, match=rf"'a.csv' is not UTF-8 text \(from byte {size + 2} on\)") as error:
        require_text(tmp_path, listing, ["*.csv", "*.txt"])
    assert (error.value.reason, error.value.code) == ("output_invalid", "not_utf8")
    require_text(tmp_path, listing, [])


def test_text_that_ends_within_a_character_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("né".encode()[:-1])
    with pytest.raises(OutputRefused, match="from byte 1 on"):
        require_text(tmp_path, list_output(tmp_path, max_files=9, max_bytes=99), ["*.txt"])
