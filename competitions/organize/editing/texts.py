"""Forms of texts: pages, images on them, and rules."""

from collections.abc import Iterator
from datetime import datetime
from typing import ClassVar

from django import forms
from django.db.models import Model
from django.template.loader import render_to_string

from competitions.catalog.form_fields.images import IMAGE_HELP, ImageUploadField, storable_name
from competitions.catalog.models import Competition, Format, Page, RulesVersion
from competitions.catalog.models.texts import IMAGE_NAME
from competitions.catalog.services import RULES_SAY_NOTHING, rules_publish, same_text
from competitions.catalog.texts.pages import MAX_TABS, page_save
from competitions.organize.editing.change_form import CompetitionForm
from competitions.teams.models import Registration
from core.refusals import Refusal
from files.line_differences import LineMatcher
from files.markup import MAX_CHARACTERS
from files.text import is_placeholder

CONTEXT_LINES = 2


class PageForm(CompetitionForm):
    """A page; what it may be together with the others, `page_save` decides."""

    class Meta:
        model = Page
        fields = ("title", "tab", "body", "format")
        labels: ClassVar[dict[str, str]] = {"body": "Text", "tab": "Where it is shown", "format": "Written in"}
        help_texts: ClassVar[dict[str, str]] = {
            "tab": f"At most {MAX_TABS} pages have a tab of their own, with titles of at most 24 characters."
        }
        widgets: ClassVar[dict[str, object]] = {"body": forms.Textarea(attrs={"rows": 22, "maxlength": MAX_CHARACTERS})}

    def write(self, now: datetime) -> Model:
        self.instance.competition = self.competition
        return page_save(self.instance)

    def submit(self, now: datetime) -> Model | None:
        try:
            return super().submit(now)
        except Refusal as refusal:
            self.add_error("tab", refusal.detail)
            return None


class ImageForm(forms.Form):
    """An image for pages, under a name by which texts show it."""

    upload = ImageUploadField(label="Image", help_text=IMAGE_HELP)
    name = forms.CharField(
        max_length=200,
        required=False,
        validators=[IMAGE_NAME],
        help_text=(
            "Texts refer to it by this name. Leave empty to use the file's name. An image of the same name is replaced."
        ),
    )

    def clean(self) -> dict[str, object]:
        cleaned = super().clean() or self.cleaned_data
        if upload := cleaned.get("upload"):
            cleaned["name"] = cleaned.get("name") or storable_name(upload)
        return cleaned


class RulesForm(CompetitionForm):
    """The text that is in force; saving publishes it as the next version."""

    class Meta:
        model = RulesVersion
        fields = ("text", "format")
        labels: ClassVar[dict[str, str]] = {"text": "Rules", "format": "Written in"}
        widgets: ClassVar[dict[str, object]] = {"text": forms.Textarea(attrs={"rows": 24, "maxlength": MAX_CHARACTERS})}

    def clean(self) -> dict[str, object]:
        """Refuse a text that holds the place of rules, before it is compared."""
        values = super().clean() or self.cleaned_data
        if "text" in values and is_placeholder(str(values["text"])) and not self.is_unchanged:
            self.add_error("text", RULES_SAY_NOTHING().detail)
        return values

    def consequences(self, now: datetime) -> list[str]:
        if self.is_unchanged:
            return []
        people = Registration.objects.filter(competition=self.competition, state=Registration.State.APPROVED).count()
        if not people:
            return []
        everybody = "The one person who takes part" if people == 1 else f"All {people} people who take part"
        return [
            f"{everybody} must accept the new version before they submit, download data or change their team again.",
            "What they submitted stays, and is scored. Say in an announcement what changed and why.",
        ]

    @property
    def is_unchanged(self) -> bool:
        """True where the text that was entered is in force already."""
        before, after = self.row, self.cleaned_data
        return bool(before) and before["format"] == after.get("format") and same_text(before["text"], after["text"])

    def write(self, now: datetime) -> Model:
        text, written = self.cleaned_data["text"].replace("\r\n", "\n"), Format(self.cleaned_data["format"])
        return rules_publish(competition=self.competition, text=text, form=written, now=now)


def rules_template(competition: Competition) -> str:
    """Rules to begin with."""
    context = {"schedule": {"max_team_size": competition.max_team_size}}
    return render_to_string("organize/guided/texts/rules.md", context).strip() + "\n"


def difference(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Changed lines as `ins` or `del`, some around them as `same`; `gap` stands for the rest."""
    old, new = before.splitlines(), after.splitlines()
    for number, group in enumerate(LineMatcher(old, new).get_grouped_opcodes(CONTEXT_LINES)):
        if number:
            yield "gap", "…"
        for kind, old_from, old_to, new_from, new_to in group:
            if kind == "equal":
                yield from (("same", line) for line in old[old_from:old_to])
                continue
            yield from (("del", line) for line in old[old_from:old_to])
            yield from (("ins", line) for line in new[new_from:new_to])
