"""The last step: pages that are written from the answers to all others."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django import forms

from competitions.organize.building.texts import default_texts
from competitions.organize.steps.step import Step, StepForm

if TYPE_CHECKING:
    from competitions.organize.models import CompetitionDraft


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

    def __init__(self, draft: "CompetitionDraft", data: Mapping[str, object] | None = None) -> None:
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
