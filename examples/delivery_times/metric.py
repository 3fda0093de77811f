"""Mean cost of predicted delivery times: a minute promised too few costs more than a minute too many."""

import pandas as pd


class ParticipantVisibleError(Exception):
    """Its text is shown to the team."""


def score(
    solution: pd.DataFrame,
    submission: pd.DataFrame,
    row_id_column_name: str,
    late_cost: float = 3.0,
    longest: float = 600.0,
) -> float:
    """Mean cost in minutes; lower is better, 0 is perfect.

    >>> solution = pd.DataFrame({"id": [1, 2], "minutes": [30.0, 40.0]})
    >>> score(solution, solution.assign(minutes=[20.0, 50.0]), "id")
    20.0
    """
    del solution[row_id_column_name], submission[row_id_column_name]
    if (submission["minutes"] > longest).any():
        raise ParticipantVisibleError(f"A delivery takes at most {longest:g} minutes; predict no more.")
    late = (solution["minutes"] - submission["minutes"]).clip(lower=0)
    early = (submission["minutes"] - solution["minutes"]).clip(lower=0)
    return float((late_cost * late + early).mean())
