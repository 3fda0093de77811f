"""What a new interpreter writes of a draft's tables: reference data, public data, sample and baseline. No Django in here."""

import json
import shutil
from pathlib import Path, PurePath
from typing import Any, Final

from scoring.errors import ScoringInputError
from scoring.tables.columns import schema_for
from scoring.tables.files import read_table
from scoring.tables.metrics import metric as metric_named
from scoring.tables.samples import constant_baseline, sample_submission
from scoring.tables.schema import Column, TableSchema
from scoring.tables.splitting import USAGE, usage_of, with_usage

SAMPLE: Final = "sample_submission.csv"
BASELINE: Final = "constant_baseline.csv"
Plan = dict[str, Any]


def write_files(folder: str, plan: Plan) -> dict[str, Any]:
    """Write them into the folder; answers the schema of submissions and which parts there are, or the fault of a file."""
    try:
        return {"fault": "", **_written(Path(folder), plan)}
    except ScoringInputError as error:
        return {"fault": str(error)}


def _written(folder: Path, plan: Plan) -> dict[str, Any]:
    solution = _divided(_table(plan, "solution"), plan["split"], plan["targets"])
    schema, baseline = _schema_and_baseline(solution, plan)
    sample = sample_submission(solution, schema)
    reference, public = folder / "reference_data", folder / "public_data"
    reference.mkdir()
    public.mkdir()
    solution.write_csv(reference / "solution.csv")
    (reference / "metric.json").write_text(json.dumps(plan["reference"] | {"schema": schema.as_json()}, indent=1))
    if plan["metric_file"]:
        shutil.copyfile(plan["metric_file"], reference / "metric.py")
    sample.write_csv(public / SAMPLE)
    sample.write_csv(folder / SAMPLE)
    baseline.write_csv(folder / BASELINE)
    for role in ("training", "test"):
        if role in plan["files"]:
            path, name = plan["files"][role]
            shutil.copyfile(path, public / f"{role}{''.join(PurePath(name.lower()).suffixes[-2:])}")
    parts = (
        sorted(set(solution[USAGE].unique().to_list()) - {"Ignored"}, reverse=True) if USAGE in solution.columns else []
    )
    return {"schema": schema.as_json(), "parts": parts, "rows": solution.height}


def _table(plan: Plan, role: str) -> Any:
    path, name = plan["files"][role]
    return read_table(Path(path), filename=name)


def _divided(solution: Any, split: dict[str, Any], targets: list[str]) -> Any:
    """The solution with its parts in the column `Usage`; without that column where there is one part."""
    how = split["how"]
    if how == "none":
        return solution.drop(USAGE, strict=False)
    if how == "column":
        usage = usage_of(solution, split["column"])
        return solution.drop(split["column"]).with_columns(usage)
    by = split["by"] or targets[0]
    named = {"stratified": {"stratify": by}, "grouped": {"group": by}}.get(how, {})
    return with_usage(solution.drop(USAGE, strict=False), fraction=split["percent"] / 100, seed=split["seed"], **named)


def _schema_and_baseline(solution: Any, plan: Plan) -> tuple[TableSchema, Any]:
    """For a metric of one's own the columns are those of the targets, and the sample is the only baseline."""
    identity, targets = plan["id_column"], plan["targets"]
    if plan["metric"] is None:
        columns = tuple(Column(name, "text" if str(solution[name].dtype) == "String" else "number") for name in targets)
        schema = TableSchema(identity, columns, rows=solution.height)
        return schema, sample_submission(solution, schema)
    metric, parameters = metric_named(plan["metric"]), plan["parameters"]
    schema = schema_for(solution, metric, id_column=identity, targets=targets, parameters=parameters)
    training = _table(plan, "training") if "training" in plan["files"] else None
    baseline = constant_baseline(
        solution, metric, id_column=identity, targets=targets, parameters=parameters, train=training
    )
    return schema, baseline
