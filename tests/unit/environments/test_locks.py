"""Lock files: what is no package with one version and digests is refused with its line."""

from __future__ import annotations

import pytest

from workers.protocol.files.locks import LockInvalid, read_lock

HASH = f"--hash=sha256:{'a' * 64}"


def test_what_the_usual_tools_write_is_read() -> None:
    text = (
        "#\n# This file was made by pip-compile\n#\n"
        f"Torch-Geometric[full]==2.8.0 \\\n    {HASH} \\\n    --hash=sha256:{'b' * 64}\n    # via -r requirements.in\n"
        f'numpy==2.3.1 ; python_version >= "3.11" \\\n    {HASH}\n'
    )
    first, second = read_lock(text.encode())
    assert (first.name, str(first.version), first.line, len(first.hashes)) == ("torch-geometric", "2.8.0", 4, 2)
    assert second.marker is not None
    assert second.marker.evaluate({"python_version": "3.10"}) is False


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("numpy==2.3.1", "has no --hash"),
        (f"numpy>=2 {HASH}", "must have one version"),
        (f"numpy==2.* {HASH}", "must have one version"),
        (f"numpy===2.3.1 {HASH}", "must have one version"),
        (f"numpy {HASH}", "must have one version"),
        (f"-e git+https://example.org/x#egg=x {HASH}", "is an option"),
        ("--index-url https://evil.example.org/simple", "is an option"),
        ("--find-links /", "is an option"),
        ("-r other.txt", "is an option"),
        (f"x @ https://evil.example.org/x.whl {HASH}", "comes from an address"),
        (f"./local.whl {HASH}", "names no package"),
        (f"numpy==2.3.1 --global-option=x {HASH}", "is not taken"),
        ("numpy==2.3.1 --hash=md5:00", "is not taken"),
        (f"../../etc/passwd==1 {HASH}", "names no package"),
        (f"numpy==2.3.1 {HASH}\nNumPy==2.3.2 {HASH}", "named in line 2, too"),
    ],
)
def test_everything_else_is_refused_with_its_line(line: str, words: str) -> None:
    with pytest.raises(LockInvalid, match=r"line [23]") as refused:
        read_lock(f"# a comment\n{line}\n".encode())
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"# nothing\n", "names no package"), (b"\xff\xfe", "UTF-8"), (b"#" * (2 << 20), "at most"),
     ("".join(f"p{n}==1 {HASH}\n" for n in range(1001)).encode(), "1001 packages")],
    ids=["empty", "not text", "huge", "too many"],
)  # fmt: skip
def test_a_file_as_a_whole_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(LockInvalid, match=words):
        read_lock(content)
