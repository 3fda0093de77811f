"""Pages of a discussion and the inbox at 10^2 and 10^5 posts on PostgreSQL: queries and time.

make bench ONLY=tests/benchmarks/site/test_discussion_growth.py
"""

from __future__ import annotations

from collections.abc import Callable
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

from competitions.discussions.models import Topic
from tests.benchmarks.site.discussions import fill_discussion
from tests.benchmarks.site.test_page_growth import Times, measure_ms
from tests.scenario import Scenario, scenario

pytestmark = pytest.mark.django_db(transaction=True)
SIZES = (100, 100_000)
MAX_QUERIES = 10
MAX_GROWTH = 1.35


class Place(NamedTuple):
    """A filled discussion."""

    site: Scenario
    longest: Topic
    middle: int  # the number of a post in the middle of the longest topic


@pytest.fixture(autouse=True)
def cache_of_production(settings: Any, redis_url: str) -> None:
    """Rates of API calls are counted in Redis, as `docker-compose.yml` has it."""
    shared = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": redis_url}
    settings.CACHES = settings.CACHES | {"default": shared}


def addresses(place: Place) -> dict[str, str]:
    """Every page, by name; "member:" and "organizer:" are whose it is."""
    slug, topic = place.site.competition.slug, place.longest.pk
    listed, read = reverse("web:discussion", args=[slug]), reverse("web:topic", args=[slug, topic])
    api = f"/api/v1/competitions/{slug}/"
    deep = Topic.objects.filter(competition=place.site.competition).order_by("-last_post_at")[4]
    cursor = f"{int(deep.last_post_at.timestamp() * 1_000_000)}-{deep.pk}"
    filters = ("unanswered", "solved", "unsolved", "announcements")
    return {
        "list": listed,
        "member: list": listed,
        "list, deep": f"{listed}?before={cursor}",
        **{f"list, {name}": f"{listed}?show={name}" for name in filters},
        "member: list, own": f"{listed}?show=own",
        "member: list, followed": f"{listed}?show=followed",
        "search, a word of all": f"{listed}?q=common",
        "search, some": f"{listed}?q=some3",
        "search, rare": f"{listed}?q=rare{place.middle}",
        "search, two words": f"{listed}?q=common+some3",
        "search, none": f"{listed}?q=nothing",
        "topic": read,
        "member: topic": read,
        "topic, deep": f"{read}?at={place.middle}",
        "topic, back": f"{read}?until={place.middle}",
        "feed of topics": reverse("web:discussion-feed", args=[slug]),
        "feed of replies": reverse("web:topic-feed", args=[slug, topic]),
        "topics JSON": f"{api}topics/",
        "posts JSON": f"{api}topics/{topic}/posts/",
        "post JSON": f"{api}posts/{place.middle}/",
        "organizer: reports JSON": f"{api}reports/",
        "organizer: desk": reverse("organize:discussion", args=[slug]),
        "organizer: topic": read,
        "member: inbox": reverse("web:notifications"),
        "member: inbox, unread JSON": "/api/v1/notifications/?unread=true",
    }


def test_a_discussion_costs_the_same_at_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    # Templates are drawn as on a site in use, without the test runner's copy of every context.
    monkeypatch.setattr(Template, "_render", test_utils._TestState.saved_data.template_render)  # type: ignore[attr-defined]
    places = [_place(posts) for posts in SIZES]
    every = [addresses(place) for place in places]
    rows = [(name, *_measured(places, name, [each[name] for each in every])) for name in every[0]]
    print(f"\n{'page':<28}{'queries':>8}{SIZES[0]:>12,}{SIZES[1]:>12,}{'growth':>9}  medians in ms")
    for name, queries, times in rows:
        growth = times[1].median / times[0].median
        over = "  over" if growth > MAX_GROWTH else ""
        print(f"{name:<28}{max(queries):>8}{times[0].median:>12.1f}{times[1].median:>12.1f}{growth:>8.2f}x{over}")
    assert [row for row in rows if len(set(row[1])) > 1 or max(row[1]) > MAX_QUERIES] == []


def _place(posts: int) -> Place:
    site = scenario(now=timezone.now())
    longest = fill_discussion(site, posts)
    numbers = longest.posts.order_by("pk").values_list("pk", flat=True)
    return Place(site, longest, numbers[len(numbers) // 2])


def _measured(places: list[Place], name: str, urls: list[str]) -> tuple[list[int], list[Times]]:
    acts: list[Callable[[], Any]] = []
    queries = []
    for place, url in zip(places, urls, strict=True):
        client = Client()
        if name.startswith("member: "):
            client.force_login(place.site.member())
        elif name.startswith("organizer: "):
            client.force_login(place.site.organizer)
        client.get(url)  # whoever looks at a topic for the first time is noted
        with CaptureQueriesContext(connection) as captured:
            assert client.get(url).status_code == 200, url
        queries.append(len(captured))
        acts.append(partial(client.get, url))
    return queries, measure_ms(acts)
