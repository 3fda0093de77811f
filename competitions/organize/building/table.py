"""The bundle of a competition on a table: the tables are written by a child, the YAML here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import structlog

from competitions.catalog.models.sections.data import read_descriptions
from competitions.organize.answers import (
    BASELINE,
    SAMPLE_ROLE,
    Columns,
    MetricChoice,
    MetricFacts,
    Plan,
    Predictions,
    ScoreOnScale,
    Split,
)
from competitions.organize.building import document as parts
from competitions.organize.steps.table.metric import metric_facts
from competitions.organize.steps.table.predictions import PREDICTIONS
from core.refusals import Refusal

log = structlog.get_logger(__name__)


def write_table(answers: parts.Answers, folder: Path, bounded: parts.Bounded) -> parts.Sample:
    """Write the bundle into an empty folder; returns the organizer's sample, or the best constant."""
    chosen, columns = cast("MetricChoice", answers.steps["metric"]), cast("Columns", answers.steps["columns"])
    metrics = metric_facts(chosen)
    predictions = cast("Predictions | None", answers.steps.get(PREDICTIONS.slug) or None)
    plan: Plan = {
        "files": {role: [str(path), name] for role, (path, name) in answers.files.items()},
        "metrics": [
            {"name": metric["name"], "key": metric["key"], "parameters": metric["parameters"]} for metric in metrics
        ],
        "columns": predictions["columns"] if predictions else None,
        "id_column": columns["id_column"],
        "targets": columns["targets"],
        "weight": columns["weight"] or None,
        "group": columns["group"] or None,
        "slices": [columns["slices"]] if columns["slices"] else [],
        "split": cast("Split", answers.steps["split"]),
    }
    reference = bounded({"do": "write", "target": str(folder), "plan": plan})
    parts.copy_program(folder, "table")
    parts.write_yaml(folder, _document(answers, metrics, reference), answers.texts)
    scale = _scale(answers, folder, bounded)
    if SAMPLE_ROLE in answers.files:
        return parts.Sample(folder / reference["sample"], "Sample submission", scale=scale)
    return parts.Sample(folder / BASELINE, "Constant baseline", scale=scale)


def _scale(answers: parts.Answers, folder: Path, bounded: parts.Bounded) -> Sequence[ScoreOnScale]:
    """Scores to read the trial's by; without them the competition is built nevertheless."""
    path, name = answers.files.get("training", (None, ""))
    try:
        answer = bounded({"do": "scale", "target": str(folder), "training": [str(path), name] if path else None})
    except Refusal as refusal:
        log.warning("no_score_scale", why=refusal.detail)
        return ()
    return cast("Sequence[ScoreOnScale]", answer["scale"])


def _document(answers: parts.Answers, metrics: Sequence[MetricFacts], reference: dict[str, Any]) -> dict[str, object]:
    task = {
        "index": 0,
        "name": answers.about["title"][:256],
        "scoring_program": "scoring_program",
        "reference_data": "reference_data",
    }
    boards = _boards(metrics, reference["parts"])
    extra: dict[str, object] = {
        "slug": "main",
        "accepts": ["prediction"],
        "prediction_format": {"table": reference["schema"]},
        "leaderboards": boards,
    }
    described = read_descriptions(cast("Columns", answers.steps["columns"])["descriptions"])
    if described:
        extra["column_descriptions"] = "\n".join(f"{name}: {meaning}" for name, meaning in described.items())
    if len(boards) > 1:
        extra["reveal"] = parts.instant(answers.schedule["closes_at"])
    sample = reference["sample"]
    main = parts.phase(answers, name="Competition", extra=extra, public_data="public_data", sample_submission=sample)
    return parts.document(answers, tasks=[task], phases=[main], board=boards[0])


def _boards(metrics: Sequence[MetricFacts], names: list[str]) -> list[dict[str, object]]:
    """An open board, and a sealed one for the private part, if any; teams select what counts there."""
    if len(names) < 2:
        return [parts.board("Leaderboard", "main", _columns(metrics, ""))]
    return [
        parts.board("Public", "public", _columns(metrics, "_public")),
        parts.board("Private", "private", _columns(metrics, "_private"), visibility="sealed", rule="selected"),
    ]


def _columns(metrics: Sequence[MetricFacts], part: str) -> list[dict[str, object]]:
    """The metrics' scores of one part; the first one ranks."""
    return [
        parts.column(
            f"{metric['key']}{part}",
            metric["title"],
            "asc" if metric["direction"] == "min" else "desc",
            index=index,
            unit=metric["unit"],
        )
        for index, metric in enumerate(metrics)
    ]
