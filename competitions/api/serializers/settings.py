"""Settings of competitions, phases, boards, columns, tasks and queues, for organizers' programs."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.db.models import Q, QuerySet
from rest_framework import serializers

from accounts.models import User
from competitions.bundles.importing.rows import fill
from competitions.catalog.models import Column, Competition, Leaderboard, Phase, Task, setting_names
from competitions.compute.models import Queue
from core.rows import RowT

MOST_LISTED: Final = 200  # tasks of a phase, columns of a board, people who share a task


class Settings(serializers.ModelSerializer[RowT]):
    """Base of settings. `context["user"]` limits tasks and queues; `confirmed` agrees to consequences."""

    confirmed = serializers.CharField(
        write_only=True, required=False, help_text="The `confirmation` of a problem `needs_confirmation`."
    )

    def to_internal_value(self, data: Any) -> Any:
        """Refuse long lists before each of their items is looked up."""
        lists = (
            {name: value for name, value in data.items() if isinstance(value, list)}
            if isinstance(data, Mapping)
            else {}
        )
        if long := [name for name, value in lists.items() if len(value) > MOST_LISTED]:
            raise serializers.ValidationError(dict.fromkeys(long, f"At most {MOST_LISTED} are taken."))
        return super().to_internal_value(data)

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        """Refuse names that would change nothing: a typing error must not pass for a change."""
        sent = set(self.initial_data) if isinstance(self.initial_data, Mapping) else set()
        known = {name for name, field in self.fields.items() if not field.read_only}
        if unknown := sorted(sent - known):
            raise serializers.ValidationError(dict.fromkeys(unknown, "No setting that can be changed has this name."))
        return attrs


class TaskKey(serializers.SlugRelatedField[Task]):
    """A task by its key, among those that the sender may use or uses already."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(slug_field="key", **kwargs)

    def get_queryset(self) -> QuerySet[Task]:
        user = self.context["user"]
        usable = Q(pk__in=Task.objects.usable_by(user)) | Q(
            phases__competition__in=Competition.objects.managed_by(user)
        )
        return Task.objects.filter(usable, dataset=None, checks=None).distinct()


class QueueName(serializers.SlugRelatedField[Queue]):
    """A queue by its name, among those that the sender may use or uses already."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(slug_field="name", **kwargs)

    def get_queryset(self) -> QuerySet[Queue]:
        user = self.context["user"]
        used = Competition.objects.managed_by(user).values("queue")
        return Queue.objects.filter(Q(pk__in=Queue.objects.usable_by(user).values("pk")) | Q(pk__in=used))


class StaffName(serializers.SlugRelatedField[User]):
    """A member of staff by user name; only staff may name them, so that others cannot find out who is."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(slug_field="username", **kwargs)

    def get_queryset(self) -> QuerySet[User]:
        staff = User.objects.filter(is_staff=True, is_active=True)
        return staff if self.context["user"].is_staff else staff.none()


class CompetitionSettings(Settings[Competition]):
    queue = QueueName(queryset=Queue.objects.none())
    tags = serializers.ListField(child=serializers.CharField(max_length=60), max_length=20)

    class Meta:
        model = Competition
        fields = [
            *(name for name in setting_names(Competition) if name != "series"),
            "tags",
            "is_published",
            "confirmed",
        ]
        read_only_fields = ["is_published"]


class PhaseSettings(Settings[Phase]):
    tasks = TaskKey(many=True, queryset=Task.objects.none())
    smoke_task = TaskKey(queryset=Task.objects.none(), allow_null=True)
    dataset_check = TaskKey(queryset=Task.objects.none(), allow_null=True)

    class Meta:
        model = Phase
        fields = [*setting_names(Phase), "revealed_at", "confirmed"]
        read_only_fields = ["slug", "revealed_at"]


class ColumnSettings(Settings[Column]):
    sources = serializers.ListField(child=serializers.CharField(max_length=36), max_length=100, required=False)

    class Meta:
        model = Column
        fields = [*setting_names(Column), "confirmed"]


class BoardColumn(ColumnSettings):
    """A column within its board, which is confirmed as a whole."""

    confirmed = None  # type: ignore[assignment]

    class Meta(ColumnSettings.Meta):
        fields = [name for name in ColumnSettings.Meta.fields if name != "confirmed"]
        validators: list[Any] = []  # that keys differ is asked of all columns together

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        """The board asks for unknown names of all that was sent."""
        return attrs


class BoardSettings(Settings[Leaderboard]):
    columns = BoardColumn(many=True, help_text="All columns that the board is to have, known by their keys.")

    class Meta:
        model = Leaderboard
        fields = ["key", *setting_names(Leaderboard), "columns", "confirmed"]
        read_only_fields = ["key"]


class TaskSettings(Settings[Task]):
    shared_with = StaffName(many=True, queryset=User.objects.none(), help_text="User names of staff who may use it.")
    checks = TaskKey(queryset=Task.objects.none(), allow_null=True)
    competition = serializers.SlugField(source="competition.slug", read_only=True, default=None)

    class Meta:
        model = Task
        fields = ["key", "competition", *setting_names(Task), "confirmed"]
        read_only_fields = ["key"]


class QueueSettings(Settings[Queue]):
    class Meta:
        model = Queue
        fields = [*setting_names(Queue), "confirmed"]
        read_only_fields = ["name"]


def columns_with(board: Leaderboard, values: Iterable[Mapping[str, Any]]) -> list[Column]:
    """The columns that the board is to have, not saved: its own by their keys, changed, and new ones."""
    stored = {column.key: column for column in board.columns.all()}
    return [fill(stored.get(sent["key"]) or Column(leaderboard=board), **sent) for sent in values]
