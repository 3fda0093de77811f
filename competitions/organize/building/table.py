"""The bundle of a competition on a table: the tables are written by a child, the YAML here."""

from pathlib import Path
from typing import Any

from competitions.organize.building.document import (
    Answers,
    Bounded,
    column,
    copy_program,
    document,
    instant,
    phase,
    write_yaml,
)
from competitions.organize.steps.table import OWN
from core.background.bounded import Call
from scoring.tables.metrics import metric as metric_named

OWN_KEY = "score"


def write_table(answers: Answers, folder: Path, bounded: Bounded) -> None:
    """Write the bundle into an empty folder."""
    metric, columns = _metric(answers), answers["columns"]
    plan = {
        "files": {role: [str(path), name] for role, (path, name) in answers.files.items()},
        "id_column": columns["id_column"],
        "targets": columns["targets"],
        "metric": metric["name"],
        "parameters": metric["parameters"],
        "metric_file": str(answers.files["metric"][0]) if metric["name"] is None else "",
        "split": dict(answers["split"]),
        "reference": _reference(answers, metric),
    }
    made = bounded(
        Call("competitions.organize.building.table_files:write_files", {"folder": str(folder), "plan": plan})
    )
    copy_program(folder, "table")
    write_yaml(folder, _document(answers, metric, made), answers.texts)


def _metric(answers: Answers) -> dict[str, Any]:
    """What is known of the metric, for board and reference data; `name` is None for one's own."""
    chosen = answers["metric"]
    if chosen["metric"] == OWN:
        direction = chosen["own_direction"] or "max"
        return {
            "name": None,
            "parameters": chosen["parameters"],
            "key": OWN_KEY,
            "title": chosen["own_title"],
            "direction": direction,
            "unit": "",
        }
    metric = metric_named(chosen["metric"])
    return {
        "name": metric.name, "parameters": chosen["parameters"], "key": metric.name, "title": metric.title,
        "direction": metric.direction, "unit": metric.unit,
    }  # fmt: skip


def _reference(answers: Answers, metric: dict[str, Any]) -> dict[str, Any]:
    """What the scoring program is told, beside the schema."""
    columns = answers["columns"]
    told = {"targets": columns["targets"], "weight": columns["weight"], "group": columns["group"]}
    return {key: value for key, value in told.items() if value} | {
        "metrics": [{"name": metric["name"] or OWN, "parameters": metric["parameters"], "key": metric["key"]}]
    }


def _document(answers: Answers, metric: dict[str, Any], made: dict[str, Any]) -> dict[str, Any]:
    task = {
        "index": 0,
        "name": answers["about"]["title"][:256],
        "scoring_program": "scoring_program",
        "reference_data": "reference_data",
    }
    boards = _boards(metric, made["parts"])
    extra: dict[str, Any] = {
        "slug": "main", "accepts": ["prediction"], "prediction_format": {"table": made["schema"]},
        "leaderboards": boards,
    }  # fmt: skip
    if len(boards) > 1:
        extra["reveal"] = instant(answers["schedule"]["closes_at"])
    main = phase(
        answers, name="Competition", extra=extra, public_data="public_data", sample_submission="sample_submission.csv"
    )
    return document(answers, tasks=[task], phases=[main], board=boards[0])


def _boards(metric: dict[str, Any], parts: list[str]) -> list[dict[str, Any]]:
    """One that is open, and where there is a private part one for it that stays sealed; what counts there is selected."""
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


def _board(title: str, key: str, only: dict[str, Any], **extra: Any) -> dict[str, Any]:
    return {"title": title, "key": key, "submission_rule": "Force_Best", "columns": [only], "podium": extra}
