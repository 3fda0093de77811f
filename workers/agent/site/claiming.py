"""Asks the site for runs, and does not ask when a run could only fail here."""

import uuid
from pathlib import Path

import structlog

from workers.agent.context import Worker
from workers.agent.host.facts import missing_inodes
from workers.agent.host.slots import Slot
from workers.agent.site.client import NotWelcome, SiteError, SiteUnreachable, jitter
from workers.agent.site.wakeups import Wakeups
from workers.errors import SandboxError
from workers.protocol.calls import Claim
from workers.protocol.jobs import Job, Lease, parse_job
from workers.protocol.messages import MessageInvalid, read_message
from workers.protocol.results import Complete, Outcome, Reason

log = structlog.get_logger(__name__)

ANSWER_PATIENCE_S = 30.0


class Claimer:
    """Asks the site for the next run, woken by a message, by time, or by a run that has just ended."""

    def __init__(self, worker: Worker, wakeups: Wakeups, *, worker_id: str, poll_s: float, reserve_bytes: int) -> None:
        self._worker = worker
        self._wakeups = wakeups
        self.worker_id = worker_id
        self._poll_s = poll_s
        self._reserve_bytes = reserve_bytes
        self._complained = ""

    def next_job(self, slot: Slot) -> Job | None:
        """Wait for a job for `slot`; None when the worker stops."""
        while not self._worker.stopping.is_set():
            seen = self._wakeups.count
            job = self._try(slot)
            if job is not None:
                return job
            self._wakeups.wait(seen, jitter(self._poll_s))
        return None

    def _try(self, slot: Slot) -> Job | None:
        why_not = self._why_not()
        if why_not:
            self._complain(why_not)
            return None
        if not self._worker.allowance.take():
            return None
        job = self._claim(slot)
        if job is None:
            self._worker.allowance.give_back()
        return job

    def _claim(self, slot: Slot) -> Job | None:
        if slot.gpu_fault is not None:
            slot.check_gpu()
        message = Claim(
            worker_id=self.worker_id,
            free_slots=0 if slot.is_stuck() else 1,
            free_gpus=slot.free_gpus,
            claim_id=slot.claim_id,
            slot_faults=tuple(self._worker.slot_faults.values()),
            images=self._worker.images,
            seconds_left=self._worker.allocation.seconds_left(),
            memory_bytes=self._worker.allocation.memory_bytes,
        )
        try:
            body = self._worker.client.claim(message)
            slot.claim_id = uuid.uuid4().hex  # till now the same: a run leased to a lost answer is given again
            self._complained = ""
            return None if body is None else self._understood(body)
        except NotWelcome as error:
            self._complain(f"the site does not give this worker work: {error.detail or error}")
            self._worker.stopping.wait(self._poll_s * 5)
        except (SiteUnreachable, SiteError) as error:
            self._complain(f"the site cannot be asked for work: {error}")
        return None

    def _understood(self, body: dict[str, object]) -> Job | None:
        try:
            return parse_job(body)
        except MessageInvalid as error:
            log.error("job_refused", code="job_invalid", detail=str(error))
            self._answer_for(body, str(error))
            return None

    def _answer_for(self, body: dict[str, object], detail: str) -> None:
        """Report that the job cannot be run here.

        Else it would wait until its lease is over, and nobody would learn why.
        """
        try:
            lease = read_message(Lease, body)
        except MessageInvalid:
            return  # nothing in it says which run it is
        answer = Complete(
            lease_id=lease.lease_id,
            attempt=lease.attempt,
            outcome=Outcome.FAILED,
            reason=Reason.INFRASTRUCTURE,
            code="job_invalid",
            detail=detail,
        )
        self._worker.client.complete(lease.run_id, lease.token, answer, patience_s=ANSWER_PATIENCE_S)

    def _why_not(self) -> str | None:
        """A reason not to ask for work at all: it would only fail here."""
        free = self._worker.cache.free_bytes()
        if free < self._reserve_bytes:
            return f"only {free >> 20} MiB are free on the disk; the reserve is {self._reserve_bytes >> 20} MiB"
        root = self._worker.facts.root
        if missing := self._worker.cache.missing_inodes() or (missing_inodes(Path(root)) if root else 0):
            return (
                f"the disk of the worker's folder, or the engine's, can take {missing:,} files fewer than the reserve"
            )
        try:
            self._worker.engine.ping()
        except SandboxError as error:
            return f"the container engine does not answer: {error.detail}"
        return None

    def _complain(self, reason: str) -> None:
        if reason != self._complained:  # once, not every two seconds
            log.error("not_claiming", detail=reason)
            self._complained = reason
