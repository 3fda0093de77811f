"""Arrays for `scoring.evaluate` from files of one's own: .npz, .npy and .json.

For uploads see `scoring.formats.submissions`.
"""

import json
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from scoring.errors import ScoringInputError


def load_inputs(files: Iterable[Path], name: str) -> dict[str, object]:
    """The arrays of all files in one mapping. Nothing is unpickled.

    For ogbg-code2 a .npz may hold each list flattened: ``seq_ref_tokens`` (all words) with ``seq_ref_lens`` (words per
    sample), and the same for ``seq_pred``.

    Raises `ScoringInputError`: ``no_file``, ``bad_header``, ``bad_json``, ``extra_member`` (an array given twice).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(Path(folder) / "labels.npz", y_true=np.array([1, 2]))
    ...     load_inputs([Path(folder) / "labels.npz"], "accuracy")
    {'y_true': array([1, 2])}
    """
    inputs: dict[str, object] = {}
    for file in files:
        for key, value in _load(file).items():
            if key in inputs:
                raise ScoringInputError("extra_member", file.name, f"{key} is there already", "give every array once")
            inputs[key] = value
    return _join_words(inputs) if name == "ogbg-code2" else inputs


def _load(file: Path) -> dict[str, object]:
    try:
        if file.suffix == ".json":
            return _load_json(file)
        if file.suffix == ".npy":
            return {file.stem: np.load(file, allow_pickle=False)}
        with np.load(file, allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files}
    except OSError as error:
        raise ScoringInputError("no_file", file.name, f"it cannot be read ({error})", "give a file") from error
    except (ValueError, zipfile.BadZipFile, EOFError, AttributeError, TypeError) as error:
        if isinstance(error, ScoringInputError):
            raise
        raise ScoringInputError("bad_header", file.name, f"no arrays ({error})", "give .npz, .npy or .json") from error


def _load_json(file: Path) -> dict[str, object]:
    try:
        document = json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ScoringInputError(
            "bad_json", file.name, f"it is not JSON ({error})", "give an object of lists"
        ) from error
    if not isinstance(document, dict):
        raise ScoringInputError("bad_json", file.name, "it is not an object", 'give {"seq_ref": [...], ...}')
    return document


def _join_words(inputs: dict[str, Any]) -> dict[str, Any]:
    """Lists of words per sample in place of ``<name>_tokens`` and ``<name>_lens``."""
    lists = {key: value for key, value in inputs.items() if not key.endswith(("_tokens", "_lens"))}
    for name in ("seq_ref", "seq_pred"):
        if f"{name}_tokens" in inputs and f"{name}_lens" in inputs:
            words, ends = inputs[f"{name}_tokens"].tolist(), np.cumsum(inputs[f"{name}_lens"]).tolist()
            lists[name] = [words[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return lists
