"""The bundle of a competition on a table: the tables are written by a child, the YAML here."""

from pathlib import Path
from typing import Any, cast

from competitions.organize.answers import Columns, MetricChoice, MetricFacts, Plan, Split
from competitions.organize.building.document import (
    Answers,
    Bounded,
    Sample,
    column,
    copy_program,
    document,
    instant,
    phase,
    write_yaml,
)
from competitions.organize.steps.table import metric_facts
from competitions.organize.tables.writing import BASELINE, SAMPLE


def write_table(answers: Answers, folder: Path, bounded: Bounded) -> Sample:
    """Write the bundle into an empty folder. The sample is the best constant, or what teams start from."""
    chosen, columns = cast("MetricChoice", answers.steps["metric"]), cast("Columns", answers.steps["columns"])
    metric = metric_facts(chosen)
    plan: Plan = {
        "files": {role: [str(path), name] for role, (path, name) in answers.files.items()},
        "metric": {"name": metric["name"], "key": metric["key"], "parameters": chosen["parameters"]},
        "id_column": columns["id_column"],
        "targets": columns["targets"],
        "weight": columns["weight"] or None,
        "group": columns["group"] or None,
        "split": cast("Split", answers.steps["split"]),
    }
    reference = bounded({"do": "write", "target": str(folder), "plan": plan})
    copy_program(folder, "table")
    write_yaml(folder, _document(answers, metric, reference), answers.texts)
    return Sample(folder / BASELINE, "Constant baseline")


def _document(answers: Answers, metric: MetricFacts, reference: dict[str, Any]) -> dict[str, object]:
    task = {
        "index": 0,
        "name": answers.about["title"][:256],
        "scoring_program": "scoring_program",
        "reference_data": "reference_data",
    }
    boards = _boards(metric, reference["parts"])
    extra: dict[str, object] = {
        "slug": "main",
        "accepts": ["prediction"],
        "prediction_format": {"table": reference["schema"]},
        "leaderboards": boards,
    }
    if len(boards) > 1:
        extra["reveal"] = instant(answers.schedule["closes_at"])
    main = phase(answers, name="Competition", extra=extra, public_data="public_data", sample_submission=SAMPLE)
    return document(answers, tasks=[task], phases=[main], board=boards[0])


def _boards(metric: MetricFacts, parts: list[str]) -> list[dict[str, object]]:
    """An open board, and a sealed one for the private part, if any; teams select what counts there."""
    sorting = "asc" if metric["direction"] == "min" else "desc"
    if len(parts) < 2:
        return [_board("Leaderboard", "main", column(metric["key"], metric["title"], sorting, unit=metric["unit"]))]
    public, private = (
        column(f"{metric['key']}_{part}", metric["title"], sorting, unit=metric["unit"])
        for part in ("public", "private")
    )
    return [
        _board("Public", "public", public),
        _board("Private", "private", private, visibility="sealed", rule="selected"),
    ]


def _board(title: str, key: str, only: dict[str, object], **extra: Any) -> dict[str, object]:
    return {"title": title, "key": key, "submission_rule": "Force_Best", "columns": [only], "podium": extra}
