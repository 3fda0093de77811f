"""One run in this process, from its claim or its adoption to its end."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

import structlog

from workers.agent.allocation import INTERRUPTED
from workers.agent.host.janitor import remove_containers, remove_run_folder
from workers.agent.host.slots import Slot
from workers.agent.runs.execution import RunExecution
from workers.agent.runs.logs import about
from workers.agent.runs.state import RunFolder, lease_key
from workers.agent.site.client import LeaseLost, SiteError, SiteUnreachable
from workers.agent.site.heartbeat import Heartbeat
from workers.errors import NOT_KILLABLE, STOPPED, SandboxError
from workers.protocol.calls import Release
from workers.protocol.jobs import Job
from workers.protocol.results import Complete, Verdict
from workers.sandbox.verdict import CANCELLED, infrastructure

log = structlog.get_logger(__name__)


class HeldRuns:
    """The leases that this process holds: the janitor spares them, and a stop waits for them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._finishing: set[str] = set()
        self._adopting: set[str] = set()
        self._interrupts: dict[str, Callable[[str], None]] = {}  # by lease

    def add(self, lease: str, interrupt: Callable[[str], None]) -> None:
        """The lease is ours. Call before anything is made for it: what no lease stands behind is removed."""
        with self._lock:
            self._interrupts[lease] = interrupt

    def interrupt_all(self, detail: str) -> None:
        """Have every run that is not finishing handed back, with these words."""
        with self._lock:
            interrupts = [act for lease, act in self._interrupts.items() if lease not in self._finishing]
        for act in interrupts:
            act(detail)

    def snapshot(self) -> frozenset[str]:
        """The leases held at this moment."""
        with self._lock:
            return frozenset(self._interrupts)

    def adopting(self, lease: str, is_adopting: bool) -> None:
        """Note that a run is being adopted, until it has acquired its files and images again."""
        with self._lock:
            (self._adopting.add if is_adopting else self._adopting.discard)(lease)

    def finishing(self, lease: str) -> None:
        """Note that the run's containers have ended; the rest takes moments."""
        with self._lock:
            self._finishing.add(lease)

    def drop(self, lease: str) -> None:
        """Forget a run that is over."""
        with self._lock:
            self._interrupts.pop(lease, None)
            for leases in (self._finishing, self._adopting):
                leases.discard(lease)

    @property
    def any_adopting(self) -> bool:
        """True while files and images may be in use of which this process does not know."""
        return bool(self._adopting)

    @property
    def any_finishing(self) -> bool:
        """True while a result is being sent."""
        return bool(self._finishing)


