"""The launcher as a process.

All that it must remember is in the cluster: it may be killed, and started twice, at any time.
"""

import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from workers import __version__
from workers.agent.site.client import SiteClient, SiteError, SiteUnreachable, jitter, read_answer
from workers.launchers.config import JobKind, LauncherConfig
from workers.launchers.planning import Size, plan_jobs, share_classes
from workers.launchers.slurm import Slurm, SlurmAway, SlurmJob, SlurmRefused, policy_problem, waiting_problem
from workers.protocol.launching import (
    MAX_JOBS,
    MAX_KINDS,
    MAX_PROBLEMS,
    Depth,
    JobEnd,
    LauncherReport,
    Problem,
    QueueDepth,
)

log = structlog.get_logger(__name__)
FIRST_PAUSE_S: Final = 30.0
LONGEST_PAUSE_S: Final = 600.0
FRUITLESS: Final = 3  # jobs without a run, one after the other, after which the next ones wait
EARLY_S: Final = 120.0  # a worker that fails so soon did not come to work
# A node that fails is the cluster's, which takes it out of service.
BAD_ENDS: Final = (JobEnd.FAILED, JobEnd.OUT_OF_MEMORY)
# So long a job waits on that no run needs. A worker claims its next run for some seconds ahead and may hand it back: the job would have
# lost its place in the cluster's queue.
UNUSED_S: Final = 30.0


class LauncherSite(SiteClient):
    """The site, as a launcher speaks to it."""

    def depth(self) -> Depth:
        """The depth of its queues. Raises `SiteError`, `SiteUnreachable`."""
        return read_answer(Depth, self._json(self._call("GET", "launcher/depth", self._queue_token)))

    def report(self, message: LauncherReport) -> None:
        """Say what became of the jobs. Raises `SiteError`, `SiteUnreachable`."""
        self._post("launcher/report", self._queue_token, message)


@dataclass
class Backoff:
    """Pauses of one kind of jobs after refusals, each twice as long as the last."""

    clock: Callable[[], float] = time.monotonic
    pause_s: float = 0.0
    until: float = 0.0
    problem: Problem | None = None

    def fail(self, problem: Problem) -> None:
        """Pause; the problem stays until a job was submitted."""
        self.pause_s = min(max(2 * self.pause_s, FIRST_PAUSE_S), LONGEST_PAUSE_S)
        self.until = self.clock() + self.pause_s
        self.problem = problem

    def succeed(self) -> None:
        """Forget the pauses."""
        self.pause_s, self.until, self.problem = 0.0, 0.0, None

    @property
    def is_over(self) -> bool:
        """True when the kind may be tried again."""
        return self.clock() >= self.until


