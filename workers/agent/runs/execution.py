"""One attempt of one run, from a staged job to a result to be sent. It does not call the site."""

import contextlib
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog
import yaml

from workers import __version__
from workers.agent.context import Worker
from workers.agent.runs.logs import about
from workers.agent.runs.report import endings, stage_record
from workers.agent.runs.staging import Staged, Stager, Unrunnable
from workers.agent.runs.state import RunFolder
from workers.agent.site.outbox import APART, Outbox
from workers.engines.faults import is_of_image, without_host_paths
from workers.engines.images import ImageFacts
from workers.errors import OutputRefused, SandboxError
from workers.protocol.calls import Activity, Meters, Progress, StageUsage
from workers.protocol.jobs import Job, PullPolicy
from workers.protocol.planning import SUBMITTED
from workers.protocol.results import Complete, Outcome, StageRecord, Timings, Verdict
from workers.protocol.stages import StageName, Step
from workers.sandbox.collect import require_text
from workers.sandbox.scores import Refusal, ScoresInvalid, read_progress, read_refusal, read_scores
from workers.sandbox.stage import Evidence, StageRun
from workers.sandbox.verdict import CANCELLED, failed, infrastructure, ingestion_verdict, scoring_verdict

log = structlog.get_logger(__name__)

ACTIVITIES = {"submission": Activity.INGESTING, "ingestion": Activity.INGESTING, "scoring": Activity.SCORING}
# Codes of a team's failures in the engine's words.
OF_THE_ENGINE = ("image_not_startable", "image_not_loaded", "image_unknown")
T = TypeVar("T")
BESIDE_GRACE_S = 5.0  # for the stage beside the scoring program, once that has ended


