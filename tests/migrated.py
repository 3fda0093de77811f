"""The tables of an empty site: made once for all suites, and copied from then on.

What was made lies in `var/migrated/` under a digest of everything that decides it; whoever comes first makes it, and others wait for
that.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import psycopg2

from tests.services import REPOSITORY, VAR, postgres_bin

FOLDER: Final = VAR / "migrated"
TEMPLATE: Final = "migrated"  # the database on each server that others are copied from
TEMPLATE_LOCK: Final = 1  # an advisory lock of the server, while one process makes the template


def sqlite(path: Path) -> None:
    """Write a new site's database file."""
    with _made_once("sqlite3") as stored:
        if not stored.exists():
            with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
                _make_tables(PODIUM_DATA_DIR=folder)
                (Path(folder) / "podium.sqlite3").rename(stored)
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(stored, path)


def postgres_template(server_url: str) -> str:
    """Have a new site's database on this server, for others to be copied from; returns its name."""
    with closing(psycopg2.connect(server_url)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [TEMPLATE_LOCK])  # till the connection ends
            cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [TEMPLATE])
            if cursor.fetchone() is None:
                cursor.execute(f"CREATE DATABASE {TEMPLATE}_new")
                postgres(_named(server_url, f"{TEMPLATE}_new"))
                cursor.execute(f"ALTER DATABASE {TEMPLATE}_new RENAME TO {TEMPLATE}")
    return TEMPLATE


def postgres_database(server_url: str, name: str) -> str:
    """A new database with a new site's tables; returns its URL."""
    template = postgres_template(server_url)
    with closing(psycopg2.connect(server_url)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE {template}')
    return _named(server_url, name)


def postgres(url: str) -> None:
    """Give an empty database a new site's tables."""
    with _made_once("sql") as stored:
        if not stored.exists():
            _make_tables(DATABASE_URL=url, PODIUM_BROKER_URL="redis://127.0.0.1:1", PODIUM_ALLOWED_HOSTS="127.0.0.1")
            new = stored.with_suffix(".new")
            _run(postgres_bin() / "pg_dump", "--no-owner", "--no-privileges", f"--file={new}", url)
            new.rename(stored)
            return
    _run(postgres_bin() / "psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", f"--file={stored}", url)


def _named(server_url: str, name: str) -> str:
    """The URL of a database of this name."""
    return urlsplit(server_url)._replace(path=f"/{name}").geturl()


@contextmanager
def _made_once(kind: str) -> Iterator[Path]:
    """The place of what is made, or to be made, while nobody else looks."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    stored = FOLDER / f"{_digest()}.{kind}"
    with (FOLDER / f"lock-{kind}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for old in set(FOLDER.glob(f"*.{kind}")) - {stored}:
            old.unlink()
        yield stored


def _digest() -> str:
    """Of all code of the site, whose models give the tables, and the versions of what it stands on."""
    paths = [path for part in ("competitions", "platform") for path in (REPOSITORY / part).rglob("*.py")]
    digest = hashlib.sha256()
    for path in sorted([*paths, REPOSITORY / "constraints.txt", Path(__file__).resolve()]):
        digest.update(f"{path.relative_to(REPOSITORY)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _make_tables(**settings: str) -> None:
    ours = ("PODIUM", "DATABASE", "DJANGO")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    environment |= {"PODIUM_SECRET_KEY": "x" * 40, "PODIUM_DATA_DIR": str(FOLDER / "data")} | settings
    _run(sys.executable, "manage.py", "upgrade", "-v0", **environment)


def _run(*command: str | Path, **environment: str) -> None:
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        env=environment or None,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command[0]} failed:\n{(done.stdout + done.stderr)[-3000:]}"
