"""A board of their own for agents: rows, choices, comparisons, and changes of the setting."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from competitions.catalog.changes.boards import store_board
from competitions.catalog.changes.phases import change_phase
from competitions.catalog.models import Agents, Leaderboard, Phase
from competitions.catalog.readiness import competition_warnings
from competitions.leaderboards.picks import CANNOT_COUNT, pick_add, pick_remove
from competitions.leaderboards.ranking.rules import Rule, public_board
from competitions.submissions.models import Submission
from core.confirmations import NeedsConfirmation
from tests.refusals import refuses
from tests.scenario import Scenario


def board_for_agents(site: Scenario, **fields: object) -> Leaderboard:
    """A second board of the public phase, for agents, beside that for people."""
    settings = {"key": "agents", "title": "Agents", "index": 1, "for_agents": True} | fields
    columns = list(site.phase.leaderboards.get(key="main").columns.all())
    for column in columns:
        column.pk = None
    board = store_board(Leaderboard(phase=site.phase, **settings), columns, now=site.now).row
    return Leaderboard.objects.select_related("phase").get(pk=board.pk)


def submitted(site: Scenario, value: float, *, agent: str = "", hour: int = 0) -> Submission:
    submission = site.submit(at=site.now + timedelta(hours=hour))
    Submission.objects.filter(pk=submission.pk).update(agent_model=agent)
    return site.score(Submission.objects.get(pk=submission.pk), value)


def give_agents(site: Scenario, agents: Agents) -> list[str]:
    """Change the phase as its form does; the sentences that were confirmed."""
    phase = Phase.objects.get(pk=site.phase.pk)
    phase.agents = agents
    tasks = list(phase.tasks.all())
    try:
        change_phase(phase, tasks=tasks, now=site.now)
    except NeedsConfirmation as asked:
        change_phase(phase, tasks=tasks, now=site.now, confirmed=asked.confirmation)
        return asked.impact
    return []


def standing(site: Scenario) -> dict[str, list[float]]:
    """Values of the boards' rows, by the board's key."""
    boards = Leaderboard.objects.filter(phase=site.phase).order_by("pk")
    return {board.key: [entry.values["mae"] for entry in board.entries.order_by("rank_value")] for board in boards}


def test_each_kind_stands_on_its_own_boards_and_a_change_moves_them_both_ways(site: Scenario) -> None:
    board_for_agents(site)
    submitted(site, 0.3)
    submitted(site, 0.1, agent="Model 1", hour=1)
    assert standing(site) == {"main": [0.1], "agents": [0.1]}, "as long as the phase does not part them"
    sentences = give_agents(site, Agents.OWN_BOARD)
    assert "1 scored submission of agents so far, which move to the boards for agents." in " ".join(sentences)
    assert standing(site) == {"main": [0.3], "agents": [0.1]}
    submitted(site, 0.2, hour=2)
    submitted(site, 0.05, agent="Model 1", hour=3)
    assert standing(site) == {"main": [0.2], "agents": [0.05]}
    assert any("share the boards again" in sentence for sentence in give_agents(site, Agents.ANY))
    assert standing(site) == {"main": [0.05], "agents": [0.05]}


def test_pages_and_the_api_say_for_whom_a_board_is(site: Scenario) -> None:
    board_for_agents(site)
    submitted(site, 0.1, agent="Model 1")
    client, address = Client(), f"/competitions/{site.competition.slug}/leaderboard/"
    api = f"/api/v1/competitions/{site.competition.slug}/phases/{site.phase.slug}/leaderboard/"
    assert client.get(api).json()["entrants"] == "all"
    assert b"a board of their own" not in client.get(address).content
    give_agents(site, Agents.OWN_BOARD)
    assert b"For people:" in client.get(address).content
    assert b"For agents:" in client.get(f"{address}?board=agents").content
    answers = {key: client.get(f"{api}?board={key}").json() for key in ("main", "agents")}
    assert [(answer["entrants"], len(answer["rows"])) for answer in answers.values()] == [("people", 0), ("agents", 1)]


def test_a_choice_is_for_the_boards_of_its_kind_and_stays_removable_after_a_change(site: Scenario) -> None:
    Leaderboard.objects.filter(phase=site.phase).update(rule=Rule.SELECTED)
    board_for_agents(site, rule=Rule.SELECTED)
    of_agent, member = submitted(site, 0.1, agent="Model 1"), site.member()
    main = Leaderboard.objects.select_related("phase__competition").get(phase=site.phase, key="main")
    pick_add(board=main, submission=of_agent, by=member, now=site.now)
    give_agents(site, Agents.OWN_BOARD)
    main = Leaderboard.objects.select_related("phase__competition").get(pk=main.pk)
    with refuses(CANNOT_COUNT, "agents have a leaderboard of their own"):
        pick_add(board=main, submission=of_agent, by=member, now=site.now)
    assert pick_remove(board=main, submission=of_agent, by=member, now=site.now)
    own = Leaderboard.objects.select_related("phase__competition").get(phase=site.phase, key="agents")
    with refuses(CANNOT_COUNT, "the leaderboard is for agents"):
        pick_add(board=own, submission=submitted(site, 0.2, hour=1), by=member, now=site.now)
    assert standing(site) == {"main": [0.2], "agents": [0.1]}


@pytest.mark.parametrize(("for_agents", "compared"), [(True, "agents"), (False, "main")])
def test_a_sealed_board_follows_the_public_board_of_its_kind(site: Scenario, for_agents: bool, compared: str) -> None:
    board_for_agents(site)
    final = board_for_agents(site, key="final", visibility="sealed", index=2, for_agents=for_agents)
    assert getattr(public_board(final), "key", None) == "main", "without the setting"
    give_agents(site, Agents.OWN_BOARD)
    final = Leaderboard.objects.select_related("phase").get(pk=final.pk)
    assert getattr(public_board(final), "key", None) == compared


def test_a_phase_without_a_board_for_one_of_them_warns(site: Scenario) -> None:
    assert {"no_board_for_agents", "no_board_for_people"}.isdisjoint(codes(site))
    submitted(site, 0.1, agent="Model 1")
    assert "which move off the boards." in " ".join(give_agents(site, Agents.OWN_BOARD))
    assert ("no_board_for_agents" in codes(site), "no_board_for_people" in codes(site)) == (True, False)
    board_for_agents(site)
    assert "no_board_for_agents" not in codes(site)


def codes(site: Scenario) -> set[str]:
    return {warning.code for warning in competition_warnings(site.competition)}
