"""The reference folder: the labels a scoring program compares with, and a small description of them.

    reference.json                {"format": 1, "dataset": "lsc-pcqm4mv2", "per_sample": false,
                                   "splits": {"test-dev": {"rows": 1000, "labels": "test-dev.npz"}}}
    test-dev.npz                  the reference arrays of the evaluator (`describe(...)["inputs"]`, role "reference")

For competitions of one's own, ``dataset`` is missing; ``metrics`` lists names from `scoring.metric_names()` and
``filename`` is how the uploaded file must be called. A split may name a file of ``slices``: arrays of texts or integers,
one for each item, whose values get scores of their own.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NotRequired, TypedDict, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scoring.arrays import numeric, take
from scoring.benchmarks.datasets import DATASETS
from scoring.errors import ScoringInputError
from scoring.evaluation import describe, metric_names
from scoring.formats.layouts import Layout, Member, layout
from scoring.slices import MAX_SLICINGS, Slicing

FORMAT: Final = 1
DESCRIPTION: Final = "reference.json"
TABLE_DESCRIPTION: Final = "metric.json"
"""Where the reference data are a table; see `scoring.tables.table_reference`."""
OWN_METRIC: Final = "metric.py"
"""A metric of one's own: the file lies beside `TABLE_DESCRIPTION`."""

_ANY_NUMBER: Final = ("<f8", "<f4", "<i8", "<i4", "<i2")


class SplitEntry(TypedDict):
    """One split of ``reference.json``."""

    rows: int
    labels: str
    filename: NotRequired[str]
    slices: NotRequired[str]


class ReferenceDocument(TypedDict, total=False):
    """The document ``reference.json``."""

    format: int
    dataset: str
    metrics: list[str]
    per_sample: bool
    splits: dict[str, SplitEntry]


@dataclass(frozen=True)
class ArrayReference:
    """An opened reference folder. Labels are loaded only when `labels` is called."""

    folder: Path
    dataset: str | None
    metrics: tuple[str, ...]
    filenames: Mapping[str, str]
    rows: Mapping[str, int]
    files: Mapping[str, str]
    slices: Mapping[str, str]
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
        arrays = _load(path)
        for name in _reference_inputs(self.dataset):
            if name not in arrays or arrays[name].shape[:1] != (self.rows[split],):
                what, right = f"{name} is missing or of the wrong length", f"give {self.rows[split]} rows"
                raise ScoringInputError("bad_reference", path.name, what, right)
        return arrays

    def slicings(self, split: str) -> dict[str, Slicing]:
        """The slicings of the items of `split`, by name. Raises `ScoringInputError` (``bad_reference``)."""
        if split not in self.slices:
            return {}
        path = self.folder / self.slices[split]
        arrays = _load(path)
        if len(arrays) > MAX_SLICINGS:
            what = f"it holds {len(arrays)} arrays"
            raise ScoringInputError("bad_reference", path.name, what, f"give {MAX_SLICINGS} at most")
        return {name: self._slicing(split, path, name, labels) for name, labels in arrays.items()}

    def _slicing(self, split: str, path: Path, name: str, labels: NDArray[Any]) -> Slicing:
        try:
            slicing = Slicing.of(labels)
        except ScoringInputError as error:
            raise ScoringInputError("bad_reference", f"{path.name}, {name}", error.what, error.right) from error
        if len(labels) != self.rows[split]:
            what, right = f"it has {len(labels)} labels", f"give one for each of {self.rows[split]} items"
            raise ScoringInputError("bad_reference", f"{path.name}, {name}", what, right)
        return slicing


