"""Boards of many rows, written in bulk."""

from __future__ import annotations

import random
from datetime import timedelta

from competitions.catalog.models import Leaderboard
from competitions.leaderboards.models import Entry, Score
from competitions.submissions.models import Submission
from competitions.teams.models import Team
from tests.scenario import Scenario


def many(site: Scenario, count: int) -> Leaderboard:
    """A board of many teams with many ties, written in bulk."""
    board: Leaderboard = site.phase.leaderboard
    template = site.score(site.submit(), 1.0).scores.get()
    chosen = random.Random(7)
    teams = Team.objects.bulk_create(
        Team(competition=site.competition, name=f"t{number}", captain=site.organizer, is_baseline=number % 10 == 0)
        for number in range(count)
    )
    origin = template.submission
    submissions = Submission.objects.bulk_create(
        Submission(
            phase=site.phase,
            team=team,
            submitted_by=site.organizer,
            kind=origin.kind,
            file=origin.file,
            file_name="x",
            received_at=site.now,
            created_at=site.now,
            status="finished",
        )
        for team in teams
    )
    values = [round(chosen.random(), 1) for _ in teams]
    scores = Score.objects.bulk_create(
        Score(
            leaderboard=board,
            submission=submission,
            team=submission.team,
            values={"mae": value},
            rank_value=value,
            received_at=site.now,
        )
        for submission, value in zip(submissions, values, strict=True)
    )
    Entry.objects.bulk_create(
        Entry(
            leaderboard=board,
            team=score.team,
            score=score,
            values=score.values,
            rank_value=score.rank_value,
            submissions=1,
            is_baseline=score.team.is_baseline,
            achieved_at=site.now + timedelta(seconds=chosen.randrange(9)),
            last_at=site.now,
        )
        for score in scores
    )
    return board
