"""Where the tokens of sites are kept: one file of this person's, readable by nobody else.

`PODIUM_SITE` and `PODIUM_TOKEN` come before it, for programs that run elsewhere.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from platformdirs import user_config_path

from podium.errors import InvalidInput, NotAllowed

FILE_NAME: Final = "sites.json"


@dataclass(frozen=True)
class Profile:
    """A site by a short name, with the token for it."""

    name: str
    site: str
    token: str


def config_file() -> Path:
    """`PODIUM_CONFIG` names another."""
    named = os.environ.get("PODIUM_CONFIG")
    return Path(named) if named else user_config_path("podium") / FILE_NAME


def profiles() -> list[Profile]:
    """All that are kept; the first is used where none is named. Raises `InvalidInput` for a file that is damaged."""
    path = config_file()
    if not path.is_file():
        return []
    try:
        return [Profile(**one) for one in json.loads(path.read_text("utf-8"))]
    except (ValueError, TypeError) as error:
        raise InvalidInput(f"{path} is damaged: {error}. Remove it and sign in again.") from error


def profile_save(profile: Profile) -> None:
    """Keep it, as the first."""
    _write([profile, *(one for one in profiles() if one.name != profile.name)])


def profile_remove(name: str) -> None:
    """Forget it. Raises `InvalidInput` for a name that is not kept."""
    kept = profiles()
    if name not in [one.name for one in kept]:
        raise InvalidInput(f"There is no profile {name!r}; there are: {', '.join(one.name for one in kept) or 'none'}.")
    _write([one for one in kept if one.name != name])


def profile_chosen(name: str = "") -> Profile:
    """The profile of that name, of the environment, or the one signed in with last. Raises `NotAllowed` or `InvalidInput`."""
    name = name or os.environ.get("PODIUM_PROFILE", "")
    if not name and (site := os.environ.get("PODIUM_SITE")):
        return Profile("environment", site, os.environ.get("PODIUM_TOKEN", ""))
    kept = profiles()
    if not kept:
        raise NotAllowed(
            "No site is known: run `podium login URL`, or set PODIUM_SITE and PODIUM_TOKEN.", code="no_site"
        )
    found = next((one for one in kept if not name or one.name == name), None)
    if found is None:
        raise InvalidInput(f"There is no profile {name!r}; there are: {', '.join(one.name for one in kept)}.")
    return found


def _write(kept: list[Profile]) -> None:
    """In one piece, and for nobody else's eyes from its first byte on."""
    path = config_file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".sites")  # made with 0600
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump([asdict(one) for one in kept], file, indent=1)
    Path(temporary).replace(path)
