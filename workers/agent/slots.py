"""A slot executes one run at a time. Around it, lanes prepare the next run and finish the last one meanwhile."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from workers.agent.bell import Bell
from workers.agent.client import LeaseLost, NotWelcome, SiteError, SiteUnreachable
from workers.agent.context import Worker
from workers.agent.execution import RunExecution
from workers.agent.gpus import why_unclean
from workers.agent.heartbeat import Heartbeat
from workers.agent.janitor import remove_containers, remove_run_folder
from workers.agent.logs import about
from workers.agent.protocol import Job, parse_job
from workers.agent.state import RunFolder
from workers.sandbox.errors import SandboxError
from workers.sandbox.verdict import Verdict, infrastructure

log = logging.getLogger("podium.worker")

LANES = 3  # one executes, one is ahead, one finishes
HOLD_AHEAD_S = 5.0  # a run that is claimed ahead waits no longer than this: another worker may be free
WAIT_ROUND_S = 0.5
PAUSE_AFTER_FAULT_S = 2.0


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


class Claimer:
    """Asks the site for the next run, woken by the bell, by time, or by a run that has just ended."""

    def __init__(self, worker: Worker, bell: Bell, *, worker_id: str, poll_s: float, reserve_bytes: int) -> None:
        self._worker = worker
        self._bell = bell
        self.worker_id = worker_id
        self._poll_s = poll_s
        self._reserve_bytes = reserve_bytes
        self._complained = ""

    def next_job(self, slot: Slot) -> Job | None:
        """Wait for a job for `slot`; None when the worker stops."""
        while not self._worker.stopping.is_set():
            seen = self._bell.rings
            job = self._try(slot)
            if job is not None:
                return job
            self._bell.wait(seen, self._poll_s)
        return None

    def _try(self, slot: Slot) -> Job | None:
        why_not = self._why_not()
        if why_not:
            self._complain(why_not)
            return None
        if slot.gpu_fault is not None:
            slot.check_gpu()
        said = {"worker_id": self.worker_id, "free_slots": 1, "free_gpus": slot.free_gpus()}
        try:
            body = self._worker.client.claim(said)
            self._complained = ""
            return None if body is None else parse_job(body)
        except NotWelcome as error:
            self._complain(f"the site does not give this worker work: {error.detail or error}")
            self._worker.stopping.wait(self._poll_s * 5)
        except (SiteUnreachable, SiteError) as error:
            self._complain(f"the site cannot be asked for work: {error}")
        except SandboxError as error:
            log.error("job_refused", extra={"code": error.code, "detail": error.detail})
        return None

    def _why_not(self) -> str | None:
        """A reason not to ask for work at all: it would only fail here."""
        free = self._worker.cache.free_bytes()
        if free < self._reserve_bytes:
            return f"only {free >> 20} MiB are free on the disk; the reserve is {self._reserve_bytes >> 20} MiB"
        try:
            self._worker.engine.ping()
        except SandboxError as error:
            return f"the container engine does not answer: {error.detail}"
        return None

    def _complain(self, reason: str) -> None:
        if reason != self._complained:  # once, not every two seconds
            log.error("not_claiming", extra={"detail": reason})
            self._complained = reason


class Lane(threading.Thread):
    """Claims, prepares, executes in its slot's turn, finishes. Three lanes per slot keep the slot busy."""

    def __init__(self, slot: Slot, claimer: Claimer, held: HeldRuns, drain: Callable[[], None], number: int) -> None:
        super().__init__(name=f"slot-{slot.number}-{number}", daemon=True)
        self._slot = slot
        self._worker = slot.worker
        self._claimer = claimer
        self._held = held
        self._drain = drain

    def run(self) -> None:
        """Until the worker stops."""
        while not self._worker.stopping.is_set():
            try:
                self._round()
            except Exception:  # a fault of ours in one run must not take the slot out of service
                log.exception("lane_failed")
                self._worker.stopping.wait(PAUSE_AFTER_FAULT_S)

    def _round(self) -> None:
        if not self._slot.ahead.take():
            return
        try:
            handling = self._prepare_next()
        finally:
            self._slot.ahead.give()
        if handling is not None:
            handling.run_and_finish()

    def _prepare_next(self) -> RunHandling | None:
        """Claim and prepare one run, then wait for the slot's turn, which the returned handling holds."""
        job = self._claimer.next_job(self._slot)
        if job is None:
            return None
        handling = RunHandling(self._slot, job, self._held, self._drain)
        if not handling.prepare():
            return None
        if self._slot.turn.take(HOLD_AHEAD_S):
            return handling
        handling.give_up_ahead()
        if self._slot.turn.take():  # the run that executes is a long one: claim nothing before it is over
            self._slot.turn.give()
        return None


