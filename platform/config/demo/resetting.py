"""A public demo begins anew each day, with new dates and without what the day left."""

import shutil
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Final

from config.demo.seed import STATE_FILE

# What a demo makes in its data folder. The secret key, logs, static files and the worker's cache stay.
MADE: Final = (
    "baselines",
    "broker",
    "cache",
    "mail",
    "objects",
    "podium.sqlite3",
    "podium.sqlite3-shm",
    "podium.sqlite3-wal",
    "queue_token",
    "simulated",
    "uploads",
    STATE_FILE,
)


def next_reset(now: datetime, at: time) -> datetime:
    """The next moment with this time of day, in the zone of `now`.

    >>> next_reset(datetime(2026, 11, 26, 12), time(3))
    datetime.datetime(2026, 11, 27, 3, 0)
    """
    today = datetime.combine(now.date(), at, tzinfo=now.tzinfo)
    return today if now < today else today + timedelta(days=1)


def remove_data(folder: Path) -> None:
    """Remove what a demo made in its data folder, and nothing else that lies there."""
    for name in MADE:
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
