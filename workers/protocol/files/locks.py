"""Lock files: a requirements.txt in which each package has one version and the digests of its files.

Site and worker read it by the same rules, which are narrower than pip's: no option, address or path in it decides where
anything comes from, and nothing in it is run. pip never sees the file: it is given a list that `written_lock` writes.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from workers.protocol.files.markers import MarkerRefused, Python, matching_pythons

FILE_NAME: Final = "requirements.txt"
MAX_BYTES: Final = 1 << 20
MAX_PACKAGES: Final = 1000
MAX_HASHES: Final = 500  # of one package: a large one has a wheel for each platform and Python
MAX_LINE: Final = 100_000  # characters, lines that are joined together
MAX_SPECIFIER: Final = 1500  # characters of name, version and marker
MAX_MARKERS: Final = (
    100  # different ones: evaluating the costliest takes 30 ms, and the lines of one list mostly share a few
)
HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")
COMMENT: Final = re.compile(r"(?:^|(?<=\s))#")
EXAMPLE: Final = "Write it with `pip-compile --generate-hashes` or `uv pip compile --generate-hashes`."


class LockInvalid(ValueError):
    """A lock file that is refused; the text names the line, the fault, and what would be right."""


@dataclass(frozen=True)
class Locked:
    """One package: a normalized name, SHA-256 digests in hexadecimal, its line counted from 1.

    `pythons` are those that its marker holds for; None without a marker.
    """

    name: str
    version: Version
    hashes: frozenset[str]
    pythons: frozenset[Python] | None
    line: int

    def is_for(self, python: Python) -> bool:
        """True where it is installed for this Python."""
        return self.pythons is None or python in self.pythons


def read_lock(content: bytes) -> tuple[Locked, ...]:
    """Read a lock file.

    Raises `LockInvalid` for what is not `name==version --hash=sha256:…`, with its line.
    """
    if len(content) > MAX_BYTES:
        raise LockInvalid(f"{FILE_NAME} has {len(content):,} bytes; at most {MAX_BYTES:,} are read.")
    markers: set[str] = set()
    packages = tuple(_read_line(number, line, markers) for number, line in _join_lines(_text(content)))
    if not packages:
        raise LockInvalid(f"{FILE_NAME} names no package. Leave the file out where nothing is to be installed.")
    if len(packages) > MAX_PACKAGES:
        raise LockInvalid(f"{FILE_NAME} names {len(packages)} packages; at most {MAX_PACKAGES} are installed.")
    _refuse_repeated(packages)
    return packages


def written_lock(packages: Iterable[tuple[Locked, str]]) -> bytes:
    """The list for pip: each package with the digest of the one file that it may install.

    ASCII, one package a line.
    """
    return "".join(f"{locked.name}=={locked.version} --hash=sha256:{digest}\n" for locked, digest in packages).encode(
        "ascii"
    )


def _text(content: bytes) -> str:
    """The file as UTF-8, whatever encoding a line of it may name."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = content[: error.start].count(b"\n") + 1
        raise LockInvalid(f"{FILE_NAME}, line {number}: this is not UTF-8 text.") from error


def _join_lines(text: str) -> list[tuple[int, str]]:
    """Lines without comments, each with the number of its first line.

    A line that ends with a backslash is joined to the next.
    """
    lines: list[tuple[int, str]] = []
    held: list[str] = []
    began = 0
    for number, line in enumerate(text.splitlines(), start=1):
        bare = COMMENT.split(line, maxsplit=1)[0].rstrip()
        began = began or number
        held.append(bare.removesuffix("\\"))
        if bare.endswith("\\"):
            continue
        lines.append((began, " ".join(held).strip()))
        held, began = [], 0
    lines.append((began, " ".join(held).strip()))
    return [(number, line) for number, line in lines if line]


