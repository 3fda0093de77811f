"""Phases: a short form of what organizers change, with what it does to teams; added with a board, deleted while nobody submitted."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from django import forms
from django.db import transaction
from django.db.models import Max, Model, ProtectedError, Q
from django.http import QueryDict
from django.utils.text import slugify

from competitions.catalog.form_fields.prediction_format import PredictionFormatField, PredictionFormatWidget
from competitions.catalog.form_fields.sizes import SizeField
from competitions.catalog.models import Competition, Leaderboard, Phase, Task
from competitions.catalog.models.sections.schedule import later
from competitions.catalog.phases.changes import change_phase
from competitions.catalog.phases.rules import faults_of_change
from competitions.catalog.sealed_keys import published_by
from competitions.organize.editing.change_form import ChangeForm
from competitions.organize.refusals import PhaseHasSubmissions
from competitions.organize.steps.common import MOMENT, Moment

FORMAT: Final = "prediction_format"
OPEN_FOR: Final = timedelta(weeks=4)


class PhaseMoment(Moment):
    """The control shows minutes: an instant whose seconds it does not show is unchanged."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        before = initial.strftime(MOMENT) if isinstance(initial, datetime) else str(initial or "")
        return bool(before != (data or "")[: len("2030-01-01T00:00")])


class PhaseForm(ChangeForm):
    """What organizers change of a phase; its rare settings are in the admin."""

    groups: ClassVar[Any] = (
        ("Name", ("name", "description")),
        ("Dates (UTC)", ("opens_at", "closes_at", "upload_grace_minutes", "accepts_late")),
        ("Quota of a team", ("max_submissions_per_day", "max_submissions_per_week", "quota_week", "max_submissions")),
        ("What is submitted", ("accepts_predictions", "accepts_code", "accepts_datasets", "tasks", "prediction_format")),
        ("Smoke run", ("smoke_task", "smoke_scale")),
        ("Budget of a code submission", ("time_limit_s", "gpus", "cpus", "memory_bytes", "docker_image", "allow_network")),
        ("Own environment", ("own_weights", "own_images", "own_requirements")),
        ("Scoring", ("scoring_time_limit_s", "scoring_memory_bytes")),
        ("Who sees what", ("visibility", "reveal_at", "hide_output", "show_output_while_sealed")),
    )  # fmt: skip
    opens_at = PhaseMoment(label="Opens")
    closes_at = PhaseMoment(label="Closes", required=False, help_text="Empty: open for ever.")
    reveal_at = PhaseMoment(
        label="Reveal planned for (UTC)", required=False,
        help_text="Sealed scores become public by themselves then, not before the phase has closed and all is scored.",
    )  # fmt: skip

    class Meta:
        model = Phase
        fields = (
            "name", "description", "opens_at", "closes_at", "upload_grace_minutes", "accepts_late", "max_submissions_per_day",
            "max_submissions_per_week", "quota_week", "max_submissions", "accepts_predictions", "accepts_code", "accepts_datasets",
            "tasks", "prediction_format", "smoke_task", "smoke_scale", "time_limit_s", "gpus", "cpus", "memory_bytes",
            "docker_image", "allow_network", "own_weights", "own_images", "own_requirements", "scoring_time_limit_s",
            "scoring_memory_bytes", "visibility", "reveal_at", "hide_output", "show_output_while_sealed",
        )  # fmt: skip
        field_classes: ClassVar[Mapping[str, Any]] = {
            "memory_bytes": SizeField, "scoring_memory_bytes": SizeField, "prediction_format": PredictionFormatField,
        }  # fmt: skip
        labels: ClassVar[Mapping[str, str]] = {
            "max_submissions_per_day": "A day", "max_submissions_per_week": "A week", "max_submissions": "In total",
            "memory_bytes": "Memory", "scoring_memory_bytes": "Memory", "scoring_time_limit_s": "Time limit (s)",
            "prediction_format": "Prediction files", "docker_image": "Image",
        }  # fmt: skip
        help_texts: ClassVar[Mapping[str, str]] = {
            "prediction_format": "Uploads are checked against it before they are queued."
        }
        widgets: ClassVar[Mapping[str, Any]] = {
            "tasks": forms.CheckboxSelectMultiple, "description": forms.Textarea(attrs={"rows": 3}),
            "memory_bytes": forms.TextInput, "scoring_memory_bytes": forms.TextInput,
        }  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tasks, prediction_format, smoke = (self.fields[name] for name in ("tasks", "prediction_format", "smoke_task"))
        assert isinstance(tasks, forms.ModelMultipleChoiceField)
        assert isinstance(smoke, forms.ModelChoiceField)
        assert isinstance(prediction_format, PredictionFormatField)
        known = (
            Q(competition=self.competition) | Q(phases=self.instance.pk)
            if self.instance.pk
            else Q(competition=self.competition)
        )
        tasks.queryset = Task.objects.filter(pk__in=Task.objects.filter(known, dataset=None, checks=None).values("pk"))
        smoke.queryset = tasks.queryset.filter(is_public_split=True)
        prediction_format.stored = self.initial.get("prediction_format")
        if not self.instance.pk:
            self.instance.competition = self.competition
            self.instance.slug = _free_slug(self.competition, str(self.data.get("name", "")))

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        fixed = {"dataset_check": self.instance.dataset_check}
        for field, sentence in faults_of_change(self.instance, self.competition, cleaned | fixed):
            self.add_error(field if field in self.fields else None, sentence)
        return cleaned

    def take_over(self, names: list[str]) -> None:
        super().take_over([name for name in names if name != FORMAT])
        widget = self.fields[FORMAT].widget
        if FORMAT in names and isinstance(widget, PredictionFormatWidget) and isinstance(self.data, QueryDict):
            for key, texts in widget.data_of(FORMAT, self.row[FORMAT]).items():
                self.data.setlist(key, texts)

    def submit(self, now: datetime) -> Model | None:
        saved = super().submit(now)
        if isinstance(saved, Phase) and (keys := published_by(saved, saved.tasks.all())):
            other = next(iter(keys.values()))
            self.add_error(
                "tasks", f"“{other.name}” keeps scores sealed on one of these tasks; here everybody would see them."
            )
            return None
        return saved

    def write(self, now: datetime) -> Model:
        return self._store(now) if self.instance.pk else self._add(now)

    def _store(self, now: datetime) -> Phase:
        tasks = self.cleaned_data["tasks"]
        return change_phase(self.instance, tasks=tasks, now=now, confirmed=self.confirmed).phase

    def _add(self, now: datetime) -> Phase:
        """A new phase is the last one, with a board like that of the phase before."""
        before = self.competition.phases.order_by("index", "pk").last()
        highest = self.competition.phases.aggregate(highest=Max("index"))["highest"]
        self.instance.index = 0 if highest is None else highest + 1
        phase = self._store(now)
        if before is not None and before.main_board is not None:
            board_copy(before.main_board, phase)
        return phase


