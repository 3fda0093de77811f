"""Health of the services that the site needs, and of those that it can do without for a while."""

import os
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from django.conf import settings
from django.core.cache import caches
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from core.background.jobs import Queue, waiting_since
from core.celery import app
from core.shared_cache import FALLBACK, RedisOrDatabaseCache

ANSWERS_WITHIN_S: Final = 1
RETRY_AFTER_S: Final = 10
ROUND: Final = "reconciler-round"
MISSED_ROUNDS: Final = 4
LONGEST_WAIT: Final = {Queue.SHORT: timedelta(minutes=5), Queue.LONG: timedelta(hours=1)}
NO_MAIL_SERVER: Final = ("filebased", "console", "dummy")
UNAVAILABLE: Final = (
    "The site will be back in a moment; nothing that you sent in before is lost. Try again in a few seconds."
)


Check = Callable[[datetime], Iterable[str]]
_checks: list[Check] = []


def health_check(check: Check) -> None:
    """Add what an app finds to `degraded`: each line begins with the name of the part and a colon."""
    if check not in _checks:
        _checks.append(check)


def is_database_away(error: BaseException | None) -> bool:
    """True if the database is away or short of room, so that the query may be sent again."""
    return isinstance(error, InterfaceError | OperationalError)


def faults() -> list[str]:
    """Without these the site cannot serve: its database and its data folder."""
    missing = []
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (DatabaseError, OSError) as error:
        missing.append(f"database: {type(error).__name__}")
    if not os.access(settings.DATA_DIR, os.W_OK):
        missing.append("data folder: not writable")
    return missing


def degraded() -> list[str]:
    """Services that are away while the site serves without them, and the effect of that."""
    away = []
    shared = caches["default"]
    shared.set("health", "", timeout=ANSWERS_WITHIN_S)  # one that answers may take nothing, as with a full disk
    if isinstance(shared, RedisOrDatabaseCache) and shared.is_away():
        away.append("cache: Redis does not answer, or takes nothing; limits are counted in the database")
    if not _broker_answers():
        away.append("broker: does not answer; runs and background work start up to a minute later")
    now = timezone.now()
    return [*away, *_stopped(now), *(fault for check in _checks for fault in check(now))]


def note_round(now: datetime) -> None:
    """Remember that the reconciler has done a round, also for while Redis is away or has lost it."""
    for name in _caches_of_rounds():
        caches[name].set(ROUND, now.timestamp(), timeout=None)


def _caches_of_rounds() -> tuple[str, ...]:
    return ("default", FALLBACK) if isinstance(caches["default"], RedisOrDatabaseCache) else ("default",)


def _stopped(now: datetime) -> Iterator[str]:
    """Processes that seem to have stopped, by what they left undone, and mail that goes nowhere."""
    last_round = max((caches[name].get(ROUND, 0.0) for name in _caches_of_rounds()), default=0.0) or None
    if last_round is None or now.timestamp() - last_round > max(MISSED_ROUNDS * settings.RECONCILE_S, 60):
        when = "known" if last_round is None else f"since {datetime.fromtimestamp(last_round, UTC):%Y-%m-%d %H:%M} UTC"
        yield f"reconciler: no round {when}; lost work is not sent again, and notifications are not mailed"
    for queue, longest in LONGEST_WAIT.items():
        since = waiting_since(queue, now=now)
        if since is not None and now - since > longest:
            yield f"{queue.value}: work has waited since {since:%Y-%m-%d %H:%M} UTC; no process does it, or it takes long"
    if not settings.EMBEDDED and settings.EMAIL_DELIVERY_BACKEND.split(".")[-2] in NO_MAIL_SERVER:
        yield "mail: no mail server is set (PODIUM_EMAIL_URL); nobody gets the site's mails"


def _broker_answers() -> bool:
    try:
        with app.connection_for_write() as broker:
            broker.ensure_connection(max_retries=1, timeout=ANSWERS_WITHIN_S, interval_start=0, interval_step=0)
    except (BrokerError, OSError):
        return False
    return True
