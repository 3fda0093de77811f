"""Sign-in with accounts of GitHub, ORCID or one OpenID Connect provider, as the settings say."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

GITHUB, ORCID, OIDC = "github", "orcid", "openid_connect"
APPS: Final = tuple(f"allauth.socialaccount.providers.{name}" for name in (GITHUB, ORCID, OIDC))
ORIGINS: Final = {GITHUB: "https://github.com", ORCID: "https://orcid.org"}


def identity_providers(variables: Mapping[str, str]) -> dict[str, dict[str, object]]:
    """`SOCIALACCOUNT_PROVIDERS` of those with id and secret. Raises `ImproperlyConfigured` for one alone.

    >>> identity_providers({"PODIUM_GITHUB_ID": "a", "PODIUM_GITHUB_SECRET": "b"})["github"]["APP"]["client_id"]
    'a'
    """
    github, orcid, oidc = (_app(variables, name) for name in ("GITHUB", "ORCID", "OIDC"))
    providers: dict[str, dict[str, object]] = {}
    if github:
        providers[GITHUB] = {"APP": github, "SCOPE": ["user:email"]}
    if orcid:
        providers[ORCID] = {"APP": orcid, "BASE_DOMAIN": "orcid.org"}
    if oidc:
        issuer = variables.get("PODIUM_OIDC_ISSUER", "").rstrip("/")
        if urlsplit(issuer).scheme not in ("http", "https"):
            raise ImproperlyConfigured(
                "PODIUM_OIDC_ISSUER is the provider's address, such as https://login.example.org."
            )
        name = variables.get("PODIUM_OIDC_NAME", "") or urlsplit(issuer).hostname
        known = {"provider_id": "oidc", "name": name, "settings": {"server_url": issuer}}
        providers[OIDC] = {"APPS": [oidc | known], "OAUTH_PKCE_ENABLED": True}
    return providers


def sign_in_origins(variables: Mapping[str, str]) -> list[str]:
    """Origins that sign-in forms lead to; browsers follow a form only to origins in the policy.

    `PODIUM_OIDC_SIGN_IN` is for providers whose sign-in page is at another origin than their issuer.

    >>> sign_in_origins({"PODIUM_OIDC_ID": "a", "PODIUM_OIDC_SECRET": "b", "PODIUM_OIDC_ISSUER": "https://id.example.org/realm"})
    ['https://id.example.org']
    """
    providers = identity_providers(variables)
    origins = [origin for name, origin in ORIGINS.items() if name in providers]
    if OIDC in providers:
        origins += [
            "{0.scheme}://{0.netloc}".format(urlsplit(variables[name]))
            for name in ("PODIUM_OIDC_ISSUER", "PODIUM_OIDC_SIGN_IN")
            if variables.get(name)
        ]
    return list(dict.fromkeys(origins))


def _app(variables: Mapping[str, str], name: str) -> dict[str, object] | None:
    client_id, secret = (variables.get(f"PODIUM_{name}_{part}", "").strip() for part in ("ID", "SECRET"))
    if bool(client_id) != bool(secret):
        raise ImproperlyConfigured(f"Set both PODIUM_{name}_ID and PODIUM_{name}_SECRET, or neither.")
    return {"client_id": client_id, "secret": secret} if client_id else None
