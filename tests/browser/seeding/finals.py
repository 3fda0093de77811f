"""A revealed phase, its winners, and the code that they hand in."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from tests.browser.seeding.place import LONG_TEAM, Place, person

WINNER = UUID("11111111-2222-4333-8444-555555555555")
CERTIFICATE = UUID("66666666-7777-4888-8999-aaaaaaaaaaaa")


def finals(place: Place) -> None:
    """Create a public phase with a private part and fact sheet, and a closed, verified one."""
    from competitions.catalog.models import Column, Leaderboard
    from competitions.catalog.services import phase_reveal
    from competitions.factsheets.models import Question
    from competitions.factsheets.services import save_question
    from competitions.leaderboards.sealing import board_commit
    from competitions.submissions.annotations import fact_sheet_edit
    from competitions.winners.models import Lane
    from competitions.winners.models import Place as WinnersPlace
    from competitions.winners.services import code_hand_in, invite_next

    for index, (key, title, kind) in enumerate(
        [("method", "Method", "text"), ("params", "Parameters", "number"), ("code", "Code", "url")]
    ):
        question = Question(
            competition=place.competition,
            key=key,
            title=title,
            kind=kind,
            index=index,
            is_public=True,
            is_on_board=True,
            help_text="The whole model, embeddings too." if key == "params" else "",
        )
        save_question(question)
    private = Leaderboard.objects.create(
        phase=place.phases["test-dev"],
        key="private",
        title="Private part",
        index=1,
        rule="selected",
        visibility="sealed",
    )
    Column.objects.create(leaderboard=private, key="rmse", title="RMSE", sorting="asc", is_primary=True)
    for number, (name, team) in enumerate(
        [("gina", "Graph Ghosts"), ("hugo", "Hartree"), ("ivan", LONG_TEAM), ("jana", "Joule")]
    ):
        user = person(name)
        place.join(user, team)
        for step in range(2) if name == "gina" else (1,):
            sent = place.score(place.submit(user, hours_ago=60 - 9 * step - number), 0.4 - 0.05 * step + 0.03 * number)
            facts = {
                "method": "Graph transformer",
                "params": 61_000_000 + number,
                "code": "https://example.org/team/code",
            }
            fact_sheet_edit(submission=sent, answers=facts, by=user, now=place.now)
        place.score(place.submit(user, "test-challenge", hours_ago=30 - number), 0.31 + 0.02 * ((number * 3) % 4))
    challenge = place.phases["test-challenge"]
    challenge.closes_at = place.now - timedelta(hours=2)
    challenge.save()
    board = Leaderboard.objects.get(phase=challenge)
    board_commit(board=board, now=place.now)
    phase_reveal(phase=challenge, now=place.now)
    lane = Lane.objects.create(leaderboard=board, top=2, tolerance=0.0001, instructions="The code must be **public**.")
    first, second = invite_next(lane=lane, actor="user:olga", now=place.now)
    WinnersPlace.objects.filter(pk=first.pk).update(key=WINNER)
    code_hand_in(
        key=second.key,
        by=second.team.captain,
        repository_url="https://example.org/team/code",
        commit="0a1b2c3d" * 5,
        now=place.now,
    )


def over(place: Place) -> None:
    """End a competition with a board for agents, reveal it, and certify that somebody took part."""
    from competitions.catalog.models import Agents, Column, Competition, Leaderboard, Phase
    from competitions.catalog.services import phase_reveal
    from competitions.leaderboards.services import board_rebuild
    from competitions.people.certificates import make_certificate
    from competitions.people.models import Certificate
    from competitions.submissions.models import Submission

    phase = place.phases["test-dev"]
    agents = Leaderboard.objects.create(phase=phase, key="agents", title="Agents", index=1, for_agents=True)
    Column.objects.create(leaderboard=agents, key="mae", title="MAE", unit="eV", sorting="asc", is_primary=True)
    people = []
    for number, (name, team) in enumerate([("olaf", "Overfitters"), ("omar", "Last Epoch"), ("odd", LONG_TEAM)]):
        people.append(user := person(name, f"{name.title()} Example"))
        place.join(user, team)
        sent = place.submit(user, hours_ago=60 - number)
        if name == "odd":
            Submission.objects.filter(pk=sent.pk).update(agent_model="Model 1", agent_harness="Harness 2")
        place.score(sent, 0.21 + 0.02 * number)
        place.score(place.submit(user, "test-challenge", hours_ago=30 - number), 0.25 - 0.01 * number)
    Phase.objects.filter(pk=phase.pk).update(agents=Agents.OWN_BOARD)
    for board in Leaderboard.objects.filter(phase=phase):
        board_rebuild(board)
    Phase.objects.filter(competition=place.competition).update(closes_at=place.now - timedelta(hours=2))
    phase_reveal(phase=Phase.objects.get(pk=place.phases["test-challenge"].pk), now=place.now)
    Competition.objects.filter(pk=place.competition.pk).update(gives_certificates=True)
    place.competition.refresh_from_db()
    issued = make_certificate(user=people[0], competition=place.competition, name="Olaf Example", now=place.now)
    Certificate.objects.filter(pk=issued.pk).update(key=CERTIFICATE)