class RunExecution:
    """Drives the stages and remembers what is known. `prepare` or `adopt`, then `execute`, then `collect`."""

    def __init__(self, worker: Worker, job: Job, folder: RunFolder) -> None:
        self.worker = worker
        self.job = job
        self.folder = folder
        self.state = Activity.PREPARING
        self.state_changed = threading.Event()  # the site hears of it, unless the run is over at once
        self.renewed_urls: dict[str, str] = {}
        self.scores: dict[str, float] = {}
        self.verdict: Verdict | None = None
        self.staged = Staged()
        self.outbox = Outbox(folder.outbox, worker.pool)
        self._evidence: list[Evidence] = []
        self._running: dict[str, StageRun] = {}
        self._latest: StageRun | None = None
        self._tolerated: Verdict | None = None
        self._cancelled: str | None = None
        self._broken = False
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Stage the files and create the containers.

        On failure `verdict` says why, and nothing must be started.
        """
        try:
            self._stage(self.job, {})
            self._create()
            self.folder.state.images = self.staged.images
            self.folder.state.containers = frozenset(n for n, stage in self.staged.stages.items() if not stage.idle)
            self.folder.set_phase("executing")
        except SandboxError as error:
            self.verdict = CANCELLED if self._cancelled else infrastructure(error)
        except Unrunnable as error:
            self.verdict = error.verdict
        except OSError as error:
            self.verdict = infrastructure(SandboxError("worker_disk", f"the worker's folder: {error}"))

    def _stage(self, job: Job, images: Mapping[str, ImageFacts]) -> None:
        stager = Stager(self.worker, job, self.folder, self.renewed_urls.get, self._is_over, images)
        self.staged = stager.staged
        stager.stage()

    def _is_over(self) -> bool:
        """True when nobody waits for the run any more, or its worker stops."""
        return self._cancelled is not None or self.worker.stopping.is_set()

    def _create(self) -> None:
        """Make volumes, then containers: those of the two steps at the same time, as they share none."""
        steps = {stage.name: stage.step for stage in self.job.stages}

        def each(act: Callable[[StageRun], None], step: Step) -> None:
            for name, run in self.staged.stages.items():
                if steps[StageName(name)] == step:
                    self._act_for(run, partial(act, run))

        with ThreadPoolExecutor(len(Step)) as pool:
            for act in (StageRun.make_volumes, StageRun.create_container):
                list(pool.map(partial(each, act), Step))  # raises what went wrong

    def adopt(self) -> None:
        """Take over the containers that an earlier process made, instead of `prepare`.

        No image is pulled: each is here. A `verdict` with the code `STOPPED` is about this process alone: the run must be left as it is.
        """
        try:
            if not self.folder.same_boot:
                raise SandboxError("host_restarted", "the host was restarted while the run was on it")
            self._stage(_without_pulls(self.job), self.folder.state.images)
            for name, stage in self.staged.stages.items():
                facts = self.folder.stage_facts(name)
                stage.adopt(
                    started_monotonic=facts.started,
                    killed_by=facts.killed_by,
                    watched_s=facts.watched_s,
                )
        except SandboxError as error:
            self.verdict = CANCELLED if self._cancelled else infrastructure(error)
        except Unrunnable as error:
            self.verdict = error.verdict

    def execute(self) -> None:
        """Run what is left to run; `verdict` and `scores` hold the outcome afterwards."""
        if self.verdict is not None:
            return
        try:
            self.verdict = self._stages()
        except SandboxError as error:
            self.verdict = infrastructure(error)
        except Unrunnable as error:
            self.verdict = error.verdict

    def _stages(self) -> Verdict | None:
        jobs = {str(stage.name): stage for stage in self.job.stages}
        first = [run for name, run in self.staged.stages.items() if jobs[name].step == Step.FIRST]
        beside = [run for name, run in self.staged.stages.items() if jobs[name].beside_scoring]
        verdict = self._programs(first) if first else None
        if verdict is not None or "scoring" not in self.staged.stages:
            return verdict  # a worker that only ingests hands the predictions over through the site
        return self._scoring(self.staged.stages["scoring"], beside)

    def _programs(self, stages: list[StageRun]) -> Verdict | None:
        """The first step: the participant's program, the ingestion program, or both at once."""
        if (verdict := self._fill(stages)) is not None:
            return verdict
        with ThreadPoolExecutor(len(stages)) as pool:
            ended = list(pool.map(self._run, stages))
        if self._cancelled:
            return CANCELLED
        refused = self.outbox.take(stages[0], "predictions.zip")
        for stage, evidence in zip(stages, ended, strict=True):
            if evidence is None:
                continue
            refusal = read_refusal(stage.volume.path) if self._is_of_organizers(stage) else None
            if (verdict := self._program_verdict(stage, evidence, refusal)) is not None:
                return verdict
        may_be_empty = self._is_tolerant(stages[0]) and "scoring" in self.staged.stages
        if refused is None and not self.outbox.listings[stages[0].name].files and not may_be_empty:
            return failed("output_invalid", "no_output", "The program ended without writing a file into /app/output.")
        return refused or self._text_verdict(stages[0])

    def _text_verdict(self, stage: StageRun) -> Verdict | None:
        """Predictions that their names call text are looked at before a scoring program would fail over them."""
        try:
            require_text(stage.volume.path, self.outbox.listings[stage.name], self.job.text_files)
        except OutputRefused as error:
            return failed(error.reason, error.code, error.detail)
        return None

    def _program_verdict(self, stage: StageRun, evidence: Evidence, refusal: Refusal | None = None) -> Verdict | None:
        """The verdict on a participant's side; a `refusal` is the ingestion program's.

        An exit code that the job tolerates is remembered for the case that scoring fails.
        """
        verdict = ingestion_verdict(evidence, stage.spec.limits, refusal)
        if verdict is not None and verdict.code == "exit_code" and self._is_tolerant(stage):
            self._tolerated = verdict
            return None
        return verdict

    def _is_of_organizers(self, stage: StageRun) -> bool:
        """True for the ingestion program around a submission, which may refuse that.

        A submission's own program may not.
        """
        job = next(job for job in self.job.stages if job.name == stage.name)
        return any(mount.target == SUBMITTED for mount in job.mounts)

    def _is_tolerant(self, stage: StageRun) -> bool:
        return next(job.tolerant for job in self.job.stages if job.name == stage.name)

    def _scoring(self, stage: StageRun, beside: list[StageRun]) -> Verdict | None:
        """Run the last step: the scoring program, and the ingestion program beside it in some jobs."""
        if (verdict := self._fill([stage, *beside])) is not None:
            return verdict
        with ThreadPoolExecutor(1) as pool:
            others = [pool.submit(self._beside, other, stage) for other in beside if not other.idle]
            evidence = self._run(stage)
            wait(others, timeout=BESIDE_GRACE_S)
            for other in beside:
                other.cancel("scoring_ended")
            verdicts = [other.result() for other in others]
        if evidence is None or self._cancelled:
            return CANCELLED
        return next((verdict for verdict in verdicts if verdict is not None), None) or self._score_verdict(
            stage, evidence
        )

    def _beside(self, stage: StageRun, scoring: StageRun) -> Verdict | None:
        """Run the stage beside scoring; once it has failed, the scoring program is cancelled."""
        evidence = self._run(stage)
        refused = self.outbox.take(stage, "ingestion.zip")
        if evidence is None:
            return None
        verdict = self._program_verdict(stage, evidence) or refused
        if verdict is not None:
            scoring.cancel(verdict.code)
        return verdict

    def _fill(self, stages: list[StageRun]) -> Verdict | None:
        """Copy the initial content of the stages' outputs.

        A submission that is larger than the output may be is its team's failure.
        """
        for stage in stages:
            extra = {"input/res/metadata": self._metadata()} if stage.name == "scoring" else {}
            try:
                stage.fill(extra)
            except SandboxError as error:
                if error.code != "output_full":
                    raise
                limit = stage.spec.limits.output_bytes
                return failed("disk_limit", "output_full", f"The submission fills the output's limit of {limit} bytes.")
        return None

    def _metadata(self) -> bytes:
        """The ends of the programs before, as Codabench's scoring programs read them."""
        by_name = {evidence.name: evidence for evidence in self._evidence}
        ingestion = by_name.get("ingestion")
        program = by_name.get("submission") or ingestion
        return yaml.safe_dump(endings(program, ingestion)).encode()

    def _score_verdict(self, stage: StageRun, evidence: Evidence) -> Verdict | None:
        output = stage.volume.path
        if stage.inputs is not None:
            self._leave_metadata(output, evidence)
        refused = self.outbox.take(stage, "scoring.zip", apart=APART if self.job.replicates_s else ())
        verdict = scoring_verdict(evidence, stage.spec.limits, read_refusal(output))
        if verdict is None and refused is not None:
            verdict = failed("scoring_error", refused.code, refused.detail)
        if verdict is None:
            if self.job.detailed_results and (note := self.outbox.keep_details(stage)) is not None:
                self.staged.notes.append(note)
            try:
                scores = read_scores(output, self.job.columns)
            except ScoresInvalid as error:
                verdict = failed("scoring_error", error.code, error.detail)
            else:
                self.scores = scores.values
                self.staged.notes += scores.notes
                if self.job.replicates_s:
                    self.staged.notes += self.outbox.keep_apart(stage)
        return self._whose_fault(verdict)

    def _leave_metadata(self, output: Path, evidence: Evidence) -> None:
        with contextlib.suppress(OSError):  # a full output says so itself
            path = output / "metadata"
            path.unlink(missing_ok=True)
            path.write_bytes(yaml.safe_dump(endings(evidence, None)).encode())

    def _whose_fault(self, verdict: Verdict | None) -> Verdict | None:
        """Scoring that fails behind a program that had failed already is that program's failure."""
        if verdict is None or verdict.reason != "scoring_error" or self._tolerated is None:
            return verdict
        first = self._tolerated
        return failed("program_error", first.code, f"{first.detail} Then nothing could be scored: {verdict.detail}")

    def _run(self, stage: StageRun) -> Evidence | None:
        """Execute one stage; None when it has nothing to run, or the run was at its end before it started."""
        with self._lock:
            if stage.idle or ((self._cancelled or self._broken) and stage.started_monotonic is None):
                return None
            self._running[stage.name] = stage
            self.state = ACTIVITIES["scoring" if "scoring" in self._running else stage.name]
            self.state_changed.set()
        try:
            evidence = self._act_for(
                stage,
                partial(
                    stage.execute,
                    on_start=lambda moment: self.folder.record_start(stage.name, moment),
                    on_kill=lambda reason: self.folder.record_kill(stage.name, reason),
                    on_end=lambda elapsed_s: self.folder.record_end(stage.name, elapsed_s),
                ),
            )
        except Exception:
            self._end_those_beside(stage)
            raise
        with self._lock:
            self._evidence.append(evidence)
            self._running.pop(stage.name, None)
            self._latest = stage
        return evidence

    def _act_for(self, stage: StageRun, act: Callable[[], T]) -> T:
        """Act. Raises `Unrunnable` where a team's image cannot be used, and what `act` raises.

        A container that cannot be created or started because of a team's image is the team's failure, on every host.
        """
        try:
            return act()
        except SandboxError as error:
            is_of_team = next(job.is_image_of_team for job in self.job.stages if job.name == stage.name)
            if not is_of_team or stage.started_monotonic is not None or not is_of_image(error):
                raise
            raise Unrunnable(failed("environment_error", "image_not_startable", error.detail)) from error

    def _end_those_beside(self, broken: StageRun) -> None:
        """Cancel the other stages of a step that cannot go on.

        They would wait to their own limits, for a result that does not count.
        """
        with self._lock:
            self._broken = True
            for stage in self._running.values():
                if stage is not broken:
                    stage.cancel("stage_beside_failed")

    def cancel(self, reason: str) -> None:
        """End the run: kill the container that runs, start no other."""
        with self._lock:
            self._cancelled = reason
            for stage in self._running.values():
                stage.cancel(reason)

    @property
    def cancel_reason(self) -> str | None:
        """The reason for which the run is being ended from outside, if it is."""
        return self._cancelled

    def collect(self) -> dict[str, str]:
        """Finish packing and logs; the outbox' files by name and SHA-256."""
        return self.outbox.collect(self.staged.stages.values())

    def result(self, outputs: dict[str, str]) -> Complete:
        """The result of the run, as the site gets it."""
        good = Outcome.FINISHED if "scoring" in self.staged.stages else Outcome.INGESTED
        verdict = self._for_teams(self.verdict or Verdict(outcome=good))
        return Complete(
            **dict(verdict),
            lease_id=self.job.lease_id,
            attempt=self.job.attempt,
            scores=self.scores if self.verdict is None else {},
            outputs=self.outbox.described(outputs),
            notes=tuple(self.staged.notes),
            stages=tuple(self._stage_record(evidence) for evidence in self._evidence),
            timings=Timings(
                pull_s=round(self.staged.pull_s, 3),
                staging_s=round(self.staged.staging_s, 3),
                collect_s=round(self.outbox.seconds, 3),
            ),
            host=self.worker.host,
            usage=self.usage(),
            worker_version=__version__,
        )

    def _for_teams(self, verdict: Verdict) -> Verdict:
        """The verdict in words that a team may read.

        The engine's own words, which may name folders of this host, go to the log.
        """
        is_engines = verdict.code in OF_THE_ENGINE or verdict.reason == "infrastructure"
        if not is_engines:
            return verdict
        detail = without_host_paths(verdict.detail, (str(self.worker.data_dir), self.worker.facts.root))
        if detail != verdict.detail:
            log.warning("told_without_paths", code=verdict.code, detail=verdict.detail, **about(self.job))
        return verdict.model_copy(update={"detail": detail})

    def _stage_record(self, evidence: Evidence) -> StageRecord:
        spec = self.staged.stages[evidence.name].spec
        digest = self.staged.images[spec.image].digest
        return stage_record(evidence, spec, image_digest=digest, listing=self.outbox.listings.get(evidence.name))

    def meters(self) -> Meters:
        """The figures of the stage that runs."""
        stage = self._current
        return stage.meters() if stage else Meters()

    def usage(self) -> tuple[StageUsage, ...]:
        """The lines of the stages that have been sampled."""
        lines = (stage.usage.said() for stage in list(self.staged.stages.values()))
        return tuple(line for line in lines if line.at_s)

    @property
    def _current(self) -> StageRun | None:
        """The stage that the page is about: the participant's before the scoring program's."""
        running = dict(self._running)
        for name in ("ingestion", "submission", "scoring"):
            if name in running:
                return running[name]
        return self._latest

    def progress(self) -> Progress | None:
        """The progress that the participant's program reports."""
        stage = self._current
        if stage is None or stage.name != "ingestion" or self.state != Activity.INGESTING:
            return None
        try:
            fraction = read_progress(stage.volume.path)
        except OSError:
            return None
        return None if fraction is None else Progress(fraction=fraction)

    def destroy(self) -> None:
        """Remove containers, file systems and the folder; give the cache its files back.

        The janitor removes what resists.
        """
        for stage in self.staged.stages.values():
            self._try_to(stage.destroy)
        for key in self.staged.cache_keys:
            self.worker.cache.release(key)
        self.staged.cache_keys.clear()
        for image in self.staged.own_images:
            self.worker.own_images.release(image)
        self.staged.own_images.clear()
        self._try_to(self.folder.remove)

    def _try_to(self, remove: Callable[[], None]) -> None:
        try:
            remove()
        except OSError as error:  # such as no memory for another process
            log.warning("not_removed", detail=str(error)[:200], **about(self.job))


def _without_pulls(job: Job) -> Job:
    """The job for a host that has its images."""
    stages = tuple(stage.model_copy(update={"pull": PullPolicy.NEVER}) for stage in job.stages)
    return job.model_copy(update={"stages": stages})
