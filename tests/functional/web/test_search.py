"""The list of competitions, narrowed by words, group and order."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from competitions.catalog.models import Competition, Phase
from tests.scenario import Scenario


@pytest.fixture
def three(site: Scenario) -> Scenario:
    """One that runs, one that comes and one that is over, beside the scenario's own."""
    Competition.objects.filter(pk=site.competition.pk).update(title="Molecules", host="A laboratory")
    for title, opens, closes in (("Bicycles", -2, 3), ("Rivers", 2, 5), ("Glaciers", -9, -1)):
        competition = Competition.objects.create(
            slug=title.lower(),
            title=title,
            subtitle="count them",
            is_published=True,
            queue=site.queue,
            tag_line=",ice,snow," if title == "Glaciers" else "",
        )
        Phase.objects.create(
            competition=competition,
            slug="p",
            name="p",
            opens_at=site.now + timedelta(days=opens),
            closes_at=site.now + timedelta(days=closes),
        )
    return site


def titles(site: Scenario, query: str) -> list[str]:
    page = Client().get(f"/?{query}")
    assert page.status_code == 200
    return [card.competition.title for card in page.context["cards"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("q=glac", {"Glaciers"}),
        ("q=count+BICY", {"Bicycles"}),
        ("q=laboratory", {"Molecules"}),
        ("q=ice", {"Glaciers"}),
        ("q=nothing", set()),
        ("show=running", {"Molecules", "Bicycles"}),
        ("show=coming", {"Rivers"}),
        ("show=past", {"Glaciers"}),
        ("show=own", set()),
    ],
)
def test_the_list_is_narrowed(three: Scenario, query: str, expected: set[str]) -> None:
    assert set(titles(three, query)) == expected


def test_it_is_ordered_within_its_groups(three: Scenario) -> None:
    closing = titles(three, "show=running&order=closing")
    assert closing[0] == "Bicycles"
    assert titles(three, "show=running&order=teams")[0] == "Molecules"


def test_what_is_no_choice_is_said_and_all_are_shown(three: Scenario) -> None:
    page = Client().get("/?show=bogus")
    assert len(page.context["cards"]) == 4
    assert "bogus is not one of the available choices" in page.content.decode()
    assert "No competition fits" in Client().get("/?q=nothing").content.decode()
