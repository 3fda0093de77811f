"""A submission that works: the most frequent label, whatever the row."""

from collections import Counter
from collections.abc import Sequence


class Model:
    """Learns one label and predicts it for every row."""

    def fit(self, rows: Sequence[Sequence[float]], labels: Sequence[str]) -> None:
        """Remember the most frequent label."""
        self.label = Counter(labels).most_common(1)[0][0]

    def predict(self, rows: Sequence[Sequence[float]]) -> list[str]:
        """One label a row."""
        return [self.label for _ in rows]
