"""The site and the token that a command goes by."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.cli import main
from podium.errors import InvalidInput
from podium.profiles import Profile, profile_chosen, profile_save

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
        profile_chosen()
    assert main(["submissions", "gap"]) == 2
    assert "PODIUM_TOKEN is set" in capsys.readouterr().err
    monkeypatch.setenv("PODIUM_SITE", "https://other.example.org")
    assert profile_chosen() == Profile("environment", "https://other.example.org", "podium_robot")


def test_a_profile_that_is_named_is_who_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert profile_chosen() == PERSON
    monkeypatch.setenv("PODIUM_TOKEN", "podium_robot")
    assert profile_chosen("lab") == PERSON
    monkeypatch.setenv("PODIUM_PROFILE", "lab")
    assert profile_chosen() == PERSON
