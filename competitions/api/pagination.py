"""Cursor paging: constant cost at any depth, no row twice while new ones arrive."""

from rest_framework.pagination import CursorPagination


class IdCursorPagination(CursorPagination):
    """Newest first, 50 a page, at most 500 with `page_size`."""

    ordering = "-id"
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500
