"""Queries whose SQL is composed once a process, and rows that are already at hand.

Django composes the SQL of a query anew each time it is asked. For the wide ones that every page asks, that takes longer
than the database takes to answer: half to three milliseconds each, of a page that should take ten.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import cache
from itertools import count
from typing import Any, Final, Generic, NamedTuple, TypeVar

from django.db import connection
from django.db.models import Model, QuerySet
from django.db.models.sql.compiler import SQLCompiler

Row = TypeVar("Row")
Argument = int | str | Sequence[int]
Shape = tuple[tuple[str, type[int | str] | int], ...]  # each argument's name with its type, or with a list's length
FIRST_MARK: Final = 1_987_654_321  # nobody writes such numbers into a query


class _Statement(NamedTuple):
    queryset: QuerySet[Any, Any]
    compiler: SQLCompiler
    sql: str
    parameters: tuple[Any, ...]  # with marks where the arguments go
    marks: tuple[int | str, ...]  # of the arguments, one after the other


class Composed(Generic[Row]):
    """A queryset with arguments, asked as a list: `Composed(lambda team: Task.objects.filter(team=team))(team=7)`.

    Arguments are whole numbers, texts, and lists of different whole numbers. Each must reach the database as a
    parameter, unchanged: `compose` is called with marks in their place, once for each length of the lists, and must
    not look at them. No answer is kept.
    """

    def __init__(self, compose: Callable[..., QuerySet[Any, Row]]) -> None:
        self._compose = compose
        self._statement = cache(self._composed)

    def __call__(self, **asked: Argument) -> list[Row]:
        if any(value == [] for value in asked.values()):
            return []
        shape = tuple((name, _kind(value)) for name, value in asked.items())
        statement = self._statement(connection.vendor, shape)
        values = dict(zip(statement.marks, _flat(asked.values()), strict=True))
        parameters = tuple(values.get(one, one) for one in statement.parameters)
        # From here on Django goes its own way, from rows to instances; its compiler finds the SQL made already.
        compiler = copy(statement.compiler)
        compiler.connection = connection
        compiler.as_sql = lambda *args, **kwargs: (statement.sql, parameters)  # type: ignore[method-assign]
        queryset = statement.queryset.all()
        queryset.query.get_compiler = lambda *args, **kwargs: compiler  # type: ignore[method-assign]
        return list(queryset)

    def _composed(self, vendor: str, shape: Shape) -> _Statement:
        """The statement for arguments of this shape; `vendor` is that of the connection, and a part of the cache's key."""
        numbers = count(FIRST_MARK)
        marked = {name: _mark(kind, numbers) for name, kind in shape}
        queryset = self._compose(**marked)
        compiler = queryset.query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        marks = tuple(_flat(marked.values()))
        if lost := len(set(marks) - set(parameters)):
            raise ValueError(f"{lost} of the arguments {shape} are no parameters of the statement: {sql}")
        return _Statement(queryset, compiler, sql, tuple(parameters), marks)


def _kind(value: Argument) -> type[int | str] | int:
    return len(value) if isinstance(value, Sequence) and not isinstance(value, str) else type(value)


def _mark(kind: type[int | str] | int, numbers: Iterator[int]) -> Argument:
    if isinstance(kind, int):
        return [next(numbers) for _ in range(kind)]
    return next(numbers) if kind is int else f"mark-{next(numbers)}"


def _flat(values: Iterable[Argument]) -> Iterator[int | str]:
    for value in values:
        if isinstance(value, int | str):
            yield value
        else:
            yield from value


def fill(owner: Model, name: str, rows: list[Any]) -> None:
    """Let `owner.<name>.all()` answer these rows without a query, as Django's own prefetching does."""
    queryset = getattr(owner, name).all()
    queryset._result_cache, queryset._prefetch_done = rows, True
    owner.__dict__.setdefault("_prefetched_objects_cache", {})[name] = queryset
