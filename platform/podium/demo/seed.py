"""Making the demo's competition, people and baseline files. A second start finds them and makes nothing."""

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from competitions.bundles.importer import bundle_import
from competitions.catalog.models import Competition
from competitions.compute.models import Queue, queue_issue_token
from examples.pcqm4mv2_small.baseline_submissions import build_baselines
from examples.pcqm4mv2_small.bundle import build_bundle
from podium.demo.accounts import Account, join, person_create

STATE_FILE = "demo.json"


@dataclass(frozen=True)
class Seed:
    """What was made: where the competition is, whose tokens send the baselines, and what must come of them."""

    slug: str
    accounts: list[Account]
    baselines: list[dict[str, Any]]
    is_new: bool

    @property
    def queue_token_file(self) -> Path:
        return Path(settings.DATA_DIR) / "queue_token"

    @property
    def baseline_dir(self) -> Path:
        return Path(settings.DATA_DIR) / "baselines"

    def token_of(self, role: str) -> str:
        return next(account.token for account in self.accounts if account.role == role)


def seed(*, now: datetime) -> Seed:
    """The demo's content, made once. Half a seed is never left: it is one transaction, and the state file comes last."""
    state = Path(settings.DATA_DIR) / STATE_FILE
    if state.exists():
        stored = json.loads(state.read_text())
        accounts = [Account(**account) for account in stored["accounts"]]
        if Competition.objects.filter(slug=stored["slug"]).exists():
            return Seed(stored["slug"], accounts, stored["baselines"], is_new=False)
    made = _make(now)
    # Tokens are kept so that a second start can follow its submissions; passwords are not.
    kept = [asdict(account) | {"password": None} for account in made.accounts]
    _write_private(state, json.dumps({"slug": made.slug, "accounts": kept, "baselines": made.baselines}))
    return made


def _write_private(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def _make(now: datetime) -> Seed:
    with tempfile.TemporaryDirectory() as scratch:
        bundle = build_bundle(Path(scratch) / "bundle", now=now)
        baselines = [asdict(one) for one in build_baselines(bundle, Path(settings.DATA_DIR) / "baselines")]
        with transaction.atomic():
            accounts, competition, token = _rows(bundle, now)
    made = Seed(competition.slug, accounts, baselines, is_new=True)
    _write_private(made.queue_token_file, token)
    return made


def _rows(bundle: Path, now: datetime) -> tuple[list[Account], Competition, str]:
    organizer, organizer_account = person_create(role="organizer", username="organizer", now=now, is_staff=True)
    queue = Queue.objects.create(name="default", contact="the administrator of this site")
    token = queue_issue_token(queue)
    competition = bundle_import(source=bundle, owner=organizer, queue=queue, now=now).competition
    competition.is_published = True
    competition.save()
    accounts = [organizer_account]
    teams = [("team 1", "ada", "Aromatics"), ("team 2", "ben", "Band Gap Busters"), ("robot", "robot", "Baselines")]
    for role, username, team_name in teams:
        user, account = person_create(role=role, username=username, now=now, is_robot=role == "robot")
        join(user=user, competition=competition, team_name=team_name, now=now, is_baseline=role == "robot")
        accounts.append(account)
    return accounts, competition, token
