"""A job shop with arrivals and breakdowns, simulated event by event."""

import heapq
from collections.abc import Callable
from typing import Any


class Shop:
    """One instance: `jobs` with `arrives` and `operations` [[machine, duration], ...], `breakdowns`.

    A breakdown is [machine, from, until].
    """

    def __init__(self, instance: dict[str, Any]) -> None:
        self.jobs = instance["jobs"]
        self.machines = int(instance["machines"])
        self.breakdowns = sorted(instance["breakdowns"], key=lambda down: down[1])
        self.next_operation = [0] * len(self.jobs)
        self.waiting: list[list[int]] = [[] for _ in range(self.machines)]
        self.free_at = [0.0] * self.machines
        self.ends: dict[int, float] = {}
        self.events: list[
            tuple[float, int, int]
        ] = []  # time, 0 for a job that comes to its next machine or 1 for a look, number

    def play(self, act: Callable[[dict[str, Any]], int]) -> dict[str, float]:
        """Run to the end; `act` chooses among the jobs that wait for a free machine."""
        for number, job in enumerate(self.jobs):
            heapq.heappush(self.events, (float(job["arrives"]), 0, number))
        while self.events:
            now, kind, number = heapq.heappop(self.events)
            if kind == 0:
                self._arrive(now, number)
            else:
                self._serve(now, number, act)
        flow = [self.ends[number] - job["arrives"] for number, job in enumerate(self.jobs)]
        return {"flow_time": sum(flow) / len(flow), "makespan": max(self.ends.values())}

    def _arrive(self, now: float, number: int) -> None:
        """A job comes to the machine of its next operation, or leaves the shop."""
        operations = self.jobs[number]["operations"]
        if self.next_operation[number] == len(operations):
            self.ends[number] = now
            return
        machine = int(operations[self.next_operation[number]][0])
        self.waiting[machine].append(number)
        heapq.heappush(self.events, (max(now, self.free_at[machine]), 1, machine))

    def _serve(self, now: float, machine: int, act: Callable[[dict[str, Any]], int]) -> None:
        """A machine that may be free takes the job that the agent chooses; a broken one waits for its repair."""
        if not self.waiting[machine] or self.free_at[machine] > now:
            return
        repaired = self._up_again(machine, now)
        if repaired > now:
            self.free_at[machine] = repaired
            heapq.heappush(self.events, (repaired, 1, machine))
            return
        number = act(self._observation(now, machine))
        if number not in self.waiting[machine]:
            raise SystemExit(f"the agent chose job {number}, which does not wait for machine {machine}")
        self.waiting[machine].remove(number)
        duration = float(self.jobs[number]["operations"][self.next_operation[number]][1])
        self.next_operation[number] += 1
        end = self._end(machine, now, duration)
        self.free_at[machine] = end
        heapq.heappush(self.events, (end, 0, number))
        heapq.heappush(self.events, (end, 1, machine))

    def _up_again(self, machine: int, now: float) -> float:
        """The time when the machine works: now, or at the end of its breakdown."""
        return max(
            (
                until
                for broken_machine, begin, until in self.breakdowns
                if broken_machine == machine and begin <= now < until
            ),
            default=now,
        )

    def _end(self, machine: int, now: float, duration: float) -> float:
        """The end of an operation; each breakdown that begins while it runs makes it longer."""
        end = now + duration
        for broken_machine, begin, until in self.breakdowns:
            if broken_machine == machine and now <= begin < end:
                end += until - begin
        return end

    def _observation(self, now: float, machine: int) -> dict[str, Any]:
        return {"time": now, "machine": machine, "waiting": [self._job(number) for number in self.waiting[machine]]}

    def _job(self, number: int) -> dict[str, Any]:
        left = self.jobs[number]["operations"][self.next_operation[number] :]
        return {
            "job": number,
            "arrived": self.jobs[number]["arrives"],
            "operation": left[0][1],
            "remaining": sum(duration for _, duration in left),
            "operations_left": len(left),
        }
