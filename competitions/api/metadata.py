"""Answers to `OPTIONS`."""

from typing import TYPE_CHECKING

from rest_framework.metadata import SimpleMetadata
from rest_framework.request import Request

if TYPE_CHECKING:  # which looks for this module while it is imported
    from rest_framework.views import APIView


class ViewMetadata(SimpleMetadata):
    """Name, description and media types; the fields of each call are in the schema at /api/v1/docs/."""

    def determine_actions(self, request: Request, view: "APIView") -> dict[str, object]:
        """None."""
        return {}
