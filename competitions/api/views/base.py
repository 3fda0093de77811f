"""Base of the views: the person who asks, and the competition or phase as far as they may see it."""

from functools import cached_property
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from rest_framework.exceptions import NotAuthenticated
from rest_framework.generics import GenericAPIView
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from accounts.models import Scope, User
from competitions.api.permissions import HasScope, may_organize
from competitions.catalog.models import Competition, Phase
from competitions.disclosure.readers import Reader, reader_for


def checked(serializer: BaseSerializer[Any]) -> dict[str, Any]:
    """The values of a request. Raises `ValidationError` with every fault."""
    serializer.is_valid(raise_exception=True)
    values: dict[str, Any] = serializer.validated_data
    return values


class ApiView(GenericAPIView[Any]):
    """Anybody may ask; what a person may see or do is decided for each object."""

    permission_classes = [AllowAny, HasScope]
    write_scope: Scope = Scope.SUBMIT
    other_scopes: tuple[Scope, ...] = ()
    request: Request
    received: HttpRequest  # Django's, which the middleware knows

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().setup(request, *args, **kwargs)
        self.received = request

    def person(self) -> User:
        """The signed-in person or service account; else 401."""
        user = self.request.user
        if not isinstance(user, User):
            raise NotAuthenticated("Send an API token as `Authorization: Bearer <token>`, or sign in.")
        return user

    def body_room(self, request: Request, **kwargs: Any) -> int | None:
        """The number of bytes that this person may send here, where that is more than a form.

        `takes_files` says if they may come as files.
        """
        return None

    @cached_property
    def reader(self) -> Reader:
        """The person who asks, with the rights that decide what is disclosed by session or token."""
        user = self.request.user
        assert isinstance(user, User | AnonymousUser), "the only two kinds of user of this site"
        return reader_for(user, as_member=self.as_member)

    @property
    def as_member(self) -> bool:
        """True if the asker is shown no more than a member of their teams, whatever they organize."""
        return not may_organize(self.request.auth)

    def page_response(self, rows: QuerySet[Any], serializer: type[BaseSerializer[Any]]) -> Response:
        """The page of these rows that the request names."""
        return self.get_paginated_response(serializer(self.paginate_queryset(rows), many=True).data)

    def competition(self, slug: str) -> Competition:
        """A competition that the asker sees; otherwise it does not exist (404, not 403)."""
        return get_object_or_404(Competition.objects.visible_to(self.request.user), slug=slug)

    def organized(self, slug: str) -> Competition:
        """A competition that the asker organizes; any other does not exist."""
        return get_object_or_404(Competition.objects.managed_by(self.person()), slug=slug)

    def phase(self, **lookup: Any) -> Phase:
        phases = Phase.objects.visible_to(self.request.user).select_related("competition__queue")
        return get_object_or_404(phases, **lookup)
