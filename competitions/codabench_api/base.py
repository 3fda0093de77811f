"""What the views of Codabench's calls share: forms as bodies, pages, and the submissions of the asker."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Prefetch, QuerySet
from django.http import QueryDict
from django.shortcuts import get_object_or_404
from rest_framework.pagination import PageNumberPagination
from rest_framework.parsers import FormParser, MultiPartParser
from rest_framework.permissions import AllowAny
from rest_framework.response import Response

from competitions.api.parsers import JSONParser
from competitions.api.permissions import HasScope
from competitions.api.views.base import ApiView
from competitions.catalog.models import Task
from competitions.codabench_api import shapes
from competitions.submissions.access import submissions_of
from competitions.submissions.models import Submission
from core.refusals import Refusal

PAGE_PARAMETERS = ("page", "page_size")


class Pages(PageNumberPagination):
    """Pages as Codabench has them: `count`, `next`, `previous`, `results`."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 1000


class RobotView(ApiView):
    """Base: forms as well as JSON."""

    parser_classes = [FormParser, MultiPartParser, JSONParser]
    permission_classes = [AllowAny, HasScope]
    pagination_class = Pages

    def page(self, found: QuerySet[Any], shape: Callable[[Any], dict[str, Any]]) -> Response:
        """The page of these rows that was asked for. An unknown page is 404."""
        return self.get_paginated_response([shape(one) for one in self.paginate_queryset(found) or []])

    def word(self, name: str, default: str = "") -> str:
        """A field of the form as text."""
        return str(self.form.get(name, default) or default)

    @property
    def form(self) -> Any:
        """The body's fields: a `QueryDict` of a form, or the mapping of a JSON body. Raises `BadForm` for anything else."""
        data = self.request.data
        if not isinstance(data, Mapping | QueryDict):
            raise BadForm("Send the fields as a form.")
        return data

    def submissions(self) -> QuerySet[Submission]:
        """The submissions that the asker may read, with what their shapes need."""
        return self.loaded(submissions_of(self.person()))

    @staticmethod
    def loaded(submissions: QuerySet[Submission]) -> QuerySet[Submission]:
        return submissions.select_related(
            "phase__competition__queue", "team", "submitted_by", "rerun_of__submitted_by"
        ).prefetch_related(
            Prefetch("runs__task", queryset=Task.objects.select_related(*shapes.TASK_PARTS)),
            "scores__entry",
            "phase__leaderboards__columns",
        )

    def submission(self, pk: int) -> Submission:
        return get_object_or_404(self.submissions(), pk=pk)


class BadForm(Refusal):
    code, http_status = "invalid", 400


def read_uuid(text: str) -> UUID | None:
    """The key that a text is; None for anything else."""
    try:
        return UUID(text)
    except ValueError:
        return None
