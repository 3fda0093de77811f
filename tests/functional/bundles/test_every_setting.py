"""Export and import keep every setting: rows are compared field by field, so none is forgotten."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import models
from django.db.models import Model

from competitions.bundles.importing.importer import bundle_import
from competitions.bundles.writer import bundle_write
from competitions.catalog.models import Column, Competition, Leaderboard, Page, Phase, Task
from competitions.factsheets.models import Question
from competitions.teams.models import RegistrationQuestion
from tests.growing import grow, joined
from tests.rows import rows_by_model, travelling
from tests.scenario import NOON, Scenario

pytestmark = pytest.mark.django_db
SET: dict[type[Model], dict[str, Any]] = {
    Competition: {
        "registration_policy": "approval",
        "competition_type": "benchmark",
        "discussion": "elsewhere",
        "discussion_url": "https://forum.example.org/c/gap",
        "discussion_review": "first",
        "logo": None,
        "docker_image": "podium/r:1",
        "tag_line": ",graphs,in vitro,",
        "own_tabs": [["how-to-begin", "How to begin"]],
        "has_questions": True,
    },
    Page: {"tab": "own", "title": "How to begin", "slug": "how-to-begin", "format": "markdown", "index": 0},
    Phase: {
        "as_on_codabench": False,
        "accepts_predictions": False,
        "accepts_code": False,
        "accepts_datasets": True,
        "visibility": "sealed",
        "prediction_format": None,
        "index": 0,
        "slug": "only",
        "docker_image": "podium/r:2",
        "gpus": 1,
        "auto_migrate_to_this_phase": False,
        "smoke_scale": 2.5,
        "quota_week": "sliding",
        "shows_slices": "at_once",
        "agents": "declared",
        "isolation": "sandboxed",
        "max_datasets": 50,
        "max_datasets_per_team": 3,  # of a board that grows, which is not sealed: below
    },
    Leaderboard: {"key": "final", "rule": "selected", "visibility": "sealed", "index": 0, "confidence_percent": 99},
    Column: {
        "key": "mae",
        "kind": "score",
        "computation": "",
        "sources": [],
        "index": 0,
        "is_primary": True,
        "spread_key": "mae_std",
    },
    Question: {"key": "size", "kind": "number", "choices": [], "index": 0, "compared_with": "mae"},
    RegistrationQuestion: {"key": "name", "kind": "select", "choices": ["a", "b"], "index": 0},
}


def another(field: Any, at: datetime) -> Any:
    """A value that is not the field's default."""
    if isinstance(field, models.BooleanField):
        return not field.default
    if isinstance(field, models.DateTimeField):
        return at
    if isinstance(field, models.FloatField):
        return field.default + 0.5
    if isinstance(field, models.IntegerField):
        return (field.default if isinstance(field.default, int) else 0) + 7
    if field.name == "column_descriptions":
        return "price: in euros"
    return f"another {field.name}"[:30]


def varied(row: Model) -> Model:
    """Give every field that travels a value of its own."""
    special = SET.get(type(row), {})
    for number, field in enumerate(travelling(type(row))):
        if field.name in special:
            setattr(row, field.name, special[field.name])
        elif not field.is_relation:
            setattr(row, field.name, another(field, NOON + timedelta(hours=number)))
    if isinstance(row, Competition):
        row.contact_email = "board@example.org"
    if isinstance(row, Column):
        row.sorting = "asc"
    row.full_clean()
    row.save()
    return row


def test_how_a_board_grows_travels_and_the_datasets_of_teams_do_not(site: Scenario, tmp_path: Path) -> None:
    phase = grow(site)
    Phase.objects.filter(pk=phase.pk).update(max_datasets=17, max_datasets_per_team=2)
    site.sealed.delete()
    joined(site)
    bundle_write(
        competition=Competition.objects.get(pk=site.competition.pk),
        target=tmp_path / "bundle.zip",
        with_files=True,
        by=site.organizer,
    )
    copy = bundle_import(source=tmp_path / "bundle.zip", owner=site.organizer, queue=site.queue, now=NOON).competition
    copied_phase = copy.phases.get()
    assert copied_phase.dataset_check is not None
    assert copied_phase.dataset_check.name == "Check"
    assert (copied_phase.max_datasets, copied_phase.max_datasets_per_team) == (17, 2)
    assert [task.name for task in copied_phase.tasks.all()] == ["Task test-dev"]
    assert copy.tasks.count() == 2


def vary(site: Scenario) -> None:
    """Give every row of the competition, which has one phase then, a value of its own in every setting."""
    competition = site.competition
    site.competition.phases.exclude(pk=site.phase.pk).delete()
    varied(competition)
    phase = varied(site.phase)
    assert isinstance(phase, Phase)
    board = phase.leaderboards.get()
    varied(board)
    for column in Column.objects.filter(leaderboard=board):
        varied(column)
    Column.objects.create(leaderboard=board, key="mae_std", title="Deviation", is_hidden=True, index=1)
    for task in phase.tasks.all():
        task.is_public = True
        task.ingestion_only_during_scoring = True
        task.description = "What it is"
        task.save()
    varied(Page(competition=competition, title="t", body="b"))
    varied(Question(competition=competition))
    varied(Question(competition=competition, phase=phase))
    varied(RegistrationQuestion(competition=competition))
    competition.tasks.exclude(phases=phase).delete()
    plain = phase.tasks.get()
    Task.objects.create(
        competition=competition,
        name="Rows permuted",
        scoring_program=plain.scoring_program,
        checks=plain,
        check_kind="permuted",
        check_tolerance=0.25,
    )


def test_every_setting_of_every_row_travels(site: Scenario, tmp_path: Path) -> None:
    vary(site)
    competition = site.competition
    bundle_write(competition=competition, target=tmp_path / "bundle.zip", with_files=True, by=site.organizer)
    copy = bundle_import(source=tmp_path / "bundle.zip", owner=site.organizer, queue=site.queue, now=NOON).competition
    assert rows_by_model(copy) == rows_by_model(Competition.objects.get(pk=competition.pk))
