"""The list of submissions compares each score with the team's best one."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from tests.permissions import user_client
from tests.scenario import Scenario


def listed(site: Scenario, phase: str = "") -> str:
    url = reverse("web:submissions", args=[site.competition.slug])
    return user_client(site.member()).get(url + phase).content.decode()


def test_each_score_says_how_far_it_is_from_the_teams_best(site: Scenario) -> None:
    other = site.join("Others")
    site.score(site.submit(team=other), 0.01)
    for value in (0.5, 0.25, 0.75, 0.25):
        site.score(site.submit(), value)
    page = listed(site)
    assert page.count("same as your best") == 1
    assert "+0.2500 to your best, lower is better" in " ".join(page.split())
    assert "+0.5000 to your best" in page
    assert page.count("to your best") == 2, "the best one is not compared with itself, nor with another team's"


def test_of_sealed_scores_no_difference_is_told(site: Scenario) -> None:
    for value in (0.5, 0.25):
        site.score(site.submit(phase=site.sealed), value)
    assert "to your best" not in listed(site)


def test_a_list_that_compares_takes_no_query_more(site: Scenario, django_assert_max_num_queries: Any) -> None:
    client, url = user_client(site.member()), reverse("web:submissions", args=[site.competition.slug])
    site.score(site.submit(), 0.5)
    with django_assert_max_num_queries(10) as queries:
        client.get(url)
    for value in (0.25, 0.75):
        site.score(site.submit(), value)
    with django_assert_max_num_queries(10) as more:
        client.get(url)
    assert len(more) == len(queries)
