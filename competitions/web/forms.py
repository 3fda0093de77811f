"""Forms of the pages. A form checks the types of values; services decide which values are allowed."""

import json
from datetime import UTC, datetime
from typing import Any, Final

from django import forms
from django.db.models import QuerySet

from competitions.catalog.models import TAG_LENGTH
from competitions.compute.models import Queue
from competitions.environments.models import EnvironmentFile
from competitions.submissions.annotations import Annotations, read_annotations, split_tags
from competitions.submissions.states import Kind
from core.refusals import Refusal


class FormInvalid(Refusal):
    """A field of a form holds something of another kind; names the first one."""

    code, http_status = "invalid_form", 422

    def __init__(self, form: forms.BaseForm) -> None:
        name, errors = next(iter(form.errors.items()), ("", ["Nothing was sent."]))
        label = form[name].label if name in form.fields else "The form"
        super().__init__(f"{label}: {' '.join(str(error) for error in errors)}")


def cleaned(form: forms.BaseForm) -> dict[str, Any]:
    """The form's values. Raises `FormInvalid`."""
    if not form.is_valid():
        raise FormInvalid(form)
    return form.cleaned_data


def offer(form: forms.BaseForm, name: str, rows: QuerySet[Any]) -> "forms.ModelChoiceField[Any]":
    """Let people choose among these rows alone in a field of the form; returns the field."""
    field = form.fields[name]
    assert isinstance(field, forms.ModelChoiceField)
    field.queryset = rows
    return field


class SearchForm(forms.Form):
    """Filters of a list of competitions, from its address."""

    q = forms.CharField(required=False, max_length=100, label="Search")
    show = forms.ChoiceField(
        required=False,
        label="Show",
        choices=[("", "All"), ("own", "Yours"), ("running", "Running"), ("coming", "Coming"), ("past", "Past")],
    )
    order = forms.ChoiceField(
        required=False,
        label="Order",
        choices=[("", "Newest first"), ("closing", "Closing soon"), ("teams", "Most teams")],
    )
    tag = forms.CharField(required=False, max_length=TAG_LENGTH, widget=forms.HiddenInput)


class TeamNameForm(forms.Form):
    name = forms.CharField(required=False)


class InvitationForm(forms.Form):
    person = forms.CharField(required=False)


class LinkForm(forms.Form):
    people = forms.IntegerField()
    days = forms.IntegerField()


class HandOverForm(forms.Form):
    to = forms.CharField(required=False)


class MergeForm(forms.Form):
    other = forms.CharField(required=False)


class JoinForm(forms.Form):
    """The version of the rules that was read; 0 where the page names none."""

    rules_version = forms.IntegerField(required=False, min_value=0, max_value=2**31 - 1)

    def clean_rules_version(self) -> int:
        version: int | None = self.cleaned_data["rules_version"]
        return version or 0


class AnnotationsForm(forms.Form):
    """The tags, the commit and the link of a submission."""

    tags = forms.CharField(required=False, max_length=400)
    commit = forms.CharField(required=False, max_length=200)
    link = forms.CharField(required=False, max_length=1000)

    @property
    def annotations(self) -> Annotations:
        """Raises `FormInvalid`, or the refusal of an annotation."""
        values = cleaned(self)
        return read_annotations(tags=split_tags(values["tags"]), commit=values["commit"], link=values["link"])


class UploadForm(forms.Form):
    """A file: a finished upload, or the file itself from a page without script."""

    upload = forms.UUIDField(required=False)
    file = forms.FileField(required=False, allow_empty_file=True, max_length=255)


class SubmissionForm(UploadForm, AnnotationsForm):
    """A submission, with what its team notes of it."""

    phase = forms.CharField(required=False)
    kind = forms.ChoiceField(choices=Kind.choices)
    kind_is_sure = forms.BooleanField(required=False)  # whatever the file looks like
    description = forms.CharField(required=False)
    smoke = forms.BooleanField(required=False)
    weights = forms.CharField(required=False, max_length=120)
    image = forms.CharField(required=False, max_length=500)
    idempotency_key = forms.CharField(required=False, max_length=100)
    field_order = ["phase", "kind", "kind_is_sure", "upload", "file", "description"]


class FileLookForm(forms.Form):
    """The name of a file that a page is to send, and the names in a zip, as JSON."""

    phase = forms.CharField(required=False)
    kind = forms.ChoiceField(choices=Kind.choices)
    kind_is_sure = forms.BooleanField(required=False)
    file_name = forms.CharField(max_length=255)
    names = forms.CharField()

    def clean_names(self) -> list[str]:
        try:
            names = json.loads(self.cleaned_data["names"])
        except (ValueError, RecursionError) as error:  # brackets in brackets, thousands deep
            raise forms.ValidationError("Give the names as JSON.") from error
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise forms.ValidationError("Give the names as a list of texts.")
        return names


class EnvironmentFileForm(UploadForm):
    """Weights or an image."""

    kind = forms.ChoiceField(choices=EnvironmentFile.Kind.choices)
    name = forms.CharField(max_length=60)
    field_order = ["kind", "name"]


class BundleForm(forms.Form):
    """A competition as a zip, and its queue; without one it is the bundle's, else the site's."""

    file = forms.FileField(required=False, allow_empty_file=True, max_length=255)
    queue = forms.ModelChoiceField(Queue.objects.none(), required=False)

    def __init__(self, data: Any, files: Any, *, queues: QuerySet[Queue]) -> None:
        super().__init__(data, files)
        offer(self, "queue", queues)


class ExportForm(forms.Form):
    """A choice for an exported bundle: its files, or keys in their place."""

    KEYS: Final = "keys"
    content = forms.ChoiceField(required=False, choices=[("all", "With files"), (KEYS, "With keys")])


class CodeForm(forms.Form):
    repository_url = forms.CharField(required=False)
    commit = forms.CharField(required=False)
    bundle = forms.FileField(required=False, allow_empty_file=True, max_length=255)


class ReportForm(forms.Form):
    report_url = forms.CharField(required=False)


class HardwareForm(forms.Form):
    hardware = forms.CharField(required=False, strip=False)


class FailureForm(forms.Form):
    reason = forms.CharField(required=False)


NO_DEADLINE: Final = "Give the new deadline as a date and time in UTC, for instance 2030-06-30 12:00."


class DeadlineForm(forms.Form):
    due_at = forms.DateTimeField(label="New deadline", error_messages={"required": NO_DEADLINE, "invalid": NO_DEADLINE})

    def clean_due_at(self) -> datetime:
        """Without a zone it is UTC."""
        due_at: datetime = self.cleaned_data["due_at"]
        return due_at if due_at.tzinfo else due_at.replace(tzinfo=UTC)


class RevealForm(forms.Form):
    act = forms.ChoiceField(required=False, choices=[("commit", "Commit"), ("reveal", "Reveal")])
    reason = forms.CharField(required=False, max_length=1000)
    before_the_end = forms.BooleanField(required=False)
