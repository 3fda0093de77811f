"""Hours at a bicycle counter: a daily rhythm, weekends, weather, and chance."""

from typing import Any, Final

import numpy as np
import polars as pl

SEED: Final = 2026
TRAIN_HOURS, TEST_HOURS = 2_000, 600
TARGET: Final = "bicycles"


def hours(count: int, seed: int, *, first_id: int) -> pl.DataFrame:
    """So many hours with what was counted in each."""
    rng = np.random.default_rng([seed, first_id])
    hour, weekday = rng.integers(0, 24, count), rng.integers(0, 7, count)
    temperature = np.round(rng.normal(14, 8, count), 1)
    rain = np.round(np.where(rng.random(count) < 0.3, rng.exponential(1.5, count), 0), 1)
    counted = rng.poisson(_expected(hour, weekday, temperature, rain))
    return pl.DataFrame(
        {
            "id": np.arange(first_id, first_id + count),
            "hour": hour,
            "weekday": weekday,
            "temperature": temperature,
            "rain": rain,
            TARGET: counted,
        }
    )


def _expected(
    hour: np.typing.NDArray[Any],
    weekday: np.typing.NDArray[Any],
    temperature: np.typing.NDArray[Any],
    rain: np.typing.NDArray[Any],
) -> np.typing.NDArray[Any]:
    """The mean number of bicycles: two rush hours on working days, one long afternoon on weekends."""
    rush = np.exp(-(((hour - 8) / 1.5) ** 2)) + np.exp(-(((hour - 17) / 2.0) ** 2))
    afternoon = 0.8 * np.exp(-(((hour - 14) / 4.0) ** 2))
    warm = np.clip((temperature + 5) / 25, 0.05, 1.3)
    return np.asarray(4 + 220 * np.where(weekday < 5, rush, afternoon) * warm * np.exp(-0.35 * rain))
