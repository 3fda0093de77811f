"""Smoke runs in bundles: they come with their task, and are refused if they show hidden data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from competitions.bundles.importing.importer import bundle_import
from competitions.bundles.writer import bundle_write
from competitions.catalog.models import Competition, Phase
from files.bundles.cli import main
from files.bundles.samples import check_bundle
from tests.scenario import NOON, Scenario
from tests.smoke import with_smoke_run


@pytest.mark.django_db
def test_the_smoke_run_travels(site: Scenario, tmp_path: Path) -> None:
    phase = with_smoke_run(site)
    Phase.objects.filter(pk=phase.pk).update(smoke_scale=150)
    competition = Competition.objects.get(pk=site.competition.pk)
    bundle_write(competition=competition, target=tmp_path / "bundle.zip", with_files=True, by=site.organizer)
    copy = bundle_import(source=tmp_path / "bundle.zip", owner=site.organizer, queue=site.queue, now=NOON).competition
    first, other = copy.phases.order_by("index")
    assert first.smoke_task is not None
    assert (first.smoke_task.name, first.smoke_task.is_public_split, first.smoke_scale) == ("Mini split", True, 150)
    assert [task.name for task in first.tasks.all()] == ["Task test-dev"]
    assert other.smoke_task is None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A competition of code with a second task, which is a public split."""
    assert main(["new", str(tmp_path / "learn"), "--template", "code"]) == 0
    change(tmp_path / "learn", task={"podium": {"public_split": True}}, phase={"smoke_task": 7, "accepts": ["code"]})
    return tmp_path / "learn"


def change(folder: Path, *, task: dict[str, Any], phase: dict[str, Any]) -> None:
    path = folder / "competition.yaml"
    document = yaml.safe_load(path.read_text())
    first = document["tasks"][0]
    mini = next((entry for entry in document["tasks"] if entry["index"] == 7), None)
    if mini is None:
        for part in ("input_data", "reference_data"):
            (folder / f"mini_{part}").mkdir()
            (folder / f"mini_{part}" / "rows.csv").write_text("id\n1\n")
        mini = {
            "index": 7,
            "name": "Mini",
            "scoring_program": first["scoring_program"],
            "input_data": "mini_input_data",
            "reference_data": "mini_reference_data",
        }
        document["tasks"].append(mini)
    mini |= task
    document["phases"][0].setdefault("podium", {}).update(phase)
    path.write_text(yaml.safe_dump(document, sort_keys=False))


def faults(folder: Path) -> str:
    return "\n".join(check_bundle(folder).lines())


def test_a_public_split_is_taken(folder: Path) -> None:
    assert not check_bundle(folder).faults, faults(folder)


@pytest.mark.parametrize(
    ("task", "phase", "message"),
    [
        ({"podium": {}}, {}, "may hold hidden data"),
        ({}, {"smoke_task": 8}, "there is no task with the index 8"),
        ({}, {"accepts": ["prediction"]}, "a smoke run is of code"),
        ({"reference_data": "reference_data"}, {}, "keeps it hidden"),
    ],
    ids=["not said to be public", "no such task", "no code", "the hidden task's labels"],
)
def test_what_could_show_hidden_data_is_refused(
    folder: Path, task: dict[str, Any], phase: dict[str, Any], message: str
) -> None:
    change(folder, task=task, phase=phase)
    assert message in faults(folder)
