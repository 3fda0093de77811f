"""Tasks and their files, those of phases, and new versions with the submissions to score again."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.db import transaction
from django.db.models import Q
from django.http import QueryDict
from django.utils import timezone

from accounts.models import User
from competitions.catalog.changes.phases import store_phase
from competitions.catalog.changes.tasks import change_task, store_task
from competitions.catalog.models import Competition, Phase, Task, setting_names
from competitions.organize.editing.change_form import CompetitionForm
from competitions.organize.refusals import FILE_CHANGED_ELSEWHERE
from competitions.organize.steps.step import TABLES, require_ending
from competitions.resources.models import Resource, StoredFile, Upload
from competitions.resources.versions import UNPACKED_KINDS, check_upload, resource_replace
from competitions.runs.models import Run
from competitions.submissions.states import FINAL, State
from competitions.web.forms import offer
from core.confirmations import state_digest
from files.bundles.schema import PHASE_FILES, TASK_FILES


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


@dataclass(frozen=True)
class Slot:
    """A place for a file: of a task or a phase."""

    row: Task | Phase
    name: str

    @property
    def owner(self) -> str:
        """The kind of row that it belongs to, as addresses name it."""
        return "task" if isinstance(self.row, Task) else "phase"

    @property
    def label(self) -> str:
        return str(Resource.Kind(self.name).label).capitalize()

    @property
    def resource(self) -> Resource | None:
        resource: Resource | None = getattr(self.row, self.name)
        return resource

    @property
    def is_unpacked(self) -> bool:
        """A compute worker unpacks it."""
        return self.name in UNPACKED_KINDS

    @property
    def holds_solution(self) -> bool:
        """True where it scores tables, so that a new solution alone can take its place."""
        if not isinstance(self.row, Task) or self.name != "reference_data" or self.resource is None:
            return False
        return any(map(_takes_tables, self.row.phases.all()))

    @property
    def is_table(self) -> bool:
        return self.name == "sample_submission" and _takes_tables(self.row)


def _takes_tables(row: Task | Phase) -> bool:
    return isinstance(row, Phase) and "table" in (row.prediction_format or {})


def file_slots(row: Task | Phase) -> list[Slot]:
    """Every place for a file that it has."""
    return [Slot(row, name) for name in (TASK_FILES if isinstance(row, Task) else PHASE_FILES)]


def upload_check(slot: Slot, upload: Upload, by: User) -> StoredFile:
    """The file, unless it cannot stand there. Raises as `check_upload`, or `WRONG_KIND_OF_FILE`."""
    stored = check_upload(slot.name, upload, by)
    if slot.is_table:
        require_ending(upload.file_name, TABLES)
    return stored


def consequences(slot: Slot, competition: Competition) -> list[str]:
    """Sentences on what a new version does; empty where it does nothing to anybody."""
    sentences = other_places(slot, competition)
    if isinstance(slot.row, Task):
        return [*sentences, *_of_runs(slot.row)]
    if slot.resource is not None and competition.is_published:
        sentences.append("Teams that have the former file are not told by themselves: write an announcement.")
    if slot.is_table and slot.row.submissions.exists():
        sentences.append(
            "Ids of tables are compared with the new file from now on; submissions that were made keep their scores."
        )
    return sentences


def other_places(slot: Slot, competition: Competition) -> list[str]:
    """A sentence on the tasks or phases that get the new version, too."""
    also = [str(row.name) for row in _other_users(slot, competition) if row != slot.row]
    return [f"It takes the place of the same file in {', '.join(also)}, too."] if also else []


def count_scored(task: Task) -> int:
    """The number of submissions that were scored on the task."""
    return Run.objects.filter(task=task, state=State.FINISHED).values("submission").distinct().count()


def _of_runs(task: Task) -> Iterator[str]:
    if scored := count_scored(task):
        were = "submission was" if scored == 1 else "submissions were"
        yield f"{scored} {were} scored with the present version and keep the score. This page then offers to run them again."
    yield from waiting_runs(task)


def waiting_runs(task: Task) -> Iterator[str]:
    """A sentence on the runs that a new version comes in time for."""
    if waiting := Run.objects.filter(task=task).exclude(state__in=FINAL).count():
        yield f"{waiting} {'run' if waiting == 1 else 'runs'} not started yet will use the new version."


def _other_users(slot: Slot, competition: Competition) -> list[Task | Phase]:
    """Tasks or phases of the competition that name the same version at the same place."""
    if slot.resource is None:
        return [slot.row]
    rows = competition.tasks if isinstance(slot.row, Task) else competition.phases
    return list(rows.filter(**{slot.name: slot.resource}))


def replacement_confirmation(slot: Slot, competition: Competition) -> str:
    """The confirmation of these consequences, for the version that is there now."""
    return state_digest([slot.resource, *consequences(slot, competition)])


@transaction.atomic
def file_replace(*, slot: Slot, competition: Competition, upload: Upload, by: User, confirmed: str) -> Resource:
    """Put an upload there; what else in the competition names the former version gets it, too.

    Raises `FILE_CHANGED_ELSEWHERE` where something else is there than when it was confirmed, and as `upload_check`.
    """
    locked = Slot(type(slot.row).objects.select_for_update(of=("self",), no_key=True).get(pk=slot.row.pk), slot.name)
    if confirmed != replacement_confirmation(locked, competition):
        raise FILE_CHANGED_ELSEWHERE()
    stored = upload_check(locked, upload, by)
    return put_version(locked, competition, file=stored, file_name=upload.file_name, by=by)


def put_version(slot: Slot, competition: Competition, *, file: StoredFile, file_name: str, by: User) -> Resource:
    """Put a file there, as a new version of what the competition has; call it under the row's lock."""
    users = _other_users(slot, competition)
    if (before := slot.resource) is not None:
        return resource_replace(
            resource=before, file=file, file_name=file_name, owner=by, may_change=lambda row: row in users
        )
    resource = Resource.objects.create(
        owner=by,
        kind=slot.name,
        name=f"{competition.title}: {slot.label.lower()}"[:200],
        file=file,
        file_name=file_name,
    )
    _put(slot, resource)
    return resource


def _put(slot: Slot, resource: Resource) -> None:
    """Put a first file there; what that does was confirmed with the upload."""
    row, now = slot.row, timezone.now()
    setattr(row, slot.name, resource)
    if isinstance(row, Task):
        store_task(row, now=now)
    else:
        store_phase(row, tasks=list(row.tasks.all()), now=now)
