"""The form of a phase: presets, tasks that it can have, and what a change to one that has begun does to teams."""

from typing import Any, Final, cast

from django import forms
from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.utils import timezone
from django.utils.html import format_html, format_html_join

from competitions.catalog.form_fields.prediction_format import PredictionFormatField
from competitions.catalog.form_fields.sizes import SizeField
from competitions.catalog.models import Phase, Task
from competitions.catalog.phases.changes import require_impact_confirmed
from competitions.catalog.phases.presets import PRESETS
from competitions.catalog.phases.rules import faults_of_change
from core.confirmations import NeedsConfirmation
from core.text import is_number

INSTANTS: Final = ("opens_at", "closes_at", "reveal_at")


class PhaseForm(forms.ModelForm[Phase]):
    preset = forms.ChoiceField(
        required=False,
        choices=[("", "—"), *((name, preset.title) for name, preset in PRESETS.items())],
        help_text="Overwrites budget, quotas, visibility and prediction format with the rules of a known challenge.",
    )

    confirmed = forms.CharField(required=False, widget=forms.HiddenInput)

    class Meta:
        model = Phase
        fields = "__all__"
        field_classes = dict.fromkeys(("memory_bytes", "output_bytes", "scoring_memory_bytes"), SizeField) | {
            "prediction_format": PredictionFormatField
        }
        help_texts = {
            "prediction_format": "Uploads are checked against it before they are queued.",
            "slug": "Its name in addresses: ?phase=…",
            "index": "Phases are listed by it, the lowest first.",
            "pids": "Processes and threads that may be there at once.",
        }
        labels = {
            "slug": "Address",
            "prediction_format": "Prediction files",
            "memory_bytes": "Memory",
            "output_bytes": "Output",
            "scoring_memory_bytes": "Scoring memory",
        }
        widgets = dict.fromkeys(("memory_bytes", "output_bytes", "scoring_memory_bytes"), forms.TextInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance.pk:
            self._keep_the_named_competition()
        if isinstance(field := self.fields.get("prediction_format"), PredictionFormatField):
            field.stored = self.instance.prediction_format
        for name in ("tasks", "dataset_check", "smoke_task"):
            field = self.fields.get(name)
            if isinstance(field, forms.ModelChoiceField) and field.queryset is not None:
                field.queryset = self._tasks(field.queryset)
                field.label_from_instance = self._task_label  # type: ignore[method-assign]
                field.error_messages["invalid_choice"] = (
                    "The task %(value)s belongs to another competition, or is gone."
                )

    def _keep_the_named_competition(self) -> None:
        """A new phase is added to the competition that its address names, so that its tasks are known."""
        field = self.fields.get("competition")
        if isinstance(field, forms.ModelChoiceField) and field.queryset is not None:
            field.queryset = field.queryset.filter(pk=self._competition_id)
            field.empty_label = None

    def _tasks(self, tasks: QuerySet[Task]) -> QuerySet[Task]:
        """Those that the phase can have; what a team submitted joins by itself."""
        tasks = (
            tasks.filter(dataset=None, checks=None).select_related("competition").order_by("competition__title", "pk")
        )
        fitting = Q(competition=self._competition_id) | Q(competition=None) | Q(is_public=True)
        if self.instance.pk:
            fitting |= Q(phases=self.instance.pk)
        return tasks.filter(pk__in=Task.objects.filter(fitting).values("pk"))

    @property
    def _competition_id(self) -> int | None:
        """Of a new phase, the one that its form was opened for."""
        named = str(self.data.get("competition") or self.initial.get("competition") or "")
        return self.instance.competition_id or (int(named) if is_number(named) else None)

    def _task_label(self, obj: Task) -> str:
        """Tasks of many competitions have the same names."""
        if obj.competition_id == self._competition_id:
            return obj.name
        return f"{obj.name} ({obj.competition or 'of no competition'})"

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.instance.pk:
            untouched = [name for name in INSTANTS if name in cleaned and name not in self.changed_data]
            cleaned |= {name: getattr(self.instance, name) for name in untouched}  # a form shows whole seconds
            self._ask_for_confirmation(cleaned)
        check = cleaned.get("dataset_check")
        for field, sentence in faults_of_change(self.instance, cleaned.get("competition"), cleaned):
            self.add_error(field, sentence)
        if check is not None and cleaned.get("preset"):
            self.add_error(
                "preset", "A known challenge has a fixed dataset, so its board does not grow. Choose one of the two."
            )
        if self.instance.pk and self.instance.submissions.exists():
            self._keep_what_submissions_rest_on(cleaned)
        return cleaned

    def _ask_for_confirmation(self, cleaned: dict[str, Any]) -> None:
        """Say what saving would do to teams; the same form sent once more agrees to it."""
        stored, now = Phase.objects.get(pk=self.instance.pk), timezone.now()
        preset = PRESETS.get(cleaned.get("preset") or "")
        values = cleaned | (preset.fields() if preset else {})  # it overwrites what the form says
        try:
            require_impact_confirmed(stored, values, confirmed=cleaned.get("confirmed"), now=now)
        except NeedsConfirmation as asked:
            data = cast("QueryDict", self.data).copy()
            data["confirmed"] = asked.confirmation
            self.data = data
            told = format_html_join("", "<li>{}</li>", ((sentence,) for sentence in asked.impact))
            text = "Nothing is saved yet. This phase has begun, and this is what the change does:<ul>{}</ul>Save again to confirm it."
            self.add_error(None, format_html(text, told))

    def _keep_what_submissions_rest_on(self, cleaned: dict[str, Any]) -> None:
        """Teams submitted under these: a preset must not unseal their scores, nor a form hand them to another competition."""
        phase = self.instance  # as stored; the form writes into it after this
        preset = PRESETS.get(cleaned.get("preset") or "")
        if preset is not None and preset.visibility != phase.visibility:
            self.add_error(
                "preset",
                f"This phase has submissions and is {phase.visibility}; the preset would make it {preset.visibility}. "
                "Make a new phase for it, or set its numbers by hand.",
            )
        competition = cleaned.get("competition")
        if competition is not None and competition.pk != phase.competition_id:
            self.add_error("competition", f"This phase has submissions, so it stays with “{phase.competition}”.")
