"""Tags and best scores on the cards of the list: what filters, and what no visitor may see."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from competitions.catalog.models import CompetitionOrganizer
from competitions.catalog.services import TagsInvalid, clean_tags, tags_set
from tests.permissions import user_client
from tests.scenario import Scenario, scenario


def page(client: Client | None = None, **query: str) -> str:
    return (client or Client()).get("/", query).content.decode()


def test_the_list_is_narrowed_by_a_tag_on_the_page_and_in_the_api(site: Scenario) -> None:
    other = scenario()
    tags_set(competition=site.competition, names=["Graphs", "in  vitro"])
    tags_set(competition=other.competition, names=["graphs of cities"])
    hits = [f"/competitions/{candidate.competition.slug}/" in page(tag="GRAPHS") for candidate in (site, other)]
    assert hits == [True, False]
    rows = Client().get("/api/v1/competitions/", {"tag": "in vitro"}).json()["results"]
    assert [(row["slug"], row["tags"]) for row in rows] == [(site.competition.slug, ["graphs", "in vitro"])]
    assert "No competition fits" in page(tag="%")
    assert 'href="/?tag=in%20vitro"' in Client().get(f"/competitions/{site.competition.slug}/").content.decode()


@pytest.mark.parametrize("names", [["a,b"], ["x" * 31], list("abcdefghi"), ["zero\u200bwidth"]])
def test_tags_that_cannot_be_used_are_refused(names: list[str]) -> None:
    with pytest.raises(TagsInvalid):
        clean_tags(names)


def test_a_card_shows_the_best_score_of_the_open_phase(site: Scenario) -> None:
    for value in (0.75, 0.25):
        site.score(site.submit(), value)
    site.score(site.submit(team=site.join(is_baseline=True)), 0.125)
    assert '<strong class="score">0.2500</strong>' in page()


@pytest.mark.parametrize("hide", ["sealed", "hidden", "column"])
def test_what_visitors_may_not_see_is_on_nobodys_card(site: Scenario, hide: str) -> None:
    CompetitionOrganizer.objects.update(can_see_sealed=True)
    site.score(site.submit(), 0.25)
    if hide == "sealed":
        site.phases["test-dev"].visibility = "sealed"
        site.phases["test-dev"].save()
    elif hide == "hidden":
        site.phase.leaderboards.update(is_hidden=True)
    else:
        site.phase.leaderboard.columns.update(is_hidden=True)
    for client in (Client(), user_client(site.member()), user_client(site.organizer)):
        assert "0.2500" not in page(client)


def test_the_list_takes_at_most_ten_queries(site: Scenario) -> None:
    site.score(site.submit(), 0.25)
    other = scenario()
    other.score(other.submit(), 0.5)
    member = user_client(site.member())
    with CaptureQueriesContext(connection) as captured:
        page(member)
    assert len(captured) <= 10
