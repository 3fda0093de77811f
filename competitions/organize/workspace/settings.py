"""The sections of the organizer's settings, each a short form, and who sees the competition at all."""

from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.db import transaction
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from competitions.catalog.form_fields.images import IMAGE_HELP, ImageUploadField, Shown, store_upload
from competitions.catalog.models import Competition, ImageUpload
from competitions.catalog.tags import tags_set
from competitions.catalog.texts.images import image_request
from competitions.organize.steps.common import Moment, TagsField
from competitions.organize.workspace.editing import EditForm


class AboutForm(EditForm[Competition]):
    """What people see first, in the list and above every page."""

    tags = TagsField()

    class Meta:
        model = Competition
        fields = ("title", "subtitle", "host", "reward", "contact_email")
        labels = {
            "subtitle": "In one line",
            "host": "Who hosts it",
            "reward": "Prize",
            "contact_email": "Contact e-mail",
        }
        help_texts = {"contact_email": "Shown on the competition's pages; answers to your mails go there."}

    def get_initial_for_field(self, field: forms.Field, field_name: str) -> Any:
        if field_name == "tags" and self.instance.pk:
            return ", ".join(self.instance.tags)
        return super().get_initial_for_field(field, field_name)

    def save(self, commit: bool = True) -> Competition:
        competition = super().save(commit)
        tags_set(competition=competition, names=self.cleaned_data["tags"].split(","))
        return competition


class PictureInput(forms.ClearableFileInput):
    """A file beside the picture that is there."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        return render_to_string("forms/picture.html", self.get_context(name, value, attrs))


class PicturesForm(EditForm[Competition]):
    """Logo and cover."""

    logo_file = ImageUploadField(
        label="Logo", widget=PictureInput, required=False, help_text=f"Beside the title. {IMAGE_HELP}"
    )
    cover_file = ImageUploadField(
        widget=PictureInput,
        label="Cover",
        required=False,
        help_text="Behind the title and on the card, wide rather than high. Without one, it is drawn.",
    )

    class Meta:
        model = Competition
        fields = ()

    def get_initial_for_field(self, field: forms.Field, field_name: str) -> Any:
        name = field_name.removesuffix("_file")
        if name in ("logo", "cover") and getattr(self.instance, f"{name}_id"):
            return Shown(reverse(f"web:{name}", args=[self.instance.slug]))
        return None

    def shared_values(self) -> Mapping[str, Any]:
        return {"logo_file": self.instance.logo_id, "cover_file": self.instance.cover_id}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for asked in self.instance.image_uploads.exclude(place=ImageUpload.Place.PAGE):
            notice = (
                f"What was uploaded cannot be shown. {asked.fault}"
                if asked.fault
                else "What was uploaded is shown in a few seconds."
            )
            field = self.fields[f"{asked.place}_file"]
            field.help_text = f"{notice} {field.help_text}"

    def save(self, commit: bool = True) -> Competition:
        """Without what was cleared; what was uploaded is shown once it is written anew."""
        chosen = {name: self.cleaned_data[f"{name}_file"] for name in ("logo", "cover")}
        for name in (name for name, file in chosen.items() if file is False):
            setattr(self.instance, name, None)
            self.instance.image_uploads.filter(place=name).delete()
        competition = super().save(commit)
        for name, file in chosen.items():
            if isinstance(file, TemporaryUploadedFile):
                place = ImageUpload.Place(name)
                image_request(competition=competition, place=place, file=store_upload(file), now=timezone.now())
        return competition


class EntryForm(EditForm[Competition]):
    """Who takes part, and until when."""

    registration_closes_at = Moment(
        label="Registration closes (UTC)", required=False, help_text="Empty: it stays open."
    )
    merges_close_at = Moment(label="Teams may merge until (UTC)", required=False, help_text="Empty: always.")

    class Meta:
        model = Competition
        fields = (
            "registration_policy",
            "registration_closes_at",
            "max_team_size",
            "merges_close_at",
            "allow_robot_submissions",
        )
        labels = {
            "registration_policy": "Registration",
            "max_team_size": "People in a team, at most",
            "allow_robot_submissions": "Service accounts take part without an organizer's approval, and run any team's submissions again",
        }
        help_texts = {"max_team_size": "Teams that are larger already stay as they are."}


SECTIONS: Final[Mapping[str, tuple[str, type[EditForm[Competition]]]]] = {
    "about": ("About", AboutForm),
    "pictures": ("Pictures", PicturesForm),
    "entry": ("Taking part", EntryForm),
}


class SectionForm(forms.Form):
    """Which section was sent."""

    section = forms.ChoiceField(choices=[(name, title) for name, (title, _) in SECTIONS.items()])


@transaction.atomic
def section_save(competition: Competition, section: str, data: Any, files: Any) -> EditForm[Competition]:
    """The section's form, saved where it is valid; one organizer's save follows the other's."""
    locked = Competition.objects.select_for_update().get(pk=competition.pk)
    form = SECTIONS[section][1](data, files, instance=locked)
    if form.is_valid():
        form.save()
    return form