def _free_slug(competition: Competition, name: str) -> str:
    base, taken = slugify(name)[:50].strip("-") or "phase", set(competition.phases.values_list("slug", flat=True))
    return (
        base
        if base not in taken
        else next(f"{base}-{number}" for number in range(2, len(taken) + 3) if f"{base}-{number}" not in taken)
    )


def new_phase_values(competition: Competition, now: datetime) -> dict[str, Any]:
    """What the form of a new phase begins with: the settings of the last phase, and the weeks after it."""
    last = competition.phases.order_by("index", "pk").last()
    tomorrow = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    opens_at = max(tomorrow, last.closes_at) if last is not None and last.closes_at else tomorrow
    dates = {
        "opens_at": opens_at,
        "closes_at": later(opens_at, OPEN_FOR),
        "reveal_at": None,
        "name": "",
        "description": "",
    }
    if last is None:
        return dates | {"tasks": list(competition.tasks.filter(dataset=None, checks=None))}
    return (
        {name: getattr(last, name) for name in PhaseForm.Meta.fields if name != "tasks"}
        | dates
        | {"tasks": list(last.tasks.all())}
    )


def board_copy(board: Leaderboard, phase: Phase) -> Leaderboard:
    """A board of the phase with the same settings and columns, and without scores."""
    columns = list(board.columns.all())
    names = (
        "key",
        "title",
        "index",
        "rule",
        "max_selected",
        "is_hidden",
        "is_transposed",
        "shows_tasks",
        "breaks_ties",
        "gives_exact_scores",
    )
    copy = Leaderboard.objects.create(phase=phase, **{name: getattr(board, name) for name in names})
    for column in columns:
        column.pk, column.leaderboard = None, copy
        column.save(force_insert=True)
    return copy


@transaction.atomic
def phase_delete(phase: Phase) -> None:
    """Delete a phase with its boards. Raises `PhaseHasSubmissions`: what was submitted, and what is under seal, keeps it."""
    try:
        with transaction.atomic():
            Phase.objects.select_for_update().get(pk=phase.pk).delete()
    except ProtectedError as error:
        raise PhaseHasSubmissions(phase.name) from error
