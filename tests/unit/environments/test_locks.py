"""Lock files: what is not a package with one version and digests is refused with its line."""

from __future__ import annotations

import time

import pytest

from workers.protocol.files.locks import MAX_MARKERS, LockInvalid, read_lock, written_lock
from workers.protocol.files.markers import LAST_MINOR, Python, matching_pythons

HASH = f"--hash=sha256:{'a' * 64}"


def test_what_the_usual_tools_write_is_read() -> None:
    text = (
        "#\n# This file was made by pip-compile\n#\n"
        f"Torch-Geometric[full]==2.8.0 \\\n    {HASH} \\\n    --hash=sha256:{'b' * 64}\n    # via -r requirements.in\n"
        f'numpy==2.3.1 ; python_version >= "3.11" \\\n    {HASH}\n'
    )
    first, second = read_lock(text.encode())
    assert (first.name, str(first.version), first.line, len(first.hashes)) == ("torch-geometric", "2.8.0", 4, 2)
    assert first.is_for(Python(10))
    assert not second.is_for(Python(10))
    assert second.is_for(Python(11))


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
        (f"a==1 ; os_name=='posix' {HASH}\na==2 ; python_version > '3' {HASH}", "named in line 2, too"),
        (f'a==1 ; python_version ~= "abc" {HASH}', "cannot be evaluated"),
        (f'a==1 ; os_name ~= "posix" {HASH}', "cannot be evaluated"),
        (f'a==1 ; "posix" in "posix" {HASH}', "cannot be evaluated"),
        (f'a==1 ; platform_release >= "6" {HASH}', "asks for platform_release"),
        (f'a==1 ; "x" in extras {HASH}', "asks for extras"),
        (f'a==1 ; extra == "x" or os_name == "posix" {HASH}', "asks for extra"),
        (f'a==1 ; implementation_version > "3" {HASH}', "asks for implementation_version"),
        (f'a==1 ; python_full_version < "3.11.4" {HASH}', "patch release"),
        (f"a==1 ; {'(' * 600}os_name == 'x'{')' * 600} {HASH}", "names no package"),
        (f"a==1 ; {' or '.join(['os_name == 1'] * 200)} {HASH}", "more than 1500 characters"),
        (f"a==1 ; {' or '.join(['os_name > sys_platform'] * 50)} {HASH}", "has a marker of"),
        (f"a==1+lo\u017fcal {HASH}", "line 2"),
        (f"a==1.x.y {HASH}", "names no package"),
    ],
)
def test_everything_else_is_refused_with_its_line(line: str, words: str) -> None:
    with pytest.raises(LockInvalid, match=r"line [23]") as refused:
        read_lock(f"# a comment\n{line}\n".encode())
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"# nothing\n", "names no package"),
        (b"\xff\xfe", "UTF-8"),
        (b"#" * (2 << 20), "at most"),
        ("".join(f"p{n}==1 {HASH}\n" for n in range(1001)).encode(), "1001 packages"),
    ],
    ids=["empty", "not text", "huge", "too many"],
)
def test_a_file_as_a_whole_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(LockInvalid, match=words):
        read_lock(content)


def test_a_marker_is_evaluated_for_every_python_that_an_image_may_have_when_the_list_is_read() -> None:
    lines = [
        ("colorama==0.4.6", 'sys_platform == "win32"'),
        ("numpy==2.0.2", 'python_version < "3.11"'),
        ("numpy==2.3.1", 'python_version >= "3.11" and python_version < "4.0"'),
        ("cffi==1.17.1", 'platform_python_implementation != "PyPy"'),
        ("triton==3.0.0", 'platform_machine == "x86_64" and os_name == "posix"'),
    ]
    packages = read_lock("".join(f"{name} ; {marker} {HASH}\n" for name, marker in lines).encode())

    def installed(python: Python) -> list[str]:
        return [f"{locked.name}=={locked.version}" for locked in packages if locked.is_for(python)]

    assert installed(Python(9)) == ["numpy==2.0.2", "cffi==1.17.1", "triton==3.0.0"]
    assert installed(Python(LAST_MINOR)) == ["numpy==2.3.1", "cffi==1.17.1", "triton==3.0.0"]
    assert installed(Python(11, "pypy", "aarch64")) == ["numpy==2.3.1"]


def test_pip_is_given_nothing_but_names_versions_and_digests() -> None:
    lock = f"# -*- coding: utf-7 -*-\nA_b[x]==1.0 ; os_name == 'posix' {HASH} --hash=sha256:{'b' * 64}\n"
    packages = read_lock(lock.encode())
    assert written_lock([(packages[0], "b" * 64)]) == f"a-b==1.0 --hash=sha256:{'b' * 64}\n".encode()


@pytest.mark.parametrize(
    "content",
    [
        b"# -*- coding: utf-7 -*-\n+AAo---index-url https://evil.example.org/",
        b"# -*- coding: utf-16 -*-\n" + "a==1\n--pre\n".encode("utf-16"),
        b"# -*- coding: latin-1 -*-\na==1 --hash=sha256:" + b"a" * 64 + b" # \xe9\n",
    ],
    ids=["utf-7", "utf-16", "latin-1"],
)
def test_a_list_is_utf8_whatever_encoding_it_names(content: bytes) -> None:
    with pytest.raises(LockInvalid, match="line 2"):
        read_lock(content)


@pytest.mark.parametrize(
    "unit",
    [" ", "\\\n", "\t#", " --", "# \n", '"', "(", "a;", f"a==1 {HASH}\\\n", "a==1 ; os_name == 'x' or "],
)
def test_a_list_of_the_largest_size_is_read_or_refused_at_once(unit: str) -> None:
    content = (f"a==1{unit * (1 << 20)}")[: 1 << 20].encode()
    began = time.process_time()
    with pytest.raises(LockInvalid):
        read_lock(content)
    assert time.process_time() - began < 5


def test_a_list_has_only_so_many_different_markers() -> None:
    lines = [f"p{number}==1.0 ; os_name == '{number}' {HASH}\n" for number in range(MAX_MARKERS + 1)]
    assert len(read_lock("".join(lines[:MAX_MARKERS]).encode())) == MAX_MARKERS
    with pytest.raises(LockInvalid, match=f"line {MAX_MARKERS + 1}: .* more than {MAX_MARKERS} different markers"):
        read_lock("".join(lines).encode())


def test_as_many_of_the_costliest_markers_as_a_list_may_have_are_evaluated_in_seconds() -> None:
    names = ("platform_machine", "implementation_name")

    def line(number: int) -> str:
        clauses = [f"python_version < '3.{place}.{number}'" for place in range(26)] + [
            f"{name} == 'x'" for name in names
        ]
        return f"p{number}==1.0 ; {' or '.join(clauses)} {HASH}\n"

    began = time.process_time()
    matching_pythons.cache_clear()
    tenth = MAX_MARKERS // 10  # each is evaluated alone
    assert len(read_lock("".join(line(n) for n in range(tenth)).encode())) == tenth
    assert time.process_time() - began < 20 / 10
