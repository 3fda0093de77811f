"""The address `/mcp`."""

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import ApiToken, User
from competitions.api.authentication import TokenAuthentication
from competitions.mcp.tools import MAX_BODY_BYTES
from core.refusals import message_error


class Mcp(APIView):
    """Messages of the Model Context Protocol by streamable HTTP, without sessions and streams.

    A token alone says who asks: the cookie of a browser stands for nobody here.
    """

    authentication_classes = [TokenAuthentication]
    permission_classes = [AllowAny]
    records_calls = True  # in the audit log
    http_method_names = ("post", "options")

    def body_room(self, request: Request) -> int | None:
        """A small file in a call, of who sends a token."""
        return MAX_BODY_BYTES if isinstance(request.user, User) else None

    def handle_exception(self, exc: Exception) -> Response:
        """The API's refusal, in the form that clients of the protocol show."""
        response = super().handle_exception(exc)
        response.data = message_error(response.data["detail"], response.data["code"])
        response.content_type = "application/json"
        return response

    @extend_schema(exclude=True)
    def post(self, request: Request) -> HttpResponse:
        from competitions.mcp.server import answer_message  # the SDK: half a second, which only this address is worth

        token = request.auth if isinstance(request.auth, ApiToken) else None
        return answer_message(request._request, token)
