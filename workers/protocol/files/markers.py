"""Environment markers of a lock file, evaluated when the file is read.

The Python of an image is not known then, and nothing that a container says of itself is compared with markers. So a marker is evaluated
for each Python that an image may have, and a worker looks up its own. A marker that asks for anything else has no value, and is refused.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Final

from packaging.markers import Marker

FIRST_MINOR: Final = 9  # of Python 3
LAST_MINOR: Final = 25
LAST_PATCH: Final = 99
# As `implementation_name` and as `platform_python_implementation` says it.
IMPLEMENTATIONS: Final = {"cpython": "CPython", "pypy": "PyPy"}
MACHINES: Final = ("x86_64", "aarch64", "ppc64le", "s390x", "riscv64")
# The same in every container.
FIXED: Final = {"os_name": "posix", "sys_platform": "linux", "platform_system": "Linux"}
OF_MACHINE: Final = frozenset({"platform_machine"})
OF_IMPLEMENTATION: Final = frozenset({"implementation_name", "platform_python_implementation"})
OF_VERSION: Final = frozenset({"python_version", "python_full_version"})
KNOWN: Final = FIXED.keys() | OF_MACHINE | OF_IMPLEMENTATION | OF_VERSION
MAX_CHARACTERS: Final = 1000
QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")  # the grammar has no escapes
WORD: Final = re.compile(r"[a-z_][a-z_.]*")
OPERATORS: Final = frozenset({"and", "or", "in", "not"})


class MarkerRefused(ValueError):
    """A marker that is not taken; the text says why, to go on after the package's name."""


@dataclass(frozen=True)
class Python:
    """The Python of an image, as far as markers may ask for it: version 3.`minor`."""

    minor: int
    implementation: str = "cpython"
    machine: str = "x86_64"


ALL: Final = tuple(Python(*facts) for facts in product(range(FIRST_MINOR, LAST_MINOR + 1), IMPLEMENTATIONS, MACHINES))


@lru_cache(maxsize=1000)  # the lines of one list mostly share a few
def matching_pythons(marker: str) -> frozenset[Python]:
    """Pythons for which a marker holds.

    Raises `MarkerRefused` for one that cannot be evaluated, or asks for more than the Python of an image.

    >>> sorted(python.minor for python in matching_pythons('python_version < "3.11"') if python == Python(python.minor))
    [9, 10]
    """
    if len(marker) > MAX_CHARACTERS:
        raise MarkerRefused(f"has a marker of {len(marker)} characters; at most {MAX_CHARACTERS} are read.")
    names = set(WORD.findall(QUOTED.sub(" ", marker))) - OPERATORS
    if unknown := sorted(names - KNOWN):
        raise MarkerRefused(
            f"has a marker that asks for {unknown[0]}, which is not known before the image runs. Markers may ask for "
            f"{', '.join(sorted(KNOWN))}; leave out the line, or its marker."
        )
    parsed, holds = Marker(marker), dict[Python, bool]()
    for python in ALL:
        alike = _representative(python, names)
        if alike not in holds:
            holds[alike] = _holds(parsed, alike, marker)
    return frozenset(python for python in ALL if holds[_representative(python, names)])


def _representative(python: Python, names: set[str]) -> Python:
    """The one that stands for all that a marker with these names cannot tell apart."""
    return Python(
        minor=python.minor if names & OF_VERSION else FIRST_MINOR,
        implementation=python.implementation if names & OF_IMPLEMENTATION else "cpython",
        machine=python.machine if names & OF_MACHINE else "x86_64",
    )


def _holds(marker: Marker, python: Python, text: str) -> bool:
    """True where it holds for the first patch release and the last; those between are not known."""
    try:
        first, last = (marker.evaluate(_values(python, patch)) for patch in (0, LAST_PATCH))
    except Exception as error:  # whatever the library raises over it: there is no value
        words = " ".join(str(error).split())[:120]
        raise MarkerRefused(
            f'has the marker {text[:80]!a}, which cannot be evaluated ({words}). Versions are compared as in python_version >= "3.11".'
        ) from error
    if first != last:
        raise MarkerRefused(
            f"has the marker {text[:80]!a}, which depends on the patch release of Python; ask for python_version alone."
        )
    return first


def _values(python: Python, patch: int) -> dict[str, str]:
    return {
        **FIXED,
        "platform_machine": python.machine,
        "implementation_name": python.implementation,
        "platform_python_implementation": IMPLEMENTATIONS[python.implementation],
        "python_version": f"3.{python.minor}",
        "python_full_version": f"3.{python.minor}.{patch}",
    }
