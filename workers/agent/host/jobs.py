"""Leftovers of killed jobs of a cluster on a node: containers, file systems, folders."""

import fcntl
import time
from pathlib import Path

import structlog

from workers.agent.context import LABEL_WORKER, Worker
from workers.agent.host.janitor import remove_run_folder
from workers.errors import SandboxError
from workers.sandbox.output_volume import remove_tree

log = structlog.get_logger(__name__)
JOB_FOLDER = "job-"
KEY_FILE = "key"
STARTING_S = 600  # a worker writes its key within moments, unless its engine hangs


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
