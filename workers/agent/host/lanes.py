"""Lanes keep a slot busy: one run executes, the next is prepared, the last is finished."""

import threading

import structlog

from workers.agent.host.slots import Slot
from workers.agent.runs.handling import HeldRuns, RunHandling
from workers.agent.site.claiming import Claimer

log = structlog.get_logger(__name__)

LANES = 3  # one executes, one is ahead, one finishes
HOLD_AHEAD_S = 5.0  # a run that is claimed ahead waits no longer than this: another worker may be free
PAUSE_AFTER_FAULT_S = 2.0


class Lane(threading.Thread):
    """Claims, prepares, executes in its slot's turn, finishes. Three lanes per slot keep the slot busy."""

    def __init__(self, slot: Slot, claimer: Claimer, held: HeldRuns, number: int) -> None:
        super().__init__(name=f"slot-{slot.number}-{number}", daemon=True)
        self._slot = slot
        self._worker = slot.worker
        self._claimer = claimer
        self._held = held

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
        """Claim and prepare one run, then wait for the slot's turn, which the returned handling has."""
        job = self._claimer.next_job(self._slot)
        if job is None:
            return None
        handling = RunHandling(self._slot, job, self._held)
        if not handling.prepare():
            return None
        if handling.take_turn(HOLD_AHEAD_S):
            if not self._slot.is_stuck():
                return handling
            handling.give_turn()
        handling.give_up_ahead()
        if self._slot.turn.take():  # the run that executes is a long one: claim nothing before it is over
            self._slot.turn.give()
        return None
