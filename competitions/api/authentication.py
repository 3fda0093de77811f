"""API tokens: `Authorization: Bearer podium_...`, looked up by digest, with scopes and expiry.

The sender of a submission is the agent of its token, if it is one's.
"""

from datetime import timedelta
from typing import Any, Final

from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts.models import ApiToken, User, token_digest
from competitions.submissions.agents import Sender
from core.rows import get_or_none

USED_RESOLUTION = timedelta(minutes=1)  # `last_used_at` is written at most this often
BY_TOOL: Final = "podium.by_tool"  # in the WSGI environment of a call that an agent's tool makes


class TokenAuthentication(BaseAuthentication):
    """Accepts `Bearer` and, as clients of other platforms send it, `Token`."""

    keyword = "Bearer"

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        parts = get_authorization_header(request).decode("latin-1").split()
        if not parts or parts[0].lower() not in ("bearer", "token"):
            return None
        if len(parts) != 2:
            raise AuthenticationFailed("The Authorization header must be `Bearer <token>`.", code="malformed_token")
        return self._by_secret(parts[1])

    def _by_secret(self, secret: str) -> tuple[User, ApiToken]:
        now = timezone.now()
        token = get_or_none(ApiToken.objects.select_related("user").filter(digest=token_digest(secret)))
        if token is None or not token.user.is_active:
            raise AuthenticationFailed("This API token is unknown. Make one in your profile.", code="unknown_token")
        if not token.is_live(now):
            raise AuthenticationFailed(
                "This API token has expired or was revoked. Make a new one in your profile.", code="token_over"
            )
        if token.last_used_at is None or now - token.last_used_at > USED_RESOLUTION:
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return self.keyword


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # the library is untyped here
    """Tells the OpenAPI schema about the tokens."""

    target_class = "competitions.api.authentication.TokenAuthentication"
    name = "apiToken"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}


def sender(request: Request) -> Sender:
    """The agent of the token, if it is one's."""
    token = request.auth
    return Sender(token.agent if isinstance(token, ApiToken) else None, used_tool=BY_TOOL in request.META)
