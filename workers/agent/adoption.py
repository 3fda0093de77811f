"""Runs that an earlier process of this worker left: each goes on, is handed back, or is dropped."""

import threading
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import partial

import structlog

from workers.agent.context import LABEL_WORKER, Worker
from workers.agent.host.janitor import remove_run_folder
from workers.agent.host.slots import Slot
from workers.agent.runs.handling import HeldRuns, RunHandling
from workers.agent.runs.logs import about
from workers.agent.runs.state import RunFolder
from workers.errors import SandboxError

log = structlog.get_logger(__name__)


class RunStatus(IntEnum):
    """The progress of a run that was left, in the order in which runs get their slots' turns."""

    RUNNING = 0  # one of its containers runs: it needs the turn at once
    BETWEEN_STAGES = 1  # none runs, and one was not started: it needs the turn before it may start that
    ENDED = 2  # outputs and result are left, for which it needs no turn
    DECIDED = 3  # the result is left to be sent, which needs none of its files
    UNSTARTED = 4  # it was claimed ahead: it is handed back, and needs none either


class Adoption:
    """Takes over the runs in a worker's folder."""

    def __init__(self, worker: Worker, slots: Sequence[Slot], held: HeldRuns) -> None:
        self._worker = worker
        self._slots = slots
        self._held = held

    def threads(self) -> list[threading.Thread]:
        """A thread for each run, not started yet. The runs are held from now on.

        They have their turns as far as those are free.
        """
        left = [handling for path in sorted(self._worker.runs.iterdir()) if (handling := self._load(path.name))]
        statuses = {handling.folder.lease: self._status(handling) for handling in left}
        # A run with a GPU has no choice of slots.
        left.sort(key=lambda handling: (statuses[handling.folder.lease], handling.folder.state.gpu_uuid is None))
        return [self._thread(handling, statuses[handling.folder.lease]) for handling in left]

    def _load(self, lease: str) -> RunHandling | None:
        """A run that was left; None, with its folder removed, where that is not whole."""
        try:
            folder, job = RunFolder.load(self._worker.runs, lease)
        except (OSError, ValueError, KeyError) as error:
            log.warning("run_folder_unreadable", lease=lease, detail=str(error)[:200])
            remove_run_folder(self._worker.runs / lease)
            return None
        return RunHandling(self._slot_for(folder), job, self._held, folder)

    def _slot_for(self, folder: RunFolder) -> Slot:
        """The slot with the run's GPU; without a GPU, the slot that the run was claimed for."""
        fitting = [slot for slot in self._slots if slot.gpu_uuid == folder.state.gpu_uuid] or self._slots
        candidates = self._slots if folder.state.gpu_uuid is None else fitting
        return next((slot for slot in candidates if slot.number == folder.state.slot), fitting[0])

    def _status(self, handling: RunHandling) -> RunStatus:
        """The run's progress by its folder and its containers.

        A run whose containers are gone has a status, too: the site must get an answer for it.
        """
        folder, engine = handling.folder, self._worker.engine
        if folder.state.phase != "executing":
            return RunStatus.UNSTARTED if folder.state.phase == "preparing" else RunStatus.DECIDED
        try:
            containers = engine.list({LABEL_WORKER: self._worker.key, "podium.lease": folder.lease})
            states = [engine.observe(container) for container in containers]
        except SandboxError:
            return RunStatus.RUNNING
        if all(state.ended for state in states):
            return RunStatus.ENDED
        if not all(state.ended or state.never_started for state in states):
            return RunStatus.RUNNING
        stages = handling.job.stages
        required = folder.state.containers | {stage.name for stage in stages if not stage.tolerant}
        is_whole = required <= {state.labels.get("podium.stage") for state in states}
        has_started = any(state.ended for state in states) or any(stage.name in folder.state.stages for stage in stages)
        return RunStatus.BETWEEN_STAGES if has_started or not is_whole else RunStatus.UNSTARTED

    def _next_step(self, handling: RunHandling, status: RunStatus) -> Callable[[], None]:
        if status == RunStatus.UNSTARTED:
            return handling.release
        if status == RunStatus.DECIDED:
            return handling.deliver_decided
        if status == RunStatus.ENDED:
            return handling.adopt_ended
        # A run without a GPU may have any slot that is free.
        others = self._slots if handling.folder.state.gpu_uuid is None else ()
        has_turn = any(handling.try_turn(slot) for slot in (handling.slot, *others))
        if status == RunStatus.RUNNING and not has_turn:
            return partial(handling.fail_adoption, "two runs were found for one slot")
        return handling.adopt

    def _thread(self, handling: RunHandling, status: RunStatus) -> threading.Thread:
        self._held.adopting(handling.folder.lease, status < RunStatus.DECIDED)
        next_step = self._next_step(handling, status)
        waits_for_site = status >= RunStatus.ENDED
        name = f"adopt-{handling.folder.lease[:8]}"
        return threading.Thread(
            target=partial(self._take_over, handling, next_step, waits_for_site), name=name, daemon=True
        )

    def _take_over(self, handling: RunHandling, next_step: Callable[[], None], waits_for_site: bool) -> None:
        """Go on with the run unless its lease is lost.

        A fault of the worker is reported: a heartbeat alone would hold the lease for ever.
        """
        try:
            self._go_on(handling, next_step, waits_for_site)
        except Exception:
            log.exception("worker_fault", **about(handling.job))
            try:
                if handling.folder.lease in self._held.snapshot():  # else it has been answered for
                    handling.fail_adoption("the worker failed in a way it does not know; its log has the trace")
            finally:
                handling.give_turn()

    def _go_on(self, handling: RunHandling, next_step: Callable[[], None], waits_for_site: bool) -> None:
        """While the site cannot be asked, the lease is taken to live: a container that runs has limits."""
        if waits_for_site:
            self._worker.site_reached.wait()
        handling.heartbeat.beat()
        if not handling.heartbeat.lost.is_set():
            next_step()
            return
        log.warning("run_not_adopted", code="lease_lost", **about(handling.job))
        handling.abandon()
        handling.give_turn()
