"""Huge numbers on PostgreSQL: its columns hold fewer than SQLite's, so what it can take, both can."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from competitions.runs.leases import reports
from competitions.submissions.states import Kind
from tests.fixtures import common_site, noon, permissions, site, wakeups
from tests.functional.test_numbers import HUGE, answer, ask, clients, huge_addresses, names_read_by
from tests.permissions import PAGES, PermissionSite, named_patterns, page_url
from tests.reading import ALL, names_read
from tests.scenario import Scenario
from tests.services import REPOSITORY

__all__ = ["clients", "common_site", "noon", "permissions", "site", "wakeups"]

OF_EVERY_LIST = (("page", "cursor", "offset"), ("page_size", "limit", "phase"))  # what is asked at once


def test_addresses_with_numbers_that_no_column_holds_lead_to_nothing(
    permissions: PermissionSite, clients: list[Client]
) -> None:
    """Asked by an organizer, who is let through to most rows; others and longer ones are SQLite's, too."""
    wrong, tried = [], 0
    for name, pattern in named_patterns():
        if name not in PAGES:
            continue
        *huge, _ = huge_addresses(permissions, name, pattern)
        for url in huge:
            if str(HUGE[-1]) not in url:
                tried += 1
                status = ask(clients[1], PAGES[name][0], url)
                wrong += [(url, status)] * (status >= 500)
    assert wrong == []
    assert tried > 100


def test_huge_numbers_in_queries_are_refused_or_lead_to_nothing(
    permissions: PermissionSite, clients: list[Client], settings: Any
) -> None:
    """A name that a page does not read when given nothing is not read when it is given alone, either."""
    settings.MIDDLEWARE = ["tests.reading.note_queries", *settings.MIDDLEWARE]
    wrong, tried = [], 0
    for name, pattern in named_patterns():
        if name not in PAGES or PAGES[name][0] != "get":
            continue
        url = page_url(permissions, name, pattern)
        read = names_read(answer(clients[1], "get", url))
        for parameters in (*OF_EVERY_LIST, *((read,) for read in sorted(names_read_by(pattern)))):
            if not read & {ALL, *parameters}:
                continue
            tried += 1
            status = ask(clients[1], "get", url, data=dict.fromkeys(parameters, HUGE[-1]))
            if status >= 500:
                wrong.append((name, parameters, status))
    assert wrong == []
    assert tried > 100


@pytest.mark.parametrize("call", ["register", "claim", "heartbeat", "complete_failed", "complete_finished", "release"])
def test_the_worker_api_refuses_huge_numbers(site: Scenario, call: str) -> None:
    message = json.loads((REPOSITORY / "tests" / "data" / "protocol" / f"{call}.json").read_text())
    site.submit(kind=Kind.CODE)
    run = site.claim()
    own = {
        "lease_id": str(run.lease_id),
        "attempt": run.attempt,
        "worker_id": str(run.worker.key) if run.worker else "",
    }
    message |= {key: value for key, value in own.items() if key in message}
    name = call.partition("_")[0]
    arguments = [] if name in ("register", "claim") else [run.pk]
    headers = {"Authorization": f"Bearer {reports.run_token(run) if arguments else site.token}"}
    client = Client(raise_request_exception=False)
    wrong = []
    for number in (*HUGE, 1e300):
        for changed in changed_numbers(message, number):
            url = reverse(f"worker-{name}", args=arguments)
            status = ask(
                client, "post", url, data=json.dumps(changed), content_type="application/json", headers=headers
            )
            if status >= 500:
                wrong.append((changed, status))
    assert wrong == []


def changed_numbers(value: Any, number: float) -> Iterator[Any]:
    """The message with each of its numbers replaced in turn."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from (value | {key: changed} for changed in changed_numbers(inner, number))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from ([*value[:index], changed, *value[index + 1 :]] for changed in changed_numbers(inner, number))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield number
