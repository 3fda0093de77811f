"""Steps that every competition has: its name, its dates and limits."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django import forms
from django.utils import timezone

from competitions.catalog.models import MOST_TAGS
from competitions.catalog.services import TagsInvalid, clean_tags
from competitions.organize.steps.step import Step, StepForm

MOMENT: Final = "%Y-%m-%dT%H:%M"
OPEN_FOR: Final = timedelta(weeks=8)


class TagsField(forms.CharField):
    """Tags as one line with commas."""

    def __init__(self) -> None:
        super().__init__(
            required=False,
            max_length=400,
            help_text=f"Separated by commas, at most {MOST_TAGS}: people filter the list by them.",
        )

    def clean(self, value: Any) -> str:
        try:
            return ", ".join(clean_tags(super().clean(value).split(",")))
        except TagsInvalid as refusal:
            raise forms.ValidationError(refusal.detail, code=refusal.code) from refusal


class AboutForm(StepForm):
    title = forms.CharField(max_length=256, help_text="The address of its pages is made from it.")
    subtitle = forms.CharField(
        label="In one line", max_length=256, required=False, help_text="What is to be predicted, and why that matters."
    )
    host = forms.CharField(label="Who hosts it", max_length=200, required=False)
    reward = forms.CharField(label="Prize", max_length=256, required=False)
    tags = TagsField()

    def prepare(self) -> None:
        owner = self.draft.owner
        self.fields["host"].initial = owner.affiliation or str(owner)


class Moment(forms.DateTimeField):
    """A date and time in UTC, by the browser's own control."""

    def __init__(self, **options: Any) -> None:
        widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format=MOMENT)
        super().__init__(widget=widget, input_formats=[MOMENT, "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M"], **options)

    def to_python(self, value: Any) -> datetime | None:
        moment: datetime | None = super().to_python(value)
        return moment.replace(tzinfo=UTC) if moment is not None else None


class ScheduleForm(StepForm):
    opens_at = Moment(label="Opens (UTC)")
    closes_at = Moment(
        label="Closes (UTC)", help_text="What arrives later is not ranked. You can move the end while the phase runs."
    )
    max_submissions_per_day = forms.IntegerField(
        label="Submissions a day",
        min_value=1,
        max_value=1000,
        initial=5,
        help_text="For each team. What fails on our side does not count.",
    )
    max_team_size = forms.IntegerField(label="People in a team, at most", min_value=1, max_value=1000, initial=4)

    def prepare(self) -> None:
        now = timezone.now().replace(minute=0, second=0, microsecond=0)
        self.fields["opens_at"].initial = now.strftime(MOMENT)
        self.fields["closes_at"].initial = (now + OPEN_FOR).strftime(MOMENT)

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        opens_at, closes_at = cleaned.get("opens_at"), cleaned.get("closes_at")
        if opens_at and closes_at and closes_at <= opens_at:
            self.add_error("closes_at", "It closes before it opens. Choose a later date.")
        elif closes_at and closes_at <= timezone.now():
            self.add_error("closes_at", "This date has passed. Choose a later one.")
        return cleaned


ABOUT: Final = Step(
    "about",
    "Title",
    "What is it called?",
    AboutForm,
    preview="organize/guided/previews/about.html",
    intro="This is what people see first, in the list of competitions and above every page.",
)
SCHEDULE: Final = Step(
    "schedule",
    "Dates and limits",
    "When does it run, and how much may teams send?",
    ScheduleForm,
    preview="organize/guided/previews/schedule.html",
    intro="The defaults suit a course or a small challenge.",
)
