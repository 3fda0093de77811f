"""Databases of released versions, with a run in progress, and how a site goes on with them.

python -m tests.released VERSION     write them, for SQLite and PostgreSQL, with the code of this checkout
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg2

from tests.services import REPOSITORY, Services, postgres_bin, run_folder

STORED = REPOSITORY / "tests" / "data" / "released"
SQLITE, POSTGRES = "sqlite", "postgres"
PLAIN = "django.contrib.staticfiles.storage.StaticFilesStorage"


@dataclass(frozen=True)
class StoredSite:
    """A site whose commands run in processes of their own."""

    environment: dict[str, str]

    def manage(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The end of one command of `manage.py`."""
        argv = [sys.executable, "manage.py", *words]
        return subprocess.run(argv, cwd=REPOSITORY, env=self.environment, check=False, capture_output=True, text=True)

    def call(self, function: Callable[[], None]) -> str:
        """The last line that a function of this module prints when it is called there."""
        done = self.manage("shell", "-v0", "-c", f"from tests.released import {function.__name__} as f; f()")
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.strip().splitlines()[-1]


def new_site(engine: str, folder: Path, postgres_url: str) -> StoredSite:
    """A site with an empty database of this kind."""
    ours = ("PODIUM", "DATABASE", "DJANGO")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    environment |= {
        "PODIUM_DATA_DIR": str(folder),
        "PODIUM_SECRET_KEY": "x" * 40,
        "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY}/platform",
    }
    if engine == POSTGRES:
        name = f"released_{uuid4().hex[:8]}"
        connection = psycopg2.connect(postgres_url)
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")
        connection.close()
        environment |= {
            "DATABASE_URL": urlsplit(postgres_url)._replace(path=f"/{name}").geturl(),
            "PODIUM_BROKER_URL": "redis://127.0.0.1:1",
            "PODIUM_ALLOWED_HOSTS": "127.0.0.1",
        }
    return StoredSite(environment)


def stored_site(version: str, engine: str, folder: Path, postgres_url: str) -> StoredSite:
    """A site with the database that a released version left."""
    site = new_site(engine, folder, postgres_url)
    folder.mkdir(parents=True, exist_ok=True)
    if engine == SQLITE:
        (folder / "podium.sqlite3").write_bytes(gzip.decompress((STORED / f"{version}.sqlite3.gz").read_bytes()))
        return site
    statements = gzip.decompress((STORED / f"{version}.sql.gz").read_bytes())
    argv = [str(postgres_bin() / "psql"), "-q", "-v", "ON_ERROR_STOP=1", site.environment["DATABASE_URL"]]
    subprocess.run(argv, input=statements, check=True, capture_output=True)
    return site


# Where a dump was read in, PostgreSQL puts the types of lists elsewhere; Django's migrations give one column of its own a wider type.
LIST_TYPES, OF_DJANGO = r"[()\[\]]|::text|::character varying", "auth_group_permissions id "
SCHEMA = """
    SELECT attrelid::regclass || ' ' || attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull || attidentity::text
        || coalesce(pg_get_expr(adbin, adrelid), '')
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped
    UNION SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION SELECT extname FROM pg_extension
"""


def schema(postgres_url: str) -> set[str]:
    """Columns, indexes, constraints and extensions of a database, in PostgreSQL's words."""
    with contextlib.closing(psycopg2.connect(postgres_url)) as connection, connection.cursor() as cursor:
        cursor.execute(SCHEMA)
        return {re.sub(LIST_TYPES, "", row[0]) for row in cursor.fetchall() if not row[0].startswith(OF_DJANGO)}


def fill() -> None:
    """One submission that is scored, one that failed, one that waits, and one that a worker runs."""
    import time_machine

    from core.celery import app
    from tests.scenario import NOON, scenario

    with time_machine.travel(NOON, tick=False), patch.object(app, "send_task"):
        site = scenario()
        site.score(site.submit(), 0.25)
        failed = {"outcome": "failed", "reason": "program_error", "code": "exit_code", "detail": "It ended with 3."}
        site.answer(site.submit(team=site.join("Second")), failed)
        site.submit(team=site.join("Third"))
        site.claim(site.worker("worker"))
        site.submit(team=site.join("Fourth"))
    print("filled")


def go_on() -> None:
    """Have the worker end its run, and print what board, submissions and pages show then, as JSON.

    Then what a further upgrade says, and what one says that finds a table as no version has made it.
    """
    import time_machine
    from django.conf import settings
    from django.core.management import CommandError, call_command
    from django.db import connection
    from django.test import Client, override_settings

    from competitions.leaderboards.models import Entry
    from competitions.runs.leases import reports
    from competitions.runs.models import Run
    from competitions.submissions.models import Submission
    from competitions.submissions.states import State
    from core.celery import app
    from tests.answers import read_result
    from tests.scenario import NOON, lease

    with time_machine.travel(NOON + timedelta(seconds=30)), patch.object(app, "send_task"):
        held = Run.objects.get(state=State.LEASED)
        result = read_result({"outcome": "finished", "scores": {"mae": 0.125}}, columns=["mae"])
        reports.run_complete(**lease(held), result=result, now=NOON + timedelta(seconds=30))
        slug = held.submission.phase.competition.slug
        pages = [f"/competitions/{slug}/", f"/competitions/{slug}/leaderboard/", "/"]
        facts = {
            "board": [
                [row.team.name, row.values["mae"]]
                for row in Entry.objects.select_related("team").order_by(*Entry.IN_ORDER)
            ],
            "statuses": list(Submission.objects.order_by("pk").values_list("status", flat=True)),
        }
        with override_settings(STORAGES=settings.STORAGES | {"staticfiles": {"BACKEND": PLAIN}}):
            facts["pages"] = [Client(SERVER_NAME="127.0.0.1").get(page).status_code for page in pages]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        call_command("upgrade")
    facts["upgraded again"] = printed.getvalue()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE teams_registration DROP COLUMN decided_reason")
    try:
        call_command("upgrade", verbosity=0)
    except CommandError as refusal:
        facts["refusal"] = str(refusal)
    print(json.dumps(facts))


def write(version: str) -> None:
    """Write the databases of the version that is checked out."""
    STORED.mkdir(parents=True, exist_ok=True)
    services = Services(run_folder())
    with tempfile.TemporaryDirectory() as scratch:
        try:
            for engine in (SQLITE, POSTGRES):
                folder = Path(scratch) / engine
                site = new_site(engine, folder, services.postgres())
                done = site.manage("upgrade", "-v0")
                assert done.returncode == 0, done.stderr
                site.call(fill)
                if engine == SQLITE:
                    content, suffix = (folder / "podium.sqlite3").read_bytes(), "sqlite3"
                else:
                    argv = [str(postgres_bin() / "pg_dump"), "--no-owner", site.environment["DATABASE_URL"]]
                    content, suffix = subprocess.run(argv, check=True, capture_output=True).stdout, "sql"
                (STORED / f"{version}.{suffix}.gz").write_bytes(gzip.compress(content, mtime=0))
        finally:
            services.stop()


if __name__ == "__main__":
    write(sys.argv[1])
