"""Jobs of a submission to a competition's folder: what `podium competition run` runs. No Django."""

import hashlib
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, TypedDict

from files.bundles.archive import BundleFiles
from files.bundles.reader import BundleReader, program_kind
from files.bundles.rules import sort_phases
from files.bundles.schema import TASK_FILES, BudgetSpec, CompetitionSpec, LeaderboardSpec, PhaseSpec, TaskSpec
from files.code_check import NOTHING, OwnEnvironment, check_code
from files.refusals import Refusal
from workers.protocol.files.image_archive import describe_archive
from workers.protocol.jobs import (
    BuiltEnvironment,
    FileRef,
    Job,
    Mount,
    OwnImage,
    PullPolicy,
    Stage,
    StagedFile,
    plain_file_name,
)
from workers.protocol.limits import GIB, Limits
from workers.protocol.plan import FileRole, PlannedFile, PlannedMount, StagePlan
from workers.protocol.planning import LOG_BYTES, TMP_BYTES, RunFacts, plan_stages
from workers.protocol.stages import StageName

IMAGE: Final = "podium/runtime:1"
MEMORY_BYTES: Final = 4 * GIB  # where a budget names none, as on the site
ENVIRONMENT_S: Final = 900.0  # to install requirements, as a new queue gives
ENVIRONMENT_BYTES: Final = 8 * GIB  # likewise, for the wheels and what they install
PUBLIC_INDEX: Final = "https://pypi.org/simple/"
NOUNS: Final = {"weights": "weights", "image": "an image of its own"}
Files = dict[FileRole, Path]


class BroughtImage(TypedDict, total=False):
    """The part of a stage that names an image of the team."""

    image: str
    own_image: OwnImage
    pull: PullPolicy
    is_image_of_team: bool


class LocalJob(NamedTuple):
    """One task of the phase, and the job that scores the submission on it."""

    task: str
    job: Job


def local_jobs(
    folder: Path,
    scratch: Path,
    *,
    file: Path | None = None,
    phase: str = "",
    image: str = "",
    own: OwnEnvironment = NOTHING,
) -> list[LocalJob]:
    """The jobs of a submission: of the file, or of the phase's sample submission.

    `scratch` takes what is packed. Raises `ValueError` with what is wrong with the folder or the file, or missing from them.
    """
    try:
        reader = BundleReader(BundleFiles(folder))
        spec = reader.valid_spec()
    except Refusal as refusal:
        raise ValueError(refusal.detail) from refusal
    chosen = _phase(spec, phase)
    tasks = [task for task in spec.tasks if task.index in chosen.tasks]
    sent = _check_sent(file or _sample(reader.files, chosen, scratch), chosen, tasks, own, scratch)
    named = image or chosen.podium.docker_image or spec.docker_image or IMAGE
    columns = _columns(chosen.podium.leaderboards or spec.leaderboards[:1])
    plans = [_TaskPlan(chosen, task, sent, _files(reader.files, task, scratch) | sent.files, named) for task in tasks]
    return [LocalJob(plan.task.name, plan.job(columns, spec.enable_detailed_results)) for plan in plans]


def _columns(boards: Iterable[LeaderboardSpec]) -> tuple[str, ...]:
    """Keys of the scores that these boards show, each once."""
    columns = (column for board in boards for column in board.columns)
    return tuple(
        dict.fromkeys(column.key for column in columns if column.computation is None and not column.podium.meter)
    )


def _files(files: BundleFiles, task: TaskSpec, scratch: Path) -> Files:
    """The task's programs and data, packed. Raises `ValueError` for a task that the folder only names."""
    if task.key is not None:
        raise ValueError(f"The task {task.key} is on the site, named by its key, so it cannot be run here.")
    return {FileRole(name): files.zip_part(path, scratch)[0] for name in TASK_FILES if (path := getattr(task, name))}


def _phase(spec: CompetitionSpec, name: str) -> PhaseSpec:
    phases = sort_phases(spec.phases)
    matching = [phase for phase in phases if name in (phase.podium.slug, phase.name)] if name else phases[:1]
    if not matching:
        raise ValueError(
            f"There is no phase {name!r}; there are {', '.join(phase.podium.slug or phase.name for phase in phases)}."
        )
    return matching[0]


def _sample(files: BundleFiles, phase: PhaseSpec, scratch: Path) -> Path:
    if phase.sample_submission is None or not files.exists(phase.sample_submission):
        raise ValueError(
            f"The phase {phase.name!r} has no `sample_submission` in the folder. Add one, or name a file to score."
        )
    return files.zip_part(phase.sample_submission, scratch)[0]


@dataclass(frozen=True)
class _Sent:
    """The submission, with its environment."""

    kind: str
    files: Files
    own: OwnEnvironment
    image: OwnImage | None = None


def _check_sent(path: Path, phase: PhaseSpec, tasks: list[TaskSpec], own: OwnEnvironment, scratch: Path) -> _Sent:
    """Check it as the site checks code. Raises `ValueError` with what is wrong with it."""
    if not path.is_file():
        raise ValueError(f"There is no file {str(path)!r} to score.")
    files: Files = {FileRole.SUBMISSION: path}
    kind = _kind(phase, own)
    for brought in own.kinds:
        if kind != "code" or brought not in phase.podium.environment:
            raise ValueError(
                f"The phase {phase.name!r} lets no team bring {NOUNS[brought]}. Add `{brought}` to the phase's `environment` in the "
                "folder, and `code` to what it accepts."
            )
    if kind == "code" and (lock := _check_code(path, phase, tasks)):
        files[FileRole.REQUIREMENTS] = scratch / "requirements.txt"
        files[FileRole.REQUIREMENTS].write_bytes(lock.encode())
    if own.weights is not None:
        files[FileRole.WEIGHTS] = own.weights
    return _Sent(kind, files, own, _own_image(own.archive) if own.archive else None)


