"""Signed addresses of files: clients put uploads to them and fetch files from them without a header."""

from typing import Any, Final

from django.core import signing
from django.http import HttpRequest
from django.urls import reverse

SALT: Final = "podium.codabench.file"
VALID_S: Final = 24 * 3600


def address(request: HttpRequest, name: str, *what: str | int) -> str:
    """The absolute URL of a view that takes one signed token; whoever has it may use it for a day."""
    return request.build_absolute_uri(reverse(name, args=[signing.dumps([name, *what], salt=SALT)]))


def read_address(token: str, name: str) -> list[Any] | None:
    """The values in a token of this view; None if it is forged, old, or another view's."""
    try:
        view_name, *what = signing.loads(token, salt=SALT, max_age=VALID_S)
    except (signing.BadSignature, ValueError):
        return None
    return what if view_name == name else None
