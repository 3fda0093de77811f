"""One attempt of one run, from a staged job to a result that is ready to be sent. It does not talk to the site."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from workers import __version__
from workers.agent.context import Worker
from workers.agent.protocol import Job
from workers.agent.staging import Staged, Stager, Unrunnable
from workers.agent.state import RunFolder
from workers.sandbox.collect import Listing, list_output, sha256_of, zip_output
from workers.sandbox.errors import OutputRefused, SandboxError
from workers.sandbox.scores import ScoresInvalid, read_progress, read_refusal, read_scores
from workers.sandbox.stage import Evidence, StageRun
from workers.sandbox.verdict import Verdict, failed, infrastructure, ingestion_verdict, scoring_verdict

PROTOCOL_STATES = {"preparing": "preparing", "ingestion": "ingesting", "scoring": "scoring"}
ARCHIVE_NAMES = {"ingestion": "predictions.zip", "scoring": "scoring.zip"}


class RunExecution:
    """Drives the stages and remembers what is known. `prepare` or `adopt`, then `execute`, then `collect`."""

    def __init__(self, worker: Worker, job: Job, folder: RunFolder) -> None:
        self.worker = worker
        self.job = job
        self.folder = folder
        self.state = "preparing"
        self.renewed_urls: dict[str, str] = {}
        self.scores: dict[str, float] = {}
        self.verdict: Verdict | None = None
        self.staged = Staged()
        self._evidence: list[Evidence] = []
        self._listings: dict[str, Listing] = {}
        self._archives: dict[str, Future[None]] = {}
        self._current: StageRun | None = None
        self._cancelled: str | None = None
        self._lock = threading.Lock()
        self._collect_s = 0.0

    def prepare(self) -> None:
        """Stage the files and create the containers. On failure `verdict` says why, and nothing must be started."""
        try:
            self._stage()
            for stage in self.staged.stages.values():
                stage.prepare()
            self.folder.set_phase("executing")
        except SandboxError as error:
            self.verdict = infrastructure(error)
        except Unrunnable as error:
            self.verdict = error.verdict
        except OSError as error:
            self.verdict = infrastructure(SandboxError("worker_disk", f"the worker's folder: {error}"))

    def _stage(self) -> None:
        stager = Stager(self.worker, self.job, self.folder, self.renewed_urls.get)
        self.staged = stager.staged
        stager.stage()

    def adopt(self) -> None:
        """Take over the containers that a predecessor created or started, instead of `prepare`."""
        try:
            if not self.folder.same_boot:
                raise SandboxError("host_restarted", "the host was restarted while the run was on it")
            self._stage()
            for name, stage in self.staged.stages.items():
                facts = self.folder.stage_facts(name)
                stage.adopt(started_monotonic=facts.get("started"), killed_by=facts.get("killed_by"))
        except SandboxError as error:
            self.verdict = infrastructure(error)
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

    def _stages(self) -> Verdict | None:
        if "ingestion" in self.staged.stages:
            verdict = self._ingest(self.staged.stages["ingestion"])
            if verdict is not None:
                return verdict
        # A worker that only ingests hands the predictions over through the site.
        return self._score(self.staged.stages["scoring"]) if "scoring" in self.staged.stages else None

    def _ingest(self, stage: StageRun) -> Verdict | None:
        evidence = self._run(stage)
        if evidence is None:
            return _cancelled()
        refused = self._list(stage)
        verdict = ingestion_verdict(evidence, stage.spec.limits) or refused
        if verdict is None and not self._listings[stage.name].files:
            verdict = failed(
                "output_invalid", "no_output", "The program ended without writing a file into /app/output."
            )
        return verdict

    def _score(self, stage: StageRun) -> Verdict | None:
        evidence = self._run(stage)
        if evidence is None:
            return _cancelled()
        output = stage.volume.path
        refused = self._list(stage)
        verdict = scoring_verdict(evidence, stage.spec.limits, read_refusal(output))
        if verdict is None and refused is not None:
            verdict = failed("scoring_error", refused.code, refused.detail)
        if verdict is not None:
            return verdict
        try:
            self.scores = read_scores(output, self.job.columns)
        except ScoresInvalid as error:
            return failed("scoring_error", error.code, error.detail)
        return None

    def _run(self, stage: StageRun) -> Evidence | None:
        """Execute one stage; None when the run was cancelled before it started."""
        with self._lock:
            if self._cancelled and stage.started_monotonic is None:
                return None
            self._current = stage
            self.state = PROTOCOL_STATES[stage.name]
        evidence = stage.execute(
            on_start=lambda moment: self.folder.stage_started(stage.name, moment),
            on_kill=lambda reason: self.folder.stage_killed(stage.name, reason),
        )
        self._evidence.append(evidence)
        return evidence

    def _list(self, stage: StageRun) -> Verdict | None:
        """Check the output and begin to pack it; the verdict on an output that breaks a rule."""
        limits = stage.spec.limits
        try:
            listing = list_output(stage.volume.path, max_files=limits.output_files, max_bytes=limits.output_bytes)
        except OutputRefused as error:
            return failed(error.reason, error.code, error.detail)
        self._listings[stage.name] = listing
        if listing.files:
            target = self.folder.outbox / ARCHIVE_NAMES[stage.name]
            self._archives[stage.name] = self.worker.pool.submit(zip_output, stage.volume.path, listing, target)
        return None

    def cancel(self, reason: str) -> None:
        """End the run: kill the container that runs, start no other."""
        with self._lock:
            self._cancelled = reason
            if self._current is not None:
                self._current.cancel(reason)

    @property
    def cancel_reason(self) -> str | None:
        """Why the run is being ended from outside, if it is."""
        return self._cancelled

    def collect(self) -> dict[str, str]:
        """Finish packing and logs; the outbox' files by name and SHA-256."""
        started = time.monotonic()
        for name, packing in self._archives.items():
            try:
                packing.result()
            except (OutputRefused, OSError):  # gone unreadable since it was listed: kept out, the verdict stands
                (self.folder.outbox / ARCHIVE_NAMES[name]).unlink(missing_ok=True)
        for stage in self.staged.stages.values():
            stage.write_log(self.folder.outbox / f"{stage.name}.log")
        outputs = {path.name: sha256_of(path) for path in self._outbox() if path.stat().st_size}
        self._collect_s = time.monotonic() - started
        return outputs

    def _outbox(self) -> list[Path]:
        return sorted(path for path in self.folder.outbox.iterdir() if path.is_file())

    def result(self, outputs: dict[str, str]) -> dict[str, Any]:
        """The body of `complete`."""
        verdict = self.verdict
        sizes = {name: (self.folder.outbox / name).stat().st_size for name in outputs}
        return {
            "lease_id": self.job.lease_id,
            "attempt": self.job.attempt,
            "outcome": verdict.outcome if verdict else self._good_outcome,
            "reason": verdict.reason if verdict else None,
            "code": verdict.code if verdict else None,
            "detail": verdict.detail if verdict else "",
            "scores": self.scores if verdict is None else {},
            "outputs": {name: {"sha256": sha, "size_bytes": sizes[name]} for name, sha in outputs.items()},
            "stages": [self._stage_record(evidence) for evidence in self._evidence],
            "timings": {
                "pull_s": round(self.staged.pull_s, 3),
                "staging_s": round(self.staged.staging_s, 3),
                "collect_s": round(self._collect_s, 3),
            },
            "host": self.worker.host,
            "worker_version": __version__,
        }

    @property
    def _good_outcome(self) -> str:
        return "finished" if "scoring" in self.staged.stages else "ingested"

    def _stage_record(self, evidence: Evidence) -> dict[str, Any]:
        spec = self.staged.stages[evidence.name].spec
        listing = self._listings.get(evidence.name)
        return {
            "name": evidence.name,
            "image": spec.image,
            "image_digest": self.staged.image_digests.get(spec.image, ""),
            "exit_code": evidence.exit_code,
            "oom_killed": evidence.oom_killed,
            "killed_by": evidence.killed_by,
            "started_at": evidence.started_at.isoformat(),
            "finished_at": evidence.finished_at.isoformat(),
            "wall_s": round(evidence.wall_s, 3),
            "cpu_s": evidence.cgroup.cpu_s,
            "memory_peak_bytes": evidence.cgroup.memory_peak_bytes,
            "output_bytes": listing.total_bytes if listing else evidence.output_bytes,
            "output_files": len(listing.files) if listing else None,
            "bytes_written": evidence.bytes_written,
            **evidence.gpu,
            "limits": spec.limits.as_json(),
        }

    def meters(self) -> dict[str, Any]:
        """The figures of the stage that runs."""
        return self._current.meters() if self._current else {}

    def progress(self) -> dict[str, float] | None:
        """What the participant's program says about its progress."""
        stage = self._current
        if stage is None or stage.name != "ingestion" or self.state != "ingesting":
            return None
        try:
            fraction = read_progress(stage.volume.path)
        except OSError:
            return None
        return None if fraction is None else {"fraction": fraction}

    def destroy(self) -> None:
        """Remove containers, file systems and the folder; give the cache its files back."""
        for stage in self.staged.stages.values():
            stage.destroy()
        for key in self.staged.cache_keys:
            self.worker.cache.release(key)
        self.staged.cache_keys.clear()
        self.folder.remove()


def _cancelled() -> Verdict:
    return Verdict("cancelled", None, "cancelled", "The run was cancelled.")
