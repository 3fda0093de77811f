"""Cursor paging: constant cost at any depth, no row twice while new ones arrive."""

from typing import Any

from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request

from files.text import is_number


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
