"""The files that leave a run: outputs, packed while it goes on, logs, and the page with details."""

import time
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import Final

from workers.errors import OutputRefused
from workers.protocol.planning import DETAILED_BYTES
from workers.protocol.results import Output, Verdict
from workers.sandbox.collect import Listing, file_sha256, list_output, read_bounded, zip_output
from workers.sandbox.stage import StageRun
from workers.sandbox.verdict import failed

DETAILED: Final = "detailed_results.html"
MAX_REPLICATES_BYTES: Final = 64 << 20
MAX_SLICES_BYTES: Final = 256 << 10
# What a scoring program writes of its resamples and slices: the name of the output that nobody downloads, and its largest size.
APART: Final[Mapping[str, tuple[str, int]]] = {
    "replicates.npz": ("scoring-replicates.npz", MAX_REPLICATES_BYTES),
    "losses.npz": ("scoring-losses.npz", MAX_REPLICATES_BYTES),
    "slices.json": ("scoring-slices.json", MAX_SLICES_BYTES),
}


class Outbox:
    """A folder of files to upload.

    `listings` are the outputs that were checked, by stage; `seconds` is the time that the end took.
    """

    def __init__(self, folder: Path, pool: Executor) -> None:
        self.folder = folder
        self.listings: dict[str, Listing] = {}
        self.seconds = 0.0
        self._pool = pool
        self._packing: dict[str, Future[None]] = {}  # by name of the archive

    def take(self, stage: StageRun, archive: str, apart: Collection[str] = ()) -> Verdict | None:
        """Check a stage's output and begin to pack it, but for the files in `apart`.

        Returns the verdict on an output that breaks a rule.
        """
        limits = stage.spec.limits
        try:
            listing = list_output(stage.volume.path, max_files=limits.output_files, max_bytes=limits.output_bytes)
        except OutputRefused as error:
            return failed(error.reason, error.code, error.detail)
        self.listings[stage.name] = listing
        packed = replace(listing, files=tuple(file for file in listing.files if file.path not in apart))
        if packed.files:
            self._packing[archive] = self._pool.submit(zip_output, stage.volume.path, packed, self.folder / archive)
        return None

    def keep_apart(self, stage: StageRun) -> list[str]:
        """Keep what the scoring program wrote of its resamples and slices, each file by itself.

        Returns notes for people on those that were not kept.
        """
        notes = []
        for name, (output, max_bytes) in APART.items():
            try:
                content = read_bounded(stage.volume.path, name, max_bytes)
            except OutputRefused as error:
                notes.append(f"{name} was not kept: {error.detail}")
                continue
            if content is not None:
                (self.folder / output).write_bytes(content)
        return notes

    def keep_details(self, stage: StageRun) -> str | None:
        """Keep the scoring program's page: detailed_results.html, else the first HTML file.

        Returns a note for people where it was not kept.
        """
        listing = self.listings.get(stage.name)
        pages = [file.path for file in listing.files if file.path.lower().endswith(".html")] if listing else []
        if not pages:
            return None
        try:
            content = read_bounded(stage.volume.path, DETAILED if DETAILED in pages else pages[0], DETAILED_BYTES)
        except OutputRefused as error:
            return f"The detailed results were not kept: {error.detail}"
        (self.folder / DETAILED).write_bytes(content or b"")
        return None

    def collect(self, stages: Iterable[StageRun]) -> dict[str, str]:
        """Finish packing and write the logs; the files that are not empty, by name and SHA-256.

        Raises `OSError` or `SandboxError` where this host could not write or read one of them: a result without it
        would be a loss that nobody hears of.
        """
        started = time.monotonic()
        for archive, packing in self._packing.items():
            try:
                packing.result()
            except OutputRefused:  # gone unreadable since it was listed: kept out, the verdict stands
                (self.folder / archive).unlink(missing_ok=True)
        for stage in stages:
            stage.write_log(self.folder / f"{stage.name}.log")
        files = sorted(path for path in self.folder.iterdir() if path.is_file() and path.stat().st_size)
        outputs = {path.name: file_sha256(path) for path in files}
        self.seconds = time.monotonic() - started
        return outputs

    def described(self, outputs: dict[str, str]) -> dict[str, Output]:
        """Digest and size of each of these files, for the result."""
        return {
            name: Output(sha256=sha256, size_bytes=(self.folder / name).stat().st_size)
            for name, sha256 in outputs.items()
        }
