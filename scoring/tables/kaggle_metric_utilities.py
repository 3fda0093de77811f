"""Helpers that published metric files import by this name: errors for teams, and checks."""

import re
from collections.abc import Callable
from typing import Any, Final

_SUM_TOLERANCE: Final = 1e-6


class ParticipantVisibleError(Exception):
    """An error whose text is shown to the team."""


class HostVisibleError(Exception):
    """An error whose text is shown only to the organizer."""


def treat_as_participant_error(error_message: str, solution: Any) -> bool:
    """True where an error's text tells nothing of the solution: numbers there, and none in the text.

    Where the solution holds booleans, the text must not say true or false either.

    >>> import pandas as pd
    >>> solution = pd.DataFrame({"price": [2.5]})
    >>> treat_as_participant_error("a column is missing", solution), treat_as_participant_error("2.5 is wrong", solution)
    (True, False)
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    kinds = list(solution.dtypes)
    if not all(is_numeric_dtype(kind) or is_bool_dtype(kind) for kind in kinds):
        return False
    if any(is_bool_dtype(kind) for kind in kinds) and re.search("true|false", error_message, re.IGNORECASE):
        return False
    return not any(letter.isdigit() for letter in error_message)


def safe_call_score(
    metric_function: Callable[..., Any], solution: Any, submission: Any, **metric_func_kwargs: Any
) -> Any:
    """Call the metric on the two frames. Its errors become one of the two above.

    A text that may tell of the solution is for the organizer alone.

    >>> safe_call_score(lambda solution, submission, scale: scale, None, None, scale=2.0)
    2.0
    """
    try:
        return metric_function(solution, submission, **metric_func_kwargs)
    except Exception as error:
        if type(error).__name__ in (ParticipantVisibleError.__name__, HostVisibleError.__name__):
            raise
        if treat_as_participant_error(str(error), solution):
            raise ParticipantVisibleError(str(error)) from error
        raise HostVisibleError(str(error)) from error


def verify_valid_probabilities(df: Any, df_name: str) -> None:
    """Raise `ParticipantVisibleError` unless all columns are numbers from 0 to 1 whose rows sum to 1.

    >>> import pandas as pd
    >>> verify_valid_probabilities(pd.DataFrame([[0.25, 0.75]]), "submission")
    """
    from pandas.api.types import is_numeric_dtype

    if not all(is_numeric_dtype(kind) for kind in df.dtypes):
        raise ParticipantVisibleError(f"All columns of {df_name} must be numbers.")
    values = df.to_numpy(dtype=float)
    if not ((values >= 0) & (values <= 1)).all():
        raise ParticipantVisibleError(f"All values of {df_name} must be from 0 to 1.")
    if (abs(values.sum(axis=1) - 1) > _SUM_TOLERANCE).any():
        raise ParticipantVisibleError(f"Each row of {df_name} must sum to 1.")
