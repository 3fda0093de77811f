"""Staging: from a job to containers that only need to be started."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from workers.agent.context import LABEL_WORKER, Worker
from workers.agent.environments.building import BuildContext, Order, build_environment, copy_installer, installer_name
from workers.agent.environments.wheels import EnvironmentRefused
from workers.agent.host.facts import open_files
from workers.agent.host.gpus import NvmlMeter
from workers.agent.runs.archive import ArchiveRefused
from workers.agent.runs.command import CommandMissing, read_command
from workers.agent.runs.state import RunFolder
from workers.agent.site.client import SiteError
from workers.engines.base import GVISOR
from workers.engines.images import ImageFacts
from workers.engines.spec import SHARED_TARGET, Runner, StageSpec, slot_uid
from workers.engines.spec import Mount as HostMount
from workers.errors import Judged, SandboxError, reading, unless_stopped
from workers.protocol.files.image_archive import ImageArchive, ImageArchiveInvalid, describe_archive, loadable
from workers.protocol.hosts import Isolation
from workers.protocol.jobs import BuiltEnvironment, FileRef, Job, Mount, OwnImage, PullPolicy, Stage
from workers.protocol.limits import Limits
from workers.protocol.results import Verdict
from workers.protocol.stages import StageOutput
from workers.sandbox.limits import grant
from workers.sandbox.output_volume import OutputVolume
from workers.sandbox.stage import GpuMeter, StageRun
from workers.sandbox.verdict import failed
from workers.sandbox.work import WritableInputs, is_copied

# What is wrong with a team's own image, wherever it is tried.
OF_THE_IMAGE = ("image_unknown", "image_unsuitable", "image_too_large", "image_not_loaded")


class Unrunnable(Judged):
    """The job cannot be started, and not by the platform's fault."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.detail)
        self.verdict = verdict


@dataclass
class Staged:
    """The files, containers and times of a job that was staged."""

    stages: dict[str, StageRun] = field(default_factory=dict)
    images: dict[str, ImageFacts] = field(default_factory=dict)
    cache_keys: list[str] = field(default_factory=list)
    own_images: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    pull_s: float = 0.0
    staging_s: float = 0.0


