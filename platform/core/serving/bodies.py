"""Bodies that are being received: small ones in memory, large ones on disk, within their limits."""

import asyncio
import io
import tempfile
import time
from concurrent.futures import Executor
from typing import IO, Any, Final

from core.serving.receiving import UNASKED_BYTES, Admission, require_spool_room, spool_folder, spool_prefix

STALL_S: Final = 30.0  # without a byte
SMALL_S: Final = 30.0  # for a whole body of who may be anybody
ALLOWANCE_S: Final = 60.0
BYTES_PER_S: Final = 4096  # on average, beyond the allowance
LONGEST_S: Final = 24 * 3600.0
WRITTEN_BYTES: Final = 1024 * 1024  # at once
CHECKED_BYTES: Final = 32 * 1024 * 1024  # between two looks at what the whole site is receiving


class Body:
    """One body. Its file is written by threads of the disk, so that the loop never waits for it."""

    def __init__(self, admission: Admission, disk: Executor) -> None:
        self.admission, self._disk = admission, disk
        self.received = self._unchecked = 0
        self._pending = bytearray()
        self._file: IO[bytes] | None = None
        self._turn = asyncio.Lock()  # of what is written
        self.began = self.last_at = time.monotonic()

    def is_too_slow(self, now: float) -> bool:
        """True when it has come to a stop, or has come for longer than its bytes are worth."""
        allowed = SMALL_S if self.admission.room_bytes <= UNASKED_BYTES else ALLOWANCE_S + self.received / BYTES_PER_S
        return now - self.last_at > STALL_S or now - self.began > min(allowed, LONGEST_S)

    async def add(self, chunk: bytes) -> None:
        """Keep what came. Raises `ReceivingFull`, or `OSError` where the disk takes no more."""
        self.received += len(chunk)
        self._pending += chunk
        if len(self._pending) >= WRITTEN_BYTES:
            await self._write()
        self.last_at = time.monotonic()

    async def _write(self) -> None:
        async with self._turn:
            data, self._pending = self._pending, bytearray()
            await asyncio.get_running_loop().run_in_executor(self._disk, self._spool, data)

    def _spool(self, data: bytes | bytearray) -> None:
        if self._file is None:
            self._file = tempfile.NamedTemporaryFile(dir=spool_folder(), prefix=spool_prefix(self.admission.sender))  # noqa: SIM115  # until `close`
        self._file.write(data)
        self._unchecked += len(data)
        if self._unchecked >= CHECKED_BYTES:
            self._unchecked = 0
            self._file.flush()
            require_spool_room(0, self.admission.sender, own_bytes=self._file.tell())

    async def opened(self, *, is_whole: bool) -> Any:
        """The body as `wsgi.input`, from its beginning; a truncated one ends in `OSError`."""
        if self.received > WRITTEN_BYTES:
            await self._write()
        content = io.BytesIO(bytes(self._pending)) if self._file is None else self._file
        content.seek(0)
        return content if is_whole else PartOfBody(content)

    def close(self) -> None:
        """Forget it."""
        self._pending.clear()
        if self._file is not None:
            self._file.close()


class PartOfBody(io.RawIOBase):
    """A body that broke off: what came of it, then the error that reading from its sender would have been."""

    def __init__(self, content: IO[bytes]) -> None:
        self._content = content

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._content.read(len(buffer))
        if not data:
            raise ConnectionResetError("the client stopped sending")
        buffer[: len(data)] = data
        return len(data)
