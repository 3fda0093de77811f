"""Self-computed OGB results over several seeds, as the leaderboards of OGB report them.

The organizers ask for the mean and the unbiased standard deviation over ten runs with different seeds (three for
ogbn-papers100M) on the validation and the test split. The file is one JSON document::

    {"dataset": "ogbn-arxiv", "metric": "acc",
     "seeds": [{"seed": 0, "valid": 0.7301, "test": 0.7174}, ...]}
"""

import json
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from scoring.benchmarks.datasets import Score
from scoring.errors import ScoringInputError
from scoring.evaluation import describe

SEEDS: Final = 10
SEEDS_PAPERS100M: Final = 3
LARGEST_FILE: Final = 1 << 16


@dataclass(frozen=True)
class SeedResults:
    """The results of each seed, in the file's order."""

    dataset: str
    metric: str
    seeds: tuple[int, ...]
    valid: tuple[float, ...]
    test: tuple[float, ...]


def seeds_required(dataset: str) -> int:
    """Number of seeds the OGB leaderboards ask for.

    >>> seeds_required("ogbn-arxiv"), seeds_required("ogbn-papers100M")
    (10, 3)
    """
    return SEEDS_PAPERS100M if dataset == "ogbn-papers100M" else SEEDS


def official_filename(dataset: str) -> str:
    """Name of the file.

    >>> official_filename("ogbn-arxiv")
    'results_ogbn-arxiv.json'
    """
    return f"results_{dataset}.json"


def read(path: str | os.PathLike[str], dataset: str, *, filename: str | None = None) -> SeedResults:
    """The checked results of a file.

    Raises `ScoringInputError`: ``wrong_file_name``, ``no_file``, ``empty_file``, ``too_large``, ``bad_json`` (not JSON,
    missing fields, other dataset or metric, wrong number of seeds, a seed twice), ``nan``, ``infinite``, ``out_of_range``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write(folder, "ogbn-papers100M", valid=[0.6, 0.6, 0.6], test=[0.5, 0.6, 0.7], seeds=[1, 2, 3])
    ...     read(path, "ogbn-papers100M").test
    (0.5, 0.6, 0.7)
    """
    location = Path(path)
    expected_name = official_filename(dataset)
    if (filename or location.name) != expected_name:
        name = ascii((filename or location.name)[:120])
        raise ScoringInputError(
            "wrong_file_name", name, "this is not the official file name", f"call it {expected_name}"
        )
    return _read_document(_load(location), dataset)


def write(
    folder: str | os.PathLike[str], dataset: str, *, valid: Sequence[float], test: Sequence[float], seeds: Sequence[int]
) -> Path:
    """Write the file into `folder`. Raises `ScoringInputError` as `read`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write(folder, "ogbn-papers100M", valid=[0.67, 0.68, 0.69], test=[0.64, 0.65, 0.66], seeds=[1, 2, 3])
    ...     round(summary(read(path, "ogbn-papers100M"))["acc_std"], 6)
    0.01
    """
    document = {
        "dataset": dataset,
        "metric": describe(dataset)["primary"],
        "seeds": [
            {"seed": seed, "valid": float(on_valid), "test": float(on_test)}
            for seed, on_valid, on_test in zip(seeds, valid, test, strict=True)
        ],
    }
    _read_document(document, dataset)
    path = Path(folder) / official_filename(dataset)
    path.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    return path


def summary(results: SeedResults) -> dict[str, float]:
    """Mean and standard deviation on both splits: ``acc``, ``acc_std``, ``acc_valid`` and so on.

    >>> summary(SeedResults("ogbn-arxiv", "acc", (0, 1), (0.5, 0.5), (0.25, 0.75)))["acc"]
    0.5
    """
    scores: dict[str, float] = {}
    for suffix, values in (("", results.test), ("_valid", results.valid)):
        scores[f"{results.metric}{suffix}"] = float(np.mean(values))
        scores[f"{results.metric}{suffix}_std"] = float(np.std(values, ddof=1))
    return scores


def _load(path: Path) -> Any:
    try:
        size = path.stat().st_size
        if size == 0:
            raise ScoringInputError("empty_file", path.name, "it is empty", "write the results of every seed")
        if size > LARGEST_FILE:
            raise ScoringInputError("too_large", path.name, f"it has {size:,} bytes", f"use at most {LARGEST_FILE:,}")
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ScoringInputError("no_file", path.name, f"it cannot be read ({error.strerror})", "give a file") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, ScoringInputError):
            raise
        raise _bad(
            "the file", f"it is not JSON ({error})", "write it with scoring.formats.seed_results.write"
        ) from error


def _read_document(document: Any, dataset: str) -> SeedResults:
    metric = describe(dataset)["metrics"][0]
    if not isinstance(document, dict) or not isinstance(document.get("seeds"), list):
        raise _bad("seeds", "the list of seeds is missing", 'give {"dataset", "metric", "seeds": [...]}')
    for key, right in (("dataset", dataset), ("metric", metric["key"])):
        if document.get(key) != right:
            raise _bad(key, f"it is {ascii(document.get(key))[:60]}", f"it must be {right!r}")
    entries = document["seeds"]
    if len(entries) != seeds_required(dataset):
        raise _bad("seeds", f"there are {len(entries)}", f"{dataset} needs {seeds_required(dataset)}")
    seeds = tuple(_seed(entry, place) for place, entry in enumerate(entries))
    if repeated := [seed for seed, times in Counter(seeds).items() if times > 1]:
        named = ", ".join(map(str, repeated[:5]))
        raise _bad("seeds", f"{named} stands there more than once", "give every run a seed of its own")
    values = {split: tuple(_result(e, p, split, metric) for p, e in enumerate(entries)) for split in ("valid", "test")}
    results = SeedResults(dataset, metric["key"], seeds, values["valid"], values["test"])
    _require_finite_summary(results)
    return results


def _require_finite_summary(results: SeedResults) -> None:
    with np.errstate(all="ignore"):
        scores = summary(results)
    if not all(map(math.isfinite, scores.values())):
        what = "the values are so large that their mean or deviation is infinite"
        raise ScoringInputError("infinite", "seeds", what, f"give the {results.metric} of each run")


def _seed(entry: Any, place: int) -> int:
    seed = entry.get("seed") if isinstance(entry, dict) else None
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise _bad(f"seeds[{place}].seed", "it is missing or not a whole number", "give the seed of the run")
    return seed


def _result(entry: Mapping[str, object], place: int, split: str, metric: Score) -> float:
    where, value = f"seeds[{place}].{split}", entry.get(split)
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise _bad(where, "it is missing or not a number", f"give the {metric['key']} as a number")
    lowest, highest = metric["range"]
    value = _as_float(value)
    if not math.isfinite(value):
        raise ScoringInputError(
            "nan" if math.isnan(value) else "infinite", where, f"it is {value}", "give a finite number"
        )
    if (lowest is not None and value < lowest) or (highest is not None and value > highest):
        bound = f"{lowest} to {highest}" if highest is not None else f"{lowest} or more"
        raise ScoringInputError(
            "out_of_range", where, f"it is {value}", f"{metric['key']} lies in {bound}, not in percent"
        )
    return value


def _as_float(value: float) -> float:
    """The number as a float: infinite where it is a whole number of too many digits."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _bad(where: str, what: str, right: str) -> ScoringInputError:
    return ScoringInputError("bad_json", where, what, right)
