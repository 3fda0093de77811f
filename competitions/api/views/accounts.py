"""The account that asks."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope
from competitions.api.serializers.accounts import AccountOut
from competitions.api.views.base import ApiView


class Me(ApiView):
    """The account that you ask with, and what its API token may do. A token with any scope may ask."""

    serializer_class = AccountOut
    other_scopes = tuple(Scope)

    @extend_schema(operation_id="me_retrieve")
    def get(self, request: Request) -> Response:
        return Response(AccountOut(self.person(), context={"token": request.auth}).data)
