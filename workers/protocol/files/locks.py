"""Lock files: a requirements.txt in which each package has one version and the digests of its files.

Site and worker read it by the same rules, which are narrower than pip's: no option, address or path in it decides where
anything comes from, and nothing in it is run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

FILE_NAME: Final = "requirements.txt"
MAX_BYTES: Final = 1 << 20
MAX_PACKAGES: Final = 1000
MAX_HASHES: Final = 500  # of one package: a large one has a wheel for each platform and Python
HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")
EXAMPLE: Final = "Write it with `pip-compile --generate-hashes` or `uv pip compile --generate-hashes`."


class LockInvalid(ValueError):
    """A lock file that is not taken; the text names the line, what is wrong with it, and what would be right."""


@dataclass(frozen=True)
class Locked:
    """One package: `name` is normalized, `hashes` are SHA-256 digests in hexadecimal, `line` counts from 1."""

    name: str
    version: Version
    hashes: frozenset[str]
    marker: Marker | None
    line: int


def read_lock(content: bytes) -> tuple[Locked, ...]:
    """Read a lock file.

    Raises
    ------
    LockInvalid
        For what is not `name==version --hash=sha256:…`, with its line.
    """
    if len(content) > MAX_BYTES:
        raise LockInvalid(f"{FILE_NAME} has {len(content):,} bytes; at most {MAX_BYTES:,} are read.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LockInvalid(f"{FILE_NAME} is not UTF-8 text.") from error
    packages = tuple(_read_line(number, line) for number, line in _joined(text))
    if not packages:
        raise LockInvalid(f"{FILE_NAME} names no package. Leave the file out where nothing is to be installed.")
    if len(packages) > MAX_PACKAGES:
        raise LockInvalid(f"{FILE_NAME} names {len(packages)} packages; at most {MAX_PACKAGES} are installed.")
    _refuse_repeated(packages)
    return packages


def _joined(text: str) -> list[tuple[int, str]]:
    """Lines without comments, those that end with a backslash joined to the next, each with the number of its first line."""
    lines: list[tuple[int, str]] = []
    held, began = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        bare = "" if line.lstrip().startswith("#") else re.sub(r"\s+#.*$", "", line)
        began = began or number
        held += f" {bare.rstrip().removesuffix(chr(92))}"
        if bare.rstrip().endswith("\\"):
            continue
        if held.strip():
            lines.append((began, held.strip()))
        held, began = "", 0
    if held.strip():
        lines.append((began, held.strip()))
    return lines


def _read_line(number: int, line: str) -> Locked:
    where = f"{FILE_NAME}, line {number}"
    shown = ascii(line[:80])
    if line.startswith("-"):
        raise LockInvalid(f"{where}: {shown} is an option. Only packages with versions and hashes are taken. {EXAMPLE}")
    specifier, *options = re.split(r"\s+(?=--)", line)
    hashes = [HASH.fullmatch(option.strip()) for option in options]
    if None in hashes:
        wrong = next(option for option, match in zip(options, hashes, strict=True) if match is None)
        raise LockInvalid(f"{where}: {wrong[:80]!a} is not taken; only --hash=sha256: with 64 digits is.")
    requirement = _requirement(where, specifier)
    if not hashes:
        raise LockInvalid(f"{where}: {requirement.name} has no --hash. {EXAMPLE}")
    if len(hashes) > MAX_HASHES:
        raise LockInvalid(f"{where}: {requirement.name} has {len(hashes)} hashes; at most {MAX_HASHES} are read.")
    return Locked(
        name=canonicalize_name(requirement.name), version=_version(where, requirement),
        hashes=frozenset(match[1] for match in hashes if match is not None), marker=requirement.marker, line=number,
    )  # fmt: skip


def _requirement(where: str, specifier: str) -> Requirement:
    try:
        requirement = Requirement(specifier)
    except (InvalidRequirement, RecursionError) as error:
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
    try:
        return Version(specifiers[0].version)
    except InvalidVersion as error:
        raise LockInvalid(f"{where}: {specifiers[0].version[:60]!r} is no version.") from error


def _refuse_repeated(packages: tuple[Locked, ...]) -> None:
    """A name may come again only with markers, which say when each line holds."""
    seen: dict[str, Locked] = {}
    for locked in packages:
        before = seen.setdefault(locked.name, locked)
        if before is not locked and (before.marker is None or locked.marker is None):
            raise LockInvalid(f"{FILE_NAME}, line {locked.line}: {locked.name} is named in line {before.line}, too.")
