"""Upgrades of the last released version's database, with a run in progress, on both engines."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from uuid import uuid4

import pytest

from scripts.checks.released_migrations import RELEASED
from tests.migrated import postgres_database
from tests.released import POSTGRES, SQLITE, go_on, schema, stored_site
from tests.services import REPOSITORY
from tests.soak import in_soak

LAST = list(json.loads((REPOSITORY / RELEASED).read_text()))[-1]


@pytest.mark.parametrize("engine", [pytest.param(SQLITE, marks=in_soak), POSTGRES])
def test_a_site_goes_on_after_an_upgrade_with_the_run_that_was_in_progress(
    engine: str, tmp_path: Path, postgres_url: str
) -> None:
    """A further upgrade finds nothing to do; tables of a version that was never released are named.

    The tables are those of a new site, which are made from the models.
    """
    site = stored_site(LAST, engine, tmp_path, postgres_url)
    upgraded = site.manage("upgrade")
    assert upgraded.returncode == 0, upgraded.stderr
    if engine == POSTGRES:
        new = postgres_database(postgres_url, f"new_{uuid4().hex[:8]}")
        assert schema(site.environment["DATABASE_URL"]) == schema(new)
    facts = json.loads(site.call(go_on))
    assert facts["board"] == [["Third", 0.125], [facts["board"][1][0], 0.25]]
    assert facts["statuses"] == ["finished", "failed", "finished", "queued"]
    assert facts["pages"] == [200, 200, 200]
    assert "No migrations to apply" in facts["upgraded again"], "it is safe to run again"
    assert "The table teams_registration differs from that of Podium" in facts["refusal"]
    assert "in decided_reason" in facts["refusal"]


def test_a_database_of_a_newer_version_is_refused_with_words_and_left_as_it_was(
    tmp_path: Path, postgres_url: str
) -> None:
    embedded = stored_site(LAST, SQLITE, tmp_path, postgres_url)
    with sqlite3.connect(tmp_path / "podium.sqlite3") as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('catalog', '0099_later', '2031-01-01')"
        )
        database.execute("DELETE FROM django_migrations WHERE app = 'sessions'")  # would be applied again
    refused = embedded.manage("upgrade")
    assert refused.returncode == 1
    assert "does not know (catalog.0099_later)" in refused.stderr
    assert "Nothing was changed." in refused.stderr
    with sqlite3.connect(tmp_path / "podium.sqlite3") as database:
        assert not database.execute("SELECT * FROM django_migrations WHERE app = 'sessions'").fetchall()
