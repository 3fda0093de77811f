"""A running site is backed up and restored into an empty one, where everything goes on."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from accounts.models import User
from competitions.catalog.models import Column
from competitions.compute.models import queue_by_token
from competitions.leaderboards.models import ScoreReplicates
from competitions.resources.models import StoredFile, Upload
from competitions.resources.orphans import GRACE, remove_orphans
from competitions.resources.storage import store_bytes
from competitions.resources.uploads import upload_append, upload_begin
from competitions.runs.models import Run, RunEvent
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind, State
from config.backup import services
from config.backup.archive import Broken, Manifest, Place, opened, read_manifest
from config.backup.services import backup, compare, restore
from tests import migrated
from tests.scenario import Scenario, lease, scenario
from tests.services import REPOSITORY

pytestmark = pytest.mark.django_db(transaction=True)


REPLICATES = bytes(range(256))


@pytest.fixture
def site() -> Scenario:
    """A site in the middle of its life: scored, running, waiting, failed."""
    site = scenario(max_submissions_per_day=None)
    score = site.score(site.submit(), 0.25).scores.get()
    ScoreReplicates.objects.create(score=score, values=REPLICATES, stream="test")
    site.answer(
        site.submit(kind=Kind.CODE),
        {"outcome": "failed", "reason": "time_limit", "code": "time_limit", "detail": "ü\n"},
    )
    site.submit()
    site.claim()
    site.submit(phase=site.sealed)
    return site


def backup_manifest(path: Path) -> Manifest:
    with opened(path, "r") as place:
        return read_manifest(place)


def empty_the_site(*, begins_keys_anew: bool = False) -> None:
    """Remove all rows and files; new tables begin their keys anew, which takes longer."""
    call_command("flush", interactive=False, verbosity=0, reset_sequences=begins_keys_anew)
    shutil.rmtree(settings.DATA_DIR / "objects")


@pytest.mark.parametrize("name", ["site.tar", "folder"])
def test_an_empty_site_becomes_the_one_that_was_backed_up(site: Scenario, tmp_path: Path, name: str) -> None:
    summary = backup(tmp_path / name, now=site.now)
    assert summary.files == StoredFile.objects.count()
    facts = list(Submission.objects.order_by("pk").values_list("pk", "status", "reason", "is_charged", "created_at"))
    events = RunEvent.objects.count()
    empty_the_site()
    assert not User.objects.exists()
    assert restore(tmp_path / name) == summary
    compare(backup_manifest(tmp_path / name))
    assert (
        list(Submission.objects.order_by("pk").values_list("pk", "status", "reason", "is_charged", "created_at"))
        == facts
    )
    assert RunEvent.objects.count() == events
    assert queue_by_token(site.token) == site.queue
    assert site.team.captain.check_password("x")
    assert bytes(ScoreReplicates.objects.get().values) == REPLICATES


def test_nothing_is_removed_while_a_backup_is_made(
    site: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orphan = store_bytes(b"nobody points at this any more")
    remove_orphans(now=site.now)
    copied = services._put_object
    removed = []

    def meanwhile(place: Place, sha256: str) -> None:
        removed.append(remove_orphans(now=site.now + GRACE))
        copied(place, sha256)

    monkeypatch.setattr(services, "_put_object", meanwhile)
    summary = backup(tmp_path / "site.tar", now=site.now)
    assert set(removed) == {0}
    assert remove_orphans(now=site.now + GRACE) == 1, f"{orphan} goes once it is done"
    empty_the_site()
    assert restore(tmp_path / "site.tar") == summary


def test_a_restored_site_goes_on_with_what_ran_and_what_waited(site: Scenario, tmp_path: Path) -> None:
    held = Run.objects.get(state=State.LEASED)
    backup(tmp_path / "site.tar", now=site.now)
    empty_the_site(begins_keys_anew=True)
    restore(tmp_path / "site.tar")
    from competitions.runs.leases import reports
    from tests.answers import read_result

    result = read_result({"outcome": "finished", "scores": {"mae": 0.5}}, columns=["mae"])
    assert reports.run_complete(**lease(held), result=result, now=site.now) == State.FINISHED
    assert site.claim(at=site.now + timedelta(seconds=1)).submission.phase == site.sealed
    new = site.submit()
    assert new.pk > held.submission_id, "new rows get free keys"


def test_a_later_backup_into_the_same_folder_copies_only_what_is_new(site: Scenario, tmp_path: Path) -> None:
    backup(tmp_path, now=site.now)
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "objects").iterdir()}
    site.submit()
    backup(tmp_path, now=site.now)
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "objects").iterdir()}
    assert {name: after[name] for name in before} == before
    compare(backup_manifest(tmp_path))


@pytest.mark.parametrize("name", ["site.tar", "folder"])
def test_a_backup_that_fails_leaves_the_one_before_it(
    site: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    summary = backup(tmp_path / name, now=site.now)
    site.submit()

    def disk_full(place: Place, sha256: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(services, "_put_object", disk_full)
        with pytest.raises(OSError, match="No space left"):
            backup(tmp_path / name, now=site.now)
    assert list(tmp_path.rglob("*.new")) == []
    empty_the_site()
    assert restore(tmp_path / name) == summary


def test_a_folder_has_the_tables_of_its_last_backup_alone_for_its_owner_alone(site: Scenario, tmp_path: Path) -> None:
    for _ in range(2):
        backup(tmp_path, now=site.now)
        site.submit()
    parts = {table["part"] for table in backup_manifest(tmp_path)["tables"].values()}
    assert {f"tables/{path.name}" for path in (tmp_path / "tables").iterdir()} == parts
    assert {path.stat().st_mode & 0o777 for path in tmp_path.rglob("*") if path.is_file()} == {0o600}


def test_an_upload_that_was_under_way_is_begun_anew_after_a_restore(site: Scenario, tmp_path: Path) -> None:
    upload = upload_begin(user=site.member(), file_name="a.zip", size_bytes=10, now=site.now)
    upload_append(key=upload.key, user=site.member(), offset=0, chunks=[b"12345"], now=site.now)
    backup(tmp_path / "site.tar", now=site.now)
    empty_the_site()
    restore(tmp_path / "site.tar")
    assert not Upload.objects.filter(key=upload.key).exists()
    assert Upload.objects.count() == Submission.objects.count()


ODD_NUMBERS = {
    "zero": -0.0,
    "large": 1e16,
    "huge": 1e23,
    "small": 1e-300,
    "one": 1.0,
    "whole": 3,
    "nested": [{"minus": -0.0}],
}


# One process of the other site for all: each start takes two seconds of a core.
ON_SQLITE = """
from django.core.management import call_command
from competitions.runs.models import Run
call_command("restore", {first!r})
call_command("backup", {second!r})
Run.objects.update(meters={numbers!r})
call_command("backup", {third!r})
"""


@pytest.fixture
def embedded(tmp_path: Path) -> Callable[[str], str]:
    """Runs a program in an embedded site, on SQLite, in a folder of its own; answers with its output."""
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("PODIUM", "DATABASE", "DJANGO"))
    }
    environment["PODIUM_DATA_DIR"] = str(tmp_path / "embedded")

    def run(program: str) -> str:
        argv = [sys.executable, "manage.py", "shell", "-v0", "-c", program]
        return subprocess.run(argv, cwd=REPOSITORY, env=environment, check=True, capture_output=True, text=True).stdout

    migrated.sqlite(tmp_path / "embedded" / "podium.sqlite3")
    return run


def test_a_backup_travels_to_the_other_database_and_back(
    site: Scenario, tmp_path: Path, embedded: Callable[[str], str]
) -> None:
    """The third backup has numbers that were first written on SQLite."""
    Column.objects.filter(leaderboard=site.phase.leaderboard).update(sorting="desc")
    site.score(site.submit(phase=site.phase, team=site.join()), 0.0)  # ranked by -0.0
    Run.objects.filter(state=State.FINISHED).update(meters=ODD_NUMBERS)
    paths = {name: str(tmp_path / f"{name}.tar") for name in ("first", "second", "third")}
    backup(Path(paths["first"]), now=site.now)
    assert "compared and equal" in embedded(ON_SQLITE.format(**paths, numbers=ODD_NUMBERS))
    first, second = backup_manifest(Path(paths["first"])), backup_manifest(Path(paths["second"]))
    assert (first["tables"], first["objects"]) == (second["tables"], second["objects"])
    empty_the_site(begins_keys_anew=True)
    summary = restore(Path(paths["second"]))
    assert summary.rows == sum(table["rows"] for table in first["tables"].values())
    assert Run.objects.filter(meters__huge=1e23).exists()
    assert site.submit().pk > 4, "new rows get free keys"
    empty_the_site()
    restore(Path(paths["third"]))
    assert Run.objects.filter(meters__large=10**16).count() == Run.objects.count() == 5


def test_a_site_with_accounts_is_not_overwritten(site: Scenario, tmp_path: Path) -> None:
    backup(tmp_path / "site.tar", now=site.now)
    with pytest.raises(CommandError, match="has accounts already"):
        call_command("restore", str(tmp_path / "site.tar"))
    assert Submission.objects.count() == 4


def test_a_damaged_backup_is_refused_and_nothing_is_restored(site: Scenario, tmp_path: Path) -> None:
    backup(tmp_path, now=site.now)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    victim = tmp_path / "objects" / next(iter(manifest["objects"]))
    content = victim.read_bytes()
    empty_the_site()
    victim.write_bytes(content[:-1] + b"!")
    with pytest.raises(Broken, match="is damaged"):
        restore(tmp_path)
    victim.write_bytes(content)
    manifest["tables"]["submissions_submission"]["rows"] += 1
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(Broken, match="submissions_submission came to 4 rows"):
        restore(tmp_path)
    assert not User.objects.exists()


def test_what_is_no_backup_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"has no manifest\.json"):
        call_command("restore", str(tmp_path))
    with tarfile.open(tmp_path / "x.tar", "w"):
        pass
    with pytest.raises(CommandError, match=r"the archive has no manifest\.json"):
        call_command("restore", str(tmp_path / "x.tar"))