@dataclass
class Launcher:
    """Looks at site and cluster, round after round, and brings the one in line with the other."""

    config: LauncherConfig
    site: LauncherSite
    slurm: Slurm
    stopping: threading.Event = field(default_factory=threading.Event)
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        self._backoffs = {kind.name: Backoff() for kind in self.config.kinds}
        self._source = ""
        self._told: tuple[Problem, ...] = ()
        self._unused: dict[str, dict[str, float]] = {}  # jobs by kind, and since when no run needs them

    def run(self) -> None:
        """Until it is told to stop. Jobs that are there stay: they end by themselves."""
        log.info("launcher_ready", worker=self.config.name, count=len(self.config.kinds))
        while not self.stopping.is_set():
            self.round()
            self.stopping.wait(jitter(self.config.poll_s))
        log.info("launcher_stopped", worker=self.config.name)

    def once(self) -> bool:
        """Look at both once, and log what was seen. True if nothing keeps jobs from starting."""
        looked = self.round()
        if looked is not None:
            words = ", ".join(f"{depth.queue}: {depth.waiting} runs wait" for depth in looked)
            log.info("launcher_looked", detail=words, count=len(self._told))
        return looked is not None and not self._told

    def round(self) -> Collection[QueueDepth] | None:
        """Look at both once; the depths that the site told.

        Where either is away, or refuses the report, nothing is started, and None returned.
        """
        try:
            jobs = self._jobs()
        except SlurmAway as error:
            self._report((), (Problem(detail=f"Slurm does not answer: {error}"),), is_complete=False)
            return None
        if not self._report(jobs, self._told, is_complete=True):
            return None
        try:
            depths = {depth.queue: depth for depth in self.site.depth().queues}
        except (SiteError, SiteUnreachable) as error:
            log.warning("site_away", detail=str(error)[:300])
            return None
        problems: list[Problem] = []
        for queue in dict.fromkeys(kind.queue for kind in self.config.kinds):
            kinds = [kind for kind in self.config.kinds if kind.queue == queue]
            problems += self._serve(kinds, depths.get(queue), jobs)
        self._note(tuple(problems))
        return depths.values()

    def _jobs(self) -> tuple[SlurmJob, ...]:
        self._source = self._source or self.slurm.source()
        return self.slurm.jobs()

    def _serve(self, kinds: Sequence[JobKind], depth: QueueDepth | None, jobs: Sequence[SlurmJob]) -> list[Problem]:
        if depth is None:
            words = f"The site does not show this launcher the queue {kinds[0].queue}. An administrator adds it in the admin."
            return [Problem(kind=kinds[0].name, setting="queue", detail=words)]
        shares, problems = share_classes(kinds, depth)
        busy = frozenset((*depth.busy_jobs, *depth.silent_jobs))  # neither takes another run
        problems_now = list(problems)
        for kind in kinds:
            of_kind = [job for job in jobs if job.kind == kind.name]
            alive = self._without_doubles([job for job in of_kind if not job.has_ended])
            planned = plan_jobs(kind, shares[kind.name], [job.as_alive(kind, busy, self.clock()) for job in alive])
            self._cancel_unused(kind, planned.cancel)
            problems_now += self._problems(kind, of_kind)
            pauses = self._fruitless_pause(depth, of_kind) if planned.submit else False
            if pauses:
                problems_now.append(_fruitless(kind, depth))
            elif planned.submit and self._may_submit(kind, of_kind):
                for number, size in planned.submit:
                    if not self._submit(kind, number, size):
                        break
            if (problem := self._backoffs[kind.name].problem) is not None:
                problems_now.append(problem)
        return problems_now

    def _without_doubles(self, alive: list[SlurmJob]) -> list[SlurmJob]:
        """The first job of each number; the others, which could not start, are cancelled."""
        first: dict[int, SlurmJob] = {}
        ordered = sorted(alive, key=lambda job: (job.is_pending, int(job.id)))
        doubles = [job.id for job in ordered if first.setdefault(job.number, job) is not job]
        if doubles:
            log.warning("doubles_cancelled", count=len(doubles), detail=", ".join(doubles))
            self._cancel(doubles)
        return list(first.values())

    def _cancel_unused(self, kind: JobKind, jobs: Sequence[str]) -> None:
        """Cancel those jobs of a kind that no run has needed for a while."""
        now, before = self.clock(), self._unused.get(kind.name, {})
        since = self._unused[kind.name] = {job: before.get(job, now) for job in jobs}
        self._cancel([job for job, first in since.items() if now - first >= UNUSED_S])

    def _cancel(self, jobs: Sequence[str]) -> None:
        try:
            self.slurm.cancel(jobs)
        except SlurmAway as error:
            log.warning("not_cancelled", detail=str(error))

    def _may_submit(self, kind: JobKind, jobs: Sequence[SlurmJob]) -> bool:
        """False during a pause: after a refusal, or after jobs that failed as soon as they had begun."""
        backoff = self._backoffs[kind.name]
        if any(policy_problem(kind, job) for job in jobs if not job.has_ended):
            return False  # what the policy makes of the next job would not do either
        failed = self._early_failures(jobs)
        last = max((job.ends_at or 0.0 for job in failed), default=0.0)
        return backoff.is_over and not _pauses(len(failed), last, self.clock())

    def _fruitless_pause(self, depth: QueueDepth, jobs: Sequence[SlurmJob]) -> bool:
        """True during a pause because jobs come and go without a run."""
        last = max((job.ends_at or 0.0 for job in jobs if job.has_ended and job.nodes), default=0.0)
        return _pauses(depth.fruitless_jobs - FRUITLESS + 1, last, self.clock())

    def _early_failures(self, jobs: Sequence[SlurmJob]) -> list[SlurmJob]:
        """The newest ended jobs, as long as each of them failed as soon as it had begun."""
        failed = []
        ended = (job for job in jobs if job.has_ended and job.nodes)
        for job in sorted(ended, key=lambda job: job.ends_at or 0.0, reverse=True):
            if job.report("x").end not in BAD_ENDS or job.ran_s > EARLY_S:
                break
            failed.append(job)
        return failed

    def _problems(self, kind: JobKind, jobs: Sequence[SlurmJob]) -> list[Problem]:
        """Problems that the jobs themselves tell of."""
        alive = [job for job in jobs if not job.has_ended]
        problems_now = [problem for job in alive for problem in (policy_problem(kind, job), waiting_problem(kind, job))]
        problems = {problem.setting: problem for problem in problems_now if problem is not None}
        if failed := self._early_failures(jobs):
            place = (
                f"its log is {self.config.log_dir}/{failed[0].id}.log"
                if self.config.log_dir
                else "set log_dir to see why"
            )
            reason = "" if failed[0].reason == "None" else f" ({failed[0].reason})"
            words = f"Job {failed[0].id} failed after {failed[0].ran_s:.0f} s{reason}, as the last {len(failed)} did; {place}."
            problems["worker"] = Problem(queue=kind.queue, kind=kind.name, setting="worker", detail=words)
        return list(problems.values())

    def _submit(self, kind: JobKind, number: int, size: Size) -> bool:
        backoff = self._backoffs[kind.name]
        try:
            job = self.slurm.submit(kind, number, size)
        except SlurmRefused as error:
            words = f"Slurm does not take a job: {error}"
            backoff.fail(Problem(queue=kind.queue, kind=kind.name, setting=error.setting, detail=words))
            return False
        except SlurmAway as error:
            backoff.fail(Problem(queue=kind.queue, kind=kind.name, detail=f"Slurm does not answer: {error}"))
            return False
        backoff.succeed()
        log.info("job_submitted", job=job, detail=f"{kind.name} {number}: {size}")
        return True

    def _note(self, problems: tuple[Problem, ...]) -> None:
        """Keep problems for the next report, and log those that are new."""
        for problem in problems:
            if problem not in self._told:
                log.error("launcher_problem", detail=problem.detail, setting=problem.setting, kind=problem.kind)
        self._told = problems

    def _report(self, jobs: Sequence[SlurmJob], problems: tuple[Problem, ...], *, is_complete: bool) -> bool:
        """Tell the site; False where it is away or does not want to hear it from this launcher."""
        self._note(problems)
        queues = {kind.name: kind.queue for kind in self.config.kinds}
        # Refused when it was submitted.
        reported = [job for job in jobs if not (job.state == "FAILED" and not job.nodes)]
        newest = sorted(reported, key=lambda job: (job.has_ended, -job.submitted_at))[:MAX_JOBS]
        message = LauncherReport(
            source=self._source or "unknown",
            version=__version__,
            is_complete=is_complete,
            kinds=tuple(queues)[:MAX_KINDS],
            jobs=tuple(job.report(queues[job.kind]) for job in newest),
            problems=problems[:MAX_PROBLEMS],
        )
        try:
            self.site.report(message)
        except (SiteError, SiteUnreachable) as error:
            log.warning("not_reported", detail=str(error)[:300])
            return False
        return True


def _pauses(times: int, last: float, now: float) -> bool:
    """True while the back-off after `times` failures, the last at `last`, is running."""
    return times > 0 and now < last + min(FIRST_PAUSE_S * 2 ** min(times - 1, 10), LONGEST_PAUSE_S)


def _fruitless(kind: JobKind, depth: QueueDepth) -> Problem:
    words = (
        f"{depth.waiting} runs wait, and the last {depth.fruitless_jobs} jobs ended without one. Look at the queue's workers: one that is "
        "in quarantine, failed its self-test, or has another role gets no runs."
    )
    return Problem(queue=kind.queue, kind=kind.name, setting="worker", detail=words)
