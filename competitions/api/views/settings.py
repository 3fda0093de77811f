"""Settings of competitions, phases, boards, columns, tasks and queues, for organizers' programs."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope
from competitions.api.serializers import settings as s
from competitions.api.views.base import ApiView, checked
from competitions.bundles.importing.rows import fill
from competitions.catalog.changes.boards import change_board
from competitions.catalog.changes.competitions import change_competition, change_queue
from competitions.catalog.changes.phases import change_phase
from competitions.catalog.changes.tasks import change_task
from competitions.catalog.models import Column, Competition, Leaderboard, Phase, Task
from competitions.compute.models import Queue

CONFIRMS: Final = (
    "Send the settings that change. What that does to teams comes back as a problem `needs_confirmation` with sentences in `impact`; "
    "nothing is saved then. Send the same again with its `confirmation` as `confirmed` to agree to exactly that."
)
Values = dict[str, Any]  # what a serializer has validated
ViewT = TypeVar("ViewT", bound=type["SettingsView"])


def changes(operation_id: str) -> Callable[[ViewT], ViewT]:
    """Name and explain the operation in the API's description."""
    return extend_schema_view(patch=extend_schema(operation_id=operation_id, description=CONFIRMS))


class SettingsView(ApiView):
    """Base: an organizer's program reads the settings of a row, and changes some."""

    read_scope = write_scope = Scope.ORGANIZE  # hidden columns and boards are among them
    serializer_class: Any

    def rows(self) -> QuerySet[Any]:
        """The rows that the asker may change."""
        raise NotImplementedError

    def lookup(self) -> dict[str, object]:
        """The row's lookup from the address."""
        return dict(self.kwargs)

    def store(self, row: Any, values: Values, confirmed: str) -> Model:
        """Have the row changed by what owns it; returns it as it is then."""
        raise NotImplementedError

    def get(self, request: Request, **kwargs: Any) -> Response:
        return Response(self.serializer_class(get_object_or_404(self.rows(), **self.lookup())).data)

    @transaction.atomic
    def patch(self, request: Request, **kwargs: Any) -> Response:
        row = get_object_or_404(self.rows().select_for_update(of=("self",), no_key=True), **self.lookup())
        values = checked(self.serializer_class(row, data=request.data, partial=True, context={"user": self.person()}))
        changed = self.store(row, values, values.pop("confirmed", ""))
        return Response(self.serializer_class(changed).data)

    @property
    def managed(self) -> QuerySet[Competition]:
        return Competition.objects.managed_by(self.person())


@changes("competition_change")
class CompetitionSettings(SettingsView):
    """The settings of a competition."""

    serializer_class = s.CompetitionSettings

    def rows(self) -> QuerySet[Competition]:
        return self.managed.select_related("queue")

    def store(self, row: Competition, values: Values, confirmed: str) -> Competition:
        tags = values.pop("tags", None)
        return change_competition(fill(row, **values), tags=tags, now=timezone.now(), confirmed=confirmed).row


@changes("phase_change")
class PhaseSettings(SettingsView):
    """The settings of a phase."""

    serializer_class = s.PhaseSettings

    def rows(self) -> QuerySet[Phase]:
        return Phase.objects.filter(competition__in=self.managed).select_related("competition__queue")

    def lookup(self) -> dict[str, object]:
        return {"competition__slug": self.kwargs["slug"], "slug": self.kwargs["phase_slug"]}

    def store(self, row: Phase, values: Values, confirmed: str) -> Phase:
        tasks = values.pop("tasks", None)
        tasks = list(row.tasks.all()) if tasks is None else tasks
        return change_phase(fill(row, **values), tasks=tasks, now=timezone.now(), confirmed=confirmed).row


class OfBoard(SettingsView):
    """Base: a board, or a part of it, is changed under the lock of its phase."""

    def board(self) -> Leaderboard:
        """The board that the address names, with its phase."""
        boards = Leaderboard.objects.filter(phase__competition__in=self.managed)
        named = {"phase__competition__slug": self.kwargs["slug"], "phase__slug": self.kwargs["phase_slug"]}
        board: Leaderboard = get_object_or_404(
            boards.select_related("phase__competition__queue"), key=self.kwargs["board_key"], **named
        )
        return board

    @transaction.atomic
    def patch(self, request: Request, **kwargs: Any) -> Response:
        Phase.objects.select_for_update(of=("self",), no_key=True).get(pk=self.board().phase_id)
        return super().patch(request, **kwargs)


@changes("board_change")
class BoardSettings(OfBoard):
    """The settings of a board with its columns."""

    serializer_class = s.BoardSettings

    def rows(self) -> QuerySet[Leaderboard]:
        return Leaderboard.objects.select_related("phase__competition__queue")

    def lookup(self) -> dict[str, object]:
        return {"pk": self.board().pk}

    def store(self, row: Leaderboard, values: Values, confirmed: str) -> Leaderboard:
        columns = values.pop("columns", None)
        entered = list(row.columns.all()) if columns is None else s.columns_with(row, columns)
        return change_board(fill(row, **values), entered, now=timezone.now(), confirmed=confirmed).row


@changes("column_change")
class ColumnSettings(OfBoard):
    """The settings of a column."""

    serializer_class = s.ColumnSettings

    def rows(self) -> QuerySet[Column]:
        return Column.objects.filter(leaderboard=self.board())

    def lookup(self) -> dict[str, object]:
        return {"key": self.kwargs["column_key"]}

    def store(self, row: Column, values: Values, confirmed: str) -> Column:
        board, changed = self.board(), fill(row, **values)
        columns = [changed if column.pk == row.pk else column for column in board.columns.all()]
        change_board(board, columns, now=timezone.now(), confirmed=confirmed)
        return changed


@changes("task_change")
class TaskSettings(SettingsView):
    """The settings of a task, for who owns it and for organizers of its competition."""

    serializer_class = s.TaskSettings

    def rows(self) -> QuerySet[Task]:
        own = Q(competition__in=self.managed) | Q(competition=None, owner=self.person())
        return Task.objects.filter(own, dataset=None).select_related("competition")

    def store(self, row: Task, values: Values, confirmed: str) -> Task:
        shared_with = values.pop("shared_with", None)
        changed = fill(row, **values)
        return change_task(changed, shared_with=shared_with, now=timezone.now(), confirmed=confirmed).row


@changes("queue_change")
class QueueSettings(SettingsView):
    """The settings of a queue, for who owns it and for administrators."""

    serializer_class = s.QueueSettings

    def rows(self) -> QuerySet[Queue]:
        user = self.person()
        return Queue.objects.all() if user.is_superuser else Queue.objects.filter(owner=user)

    def store(self, row: Queue, values: Values, confirmed: str) -> Queue:
        return change_queue(fill(row, **values), now=timezone.now(), confirmed=confirmed).row
