"""`manage.py reconciler`: the process beside the web server that keeps anything from being stuck."""

import signal
import threading
from typing import Any

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import OperationalError, close_old_connections
from django.utils import timezone

from competitions.submissions.reconciler import reconcile

log = structlog.get_logger(__name__)


class Command(BaseCommand):
    help = "Expire leases, wake queues and remove stale uploads, again and again until it is stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="One round, then end.")

    def handle(self, *args: Any, once: bool, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        while True:
            self.round()
            if once or stop.wait(settings.RECONCILE_S):
                return

    def round(self) -> None:
        """One round; a database that is away is waited for, not died of."""
        close_old_connections()
        try:
            done = reconcile(now=timezone.now())
        except OperationalError as error:
            log.error("database_away", error=str(error))
            return
        if done.leases_expired or done.uploads_removed:
            log.info("reconciled", leases_expired=done.leases_expired, uploads_removed=done.uploads_removed)
