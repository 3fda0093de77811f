"""The reference folder: the labels a scoring program compares with, and a small description of them.

    reference.json                {"format": 1, "dataset": "lsc-pcqm4mv2", "per_sample": false,
                                   "splits": {"test-dev": {"rows": 1000, "labels": "test-dev.npz"}}}
    test-dev.npz                  the reference arrays of the evaluator (`describe(...)["inputs"]`, role "reference")

For competitions of one's own, ``dataset`` is missing; ``metrics`` lists names from `scoring.metric_names()` and
``filename`` is how the uploaded file must be called.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scoring.catalogue import DATASETS
from scoring.errors import ScoringInputError
from scoring.evaluators import describe, metric_names
from scoring.formats.layouts import Layout, Member, layout
from scoring.metrics.arrays import numeric, take

FORMAT: Final = 1
DESCRIPTION: Final = "reference.json"
_ANY_NUMBER: Final = ("<f8", "<f4", "<i8", "<i4", "<i2")


@dataclass(frozen=True)
class Reference:
    """An opened reference folder. Labels are loaded only when `labels` is called."""

    folder: Path
    dataset: str | None
    metrics: tuple[str, ...]
    filenames: Mapping[str, str]
    rows: Mapping[str, int]
    files: Mapping[str, str]
    per_sample: bool

    def layout(self, split: str) -> Layout:
        """The file of predictions that answers `split`."""
        if self.dataset is not None:
            return layout(self.dataset, split, self.rows[split])
        member = Member("y_pred", (self.rows[split],), _ANY_NUMBER)
        return Layout("metrics", split, self.filenames[split], self.rows[split], (member,))

    def labels(self, split: str) -> dict[str, NDArray[Any]]:
        """The reference arrays of `split`, with the promised number of rows.

        Raises `ScoringInputError` (``bad_reference``).
        """
        path = self.folder / self.files[split]
        try:
            with np.load(path, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
        except (OSError, ValueError) as error:
            raise _bad(path.name, f"it cannot be read ({error})", "write it with scoring.reference.write") from error
        for name in _reference_inputs(self.dataset):
            if name not in arrays or arrays[name].shape[:1] != (self.rows[split],):
                raise _bad(path.name, f"{name} is missing or of the wrong length", f"give {self.rows[split]} rows")
        return arrays


def write(
    folder: str | os.PathLike[str],
    dataset: str,
    labels: Mapping[str, Mapping[str, ArrayLike]],
    *,
    per_sample: bool = False,
) -> Path:
    """Write the reference folder of a dataset's track.

    Parameters
    ----------
    folder : path
        Made if it is missing.
    dataset : str
        The evaluator's name; it must have an official file of predictions (`scoring.formats.layouts.splits`).
    labels : mapping of split to mapping of array name to array
        The reference arrays per split; their numbers of rows become the numbers of rows of the uploads.
    per_sample : bool
        Whether the scoring program also writes the scores of the single samples. They disclose labels: only for
        organizers.

    Returns
    -------
    Path
        Of ``reference.json``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write(folder, "lsc-pcqm4mv2", {"test-dev": {"y_true": [5.5, 4.0]}})
    ...     read(folder).rows
    {'test-dev': 2}
    """
    names = _reference_inputs(dataset)
    arrays = {split: {name: numeric(take(given, name), name) for name in names} for split, given in labels.items()}
    rows = {split: given[names[0]].shape[0] for split, given in arrays.items()}
    for split in arrays:
        layout(dataset, split, rows[split])  # refuses an unknown split, or no rows
    return _write(Path(folder), arrays, rows, {"dataset": dataset, "per_sample": per_sample}, {})


def write_metrics(
    folder: str | os.PathLike[str],
    metrics: Sequence[str],
    labels: Mapping[str, ArrayLike],
    *,
    filenames: Mapping[str, str] | None = None,
) -> Path:
    """Write the reference folder of a competition of one's own: one array of labels per split, scored by `metrics`.

    Parameters
    ----------
    metrics : names from `scoring.metric_names()`
    labels : mapping of split to array of shape (rows,)
    filenames : mapping of split to the name of the uploaded .npz, by default ``y_pred_<split>.npz``

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_metrics(folder, ["accuracy", "balanced_accuracy"], {"test": [0, 1, 1]})
    ...     read(folder).filenames
    {'test': 'y_pred_test.npz'}
    """
    for metric in metrics:
        if metric not in metric_names():
            raise ScoringInputError(
                "unknown_name", "metrics", f"there is no metric {metric!r}", f"use {', '.join(metric_names())}"
            )
    arrays = {split: {"y_true": numeric(values, "y_true")} for split, values in labels.items()}
    rows = {split: given["y_true"].shape[0] for split, given in arrays.items()}
    chosen = {split: (filenames or {}).get(split, f"y_pred_{split}.npz") for split in arrays}
    return _write(Path(folder), arrays, rows, {"metrics": list(metrics)}, chosen)


def write_results(folder: str | os.PathLike[str], dataset: str) -> Path:
    """Write the reference folder of a track of self-computed results: nothing but the dataset's name.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dataset_of_results(write_results(folder, "ogbn-arxiv").parent)
    'ogbn-arxiv'
    """
    return _write(Path(folder), {}, {}, {"dataset": describe(dataset)["name"]}, {})


def dataset_of_results(folder: str | os.PathLike[str]) -> str:
    """The dataset of such a folder. Raises `ScoringInputError` (``bad_reference``).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dataset_of_results(write_results(folder, "ogbg-molhiv").parent)
    'ogbg-molhiv'
    """
    dataset = _told(Path(folder)).get("dataset")
    if dataset not in DATASETS:
        raise _bad(DESCRIPTION, "it names no known dataset", "see scoring.names()")
    return str(dataset)


def read(folder: str | os.PathLike[str]) -> Reference:
    """Open a reference folder. Raises `ScoringInputError` (``bad_reference``) with the field at fault.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write(folder, "lsc-mag240m", {"test-dev": {"y_true": [1, 2]}})
    ...     read(folder).labels("test-dev")["y_true"].tolist()
    [1, 2]
    """
    told = _told(Path(folder))
    dataset, metrics = told.get("dataset"), told.get("metrics", [])
    if dataset not in DATASETS and not (dataset is None and metrics and set(metrics) <= set(metric_names())):
        raise _bad(DESCRIPTION, "it names no known dataset and no known metrics", "see scoring.names()")
    return _reference(Path(folder), dataset, metrics, told)


def _told(folder: Path) -> dict[str, Any]:
    """The document of a reference folder, of the format this version understands."""
    try:
        told = json.loads((folder / DESCRIPTION).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise _bad(DESCRIPTION, f"it cannot be read ({error})", "write it with scoring.reference.write") from error
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise _bad(DESCRIPTION, f"it is not of format {FORMAT}", "write it with scoring.reference.write")
    return told


def _reference(folder: Path, dataset: str | None, metrics: list[str], told: dict[str, Any]) -> Reference:
    try:
        splits = {str(split): dict(entry) for split, entry in told["splits"].items()}
        reference = Reference(
            folder=folder,
            dataset=dataset,
            metrics=tuple(metrics),
            filenames={split: entry["filename"] for split, entry in splits.items() if dataset is None},
            rows={split: int(entry["rows"]) for split, entry in splits.items()},
            files={split: Path(entry["labels"]).name for split, entry in splits.items()},
            per_sample=bool(told.get("per_sample", False)),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _bad(DESCRIPTION, f"its splits are wrong ({error!r})", "give rows and labels for every split") from error
    if not splits:
        raise _bad(DESCRIPTION, "it names no split", "give at least one split with rows and labels")
    return reference


def _write(
    folder: Path,
    arrays: Mapping[str, Mapping[str, NDArray[Any]]],
    rows: Mapping[str, int],
    head: dict[str, Any],
    filenames: Mapping[str, str],
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    splits: dict[str, dict[str, Any]] = {}
    for split, given in arrays.items():
        splits[split] = {"rows": rows[split], "labels": f"{split}.npz"}
        if split in filenames:
            splits[split]["filename"] = filenames[split]
        stored: dict[str, Any] = dict(given)
        np.savez_compressed(folder / f"{split}.npz", **stored)
    path = folder / DESCRIPTION
    path.write_text(json.dumps({"format": FORMAT, **head, "splits": splits}, indent=1) + "\n", "utf-8")
    return path


def _reference_inputs(dataset: str | None) -> list[str]:
    """Names of the arrays the organizer supplies."""
    if dataset is None:
        return ["y_true"]
    return [entry["name"] for entry in describe(dataset)["inputs"] if entry["role"] == "reference"]


def _bad(where: str, what: str, right: str) -> ScoringInputError:
    return ScoringInputError("bad_reference", where, what, right)
