"""The layout of each official file of predictions: its name and its arrays."""

import math
from dataclasses import dataclass, replace
from typing import Final

from scoring.benchmarks.datasets import DATASETS
from scoring.benchmarks.topk import CANDIDATES, K
from scoring.errors import ScoringInputError


@dataclass(frozen=True)
class Member:
    """One array of a file. `dtypes` are npy descriptions; `write` writes the first one."""

    key: str
    shape: tuple[int, ...]
    dtypes: tuple[str, ...]
    lowest: int | None = None
    highest: int | None = None
    unique_rows: bool = False

    @property
    def largest_bytes(self) -> int:
        """Bytes of the array in its widest allowed type."""
        return math.prod(self.shape) * max(int(dtype[2:]) for dtype in self.dtypes)


@dataclass(frozen=True)
class Layout:
    """One kind of file: what dataset and split it answers, its official name, and its arrays."""

    dataset: str
    split: str
    filename: str
    rows: int
    members: tuple[Member, ...]

    @property
    def largest_bytes(self) -> int:
        """Bytes of all its arrays."""
        return sum(member.largest_bytes for member in self.members)


_FILES: Final[dict[str, dict[str, str]]] = {
    "lsc-mag240m": {
        "test-dev": "y_pred_mag240m_test-dev.npz",
        "test-challenge": "y_pred_mag240m_test-challenge.npz",
        "test-whole": "y_pred_mag240m.npz",
    },
    "lsc-wikikg90mv2": {
        "test-dev": "t_pred_wikikg90m-v2_test-dev.npz",
        "test-challenge": "t_pred_wikikg90m-v2_test-challenge.npz",
    },
    "lsc-wikikg90m": {"test": "t_pred_wikikg90m.npz"},
    "lsc-pcqm4mv2": {
        "test-dev": "y_pred_pcqm4m-v2_test-dev.npz",
        "test-challenge": "y_pred_pcqm4m-v2_test-challenge.npz",
    },
    "lsc-pcqm4m": {"test": "y_pred_pcqm4m.npz"},
    "obl2021": {"test": "pred_OBL2021.npz"},
}

_ENTITIES_WIKIKG: Final = 91_230_610
_ENTITIES_OBL: Final = 180_992


def _lsc_member(dataset: str, rows: int) -> Member:
    """The one array of an LSC or OpenBioLink file with `rows` test items."""
    members = {
        "lsc-mag240m": Member("y_pred", (rows,), ("<i2",), lowest=0, highest=152),
        "lsc-wikikg90mv2": Member("t_pred_top10", (rows, K), ("<i4",), highest=_ENTITIES_WIKIKG - 1, unique_rows=True),
        "lsc-wikikg90m": Member(
            "t_pred_top10", (rows, K), ("<i2",), lowest=0, highest=CANDIDATES - 1, unique_rows=True
        ),
        "lsc-pcqm4mv2": Member("y_pred", (rows,), ("<f4",)),
        "lsc-pcqm4m": Member("y_pred", (rows,), ("<f4",)),
        "obl2021": Member("pred_top10", (2 * rows, K), ("<i4",), highest=_ENTITIES_OBL - 1),
    }
    return members[dataset]


def _ogb_member(dataset: str, rows: int) -> Member:
    """Predictions for an ogbn or ogbg dataset whose test labels the organizer keeps."""
    tasks = DATASETS[dataset]["inputs"][1]["shape"][1]
    assert isinstance(tasks, int)
    whole = ("<i8", "<i4", "<i2")
    return Member("y_pred", (rows, tasks), whole if DATASETS[dataset]["primary"] == "acc" else ("<f4", "<f8"))


def splits(dataset: str) -> tuple[str, ...]:
    """The splits of `dataset` for which a file of predictions is defined; none for ogbl and ogbg-code2.

    >>> splits("lsc-pcqm4mv2")
    ('test-dev', 'test-challenge')
    """
    if dataset in _FILES:
        return tuple(_FILES[dataset])
    known = DATASETS.get(dataset)
    per_row = known is not None and known["family"] in ("ogbn", "ogbg") and dataset != "ogbg-code2"
    return ("test",) if per_row else ()


def layout(dataset: str, split: str, rows: int | None = None) -> Layout:
    """The file for one split, with the official number of test items or `rows` of them.

    Test items are nodes, graphs, molecules or queries; for OpenBioLink they are triples, and its file has twice as many
    rows: first those of the tails, then those of the heads.

    Raises `ScoringInputError`: ``unknown_name``, ``unknown_split``, ``bad_parameter``.

    >>> layout("obl2021", "test").members[0].shape
    (361928, 10)
    """
    if dataset not in DATASETS:
        raise ScoringInputError("unknown_name", "dataset", f"there is no dataset {dataset!r}", "see scoring.names()")
    known = splits(dataset)
    if split not in known:
        right = (
            f"use one of {', '.join(known)}" if known else "no official file of predictions is defined for this dataset"
        )
        raise ScoringInputError("unknown_split", "split", f"{dataset} has no file for {split!r}", right)
    items = DATASETS[dataset]["splits"][split] if rows is None else rows
    if items is None or items < 1:
        raise ScoringInputError("bad_parameter", "rows", f"it is {rows}", "give a whole number from 1")
    member = _lsc_member(dataset, items) if dataset in _FILES else _ogb_member(dataset, items)
    return Layout(dataset, split, official_filename(dataset, split), items, (member,))


def official_filename(dataset: str, split: str) -> str:
    """The one name under which the organizers accept the file.

    >>> official_filename("lsc-wikikg90mv2", "test-dev")
    't_pred_wikikg90m-v2_test-dev.npz'
    """
    if split not in splits(dataset):
        return layout(dataset, split).filename  # raises the right error
    return _FILES[dataset][split] if dataset in _FILES else f"y_pred_{dataset}.npz"


def file_owner(filename: str) -> tuple[str, str] | None:
    """The dataset and split whose official file has this name.

    >>> file_owner("pred_OBL2021.npz")
    ('obl2021', 'test')
    """
    for dataset in DATASETS:
        for split in splits(dataset):
            if official_filename(dataset, split) == filename:
                return dataset, split
    return None


def sibling_with_shape(expected: Layout, member: Member, shape: tuple[int, ...]) -> str | None:
    """Another split of the same dataset whose array `member.key` officially has `shape`, if there is one.

    >>> sibling_with_shape(layout("lsc-pcqm4mv2", "test-dev"), layout("lsc-pcqm4mv2", "test-dev").members[0], (147432,))
    'test-challenge'
    """
    for split in splits(expected.dataset):
        other = layout(expected.dataset, split)
        if split != expected.split and any(replace(member, shape=shape) == candidate for candidate in other.members):
            return split
    return None
