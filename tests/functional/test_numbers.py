"""A number too large for the database is refused or finds nothing; it never causes an error."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import URLPattern, reverse

from tests.functional.disclosure.test_admin_walk import admin_url_name, admins, models_listed_once, request_by
from tests.permissions import PAGES, PermissionSite, named_patterns, page_url, url_arguments
from tests.soak import SOAKS, in_soak

HUGE = (2**31, 2**63, 10**30)
READ_BY_NAME = re.compile(
    r"""(?:\.get|\.getlist|\.word|is_number|GET|POST|data|query_params)[\[(]+\s*["']([a-z_]{1,40})["']"""
)
DECLARED = re.compile(r"^    ([a-z_]+) = (?:serializers|forms)\.\w+\(", re.MULTILINE)
BODIES = ("post", "put", "patch")
OF_FORMS = ("web", "organize", "accounts")  # nothing there reads JSON
Body = Mapping[str, int]


@pytest.fixture
def clients(permissions: PermissionSite) -> list[Client]:
    """Member, organizer and administrator, with clients that answer errors with 500, not by raising."""
    chosen = [permissions.people[letter] for letter in "MOR"]
    for client in chosen:
        client.raise_request_exception = False
    return chosen


def view_module(pattern: URLPattern) -> Path:
    view: Any = getattr(pattern.callback, "view_class", None) or inspect.unwrap(pattern.callback)
    view = (
        view if inspect.isroutine(view) or inspect.isclass(view) else type(view)
    )  # a feed is an object that is called
    return Path(inspect.getfile(view)).resolve()


def names_read_by(pattern: URLPattern) -> set[str]:
    """Names of values that the view's module reads by name."""
    return set(READ_BY_NAME.findall(view_module(pattern).read_text()))


def names_declared_for(pattern: URLPattern) -> set[str]:
    """Names of the fields of the forms and serializers beside the view's module."""
    module = view_module(pattern)
    folder = module.parent.parent if module.parent.name == "views" else module.parent
    declared = [*folder.glob("forms.py"), *folder.glob("serializers/*.py")]
    return {name for path in declared for name in DECLARED.findall(path.read_text())}


def answer(client: Client, method: str, url: str, **arguments: Any) -> Any:
    """The answer; whatever it did is taken back."""
    with transaction.atomic():
        response = getattr(client, method)(url, **arguments)
        if response.streaming:
            list(
                response.streaming_content
            )  # the client closes it then; closing it once more would close the connection
        transaction.set_rollback(True)
    return response


def ask(client: Client, method: str, url: str, **arguments: Any) -> int:
    """The status; whatever it did is taken back."""
    return int(answer(client, method, url, **arguments).status_code)


def huge_keys() -> tuple[int, ...]:
    """Those that no key of this database can be: SQLite's columns hold 63 bits, PostgreSQL's may hold 31."""
    return HUGE[connection.vendor == "sqlite" :]


def huge_addresses(permissions: PermissionSite, name: str, pattern: URLPattern) -> Iterator[str]:
    """The address with each number in it replaced by each huge one."""
    plain = page_url(permissions, name, pattern)
    kinds = {key: type(converter).__name__ for key, converter in pattern.pattern.converters.items()}
    for key in (key for key, kind in kinds.items() if kind == "IntConverter"):
        given = permissions.arguments | url_arguments(permissions, name)
        arguments = {other: given[other] for other in kinds}
        yield from (reverse(name, kwargs=arguments | {key: number}) for number in huge_keys())
    yield plain


@in_soak  # `make test` does it on PostgreSQL, which is stricter: tests/integration/site/test_numbers_on_postgres.py
def test_addresses_with_huge_numbers_lead_to_nothing(permissions: PermissionSite, clients: list[Client]) -> None:
    wrong = []
    for name, pattern in named_patterns():
        if name not in PAGES:
            continue
        *huge, _ = huge_addresses(permissions, name, pattern)
        wrong += [
            (url, status)
            for url in huge
            for client in (clients if str(HUGE[-1]) in url else clients[1:2])
            if (status := ask(client, PAGES[name][0], url)) >= 500
        ]
    assert wrong == []


def test_huge_numbers_in_bodies_are_refused(permissions: PermissionSite, clients: list[Client]) -> None:
    wrong = []
    for name, pattern in named_patterns():
        if name not in PAGES or PAGES[name][0] not in BODIES or name.startswith("worker-"):
            continue
        url, method = page_url(permissions, name, pattern), PAGES[name][0]
        read = sorted(names_read_by(pattern))
        together = [*read, *names_declared_for(pattern)]
        bodies = [dict.fromkeys(together, number) for number in (huge_keys() if SOAKS else huge_keys()[:1])]
        alone = [{name: HUGE[-1]} for name in read]
        takes_json = name.partition(":")[0] not in OF_FORMS
        wrong += [
            (name, list(fields)[:3], status)
            for fields, status in (
                *statuses(clients[1], method, url, bodies if takes_json else bodies[-1:], alone if takes_json else ()),
                *(statuses(clients[0], method, url, bodies, alone, is_form=True) if method == "post" else ()),
            )
            if status >= 500
        ]
    assert wrong == []


def statuses(
    client: Client, method: str, url: str, bodies: Sequence[Body], alone: Sequence[Body], *, is_form: bool = False
) -> Iterator[tuple[Body, int]]:
    """The status for each body; for those with one field alone only where a larger one was read at all."""
    reads_bodies = False
    for fields in (*bodies, *alone):
        if fields in bodies or reads_bodies:
            sent = {"data": fields} if is_form else {"data": json.dumps(fields), "content_type": "application/json"}
            response = answer(client, method, url, **sent)
            reads_bodies |= response.wsgi_request._read_started
            yield fields, response.status_code


def admin_addresses(request: Any) -> Iterator[str]:
    for model, model_admin in admins().items():
        changelist = reverse(admin_url_name(model, "changelist"))
        filters = [item[0] if isinstance(item, tuple) else item for item in model_admin.get_list_filter(request)]
        named = [
            list_filter if isinstance(list_filter, str) else getattr(list_filter, "parameter_name", "")
            for list_filter in filters
        ]
        yield from (f"{changelist}?{key}={HUGE[-1]}" for key in ("p", "o"))
        yield from (f"{changelist}?{key}{end}={HUGE[-1]}" for key in named for end in ("", "__exact", "__id__exact"))
        for number in huge_keys() if SOAKS else huge_keys()[:1]:
            yield from (reverse(admin_url_name(model, page), args=[number]) for page in ("change", "history", "delete"))
            yield f"{reverse(admin_url_name(model, 'add'))}?competition={number}&phase={number}&queue={number}"


def test_the_admin_refuses_huge_numbers(permissions: PermissionSite, clients: list[Client]) -> None:
    from django.contrib.auth import get_user

    administrator = clients[-1]
    request = request_by(get_user(administrator))
    with models_listed_once():
        wrong = [(url, status) for url in admin_addresses(request) if (status := ask(administrator, "get", url)) >= 500]
    assert wrong == []
