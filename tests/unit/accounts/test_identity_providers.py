"""Sign-in providers follow from settings; an incomplete setting stops the start."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.identity_providers import identity_providers, sign_in_origins

GITHUB = {"PODIUM_GITHUB_ID": "a", "PODIUM_GITHUB_SECRET": "b"}
ORCID = {"PODIUM_ORCID_ID": "a", "PODIUM_ORCID_SECRET": "b"}
OIDC = {"PODIUM_OIDC_ID": "a", "PODIUM_OIDC_SECRET": "b", "PODIUM_OIDC_ISSUER": "https://id.example.org/realms/lab/"}


def test_without_settings_there_is_none_and_the_policy_names_no_other_site() -> None:
    assert (identity_providers({}), sign_in_origins({})) == ({}, [])


def test_each_provider_that_is_set_is_offered_and_its_sign_in_page_may_be_reached() -> None:
    every = GITHUB | ORCID | OIDC | {"PODIUM_OIDC_SIGN_IN": "https://login.example.org/start"}
    providers: dict[str, Any] = identity_providers(every)
    assert set(providers) == {"github", "orcid", "openid_connect"}
    (oidc,) = providers["openid_connect"]["APPS"]
    assert (oidc["name"], oidc["settings"]) == ("id.example.org", {"server_url": "https://id.example.org/realms/lab"})
    assert sign_in_origins(every) == [
        "https://github.com",
        "https://orcid.org",
        "https://id.example.org",
        "https://login.example.org",
    ]


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"PODIUM_GITHUB_ID": "a"}, "PODIUM_GITHUB_SECRET"),
        ({"PODIUM_ORCID_SECRET": "a"}, "PODIUM_ORCID_ID"),
        (OIDC | {"PODIUM_OIDC_ISSUER": ""}, "PODIUM_OIDC_ISSUER"),
        (OIDC | {"PODIUM_OIDC_ISSUER": "id.example.org"}, "https://"),
    ],
    ids=["no secret", "no id", "no issuer", "no address"],
)
def test_half_a_setting_is_named(variables: dict[str, str], words: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=words):
        identity_providers(variables)
