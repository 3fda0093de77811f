"""Pictures of the examples for docs/examples.md, each imported into the demo and published."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from playwright.sync_api import Page, expect

from examples import ogb_lsc, ogbn_arxiv, openbiolink2021
from examples.tracks.bundle import build_track
from tests import services
from tests.browser.visitor import Visitor

BUNDLES: Final = (
    "autograph_small",
    "autorl_jobshop",
    "both_grow_small",
    "classroom",
    "cometh_small",
    "deconbench_small",
    "delivery_times",
)
TRACKS: Final = {
    track.slug: track for benchmark in (ogb_lsc, openbiolink2021, ogbn_arxiv) for track in benchmark.TRACKS
}
Shot = Callable[[Page, str], None]


def builders() -> dict[str, Callable[..., Path]]:
    """A function for each example that writes its bundle into a folder, by the name of its picture."""
    bundles = {name: importlib.import_module(f"examples.{name}.bundle").build_bundle for name in BUNDLES}
    return bundles | {slug: partial(build_track, track=track) for slug, track in TRACKS.items()}


def take_examples(organizer: Visitor, visitor: Visitor, data_dir: str, shot: Shot) -> None:
    """Import each example as the organizer's, publish it, and take its page as a visitor sees it."""
    for name, build in builders().items():
        with tempfile.TemporaryDirectory() as folder:
            path = _imported(build(Path(folder) / "bundle", now=datetime.now(UTC)), data_dir)
        page = organizer.visit(f"/host{path}settings/")
        page.get_by_role("button", name="Publish the competition").click()
        expect(page.get_by_role("button", name="Publish the competition")).to_have_count(0)
        shot(visitor.visit(path), f"example-{name.replace('_', '-')}")


def _imported(bundle: Path, data_dir: str) -> str:
    """Import it into the demo; the path of its page."""
    command = [sys.executable, "manage.py", "bundle_import", str(bundle), "--owner", "organizer", "--queue", "default"]
    environment = os.environ | {"PODIUM_DATA_DIR": data_dir}
    done = subprocess.run(
        command, cwd=services.REPOSITORY, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.strip()
