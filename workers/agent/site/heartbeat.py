"""Keeps a run's lease alive and its page current, from the claim to the end."""

import threading
import time

import structlog

from workers.agent.context import Worker
from workers.agent.runs.execution import RunExecution
from workers.agent.runs.logs import about
from workers.agent.site.client import SiteError, SiteUnreachable, jitter
from workers.protocol import calls
from workers.protocol.calls import Activity, LogPiece, LogStream, StageUsage

log = structlog.get_logger(__name__)

TICK_S = 1.0  # the protocol: not more than once a second, and when a stage begins
RETRY_S = 2.0
FIRST_BEAT_S = 3.0  # a cancel that came before the claim's end, or a long staging, is seen by then
MAX_TEXT_BYTES = 48_000  # of one log piece; the site takes 64,000 characters
MAX_PIECES = 16
USAGE_EVERY_S = 5.0
SHORT_STAGE_S = 0.5  # a stage that is over by then is told with the result: nobody can see it on a page
ANSWERED = "attempt_answered"  # the code of a beat that came after the result
GONE = (401, 404, 409)  # the run token is no longer worth anything


class Heartbeat(threading.Thread):
    """One thread per run. `lost` is set when the site says that another attempt owns the run."""

    def __init__(self, worker: Worker, execution: RunExecution) -> None:
        super().__init__(name=f"heartbeat-{execution.folder.lease[:8]}", daemon=True)
        self._worker = worker
        self._execution = execution
        self._done = threading.Event()
        self._sending = threading.Lock()
        self._sent_state = Activity.PREPARING  # the claim has said as much, and renewed the lease
        self._due = time.monotonic() + jitter(min(FIRST_BEAT_S, execution.job.heartbeat_s))
        self._not_before = 0.0  # after a failure: ticks are as regular as what may lose the calls
        self._unsent: list[LogPiece] = []
        self._usage_sent = -USAGE_EVERY_S
        self.lost = threading.Event()

    def run(self) -> None:
        """Beat until `stop`: in time, when a stage has begun, and when there is log text.

        A short run may end without a beat.
        """
        while True:
            has_begun = self._execution.state_changed.wait(TICK_S)
            self._execution.state_changed.clear()
            if self._done.wait(SHORT_STAGE_S if has_begun else 0):
                return
            try:
                if self._is_due():
                    self.beat()
            except Exception:  # whatever it was: without the next beat the lease runs out under a run that is well
                log.exception("heartbeat_fault", **about(self._execution.job))

    def stop(self) -> None:
        """The run is over."""
        self._done.set()
        self._execution.state_changed.set()

    def _is_due(self) -> bool:
        execution, now = self._execution, time.monotonic()
        return now >= self._not_before and (
            now >= self._due or execution.state != self._sent_state or bool(self._unsent) or self._has_text()
        )

    def _has_text(self) -> bool:
        stages = list(self._execution.staged.stages.values())  # at once: stages are added while they are prepared
        return any(stage.log is not None and stage.log.has_live for stage in stages)

    def flush(self) -> None:
        """Send log text that no beat has sent yet, before the run ends."""
        for _ in range(MAX_PIECES):
            with self._sending:  # text that a beat has taken and not yet sent is neither here nor there
                pending = bool(self._unsent) or self._has_text()
            if not pending or self.lost.is_set() or not self.beat():
                return

    def beat(self) -> bool:
        """Send one heartbeat and do what the answer says; False when the site was not reached."""
        with self._sending:
            execution = self._execution
            state = execution.state
            try:
                answer = self._worker.client.heartbeat(execution.job.run_id, execution.job.token, self._message(state))
            except SiteUnreachable as error:
                self._due = self._not_before = time.monotonic() + jitter(RETRY_S)
                log.warning("heartbeat_failed", detail=str(error)[:200], **about(execution.job))
                return False
            except SiteError as error:
                self._heed_refusal(error)
                return False
            self._unsent = []
            self._sent_state = state
            self._due = time.monotonic() + jitter(execution.job.heartbeat_s)
        self._obey(answer)
        return True

    def _heed_refusal(self, error: SiteError) -> None:
        job = self._execution.job
        self._due = time.monotonic() + jitter(RETRY_S)
        self._unsent = []  # whatever was refused would be refused again
        if error.code == ANSWERED:
            self._done.set()  # the result was faster
            return
        log.warning("heartbeat_refused", code=error.code, detail=error.detail[:200], **about(job))
        if error.status in GONE:
            self.lost.set()
            self._execution.cancel("lease_lost")

    def _obey(self, answer: calls.HeartbeatAnswer) -> None:
        self._execution.renewed_urls.update(answer.files)
        if answer.action == calls.Action.CANCEL:
            self._execution.cancel("cancelled")

    def _message(self, state: Activity) -> calls.Heartbeat:
        execution = self._execution
        self._unsent += self._fresh_pieces(MAX_PIECES - len(self._unsent))
        return calls.Heartbeat(
            lease_id=execution.job.lease_id,
            attempt=execution.job.attempt,
            state=state,
            logs=tuple(self._unsent),
            meters=execution.meters(),
            progress=execution.progress(),
            usage=self._usage(),
        )

    def _usage(self) -> tuple[StageUsage, ...]:
        """The lines whole, now and then: a beat that carries log text may come every second."""
        if time.monotonic() - self._usage_sent < USAGE_EVERY_S:
            return ()
        self._usage_sent = time.monotonic()
        return self._execution.usage()

    def _fresh_pieces(self, room: int) -> list[LogPiece]:
        pieces: list[LogPiece] = []
        for name, stage in list(self._execution.staged.stages.items()):
            while stage.log is not None and len(pieces) < room and (text := stage.log.take_live(MAX_TEXT_BYTES)):
                seq, _ = self._execution.folder.log_position(name)
                self._execution.folder.record_sent_log(name, seq + 1, stage.log.sent_bytes)
                pieces.append(LogPiece(stream=LogStream(name), seq=seq, text=text))
        return pieces
