"""Queues of an organizer: their settings, their token, and their workers."""

from datetime import datetime
from typing import Any, ClassVar, Final

from django import forms
from django.db.models import Count, Min, Q, QuerySet
from django.http import QueryDict

from accounts.models import User
from competitions.catalog.changes.queues import change_queue
from competitions.catalog.form_fields.sizes import SizeField
from competitions.catalog.models import setting_names
from competitions.compute.models import Queue
from competitions.organize.editing.change_form import ChangeForm
from competitions.runs.models import Run
from competitions.submissions.states import HELD, State

SIZES: Final = ("max_image_bytes", "environment_bytes")


def own_queues(user: User) -> QuerySet[Queue]:
    """Those that this person may change: own ones; all of them for an administrator."""
    return Queue.objects.all() if user.is_superuser else Queue.objects.filter(owner=user)


def with_loads(queues: QuerySet[Queue]) -> QuerySet[Queue]:
    """The queues with `waiting` and `running` runs, and since when the oldest one waits (`oldest_at`)."""
    waits = Q(runs__state=State.QUEUED)
    return queues.annotate(
        waiting=Count("runs", filter=waits, distinct=True),
        running=Count("runs", filter=Q(runs__state__in=HELD), distinct=True),
        oldest_at=Min("runs__queued_at", filter=waits),
    )


def running_on(queue: Queue) -> int:
    """The number of runs that its workers hold now."""
    return Run.objects.filter(queue=queue, state__in=HELD).count()


class QueueForm(ChangeForm):
    """A queue's settings, not its name, which workers use. One that an administrator adds is the site's."""

    groups: ClassVar[Any] = tuple(Queue.form.items())

    class Meta:
        model = Queue
        fields = setting_names(Queue)
        field_classes: ClassVar[dict[str, object]] = dict.fromkeys(SIZES, SizeField)
        labels: ClassVar[dict[str, str]] = {
            "is_paused": "Paused",
            "max_image_bytes": "Largest image of a team",
            "environment_bytes": "Room for an environment",
        }
        widgets: ClassVar[dict[str, object]] = dict.fromkeys(SIZES, forms.TextInput) | dict.fromkeys(
            ("allowed_images", "image_registries"), forms.Textarea(attrs={"rows": 3})
        )

    def __init__(self, data: QueryDict | None = None, *, by: User, instance: Queue | None = None) -> None:
        super().__init__(data, instance=instance or Queue(owner=None if by.is_superuser else by))
        if instance is not None:
            del self.fields["name"]

    def write(self, now: datetime) -> Queue:
        return change_queue(self.instance, now=now, confirmed=self.confirmed).row
