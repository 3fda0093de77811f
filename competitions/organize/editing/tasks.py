"""Tasks: their settings; a new one begins with the programs of another."""

from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.db.models import Q
from django.http import QueryDict

from accounts.models import User
from competitions.catalog.changes.tasks import change_task
from competitions.catalog.models import Competition, Task, setting_names
from competitions.organize.editing.change_form import CompetitionForm
from competitions.web.forms import offer


class TaskForm(CompetitionForm):
    """The settings of a task; of a new one also what it begins with. Its files are on the Data page."""

    groups: ClassVar[Any] = tuple({**Task.form, "Name": (*Task.form["Name"], "like", "shares_data")}.items())

    like = forms.ModelChoiceField(
        Task.objects.none(),
        label="Begins with the programs of",
        empty_label=None,
        help_text="Its data, and programs of its own, are uploaded on the Data page.",
    )
    shares_data = forms.BooleanField(
        label="and with its data",
        required=False,
        help_text="A new version of a shared file then counts for both tasks.",
    )

    class Meta:
        model = Task
        fields = setting_names(Task)
        labels: ClassVar[dict[str, str]] = {
            "is_public": "For every organizer",
            "shared_with": "Shared with",
            "ingestion_only_during_scoring": "Ingestion program runs beside the scoring program",
            "checks": "Checks the task",
            "check_kind": "How it differs",
            "check_tolerance": "Tolerance",
        }
        widgets: ClassVar[dict[str, object]] = {"description": forms.Textarea(attrs={"rows": 3})}

    def __init__(
        self, competition: Competition, data: QueryDict | None = None, *, by: User, instance: Task | None = None
    ) -> None:
        self.by = by
        super().__init__(competition, data, instance=instance)
        self._offer_people(instance)
        own = competition_tasks(competition)
        offer(self, "checks", own.filter(checks=None).exclude(pk=self.instance.pk))
        if instance is not None:
            del self.fields["like"], self.fields["shares_data"]
            return
        readable = Task.objects.readable_by(by).filter(dataset=None)  # whose programs may be copied
        offer(self, "like", Task.objects.filter(Q(pk__in=readable.values("pk")) | Q(pk__in=own.values("pk"))))

    def _offer_people(self, instance: Task | None) -> None:
        """Tasks are shared among staff; others are not shown who that is."""
        if not self.by.is_staff:
            del self.fields["shared_with"]
            return
        organizers = Q(is_staff=True, is_active=True) & ~Q(pk=self.by.pk)
        chosen = Q(shared_tasks=instance.pk) if instance is not None else Q(pk=None)
        offer(self, "shared_with", User.objects.filter(organizers | chosen).distinct().order_by("username"))

    def write(self, now: datetime) -> Task:
        if not self.instance.pk:
            self._begin()
        shared_with = self.cleaned_data.get("shared_with")
        return change_task(self.instance, now=now, confirmed=self.confirmed, shared_with=shared_with).row

    def _begin(self) -> None:
        """Take over from the other task what a new one begins with."""
        like: Task = self.cleaned_data["like"]
        names = ["scoring_program", "ingestion_program"]
        names += ["input_data", "reference_data"] if self.cleaned_data["shares_data"] else []
        for name in names:
            setattr(self.instance, name, getattr(like, name))
        self.instance.ingestion_only_during_scoring |= like.ingestion_only_during_scoring
        self.instance.competition, self.instance.owner = self.competition, self.by


def competition_tasks(competition: Competition) -> Any:
    """A competition's own tasks in order, without the datasets that teams submitted."""
    return competition.tasks.filter(dataset=None)
