"""What an API token allows."""

from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from accounts.models import ApiToken, Scope


class HasScope(BasePermission):
    """A token must have the scope that the view names for the method; a signed-in browser has them all.

    A view sets `write_scope`; reading asks for `read`, or for the view's `read_scope` where what it shows is not for every program.
    """

    message = "This API token lacks the scope that the call needs. Make a token with that scope in your profile."
    code = "scope_missing"

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not isinstance(request.auth, ApiToken):
            return True
        reading = request.method in ("GET", "HEAD", "OPTIONS")
        needed = getattr(view, "read_scope", Scope.READ) if reading else getattr(view, "write_scope", None)
        return needed is not None and needed in request.auth.scopes
