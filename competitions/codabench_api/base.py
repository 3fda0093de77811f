"""Base of Codabench's calls: forms as bodies, pages, and the asker's submissions."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NoReturn
from uuid import UUID

from django.db.models import Prefetch, QuerySet
from django.http import QueryDict
from django.shortcuts import get_object_or_404
from rest_framework.pagination import PageNumberPagination
from rest_framework.parsers import FormParser, MultiPartParser
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import ApiToken, Scope
from accounts.sign_in import is_robot
from competitions.api.framework import NOT_STORABLE, JSONParser
from competitions.api.permissions import HasScope
from competitions.api.views.base import ApiView
from competitions.catalog.models import Competition, Task
from competitions.catalog.organizers import may_host
from competitions.catalog.questions import FALSE, TRUE
from competitions.codabench_api import shapes
from competitions.submissions.access import visible_submissions
from competitions.submissions.models import Submission
from core.refusals import NotAllowed, Refusal
from core.serving.receiving import form_room
from files.images import MAX_BYTES as IMAGE_BYTES
from files.text import is_number, is_storable, texts_in

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
    # What may stand behind the `?` of an address. Anything else is refused: an ignored filter would answer with too much.
    parameters: tuple[str, ...] = ()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        unknown = sorted(set(request.query_params) - set(self.parameters))
        if unknown:
            raise UnknownParameter(unknown[0], self.parameters)

    def query(self, name: str) -> str:
        """A filter of the address as text; empty where it is not there."""
        return str(self.request.query_params.get(name, "")).strip()

    def query_number(self, name: str) -> int | None:
        """A filter that is a row's number; None where it is not there. Raises `BadForm`."""
        text = self.query(name)
        if text and not is_number(text):
            raise BadForm(f"`{name}` must be a number, not {text[:40]!r}.")
        return int(text) if text else None

    def query_flag(self, name: str) -> bool | None:
        """A filter that is true or false; None where it is not there. Raises `BadForm`."""
        text = self.query(name).lower()
        if text not in ("", *TRUE, *FALSE):
            raise BadForm(f"`{name}` must be true or false, not {text[:40]!r}.")
        return text in TRUE if text else None

    def query_choice(self, name: str, known: Collection[str]) -> str:
        """A filter that is one of the known words; empty where it is not there. Raises `BadForm`."""
        word = self.query(name)
        if word and word not in known:
            raise BadForm(f"`{name}` must be {' or '.join(known)}, not {word[:40]!r}.")
        return word

    def rows(self, rows: QuerySet[Any], shape: Callable[[Any], dict[str, object]], *, limit: int = 5000) -> Response:
        """A bare list, as scripts of Codabench want it, or a page where one is asked for."""
        if any(name in self.request.query_params for name in PAGE_PARAMETERS):
            return self.page(rows, shape)
        return Response([shape(row) for row in rows[:limit]])

    def page(self, rows: QuerySet[Any], shape: Callable[[Any], dict[str, object]]) -> Response:
        """The page of these rows that was asked for. An unknown page is 404."""
        return self.get_paginated_response([shape(row) for row in self.paginate_queryset(rows) or []])

    def word(self, name: str, default: str = "") -> str:
        """A field of the form as text."""
        return str(self.form.get(name, default) or default)

    @property
    def form(self) -> Any:
        """The body's fields: a form's `QueryDict`, or a JSON mapping. Raises `BadForm` for anything else."""
        data = self.request.data
        if not isinstance(data, Mapping | QueryDict):
            raise BadForm("Send the fields as a form.")
        if isinstance(data, QueryDict) and not all(map(is_storable, texts_in(dict(data.lists())))):
            raise BadForm(NOT_STORABLE)
        return data

    def submissions(self) -> QuerySet[Submission]:
        """The submissions that the asker may read, with what their shapes need."""
        return self.loaded(visible_submissions(self.person(), as_member=self.as_member))

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


class ShownView(RobotView):
    """Base of a row that is shown here and kept as it is: `refuse` says to those who see it where, or why."""

    write_scope = Scope.ORGANIZE

    def refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise the reason why the row that the address names is not changed here."""
        raise NotImplementedError

    def put(self, request: Request, **kwargs: Any) -> Response:
        self.refuse(**kwargs)

    patch = delete = put


class ActsOnGet(RobotView):
    """Base of calls that Codabench's clients make by GET although they change something.

    They need a token, so that a link or picture on another page cannot make a signed-in browser call them.
    """

    def get(self, request: Request, pk: int) -> Response:
        if not isinstance(request.auth, ApiToken) or self.write_scope not in request.auth.scopes:
            raise NotAllowed(f"Send POST, or an API token with the scope `{self.write_scope}`.")
        return self.post(request, pk)

    def post(self, request: Request, pk: int) -> Response:
        raise NotImplementedError


class RepeatsView(RobotView):
    """Base of calls that run submissions again; for organizers and service accounts."""

    @property
    def write_scope(self) -> Scope:  # type: ignore[override]  # a token of an organizer's own submissions is not enough
        """Service accounts have no more than `submit`; who organizes needs a token that may."""
        return Scope.SUBMIT if is_robot(self.request.user) else Scope.ORGANIZE


class EditorView(RobotView):
    """Base: what Codabench's editor sends, with a logo as base64."""

    def body_room(self, request: Request, **kwargs: Any) -> int | None:
        """Room for it, for those who may host or who organize something already."""
        user = self.person()
        is_known = may_host(user) or Competition.objects.managed_by(user).exists()
        return form_room(is_signed_in=True) + 2 * IMAGE_BYTES if is_known else None


class BadForm(Refusal):
    code, http_status = "invalid", 400


class UnknownParameter(BadForm):
    code = "unknown_parameter"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        listed = f"this call knows {', '.join(known)}" if known else "this call knows none"
        super().__init__(f"There is no parameter {name[:40]!r} here; {listed}. Leave it out: it would have no effect.")


def read_uuid(text: str) -> UUID | None:
    """The key that a text is; None for anything else."""
    try:
        return UUID(text)
    except ValueError:
        return None
