"""Forms of proposals, and what their page says of progress and failures."""

from dataclasses import dataclass
from typing import ClassVar, Final

from django import forms
from django.db.models import QuerySet
from django.http import QueryDict

from accounts.models import User
from competitions.catalog.models import Competition, Leaderboard, Proposal, ProposalComment, ProposedFile, Task
from competitions.leaderboards.rescoring.services import count_submissions, untried
from competitions.organize.editing.data import Slot
from competitions.organize.workspace.submissions import queues_for
from competitions.runs.models import Rescoring
from competitions.runs.rescoring import is_superseded
from competitions.submissions.states import FINAL, State
from competitions.web.forms import offer

FAILURES_SHOWN: Final = 50
ACTIONS: Final = ("settings", "remove-file", "start", "comment", "drop", "apply", "retry")


class ProposalForm(forms.ModelForm[Proposal]):
    """Title and reason, which become public once the proposal is applied."""

    class Meta:
        model = Proposal
        fields = ("title", "reason")
        widgets: ClassVar[dict[str, object]] = {"reason": forms.Textarea(attrs={"rows": 4})}


class ProposalSettingsForm(forms.ModelForm[Proposal]):
    """The queue of a draft's runs, and the column that it is about."""

    class Meta:
        model = Proposal
        fields = ("title", "reason", "queue", "board", "column_key", "column_title", "column_sorting", "column_decides")
        labels: ClassVar[dict[str, str]] = {
            "column_key": "Key of the score",
            "column_title": "Title of the column",
            "column_sorting": "Better is",
            "column_decides": "The board ranks by it",
        }
        widgets: ClassVar[dict[str, object]] = {"reason": forms.Textarea(attrs={"rows": 3})}

    def __init__(
        self, competition: Competition, by: User, data: QueryDict | None = None, *, instance: Proposal
    ) -> None:
        super().__init__(data, instance=instance)
        offer(self, "queue", queues_for(by, competition)).empty_label = f"The competition's: {competition.queue}"
        boards = Leaderboard.objects.filter(phase__competition=competition).select_related("phase")
        offer(self, "board", boards).empty_label = "None"

    def clean(self) -> dict[str, object]:
        values = super().clean() or {}
        if values.get("board") is not None and not values.get("column_key"):
            self.add_error("column_key", "Name the score that the column shows, as in scores.json.")
        return values


class CommentForm(forms.ModelForm[ProposalComment]):
    class Meta:
        model = ProposalComment
        fields = ("text",)
        labels: ClassVar[dict[str, str]] = {"text": "Comment"}
        widgets: ClassVar[dict[str, object]] = {"text": forms.Textarea(attrs={"rows": 3})}


class ActionForm(forms.Form):
    """An action on a proposal; `confirmed` is the comparison that is agreed to."""

    action = forms.ChoiceField(choices=[(name, name) for name in ACTIONS])
    file = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    confirmed = forms.CharField(required=False)


@dataclass(frozen=True)
class Progress:
    """The progress of a proposal; `total` counts the submissions that it concerns."""

    total: int
    ended: int
    finished: int
    untried: int
    failures: list[Rescoring]

    @property
    def failed(self) -> int:
        return self.ended - self.finished


def progress(proposal: Proposal) -> Progress:
    """Count the copies of a proposal, and list those that failed."""
    rescorings = proposal.rescorings.all()
    ended = rescorings.filter(copy__status__in=FINAL)
    failures = ended.exclude(copy__status=State.FINISHED).select_related("submission__team", "copy")
    return Progress(
        total=max(count_submissions(proposal), rescorings.count()),
        ended=ended.count(),
        finished=ended.filter(copy__status=State.FINISHED).count(),
        untried=0 if is_superseded(proposal) else untried(proposal).count(),
        failures=list(failures[:FAILURES_SHOWN]),
    )


def proposed_slots(
    competition: Competition, proposal: Proposal
) -> list[tuple[Task, list[tuple[Slot, ProposedFile | None]]]]:
    """The places of each task whose file a proposal may replace, with what it proposes there."""
    files = {(file.task_id, file.slot): file for file in proposal.files.select_related("resource__file")}
    tasks: QuerySet[Task] = competition.tasks.filter(dataset=None, checks=None)
    tasks = tasks.select_related(*(f"{name}__file" for name in ProposedFile.SLOTS))
    return [
        (task, [(Slot(task, name), files.get((task.pk, name))) for name in ProposedFile.SLOTS])
        for task in tasks.order_by("pk")
    ]


def is_at_work(proposal: Proposal) -> bool:
    """True while a page should ask again: something is scored, compared or applied."""
    if proposal.state == Proposal.State.APPLYING:
        return True
    return proposal.state == Proposal.State.SCORING and proposal.compared_count is None and not proposal.fault
