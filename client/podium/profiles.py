"""The tokens of sites, in one file of this person's, readable by nobody else.

`PODIUM_SITE` and `PODIUM_TOKEN` come before it, for programs that run elsewhere.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from platformdirs import user_config_path

from podium.errors import InvalidInput, NotAllowed
from podium.files import write_whole

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
    """All profiles; the first is used where none is named. Raises `InvalidInput` for a damaged file."""
    path = config_file()
    if not path.is_file():
        return []
    try:
        return [Profile(**entry) for entry in json.loads(path.read_text("utf-8"))]
    except (ValueError, TypeError) as error:
        raise InvalidInput(f"{path} is damaged: {error}. Remove it and sign in again.") from error


def profile_save(profile: Profile) -> None:
    """Keep it, as the first."""
    _write([profile, *(other for other in profiles() if other.name != profile.name)])


def profile_remove(name: str) -> None:
    """Forget it. Raises `InvalidInput` for a name that is not kept."""
    stored = profiles()
    if name not in [profile.name for profile in stored]:
        raise InvalidInput(
            f"There is no profile {name!r}; there are: {', '.join(profile.name for profile in stored) or 'none'}."
        )
    _write([profile for profile in stored if profile.name != name])


def profile_chosen(name: str = "") -> Profile:
    """The profile of that name, of the environment, or the one signed in with last.

    Raises `NotAllowed` or `InvalidInput`: also for a `PODIUM_TOKEN` without a site, because the last sign-in may be another
    person's, and its site not the one that may read the token.
    """
    name = name or os.environ.get("PODIUM_PROFILE", "")
    token = os.environ.get("PODIUM_TOKEN", "")
    if not name and (site := os.environ.get("PODIUM_SITE")):
        return Profile("environment", site, token)
    if not name and token:
        raise InvalidInput(
            "PODIUM_TOKEN is set, and PODIUM_SITE does not say for which site. Set it, too; or name a profile "
            "(`--profile`, PODIUM_PROFILE), or unset PODIUM_TOKEN to go on as who signed in last."
        )
    stored = profiles()
    if not stored:
        raise NotAllowed(
            "No site is known: run `podium login URL`, or set PODIUM_SITE and PODIUM_TOKEN.", code="no_site"
        )
    match = next((profile for profile in stored if not name or profile.name == name), None)
    if match is None:
        raise InvalidInput(f"There is no profile {name!r}; there are: {', '.join(profile.name for profile in stored)}.")
    return match


def _write(entries: list[Profile]) -> None:
    path = config_file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_whole(path, json.dumps([asdict(profile) for profile in entries], indent=1))
