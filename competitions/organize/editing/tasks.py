"""Tasks: added with the programs of another one, and named."""

from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.http import QueryDict

from accounts.models import User
from competitions.catalog.models import Competition, Task
from competitions.organize.editing.change_form import ChangeForm


class TaskForm(ChangeForm):
    """Name and description of a task; of a new one also what it begins with."""

    like = forms.ModelChoiceField(
        Task.objects.none(), label="Begins with the programs of", empty_label=None,
        help_text="Its data, and programs of its own, are uploaded on the Data page.",
    )  # fmt: skip
    shares_data = forms.BooleanField(
        label="and with its data",
        required=False,
        help_text="A new version of a shared file then counts for both tasks.",
    )

    class Meta:
        model = Task
        fields = ("name", "description")
        widgets: ClassVar[dict[str, Any]] = {"description": forms.Textarea(attrs={"rows": 3})}

    def __init__(
        self, competition: Competition, data: QueryDict | None = None, *, by: User, instance: Task | None = None
    ) -> None:
        self.by = by
        super().__init__(competition, data, instance=instance)
        if instance is not None:
            del self.fields["like"], self.fields["shares_data"]
            return
        like = self.fields["like"]
        assert isinstance(like, forms.ModelChoiceField)
        like.queryset = tasks_of(competition)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if tasks_of(self.competition).filter(name=name).exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError(f"Another task of the competition is called {name!r}. Choose another name.")
        return name

    def consequences(self, now: datetime) -> list[str]:
        if not self.instance.pk or "name" not in self.changed_data:
            return []
        boards = [
            f"“{board.title}” of {board.phase.name}"
            for phase in self.instance.phases.prefetch_related("leaderboards__phase").order_by("index", "pk")
            for board in phase.leaderboards.all()
            if board.shows_tasks and phase.tasks.count() > 1
        ]
        return [f"Columns of the boards {', '.join(boards)} are called by the new name at once."] if boards else []

    def write(self, now: datetime) -> Task:
        if self.instance.pk:
            named: Task = self.save()
            return named
        like: Task = self.cleaned_data["like"]
        names = ["scoring_program", "ingestion_program", "ingestion_only_during_scoring"]
        names += ["input_data", "reference_data"] if self.cleaned_data["shares_data"] else []
        for name in names:
            setattr(self.instance, name, getattr(like, name))
        self.instance.competition, self.instance.owner = self.competition, self.by
        task: Task = self.save()
        return task


def tasks_of(competition: Competition) -> Any:
    """The organizers' own tasks of a competition, in their order; what teams submitted as datasets is not among them."""
    return competition.tasks.filter(dataset=None)