def _kind(phase: PhaseSpec, own: OwnEnvironment) -> str:
    """The file's kind; of several, predictions are tried, unless an environment is given for code."""
    kinds = phase.podium.accepts
    if kinds is None:
        return "prediction" if phase.accepts_only_result_submissions else "code"
    preferred = ("code", "prediction", "dataset") if own.kinds else ("prediction", "code", "dataset")
    return next(kind for kind in preferred if kind in kinds)


def _check_code(path: Path, phase: PhaseSpec, tasks: list[TaskSpec]) -> str:
    """The text of the code's lock file, where it is installed."""
    needs_command = "code" in (phase.podium.accepts or ()) and not all(task.ingestion_program for task in tasks)
    takes_requirements = "requirements" in phase.podium.environment
    try:
        return check_code(path, file_name=path.name, needs_command=needs_command, takes_requirements=takes_requirements)
    except Refusal as refusal:
        raise ValueError(refusal.detail) from refusal


def _own_image(archive: Path) -> OwnImage:
    return OwnImage(archive=_reference(archive), image_id=describe_archive(archive).image_id)


@dataclass(frozen=True)
class _TaskPlan:
    """The submission on one task, with all `files`; `image` is that of the organizer's programs."""

    phase: PhaseSpec
    task: TaskSpec
    sent: _Sent
    files: Files
    image: str

    def job(self, columns: tuple[str, ...], detailed_results: bool) -> Job:
        """The job of a run that has these scores."""
        return Job(
            run_id=str(uuid.uuid4()),
            attempt=1,
            lease_id=str(uuid.uuid4()),
            token="none",
            lease_s=90,
            heartbeat_s=15,
            gpus=0 if self.sent.kind == "prediction" else self._budget.gpus,
            stages=tuple(map(self._stage, plan_stages(self._facts).stages)),
            columns=columns,
            detailed_results=detailed_results,
            text_files=tuple(self.phase.podium.text_files or ()),
        )

    @property
    def _budget(self) -> BudgetSpec:
        return self.phase.podium.budget or BudgetSpec.model_validate({})

    @property
    def _facts(self) -> RunFacts:
        extra, has_ingestion = self.phase.podium, FileRole.INGESTION_PROGRAM in self.files
        return RunFacts(
            kind=self.sent.kind,
            program=program_kind(self.files[FileRole.SUBMISSION]),
            on_codabench=extra.accepts is None,
            is_single_file=extra.prediction_format is not None,
            has_ingestion=has_ingestion,
            beside_scoring=self.task.ingestion_only_during_scoring and has_ingestion,
            has_input_data=FileRole.INPUT_DATA in self.files,
            has_reference_data=FileRole.REFERENCE_DATA in self.files,
            has_weights=FileRole.WEIGHTS in self.files,
            has_requirements=FileRole.REQUIREMENTS in self.files,
        )

    def _stage(self, plan: StagePlan) -> Stage:
        is_scoring = plan.name == StageName.SCORING
        return Stage(
            **plan.model_dump(exclude={"mounts"}),
            mounts=tuple(map(self._mount, plan.mounts)),
            **({} if is_scoring else self._own_image) or {"image": self.image, "pull": PullPolicy.MISSING},
            limits=self._limits(is_scoring=is_scoring),
            network=False,
        )

    @property
    def _own_image(self) -> BroughtImage:
        """The image that is brought; the scoring program never runs in it."""
        if image := self.sent.image:
            return {"image": image.image_id, "own_image": image, "pull": PullPolicy.NEVER, "is_image_of_team": True}
        if reference := self.sent.own.image:
            return {"image": reference, "pull": PullPolicy.MISSING, "is_image_of_team": True}
        return {}

    def _mount(self, mount: PlannedMount) -> Mount:
        if not isinstance(mount, PlannedFile):
            return mount
        file = _reference(self.files[mount.file])
        if mount.file == FileRole.REQUIREMENTS:
            return BuiltEnvironment(
                target="/app/environment",
                requirements=file,
                mirror=self.sent.own.mirror or PUBLIC_INDEX,
                wall_s=ENVIRONMENT_S,
                max_bytes=ENVIRONMENT_BYTES,
            )
        return StagedFile(target=mount.target, secret=mount.secret, unpack=mount.unpack, file=file)

    def _limits(self, *, is_scoring: bool) -> Limits:
        """The limits that the site would set: the organizer's scoring program has limits of its own."""
        budget, defaults, wall_s = self._budget, Limits(), self.phase.execution_time_limit
        scoring_s = self.phase.podium.scoring_time_limit or wall_s
        if self.task.ingestion_only_during_scoring:
            scoring_s = max(scoring_s, wall_s)
        memory_bytes = budget.scoring_memory_bytes if is_scoring else budget.memory_bytes
        return Limits(
            wall_s=float(scoring_s if is_scoring else wall_s),
            memory_bytes=memory_bytes or MEMORY_BYTES,
            cpus=1.0 if is_scoring else float(budget.cpus),
            pids=budget.pids or defaults.pids,
            output_bytes=budget.output_bytes or defaults.output_bytes,
            output_files=budget.output_files or defaults.output_files,
            tmp_bytes=TMP_BYTES,
            log_bytes=LOG_BYTES,
        )


def _reference(path: Path) -> FileRef:
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return FileRef(url=str(path), sha256=sha256, size_bytes=path.stat().st_size, name=plain_file_name(path.name))
