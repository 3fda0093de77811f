"""The broker that is a folder: site and workers of one host, without a Redis, pass messages as files.

Kombu brings such a transport too, but there a file has its name before it has its text: a reader that is quick takes an empty
message and ends. Here a message is written under another name first, so it is there as a whole or not at all. One whose
reader is killed meanwhile is lost, as with any broker here: the reconciler sends again what nobody does.
"""

import time
import uuid
from functools import cached_property
from pathlib import Path
from queue import Empty
from typing import Any, Final

from kombu.transport import virtual
from kombu.utils.json import dumps, loads

SCHEME: Final = "filesystem://"
TRANSPORT: Final = "workers.protocol.broker:Transport"  # for Celery's `broker_transport` and Kombu's `transport`


def is_folder(url: str) -> bool:
    """True for a broker's address `filesystem:///folder`."""
    return url.startswith(SCHEME)


def folder_options(url: str, *, poll_s: float) -> dict[str, object]:
    """The transport's options for a folder's address.

    A consumer looks for messages every `poll_s` seconds.
    """
    return {"folder": url.removeprefix(SCHEME), "polling_interval": poll_s}


class Channel(virtual.Channel):
    """Each message is a file `TIME_ID.QUEUE.msg`; a file that ends otherwise is being written or read."""

    @cached_property
    def folder(self) -> Path:
        client: Any = self.connection.client
        folder = Path(client.transport_options["folder"]) / "messages"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _put(self, queue: str, message: dict[str, object], **options: Any) -> None:
        path = self.folder / f"{time.time_ns()}_{uuid.uuid4()}.{queue}.msg"
        unfinished = path.with_suffix(".part")
        unfinished.write_text(dumps(message))
        unfinished.rename(path)

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        """The oldest message of a queue. Of several readers the one gets it that renames the file."""
        for path in self._waiting(queue):
            taken = path.with_suffix(".taken")
            try:
                path.rename(taken)
            except FileNotFoundError:
                continue
            text = taken.read_text()
            taken.unlink()
            return loads(text)
        raise Empty

    def _size(self, queue: str) -> int:
        return len(self._waiting(queue))

    def _purge(self, queue: str) -> int:
        waiting = self._waiting(queue)
        for path in waiting:
            path.unlink(missing_ok=True)
        return len(waiting)

    def _delete(self, queue: str, *args: Any, **options: Any) -> None:
        self._purge(queue)

    def _waiting(self, queue: str) -> list[Path]:
        """A queue's messages, oldest first. A queue's name may have dots, but what stands before it has none."""
        return sorted(path for path in self.folder.iterdir() if path.name.partition(".")[2] == f"{queue}.msg")


class Transport(virtual.Transport):
    """The transport for Kombu and Celery, by the name in `TRANSPORT`."""

    Channel = Channel
    driver_type = driver_name = "folder"

    @property
    def default_connection_params(self) -> dict[str, object]:
        """None: a folder has no host and no port."""
        return {}

    def driver_version(self) -> str:
        """The version of the driver, which is Podium itself."""
        return "1"
