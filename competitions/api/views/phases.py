"""Phases, for organizers' programs."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope
from competitions.api import serializers as s
from competitions.api.views.base import ApiView
from competitions.catalog.models import Competition, Phase
from competitions.catalog.phases.changes import change_phase


class PhaseDetail(ApiView):
    """The settings of a phase, for its organizers; a change sends those that differ.

    What a change does to teams once the phase has begun comes back as a problem `needs_confirmation` with sentences in
    `impact`; nothing is saved then. Send the same again with its `confirmation` as `confirmed` to agree to exactly that.
    """

    serializer_class = s.PhaseSettings
    write_scope = Scope.ORGANIZE

    def _phases(self) -> QuerySet[Phase]:
        mine = Competition.objects.managed_by(self.person())
        return Phase.objects.filter(competition__in=mine).select_related("competition__queue")

    def get(self, request: Request, slug: str, phase_slug: str) -> Response:
        phase = get_object_or_404(self._phases(), competition__slug=slug, slug=phase_slug)
        return Response(s.PhaseSettings(phase).data)

    @extend_schema(operation_id="phase_change")
    @transaction.atomic
    def patch(self, request: Request, slug: str, phase_slug: str) -> Response:
        rows = self._phases().select_for_update(of=("self",), no_key=True)
        phase = get_object_or_404(rows, competition__slug=slug, slug=phase_slug)
        sent = s.PhaseSettings(phase, data=request.data, partial=True, context={"user": self.person()})
        sent.is_valid(raise_exception=True)
        values: dict[str, Any] = dict(sent.validated_data)
        confirmed, tasks = values.pop("confirmed", ""), values.pop("tasks", list(phase.tasks.all()))
        for name, value in values.items():
            setattr(phase, name, value)
        change = change_phase(phase, tasks=tasks, now=timezone.now(), confirmed=confirmed)
        return Response(s.PhaseSettings(change.phase).data)
