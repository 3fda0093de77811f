"""A very large board for the browser: 244 teams, long names, 12 columns, weeks of improvements."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accounts.models import User
    from competitions.catalog.models import Leaderboard
    from competitions.compute.models import Queue
    from competitions.teams.models import Team

TEAMS, COLUMNS, OWN = 244, 12, 130
LONG = "The Association for Predictions of Exceedingly Small Errors"
NAMES = ("Gradient Descenders", LONG, "Éva és a többiek", "Overfitters Anonymous", "W" * 50, "qm9", "Seven Layers Deep")


def crowd(organizer: User, queue: Queue, now: datetime) -> None:
    """Create the competition with its board, rows in bulk; "cora" is in the team of about row 130."""
    from competitions.catalog.models import Column, Leaderboard
    from competitions.leaderboards.models import DailyRank
    from competitions.leaderboards.reading.board import all_rows
    from competitions.leaderboards.services import milestones_rebuild
    from competitions.leaderboards.snapshots import snapshot_perform, snapshot_request
    from competitions.teams.models import Team
    from tests.browser.seeding.place import competition, person, phase

    place = competition("crowd", "A crowded competition", organizer, queue, now)
    place.phases["test-dev"] = phase(place, "test-dev", "public", 0, {})
    board = Leaderboard.objects.get(phase=place.phases["test-dev"])
    for number in range(3, COLUMNS):
        Column.objects.create(leaderboard=board, key=f"part{number}", title=f"Part {number}", index=number)
    cora = person("cora")
    own = place.join(cora, "Corals")
    chosen = random.Random(11)
    teams = [
        Team(
            competition=place.competition,
            name=f"{chosen.choice(NAMES)[:56]} {number}",
            captain=organizer,
            is_baseline=number in (50, 170),
        )
        for number in range(TEAMS)
    ]
    board_teams = Team.objects.bulk_create(teams)
    board_teams[OWN] = own
    place.submit(cora)
    write_rows(board, board_teams, now, chosen)
    milestones_rebuild(board)
    ranks = [(row.entry.team_id, row.rank) for row in all_rows(board) if row.rank]
    DailyRank.objects.bulk_create(
        DailyRank(leaderboard=board, team_id=team, rank=max(1, rank + chosen.choice((-7, -1, 0, 0, 2, 12))))
        for team, rank in ranks[10:]
    )
    Leaderboard.objects.filter(pk=board.pk).update(entry_count=TEAMS, score_count=TEAMS * 5, ranks_noted_at=now)
    compare_rows(board, now)
    remove_rows(board, now)
    snapshot_perform(snapshot_request(board=board, by=organizer, now=now).pk)
    propose(board, organizer, now)


def propose(board: Leaderboard, organizer: User, now: datetime) -> None:
    """A proposal in each state: applied, compared with a comment, and being prepared.

    The rows of this board have no runs, so what a comparison would find is written down.
    """
    from competitions.catalog.models import Competition, Proposal
    from competitions.leaderboards.models import ProposedStanding
    from competitions.leaderboards.reading.board import all_rows
    from competitions.leaderboards.rescoring.services import proposal_begin, proposal_comment, proposal_set

    competition, chosen = board.phase.competition, random.Random(7)
    reason = "A team has found two molecules whose labels were swapped in the test set. They are put right."
    ranks = [row.rank for row in all_rows(board) if row.rank][:100]
    moved = sorted(ranks, key=lambda rank: rank + chosen.choice((-9, -2, 0, 0, 0, 3, 8)))
    rows: list[dict[str, object]] = [
        {
            "team": row.entry.team_id,
            "before": {"rank": row.rank, "score": f"{row.entry.values['mae']:.4f}", "tier": 1 + row.rank // 9},
            "after": {"rank": place, "score": f"{row.entry.values['mae'] * 1.02:.4f}", "tier": 1 + place // 9},
        }
        for row in list(all_rows(board))
        if row.rank in ranks
        for place in [moved.index(row.rank) + 1]
    ]
    rows.sort(key=lambda row: row["after"]["rank"])  # type: ignore[index]
    first = [rows[0]["team"]]
    facts: dict[str, object] = {
        "teams": TEAMS,
        "moved": 97,
        "gain": 41,
        "lose": 56,
        "come": 0,
        "gone": 1,
        "other_tier": 12,
    }
    facts |= {"first_before": [rows[1]["team"]], "first_after": first, "has_tiers": True}
    for title, state in (
        ("Two labels put right", "applied"),
        ("Rank by the root of the mean squared error", "scoring"),
    ):
        begun = proposal_begin(competition=competition, title=title, reason=reason, by=organizer, now=now)
        proposal_set(proposal=begun, board=board, column_key="rmse", column_decides=state == "scoring")
        proposal_comment(proposal=begun, text="The first three stay.\nI would apply it.", by=organizer, now=now)
        ended = {"ended_at": now, "ended_by": organizer} if state == "applied" else {}
        Proposal.objects.filter(pk=begun.pk).update(
            state=state, compared_count=240, compared_at=now, is_settled=True, **ended
        )
        ProposedStanding.objects.create(
            proposal=begun,
            leaderboard=board,
            facts=facts,
            rows=rows,
            snapshot=board.snapshots.first() if state == "applied" else None,
        )
    Competition.objects.filter(pk=competition.pk).update(applied_proposals=1)
    proposal_begin(competition=competition, title="Another scoring program", reason=reason, by=organizer, now=now)


def remove_rows(board: Leaderboard, now: datetime) -> None:
    """Rows that went: one that its own team took off, one that the organizers disqualified."""
    from competitions.catalog.models import Leaderboard
    from competitions.leaderboards.models import RemovedRow
    from competitions.submissions.models import Submission

    reason = "The predictions were made with the answers, which a mirror of the data had by mistake."
    for submission, words in zip(
        Submission.objects.filter(phase=board.phase).order_by("-pk")[:2], ("", reason), strict=True
    ):
        RemovedRow.objects.create(
            leaderboard=board, team=submission.team, submission=submission, removed_at=now, reason=words
        )
    Leaderboard.objects.filter(pk=board.pk).update(removed_count=2)


def compare_rows(board: Leaderboard, now: datetime) -> None:
    """Give the rows scores on resamples of a test set, most of whose noise they share."""
    import numpy as np

    from competitions.leaderboards.models import BoardUncertainty, Score, ScoreReplicates
    from competitions.leaderboards.uncertainty.refreshing import uncertainty_perform

    rng = np.random.default_rng(5)
    shared = rng.normal(0, 0.002, 400)
    ScoreReplicates.objects.bulk_create(
        ScoreReplicates(
            score=score,
            values=(score.values["mae"] + shared + rng.normal(0, 0.0006, 400)).astype("<f4").tobytes(),
            stream="test",
            items=2000,
        )
        for score in Score.objects.filter(leaderboard=board)
    )
    BoardUncertainty.objects.create(leaderboard=board, created_at=now)
    uncertainty_perform(board.pk)


def write_rows(board: Leaderboard, teams: list[Team], now: datetime, chosen: random.Random) -> None:
    """A row for each team, better ones first, with its way to its score."""
    from competitions.leaderboards.models import Entry, Score
    from competitions.submissions.models import Submission

    origin = Submission.objects.latest("pk")
    submissions = Submission.objects.bulk_create(
        Submission(
            phase=origin.phase,
            team=team,
            submitted_by=origin.submitted_by,
            kind=origin.kind,
            file=origin.file,
            file_name=origin.file_name,
            received_at=now,
            created_at=now,
            status="finished",
        )
        for team in teams
    )
    entries = []
    for number, (submission, team) in enumerate(zip(submissions, teams, strict=True)):
        value = 0.0700 + number**1.3 / 9000
        values = {"mae": value, "rmse": value * 1.4, "hits": 0.9 - value}
        values |= {f"part{column}": chosen.random() for column in range(3, COLUMNS)}
        at = now - timedelta(hours=chosen.randrange(1, 600))
        score = Score(
            leaderboard=board, submission=submission, team=team, values=values, rank_value=value, received_at=at
        )
        steps = sorted((chosen.uniform(value, value * 2) for _ in range(chosen.randrange(0, 7))), reverse=True)
        days = [now - timedelta(days=28 - 4 * step) for step in range(len(steps))]
        trend = [*((day.timestamp(), step) for day, step in zip(days, steps, strict=True)), (now.timestamp(), value)]
        entries.append(
            Entry(
                leaderboard=board,
                team=team,
                score=score,
                values=values,
                rank_value=value,
                is_baseline=team.is_baseline,
                submissions=len(trend),
                achieved_at=at,
                last_at=at,
                trend=trend,
            )
        )
    Score.objects.bulk_create(entry.score for entry in entries)
    Entry.objects.bulk_create(entries)
