"""Images of teams on this host: under no name, and removed by age and room."""

import contextlib
import hashlib
import json
import os
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import structlog

from workers.agent.host.facts import missing_inodes
from workers.engines.base import Engine
from workers.engines.images import ImageFacts
from workers.errors import SandboxError
from workers.protocol.files.image_layers import ENTRY_BYTES, MAX_ENTRIES

log = structlog.get_logger(__name__)
DAY_S: Final = 86400.0


class OwnImages:
    """A record for each image that was brought to this host for a team.

    Images that were here before have none, and stay. `trim` removes images that were not used for `max_age_s`, and those
    used longest ago while all take more than `max_bytes`, or while the disk of `engine_root` can take too few files.
    """

    def __init__(
        self, folder: Path, engine: Engine, *, max_bytes: int, max_age_s: float, engine_root: str = ""
    ) -> None:
        self._folder = folder
        self._engine = engine
        self._max_bytes = max_bytes
        self._max_age_s = max_age_s
        self._engine_root = Path(engine_root or "/")
        self._lock = threading.Lock()
        self._bringing: dict[str, threading.Lock] = {}
        self._in_use: Counter[str] = Counter()

    @contextmanager
    def arriving(self) -> Iterator[Path]:
        """A path for an archive until the engine has taken it; the file is gone at the end of the block."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / f"arriving-{uuid.uuid4().hex}.tar"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def remove_arrivals(self) -> None:
        """Delete the archives of a predecessor that was killed. Call before any image is acquired."""
        for path in self._folder.glob("arriving-*.tar"):
            with contextlib.suppress(OSError):
                path.unlink()

    def acquire(self, image: str, bring: Callable[[], None], *, max_bytes: int = 0) -> ImageFacts:
        """Have the image here; `bring` is called where it is not, and loads or pulls it. Pair with `release`.

        Raises what `bring` raises, and `image_too_large` for one that takes more than `max_bytes` (0: any) on the host.
        """
        with self._lock:
            self._in_use[image] += 1
            bringing = self._bringing.setdefault(image, threading.Lock())
        try:
            with bringing:
                facts = self._engine.find_image(image)
                if facts is None:
                    facts = self._brought(image, bring, max_bytes)
                with contextlib.suppress(FileNotFoundError):
                    os.utime(self._record(image))
        except BaseException:
            self.release(image)
            raise
        return facts

    def _brought(self, image: str, bring: Callable[[], None], max_bytes: int) -> ImageFacts:
        bring()
        facts = self._engine.find_image(image)
        if facts is None:
            raise SandboxError("image_not_kept", f"the engine took {image} and has no image of that id")
        entries = self._engine.image_entries(image, MAX_ENTRIES) or 0
        size_bytes = max(facts.size_bytes, entries * ENTRY_BYTES)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._record(image).write_text(json.dumps({"image": image, "size_bytes": size_bytes}))
        if max_bytes and (size_bytes > max_bytes or entries > MAX_ENTRIES):
            self._remove(image)
            raise SandboxError(
                "image_too_large",
                f"The image takes {size_bytes:,} bytes, {ENTRY_BYTES:,} at least for each of its {entries:,} files and folders; at most "
                f"{max_bytes:,} bytes and {MAX_ENTRIES:,} files and folders are allowed.",
            )
        return facts

    def release(self, image: str) -> None:
        """The run that needed the image is over."""
        with self._lock:
            self._in_use[image] -= 1
            if self._in_use[image] <= 0:
                del self._in_use[image]
                self._bringing.pop(image, None)

    def trim(self) -> int:
        """Remove what is too old or too much; what runs need stays. Returns how many images went."""
        now, kept_bytes, removed = time.time(), 0, 0
        for used_at, image, size in sorted(self._records(), reverse=True):
            kept_bytes += size
            if (now - used_at > self._max_age_s or kept_bytes > self._max_bytes) and self._remove_unused(image):
                kept_bytes -= size
                removed += 1
        return removed + self._make_inodes()

    def _make_inodes(self) -> int:
        """Remove images while the engine's disk can take too few files, those used longest ago first.

        Returns how many were removed.
        """
        removed = 0
        for _, image, _ in sorted(self._records()):
            if not missing_inodes(self._engine_root):
                break
            removed += self._remove_unused(image)
        return removed

    def _remove_unused(self, image: str) -> bool:
        """Remove the image unless a run needs it; a run that comes meanwhile waits, and brings it anew."""
        with self._lock:
            if image in self._in_use:
                return False
            bringing = self._bringing.setdefault(image, threading.Lock())
            if not bringing.acquire(blocking=False):
                return False
        try:
            return self._remove(image)
        finally:
            bringing.release()
            with self._lock:
                if image not in self._in_use:
                    self._bringing.pop(image, None)

    def _remove(self, image: str) -> bool:
        try:
            self._engine.remove_image(image)
        except SandboxError as error:  # a container of it is left; the next round tries again
            log.warning("image_not_removed", image=image, code=error.code, detail=error.detail[:200])
            return False
        self._record(image).unlink(missing_ok=True)
        log.info("image_removed", image=image)
        return True

    def _record(self, image: str) -> Path:
        return self._folder / f"{hashlib.sha256(image.encode()).hexdigest()[:32]}.json"

    def _records(self) -> Iterator[tuple[float, str, int]]:
        """Time of last use, image, and bytes of each record."""
        for path in self._folder.glob("*.json"):
            with contextlib.suppress(OSError, ValueError, KeyError):
                record = json.loads(path.read_text())
                yield path.stat().st_mtime, str(record["image"]), int(record["size_bytes"])
