"""The server's worker class for gunicorn, which starts, watches, reloads and ends the processes."""

import asyncio
import os
from datetime import timedelta
from typing import Any
from wsgiref.types import WSGIEnvironment

from gunicorn.workers.base import Worker


class LoopWorker(Worker):  # type: ignore[misc]  # gunicorn has no types
    """One process: `--threads` of them hold whole requests."""

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        from django.conf import settings

        from core.serving.server import SiteServer  # behind the fork, with the application

        server = SiteServer(
            self.wsgi,
            threads=self.cfg.threads,
            note=self._note,
            largest_bytes=settings.RECEIVING_BYTES,
            is_behind_proxy=settings.BEHIND_PROXY,
        )
        server.listen([each.sock for each in self.sockets])
        while self.alive and self.ppid == os.getppid():
            self.notify()
            await asyncio.sleep(1)
        await server.stop(self.cfg.graceful_timeout)

    def _note(self, response: Any, environment: WSGIEnvironment, took: timedelta) -> None:
        """Write the access log, and end after as many requests as a process may answer."""
        self.log.access(response, {}, environment, took)
        self.nr += 1
        if self.nr >= self.max_requests:
            self.alive = False
