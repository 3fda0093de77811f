"""Pages and API at 10^2, 10^4 and 10^6 submissions, on PostgreSQL: queries, time, and 304s. Run by `make bench`; prints a table.

make bench ONLY=tests/benchmarks/site
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.template.base import Template
from django.test import Client
from django.test import utils as test_utils
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from competitions.compute import bell
from competitions.leaderboards.models import Leaderboard
from tests.worlds import World, world

pytestmark = pytest.mark.django_db(transaction=True)
SIZES = ((100, 60), (10_000, 2_000), (1_000_000, 100_000))  # submissions, teams; a first page of 50 rows in each
PAGES = (
    ("competition page", "anybody"),
    ("competition page", "member"),
    ("leaderboard page", "anybody"),
    ("leaderboard page", "member"),
    ("leaderboard JSON", "anybody"),
    ("leaderboard JSON", "member"),
    ("submissions page", "member"),
    ("submissions JSON", "member"),
)
MAX_QUERIES = 8
MAX_GROWTH = 1.5
WARM_UP, REPEATS = 5, 40


@dataclass(frozen=True)
class Row:
    """One page for one kind of visitor, at each size."""

    page: str
    who: str
    queries: list[int]
    times_ms: list[float]


def fill(site: World, submissions: int, teams: int) -> None:
    """Rows in bulk, by SQL: random scores, spread over the teams, the viewer's own team among them."""
    made = site.score(site.submit(), 0.5)
    board = Leaderboard.objects.get(phase=site.phase)
    parameters: dict[str, int | str] = {
        "competition": site.competition.pk, "captain": site.organizer.pk, "teams": teams, "submissions": submissions,
        "phase": site.phase.pk, "file": made.file_id, "board": board.pk, "own": site.team.pk, "run": made.runs.get().task_id,
        "queue": site.queue.pk,
    }  # fmt: skip
    with connection.cursor() as cursor:
        for statement in STATEMENTS:
            cursor.execute(statement, parameters)
        for table in TABLES:
            cursor.execute(f"VACUUM ANALYZE {table}")


TABLES = (
    "teams_team", "submissions_submission", "submissions_run", "leaderboards_score", "leaderboards_entry", "catalog_phase",
    "catalog_competition",
)  # fmt: skip
STATEMENTS = (
    """INSERT INTO teams_team (key, competition_id, name, captain_id, is_baseline, created_at)
       SELECT gen_random_uuid(), %(competition)s, 'Bench ' || n, %(captain)s, false, now() FROM generate_series(1, %(teams)s) n""",
    # Every tenth submission is the viewer's own, so that the list is long too.
    """INSERT INTO submissions_submission (phase_id, team_id, submitted_by_id, kind, file_id, file_name, description, received_at,
         created_at, status, reason, is_charged, finished_at, disqualified_reason, idempotency_key)
       SELECT %(phase)s, CASE WHEN n %% 10 = 0 THEN %(own)s ELSE team.first + n %% %(teams)s END, %(captain)s, 'prediction',
         %(file)s, 'file.npz', '', now() - n * interval '1 second', now() - n * interval '1 second', 'finished', '', false, now(),
         '', '' FROM generate_series(1, %(submissions)s) n,
         (SELECT min(id) AS first FROM teams_team WHERE name LIKE 'Bench %%' AND competition_id = %(competition)s) team""",
    """INSERT INTO submissions_run (id, submission_id, task_id, team_id, queue_id, priority, gpus, state, attempt, faults, queued_at,
         not_before, reason, code, detail, meters, scores, receipt)
       SELECT gen_random_uuid(), s.id, %(run)s, s.team_id, %(queue)s, 0, 0, 'finished', 1, 0, s.created_at, s.created_at, '', '', '',
         '{}', '{}', '{}' FROM submissions_submission s WHERE s.phase_id = %(phase)s
         AND NOT EXISTS (SELECT 1 FROM submissions_run r WHERE r.submission_id = s.id)""",
    """INSERT INTO leaderboards_score (leaderboard_id, submission_id, team_id, "values", rank_value, received_at, is_eligible)
       SELECT %(board)s, s.id, s.team_id, jsonb_build_object('mae', v.value), v.value, s.received_at, true
       FROM submissions_submission s, LATERAL (SELECT round((random() + s.id * 0)::numeric, 4)::float AS value) v
       WHERE s.phase_id = %(phase)s AND NOT EXISTS (SELECT 1 FROM leaderboards_score r WHERE r.submission_id = s.id)""",
    """INSERT INTO leaderboards_entry (leaderboard_id, team_id, score_id, "values", rank_value, is_baseline, submissions,
         achieved_at, last_at)
       SELECT DISTINCT ON (team_id) %(board)s, team_id, id, "values", rank_value, false, 1, received_at, received_at
       FROM leaderboards_score WHERE leaderboard_id = %(board)s AND team_id <> %(own)s ORDER BY team_id, rank_value""",
    """UPDATE leaderboards_leaderboard SET version = version + 1,
         entry_count = (SELECT count(*) FROM leaderboards_entry WHERE leaderboard_id = %(board)s),
         score_count = (SELECT count(*) FROM leaderboards_score WHERE leaderboard_id = %(board)s) WHERE id = %(board)s""",
)


