"""Removes leftovers that no live lease of this worker, or no live job on its node, stands behind.

These are containers, file systems, folders and control groups.
"""

import contextlib
import fcntl
import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from pathlib import Path

import structlog

from workers.agent.context import LABEL_WORKER, Worker
from workers.errors import SandboxError
from workers.sandbox.output_volume import OutputVolume, remove_tree

log = structlog.get_logger(__name__)
JOB_FOLDER = "job-"
KEY_FILE = "key"
STARTING_S = 600  # a worker writes its key within moments, unless its engine hangs

Live = Callable[[], AbstractSet[str]]


def sweep(worker: Worker, live: Live, *, trims: bool = True) -> int:
    """Remove leftovers of all leases but the live ones; returns how many were removed.

    Safe to run at any time. `live` is called after each look at what there is: a run that is claimed during the sweep is held before it
    leaves a trace. Without `trims`, cache and images stay as they are: not every run has said yet which of them it needs.
    A failure is logged, and the next sweep tries again: the worker goes on.
    """
    removed = 0
    for part in (_containers, _folders, _groups, *([_excess] if trims else [])):
        try:
            removed += part(worker, live)
        except (SandboxError, OSError) as error:
            log.warning("janitor_stopped", detail=f"{part.__name__.strip('_')}: {str(error)[:200]}")
    if removed:
        log.info("janitor_removed", count=removed)
    return removed


def _containers(worker: Worker, live: Live) -> int:
    removed = 0
    for container in worker.engine.list({LABEL_WORKER: worker.key}):
        try:
            if worker.engine.observe(container).labels.get("podium.lease") not in live():
                worker.engine.remove(container)
                removed += 1
        except SandboxError as error:
            # One that cannot be killed is refused, or holds the call until our own time-out; the others go all the same.
            if error.code != "container_missing":  # that run came to its end meanwhile
                log.warning("container_not_removed", container=container, detail=str(error)[:200])
    return removed


def _excess(worker: Worker, live: Live) -> int:
    """Trim the cache and the images; these are no leftovers, so they do not count."""
    worker.cache.trim()
    worker.own_images.trim()
    worker.cache.settle()
    return 0


def remove_containers(worker: Worker, lease: str) -> None:
    """Remove all containers of one lease."""
    try:
        for container in worker.engine.list({LABEL_WORKER: worker.key, "podium.lease": lease}):
            worker.engine.remove(container)
    except SandboxError as error:
        log.warning("janitor_stopped", code=error.code, detail=error.detail[:200])


def _folders(worker: Worker, live: Live) -> int:
    there = list(worker.runs.iterdir())
    held = live()
    doomed = [folder for folder in there if folder.name not in held]
    for folder in doomed:
        remove_run_folder(folder)
    return sum(not folder.exists() for folder in doomed)


def remove_run_folder(folder: Path) -> None:
    """Unmount and delete one run's folder."""
    with contextlib.suppress(OSError):
        for entry in folder.iterdir():
            if entry.is_dir() and entry.name != "outbox":
                OutputVolume(folder, entry.name, size_bytes=0, files=0, quota=True).destroy()
    with contextlib.suppress(OSError):
        for path in folder.rglob("*"):
            if path.is_file():
                path.unlink()
    OutputVolume(folder.parent, folder.name, size_bytes=0, files=0, quota=False).destroy()


def _groups(worker: Worker, live: Live) -> int:
    """Forget groups of workers that were killed, but none with a container that still runs."""
    there = worker.engine.groups(worker.key)
    held = live()
    return sum(worker.engine.release(group) for group in there if not any(lease in group for lease in held))


def remove_ended_jobs(worker: Worker) -> int:
    """Remove the leftovers of other jobs on this node whose workers are gone; returns how many there were.

    A worker that lives holds the lock of its folder. What cannot be removed is logged, and left for the next job.
    """
    (worker.data_dir / KEY_FILE).write_text(worker.key)
    removed = 0
    for folder in sorted(worker.data_dir.parent.glob(f"{JOB_FOLDER}*")):
        if folder == worker.data_dir:
            continue
        try:
            removed += _remove_if_ended(worker, folder)
        except (OSError, SandboxError) as error:
            log.warning("job_not_removed", detail=f"{folder.name}: {str(error)[:200]}")
    return removed


def _remove_if_ended(worker: Worker, folder: Path) -> bool:
    """Remove one job's leftovers unless its worker lives."""
    with (folder / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        key = folder / KEY_FILE
        if not key.exists() and time.time() - folder.stat().st_mtime < STARTING_S:
            return False  # it has not locked its folder yet
        if key.exists():
            for container in worker.engine.list({LABEL_WORKER: key.read_text()}):
                worker.engine.remove(container)
            for group in worker.engine.groups(key.read_text()):
                worker.engine.release(group)
        runs = folder / "runs"
        for run in list(runs.iterdir()) if runs.exists() else []:
            remove_run_folder(run)
        remove_tree(folder)
    log.info("ended_job_removed", detail=folder.name)
    return True
