"""The columns of an organizer's sample submission, matched with the targets that they answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scoring.errors import ScoringInputError

THE_SAMPLE: Final = "the sample submission"


@dataclass(frozen=True)
class ColumnMatch:
    """The sample's column for each column that is predicted; `guessed` are those that no name decided."""

    columns: Mapping[str, str]
    guessed: tuple[str, ...] = ()


def match_columns(expected: Mapping[str, bool], given: Mapping[str, bool]) -> ColumnMatch:
    """The column of a sample for each expected one: by its name, else by kind and order.

    The values say if a column holds numbers. Raises `ScoringInputError` (``wrong_shape``) unless there are as many.

    >>> match_columns({"price": True, "kind": False}, {"label": False, "Price": True}).columns
    {'price': 'Price', 'kind': 'label'}
    """
    if len(expected) != len(given):
        what = f"it has {_count(given, 'prediction column')}, and {_count(expected, 'column')} must be predicted"
        right = "choose targets and a metric that go with the sample, or upload another sample"
        raise ScoringInputError("wrong_shape", THE_SAMPLE, what, right)
    matched: dict[str, str] = {}
    for is_same in _BY_NAME:
        for name in [name for name in expected if name not in matched]:
            left = [column for column in given if column not in matched.values()]
            named = [column for column in left if is_same(_letters(name), _letters(column), name == column)]
            if len(named) == 1:
                matched[name] = named[0]
    rest = [name for name in expected if name not in matched]
    left = [column for column in given if column not in matched.values()]
    matched |= _by_kind(rest, left, expected, given)
    return ColumnMatch({name: matched[name] for name in expected}, tuple(rest) if len(rest) > 1 else ())


_BY_NAME: Final[tuple[Callable[[str, str, bool], bool], ...]] = (
    lambda name, column, is_equal: is_equal,
    lambda name, column, is_equal: name == column,
    lambda name, column, is_equal: bool(name and column) and (column.endswith(name) or name.endswith(column)),
)


def _letters(name: str) -> str:
    """The name without case and signs."""
    return "".join(character for character in name.casefold() if character.isalnum())


def _by_kind(
    rest: Sequence[str], left: Sequence[str], expected: Mapping[str, bool], given: Mapping[str, bool]
) -> dict[str, str]:
    """The columns that are left in their order, numbers for numbers as far as there are any."""
    matched: dict[str, str] = {}
    for holds_numbers in (True, False):
        names = [name for name in rest if expected[name] == holds_numbers]
        matched |= dict(zip(names, [column for column in left if given[column] == holds_numbers], strict=False))
    names = [name for name in rest if name not in matched]
    return matched | dict(zip(names, [column for column in left if column not in matched.values()], strict=True))


def _count(columns: Mapping[str, bool], what: str) -> str:
    shown = ", ".join(ascii(name)[:60] for name in list(columns)[:5])
    more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
    return f"{len(columns)} {what}{'' if len(columns) == 1 else 's'} ({shown}{more})" if columns else f"no {what}"