def median_ms_of(acts: list[Callable[[], Any]]) -> list[float]:
    """Median time of each act in milliseconds. They take turns, so that a busy machine slows all of them alike."""
    times: list[list[float]] = [[] for _ in acts]
    for turn in range(WARM_UP + REPEATS):
        for act, measured in zip(acts, times, strict=True):
            began = time.perf_counter()
            act()
            if turn >= WARM_UP:
                measured.append((time.perf_counter() - began) * 1000)
    return [statistics.median(measured) for measured in times]


def pages(site: World) -> dict[str, str]:
    slug, phase = site.competition.slug, site.phase.slug
    return {
        "competition page": reverse("web:overview", args=[slug]),
        "leaderboard page": f"{reverse('web:leaderboard', args=[slug])}?phase={phase}",
        "leaderboard JSON": reverse("api:leaderboard", args=[slug, phase]),
        "submissions page": f"{reverse('web:submissions', args=[slug])}?phase={phase}",
        "submissions JSON": reverse("api:submissions"),
    }


def test_pages_take_the_same_queries_and_time_at_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bell, "ring", lambda name: True)
    # Templates are drawn as on a site in use, without the test runner's copy of every context.
    monkeypatch.setattr(Template, "_render", test_utils._TestState.saved_data.template_render)  # type: ignore[attr-defined]
    sites = []
    for submissions, teams in SIZES:
        site = world(now=timezone.now())
        fill(site, submissions, teams)
        sites.append(site)
    rows = [measure(sites, name, who) for name, who in PAGES]
    rows.append(measure_unchanged(sites))
    report(rows)
    for row in rows:
        assert len(set(row.queries)) == 1, row
        assert max(row.queries) <= MAX_QUERIES, row


def measure(sites: list[World], name: str, who: str) -> Row:
    acts: list[Callable[[], Any]] = []
    queries = []
    for site in sites:
        client = Client()
        if who == "member":
            client.force_login(site.member())
        url = pages(site)[name]
        with CaptureQueriesContext(connection) as captured:
            assert client.get(url).status_code == 200
        queries.append(len(captured))
        acts.append(partial(client.get, url))
    return Row(name, who, queries, median_ms_of(acts))


def measure_unchanged(sites: list[World]) -> Row:
    """The same board asked for again by somebody who has it."""
    acts: list[Callable[[], Any]] = []
    queries = []
    for site in sites:
        client, url = Client(), pages(site)["leaderboard JSON"]
        etag = client.get(url)["ETag"]
        with CaptureQueriesContext(connection) as captured:
            assert client.get(url, headers={"If-None-Match": etag}).status_code == 304
        queries.append(len(captured))
        acts.append(partial(client.get, url, headers={"If-None-Match": etag}))
    return Row("leaderboard JSON 304", "anybody", queries, median_ms_of(acts))


def report(rows: list[Row]) -> None:
    print(
        f"\n{'page':<22}{'who':<9}{'queries':>8}"
        + "".join(f"{size:>12,}" for size, _ in SIZES)
        + f"{'largest/smallest':>18}"
    )
    for row in rows:
        growth = row.times_ms[-1] / row.times_ms[0]
        cells = "".join(f"{ms:>9.1f} ms" for ms in row.times_ms)
        print(
            f"{row.page:<22}{row.who:<9}{row.queries[-1]:>8}{cells}{growth:>17.2f}x{'' if growth <= MAX_GROWTH else '  over'}"
        )
