"""Phases: a form of all settings that shows what a change does; add with a board, delete unused ones."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from django import forms
from django.db import transaction
from django.db.models import Case, Model, ProtectedError, Q, QuerySet, When
from django.forms.models import model_to_dict
from django.http import QueryDict
from django.utils.text import slugify

from accounts.models import User
from competitions.catalog.changes.boards import copy_board
from competitions.catalog.changes.phases import change_phase, faults_of_change
from competitions.catalog.form_fields.prediction_format import PredictionFormatField, PredictionFormatWidget
from competitions.catalog.form_fields.sizes import SizeField
from competitions.catalog.models import Competition, Phase, Task, setting_names
from competitions.catalog.models.sections.intake import later
from competitions.catalog.presets import PRESETS
from competitions.catalog.sealed_keys import published_by
from competitions.organize.editing.change_form import CompetitionForm
from competitions.organize.refusals import PHASE_HAS_SUBMISSIONS
from competitions.organize.steps.common import MOMENT, Moment
from competitions.web.forms import offer
from core.clock import day_began_at
from core.models import next_index
from files.text import free_name

FORMAT: Final = "prediction_format"
SIZES: Final = ("memory_bytes", "output_bytes", "scoring_memory_bytes")
TAKES: Final = {"prediction": "accepts_predictions", "code": "accepts_code", "dataset": "accepts_datasets"}
TASK_FIELDS: Final = ("tasks", "dataset_check", "smoke_task")
OPEN_FOR: Final = timedelta(weeks=4)
ALWAYS_OPEN: Final = frozenset({"Name", "Scores", "Dates (UTC)", "Quota per team", "What is submitted"})
EXPLAINED: Final = {
    "What is submitted": "Which kinds of files teams send, what they are checked against, and on which tasks they are run.",
    "Agents, text files and Codabench": "Who submits beside people, and how files are checked and run.",
    "A board that grows by datasets": "Leave it empty unless teams submit datasets, too.",
    "Smoke run": "Code runs on it before anything hidden is touched; teams may download all of its files, labels included.",
    "Quota per team": "What fails because of an error of the site or the organizers is not counted.",
    "Budget of a code submission": "What one run may use at most; prediction files need none of it.",
    "Own environment": "What teams may bring for their code. Images and requirements need settings of the queue, too.",
    "Scoring and queue": "What the scoring program may use, and whose turn comes first.",
    "Outputs and network": "What teams read of their runs, and what programs may reach.",
}


class PhaseMoment(Moment):
    """The control shows minutes: an instant whose seconds it does not show is unchanged."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        before = initial.strftime(MOMENT) if isinstance(initial, datetime) else str(initial or "")
        return bool(before != (data or "")[: len("2030-01-01T00:00")])