def _load(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file of numpy."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError) as error:
        raise bad_description(path.name, f"it cannot be read ({error})") from error


def write(
    folder: str | os.PathLike[str],
    dataset: str,
    labels: Mapping[str, Mapping[str, ArrayLike]],
    *,
    per_sample: bool = False,
    slices: Mapping[str, Mapping[str, ArrayLike]] | None = None,
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
        True where the scoring program also writes the scores of the single samples. They disclose labels: only for
        organizers.
    slices : mapping of split to mapping of name to labels, optional
        Texts or integers, one for each item.

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
    for split, given in arrays.items():
        layout(dataset, split, len(given[names[0]]))  # refuses an unknown split, or no rows
    return _write(Path(folder), arrays, {}, slices, dataset=dataset, per_sample=per_sample)


def write_metrics(
    folder: str | os.PathLike[str],
    metrics: Sequence[str],
    labels: Mapping[str, ArrayLike],
    *,
    filenames: Mapping[str, str] | None = None,
    slices: Mapping[str, Mapping[str, ArrayLike]] | None = None,
) -> Path:
    """Write the reference folder of one's own competition: an array of labels per split.

    Parameters
    ----------
    metrics : names from `scoring.metric_names()`
    labels : mapping of split to array of shape (rows,)
    filenames : mapping of split to the name of the uploaded .npz, by default ``y_pred_<split>.npz``
    slices : as of `write`

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
    chosen = {split: (filenames or {}).get(split, f"y_pred_{split}.npz") for split in arrays}
    return _write(Path(folder), arrays, chosen, slices, metrics=list(metrics))


def write_results(folder: str | os.PathLike[str], dataset: str) -> Path:
    """Write the reference folder of a track of self-computed results: nothing but the dataset's name.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results_dataset(write_results(folder, "ogbn-arxiv").parent)
    'ogbn-arxiv'
    """
    return write_description(Path(folder) / DESCRIPTION, {"dataset": describe(dataset)["name"]})


def results_dataset(folder: str | os.PathLike[str]) -> str:
    """The dataset of such a folder. Raises `ScoringInputError` (``bad_reference``).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results_dataset(write_results(folder, "ogbg-molhiv").parent)
    'ogbg-molhiv'
    """
    dataset = _read_document(Path(folder)).get("dataset")
    if dataset not in DATASETS:
        raise ScoringInputError("bad_reference", DESCRIPTION, "it names no known dataset", "see scoring.names()")
    return str(dataset)


def read(folder: str | os.PathLike[str]) -> ArrayReference:
    """Open a reference folder. Raises `ScoringInputError` (``bad_reference``) with the field at fault.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write(folder, "lsc-mag240m", {"test-dev": {"y_true": [1, 2]}})
    ...     read(folder).labels("test-dev")["y_true"].tolist()
    [1, 2]
    """
    document = _read_document(Path(folder))
    dataset, metrics = document.get("dataset"), document.get("metrics", [])
    if dataset not in DATASETS and not (dataset is None and metrics and set(metrics) <= set(metric_names())):
        what = "it names no known dataset and no known metrics"
        raise ScoringInputError("bad_reference", DESCRIPTION, what, "see scoring.names()")
    return _open(Path(folder), dataset, metrics, document)


def kind(folder: str | os.PathLike[str]) -> Literal["predictions", "results", "table"]:
    """The kind of files that a reference folder scores. Raises `ScoringInputError` (``bad_reference``).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kind(write_results(folder, "ogbn-arxiv").parent)
    'results'
    """
    if (Path(folder) / TABLE_DESCRIPTION).exists():
        return "table"
    if not (Path(folder) / DESCRIPTION).exists():
        what = f"it holds neither {DESCRIPTION} nor {TABLE_DESCRIPTION}"
        raise ScoringInputError("bad_reference", "the reference folder", what, "say in one of them what is scored")
    return "predictions" if "splits" in _read_document(Path(folder)) else "results"


def read_description(path: Path) -> object:
    """The JSON document that describes a reference folder. Raises `ScoringInputError` (``bad_reference``).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_description(write_results(folder, "ogbn-arxiv"))["dataset"]
    'ogbn-arxiv'
    """
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise bad_description(path.name, f"it cannot be read ({error})") from error


def bad_description(where: str, what: str) -> ScoringInputError:
    """The error of a description that cannot be used.

    >>> bad_description("metric.json", "it is empty").code
    'bad_reference'
    """
    module = "scoring.tables.table_reference" if where == TABLE_DESCRIPTION else "scoring.reference"
    return ScoringInputError("bad_reference", where, what, f"write it with {module}.write")


def write_description(path: Path, document: Mapping[str, object]) -> Path:
    """Write a description into a folder, which is made where it is missing; the path.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     json.loads(write_description(Path(folder) / "ref" / "reference.json", {"dataset": "obl2021"}).read_text())
    {'format': 1, 'dataset': 'obl2021'}
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"format": FORMAT, **document}, indent=1) + "\n", "utf-8")
    return path


def _read_document(folder: Path) -> ReferenceDocument:
    """The description of a folder of arrays, of the format this version understands."""
    document = read_description(folder / DESCRIPTION)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise bad_description(DESCRIPTION, f"it is not of format {FORMAT}")
    return cast("ReferenceDocument", document)


def _open(folder: Path, dataset: str | None, metrics: Sequence[str], document: ReferenceDocument) -> ArrayReference:
    try:
        splits = {str(split): entry for split, entry in document["splits"].items()}
        reference = ArrayReference(
            folder=folder,
            dataset=dataset,
            metrics=tuple(metrics),
            filenames={split: entry["filename"] for split, entry in splits.items() if dataset is None},
            rows={split: int(entry["rows"]) for split, entry in splits.items()},
            files={split: Path(entry["labels"]).name for split, entry in splits.items()},
            slices={split: Path(entry["slices"]).name for split, entry in splits.items() if "slices" in entry},
            per_sample=bool(document.get("per_sample", False)),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        right = "give rows and labels for every split"
        raise ScoringInputError("bad_reference", DESCRIPTION, f"its splits are wrong ({error!r})", right) from error
    if not splits:
        right = "give at least one split with rows and labels"
        raise ScoringInputError("bad_reference", DESCRIPTION, "it names no split", right)
    return reference


def _write(
    folder: Path,
    arrays: Mapping[str, Mapping[str, NDArray[Any]]],
    filenames: Mapping[str, str],
    slices: Mapping[str, Mapping[str, ArrayLike]] | None,
    **head: object,
) -> Path:
    """Write the arrays of each split, and the description."""
    splits: dict[str, SplitEntry] = {}
    folder.mkdir(parents=True, exist_ok=True)
    for split, given in arrays.items():
        splits[split] = {"rows": len(next(iter(given.values()))), "labels": f"{split}.npz"}
        if split in filenames:
            splits[split]["filename"] = filenames[split]
        np.savez_compressed(folder / f"{split}.npz", **given)  # type: ignore[arg-type]  # arrays by name
        if slices and split in slices:
            splits[split]["slices"] = f"{split}-slices.npz"
            np.savez_compressed(folder / f"{split}-slices.npz", **slices[split])  # type: ignore[arg-type]  # the same
    return write_description(folder / DESCRIPTION, {**head, "splits": splits})


def _reference_inputs(dataset: str | None) -> list[str]:
    """Names of the arrays the organizer supplies."""
    if dataset is None:
        return ["y_true"]
    return [entry["name"] for entry in describe(dataset)["inputs"] if entry["role"] == "reference"]
