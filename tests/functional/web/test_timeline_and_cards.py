"""Dates in a competition's header and on its card, and the order in which competitions are listed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client

from accounts.models import User
from competitions.catalog.models import Competition, Phase
from competitions.teams.models import Team
from competitions.web.presentation.listing import competition_cards, listed_for
from competitions.web.presentation.timeline import next_deadline, timeline
from core.design.covers import HUES, colour_number, make_cover, name_initials
from tests.permissions import user_client
from tests.scenario import Scenario, person

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def phase(name: str, opens: int, closes: int | None) -> Phase:
    return Phase(name=name, opens_at=NOW + opens * DAY, closes_at=None if closes is None else NOW + closes * DAY)


PAST, HALF, ENDLESS, COMING = (
    phase("past", -9, -5),
    phase("half", -5, 5),
    phase("endless", -5, None),
    phase("next", 5, 9),
)


def test_a_timeline_tells_how_much_of_each_phase_is_over() -> None:
    steps = timeline([PAST, HALF, ENDLESS, COMING], NOW)
    assert [(step.state, step.percent, step.word) for step in steps] == [
        ("past", 100, "closed"),
        ("now", 50, "closes"),
        ("now", 100, "open, no end date"),
        ("coming", 0, "opens"),
    ]


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        ([PAST, HALF, COMING], ("half", "closes")),
        ([HALF, phase("sooner", -1, 2)], ("sooner", "closes")),
        ([PAST, COMING], ("next", "opens")),
        ([PAST], None),
        ([ENDLESS], None),
        ([], None),
    ],
)
def test_the_next_date_is_the_first_close_of_an_open_phase_else_the_next_opening(
    phases: list[Phase], expected: tuple[str, str] | None
) -> None:
    deadline = next_deadline(phases, NOW)
    assert (deadline and (deadline.phase.name, deadline.verb)) == expected


def listed(site: Scenario, user: User | AnonymousUser) -> list[tuple[str, str]]:
    cards = competition_cards(listed_for(user, site.now), site.now)
    return [(card.group, card.competition.slug) for card in cards]


def another(site: Scenario, slug: str, opens: int, closes: int | None) -> None:
    competition = Competition.objects.create(slug=slug, title=slug, is_published=True, queue=site.competition.queue)
    newer = site.competition.created_at + Competition.objects.count() * timedelta(seconds=1)  # whatever the clock did
    Competition.objects.filter(pk=competition.pk).update(created_at=newer)
    closes_at = None if closes is None else site.now + closes * DAY
    Phase.objects.create(
        competition=competition, slug="one", name="One", opens_at=site.now + opens * DAY, closes_at=closes_at
    )


def test_own_competitions_come_first_then_what_runs_then_what_comes_then_the_past(site: Scenario) -> None:
    another(site, "over", -9, -5)
    another(site, "soon", 3, 9)
    another(site, "endless", -3, None)
    own = site.competition.slug
    assert listed(site, AnonymousUser()) == [
        ("Running", "endless"),
        ("Running", own),
        ("Coming", "soon"),
        ("Past", "over"),
    ]
    assert listed(site, site.member())[0] == ("Your competitions", own)
    Competition.objects.filter(slug__in=("over", "soon")).update(is_published=False)
    assert listed(site, person(is_superuser=True))[-2:] == [("Drafts", "soon"), ("Drafts", "over")]


def test_a_card_counts_teams_without_baselines_and_merged_ones(site: Scenario) -> None:
    site.join("Second team")
    for name, absorbed in [("Baseline", None), ("Absorbed", site.team)]:
        Team.objects.create(
            competition=site.competition,
            name=name,
            captain=site.member(),
            is_baseline=absorbed is None,
            merged_into=absorbed,
        )
    (card,) = competition_cards(listed_for(AnonymousUser(), site.now), site.now)
    assert card.team_count == 2
    assert "2 teams" in Client().get("/").content.decode()
    assert "2 teams" in user_client(site.member()).get(f"/competitions/{site.competition.slug}/").content.decode()


def test_a_cover_is_always_the_same_for_a_name_and_has_one_best_bar() -> None:
    for name in ("gap", "cluster", "finals", "x" * 60):
        cover = make_cover(name)
        assert cover == make_cover(name)
        assert [bar.kind for bar in cover.bars].count("best") == 1
        assert all(0 <= bar.y < bar.y + bar.height == cover.height for bar in cover.bars)
        assert colour_number(name) in range(HUES)


@pytest.mark.parametrize(("name", "initials"), [("Ada Berg", "AB"), ("éva", "É"), ("one two three", "OT"), ("!!", "?")])
def test_initials_are_the_first_letters_of_two_words(name: str, initials: str) -> None:
    assert name_initials(name) == initials
