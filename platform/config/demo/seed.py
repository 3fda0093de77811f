"""The demo's competitions, people and baseline files, made at the first start.

A public demo begins anew each day, with new dates and without what the day left.
"""

import os
import shutil
import tempfile
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import transaction
from pydantic import TypeAdapter

from competitions.bundles.importing.importer import bundle_import
from competitions.catalog.changes.competitions import store_competition
from competitions.catalog.models import Competition, Series
from competitions.catalog.publishing import competition_publish
from competitions.compute.models import Queue, issue_token
from config.demo.accounts import Account, join, person_create
from config.demo.content import Built, Demo
from examples.baselines import Baseline, SimulatedFile

STATE_FILE = "demo.json"
# What a demo makes in its data folder. The secret key, logs, static files and the worker's cache stay.
MADE: Final = (
    "baselines",
    "broker",
    "cache",
    "mail",
    "objects",
    "podium.sqlite3",
    "podium.sqlite3-shm",
    "podium.sqlite3-wal",
    "queue_token",
    "simulated",
    "uploads",
    STATE_FILE,
)


@dataclass(frozen=True)
class Seed:
    """The seeded demo: its competitions, the tokens that send the baselines, and the expected outcomes."""

    path: str
    slugs: list[str]
    accounts: list[Account]
    baselines: list[Baseline]
    is_new: bool = False
    simulated: dict[str, list[SimulatedFile]] = field(default_factory=dict)  # by competition

    @property
    def queue_token_file(self) -> Path:
        return Path(settings.DATA_DIR) / "queue_token"

    @property
    def baseline_dir(self) -> Path:
        return Path(settings.DATA_DIR) / "baselines"

    @property
    def simulated_dir(self) -> Path:
        return Path(settings.DATA_DIR) / "simulated"

    def account_token(self, role: str) -> str:
        return next(account.token for account in self.accounts if account.role == role)


STORED: Final = TypeAdapter(Seed)


def seed(demo: Demo, *, now: datetime, teams: int = 0) -> Seed:
    """Create the demo's content once, with files of this many simulated teams.

    It is one transaction, and the state file comes last, so no half of it is left.
    """
    state = Path(settings.DATA_DIR) / STATE_FILE
    if state.exists():
        stored = STORED.validate_json(state.read_text())
        if Competition.objects.filter(slug__in=stored.slugs).count() == len(stored.slugs):
            return stored
    new_seed = _make(demo, now, teams)
    # Tokens are kept so that a second start can follow its submissions; passwords are not.
    accounts = [replace(account, password=None) for account in new_seed.accounts]
    _write_private(state, STORED.dump_json(replace(new_seed, accounts=accounts, is_new=False)).decode())
    return new_seed


def _write_private(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def _make(demo: Demo, now: datetime, teams: int) -> Seed:
    with tempfile.TemporaryDirectory() as scratch:
        built = demo.build(Path(scratch), Path(settings.DATA_DIR) / "baselines", now)
        with transaction.atomic():
            accounts, slugs, token = _rows(demo, built, now)
        simulated = {slug: _simulated(content, slug, teams) for slug, content in zip(slugs, built, strict=True)}
    path = f"/series/{demo.series.slug}/" if demo.series else f"/competitions/{slugs[0]}/"
    baselines = [baseline for content in built for baseline in content.baselines]
    new_seed = Seed(path, slugs, accounts, baselines, is_new=True, simulated=simulated)
    _write_private(new_seed.queue_token_file, token)
    return new_seed


def _simulated(built: Built, slug: str, teams: int) -> list[SimulatedFile]:
    """Files of so many teams, written anew: an earlier start may have broken off here."""
    if built.simulate is None or not teams:
        return []
    folder = Path(settings.DATA_DIR) / "simulated" / slug
    shutil.rmtree(folder, ignore_errors=True)
    return built.simulate(folder, teams)


def _rows(demo: Demo, built: list[Built], now: datetime) -> tuple[list[Account], list[str], str]:
    organizer, organizer_account = person_create(role="organizer", username="organizer", now=now, is_staff=True)
    queue = Queue.objects.create(name="default", contact="the administrator of this site")
    token = issue_token(queue)
    series = Series.objects.create(**asdict(demo.series)) if demo.series else None
    accounts, competitions = [organizer_account], []
    for content in built:
        competition = bundle_import(source=content.bundle, owner=organizer, queue=queue, now=now).competition
        competition.series = series
        store_competition(competition, now=now)
        competition_publish(competition)
        competitions.append(competition)
    teams = [("team 1", "ada", "Aromatics"), ("team 2", "ben", "Band Gap Busters"), ("robot", "robot", "Baselines")]
    for role, username, team_name in teams:
        user, account = person_create(role=role, username=username, now=now, is_robot=role == "robot")
        accounts.append(account)
        for competition in competitions:
            join(user=user, competition=competition, team_name=team_name, now=now, is_baseline=role == "robot")
    return accounts, [competition.slug for competition in competitions], token


def next_reset(now: datetime, at: time) -> datetime:
    """The next moment with this time of day, in the zone of `now`.

    >>> next_reset(datetime(2026, 11, 26, 12), time(3))
    datetime.datetime(2026, 11, 27, 3, 0)
    """
    today = datetime.combine(now.date(), at, tzinfo=now.tzinfo)
    return today if now < today else today + timedelta(days=1)


def remove_data(folder: Path) -> None:
    """Remove what a demo made in its data folder, and nothing else that lies there."""
    for name in MADE:
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
