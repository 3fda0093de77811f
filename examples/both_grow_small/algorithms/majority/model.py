"""Always the most frequent class."""

from typing import Any

import numpy as np


class Model:
    def fit(self, rows: Any, labels: Any) -> None:
        self.usual = np.bincount(labels).argmax()

    def predict(self, rows: Any) -> Any:
        return np.full(len(rows), self.usual)
