"""Nothing that a reader sends is compared with hidden values: two worlds answer alike.

They differ in a hidden column that decides the ranks, and in digits that the board rounds away. Each probe lies
between the two: a comparison with such a number would make the answers differ, and bisecting would read it digit by
digit.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.core.cache import caches
from django.test import Client
from django.urls import URLPattern

from competitions.catalog.models import Column
from competitions.leaderboards.models import Cell, Entry, Score
from competitions.leaderboards.reading.board import Cursor
from competitions.runs.leases import reports
from tests.answers import read_result
from tests.functional.test_numbers import names_read_by
from tests.permissions import PAGES, PermissionSite, body_text, named_patterns, page_url
from tests.reading import ALL, names_read
from tests.scenario import Scenario, lease
from tests.soak import SOAKS

# By team: the hidden value that decides, and one of which two digits are shown. The order is the same, and so is what is shown.
WORLDS = (((0.20, 0.121), (0.50, 0.3310), (0.80, 0.541)), ((0.20, 0.121), (0.60, 0.3340), (0.80, 0.541)))
BETWEEN = {"secret": 0.55, "shown": 0.3325}
POSITIONS = ("cursor", "before", "after")
ALWAYS_TRIED = ("cursor", "before", "after", "sort", "q", "secret__lt")
VOLATILE = re.compile(r'csrfmiddlewaretoken" value="\w+"|"X-CSRFToken": "\w+"')
ANSWERS_A_MINUTE = 50  # of the API, well below its limit


@pytest.fixture
def scored(permissions: PermissionSite) -> Iterator[PermissionSite]:
    """Three teams on a board whose deciding column is hidden, beside one that shows two digits."""
    site = permissions.site
    board = site.phase.leaderboard
    Column.objects.filter(leaderboard=board).update(key="secret", is_hidden=True)
    Column.objects.create(leaderboard=board, key="shown", title="Shown", precision=2, index=1, sorting="asc")
    site.join("Third")
    with time_machine.travel(site.now, tick=False):
        for team, values in zip(site.teams, WORLDS[0], strict=True):
            score(site, team, values)
        permissions.arguments["entry"] = Entry.objects.get(leaderboard=board, team=site.teams[1]).pk
        yield permissions


def score(site: Scenario, team: Any, values: tuple[float, float]) -> None:
    submission = site.submit(team=team)
    run = next(run for run in iter(site.claim, None) if run.submission_id == submission.pk)
    body = {"outcome": "finished", "scores": dict(zip(BETWEEN, values, strict=True))}
    reports.run_complete(**lease(run), result=read_result(body, columns=list(BETWEEN)), now=site.now)


def enter_world(site: Scenario, world: int) -> None:
    """Change the values that no reader sees, and nothing else."""
    for team, values in zip(site.teams, WORLDS[world], strict=True):
        named = dict(zip(BETWEEN, values, strict=True))
        rows: list[Score | Entry] = [*Score.objects.filter(team=team), *Entry.objects.filter(team=team)]
        for row in rows:
            row.values, row.rank_value = row.values | named, values[0]
            row.save()
        Cell.objects.filter(entry__team=team, key="shown").update(sort_value=values[1])
    forget()


def forget() -> None:
    """Empty the caches, of pages as of how often somebody asked."""
    for name in settings.CACHES:
        caches[name].clear()


def addresses(permissions: PermissionSite, client: Client) -> Iterator[tuple[URLPattern, str]]:
    """Every address that shows this reader a value of the board."""
    for name, pattern in named_patterns():
        if name not in PAGES or PAGES[name][0] != "get":
            continue
        url = page_url(permissions, name, pattern)
        response = client.get(url)
        if response.status_code == 200 and "0.33" in body_text(response):
            yield pattern, url


def one_of_each_view(walked: list[tuple[URLPattern, str]]) -> list[tuple[URLPattern, str]]:
    """The first address of each view: one that answers in several forms reads its query once."""
    by_view = {
        getattr(pattern.callback, "view_class", pattern.callback): (pattern, url) for pattern, url in reversed(walked)
    }
    return list(by_view.values())


def probes(entry: Entry) -> tuple[list[str], list[str]]:
    """Positions that hold numbers between the two worlds, and such numbers as a reader may write them."""
    moment = entry.achieved_at.isoformat()
    positions = [json.dumps([value, moment, entry.pk, ""]).encode() for value in BETWEEN.values()]
    encoded = [base64.urlsafe_b64encode(position).decode().rstrip("=") for position in positions]
    return [*encoded, str(Cursor.of(entry))], [*map(str, BETWEEN.values()), *BETWEEN]


@dataclass(frozen=True)
class Question:
    """A parameter of an address, in one order of the board, and the probes that may stand in it."""

    url: str
    name: str
    order: str
    probes: tuple[str, ...]

    def queries(self) -> list[dict[str, str]]:
        return [{self.name: probe} | ({"sort": self.order} if self.order else {}) for probe in self.probes]


class Reader:
    """Asks, and empties the caches before the limit of the API is reached."""

    def __init__(self, client: Client) -> None:
        self.client, self.asked = client, 0

    def answer(self, url: str, query: dict[str, str]) -> Any:
        if self.asked % ANSWERS_A_MINUTE == 0:
            forget()
        self.asked += 1
        return self.client.get(url, query)

    def questions_that_count(self, questions: Iterable[Question]) -> Iterator[Question]:
        """Those whose parameter is read without it, in the same order: no other changes the answer."""
        read: dict[tuple[str, str], set[str]] = {}
        for question in questions:
            url, order = question.url, question.order
            if (url, order) not in read:
                response = self.answer(url, {"sort": order} if order else {})
                body_text(response)
                read[url, order] = names_read(response)
            if {question.name, ALL} & read[url, order]:
                yield question

    def answers(self, requests: list[tuple[str, dict[str, str]]]) -> list[tuple[int, str]]:
        responses = (self.answer(url, query) for url, query in requests)
        return [(response.status_code, VOLATILE.sub("", body_text(response))) for response in responses]


def test_no_parameter_of_any_board_is_compared_with_a_hidden_number(scored: PermissionSite, settings: Any) -> None:
    settings.MIDDLEWARE = ["tests.reading.note_queries", *settings.MIDDLEWARE]
    client, entry = scored.people["M"], Entry.objects.get(pk=scored.arguments["entry"])
    client.raise_request_exception = False
    reader, walked, (positions, values) = Reader(client), list(addresses(scored, client)), probes(entry)
    assert {str(pattern.name) for pattern, _ in walked} >= {
        "leaderboard",
        "leaderboard-csv",
        "entry",
        "board",
        "phase-board",
        "results-csv",
        "results-json",
    }
    questions = [
        Question(url, name, order, (*values, *(positions if SOAKS or name in POSITIONS else ())))
        for pattern, url in (walked if SOAKS else one_of_each_view(walked))
        for name in sorted({*names_read_by(pattern), *ALWAYS_TRIED} - {"board", "phase"})
        for order in (("", "shown") if name in ("cursor", "before") else ("",))
    ]
    counting = list(reader.questions_that_count(questions))
    assert {question.name for question in counting} >= {"cursor", "before", "sort", "q"}
    requests = [(url, dict[str, str]()) for _, url in walked]
    requests += [(question.url, query) for question in counting for query in question.queries()]
    before = reader.answers(requests)
    enter_world(scored.site, 1)
    after = reader.answers(requests)
    differing = [request for request, first, second in zip(requests, before, after, strict=True) if first != second]
    assert not differing, f"{len(differing)} of {len(requests)} answers tell hidden numbers"
    assert not [request for request, (status, _) in zip(requests, before, strict=True) if status >= 500]
    statuses = [status for status, _ in before]
    assert statuses[: len(walked)] == [200] * len(walked)
    assert statuses.count(200) - len(walked) > 10, "the walk reads boards with what may stand in a query"
