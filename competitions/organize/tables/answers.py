"""Requests about tables of drafts and competitions, answered as JSON can hold it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from competitions.organize.tables.comparing import compare_solution
from competitions.organize.tables.reading import recognise_table
from competitions.organize.tables.scale import score_scale
from competitions.organize.tables.writing import write_files
from scoring.errors import ScoringInputError

WORK: Final[Mapping[str, Callable[..., Mapping[str, object]]]] = {
    "recognise": recognise_table,
    "write": write_files,
    "compare": compare_solution,
    "scale": score_scale,
}


def answer(do: str, **given: Any) -> dict[str, object]:
    """The answer, or the fault of a file."""
    try:
        return {"fault": "", **WORK[do](**given)}
    except ScoringInputError as error:
        return {"fault": str(error)}
