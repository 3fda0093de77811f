"""The jobs that a submission to a competition's folder is: what `podium competition run` runs. No database, no Django."""

import hashlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from competitions.bundles.reading.archive import BundleFiles
from competitions.bundles.reading.reader import BundleReader, program_of
from competitions.bundles.reading.rules import ordered
from competitions.bundles.reading.schema import TASK_FILES, BudgetSpec, CompetitionSpec, PhaseSpec, TaskSpec
from competitions.submissions.file_checks.code_check import check_code
from core.refusals import Refusal
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


@dataclass(frozen=True)
class Own:
    """What a team brings for its code: a file of weights, its image (an archive, or `registry/repository@sha256:…`), and the index
    that its requirements.txt is installed from."""

    weights: Path | None = None
    archive: Path | None = None
    reference: str = ""
    mirror: str = ""

    @property
    def kinds(self) -> list[str]:
        """What of it there is, as a phase's `environment` names it; requirements lie within the code."""
        has_image = self.archive is not None or self.reference
        return [*(["weights"] if self.weights else []), *(["image"] if has_image else [])]


NOTHING: Final = Own()


class LocalJob(NamedTuple):
    """One task of the phase, and the job that scores the submission on it."""

    task: str
    job: Job


def local_jobs(
    folder: Path, scratch: Path, *, file: Path | None = None, phase: str = "", image: str = "", own: Own = NOTHING
) -> list[LocalJob]:
    """The jobs of a submission: of the file, or of the phase's sample submission. `scratch` takes what is packed.

    Raises `ValueError` with what is wrong with the folder or the file, or missing from them.
    """
    try:
        reader = BundleReader(BundleFiles(folder))
        spec = reader.checked()
    except Refusal as refusal:
        raise ValueError(refusal.detail) from refusal
    chosen = _phase(spec, phase)
    tasks = [task for task in spec.tasks if task.index in chosen.tasks]
    sent = _sent(file or _sample(reader.files, chosen, scratch), chosen, tasks, own, scratch)
    named = image or chosen.extra.docker_image or spec.docker_image or IMAGE
    return list(_jobs(reader.files, spec, chosen, tasks, sent, named, scratch))


def _phase(spec: CompetitionSpec, name: str) -> PhaseSpec:
    phases = ordered(spec.phases)
    matching = [phase for phase in phases if name in (phase.extra.slug, phase.name)] if name else phases[:1]
    if not matching:
        raise ValueError(
            f"There is no phase {name!r}; there are {', '.join(phase.extra.slug or phase.name for phase in phases)}."
        )
    return matching[0]


def _sample(files: BundleFiles, phase: PhaseSpec, scratch: Path) -> Path:
    if phase.sample_submission is None or not files.exists(phase.sample_submission):
        raise ValueError(
            f"The phase {phase.name!r} has no `sample_submission` in the folder. Add one, or name a file to score."
        )
    return files.zipped(phase.sample_submission, scratch)[0]


@dataclass(frozen=True)
class _Sent:
    """What is sent in, with what it brings."""

    kind: str
    files: Files
    own: Own
    image: OwnImage | None = None


def _sent(path: Path, phase: PhaseSpec, tasks: list[TaskSpec], own: Own, scratch: Path) -> _Sent:
    """Check it as the site checks code. Raises `ValueError` with what is wrong with it."""
    if not path.is_file():
        raise ValueError(f"There is no file {str(path)!r} to score.")
    files: Files = {FileRole.SUBMISSION: path}
    kind = _kind(phase, own)
    for brought in own.kinds:
        if kind != "code" or brought not in phase.extra.environment:
            raise ValueError(
                f"The phase {phase.name!r} lets no team bring {NOUNS[brought]}. Add `{brought}` to the phase's `environment` in the "
                "folder, and `code` to what it accepts."
            )
    if kind == "code" and (lock := _checked(path, phase, tasks)):
        files[FileRole.REQUIREMENTS] = scratch / "requirements.txt"
        files[FileRole.REQUIREMENTS].write_bytes(lock.encode())
    if own.weights is not None:
        files[FileRole.WEIGHTS] = own.weights
    return _Sent(kind, files, own, _own_image(own.archive) if own.archive else None)


def _kind(phase: PhaseSpec, own: Own) -> str:
    """What the file is. A phase that takes several kinds is tried with predictions, unless something is brought for code."""
    kinds = phase.extra.accepts
    if kinds is None:
        return "prediction" if phase.accepts_only_result_submissions else "code"
    preferred = ("code", "prediction", "dataset") if own.kinds else ("prediction", "code", "dataset")
    return next(kind for kind in preferred if kind in kinds)


def _checked(path: Path, phase: PhaseSpec, tasks: list[TaskSpec]) -> str:
    """The text of the code's lock file, where it is installed."""
    needs_command = "code" in (phase.extra.accepts or ()) and not all(task.ingestion_program for task in tasks)
    takes_requirements = "requirements" in phase.extra.environment
    try:
        return check_code(path, file_name=path.name, needs_command=needs_command, takes_requirements=takes_requirements)
    except Refusal as refusal:
        raise ValueError(refusal.detail) from refusal


