"""Records which query parameters a page reads, so that a walk tries only those."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict

ALL = "*"  # the query was read as a whole


class NotedQuery(QueryDict):
    """A query that notes the names it is asked for."""

    def __init__(self, *given: Any, **named: Any) -> None:
        self.read: set[str] = set()
        super().__init__(*given, **named)
        self.read.clear()  # filling it asks, too

    def __getitem__(self, key: str) -> Any:
        self.read.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.read.add(str(key))
        return super().__contains__(key)

    def getlist(self, key: str, default: Any = None) -> list[Any]:
        self.read.add(key)
        return super().getlist(key, default)

    def __iter__(self) -> Any:
        self.read.add(ALL)
        return super().__iter__()

    def lists(self) -> Any:
        self.read.add(ALL)
        return super().lists()


def note_queries(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: give each request a query that notes what is read."""

    def middleware(request: HttpRequest) -> HttpResponse:
        request.GET = NotedQuery(request.META["QUERY_STRING"])  # type: ignore[assignment]  # it cannot be changed either
        return get_response(request)

    return middleware


def names_read(response: Any) -> set[str]:
    """The names of the query that were read for this answer."""
    query = response.wsgi_request.GET
    assert isinstance(query, NotedQuery), "the middleware is on"
    return query.read


def is_known(query: dict[str, str], answers: list[tuple[dict[str, str], set[str]]]) -> bool:
    """True if one of these answers, each to a query of which these names were read, answers this, too.

    >>> is_known({"phase": "one", "board": "main"}, [({"phase": "one", "board": "final"}, {"phase", "q"})])
    True
    >>> is_known({"phase": "two", "board": "main"}, [({"phase": "one", "board": "final"}, {"phase", "q"})])
    False
    """
    return any(ALL not in read and all(query.get(name) == given.get(name) for name in read) for given, read in answers)
