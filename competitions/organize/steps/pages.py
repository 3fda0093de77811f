"""The last step: pages that are written from the answers to all others."""

from collections.abc import Mapping
from typing import Final, cast

from django import forms
from django.template.loader import render_to_string

from competitions.organize.answers import SAMPLE as MADE_SAMPLE
from competitions.organize.answers import MetricChoice
from competitions.organize.models import CompetitionDraft
from competitions.organize.steps.questions import question_answered
from competitions.organize.steps.step import Step, StepForm
from competitions.organize.steps.table.data import SAMPLE
from competitions.organize.steps.table.metric import metric_facts
from scoring.metrics import METRICS
from scoring.tables.reading.file_types import table_ending

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
    chosen = METRICS.get(str((answers["metric"] or {}).get("metric"))) if isinstance(answers["metric"], dict) else None
    answers["formula"] = chosen.formula if chosen else ""
    return answers | {"metric_title": "".join(titles[:1]), "more_titles": titles[1:], "sample_name": file_name}


class PagesForm(StepForm):
    """Texts that are written already; what nobody changes follows the other answers."""

    overview_text = forms.CharField(
        label="Overview", widget=forms.Textarea(attrs={"rows": 10}), help_text="Markdown, as all of these."
    )
    data_text = forms.CharField(label="Data", widget=forms.Textarea(attrs={"rows": 8}))
    evaluation_text = forms.CharField(label="Evaluation", widget=forms.Textarea(attrs={"rows": 8}))
    rules_text = forms.CharField(
        label="Rules", widget=forms.Textarea(attrs={"rows": 10}), help_text="Everybody accepts them to take part."
    )

    def __init__(self, draft: CompetitionDraft, data: Mapping[str, object] | None = None) -> None:
        self.defaults = {f"{name}_text": text for name, text in default_texts(draft).items()}
        super().__init__(draft, None if data is None else self.defaults | {name: data[name] for name in data})

    def prepare(self) -> None:
        for name, text in self.defaults.items():
            self.fields[name].initial = text

    def kept(self, answers: dict[str, list[str]]) -> dict[str, list[str]]:
        return {
            name: texts for name, texts in answers.items() if _plain(texts[0]) != _plain(self.defaults.get(name, ""))
        }


def _plain(text: str) -> str:
    """Browsers send CRLF for LF, and drop white space at the end."""
    return text.replace("\r\n", "\n").rstrip()


TEXTS: Final = Step(
    "pages",
    "Pages and rules",
    "What should people read?",
    PagesForm,
    preview="organize/guided/previews/pages.html",
    intro="These pages are written from your answers. Change what you like; what you leave alone follows your answers.",
)