def _own_image(archive: Path) -> OwnImage:
    return OwnImage(archive=_reference(archive), image_id=describe_archive(archive).image_id)


def _jobs(
    files: BundleFiles,
    spec: CompetitionSpec,
    phase: PhaseSpec,
    tasks: list[TaskSpec],
    sent: _Sent,
    image: str,
    scratch: Path,
) -> Iterator[LocalJob]:
    boards = phase.extra.leaderboards or spec.leaderboards[:1]
    columns = [
        column.key
        for board in boards
        for column in board.columns
        if column.computation is None and not column.podium.meter
    ]
    for task in tasks:
        if task.key is not None:
            raise ValueError(f"The task {task.key} is on the site, named by its key, so it cannot be run here.")
        have = {FileRole(name): files.zipped(path, scratch)[0] for name in TASK_FILES if (path := getattr(task, name))}
        have |= sent.files
        plan = plan_stages(_facts(phase, task, sent.kind, have))
        stages = tuple(_stage(stage, phase, task, sent, image, have) for stage in plan.stages)
        budget = phase.extra.budget or BudgetSpec.model_validate({})
        yield LocalJob(task.name, Job(
            run_id=str(uuid.uuid4()), attempt=1, lease_id=str(uuid.uuid4()), token="none", lease_s=90, heartbeat_s=15,
            gpus=0 if sent.kind == "prediction" else budget.gpus, stages=stages, columns=tuple(dict.fromkeys(columns)),
            detailed_results=spec.enable_detailed_results, text_files=tuple(phase.extra.text_files or ()),
        ))  # fmt: skip


def _facts(phase: PhaseSpec, task: TaskSpec, kind: str, have: Files) -> RunFacts:
    return RunFacts(
        kind=kind, program=program_of(have[FileRole.SUBMISSION]),
        on_codabench=phase.extra.accepts is None, is_single_file=phase.extra.prediction_format is not None,
        has_ingestion=FileRole.INGESTION_PROGRAM in have,
        beside_scoring=task.ingestion_only_during_scoring and FileRole.INGESTION_PROGRAM in have,
        has_input_data=FileRole.INPUT_DATA in have, has_reference_data=FileRole.REFERENCE_DATA in have,
        has_weights=FileRole.WEIGHTS in have, has_requirements=FileRole.REQUIREMENTS in have,
    )  # fmt: skip


def _stage(plan: StagePlan, phase: PhaseSpec, task: TaskSpec, sent: _Sent, image: str, have: Files) -> Stage:
    return Stage(
        **plan.model_dump(exclude={"mounts"}), mounts=tuple(_mount(mount, sent, have) for mount in plan.mounts),
        **_image(plan, sent, image), limits=_limits(plan, phase, task), network=False,
    )  # fmt: skip


def _image(plan: StagePlan, sent: _Sent, image: str) -> dict[str, Any]:
    """The image that a stage runs in: what is brought, but for the scoring program's."""
    if plan.name != StageName.SCORING and sent.image is not None:
        own = {"image": sent.image.image_id, "own_image": sent.image, "pull": PullPolicy.NEVER}
        return own | {"is_image_of_team": True}
    if plan.name != StageName.SCORING and sent.own.reference:
        return {"image": sent.own.reference, "pull": PullPolicy.MISSING, "is_image_of_team": True}
    return {"image": image, "pull": PullPolicy.MISSING}


def _mount(mount: PlannedMount, sent: _Sent, have: Files) -> Mount:
    if not isinstance(mount, PlannedFile):
        return mount
    file = _reference(have[mount.file])
    if mount.file == FileRole.REQUIREMENTS:
        return BuiltEnvironment(
            target="/app/environment", requirements=file, mirror=sent.own.mirror or PUBLIC_INDEX, wall_s=ENVIRONMENT_S,
            max_bytes=ENVIRONMENT_BYTES,
        )  # fmt: skip
    return StagedFile(target=mount.target, secret=mount.secret, unpack=mount.unpack, file=file)


def _reference(path: Path) -> FileRef:
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return FileRef(url=str(path), sha256=sha256, size_bytes=path.stat().st_size, name=plain_file_name(path.name))


def _limits(plan: StagePlan, phase: PhaseSpec, task: TaskSpec) -> Limits:
    """As the site gives them to the phase: the organizer's scoring program has limits of its own."""
    budget, defaults = phase.extra.budget or BudgetSpec.model_validate({}), Limits()
    is_scoring = plan.name == StageName.SCORING
    scoring_s = phase.extra.scoring_time_limit or phase.execution_time_limit
    if task.ingestion_only_during_scoring:
        scoring_s = max(scoring_s, phase.execution_time_limit)
    memory_bytes = budget.scoring_memory_bytes if is_scoring else budget.memory_bytes
    return Limits(
        wall_s=float(scoring_s if is_scoring else phase.execution_time_limit), memory_bytes=memory_bytes or MEMORY_BYTES,
        cpus=1.0 if is_scoring else float(budget.cpus), pids=budget.pids or defaults.pids,
        output_bytes=budget.output_bytes or defaults.output_bytes, output_files=budget.output_files or defaults.output_files,
        tmp_bytes=TMP_BYTES, log_bytes=LOG_BYTES,
    )  # fmt: skip
