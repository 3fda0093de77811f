"""Builds the competition as a bundle: `python -m examples.delivery_times.bundle DEST`."""

from datetime import datetime
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from examples.writing import OPEN_FOR, copy_parts, copy_program, instant, main, write_yaml
from scoring.reference import OWN_METRIC
from scoring.tables import table_reference
from scoring.tables.baselines import sample_submission
from scoring.tables.reading.files import write_table
from scoring.tables.schema import Column, TableSchema
from scoring.tables.splitting import with_usage

HERE: Final = Path(__file__).resolve().parent
TRAIN, TEST, SEED = 1500, 500, 11
SCHEMA: Final = TableSchema("id", (Column("minutes", minimum=0),), rows=TEST)
DISTRICTS: Final = ("centre", "harbour", "hills", "north")


def deliveries(count: int, rng: np.random.Generator) -> pl.DataFrame:
    """Made-up deliveries: district, distance, hour, parcels, and how many minutes each took."""
    district, hour = rng.integers(0, len(DISTRICTS), count), rng.integers(8, 20, count)
    distance, parcels = np.round(rng.gamma(2, 2, count) + 0.2, 1), rng.integers(1, 9, count)
    rush = np.isin(hour, [8, 9, 17, 18])
    typical = 8 + distance * (3 + district * 0.8) * (1 + 0.4 * rush) + 1.5 * parcels
    minutes = np.round(np.minimum(typical * rng.lognormal(0, 0.25, count), 500), 1)
    names = [DISTRICTS[place] for place in district]
    return pl.DataFrame(
        {"district": names, "distance_km": distance, "hour": hour, "parcels": parcels, "minutes": minutes}
    )


def build_bundle(dest: Path, *, now: datetime) -> Path:
    """Write the bundle into `dest`, a folder that does not exist yet; its phase is open from `now` on."""
    copy_parts(HERE, dest, ("pages",))
    rng = np.random.default_rng(SEED)
    train, test = deliveries(TRAIN, rng), deliveries(TEST, rng).with_row_index("id", offset=1)
    solution = with_usage(test.select("id", "minutes"), fraction=0.4, seed=SEED)
    data = dest / "public_data"
    data.mkdir()
    write_table(train, data / "train.csv")
    write_table(test.drop("minutes"), data / "test.csv")
    write_table(sample_submission(solution, SCHEMA), dest / "sample_submission.csv")
    own = table_reference.ChosenMetric(OWN_METRIC, key="cost", parameters={"late_cost": 3.0})
    known = table_reference.reference_for(
        solution, [own], id_column="id", targets=["minutes"], usage_column="Usage", schema=SCHEMA
    )
    table_reference.write(dest / "reference_data", solution, known, metric_file=(HERE / "metric.py").read_bytes())
    copy_program("table", dest)
    return write_yaml(dest, competition(now))


def competition(now: datetime) -> dict[str, object]:
    """The content of `competition.yaml`; what Codabench has no key for stands under `podium`."""
    return {
        "version": 2,
        "title": "Delivery times",
        "description": "How many minutes does a delivery take? Late costs three times early.",
        "terms": "pages/terms.md",
        "docker_image": "podium/runtime:1",
        "registration_auto_approve": True,
        "pages": [{"title": "Overview", "file": "pages/overview.md"}],
        "tasks": [
            {"index": 0, "name": "Deliveries", "scoring_program": "scoring_program", "reference_data": "reference_data"}
        ],
        "phases": [
            {
                "index": 0,
                "name": "Deliveries",
                "start": instant(now),
                "end": instant(now + OPEN_FOR),
                "tasks": [0],
                "execution_time_limit": 120,
                "public_data": "public_data",
                "sample_submission": "sample_submission.csv",
                "podium": {
                    "accepts": ["prediction"],
                    "slug": "deliveries",
                    "prediction_format": {"table": SCHEMA.as_json()},
                    "leaderboards": [board("Public", "public", "phase"), board("Private", "private", "sealed")],
                },
            }
        ],
        "leaderboards": [board("Public", "public", "phase")],
    }


def board(title: str, part: str, visibility: str) -> dict[str, object]:
    """The board of one part of the test rows."""
    column = {
        "title": "Cost",
        "key": f"cost_{part}",
        "index": 0,
        "sorting": "asc",
        "precision": 3,
        "podium": {"unit": "min"},
    }
    return {
        "title": title,
        "key": part,
        "submission_rule": "Force_Best",
        "primary_index": 0,
        "columns": [column],
        "podium": {"visibility": visibility},
    }


def baseline(data: Path, target: Path) -> Path:
    """Write predictions: of each district, the quantile of the minutes for a kilometre.

    The costs decide which quantile.
    """
    train, test = pl.read_csv(data / "train.csv"), pl.read_csv(data / "test.csv")
    pace = train.group_by("district").agg((pl.col("minutes") / pl.col("distance_km")).quantile(0.75).alias("pace"))
    predictions = test.join(pace, on="district", maintain_order="left")
    return write_table(
        predictions.select("id", minutes=(pl.col("pace") * pl.col("distance_km")).clip(0, 600).round(1)), target
    )


if __name__ == "__main__":
    raise SystemExit(main("delivery_times", build_bundle))
