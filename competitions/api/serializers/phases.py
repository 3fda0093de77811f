"""The settings of a phase as organizers' programs read and change them: those of its form, by the same names."""

from collections.abc import Mapping
from typing import Any, Final

from django.db.models import Q, QuerySet
from rest_framework import serializers

from competitions.catalog.models import SECTIONS, Competition, Phase, Task

COLUMNS: Final = {field.name for field in Phase._meta.concrete_fields if field.editable}
OF_SECTIONS: Final = [name for section in SECTIONS for names in section.form.values() for name in names]


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


class PhaseSettings(serializers.ModelSerializer[Phase]):
    """`context["user"]` decides which tasks may be named."""

    tasks = TaskKey(many=True, queryset=Task.objects.none())
    smoke_task = TaskKey(queryset=Task.objects.none(), allow_null=True)
    dataset_check = TaskKey(queryset=Task.objects.none(), allow_null=True)
    confirmed = serializers.CharField(
        write_only=True, required=False, help_text="The `confirmation` of a problem `needs_confirmation`."
    )

    class Meta:
        model = Phase
        fields = [
            "slug", "name", "description", "visibility", "reveal_at", "revealed_at",
            *(name for name in OF_SECTIONS if name in COLUMNS), "tasks", "confirmed",
        ]  # fmt: skip
        read_only_fields = ["slug", "revealed_at"]

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse names that would change nothing: a typing error must not pass for a change."""
        sent = set(self.initial_data) if isinstance(self.initial_data, Mapping) else set()
        known = {name for name, field in self.fields.items() if not field.read_only}
        if unknown := sorted(sent - known):
            raise serializers.ValidationError(
                dict.fromkeys(unknown, "No setting of a phase that can be changed has this name.")
            )
        return attrs