class PhaseForm(CompetitionForm):
    """Every setting of a phase, in the sections that declare them; for the workspace and the admin alike."""

    groups: ClassVar[Any] = tuple({**Phase.form, "Name": (*Phase.form["Name"], "preset")}.items())
    explained: ClassVar[Mapping[str, str]] = EXPLAINED
    opens_at = PhaseMoment(label="Opens")
    closes_at = PhaseMoment(label="Closes", required=False, help_text="Leave empty for no end.")
    reveal_at = PhaseMoment(
        label="Reveal planned for (UTC)",
        required=False,
        help_text="Sealed scores become public by themselves then, not before the phase has closed and all is scored.",
    )
    preset = forms.ChoiceField(
        required=False,
        choices=[("", "none"), *((name, preset.title) for name, preset in PRESETS.items())],
        help_text="Overwrites budget, quotas, visibility and prediction format with the rules of a known challenge.",
    )

    class Meta:
        model = Phase
        fields = setting_names(Phase)
        field_classes: ClassVar[Mapping[str, object]] = dict.fromkeys(SIZES, SizeField) | {
            FORMAT: PredictionFormatField
        }
        labels: ClassVar[Mapping[str, str]] = {
            "slug": "Address",
            "index": "Place",
            "max_submissions_per_day": "A day",
            "max_submissions_per_week": "A week",
            "max_submissions": "In total",
            "memory_bytes": "Memory",
            "output_bytes": "Output",
            "scoring_memory_bytes": "Memory",
            "scoring_time_limit_s": "Time limit (s)",
            "prediction_format": "Prediction files",
            "docker_image": "Image",
        }
        help_texts: ClassVar[Mapping[str, str]] = {
            "slug": "Its name in addresses: ?phase=… Leave empty to have it made from the name.",
            "index": "Phases are listed in this order, the lowest first. Leave empty to put it last.",
            "pids": "Processes and threads that may be there at once.",
            "prediction_format": "Uploads are checked against it before they are queued.",
        }
        widgets: ClassVar[Mapping[str, object]] = dict.fromkeys(SIZES, forms.TextInput) | {
            "tasks": forms.CheckboxSelectMultiple,
            "description": forms.Textarea(attrs={"rows": 3}),
            "column_descriptions": forms.Textarea(attrs={"rows": 6}),
        }

    def __init__(self, *args: Any, by: User, **kwargs: Any) -> None:
        self.by = by
        super().__init__(*args, **kwargs)
        self.fields["slug"].required = self.fields["index"].required = False
        for name in TASK_FIELDS:
            tasks = self._tasks()
            field = offer(self, name, tasks.filter(is_public_split=True) if name == "smoke_task" else tasks)
            field.label_from_instance = self._task_label  # type: ignore[method-assign]
            field.error_messages["invalid_choice"] = (
                "The task %(value)s belongs to another competition or to somebody else, or is gone."
            )
        prediction_format = self.fields[FORMAT]
        assert isinstance(prediction_format, PredictionFormatField)
        prediction_format.stored = self.initial.get(FORMAT)
        if not self.instance.pk:
            self.instance.competition = self.competition

    def _tasks(self) -> QuerySet[Task]:
        """Tasks of the competition, of the phase, and others that this person may use; no teams' datasets."""
        elsewhere = Task.objects.usable_by(self.by).filter(Q(competition=None) | Q(is_public=True))
        fitting = Q(competition=self.competition) | Q(pk__in=elsewhere.values("pk"))
        if self.instance.pk:
            fitting |= Q(phases=self.instance.pk)
        chosen = Task.objects.filter(fitting, dataset=None, checks=None)
        is_own = Case(When(competition=self.competition, then=0), default=1)
        tasks = Task.objects.filter(pk__in=chosen.values("pk")).select_related("competition")
        return tasks.order_by(is_own, "competition__title", "pk")

    def _task_label(self, obj: Any) -> str:
        """Tasks of many competitions have the same names."""
        if obj.competition_id == self.competition.pk:
            return str(obj.name)
        return f"{obj.name} ({obj.competition or 'of no competition'})"

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or self.cleaned_data
        if preset := PRESETS.get(str(cleaned.get("preset") or "")):
            cleaned |= preset.fields()
            if cleaned.get("dataset_check") is not None:
                text = "A known challenge has a fixed dataset, so its board does not grow. Choose one of the two."
                self.add_error("preset", text)
        if "slug" not in self.errors:
            cleaned["slug"] = self._address(cleaned)
        if cleaned.get("index") is None and "index" not in self.errors:
            cleaned["index"] = self.instance.index if self.instance.pk else next_index(self.competition.phases)
        for field, sentence in faults_of_change(self.instance, self.competition, cleaned):
            self.add_error(field if field in self.fields else None, sentence)
        return cleaned

    def _address(self, cleaned: Mapping[str, object]) -> str:
        """The address that was entered, that it has, or one that is made of the name."""
        slug = str(cleaned.get("slug") or self.instance.slug)
        if slug and self.competition.phases.filter(slug=slug).exclude(pk=self.instance.pk).exists():
            self.add_error("slug", f"Another phase has the address {slug!r}. Choose another one.")
        base = slugify(str(cleaned.get("name", "")))[:50].strip("-") or "phase"
        return slug or free_name(base, set(self.competition.phases.values_list("slug", flat=True)))

    def take_over(self, names: list[str]) -> None:
        super().take_over([name for name in names if name != FORMAT])
        widget = self.fields[FORMAT].widget
        if FORMAT in names and isinstance(widget, PredictionFormatWidget) and isinstance(self.data, QueryDict):
            for key, texts in widget.stored_data(FORMAT, self.row[FORMAT]).items():
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

    def write(self, now: datetime) -> Phase:
        """Store it; a new phase gets a board like that of the phase before."""
        before = None if self.instance.pk else self.competition.phases.order_by("index", "pk").last()
        tasks = self.cleaned_data["tasks"]
        phase = change_phase(self.instance, tasks=tasks, now=now, confirmed=self.confirmed).row
        if before is not None and before.main_board is not None:
            copy_board(before.main_board, phase, now=now)
        return phase

    def applies(self, title: str) -> bool:
        """Judge by the kinds of submissions that are chosen in the form now."""
        kinds = Phase.form_kinds.get(title)
        return kinds is None or any(self[field].value() for kind, field in TAKES.items() if kind in kinds)

    @property
    def open_groups(self) -> set[str]:
        """Headings of unfolded groups: those that every phase needs, and those with a value or an error."""
        usual = model_to_dict(Phase(competition=self.competition), fields=self._meta.fields)
        changed = self.changed_data if self.is_bound else []
        return {
            heading
            for heading, names in self.groups
            if heading in ALWAYS_OPEN
            or any(self.initial.get(name) not in (usual.get(name), None, "", []) for name in names)
            or any(name in self.errors or name in changed for name in names)
        }


def new_phase_values(competition: Competition, now: datetime) -> dict[str, object]:
    """Initial values of a new phase: the settings of the last phase, and the weeks after it."""
    last = competition.phases.order_by("index", "pk").last()
    tomorrow = day_began_at(now) + timedelta(days=1)
    opens_at = max(tomorrow, last.closes_at) if last is not None and last.closes_at else tomorrow
    named = {"name": "", "slug": "", "description": "", "index": None}
    dates = {"opens_at": opens_at, "closes_at": later(opens_at, OPEN_FOR), "reveal_at": None}
    if last is None:
        return named | dates | {"tasks": list(competition.tasks.filter(dataset=None, checks=None))}
    own = ("name", "slug", "description", "index", "tasks")
    settings = {name: getattr(last, name) for name in PhaseForm.Meta.fields if name not in own}
    return settings | named | dates | {"tasks": list(last.tasks.all())}


@transaction.atomic
def phase_delete(phase: Phase) -> None:
    """Delete a phase with its boards; `PHASE_HAS_SUBMISSIONS` if it has submissions or sealed scores."""
    try:
        with transaction.atomic():
            Phase.objects.select_for_update().get(pk=phase.pk).delete()
    except ProtectedError as error:
        raise PHASE_HAS_SUBMISSIONS(name=phase.name) from error
