"""Unpacking archives from outside, and reading how a program is run."""

from __future__ import annotations

import io
import stat
import zipfile
from pathlib import Path

import pytest

from workers.agent.runs import archive as archives
from workers.agent.runs.archive import ArchiveRefused, unpack
from workers.agent.runs.command import CommandMissing, expand, read_command


def packed(path: Path, entries: dict[str, bytes], *, mode: int = 0o100644) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return path


def test_files_folders_and_the_executable_bit_arrive(tmp_path: Path) -> None:
    source = packed(tmp_path / "a.zip", {"d/run.sh": b"#!", "e/": b"", "x.txt": b"x"}, mode=0o100755)
    unpack(source, tmp_path / "out")
    assert (tmp_path / "out" / "x.txt").read_bytes() == b"x"
    assert (tmp_path / "out" / "e").is_dir()
    assert stat.S_IMODE((tmp_path / "out" / "d" / "run.sh").stat().st_mode) & 0o755 == 0o755


@pytest.mark.parametrize(
    "name", ["../x", "a/../../x", "/etc/x", "C:/x", "a\\..\\x", "./x", "a//x", "..", "d/" * 80 + "x", "n" * 256]
)
def test_a_path_that_leads_anywhere_but_inside_is_refused(tmp_path: Path, name: str) -> None:
    source = packed(tmp_path / "a.zip", {name: b"x"})
    with pytest.raises(ArchiveRefused) as refused:
        unpack(source, tmp_path / "out")
    assert refused.value.code == "path_outside"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", [0o120777, 0o060644, 0o010644, 0o140644], ids=["link", "device", "pipe", "socket"])
def test_links_and_special_files_are_refused(tmp_path: Path, kind: int) -> None:
    with pytest.raises(ArchiveRefused, match="regular files only"):
        unpack(packed(tmp_path / "a.zip", {"x": b"/etc/passwd"}, mode=kind), tmp_path / "out")


def test_a_name_that_is_a_file_and_a_folder_is_refused(tmp_path: Path) -> None:
    source = packed(tmp_path / "a.zip", {"a": b"1", "a/b": b"2"})
    with pytest.raises(ArchiveRefused) as refused:
        unpack(source, tmp_path / "out")
    assert refused.value.code == "duplicate_name"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_stands_there_twice_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a", "1")
        archive.writestr("a", "2")
    (tmp_path / "a.zip").write_bytes(buffer.getvalue())
    with pytest.raises(ArchiveRefused, match="twice"):
        unpack(tmp_path / "a.zip", tmp_path / "out")


def test_a_bomb_is_refused_by_what_it_says_before_it_is_opened(tmp_path: Path) -> None:
    source = packed(tmp_path / "a.zip", {"zeros": bytes(4 << 20)})
    with pytest.raises(ArchiveRefused) as refused:
        unpack(source, tmp_path / "out", max_bytes=1 << 20)
    assert refused.value.code == "too_large"
    assert not (tmp_path / "out").exists()


def test_too_many_entries_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_ENTRIES", 3)
    with pytest.raises(ArchiveRefused) as refused:
        unpack(packed(tmp_path / "a.zip", {str(n): b"" for n in range(4)}), tmp_path / "out")
    assert refused.value.code == "too_many_entries"


@pytest.mark.parametrize("cut", [1, 10, 25, 60])
def test_a_truncated_archive_is_refused(tmp_path: Path, cut: int) -> None:
    source = packed(tmp_path / "a.zip", {"x": b"0123456789" * 100})
    source.write_bytes(source.read_bytes()[:-cut])
    with pytest.raises(ArchiveRefused) as refused:
        unpack(source, tmp_path / "out")
    assert refused.value.code == "bad_archive"


def test_a_damaged_content_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "a.zip"
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("x", "content")
    source.write_bytes(source.read_bytes().replace(b"content", b"c0ntent"))
    with pytest.raises(ArchiveRefused) as refused:
        unpack(source, tmp_path / "out")
    assert refused.value.code == "bad_archive"


def test_a_command_is_split_like_a_shell_would_and_its_placeholders_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "metadata.yaml").write_text(
        "command: python3 '$program/my file.py' $input $output $submission_program\n"
    )
    assert read_command(tmp_path, "ingestion") == (
        "python3",
        "/app/program/my file.py",
        "/app/input_data",
        "/app/output",
        "/app/ingested_program",
    )


@pytest.mark.parametrize(
    ("stage", "word", "expected"),
    [
        ("ingestion", "$input", "/app/input_data"),
        ("scoring", "$input", "/app/input"),
        ("scoring", "$input_data", "/app/input_data"),
        ("scoring", "$hidden/y.csv", "/app/input/ref/y.csv"),
        ("scoring", "$predictions", "/app/input/res"),
        ("ingestion", "$predictions", "/app/output"),
        ("ingestion", "$tmp", "/app/output"),
        ("ingestion", "$shared/a", "/app/shared/a"),
        ("beside scoring", "$predictions", "/app/input/res"),
        ("submission", "$input $output", "/app/input_data /app/output"),
        ("ingestion", "$HOME", "$HOME"),
    ],
)
def test_each_placeholder_has_its_place(stage: str, word: str, expected: str) -> None:
    assert expand([word], stage) == (expected,)


def test_metadata_yaml_wins_over_metadata_and_a_byte_order_mark_is_no_harm(tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text("command: old\n")
    (tmp_path / "metadata.yaml").write_bytes("\ufeffcommand: new\n".encode())
    assert read_command(tmp_path, "scoring") == ("new",)
    (tmp_path / "metadata.yaml").unlink()
    assert read_command(tmp_path, "scoring") == ("old",)


def test_a_metadata_file_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("command: leaked\n")
    (tmp_path / "metadata.yaml").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CommandMissing):
        read_command(tmp_path, "scoring")


def test_yaml_that_would_grow_or_run_code_is_refused(tmp_path: Path) -> None:
    for text in ("a: &a [1]\nb: [*a, *a]\ncommand: x\n", "command: !!python/object/apply:os.getcwd []\n"):
        (tmp_path / "metadata").write_text(text)
        with pytest.raises(CommandMissing) as missing:
            read_command(tmp_path, "scoring")
        assert missing.value.code == "bad_metadata"