def _read_line(number: int, line: str, markers: set[str]) -> Locked:
    """The package of a line; its marker is added to those that were met before."""
    where = f"{FILE_NAME}, line {number}"
    shown = ascii(line[:80])
    if line.startswith("-"):
        raise LockInvalid(f"{where}: {shown} is an option. Only packages with versions and hashes are taken. {EXAMPLE}")
    if len(line) > MAX_LINE:
        raise LockInvalid(f"{where} has {len(line):,} characters; at most {MAX_LINE:,} are read.")
    specifier, options = _parts(line)
    hashes = [HASH.fullmatch(option) for option in options]
    if None in hashes:
        wrong = next(option for option, match in zip(options, hashes, strict=True) if match is None)
        raise LockInvalid(f"{where}: {wrong[:80]!a} is not taken; only --hash=sha256: with 64 digits is.")
    requirement = _requirement(where, specifier)
    if not hashes:
        raise LockInvalid(f"{where}: {requirement.name} has no --hash. {EXAMPLE}")
    if len(hashes) > MAX_HASHES:
        raise LockInvalid(f"{where}: {requirement.name} has {len(hashes)} hashes; at most {MAX_HASHES} are read.")
    return Locked(
        name=canonicalize_name(requirement.name),
        version=_version(where, requirement),
        hashes=frozenset(match[1] for match in hashes if match is not None),
        line=number,
        pythons=_pythons(where, requirement, markers),
    )


def _parts(line: str) -> tuple[str, list[str]]:
    """The package with its version, and the options behind it."""
    words = line.split()
    first = next((place for place, word in enumerate(words) if word.startswith("--")), len(words))
    return " ".join(words[:first]), words[first:]


def _requirement(where: str, specifier: str) -> Requirement:
    if len(specifier) > MAX_SPECIFIER:
        raise LockInvalid(f"{where}: what names the package has more than {MAX_SPECIFIER} characters.")
    try:
        requirement = Requirement(specifier)
    except (InvalidRequirement, ValueError, RecursionError) as error:
        raise LockInvalid(
            f"{where}: {specifier[:80]!a} names no package with a version, such as numpy==2.3.1."
        ) from error
    if requirement.url:
        raise LockInvalid(
            f"{where}: {requirement.name} comes from an address. Name its version: the queue's mirror has it."
        )
    return requirement


def _version(where: str, requirement: Requirement) -> Version:
    specifiers = list(requirement.specifier)
    if len(specifiers) != 1 or specifiers[0].operator != "==" or specifiers[0].version.endswith(".*"):
        raise LockInvalid(
            f"{where}: {requirement.name} must have one version, such as {requirement.name}==1.2.3. {EXAMPLE}"
        )
    text = specifiers[0].version
    try:
        version = Version(text)
        str(version).encode("ascii")
    except ValueError as error:  # letters that only look like ASCII, and numbers with more digits than Python reads
        raise LockInvalid(f"{where}: {text[:60]!a} is not a version.") from error
    return version


def _pythons(where: str, requirement: Requirement, markers: set[str]) -> frozenset[Python] | None:
    """The Pythons that a line is for; None: all of them."""
    if requirement.marker is None:
        return None
    markers.add(str(requirement.marker))
    if len(markers) > MAX_MARKERS:
        raise LockInvalid(
            f"{where}: up to here the list has more than {MAX_MARKERS} different markers; so many are read."
        )
    try:
        return matching_pythons(str(requirement.marker))
    except (MarkerRefused, RecursionError) as error:
        raise LockInvalid(f"{where}: {requirement.name} {error}") from error


def _refuse_repeated(packages: tuple[Locked, ...]) -> None:
    """A name may come again only with markers that never hold for the same Python."""
    seen: dict[str, list[Locked]] = {}
    for locked in packages:
        for before in seen.setdefault(locked.name, []):
            if before.pythons is None or locked.pythons is None or before.pythons & locked.pythons:
                raise LockInvalid(
                    f"{FILE_NAME}, line {locked.line}: {locked.name} is named in line {before.line}, too. Let their markers tell "
                    "for which Python each is."
                )
        seen[locked.name].append(locked)