class HeldRuns:
    """The leases that this process holds, so that the janitor leaves them alone and a stop can wait for them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._finishing: set[str] = set()
        self._ahead: set[str] = set()
        self.leases: set[str] = set()

    def add(self, lease: str) -> None:
        """The lease is ours."""
        with self._lock:
            self.leases.add(lease)

    def ahead(self, lease: str, waits: bool) -> None:
        """Whether it is claimed and waits for its turn."""
        with self._lock:
            (self._ahead.add if waits else self._ahead.discard)(lease)

    def finishing(self, lease: str) -> None:
        """Its containers have ended; what is left takes moments."""
        with self._lock:
            self._finishing.add(lease)

    def drop(self, lease: str) -> None:
        """It is over."""
        with self._lock:
            self.leases.discard(lease)
            self._finishing.discard(lease)
            self._ahead.discard(lease)

    @property
    def any_ahead(self) -> bool:
        """Whether a run waits whose containers have not been started."""
        return bool(self._ahead)

    @property
    def any_finishing(self) -> bool:
        """Whether a result is on its way."""
        return bool(self._finishing)


class RunHandling:
    """One run in this process, from its claim (or its adoption) to its end."""

    def __init__(
        self, slot: Slot, job: Job, held: HeldRuns, drain: Callable[[], None], folder: RunFolder | None = None
    ) -> None:
        self.slot = slot
        self._worker = slot.worker
        self.job = job
        self._held = held
        self._began = time.monotonic()
        gpu_uuid = slot.gpu_uuid if job.gpus else None
        self.folder = folder or RunFolder.create(self._worker.runs, job, gpu_uuid=gpu_uuid)
        held.add(self.folder.lease)
        self.execution = RunExecution(self._worker, job, self.folder)
        self.heartbeat = Heartbeat(self._worker, self.execution, on_drain=drain)
        self.heartbeat.start()

    def prepare(self) -> bool:
        """Stage files and create containers; on failure the run is finished here, and False is returned."""
        self._held.ahead(self.folder.lease, True)
        self.execution.prepare()
        if self.execution.verdict is None:
            return True
        self.finish()
        return False

    def adopt(self) -> None:
        """Go on with what a predecessor left. Its turn is taken already, or not needed."""
        log.info("run_adopted", extra=about(self.job, stage=self.folder.phase))
        if self.folder.phase == "executed":
            self._held.finishing(self.folder.lease)
            self._deliver(*self.folder.load_result())
            self._end()
            return
        self.execution.adopt()
        self.run_and_finish()

    def run_and_finish(self) -> None:
        """Execute, give the slot to the next run, then finish."""
        self._held.ahead(self.folder.lease, False)
        try:
            if self.job.gpus and self.slot.check_gpu():
                self.execution.verdict = _gpu_verdict(str(self.slot.gpu_fault))
            self.execution.execute()
            if self.job.gpus:
                self.slot.check_gpu()
        finally:
            self.slot.turn.give()
        self.finish()

    def finish(self) -> None:
        """Pack, upload, report, clean up."""
        self._held.finishing(self.folder.lease)
        try:
            if not self.heartbeat.lost.is_set():
                outputs = self.execution.collect()
                body = self.execution.result(outputs)
                self.folder.save_result(body, outputs)
                self.heartbeat.flush()
                self._deliver(body, outputs)
        except OSError as error:  # the worker's own disk: the lease runs out and another worker takes the run
            log.error("run_not_reported", extra=about(self.job, detail=str(error)))
        self._end()

    def _deliver(self, body: dict[str, Any], outputs: dict[str, str]) -> None:
        client, job, patience = self._worker.client, self.job, self._worker.patience_s
        try:
            uploads = [
                self._worker.pool.submit(
                    client.upload, job.run_id, job.token, name, self.folder.outbox / name, sha, patience_s=patience
                )
                for name, sha in outputs.items()
            ]
            for name, upload in zip(outputs, uploads, strict=True):
                self._await_upload(name, upload, body)
            client.complete(job.run_id, job.token, body, patience_s=patience)
        except LeaseLost:
            log.warning("run_fenced", extra=about(job))
            return
        except (SiteError, SiteUnreachable) as error:
            log.error("run_not_reported", extra=about(job, detail=str(error)[:300]))
            return
        seconds = round(time.monotonic() - self._began, 3)
        log.info("run_ended", extra=about(job, outcome=body["outcome"], code=body["code"], seconds=seconds))

    def _await_upload(self, name: str, upload: Future[None], body: dict[str, Any]) -> None:
        """An output that the site does not want is left out; the result itself still counts."""
        try:
            upload.result()
        except LeaseLost:
            raise
        except SiteError as error:
            log.warning(
                "output_refused", extra=about(self.job, code=error.code, detail=f"{name}: {error.detail[:200]}")
            )
            body["outputs"].pop(name, None)

    def give_up_ahead(self) -> None:
        """It was claimed ahead and its turn does not come: somebody else may have it, unless it was cancelled."""
        if self.execution.cancel_reason == "cancelled":
            self.execution.execute()  # starts nothing, and says so
            self.finish()
        else:
            self.release()

    def release(self) -> None:
        """Give the run back: its containers never started."""
        body = {"lease_id": self.job.lease_id, "attempt": self.job.attempt}
        try:
            self._worker.client.release(self.job.run_id, self.job.token, body, patience_s=self._worker.patience_s)
            log.info("run_released", extra=about(self.job))
        except (SiteError, SiteUnreachable) as error:
            log.warning("run_not_released", extra=about(self.job, detail=str(error)[:200]))
        self._end()

    def abandon(self) -> None:
        """The lease is not ours any more: leave nothing behind, report nothing."""
        remove_containers(self._worker, self.folder.lease)
        self._end()
        remove_run_folder(self.folder.path)

    def fail_adoption(self, detail: str) -> None:
        """It cannot go on here: say so, that another attempt may be made."""
        self.execution.verdict = infrastructure(SandboxError("adoption_failed", detail))
        remove_containers(self._worker, self.folder.lease)
        self.finish()
        remove_run_folder(self.folder.path)

    def _end(self) -> None:
        self.heartbeat.stop()
        self.execution.destroy()
        self._held.drop(self.folder.lease)


def _gpu_verdict(fault: str) -> Verdict:
    return infrastructure(SandboxError("gpu_unclean", fault))
