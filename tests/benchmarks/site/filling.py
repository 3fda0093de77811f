"""Fills a competition with up to a million submissions of 100,000 teams, by SQL."""

from __future__ import annotations

from django.db import connection
from django.db.models import Model

from competitions.catalog.models import Competition, Leaderboard, Phase
from competitions.leaderboards.models import Entry, Score
from competitions.runs.models import Run
from competitions.submissions.models import Submission
from competitions.teams.models import Team
from competitions.teams.services import count_teams
from tests.scenario import Scenario

FILLED: tuple[type[Model], ...] = (Team, Submission, Run, Score, Entry)


def fill(site: Scenario, submissions: int, teams: int) -> None:
    """Insert rows in bulk, with random scores spread over teams; a tenth are the viewer's own.

    They copy one real submission, except for what is set below. The viewer's own row is on no first page.
    """
    submission = site.score(site.submit(), 0.99)
    patterns: dict[type[Model], Model] = {
        Team: site.team,
        Submission: submission,
        Run: submission.runs.get(),
        Score: Score.objects.get(submission=submission),
        Entry: Entry.objects.get(score__submission=submission),
    }
    board = Leaderboard.objects.get(phase=site.phase)
    first = f"(SELECT min(id) FROM teams_team WHERE name LIKE 'Bench %%' AND competition_id = {site.competition.pk})"
    team = f"CASE WHEN n %% 10 = 0 THEN {site.team.pk} ELSE {first} + n %% {teams} END"
    ago = "now() - n * interval '1 second'"
    copy(patterns[Team], f"generate_series(1, {teams}) n", key="gen_random_uuid()", name="'Bench ' || n")
    copy(
        patterns[Submission],
        f"generate_series(1, {submissions}) n",
        team_id=team,
        received_at=ago,
        created_at=ago,
        is_charged="false",
    )
    new = f"submissions_submission s ON s.phase_id = {site.phase.pk} AND s.id <> {submission.pk}"
    copy(
        patterns[Run],
        f"(SELECT 1) one JOIN {new}",
        id="gen_random_uuid()",
        submission_id="s.id",
        team_id="s.team_id",
        queued_at="s.created_at",
        not_before="s.created_at",
    )
    value = "LATERAL (SELECT round((random() + s.id * 0)::numeric, 4)::float AS value) v"
    copy(
        patterns[Score],
        f"(SELECT 1) one JOIN {new} CROSS JOIN {value}",
        submission_id="s.id",
        team_id="s.team_id",
        values="jsonb_build_object('mae', v.value)",
        rank_value="v.value",
        received_at="s.received_at",
    )
    best = (
        f"(SELECT DISTINCT ON (team_id) * FROM leaderboards_score WHERE leaderboard_id = {board.pk} "
        f"AND team_id <> {site.team.pk} ORDER BY team_id, rank_value) best"
    )
    copy(
        patterns[Entry],
        best,
        team_id="best.team_id",
        score_id="best.id",
        values='best."values"',
        rank_value="best.rank_value",
        achieved_at="best.received_at",
        last_at="best.received_at",
    )
    board.entry_count, board.score_count, board.version = board.entries.count(), board.scores.count(), board.version + 1
    board.save()
    count_teams(site.competition)
    with connection.cursor() as cursor:
        models: tuple[type[Model], ...] = (*FILLED, Competition, Phase)
        for model in models:
            cursor.execute(f"VACUUM ANALYZE {model._meta.db_table}")


def copy(pattern: Model, source: str, **changed: str) -> None:
    """Insert a copy of the pattern for each row of `source`, with the columns `changed` to SQL."""
    concrete = pattern._meta.concrete_fields
    fields = [field.column for field in concrete if field.column is not None and not field.generated]
    columns = [column for column in fields if column != "id" or "id" in changed]
    chosen = ", ".join(changed.get(column, f'p."{column}"') for column in columns)
    names = ", ".join(f'"{column}"' for column in columns)
    table = pattern._meta.db_table
    with connection.cursor() as cursor:
        sql = f"INSERT INTO {table} ({names}) SELECT {chosen} FROM {table} p CROSS JOIN {source} WHERE p.id = %s"
        cursor.execute(sql, [pattern.pk])
