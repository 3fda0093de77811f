"""The jobs that a submission to a competition's folder is: what `podium competition run` runs. No database, no Django."""

import hashlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from competitions.bundles.reading.archive import BundleFiles
from competitions.bundles.reading.reader import BundleReader, program_of
from competitions.bundles.reading.rules import ordered
from competitions.bundles.reading.schema import TASK_FILES, BudgetSpec, CompetitionSpec, PhaseSpec, TaskSpec
from core.refusals import Refusal
from workers.protocol.jobs import FileRef, Job, Mount, PullPolicy, Stage, StagedFile
from workers.protocol.limits import GIB, Limits
from workers.protocol.plan import FileRole, PlannedFile, PlannedMount, StagePlan
from workers.protocol.planning import LOG_BYTES, TMP_BYTES, RunFacts, plan_stages
from workers.protocol.stages import StageName

IMAGE: Final = "podium/runtime:1"
MEMORY_BYTES: Final = 4 * GIB  # where a budget names none, as on the site
Files = dict[FileRole, Path]


class LocalJob(NamedTuple):
    """One task of the phase, and the job that scores the submission on it."""

    task: str
    job: Job


def local_jobs(
    folder: Path, scratch: Path, *, file: Path | None = None, phase: str = "", image: str = ""
) -> list[LocalJob]:
    """The jobs of a submission: of the file, or of the phase's sample submission. `scratch` takes what is packed.

    Raises `ValueError` with what is wrong with the folder, or missing from it.
    """
    try:
        reader = BundleReader(BundleFiles(folder))
        spec = reader.checked()
    except Refusal as refusal:
        raise ValueError(refusal.detail) from refusal
    chosen = _phase(spec, phase)
    path = file or _sample(reader.files, chosen, scratch)
    tasks = [task for task in spec.tasks if task.index in chosen.tasks]
    return list(_jobs(reader.files, spec, chosen, tasks, path, scratch, image))


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


def _jobs(
    files: BundleFiles,
    spec: CompetitionSpec,
    phase: PhaseSpec,
    tasks: list[TaskSpec],
    submission: Path,
    scratch: Path,
    image: str,
) -> Iterator[LocalJob]:
    boards = phase.extra.leaderboards or spec.leaderboards[:1]
    columns = [
        column.key
        for board in boards
        for column in board.columns
        if column.computation is None and not column.podium.meter
    ]
    named = image or phase.extra.docker_image or spec.docker_image or IMAGE
    for task in tasks:
        if task.key is not None:
            raise ValueError(f"The task {task.key} is on the site, named by its key, so it cannot be run here.")
        have = {FileRole(name): files.zipped(path, scratch)[0] for name in TASK_FILES if (path := getattr(task, name))}
        have[FileRole.SUBMISSION] = submission
        plan = plan_stages(_facts(phase, task, have))
        stages = tuple(_stage(stage, phase, task, named, have) for stage in plan.stages)
        yield LocalJob(task.name, Job(
            run_id=str(uuid.uuid4()), attempt=1, lease_id=str(uuid.uuid4()), token="none", lease_s=90, heartbeat_s=15,
            stages=stages, columns=tuple(dict.fromkeys(columns)), detailed_results=spec.enable_detailed_results,
            text_files=tuple(phase.extra.text_files or ()),
        ))  # fmt: skip


def _facts(phase: PhaseSpec, task: TaskSpec, have: Files) -> RunFacts:
    kinds = phase.extra.accepts
    is_code = not phase.accepts_only_result_submissions if kinds is None else "prediction" not in kinds
    return RunFacts(
        kind="code" if is_code else "prediction", program=program_of(have[FileRole.SUBMISSION]), on_codabench=kinds is None,
        is_single_file=phase.extra.prediction_format is not None, has_ingestion=FileRole.INGESTION_PROGRAM in have,
        beside_scoring=task.ingestion_only_during_scoring and FileRole.INGESTION_PROGRAM in have,
        has_input_data=FileRole.INPUT_DATA in have, has_reference_data=FileRole.REFERENCE_DATA in have,
    )  # fmt: skip


def _stage(plan: StagePlan, phase: PhaseSpec, task: TaskSpec, image: str, have: Files) -> Stage:
    return Stage(
        **plan.model_dump(exclude={"mounts"}), mounts=tuple(_mount(mount, have) for mount in plan.mounts), image=image,
        pull=PullPolicy.MISSING, limits=_limits(plan, phase, task), network=False,
    )  # fmt: skip


def _mount(mount: PlannedMount, have: Files) -> Mount:
    if not isinstance(mount, PlannedFile):
        return mount
    path = have[mount.file]
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    reference = FileRef(url=str(path), sha256=sha256, size_bytes=path.stat().st_size, name=path.name[-200:])
    return StagedFile(target=mount.target, secret=mount.secret, unpack=mount.unpack, file=reference)


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
