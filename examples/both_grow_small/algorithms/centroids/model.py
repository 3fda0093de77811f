"""The class whose mean is nearest."""

from typing import Any

import numpy as np


class Model:
    def fit(self, rows: Any, labels: Any) -> None:
        self.classes = np.unique(labels)
        self.means = np.stack([rows[labels == label].mean(axis=0) for label in self.classes])

    def predict(self, rows: Any) -> Any:
        return self.classes[((rows[:, None] - self.means[None]) ** 2).sum(axis=2).argmin(axis=1)]
