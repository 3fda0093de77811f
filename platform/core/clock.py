"""Days and weeks, all in UTC."""

from datetime import datetime, timedelta


def day_began_at(now: datetime) -> datetime:
    """Midnight before the instant."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def monday_began_at(now: datetime) -> datetime:
    """Midnight at the start of the instant's Monday."""
    midnight = day_began_at(now)
    return midnight - timedelta(days=midnight.weekday())