class RunHandling:
    """One run in this process, from its claim (or its adoption) to its end."""

    def __init__(self, slot: Slot, job: Job, held: HeldRuns, folder: RunFolder | None = None) -> None:
        self.slot = slot
        self._has_turn = False
        self._worker = slot.worker
        self.job = job
        self._held = held
        self._began = time.monotonic()
        self._adopted = folder is not None
        self.folder = folder or RunFolder(self._worker.runs, lease_key(job.lease_id))
        self._interruption = ""
        held.add(self.folder.lease, self.interrupt)
        self.execution = RunExecution(self._worker, job, self.folder)
        self.heartbeat = Heartbeat(self._worker, self.execution)
        self.heartbeat.start()

    def interrupt(self, detail: str) -> None:
        """End the run now and hand it back: the worker's job ends before it is over."""
        self._interruption = detail
        self.execution.cancel(INTERRUPTED)

    @property
    def _is_interrupted(self) -> bool:
        """True unless the run came to an end of its own first."""
        return bool(self._interruption) and self.execution.verdict == CANCELLED

    def prepare(self) -> bool:
        """Stage files and create containers.

        Returns False where that fails: then the run is finished or given back here.
        """
        self._guard(self._prepare)
        verdict = self.execution.verdict
        if verdict is None:
            return True
        if verdict.code == STOPPED:  # this worker stops, and another one can begin anew
            self.release()
        else:
            self._check_slot()
            self.finish()
        return False

    def _prepare(self) -> None:
        gpu_uuid = self.slot.gpu_uuid if self.job.gpus else None
        try:
            self.folder.create(self.job, gpu_uuid=gpu_uuid, cores=self.slot.cores, slot=self.slot.number)
        except OSError as error:
            self.execution.verdict = _disk_verdict(error)
        else:
            self.execution.prepare()

    def take_turn(self, timeout_s: float | None = None) -> bool:
        """Wait for the turn of the slot; `run_and_finish` gives it back."""
        self._has_turn = self.slot.turn.take(timeout_s)
        return self._has_turn

    def try_turn(self, slot: Slot) -> bool:
        """Execute in this slot if its turn is free."""
        if slot.turn.try_take():
            self.slot, self._has_turn = slot, True
        return self._has_turn

    def give_turn(self) -> None:
        """Let the next run have the turn, if this one has it."""
        if self._has_turn:
            self._has_turn = False
            self.slot.turn.give()

    def adopt(self) -> None:
        """Go on with what a predecessor left, in the turn that it has or waits for."""
        if not self._acquire_again():
            return
        if not self._has_turn and self.execution.verdict is None and not self.take_turn():
            return  # this worker stops: the next process adopts it
        if self._has_turn:
            self.run_and_finish()
        else:
            self.finish()

    def adopt_ended(self) -> None:
        """Go on with a run whose containers have all ended, which needs no turn."""
        if self._acquire_again():
            self._guard(self.execution.execute)
            self.finish()

    def _acquire_again(self) -> bool:
        """Acquire what the run uses. False: this worker stops, and the next process adopts the run."""
        log.info("run_adopted", stage=self.folder.state.phase, **about(self.job))
        self._guard(self.execution.adopt)
        if self.execution.verdict is not None and self.execution.verdict.code == STOPPED:
            return False
        self._held.adopting(self.folder.lease, False)
        return True

    def deliver_decided(self) -> None:
        """Send the result that a predecessor had decided, with its outputs."""
        log.info("run_adopted", stage=self.folder.state.phase, **about(self.job))
        self._held.finishing(self.folder.lease)
        self._guard(lambda: self._deliver(*self.folder.load_result()))
        self.abandon()

    def _guard(self, act: Callable[[], None]) -> None:
        """A fault of ours must end in a result: a heartbeat that goes on alone would hold the run for ever."""
        try:
            act()
        except Exception:  # logged with its trace, and reported as the platform's failure
            log.exception("worker_fault", **about(self.job))
            fault = SandboxError("worker_fault", "the worker failed in a way it does not know; its log has the trace")
            self.execution.verdict = infrastructure(fault)

    def run_and_finish(self) -> None:
        """Execute, give the slot to the next run, then finish."""
        try:
            if self.job.gpus and not self._adopted and self.slot.check_gpu():
                self.execution.verdict = infrastructure(SandboxError("gpu_unclean", str(self.slot.gpu_fault)))
            self._guard(self.execution.execute)
            if self.job.gpus:
                self.slot.check_gpu()
            self._check_slot()
        finally:
            self.give_turn()
        self.finish()

    def _check_slot(self) -> None:
        verdict = self.execution.verdict
        if verdict is not None and verdict.code == NOT_KILLABLE:
            self.slot.take_out(self.folder.lease)

    def finish(self) -> None:
        """Pack, upload, report, clean up."""
        self._held.finishing(self.folder.lease)
        try:
            if not self.heartbeat.lost.is_set() and self._is_interrupted:
                self.heartbeat.flush()
                self._give_back()
            elif not self.heartbeat.lost.is_set():
                result, outputs = self._decide()
                self.heartbeat.flush()
                self._deliver(result, outputs)
        except Exception:  # whatever it was: the lease runs out, and another worker takes the run
            log.exception("run_not_reported", **about(self.job))
        self._end()

    def _decide(self) -> tuple[Complete, dict[str, str]]:
        """Write down the result, and return it with its outputs.

        An output that this disk cannot hold is the platform's failure, and is reported at once.
        """
        try:
            outputs = self.execution.collect()
            result = self.execution.result(outputs)
            self.folder.save_result(result, outputs)
        except (OSError, SandboxError) as error:
            log.exception("result_not_kept", **about(self.job))
            verdict = self.execution.verdict
            if verdict is None or verdict.reason not in ("infrastructure", "setup_error"):
                self.execution.verdict = (
                    infrastructure(error) if isinstance(error, SandboxError) else _disk_verdict(error)
                )
            return self.execution.result({}), {}
        return result, outputs

    def _deliver(self, result: Complete, outputs: dict[str, str]) -> None:
        client, job, patience = self._worker.client, self.job, self._worker.patience_s
        self._worker.site_reached.wait()  # the result is on the disk: a site that is away when the worker starts costs nothing
        try:
            uploads = [
                self._worker.pool.submit(
                    client.upload, job.run_id, job.token, name, self.folder.outbox / name, sha, patience_s=patience
                )
                for name, sha in outputs.items()
            ]
            for name, upload in zip(outputs, uploads, strict=True):
                refusal = self._refusal(name, upload)
                if refusal is not None:
                    result = self._result_without(name, refusal, result)
            client.complete(job.run_id, job.token, result, patience_s=patience)
        except LeaseLost:
            log.warning("run_fenced", **about(job))
            return
        except (SiteError, SiteUnreachable) as error:
            log.error("run_not_reported", detail=str(error)[:300], **about(job))
            return
        seconds = round(time.monotonic() - self._began, 3)
        log.info("run_ended", outcome=result.outcome, code=result.code, seconds=seconds, **about(job))

    def _refusal(self, name: str, upload: Future[None]) -> SiteError | None:
        """The refusal of this output by the site, or by a proxy before it."""
        try:
            upload.result()
        except LeaseLost:
            raise
        except SiteError as error:
            log.error("output_refused", code=error.code, detail=f"{name}: {error.detail[:200]}", **about(self.job))
            return error
        return None

    def _result_without(self, name: str, refusal: SiteError, result: Complete) -> Complete:
        """The result without an output that was refused.

        A success that cannot be handed over whole is the platform's failure; a failure keeps its verdict.
        """
        left = result.without_output(name)
        if result.outcome not in ("finished", "ingested"):
            return left
        detail = f"the site or a proxy before it refused the output {name}: {refusal.detail[:300]}"
        self.execution.verdict = infrastructure(SandboxError("output_refused", detail))
        return self.execution.result({each: output.sha256 for each, output in left.outputs.items()})

    def give_up_ahead(self) -> None:
        """Release a run that was claimed ahead and has no turn, unless it was cancelled."""
        if self.execution.cancel_reason == "cancelled":
            self.execution.execute()  # starts nothing, and says so
            self.finish()
        else:
            self.release()

    def release(self) -> None:
        """Give the run back: its containers never started."""
        self._give_back()
        self._worker.allowance.give_back()
        self._end()

    def _give_back(self) -> None:
        words = self._interruption if self._is_interrupted else ""
        message = Release(lease_id=self.job.lease_id, attempt=self.job.attempt, interrupted=words)
        try:
            self._worker.client.release(self.job.run_id, self.job.token, message, patience_s=self._worker.patience_s)
            log.info("run_released", **about(self.job))
        except (SiteError, SiteUnreachable) as error:
            log.warning("run_not_released", detail=str(error)[:200], **about(self.job))

    def abandon(self) -> None:
        """Leave nothing of it behind, and report nothing more."""
        remove_containers(self._worker, self.folder.lease)
        self._end()
        remove_run_folder(self.folder.path)

    def fail_adoption(self, detail: str) -> None:
        """Report that the run cannot go on here, so that another attempt can be made."""
        self.execution.verdict = infrastructure(SandboxError("adoption_failed", detail))
        self._guard(lambda: remove_containers(self._worker, self.folder.lease))
        self.finish()
        remove_run_folder(self.folder.path)

    def _end(self) -> None:
        self.heartbeat.stop()
        try:
            self.execution.destroy()
        finally:
            self._held.drop(self.folder.lease)  # what is left is the janitor's from here on


def _disk_verdict(error: OSError) -> Verdict:
    return infrastructure(SandboxError("worker_disk", f"the worker's folder: {error.strerror or error}"))
