"""Pages and API at 10^2, 10^4 and 10^6 submissions on PostgreSQL: queries, time, and 304s.

make bench ONLY=tests/benchmarks/site
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import pytest
from django.db import connection
from django.template.base import Template
from django.test import Client
from django.test import utils as test_utils
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from competitions.compute import wakeups
from tests.benchmarks.site.filling import fill
from tests.scenario import Scenario, scenario

pytestmark = pytest.mark.django_db(transaction=True)
SIZES = ((100, 60), (10_000, 2_000), (1_000_000, 100_000))  # submissions, teams; a first page of 50 rows in each
PAGES = (
    ("competition page", "anybody"),
    ("competition page", "member"),
    ("leaderboard page", "anybody"),
    ("leaderboard page", "member"),
    ("leaderboard JSON", "anybody"),
    ("leaderboard JSON", "member"),
    ("leaderboard search", "anybody"),
    ("submissions page", "member"),
    ("submissions JSON", "member"),
)
MAX_QUERIES = 10
MAX_GROWTH = 1.5
WARM_UP, REPEATS = 5, 40


class Times(NamedTuple):
    """Times in milliseconds; on a shared machine, the least is nearest to the page's own cost."""

    median: float
    least: float


@dataclass(frozen=True)
class Row:
    """One page for one kind of visitor, at each size."""

    page: str
    who: str
    queries: list[int]
    times_ms: list[Times]


def measure_ms(acts: list[Callable[[], Any]]) -> list[Times]:
    """Times of each act. They take turns, so that a busy machine slows all of them alike."""
    times: list[list[float]] = [[] for _ in acts]
    for turn in range(WARM_UP + REPEATS):
        for act, measured in zip(acts, times, strict=True):
            began = time.perf_counter()
            act()
            if turn >= WARM_UP:
                measured.append((time.perf_counter() - began) * 1000)
    return [Times(statistics.median(measured), min(measured)) for measured in times]


def pages(site: Scenario) -> dict[str, str]:
    slug, phase = site.competition.slug, site.phase.slug
    return {
        "competition page": reverse("web:overview", args=[slug]),
        "leaderboard page": f"{reverse('web:leaderboard', args=[slug])}?phase={phase}",
        "leaderboard search": f"{reverse('web:leaderboard', args=[slug])}?phase={phase}&q=ench+1",
        "leaderboard JSON": reverse("api:leaderboard", args=[slug, phase]),
        "submissions page": f"{reverse('web:submissions', args=[slug])}?phase={phase}",
        "submissions JSON": reverse("api:submissions"),
    }


@pytest.fixture(autouse=True)
def cache_of_production(settings: Any, redis_url: str) -> None:
    """Rates of API calls are counted in Redis, as `docker-compose.yml` has it."""
    shared = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": redis_url}
    settings.CACHES = settings.CACHES | {"default": shared}


def test_pages_take_the_same_queries_and_time_at_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakeups, "wake", lambda name: True)
    # Templates are drawn as on a site in use, without the test runner's copy of every context.
    monkeypatch.setattr(Template, "_render", test_utils._TestState.saved_data.template_render)  # type: ignore[attr-defined]
    sites = []
    for submissions, teams in SIZES:
        site = scenario(now=timezone.now())
        fill(site, submissions, teams)
        sites.append(site)
    rows = [measure(sites, name, who) for name, who in PAGES]
    rows.append(measure_unchanged(sites))
    report(rows)
    for row in rows:
        assert len(set(row.queries)) == 1, row
        assert max(row.queries) <= MAX_QUERIES, row


def measure(sites: list[Scenario], name: str, who: str) -> Row:
    acts: list[Callable[[], Any]] = []
    queries = []
    for site in sites:
        client = Client()
        if who == "member":
            client.force_login(site.member())
        url = pages(site)[name]
        client.get(url)  # what the first reader of a board leaves in the cache is not a page's own cost
        with CaptureQueriesContext(connection) as captured:
            assert client.get(url).status_code == 200
        queries.append(len(captured))
        acts.append(partial(client.get, url))
    return Row(name, who, queries, measure_ms(acts))


def measure_unchanged(sites: list[Scenario]) -> Row:
    """The same board asked for again by somebody who has it."""
    acts: list[Callable[[], Any]] = []
    queries = []
    for site in sites:
        client, url = Client(), pages(site)["leaderboard JSON"]
        etag = client.get(url)["ETag"]
        with CaptureQueriesContext(connection) as captured:
            assert client.get(url, headers={"If-None-Match": etag}).status_code == 304
        queries.append(len(captured))
        acts.append(partial(client.get, url, headers={"If-None-Match": etag}))
    return Row("leaderboard JSON 304", "anybody", queries, measure_ms(acts))


def report(rows: list[Row]) -> None:
    print("\nmedian and, in brackets, least of the times in ms")
    print(
        f"{'page':<22}{'who':<9}{'queries':>8}"
        + "".join(f"{size:>15,}" for size, _ in SIZES)
        + f"{'largest/smallest':>18}"
    )
    for row in rows:
        growth = row.times_ms[-1].median / row.times_ms[0].median
        cells = "".join(f"{f'{times.median:.1f} ({times.least:.1f})':>15}" for times in row.times_ms)
        print(
            f"{row.page:<22}{row.who:<9}{row.queries[-1]:>8}{cells}{growth:>17.2f}x{'' if growth <= MAX_GROWTH else '  over'}"
        )
