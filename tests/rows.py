"""A competition as plain values, so that two of them can be compared setting by setting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Model

from competitions.catalog.models import Column, Competition, Leaderboard, Page, Phase, RulesVersion, Task
from competitions.factsheets.models import Question
from competitions.teams.models import RegistrationQuestion

# What is of the place and not of the competition, or of its history.
STAYS: dict[type[Model], set[str]] = {
    Competition: {
        "slug",
        "is_published",
        "is_trial",
        "series",
        "queue",
        "created_at",
        "team_count",
        "rules_number",
        "applied_proposals",
        "publish_at",
        "publish_despite",
        "publish_fault",
    },
    Page: set(),
    RulesVersion: {"published_at"},
    Task: {"key", "owner"},
    Phase: {"revealed_at", "reveal_told_at", "migrated_at"},
    Leaderboard: {
        "version",
        "has_sealed_keys",
        "entry_count",
        "score_count",
        "removed_count",
        "updated_at",
        "ranks_noted_at",
    },
    Column: set(),
    Question: set(),
    RegistrationQuestion: set(),
}
UPWARDS = {"id", "competition", "phase", "leaderboard"}


def travelling(model: type[Model]) -> Iterator[Any]:
    return (field for field in model._meta.concrete_fields if field.name not in UPWARDS | STAYS[model])


def travelling_settings(row: Model) -> dict[str, Any]:
    """Every setting that travels; a resource as the content it holds."""
    settings = {}
    for field in travelling(type(row)):
        value = getattr(row, field.name)
        settings[field.name] = _content(value) if field.is_relation else value
    return settings


def _content(value: Any) -> Any:
    """A value that is equal on another site: a task by its name, a stored file by its digest."""
    return value.name if isinstance(value, Task) else getattr(value, "file_id", value)


def rows_by_model(competition: Competition) -> dict[str, list[dict[str, Any]]]:
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
    return {model.__name__: [travelling_settings(row) for row in model_rows] for model, model_rows in rows.items()}