@dataclass(frozen=True)
class Stager:
    """Stages one job.

    `renewed` gives a fresh address for a digest when the signed one has expired; once `stop` says so, work that takes long ends. Containers
    of the run have been created of `known_images` already.
    """

    worker: Worker
    job: Job
    folder: RunFolder
    renewed: Callable[[str], str | None]
    stop: Callable[[], bool]
    known_images: Mapping[str, ImageFacts]
    staged: Staged = field(default_factory=Staged)

    def stage(self) -> None:
        """Fill `staged`; the containers are described, not yet created.

        Raises `SandboxError` for a failure of the platform, `Unrunnable` for somebody else's: a broken archive, a
        program without a command.
        """
        started = time.monotonic()
        self._images()
        self.staged.pull_s = time.monotonic() - started
        for stage in self.job.stages:
            self.staged.stages[stage.name] = self._stage(stage)
        self.staged.staging_s = time.monotonic() - started - self.staged.pull_s

    def _images(self) -> None:
        for stage in self.job.stages:
            if stage.image in self.staged.images and stage.pull != PullPolicy.ALWAYS:
                continue  # two stages of one team's image hold it once
            facts = self._image(stage)
            self.staged.images[stage.image] = facts
            if facts.volumes:
                self.staged.notes.append(
                    f"The image {stage.image} declares volumes ({', '.join(facts.volumes)[:200]}). Here each is an empty folder "
                    f"in memory, as large as /tmp may be; what the image holds there is not seen."
                )

    def _image(self, stage: Stage) -> ImageFacts:
        """The stage's image, on this host. What a team brought is the team's to answer for."""
        worker = self.worker
        if not stage.is_image_of_team:
            # By now its name may stand for another image than that of the container.
            known = self.known_images.get(stage.image)
            return known or worker.engine.ensure_image(stage.image, stage.pull, self.stop)
        bring = partial(self._load, stage.own_image) if stage.own_image else partial(self._pull, stage)
        try:
            facts = worker.own_images.acquire(stage.image, bring, max_bytes=stage.image_max_bytes)
        except SandboxError as error:
            if error.code in OF_THE_IMAGE:
                raise Unrunnable(failed("environment_error", error.code, error.detail)) from error
            raise
        except OSError as error:
            raise SandboxError("staging_failed", f"a team's image could not be kept: {error}") from error
        self.staged.own_images.append(stage.image)
        return facts

    def _pull(self, stage: Stage) -> None:
        self.worker.engine.ensure_image(stage.image, PullPolicy.MISSING, self.stop, stage.image_max_bytes)

    def _load(self, own: OwnImage) -> None:
        """Hand the engine the archive's layers under no name.

        The archive's own name would take the place of an image of the host.
        """
        self.worker.cache.make_room(own.archive.size_bytes)
        with self.worker.own_images.arriving() as path:
            self._fetch(own.archive, path)
            image = _describe(path)
            if image.image_id != own.image_id:
                raise SandboxError("image_changed", f"the archive holds {image.image_id}, not {own.image_id}")
            chunks = unless_stopped(_chunks(path, image), self.stop, "an image was not loaded to its end")
            self.worker.engine.load_image(chunks)

    def _stage(self, stage: Stage) -> StageRun:
        worker = self.worker
        if stage.network and not worker.allow_network:
            raise SandboxError("network_refused", "the phase asks for network; this worker was not started to allow it")
        runtime = self._runtime(stage)
        if stage.shared and not worker.facts.filters_calls(runtime):
            raise SandboxError("shared_folder_refused", "programs that share a folder cannot be kept apart in gVisor")
        sources: dict[str, Path] = {mount.target: self._source(stage, mount) for mount in stage.mounts}
        cores = self.folder.state.cores
        limits = grant(stage.limits)
        if cores:
            limits = limits.model_copy(update={"cpus": min(limits.cpus, len(cores))})
        beside = next((run for name, run in self.staged.stages.items() if self._same_output(name, stage)), None)
        volume = beside.volume if beside else self._volume(stage.name, limits)
        shared = self._shared_folder(stage) if stage.shared else None
        copied = {target: source for target, source in sources.items() if stage.writable and is_copied(target)}
        owner = self._runner.host_uid
        inputs = (
            WritableInputs(
                self.folder.path, f"{stage.name}-inputs", worker.quota, copied, owner, worker.cache.make_room
            )
            if copied
            else None
        )
        mounts = tuple(HostMount(source, target) for target, source in sources.items() if target not in copied)
        mounts += inputs.mounts() if inputs else ()
        mounts += (HostMount(shared.path, SHARED_TARGET, writable=True),) if shared else ()
        argv = stage.command or self._command(stage, sources, self.staged.notes)
        gpu_uuid = self.folder.state.gpu_uuid if stage.name != "scoring" and self.job.gpus else None
        spec = StageSpec(
            name=f"podium-{worker.key}-{self.folder.lease}-{stage.name}",
            image=stage.image,
            argv=argv,
            mounts=mounts,
            output=volume.path,
            limits=limits,
            labels=self._labels(stage.name),
            group=f"{worker.key}{self.folder.lease}{stage.name}",
            gpu_uuid=gpu_uuid,
            cpuset=",".join(map(str, cores)),
            runtime=runtime,
            network=stage.network,
            image_facts=self.staged.images[stage.image],
            runner=self._runner,
            open_files=open_files(worker.slots, limits.pids),
            plain_files=stage.shared and stage.name != "scoring",
            env=self._environment(stage),
        )
        meter = NvmlMeter(worker.gpus, gpu_uuid) if gpu_uuid else GpuMeter()
        _, sent_bytes = self.folder.log_position(stage.name)
        return StageRun(
            stage.name,
            worker.engine,
            spec,
            volume,
            meter,
            log_sent_bytes=sent_bytes,
            inputs=inputs,
            shared=shared,
            prefill=sources[stage.prefill] if stage.prefill else None,
            owns_volume=beside is None,
            idle=not argv,
        )

    def _runtime(self, stage: Stage) -> str:
        """The engine's runtime for the stage.

        That is gVisor for participants' code where the phase asks for it, else the worker's.
        """
        worker = self.worker
        if stage.name == "scoring" or self.job.isolation != Isolation.SANDBOXED or worker.runtime == GVISOR:
            return worker.runtime
        if Isolation.SANDBOXED not in worker.isolations:
            raise SandboxError("sandbox_missing", "the phase runs code in gVisor, which this worker does not have")
        return GVISOR

    def _environment(self, stage: Stage) -> dict[str, str]:
        """The variables for programs of a team, of which the scoring program gets none; it has one of its own."""
        if stage.name == "scoring":
            seconds = min(self.job.replicates_s, stage.limits.wall_s / 2)
            return {"PODIUM_REPLICATES_S": f"{seconds:g}"} if self.job.replicates_s else {}
        targets = {mount.target for mount in stage.mounts}
        variables = {"PODIUM_SEED": str(self.job.seed)}
        if "/app/weights" in targets:
            variables["PODIUM_WEIGHTS"] = "/app/weights"
        if "/app/environment" in targets:
            variables["PYTHONPATH"] = "/app/environment"
        return variables

    def _same_output(self, name: str, stage: Stage) -> bool:
        """True for stages that write to one output: participants' programs of one step.

        The scoring program has an output of its own, which nobody else can write to.
        """
        other = next(job for job in self.job.stages if job.name == name)
        return stage.name != "scoring" and other.step == stage.step

    def _volume(self, name: str, limits: Limits) -> OutputVolume:
        return OutputVolume(
            self.folder.path,
            name,
            size_bytes=limits.output_bytes,
            files=limits.output_files,
            quota=self.worker.quota,
            owner=self._runner.host_uid,
            make_room=self.worker.cache.make_room,
        )

    @property
    def _runner(self) -> Runner:
        return Runner(slot_uid(self.worker.key, self.folder.state.slot), self.worker.facts.user_offset)

    def _shared_folder(self, stage: Stage) -> OutputVolume:
        """The folder that the stages of one step share."""
        for name, run in self.staged.stages.items():
            if run.shared is not None and any(job.name == name and job.step == stage.step for job in self.job.stages):
                return run.shared
        return self._volume(f"shared-{stage.step}", grant(stage.limits))

    def _labels(self, stage: str) -> dict[str, str]:
        return {
            LABEL_WORKER: self.worker.key,
            "podium.worker-name": self.worker.name,
            "podium.run": self.job.run_id,
            "podium.attempt": str(self.job.attempt),
            "podium.lease": self.folder.lease,
            "podium.stage": stage,
        }

    def _source(self, stage: Stage, mount: Mount) -> Path:
        """The folder of the host behind one mount."""
        if isinstance(mount, StageOutput):
            return self.staged.stages[mount.stage_output].volume.path
        if isinstance(mount, BuiltEnvironment):
            return self._built(stage, mount)
        try:
            key, path = self.worker.cache.acquire(
                mount.file, unpacked=mount.unpack, secret=mount.secret, fetch=self._fetch
            )
        except ArchiveRefused as error:
            raise Unrunnable(archive_verdict(stage, mount.target, error)) from error
        except OSError as error:
            raise SandboxError("staging_failed", f"{mount.file.name} could not be staged: {error}") from error
        self.staged.cache_keys.append(key)
        return path

    def _built(self, stage: Stage, mount: BuiltEnvironment) -> Path:
        """The environment of a lock file, built where this host has none of it."""
        cache, notes = self.worker.cache, self.staged.notes
        began = time.monotonic()
        try:
            key, folder = cache.acquire(mount.requirements, unpacked=False, secret=False, fetch=self._fetch)
            self.staged.cache_keys.append(key)
            order = Order(
                requirements=(folder / mount.requirements.name).read_bytes(),
                image=stage.image,
                image_facts=self.staged.images[stage.image],
                mirror=mount.mirror,
                wall_s=mount.wall_s,
                max_bytes=mount.max_bytes,
                any_host=self.worker.mirror_any_host,
                is_image_of_team=stage.is_image_of_team,
            )

            def make(target: Path) -> None:
                installer_key, installer = cache.acquire_made(installer_name(), copy_installer)
                self.staged.cache_keys.append(installer_key)
                count = build_environment(order, self._build_context(stage, installer), target)
                notes.append(f"Installed {count} packages of requirements.txt in {time.monotonic() - began:.1f} s.")

            key, path = cache.acquire_made(order.key, make)
        except EnvironmentRefused as error:
            raise Unrunnable(failed("environment_error", error.code, error.detail)) from error
        except OSError as error:
            raise SandboxError("staging_failed", f"an environment could not be made: {error}") from error
        self.staged.cache_keys.append(key)
        return path

    def _build_context(self, stage: Stage, installer: Path) -> BuildContext:
        worker, lease = self.worker, self.folder.lease
        return BuildContext(
            engine=worker.engine,
            folder=self.folder.path,
            name=f"podium-{worker.key}-{lease}",
            group=f"{worker.key}{lease}",
            labels=self._labels(stage.name),
            runner=self._runner,
            runtime=self._runtime(stage),
            quota=worker.quota,
            cores=",".join(map(str, self.folder.state.cores)),
            stop=self.stop,
            installer=installer,
            make_room=worker.cache.make_room,
        )

    def _fetch(self, file: FileRef, target: Path) -> None:
        try:
            self._download(file, file.url, target)
        except SiteError as error:
            fresh = self.renewed(file.sha256)
            if fresh is None or fresh == file.url:
                raise SandboxError("download_refused", f"{file.name} was refused: {error}") from error
            try:
                self._download(file, fresh, target)
            except SiteError as again:
                raise SandboxError("download_refused", f"{file.name} was refused twice: {again}") from again

    def _download(self, file: FileRef, url: str, target: Path) -> None:
        client, patience_s = self.worker.client, self.worker.patience_s
        client.download(
            url, target, sha256=file.sha256, size_bytes=file.size_bytes, patience_s=patience_s, stop=self.stop
        )

    @staticmethod
    def _command(stage: Stage, sources: dict[str, Path], notes: list[str]) -> tuple[str, ...]:
        """The argv; empty for a tolerant stage whose program says none, which is then not run."""
        program = sources.get(stage.command_from)
        if program is None:
            raise SandboxError("job_invalid", f"command_from names {stage.command_from}, which is not mounted")
        try:
            return read_command(program, "beside scoring" if stage.beside_scoring else stage.name)
        except CommandMissing as error:
            if stage.tolerant:
                notes.append(f"The {stage.name} program was not run: {error.detail}")
                return ()
            raise Unrunnable(command_verdict(stage, error)) from error


