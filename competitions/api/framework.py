"""The REST framework as this API has it: parser, pages, answers to `OPTIONS`, rate of calls."""

from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any, Final

from rest_framework import parsers
from rest_framework.exceptions import NotFound, ParseError
from rest_framework.metadata import SimpleMetadata
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.throttling import UserRateThrottle

from files.text import is_number, is_storable, texts_in

if TYPE_CHECKING:  # which looks for this module while it is imported
    from rest_framework.views import APIView

NOT_STORABLE: Final = "A text has a NUL or half a character, which cannot be stored. Leave it out."


class JSONParser(parsers.JSONParser):
    """DRF's parser, but with clear errors for deep nesting and for texts that cannot be stored."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, object] | None = None
    ) -> dict[str, object]:
        try:
            data = super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise ParseError("The JSON is nested too deeply.") from error
        if not all(map(is_storable, texts_in(data))):
            raise ParseError(NOT_STORABLE)
        return data


class IdCursorPagination(CursorPagination):
    """Newest first, 25 a page, at most 250 with `page_size`."""

    ordering = "-id"
    page_size = 25
    page_size_query_param = "page_size"
    max_page_size = 250

    def decode_cursor(self, request: Request) -> Any:
        """The position inside the cursor, which is the number of a row."""
        cursor = super().decode_cursor(request)
        if cursor is not None and cursor.position is not None and not is_number(str(cursor.position)):
            raise NotFound("The cursor is not one that this API gave out. Start again without a cursor.")
        return cursor


class ViewMetadata(SimpleMetadata):
    """Name, description and media types; the fields of each call are in the schema at /api/v1/docs/."""

    def determine_actions(self, request: Request, view: "APIView") -> dict[str, object]:
        """None."""
        return {}


class AccountRateThrottle(UserRateThrottle):
    """Counts accounts alone: `AnonRateThrottle` counts visitors, who need not be counted twice."""

    def get_cache_key(self, request: Request, view: "APIView") -> str | None:
        return super().get_cache_key(request, view) if request.user.is_authenticated else None
