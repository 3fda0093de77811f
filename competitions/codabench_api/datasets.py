"""Codabench's calls on datasets: what the asker has, and where participants and owners download it."""

from typing import cast
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope, User
from competitions.catalog.downloads import phase_downloads
from competitions.catalog.models import Phase
from competitions.catalog.rights import organizes
from competitions.codabench_api.base import RobotView, read_uuid
from competitions.codabench_api.refused import MANAGED_ELSEWHERE
from competitions.codabench_api.shapes import dataset_row
from competitions.resources.downloads import stored_response
from competitions.resources.models import Resource
from competitions.teams.services import find_registration


def person_datasets(user: User) -> QuerySet[Resource]:
    """Those that are the person's own, and those shared with the person."""
    own = Q(owner=user) | Q(pk__in=user.shared_resources.values("pk"))
    return Resource.objects.filter(own).select_related("file", "owner").order_by("-pk")


class DatasetView(RobotView):
    """One dataset, by its number or its key."""

    write_scope = Scope.ORGANIZE

    def get(self, request: Request, key: str) -> Response:
        uuid = read_uuid(key)
        lookup = Q(key=uuid) if uuid else Q(pk=int(key) if key.isdecimal() and len(key) < 19 else 0)
        return Response(dataset_row(get_object_or_404(person_datasets(self.person()), lookup)))

    def put(self, request: Request, key: str) -> Response:
        self.get(request, key)
        raise MANAGED_ELSEWHERE(what="Datasets are changed, replaced and deleted", where="/host/files/")

    patch = delete = put


class DatasetDownload(RobotView):
    """The file of a dataset at Codabench's address for it; a session or a token opens it."""

    def get(self, request: Request, key: UUID) -> HttpResponseBase:
        user = self.person()
        resource = person_datasets(user).filter(key=key).first() or _opened_to(user, key)
        return stored_response(cast("HttpRequest", request), resource.file, file_name=resource.file_name)


def _opened_to(user: User, key: UUID) -> Resource:
    """A download of a phase, for those who take part and for its organizers. Raises 404."""
    tasks = ("scoring_program", "ingestion_program", "input_data")
    uses = Q(public_data__key=key) | Q(starting_kit__key=key)
    for name in tasks:
        uses |= Q(**{f"tasks__{name}__key": key})
    for phase in Phase.objects.visible_to(user).filter(uses).select_related("competition").distinct():
        offered = next((resource for resource in phase_downloads(phase).values() if resource.key == key), None)
        if offered is not None and _takes_part(user, phase):
            return offered
    raise Http404


def _takes_part(user: User, phase: Phase) -> bool:
    registration = find_registration(user, phase.competition)
    is_approved = registration is not None and registration.state == registration.State.APPROVED
    return is_approved or organizes(user, phase)