def _unreadable_image(words: str) -> Unrunnable:
    return Unrunnable(failed("environment_error", "damaged", f"The image's archive cannot be read: {words}."))


@reading(_unreadable_image)
def _describe(path: Path) -> ImageArchive:
    """The layout of a team's archive. Raises `Unrunnable`."""
    try:
        return describe_archive(path)
    except ImageArchiveInvalid as error:
        raise Unrunnable(failed("environment_error", error.code, str(error))) from error


def _chunks(path: Path, image: ImageArchive) -> Iterator[bytes]:
    """The part of it that the engine is handed. Raises `Unrunnable`."""
    with reading(_unreadable_image):
        yield from loadable(path, image)


def command_verdict(stage: Stage, error: CommandMissing) -> Verdict:
    """A program that does not say how to run it: a failure of whoever wrote that program."""
    if stage.name == "scoring":
        return failed("scoring_error", error.code, error.detail)
    return _ingestion_verdict(stage, stage.command_from, error)


def archive_verdict(stage: Stage, target: str, error: ArchiveRefused) -> Verdict:
    """An archive that cannot be unpacked to `target`: a failure of whoever uploaded it."""
    if target == "/app/input/res":
        return failed("output_invalid", error.code, error.detail)
    if stage.name == "scoring":
        return failed("scoring_error", error.code, error.detail)
    return _ingestion_verdict(stage, target, error)


def _ingestion_verdict(stage: Stage, target: str, error: ArchiveRefused | CommandMissing) -> Verdict:
    """The verdict on a file that cannot be used: the participant's submission, or the organizer's."""
    if target == _submission_target(stage):
        return failed("program_error", error.code, error.detail)
    if target == "/app/program":
        return failed(
            "scoring_error", f"ingestion_program_{error.code}", f"The organizer's ingestion program: {error.detail}"
        )
    return failed("scoring_error", f"input_data_{error.code}", f"The organizer's input data: {error.detail}")


def _submission_target(stage: Stage) -> str:
    """The folder where the ingestion stage sees the submission.

    That is beside the organizer's ingestion program, or in its place.
    """
    beside = "/app/ingested_program"
    return beside if any(mount.target == beside for mount in stage.mounts) else "/app/program"
