"""An organizer's own metric: one Python file with ``score(solution, submission, ...)``.

It gets pandas frames, row by row aligned, without the column that says which part a row belongs to, and copies of them:
many such files delete the id column. An error of a class called ``ParticipantVisibleError`` is for the team; every other
one is the organizer's. The file runs where it is called: in the scoring container, or on an organizer's own machine.
"""

import importlib.util
import inspect
import math
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
import polars as pl

from scoring.errors import ScoringInputError
from scoring.tables import kaggle_metric_utilities
from scoring.tables.columns import as_booleans

VISIBLE: Final = "ParticipantVisibleError"
MAX_MESSAGE: Final = 1000
_PLAIN_ARGUMENTS: Final = ("solution", "submission", "row_id_column_name")


class MetricRefused(Exception):
    """The metric refuses the predictions; the text is for the team."""


class OwnMetric:
    """A loaded metric file. `parameters` are the names of its settings with their defaults."""

    def __init__(self, path: Path) -> None:
        """Load the file.

        Raises `ScoringInputError` (``bad_metric``) where it cannot be imported or has no such function.
        """
        function = getattr(_load(path), "score", None)
        if not callable(function):
            raise _bad(path.name, "it has no function score", "define score(solution, submission, row_id_column_name)")
        self._function: Callable[..., Any] = function
        self.parameters = _settings(path.name, function)

    def score(
        self,
        solution: pl.DataFrame,
        submission: pl.DataFrame,
        id_column: str,
        given: Mapping[str, object] | None = None,
    ) -> float:
        """The score of aligned rows.

        Raises `MetricRefused` with what the team is to read, `ScoringInputError` (``bad_metric``) with what the organizer is.
        """
        strangers = sorted(set(given or {}) - set(self.parameters))
        if strangers:
            raise _bad("score", f"it has no parameter {strangers[0]}", f"use {', '.join(self.parameters) or 'none'}")
        frames = map(as_pandas, _with_booleans(solution, submission))
        try:
            value = self._function(*frames, id_column, **(given or {}))
        except (Exception, SystemExit) as error:
            if _is_visible(error):
                raise MetricRefused(_plain(str(error))) from error
            traceback.print_exc()
            what = f"it raised {type(error).__name__}: {str(error)[:MAX_MESSAGE]}"
            raise _bad("score", what, "see the log, and fix the file") from error
        return _finite(value)


def _with_booleans(*tables: pl.DataFrame) -> list[pl.DataFrame]:
    """True and False as pandas reads them from a CSV.

    They are texts where one of the tables holds others under the same name.
    """
    booleans = [{column.name: as_booleans(column) for column in table} for table in tables]
    others = {name for columns in booleans for name, values in columns.items() if values is None}
    return [
        table.with_columns(values for name, values in columns.items() if values is not None and name not in others)
        for table, columns in zip(tables, booleans, strict=True)
    ]


def _finite(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise _bad("score", f"it returned a {type(value).__name__}", "return one number") from error
    if not math.isfinite(number):
        raise _bad(
            "score", f"it returned {number}", "return a finite number for every table that the checks let through"
        )
    return number


def _is_visible(error: BaseException) -> bool:
    return any(kind.__name__ == VISIBLE for kind in type(error).__mro__)


def _plain(text: str) -> str:
    """One paragraph without control characters."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())[:MAX_MESSAGE]


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("metric", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise _bad(path.name, "there is no such Python file", "give a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["metric"] = module  # dataclasses and pickles look their module up
    sys.modules.setdefault("kaggle_metric_utilities", kaggle_metric_utilities)
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        what = f"it imports {error.name}, which is not installed here"
        raise _bad(path.name, what, "name an image that holds it, or do without") from error
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        raise _bad(path.name, f"importing it raised {type(error).__name__}: {error}", "fix the file") from error
    return module


def _settings(name: str, function: Callable[..., Any]) -> dict[str, object]:
    """The parameters behind the three that every metric has, with their defaults."""
    names = list(inspect.signature(function).parameters.values())
    if [parameter.name for parameter in names[:3]] != list(_PLAIN_ARGUMENTS):
        raise _bad(
            name,
            f"score takes {', '.join(parameter.name for parameter in names[:3]) or 'nothing'}",
            f"take {', '.join(_PLAIN_ARGUMENTS)}",
        )
    settings = [
        parameter
        for parameter in names[3:]
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    return {
        parameter.name: None if parameter.default is parameter.empty else parameter.default for parameter in settings
    }


def as_pandas(table: pl.DataFrame) -> Any:
    """The table as pandas reads it from a CSV: objects for text, NaN for what is missing.

    >>> as_pandas(pl.DataFrame({"id": [1, 2], "name": ["a", None]})).isna().sum().tolist()
    [0, 1]
    """
    import pandas as pd

    return pd.DataFrame({column.name: _values(column) for column in table})


def _values(column: pl.Series) -> Any:
    values = column.to_numpy(writable=True)
    if values.dtype == object:
        values[column.is_null().to_numpy()] = np.nan
    return values


def _bad(where: str, what: str, right: str) -> ScoringInputError:
    return ScoringInputError("bad_metric", where, what, right)
