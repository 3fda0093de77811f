"""Parsers of the API."""

from collections.abc import Mapping
from typing import IO, Any, Final

from rest_framework import parsers
from rest_framework.exceptions import ParseError

from files.text import is_storable, texts_in

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
