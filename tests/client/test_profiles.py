"""The site and the token that a command goes by."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.cli import main
from podium.client import Client
from podium.errors import InvalidInput
from podium.profiles import Profile, SignIn, profile_save, sign_in_chosen

PERSON = Profile("lab", "https://podium.example.org", "podium_person")


@pytest.fixture(autouse=True)
def signed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody has signed in on this machine, and the environment says nothing."""
    monkeypatch.setenv("PODIUM_CONFIG", str(tmp_path / "sites.json"))
    for name in ("PODIUM_SITE", "PODIUM_TOKEN", "PODIUM_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    profile_save(PERSON)


def test_a_token_of_the_environment_is_never_passed_over_for_who_signed_in_last(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PODIUM_TOKEN", "podium_robot")
    with pytest.raises(InvalidInput, match="PODIUM_SITE does not say for which site"):
        sign_in_chosen()
    assert main(["submissions", "gap"]) == 2
    assert "PODIUM_TOKEN is set" in capsys.readouterr().err
    monkeypatch.setenv("PODIUM_SITE", "https://other.example.org/")
    assert sign_in_chosen() == SignIn("https://other.example.org", "podium_robot", "PODIUM_TOKEN")


def test_a_profile_that_is_named_says_the_site_and_a_token_of_the_environment_who_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert sign_in_chosen() == SignIn(PERSON.site, PERSON.token, "the profile lab")
    monkeypatch.setenv("PODIUM_TOKEN", "podium_robot")
    assert sign_in_chosen("lab") == SignIn(PERSON.site, "podium_robot", "PODIUM_TOKEN")
    monkeypatch.setenv("PODIUM_PROFILE", "lab")
    assert sign_in_chosen() == SignIn(PERSON.site, "podium_robot", "PODIUM_TOKEN")
    monkeypatch.setenv("PODIUM_SITE", "https://podium.example.org/")
    assert sign_in_chosen().token == "podium_robot"


def test_a_token_of_the_environment_goes_to_no_site_but_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PODIUM_TOKEN", "podium_robot")
    monkeypatch.setenv("PODIUM_SITE", "https://other.example.org")
    with pytest.raises(
        InvalidInput, match=r"PODIUM_TOKEN is for https://other.example.org .* https://podium.example.org"
    ):
        sign_in_chosen("lab")
    with pytest.raises(InvalidInput, match="PODIUM_TOKEN is for"):
        Client("https://third.example.org")
    assert Client("https://third.example.org", "podium_given").sign_in.token == "podium_given"
    monkeypatch.delenv("PODIUM_TOKEN")
    assert sign_in_chosen("lab").token == PERSON.token
