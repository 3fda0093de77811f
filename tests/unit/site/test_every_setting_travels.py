"""Export and import keep every setting there is: the rows are compared field by field, so a new field cannot be forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import models
from django.db.models import Model

from competitions.bundles.copying import exported
from competitions.bundles.importer import bundle_import
from competitions.catalog.models import Competition, Page, Phase, RulesVersion, Task
from competitions.factsheets.models import Question
from competitions.leaderboards.models import Column, Leaderboard
from competitions.teams.models import RegistrationQuestion
from tests.worlds import NOON, World

pytestmark = pytest.mark.django_db
# What is of the place and not of the competition, or of its history.
STAYS: dict[type[Model], set[str]] = {
    Competition: {"slug", "is_published", "series", "queue", "created_at"},
    Page: set(),
    RulesVersion: {"published_at"},
    Task: {"key", "owner"},
    Phase: {"revealed_at", "migrated_at"},
    Leaderboard: {"version", "entry_count", "score_count", "updated_at"},
    Column: set(),
    Question: set(),
    RegistrationQuestion: set(),
}
UPWARDS = {"id", "competition", "phase", "leaderboard"}
SET: dict[type[Model], dict[str, Any]] = {
    Competition: {"registration_policy": "approval", "competition_type": "benchmark", "logo": None, "docker_image": "podium/r:1"},
    Page: {"tab": "data", "format": "markdown", "index": 0},
    Phase: {
        "as_on_codabench": False, "accepts_predictions": False, "accepts_code": False, "accepts_datasets": True, "visibility": "sealed",
        "prediction_format": None, "index": 0, "slug": "only", "gpus": 1, "auto_migrate_to_this_phase": False,
    },
    Leaderboard: {"key": "final", "rule": "selected", "visibility": "sealed", "index": 0},
    Column: {"key": "mae", "kind": "score", "computation": "", "sources": [], "index": 0, "is_primary": True, "spread_key": "mae_std"},
    Question: {"key": "size", "kind": "number", "choices": [], "index": 0, "compared_with": "mae"},
    RegistrationQuestion: {"key": "name", "kind": "select", "choices": ["a", "b"], "index": 0},
}  # fmt: skip


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


def travelling(model: type[Model]) -> Iterator[Any]:
    return (field for field in model._meta.concrete_fields if field.name not in UPWARDS | STAYS[model])


def settings_of(row: Model) -> dict[str, Any]:
    """Every setting that travels; a resource as the content it holds."""
    found = {}
    for field in travelling(type(row)):
        value = getattr(row, field.name)
        found[field.name] = getattr(value, "file_id", value) if field.is_relation else value
    return found


def rows_of(competition: Competition) -> dict[str, list[dict[str, Any]]]:
    """All rows of a competition by model."""
    rows: dict[type[Model], Any] = {
        Competition: [competition],
        Page: competition.pages.all(),
        RulesVersion: competition.rules_versions.all()[:1],
        Task: competition.tasks.order_by("pk"),
        Phase: competition.phases.all(),
        Leaderboard: Leaderboard.objects.filter(phase__competition=competition),
        Column: Column.objects.filter(leaderboard__phase__competition=competition),
        Question: Question.objects.filter(competition=competition),
        RegistrationQuestion: competition.registration_questions.all(),
    }
    return {model.__name__: [settings_of(row) for row in found] for model, found in rows.items()}


def test_every_setting_of_every_row_travels(site: World, tmp_path: Path) -> None:
    competition = site.competition
    site.sealed.delete()
    varied(competition)
    phase = varied(site.phase)
    assert isinstance(phase, Phase)
    board = phase.leaderboards.get()
    varied(board)
    for column in Column.objects.filter(leaderboard=board):
        varied(column)
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
    with exported(competition, with_files=True) as file:
        (tmp_path / "bundle.zip").write_bytes(file.read())
    copy = bundle_import(source=tmp_path / "bundle.zip", owner=site.organizer, queue=site.queue, now=NOON).competition
    assert rows_of(copy) == rows_of(Competition.objects.get(pk=competition.pk))
