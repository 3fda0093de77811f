"""docs/first-submission.md: every command in order, on a real site with a real worker."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.conf import settings

from accounts.models import Scope, User, token_create
from competitions.bundles.importing.importer import bundle_import
from competitions.catalog.models import Competition
from competitions.disclosure.outputs import SLICES
from competitions.resources.storage import open_stored
from competitions.runs.models import Run, RunOutput
from competitions.submissions.models import Submission
from examples.pcqm4mv2_small.bundle import MINI_ROWS, SLUG, build_bundle
from examples.pcqm4mv2_small.generate import Sizes
from scoring.slices import read
from tests.background import background_running
from tests.integration.workers.site import SmallSite
from tests.integration.workers.test_worker_and_site import Start, site, start_worker
from tests.services import REPOSITORY

__all__ = ["site", "start_worker"]  # fixtures

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("runtime_image")]

PAGE = REPOSITORY / "docs/first-submission.md"
SITE = "https://podium.example.org"
FENCED = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SIZES = Sizes(train=60, valid=40, test_dev=50, test_challenge=50)
PATIENCE_S = 200


def commands() -> list[str]:
    """Every line of the page's blocks of commands."""
    return [line for block in FENCED.findall(PAGE.read_text()) for line in block.splitlines()]


@pytest.fixture
def environment(site: SmallSite, tmp_path: Path) -> Iterator[dict[str, str]]:
    """A newcomer's shell environment: the program on its path, without the tests' settings."""
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
    User.objects.filter(pk=site.user.pk).update(is_staff=True)
    site.user.refresh_from_db()
    bundle = build_bundle(tmp_path / "bundle", now=datetime.now(UTC), sizes=SIZES)
    bundle_import(source=bundle, owner=site.user, queue=site.queue, now=datetime.now(UTC))
    Competition.objects.filter(slug=SLUG).update(is_published=True)
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("PODIUM_", "DJANGO_", "DATABASE"))
    }
    with background_running():
        yield variables | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "PODIUM_CONFIG": str(tmp_path / "sites.json"),
        }


@pytest.mark.timeout(900)
def test_every_command_of_the_page_works(
    site: SmallSite, environment: dict[str, str], start_worker: Start, tmp_path: Path
) -> None:
    start_worker()
    newcomer = User.objects.create_user(username="newcomer", email="newcomer@example.org", password="x")
    _, token = token_create(user=newcomer, name="t", scopes=list(Scope), expires_at=datetime(2100, 1, 1, tzinfo=UTC))
    folder = tmp_path / "home"
    folder.mkdir()
    printed: dict[str, str] = {}
    for line in commands():
        done = subprocess.run(
            _typed(line, site.url),
            shell=True,
            cwd=folder,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            input=f"{token}\n",
        )
        assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        printed[line] = done.stdout + done.stderr
    at_home = next(text for line, text in printed.items() if line.startswith("podium run"))
    assert "mae" in at_home
    assert "wall_s" in at_home
    on_the_site = next(text for line, text in printed.items() if "--smoke" in line)
    assert f"progress: {MINI_ROWS}/{MINI_ROWS}" in on_the_site
    assert "score on the mini split" in on_the_site
    board = next(text for line, text in printed.items() if line.startswith("podium leaderboard"))
    assert "Late Night Models" in board
    submissions = Submission.objects.order_by("pk")
    assert list(submissions.values_list("kind", "is_smoke", "status")) == [
        ("code", True, "finished"),
        ("code", False, "finished"),
        ("prediction", False, "finished"),
    ]
    smoke, whole, _ = submissions
    assert list(Run.objects.filter(submission=smoke).values_list("is_smoke", flat=True)) == [True]
    assert sorted(Run.objects.filter(submission=whole).values_list("is_smoke", flat=True)) == [False, True]
    home_score = re.search(r"^mae\t(\S+)", at_home, re.MULTILINE)
    assert home_score is not None
    assert float(home_score[1]) == pytest.approx(Run.objects.get(submission=smoke).scores["mae"])
    assert_slices_came_apart_from_the_output(Run.objects.get(submission=whole, is_smoke=False))


def assert_slices_came_apart_from_the_output(run: Run) -> None:
    """The scores by number of heavy atoms came in a file of their own, and of no smoke run."""
    with open_stored(RunOutput.objects.get(run=run, name=SLICES).file) as file:
        rows = read(file.read()).scores["mae"]["heavy atoms"]
    assert sum(row.items for row in rows) == SIZES.test_dev
    mean = sum(row.items * (row.score or 0) for row in rows) / SIZES.test_dev
    assert mean == pytest.approx(run.scores["mae"])
    with open_stored(RunOutput.objects.get(run=run, name="scoring.zip").file) as file, ZipFile(file) as archive:
        assert set(archive.namelist()) == {"scores.json"}
    assert not RunOutput.objects.filter(run__is_smoke=True, name=SLICES).exists()


def _typed(line: str, url: str) -> str:
    """The line as typed for this site; the token comes from standard input instead of a prompt."""
    line = line.replace(SITE, url)
    return f"{line} --token-stdin" if line.startswith("podium login") else line
