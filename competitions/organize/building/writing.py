"""Writes a draft's bundle: uploaded files are read in a separate process with kernel limits."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

from competitions.organize.building.code import write_code
from competitions.organize.building.dataset import write_dataset
from competitions.organize.building.document import Answers, Bounded, Sample
from competitions.organize.building.table import write_table
from competitions.organize.building.texts import default_texts
from competitions.organize.models import CompetitionDraft
from competitions.organize.refusals import CANNOT_BE_BUILT
from competitions.organize.steps.pages import TEXTS
from competitions.organize.steps.paths import answered, draft_path, require_complete
from competitions.organize.tables.program import bounds, work_on_tables
from competitions.resources.storage import local_copy
from core.background.bounded import OverBounds, run_bounded

WRITERS: Final[Mapping[str, Callable[[Answers, Path, Bounded], Sample | None]]] = {
    CompetitionDraft.Start.TABLE: write_table,
    CompetitionDraft.Start.CODE: write_code,
    CompetitionDraft.Start.DATASET: write_dataset,
    CompetitionDraft.Start.LSC: write_dataset,
}


def bundle_write_draft(
    draft: CompetitionDraft, folder: Path, *, is_wanted: Callable[[], bool], every_s: float
) -> Sample | None:
    """Write the draft's bundle into an empty folder; returns what is to be scored on trial.

    Raises `DRAFT_INCOMPLETE`, `CANNOT_BE_BUILT` or `Stopped`.
    """
    require_complete(draft)
    with ExitStack() as opened:
        files = {
            file.role: (opened.enter_context(local_copy(file.file)), file.file_name)
            for file in draft.files.select_related("file")
        }
        answers = Answers(draft.start, _steps(draft), files, _texts(draft))
        return WRITERS[draft.start](answers, folder, partial(_run_bounded, is_wanted=is_wanted, every_s=every_s))


def _run_bounded(
    work: Callable[[], Any] | dict[str, object], *, is_wanted: Callable[[], bool], every_s: float
) -> dict[str, Any]:
    """The answer of the work. Raises `CANNOT_BE_BUILT` where it names a fault, or takes more than it may."""
    try:
        if isinstance(work, dict):
            answer = work_on_tables(work, is_wanted=is_wanted, every_s=every_s)
        else:
            answer = run_bounded(work, bounds(), is_wanted=is_wanted, every_s=every_s)
    except OverBounds as error:
        raise CANNOT_BE_BUILT(
            detail=f"The files took more {error.what} to read than this site gives. Make them smaller."
        ) from error
    if answer["fault"]:
        raise CANNOT_BE_BUILT(detail=answer["fault"])
    return answer


def _steps(draft: CompetitionDraft) -> dict[str, dict[str, object]]:
    return {step.slug: answered(draft, step.slug) or {} for step in draft_path(draft)}


def _texts(draft: CompetitionDraft) -> dict[str, str]:
    """The pages as they were changed, else as they are written."""
    changed = answered(draft, TEXTS.slug) or {}
    return {name: str(changed.get(f"{name}_text", text)) for name, text in default_texts(draft).items()}
