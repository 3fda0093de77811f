"""Addresses that no view can answer."""

from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.utils.deprecation import MiddlewareMixin


class NulMiddleware(MiddlewareMixin):
    """Refuses addresses with a NUL, which no database takes."""

    def process_request(self, request: HttpRequest) -> None:
        if "\0" in request.path or "%00" in request.META.get("QUERY_STRING", ""):
            raise BadRequest("There is a NUL in the address.")
