"""Permissions of API tokens."""

from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from accounts.models import ApiToken, Scope


class HasScope(BasePermission):
    """A token must have the scope that the view names for the method; a signed-in browser has them all.

    A view sets `write_scope`; reading asks for `read`, or for the view's `read_scope` where what it shows is not for every program.
    Any of its `other_scopes` will do as well, for both.
    """

    code = "scope_missing"
    message = ""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not isinstance(request.auth, ApiToken):
            return True
        accepted = accepted_scopes(request.method or "GET", view)
        owned = [Scope(scope) for scope in request.auth.scopes]
        if set(accepted) & set(owned):
            return True
        self.message = (
            f"The call needs an API token with the scope {_listed(accepted, 'or')}, and this one has {_listed(owned, 'and')}. "
            "Make another one in your profile."
        )
        return False


def accepted_scopes(method: str, view: APIView | type[APIView]) -> list[Scope]:
    """The scopes of which a token needs any for this method of a view."""
    is_reading = method in ("GET", "HEAD", "OPTIONS")
    needed = getattr(view, "read_scope", Scope.READ) if is_reading else getattr(view, "write_scope", None)
    return [scope for scope in (needed, *getattr(view, "other_scopes", ())) if scope is not None]


def may_organize(auth: object) -> bool:
    """True for a browser, and for a token with `organize`; any other shows what members of a team see."""
    return not isinstance(auth, ApiToken) or Scope.ORGANIZE in auth.scopes


def _listed(scopes: list[Scope], word: str) -> str:
    return f" {word} ".join(f"`{scope}`" for scope in scopes)
