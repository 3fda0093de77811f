"""The sections of the organizer's settings, each a short form, and who sees the competition at all."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django import forms
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.db import transaction
from django.db.models import Q
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from accounts.models import User
from competitions.catalog.changes.competitions import change_competition
from competitions.catalog.form_fields.images import IMAGE_HELP, ImageUploadField, Shown, store_upload
from competitions.catalog.models import Competition, ImageUpload, Series
from competitions.catalog.texts.images import image_request
from competitions.compute.models import Queue
from competitions.organize.editing.change_form import CompetitionForm
from competitions.organize.steps.common import Moment, TagsField
from competitions.web.forms import offer


class SettingsForm(CompetitionForm):
    """A section of the settings. `by` is the organizer who sees it, and decides what they may choose."""

    def __init__(self, competition: Competition, data: Any = None, *, by: User, **options: Any) -> None:
        self.by = by
        super().__init__(competition, data, instance=competition, **options)

    @property
    def entered_tags(self) -> list[str] | None:
        """The tags that were entered; None where the section has none."""
        return None

    def write(self, now: datetime) -> Competition:
        return change_competition(self.instance, now=now, confirmed=self.confirmed, tags=self.entered_tags).row


class AboutForm(SettingsForm):
    """The texts that people see first, in the list and above every page."""

    tags = TagsField()

    class Meta:
        model = Competition
        fields = Competition.form["About"]
        labels = {
            "subtitle": "In one line",
            "host": "Who hosts it",
            "reward": "Prize",
            "contact_email": "Contact e-mail",
        }
        help_texts = {"contact_email": "Shown on the competition's pages; answers to your mails go there."}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.order_fields(["title", "subtitle", "host", "reward", "tags", "contact_email"])

    def get_initial_for_field(self, field: forms.Field, field_name: str) -> Any:
        if field_name == "tags" and self.instance.pk:
            return ", ".join(self.instance.tags)
        return super().get_initial_for_field(field, field_name)

    def shared_values(self) -> dict[str, object]:
        return self.row | {"tags": ", ".join(self.instance.tags)}

    @property
    def entered_tags(self) -> list[str]:
        entered: str = self.cleaned_data["tags"]
        return entered.split(",")


class PictureInput(forms.ClearableFileInput):
    """A file beside the picture that is there."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        return render_to_string("forms/picture.html", self.get_context(name, value, attrs))


class PicturesForm(SettingsForm):
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

    def shared_values(self) -> dict[str, object]:
        return {"logo_file": self.instance.logo_id, "cover_file": self.instance.cover_id}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for upload in self.instance.image_uploads.exclude(place=ImageUpload.Place.PAGE):
            notice = (
                f"What was uploaded cannot be shown. {upload.fault}"
                if upload.fault
                else "What was uploaded will be shown in a few seconds."
            )
            field = self.fields[f"{upload.place}_file"]
            field.help_text = f"{notice} {field.help_text}"

    def write(self, now: datetime) -> Competition:
        """Without what was cleared; what was uploaded is shown once it is written anew."""
        chosen = {name: self.cleaned_data[f"{name}_file"] for name in ("logo", "cover")}
        for name in (name for name, file in chosen.items() if file is False):
            setattr(self.instance, name, None)
            self.instance.image_uploads.filter(place=name).delete()
        competition = super().write(now)
        for name, file in chosen.items():
            if isinstance(file, TemporaryUploadedFile):
                place = ImageUpload.Place(name)
                image_request(competition=competition, place=place, file=store_upload(file), now=now)
        return competition


class EntryForm(SettingsForm):
    """Registration: who takes part, and until when."""

    registration_closes_at = Moment(
        label="Registration closes (UTC)", required=False, help_text="Leave empty to keep it open."
    )
    merges_close_at = Moment(
        label="Teams may merge until (UTC)", required=False, help_text="Leave empty for no deadline."
    )

    class Meta:
        model = Competition
        fields = Competition.form["Taking part"]
        labels = {
            "registration_policy": "Registration",
            "max_team_size": "People in a team, at most",
            "allow_robot_submissions": "Service accounts take part without an organizer's approval, and run any team's submissions again",
        }
        help_texts = {"max_team_size": "Teams that are larger already stay as they are."}


class RunningForm(SettingsForm):
    """The queue and the image that submissions run in."""

    class Meta:
        model = Competition
        fields = Competition.form["Running"]
        labels = {"docker_image": "Image"}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        usable = Queue.objects.usable_by(self.by).values("pk")
        queues = Queue.objects.filter(Q(pk__in=usable) | Q(pk=self.instance.queue_id))
        offer(self, "queue", queues).empty_label = None


class FilesForm(SettingsForm):
    """Results, programs and data that teams and visitors may read."""

    class Meta:
        model = Competition
        fields = Competition.form["Results and files"]


class DiscussionForm(SettingsForm):
    """The place where people discuss, and which posts wait for an organizer."""

    class Meta:
        model = Competition
        fields = Competition.form["Discussion"]


class AddressForm(SettingsForm):
    """The competition's address, kind and series."""

    class Meta:
        model = Competition
        fields = Competition.form["Address"]
        labels = {"slug": "Address", "competition_type": "Kind"}
        help_texts = {"slug": "The last part of its address: /competitions/…/"}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        managed = Competition.objects.managed_by(self.by).values("series")
        offer(self, "series", Series.objects.filter(Q(owner=self.by) | Q(pk__in=managed)))


SECTIONS: Final[Mapping[str, tuple[str, type[SettingsForm]]]] = {
    "about": ("About", AboutForm),
    "pictures": ("Pictures", PicturesForm),
    "entry": ("Taking part", EntryForm),
    "running": ("Running", RunningForm),
    "files": ("Results and files", FilesForm),
    "discussion": ("Discussion", DiscussionForm),
    "address": ("Address", AddressForm),
}


class SectionForm(forms.Form):
    """The section that was sent."""

    section = forms.ChoiceField(choices=[(name, title) for name, (title, _) in SECTIONS.items()])


def section_save(
    competition: Competition, section: str, data: Any, files: Any, *, by: User
) -> tuple[SettingsForm, bool]:
    """The section's form, and whether it was saved; one organizer's save follows the other's."""
    with transaction.atomic():
        locked = Competition.objects.select_for_update(of=("self",), no_key=True).get(pk=competition.pk)
        form = SECTIONS[section][1](locked, data, files=files, by=by)
        is_saved = form.submit(timezone.now()) is not None
        transaction.set_rollback(not is_saved)
    return form, is_saved
