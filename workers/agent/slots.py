"""A slot executes one run at a time, with one GPU or none."""

from __future__ import annotations

import logging
import threading
import time
import uuid

from workers.agent.context import Worker
from workers.agent.gpus import why_unclean

log = logging.getLogger("podium.worker")

WAIT_ROUND_S = 0.5


class Turn:
    """A lock that can be waited for with a time-out, and while the worker has not been told to stop."""

    def __init__(self, stopping: threading.Event) -> None:
        self._lock = threading.Lock()
        self._stopping = stopping

    def take(self, timeout_s: float | None = None) -> bool:
        """True: it is mine."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._stopping.is_set():
            left = WAIT_ROUND_S if until is None else min(WAIT_ROUND_S, until - time.monotonic())
            if left <= 0:
                return False
            if self._lock.acquire(timeout=left):
                return True
        return False

    def try_take(self) -> bool:
        """Take it if nobody has it."""
        return self._lock.acquire(blocking=False)

    def give(self) -> None:
        """Let the next one have it."""
        self._lock.release()


class Slot:
    """One place for one running container, with one GPU or none."""

    def __init__(self, worker: Worker, number: int, gpu_uuid: str | None) -> None:
        self.worker = worker
        self.number = number
        self.gpu_uuid = gpu_uuid
        self.turn = Turn(worker.stopping)
        self.ahead = Turn(worker.stopping)
        self.gpu_fault: str | None = None
        self.claim_id = uuid.uuid4().hex

    def next_claim(self) -> None:
        """The last claim was answered. Until then its id stays: a run that was leased to a lost answer is given again."""
        self.claim_id = uuid.uuid4().hex

    def free_gpus(self) -> int:
        """How many GPUs this slot offers: one that is not clean is taken out of service and reported."""
        if self.gpu_uuid is None or self.gpu_fault is not None:
            return 0
        return 1

    def check_gpu(self) -> str | None:
        """Look at the GPU between runs; a fault is remembered."""
        if self.gpu_uuid is not None:
            fault = why_unclean(self.worker.gpus, self.gpu_uuid)
            if fault != self.gpu_fault:
                log.error("gpu_unclean" if fault else "gpu_clean_again", extra={"detail": fault or self.gpu_uuid})
            self.gpu_fault = fault
        return self.gpu_fault
