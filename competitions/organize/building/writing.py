"""Writes a draft's bundle: uploaded files are read in a separate process with kernel limits."""

import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from competitions.organize.answers import Program
from competitions.organize.building.dataset import write_dataset
from competitions.organize.building.document import Answers, Bounded, Sample, board, column, document, phase, write_yaml
from competitions.organize.building.table import write_table
from competitions.organize.models import CompetitionDraft
from competitions.organize.refusals import CANNOT_BE_BUILT
from competitions.organize.steps.code import GIB, SAMPLE_ROLE
from competitions.organize.steps.paths import TEXTS, answered, default_texts, draft_path, require_complete
from competitions.organize.tables.program import bounds, work_on_tables
from competitions.resources.storage import local_copy
from core.background.bounded import OverBounds, run_bounded
from files.bundles.cli import STARTERS
from files.bundles.schema import TASK_FILES


def write_code(answers: Answers, folder: Path, bounded: Bounded) -> Sample | None:
    """Write the bundle into an empty folder; returns the sample of the organizer or of the example.

    The example's is used only while everything else is the example's, too.
    """
    program = cast("Program", answers.steps["program"])
    task: dict[str, object] = {"index": 0, "name": answers.about["title"][:256]}
    task |= {part: _part(answers, part, folder) for part in TASK_FILES}
    budget = {"gpus": program["gpus"], "cpus": program["cpus"], "memory_bytes": program["memory_gib"] * GIB}
    extra = {"slug": "main", "accepts": ["code"], "budget": budget, "docker_image": program["docker_image"]}
    results = board("Results", "main", [column(program["score"], program["score"].capitalize(), program["sorting"])])
    main = phase(answers, name="Competition", execution_time_limit=program["minutes"] * 60, extra=extra)
    write_yaml(folder, document(answers, tasks=[task], phases=[main], board=results), answers.texts)
    return _sample(answers, folder)


def _sample(answers: Answers, folder: Path) -> Sample | None:
    if SAMPLE_ROLE in answers.files:
        path, _ = answers.files[SAMPLE_ROLE]
        return Sample(Path(shutil.copyfile(path, folder / "sample.zip")), "Baseline", is_code=True)
    if any(part in answers.files for part in TASK_FILES):
        return None
    packed = shutil.make_archive(str(folder / "sample"), "zip", STARTERS / "code" / "solution")
    return Sample(Path(packed), "Baseline of the example", is_code=True)


def _part(answers: Answers, part: str, folder: Path) -> str:
    """The name of a program or of data in the bundle."""
    if part not in answers.files:
        shutil.copytree(STARTERS / "code" / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        return part
    path, _ = answers.files[part]
    shutil.copyfile(path, folder / f"{part}.zip")
    return f"{part}.zip"


WRITERS: Final[Mapping[str, Callable[[Answers, Path, Bounded], Sample | None]]] = {
    CompetitionDraft.Start.TABLE: write_table,
    CompetitionDraft.Start.CODE: write_code,
    CompetitionDraft.Start.DATASET: write_dataset,
    CompetitionDraft.Start.LSC: write_dataset,
}


def bundle_write_draft(
    draft: CompetitionDraft, folder: Path, *, is_wanted: Callable[[], bool], every_s: float
) -> Sample | None:
    """Write the bundle; returns what is tried. Raises `DRAFT_INCOMPLETE`, `CANNOT_BE_BUILT`, `Stopped`."""
    require_complete(draft)
    with ExitStack() as opened:
        files = {file.role: (opened.enter_context(local_copy(file.file)), file.file_name) for file in draft.files.all()}
        steps = {step.slug: answered(draft, step.slug) or {} for step in draft_path(draft)}
        answers = Answers(draft.start, steps, files, _texts(draft))
        return WRITERS[draft.start](answers, folder, partial(_run_bounded, is_wanted=is_wanted, every_s=every_s))


def _run_bounded(
    work: Callable[[], Any] | dict[str, object], *, is_wanted: Callable[[], bool], every_s: float
) -> dict[str, object]:
    """The answer of the work. Raises `CANNOT_BE_BUILT` where it names a fault, or takes more than it may."""
    try:
        if isinstance(work, dict):
            answer = work_on_tables(work, is_wanted=is_wanted, every_s=every_s)
        else:
            answer = run_bounded(work, bounds(), is_wanted=is_wanted, every_s=every_s)
    except OverBounds as error:
        raise CANNOT_BE_BUILT(
            detail=f"The files took more {error.what} to read than this site allows. Make them smaller."
        ) from error
    if answer["fault"]:
        raise CANNOT_BE_BUILT(detail=answer["fault"])
    return answer


def _texts(draft: CompetitionDraft) -> dict[str, str]:
    """The pages as they were changed, else as they are written."""
    changed = answered(draft, TEXTS.slug) or {}
    return {name: str(changed.get(f"{name}_text", text)) for name, text in default_texts(draft).items()}
