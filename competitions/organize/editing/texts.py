"""Forms of texts: pages, images on them, and rules."""

from datetime import datetime
from typing import ClassVar

from django import forms
from django.db.models import Model

from competitions.catalog.form_fields.images import IMAGE_HELP, ImageUploadField, storable_name
from competitions.catalog.models import Page
from competitions.catalog.models.texts import IMAGE_NAME
from competitions.catalog.texts.pages import MAX_TABS, page_save
from competitions.organize.editing.change_form import CompetitionForm
from core.refusals import Refusal
from files.markup import MAX_CHARACTERS


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
        help_text="Texts show it by this name. Empty: the name of the file. An image of the same name is replaced.",
    )

    def clean(self) -> dict[str, object]:
        cleaned = super().clean() or self.cleaned_data
        if upload := cleaned.get("upload"):
            cleaned["name"] = cleaned.get("name") or storable_name(upload)
        return cleaned
