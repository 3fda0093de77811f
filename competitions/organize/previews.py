"""The preview beside a step: table, distribution of a target, competition card, files for teams."""

from collections.abc import Mapping
from typing import Any, Final

import scoring
from competitions.organize.answers import Solution
from competitions.organize.models import CompetitionDraft
from competitions.organize.steps.dataset import dataset_facts
from competitions.organize.steps.pages import PAGES
from competitions.organize.steps.step import Step, StepForm
from competitions.organize.steps.table.columns import column_shapes
from competitions.organize.steps.table.data import sample_preview, solution_preview
from competitions.organize.steps.table.metric import MetricForm
from competitions.organize.steps.table.predictions import PREDICTIONS
from competitions.organize.steps.table.split import part_sizes, time_leak

SHOWN_ROWS: Final = 8


def step_preview(draft: CompetitionDraft, step: Step, form: StepForm) -> Mapping[str, object]:
    """The context of this step's preview, made of the form's values as they are, right or wrong."""
    values = {name: form[name].value() for name in form.fields}
    context: dict[str, object] = {"values": values}
    if step.slug == "schedule":
        context["dates"] = [str(values[name] or "?").replace("T", " ") for name in ("opens_at", "closes_at")]
    if draft.start == CompetitionDraft.Start.TABLE:
        context |= _table(solution_preview(draft))
    if step.slug == "dataset":
        context["facts"] = _facts(values.get("dataset"))
    if step.slug == "labels":
        context["facts"] = _facts(draft.answers.get("dataset", {}).get("dataset", [None])[0])
    if step.slug == "pages":
        context["texts"] = {name: values[f"{name}_text"] or "" for name in PAGES}
    if step.slug == "columns":
        context["targets"] = column_shapes(draft, values.get("targets") or [])
    if isinstance(form, MetricForm):
        context["chosen"] = form.chosen()
    if step.slug == PREDICTIONS.slug:
        context |= _table(sample_preview(draft))
    if step.slug == "split":
        context |= {"parts": part_sizes(draft, values), "leak": time_leak(draft, values)}
    return context


def _table(solution: Solution | None) -> Mapping[str, object]:
    """The solution, and those of its columns that the first rows show; nothing of it before it was read."""
    if solution is None:
        return {"solution": None}
    shown = len(solution["first_rows"][0])
    marks = [column["type"] != "text" for column in solution["columns"][:shown]]
    return {
        "solution": solution,
        "rows": [list(zip(row, marks, strict=False)) for row in solution["first_rows"][:SHOWN_ROWS]],
        "shown_columns": solution["columns"][:shown],
        "more_columns": len(solution["columns"]) - shown,
    }


def _facts(name: Any) -> Mapping[str, object] | None:
    return dataset_facts(str(name)) if name in scoring.names() else None
