"""A slot executes one run at a time, with one GPU or none."""

import threading
import time
import uuid
from collections.abc import Sequence

import structlog

from workers.agent.context import LABEL_WORKER, Worker
from workers.agent.host.gpus import why_unclean
from workers.errors import SandboxError
from workers.protocol.hosts import SlotFault

log = structlog.get_logger(__name__)

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

    @property
    def is_taken(self) -> bool:
        """True while somebody has it."""
        return self._lock.locked()


class Slot:
    """A place for one running container, with one GPU or none.

    It has cores of its own where the host has enough.
    """

    def __init__(self, worker: Worker, number: int, gpu_uuid: str | None, cores: tuple[int, ...] = ()) -> None:
        self.worker = worker
        self.number = number
        self.gpu_uuid = gpu_uuid
        self.cores = cores
        self.turn = Turn(worker.stopping)
        self.ahead = Turn(worker.stopping)  # from asking for a run to its turn, or to giving it back
        self.gpu_fault: str | None = None
        self._stuck_lease: str | None = None  # of a container that cannot be killed
        self.claim_id = uuid.uuid4().hex  # of the next claim

    @property
    def free_gpus(self) -> int:
        """The number of GPUs that the slot offers; one that is not clean is taken out and reported."""
        return int(self.gpu_uuid is not None and self.gpu_fault is None)

    def check_gpu(self) -> str | None:
        """Look at the GPU between runs; a fault is remembered."""
        if self.gpu_uuid is not None:
            fault = self._fault(self.gpu_uuid)
            if fault != self.gpu_fault:
                log.error("gpu_unclean" if fault else "gpu_clean_again", detail=fault or self.gpu_uuid)
            self.gpu_fault = fault
            self._report()
        return self.gpu_fault

    def _fault(self, uuid: str) -> str | None:
        try:
            return why_unclean(self.worker.gpus, uuid)
        except Exception as error:  # a driver's library that fails in a way of its own must not end whoever looks
            log.exception("gpu_unreadable", detail=uuid)
            return f"the GPU {uuid} cannot be read: {error}"

    def take_out(self, lease: str) -> None:
        """Take the slot out of service while a container of this lease cannot be killed."""
        self._stuck_lease = lease
        log.error("slot_out_of_service", slot=self.number, lease=lease)
        self._report()

    def is_stuck(self) -> bool:
        """True while a container that cannot be killed is there. Each round of the janitor tries again."""
        if self._stuck_lease is None:
            return False
        try:
            labels = {LABEL_WORKER: self.worker.key, "podium.lease": self._stuck_lease}
            if self.worker.engine.list(labels):
                return True
        except SandboxError:
            return True
        log.warning("slot_in_service_again", slot=self.number, lease=self._stuck_lease)
        self._stuck_lease = None
        self._report()
        return False

    def _report(self) -> None:
        """Kept for the next claim, which tells the site."""
        stuck = f"a container of the lease {self._stuck_lease} cannot be killed" if self._stuck_lease else None
        fault = stuck or self.gpu_fault
        if fault is None:
            self.worker.slot_faults.pop(self.number, None)
        else:
            self.worker.slot_faults[self.number] = SlotFault(slot=self.number, gpu_uuid=self.gpu_uuid, detail=fault)


def share_cores(cores: Sequence[int], slots: int) -> list[tuple[int, ...]]:
    """Neighbouring cores for each slot, so that one run's load does not slow another's clock.

    Nothing for a single slot, which has the whole host, nor where there are fewer cores than slots.

    >>> share_cores([0, 1, 2, 3, 4], 2)
    [(0, 1), (2, 3)]
    >>> share_cores([0, 1], 3)
    [(), (), ()]
    """
    each = len(cores) // slots
    if slots == 1 or each == 0:
        return [()] * slots
    return [tuple(cores[number * each : (number + 1) * each]) for number in range(slots)]
