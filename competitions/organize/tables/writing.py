"""Writing what a competition is made of: reference data, public data, sample and baseline."""

import shutil
from pathlib import Path, PurePath
from typing import Final

import polars as pl

from competitions.organize.answers import Plan, Split
from scoring.metrics import metric as metric_named
from scoring.tables import table_reference
from scoring.tables.baselines import constant_baseline, sample_submission
from scoring.tables.files import read_table
from scoring.tables.splitting import USAGE, read_usage, with_usage

SAMPLE: Final = "sample_submission.csv"
BASELINE: Final = "constant_baseline.csv"


def write_files(target: str, plan: Plan) -> dict[str, object]:
    """Write the files; returns the schema of submissions and the parts. Raises `ScoringInputError`."""
    folder = Path(target)
    solution = divide(_table(plan, "solution"), plan["split"], plan["targets"])
    chosen = table_reference.ChosenMetric(**plan["metric"])
    reference = table_reference.reference_for(
        solution,
        [chosen],
        id_column=plan["id_column"],
        targets=plan["targets"],
        usage_column=USAGE if USAGE in solution.columns else None,
        weight=plan["weight"],
        group=plan["group"],
    )
    own = Path(plan["files"]["metric"][0]).read_bytes() if chosen.is_own else None
    table_reference.write(folder / "reference_data", solution, reference, metric_file=own)
    sample = sample_submission(solution, reference.schema)
    sample.write_csv(folder / SAMPLE)
    (sample if chosen.is_own else _baseline(solution, chosen, plan)).write_csv(folder / BASELINE)
    _write_public(folder / "public_data", folder / SAMPLE, plan)
    return {
        "schema": reference.schema.as_json(),
        "parts": list(table_reference.solution_parts(reference, solution)),
    }


def _table(plan: Plan, role: str) -> pl.DataFrame:
    path, name = plan["files"][role]
    return read_table(Path(path), filename=name)


def divide(solution: pl.DataFrame, split: Split, targets: list[str]) -> pl.DataFrame:
    """The solution with its parts in the column `Usage`; without that column where there is one part."""
    how = split["how"]
    if how == "column":
        column = str(split["column"])
        usage = read_usage(solution, column)
        return solution.drop(column).with_columns(usage)
    plain = solution.drop(USAGE, strict=False)
    if how == "none":
        return plain
    by = split["by"] or targets[0]
    named = {"stratified": {"stratify": by}, "grouped": {"group": by}}.get(how, {})
    return with_usage(plain, fraction=split["percent"] / 100, seed=split["seed"], **named)


def _baseline(solution: pl.DataFrame, chosen: table_reference.ChosenMetric, plan: Plan) -> pl.DataFrame:
    """The best constant, from the training data if there are any: it is submitted, never published."""
    training = _table(plan, "training") if "training" in plan["files"] else None
    return constant_baseline(
        solution,
        metric_named(chosen.name),
        id_column=plan["id_column"],
        targets=plan["targets"],
        parameters=chosen.parameters,
        train=training,
    )


def _write_public(folder: Path, sample: Path, plan: Plan) -> None:
    """Write the files that participants download: the sample and other public ones, by role."""
    folder.mkdir()
    shutil.copyfile(sample, folder / sample.name)
    for role in ("training", "test"):
        if role in plan["files"]:
            path, name = plan["files"][role]
            shutil.copyfile(path, folder / f"{role}{''.join(PurePath(name.lower()).suffixes[-2:])}")
