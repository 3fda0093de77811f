"""`manage.py reconciler`: the process beside the web server that keeps anything from being stuck."""

import signal
import threading
import time
from typing import Any, Final

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import InterfaceError, OperationalError, close_old_connections
from django.utils import timezone

from core.celery import Broker
from core.health import note_round
from core.reconciler import reconcile

log = structlog.get_logger(__name__)
AWAY_SLACK_S = 1.0
EVERY_ROUND = ("queues_woken", "background_sent_again")  # done while anything waits: no line of the log for it
BROKER_QUIET_S: Final = 5.0  # after a message that was not taken


class Patience:
    """Spares leases for a while after the site was away: its workers beat in vain, and their runs go on.

    The site was away when no round succeeded for longer than three pauses: the database did not answer, or this process
    did not run. Two heartbeats later every worker that lives has been heard.
    """

    def __init__(self) -> None:
        self._last_round: float | None = None
        self._spare_until = 0.0

    def spares(self, at: float) -> bool:
        """True if leases are spared in a round at this monotonic time."""
        away = self._last_round is None or at - self._last_round > 3 * settings.RECONCILE_S + AWAY_SLACK_S
        if away:
            self._spare_until = at + 2 * settings.HEARTBEAT_S
        return at < self._spare_until

    def note_success(self, at: float) -> None:
        """Remember that a round succeeded."""
        self._last_round = at


class Command(BaseCommand):
    help = "Expire leases, wake queues and remove stale uploads, again and again until it is stopped."
    requires_system_checks: list[str] = []  # those of the code: `make lint` asks them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="One round, then end.")

    def handle(self, *args: Any, once: bool, **options: Any) -> None:
        stop = threading.Event()
        self.patience = Patience()
        Broker.quiet_s = BROKER_QUIET_S
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        try:
            while True:
                self.round(spare=not once)
                if once or stop.wait(settings.RECONCILE_S):
                    return
        finally:  # a process that calls this command goes on as it was
            Broker.quiet_s = 0.0

    def round(self, *, spare: bool) -> None:
        """One round; a database that is away is waited for, not died of."""
        close_old_connections()
        try:
            spares = spare and self.patience.spares(time.monotonic())
            done = reconcile(now=timezone.now(), spare_leases=spares)
            self.patience.note_success(time.monotonic())
            note_round(timezone.now())
        except (OperationalError, InterfaceError) as error:
            log.error("database_away", error=str(error))
            return
        if counts := {name: count for name, count in done.items() if count and name not in EVERY_ROUND}:
            log.info("reconciled", **counts)
