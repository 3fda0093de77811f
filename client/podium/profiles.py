"""The tokens of sites, in one file of this person's, readable by nobody else.

`PODIUM_SITE` and `PODIUM_TOKEN` come before it, for programs that run elsewhere: see `sign_in_chosen`.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from platformdirs import user_config_path

from podium.errors import InvalidInput, NotAllowed
from podium.files import write_whole
from podium.site import checked_url

FILE_NAME: Final = "sites.json"
NO_SITE_FOR_TOKEN: Final = (
    "PODIUM_TOKEN is set, and PODIUM_SITE does not say for which site. Set it, too; or name a profile (`--profile`, PODIUM_PROFILE) "
    "whose site it is for, or unset PODIUM_TOKEN to go on as who signed in last."
)


@dataclass(frozen=True)
class Profile:
    """A site by a short name, with the token for it."""

    name: str
    site: str
    token: str


@dataclass(frozen=True)
class SignIn:
    """A site and the token for it; `origin` says where the token is from, empty if a program gave it."""

    site: str
    token: str
    origin: str


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


def sign_in_chosen(profile: str = "", *, site: str = "", token: str = "") -> SignIn:
    """The site and token to go by: those given, else those of the environment, else those of a profile.

    `PODIUM_TOKEN` is never passed over for the token of a profile, and is sent to no site but the one it is for: where that is not
    clear, this raises `InvalidInput`. It raises `NotAllowed` where no site is known.
    """
    profile = profile or os.environ.get("PODIUM_PROFILE", "")
    our_site, our_token = os.environ.get("PODIUM_SITE", ""), os.environ.get("PODIUM_TOKEN", "")
    stored = None
    if not site and (profile or not our_site):
        if our_token and not profile and not token:
            raise InvalidInput(NO_SITE_FOR_TOKEN, code="no_site")
        stored = _profile_named(profile)
    site = checked_url(site or (stored.site if stored else our_site))
    if token or not our_token:
        return SignIn(site, token or (stored.token if stored else ""), f"the profile {stored.name}" if stored else "")
    if our_site and checked_url(our_site) != site:
        raise InvalidInput(
            f"PODIUM_TOKEN is for {our_site} (PODIUM_SITE), and this goes to {site}. Unset PODIUM_TOKEN, or name no other site.",
            code="other_site",
        )
    return SignIn(site, our_token, "PODIUM_TOKEN")


def _profile_named(name: str) -> Profile:
    """The profile of that name, else the last one signed in with. Raises `InvalidInput` or `NotAllowed`."""
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
