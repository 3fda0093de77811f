"""Builds the competition as a bundle: `python -m examples.classroom.bundle DEST`."""

import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from examples.classroom.data import SEED, TARGET, TEST_HOURS, TRAIN_HOURS, hours
from examples.writing import copy_parts, copy_program, instant, main, write_yaml
from scoring.tables import table_reference
from scoring.tables.baselines import sample_submission
from scoring.tables.schema import SchemaDocument
from scoring.tables.splitting import USAGE, with_usage

HERE = Path(__file__).resolve().parent
SLUG: Final = "classroom"
PUBLIC_SHARE: Final = 0.3
RUNNING_FOR, OPEN_FOR = timedelta(days=1), timedelta(weeks=8)


def build_bundle(dest: Path, *, now: datetime, seed: int = SEED) -> Path:
    """Write the bundle into `dest`, a folder that does not exist yet; its phase has been open for a day."""
    copy_parts(HERE, dest, ("pages", "starting_kit"))
    copy_program("table", dest)
    train, test = hours(TRAIN_HOURS, seed, first_id=1), hours(TEST_HOURS, seed, first_id=10_001)
    solution = with_usage(test.select("id", TARGET), fraction=PUBLIC_SHARE, seed=seed)
    scored = table_reference.reference_for(
        solution, [table_reference.ChosenMetric("rmse")], id_column="id", targets=[TARGET], usage_column=USAGE
    )
    table_reference.write(dest / "reference_data", solution, scored)
    public = dest / "public_data"
    public.mkdir()
    train.write_csv(public / "train.csv")
    test.drop(TARGET).write_csv(public / "test.csv")
    sample_submission(solution, scored.schema).write_csv(public / "sample_submission.csv")
    shutil.copy(public / "sample_submission.csv", dest)
    return write_yaml(dest, competition(now, scored.schema.as_json()))


def competition(now: datetime, schema: SchemaDocument) -> dict[str, object]:
    """The content of `competition.yaml`."""
    opens, closes = instant(now - RUNNING_FOR), instant(now + OPEN_FOR)
    task = {"index": 0, "name": "Bicycles", "scoring_program": "scoring_program", "reference_data": "reference_data"}
    extra = {
        "slug": "main",
        "accepts": ["prediction"],
        "prediction_format": {"table": schema},
        "reveal": closes,
        "leaderboards": [
            _board("Public", "public"),
            _board("Private", "private", visibility="sealed", rule="selected"),
        ],
    }
    phase = {
        "index": 0,
        "name": "Competition",
        "start": opens,
        "end": closes,
        "tasks": [0],
        "max_submissions_per_day": 5,
        "max_submissions": None,
        "public_data": "public_data",
        "starting_kit": "starting_kit",
        "sample_submission": "sample_submission.csv",
        "podium": extra,
    }
    return {
        "version": 2,
        "title": "Bicycles at the bridge",
        "description": "How many bicycles pass in an hour, by hour, day and weather",
        "terms": "pages/rules.md",
        "registration_auto_approve": True,
        "podium": {
            "slug": SLUG,
            "host": "The course on statistical learning",
            "max_team_size": 4,
            "merges_close": closes,
        },
        "pages": [
            {"title": title, "file": f"pages/{title.lower()}.md"} for title in ("Overview", "Data", "Evaluation")
        ],
        "tasks": [task],
        "phases": [phase],
        "leaderboards": [_board("Public", "public")],
    }


def _board(title: str, part: str, **extra: object) -> dict[str, object]:
    column = {
        "title": "RMSE",
        "key": f"rmse_{part}",
        "index": 0,
        "sorting": "asc",
        "precision": 3,
        "podium": {"unit": "bicycles"},
    }
    return {"title": title, "key": part, "submission_rule": "Force_Best", "columns": [column], "podium": extra}


if __name__ == "__main__":
    raise SystemExit(main(SLUG, build_bundle))
