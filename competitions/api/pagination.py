"""Cursor paging: constant cost at any depth, no row twice while new ones arrive."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet
from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request

from core.composed import Argument, Composed
from core.numbers import is_number


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


@dataclass(frozen=True)
class ComposedRows:
    """What cursor paging needs of a queryset, whose SQL is composed once for each shape of the question.

    `compose` is a function of a module, and makes the queryset from what is asked; paging adds order, bound and slice.
    """

    compose: Callable[..., QuerySet[Any]]
    asked: dict[str, Argument]
    bound: dict[str, int] = field(default_factory=dict)
    ordering: tuple[str, ...] = ()

    def order_by(self, *ordering: str) -> "ComposedRows":
        """The same rows in this order."""
        return replace(self, ordering=ordering)

    def filter(self, **bound: str) -> "ComposedRows":
        """Those on one side of a cursor's position, which is a number."""
        return replace(self, bound={lookup: int(position) for lookup, position in bound.items()})

    def __getitem__(self, cut: slice) -> list[Any]:
        composed = _composed(self.compose, tuple(self.bound), self.ordering, cut.start, cut.stop)
        return composed(**self.asked, **self.bound)


@lru_cache(maxsize=128)
def _composed(
    compose: Callable[..., QuerySet[Any]], bounds: tuple[str, ...], ordering: tuple[str, ...], start: int, stop: int
) -> Composed[Any]:
    def page(**asked: Any) -> QuerySet[Any]:
        bound = {lookup: asked.pop(lookup) for lookup in bounds}
        return compose(**asked).filter(**bound).order_by(*ordering)[start:stop]

    return Composed(page)
