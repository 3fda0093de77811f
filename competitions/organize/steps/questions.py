"""The steps of each way to begin, in order, before the pages are written from the answers."""

from collections.abc import Mapping
from typing import Final

from competitions.organize.models import CompetitionDraft
from competitions.organize.steps.code import FILES, PROGRAM
from competitions.organize.steps.common import ABOUT, SCHEDULE
from competitions.organize.steps.dataset import DATASET, LABELS, LSC_DATASET, LSC_LABELS
from competitions.organize.steps.step import Step, form_values
from competitions.organize.steps.table.columns import COLUMNS
from competitions.organize.steps.table.data import DATA
from competitions.organize.steps.table.metric import METRIC
from competitions.organize.steps.table.predictions import PREDICTIONS
from competitions.organize.steps.table.split import SPLIT

Start = CompetitionDraft.Start
QUESTIONS: Final[Mapping[str, tuple[Step, ...]]] = {
    Start.TABLE: (DATA, COLUMNS, METRIC, PREDICTIONS, SPLIT, ABOUT, SCHEDULE),
    Start.CODE: (PROGRAM, FILES, ABOUT, SCHEDULE),
    Start.DATASET: (DATASET, LABELS, ABOUT, SCHEDULE),
    Start.LSC: (LSC_DATASET, LSC_LABELS, ABOUT, SCHEDULE),
}


def question_answered(draft: CompetitionDraft, slug: str) -> dict[str, object] | None:
    """The values of a question as its form reads them; None while they are missing or not right."""
    step = next((step for step in QUESTIONS[draft.start] if step.slug == slug), None)
    answers = draft.answers.get(slug)
    return None if step is None or answers is None else form_values(step, draft, answers)
