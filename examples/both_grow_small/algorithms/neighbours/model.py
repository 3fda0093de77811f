"""The class of the nearest row."""

from typing import Any

import numpy as np


class Model:
    def fit(self, rows: Any, labels: Any) -> None:
        self.rows, self.labels = rows, labels

    def predict(self, rows: Any) -> Any:
        return np.array([self.labels[((self.rows - row) ** 2).sum(axis=1).argmin()] for row in rows])
