"""Pages that are written for the organizer: templates filled in with what was answered so far."""

from typing import Final, cast

from django.template.loader import render_to_string

from competitions.organize.answers import MetricChoice
from competitions.organize.models import CompetitionDraft
from competitions.organize.steps.questions import question_answered
from competitions.organize.steps.table import SAMPLE, metric_facts
from competitions.organize.tables.writing import SAMPLE as MADE_SAMPLE
from scoring.tables.file_types import table_ending

PAGES: Final = ("overview", "data", "evaluation", "rules")


def default_texts(draft: CompetitionDraft) -> dict[str, str]:
    """Markdown by page. What was not answered yet is left out."""
    context: dict[str, object] = {"draft": draft, "start": draft.start, **_answers(draft)}
    return {name: render_to_string(f"organize/guided/texts/{name}.md", context).strip() + "\n" for name in PAGES}


def _answers(draft: CompetitionDraft) -> dict[str, object]:
    names = ("about", "schedule", "columns", "metric", "split", "dataset", "program")
    answers: dict[str, object] = {name: question_answered(draft, name) for name in names}
    titles = (
        [metric["title"] for metric in metric_facts(cast("MetricChoice", answers["metric"]))]
        if answers["metric"]
        else []
    )
    sample = next((file for file in draft.files.all() if file.role == SAMPLE.role), None)
    file_name = SAMPLE.role + table_ending(sample.file_name if sample else MADE_SAMPLE)
    return answers | {"metric_title": "".join(titles[:1]), "more_titles": titles[1:], "sample_name": file_name}
