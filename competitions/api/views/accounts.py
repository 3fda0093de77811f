"""The account that asks, with its API token."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import ApiToken, Scope, User
from competitions.api.serializers.submissions import AgentOut
from competitions.api.views.base import ApiView


class TokenOut(serializers.ModelSerializer[ApiToken]):
    """An API token, without its secret."""

    agent = AgentOut(allow_null=True, read_only=True)

    class Meta:
        model = ApiToken
        fields = ["name", "scopes", "expires_at", "agent"]


class AccountOut(serializers.ModelSerializer[User]):
    """An account; `token` is the one that the call came with, null in a browser."""

    name = serializers.CharField(source="__str__", read_only=True)
    is_service_account = serializers.BooleanField(source="is_robot", read_only=True)
    token = serializers.SerializerMethodField()

    class Meta:
        model = User
        fields = ["username", "name", "is_service_account", "token"]

    @extend_schema_field(TokenOut(allow_null=True))
    def get_token(self, account: User) -> dict[str, Any] | None:
        token = self.context["token"]
        return dict(TokenOut(token).data) if isinstance(token, ApiToken) else None


class Me(ApiView):
    """The account that you ask with, and what its API token may do. A token with any scope may ask."""

    serializer_class = AccountOut
    other_scopes = tuple(Scope)

    @extend_schema(operation_id="me_retrieve")
    def get(self, request: Request) -> Response:
        return Response(AccountOut(self.person(), context={"token": request.auth}).data)
