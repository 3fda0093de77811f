"""Methods that only ask, at every address of the APIs; `OPTIONS` as several kinds of person."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

from django.test import Client
from django.urls import get_resolver

from accounts.models import Scope, token_create
from tests.scenario import Scenario
from tests.soak import SOAKS

VALUES: Final = {"int": "7", "uuid": "7d2ab6cc-3c6f-4bd8-a4d5-6d0c9ba2a6ff", "slug": "a", "str": "a", "path": "a"}


def addresses(part: Any, prefix: str = "/") -> Iterator[str]:
    for each in part.url_patterns:
        if hasattr(each, "url_patterns"):
            yield from addresses(each, prefix + str(each.pattern))
        else:
            yield re.sub(r"<(?:(\w+):)?\w+>", lambda named: VALUES[named[1] or "str"], prefix + str(each.pattern))


def kinds(site: Scenario) -> dict[str, dict[str, str]]:
    """Headers by which each is known."""
    people = [("participant", site.member(site.join("Team")), list(Scope.values))]
    people += [("organizer", site.organizer, scopes) for scopes in ([Scope.READ.value], list(Scope.values))]
    headers = {"nobody": {}, "a stranger with a wrong token": {"Authorization": "Bearer wrong"}}
    for kind, user, scopes in people:
        over = site.now + timedelta(days=10_000)
        token = token_create(user=user, name=kind, scopes=scopes, expires_at=over)[1]
        headers[f"{kind} who may {', '.join(scopes)}"] = {"Authorization": f"Bearer {token}"}
    return headers


def test_no_address_of_the_api_fails_at_a_method_that_only_asks(site: Scenario) -> None:
    """HEAD is GET, which `test_permissions` asks for; TRACE is refused.

    `make soak` asks as every kind of person.
    """
    paths = [path for path in addresses(get_resolver()) if path.startswith("/api/")]
    assert len(paths) > 100
    client = Client(raise_request_exception=False)
    everybody = kinds(site)
    nobody, *others, organizer = everybody
    calls = [("options", nobody), ("options", organizer), ("trace", organizer)]
    calls += [("options", kind) for kind in others] + [("head", organizer)] if SOAKS else []
    failed = [
        (method, kind, path)
        for method, kind in calls
        for path in paths
        if getattr(client, method)(path, headers=everybody[kind]).status_code >= 500
    ]
    assert failed == []


def test_options_says_what_an_address_takes(client: Client, site: Scenario) -> None:
    answer = client.options("/api/v1/submissions/")
    assert answer.status_code == 200
    assert {"name", "description", "parses"} <= set(answer.json())
    assert "POST" in answer.headers["Allow"]
