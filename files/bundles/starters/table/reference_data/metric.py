"""The mean absolute error. Change it, or name one of Podium's own metrics in metric.json."""

import pandas as pd


class ParticipantVisibleError(Exception):
    """An error whose text is shown to the team; any other error is shown only to the organizers."""


def score(solution: pd.DataFrame, submission: pd.DataFrame, row_id_column_name: str) -> float:
    if (submission["price"] > 1_000_000).any():
        raise ParticipantVisibleError("A price is above one million.")
    return float((solution["price"] - submission["price"]).abs().mean())
