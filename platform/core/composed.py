"""Queries whose SQL is composed once a process, and rows that are already at hand.

Django composes the SQL of a query anew each time it is asked. For the wide ones that every page asks, that takes longer
than the database takes to answer: half to three milliseconds each, of a page that should take ten.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from datetime import UTC, datetime
from functools import cache
from itertools import count
from typing import Any, Final, Generic, NamedTuple, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Model, QuerySet
from django.db.models.sql.compiler import SQLCompiler

Row = TypeVar("Row")
One = int | str | datetime
Argument = One | Sequence[int] | Sequence[str]
Kind = type[One] | tuple[type[One], ...]  # of one value, or of each of a list
Shape = tuple[tuple[str, Kind], ...]  # by name of the argument
FIRST_MARK: Final = 1_987_654_321  # nobody writes such numbers into a query


class _Statement(NamedTuple):
    queryset: QuerySet[Any, Any]
    compiler: SQLCompiler
    sql: str
    parameters: tuple[Any, ...]  # with marks where the arguments go
    marks: tuple[Any, ...]  # of the arguments, one after the other


class Composed(Generic[Row]):
    """A queryset with arguments, asked as a list: `Composed(lambda team: Task.objects.filter(team=team))(team=7)`.

    Arguments are whole numbers, texts, instants, and lists of different numbers or texts. Each must reach the database
    as a parameter, unchanged: `compose` is called with marks in their place, once for each length of the lists, and must
    not look at them. No answer is kept.
    """

    def __init__(self, compose: Callable[..., QuerySet[Any, Row]]) -> None:
        self._compose = compose
        self._statement = cache(self._composed)

    def __call__(self, **asked: Argument) -> list[Row]:
        if any(value == [] for value in asked.values()):
            return []
        shape = tuple((name, _kind(value)) for name, value in asked.items())
        connection = connections[DEFAULT_DB_ALIAS]  # itself: a page asks it two hundred things, and the proxy is slow
        statement = self._statement(connection.vendor, shape)
        values = dict(zip(statement.marks, map(_parameter, _flat(asked.values())), strict=True))
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
        compiler = queryset.query.get_compiler(connection=connections[DEFAULT_DB_ALIAS])
        sql, parameters = compiler.as_sql()
        converters = compiler.get_converters([selected[0] for selected in compiler.select[: compiler.col_count]])
        compiler.get_converters = lambda expressions: converters
        marks = tuple(map(_parameter, _flat(marked.values())))
        if lost := len(set(marks) - set(parameters)):
            raise ValueError(f"{lost} of the arguments {shape} are no parameters of the statement: {sql}")
        return _Statement(queryset, compiler, sql, tuple(parameters), marks)


def _kind(value: Argument) -> Kind:
    return _type(value) if isinstance(value, One) else tuple(map(_type, value))


def _type(value: One) -> type[One]:
    return int if isinstance(value, int) else str if isinstance(value, str) else datetime


def _mark(kind: Kind, numbers: Iterator[int]) -> Argument:
    if isinstance(kind, tuple):
        return [_mark(one, numbers) for one in kind]  # type: ignore[return-value]  # all of one type
    number = next(numbers)
    return number if kind is int else f"mark-{number}" if kind is str else datetime.fromtimestamp(number, UTC)


def _flat(values: Iterable[Argument]) -> Iterator[One]:
    for value in values:
        if isinstance(value, One):
            yield value
        else:
            yield from value


def _parameter(value: One) -> Any:
    """The value as the database's driver is given it."""
    if isinstance(value, datetime):
        return connections[DEFAULT_DB_ALIAS].ops.adapt_datetimefield_value(value)
    return str(value) if isinstance(value, str) else value  # a member of an enumeration is its text


def fill(owner: Model, name: str, rows: list[Any]) -> None:
    """Let `owner.<name>.all()` answer these rows without a query, as Django's own prefetching does."""
    queryset = getattr(owner, name).all()
    queryset._result_cache, queryset._prefetch_done = rows, True
    owner.__dict__.setdefault("_prefetched_objects_cache", {})[name] = queryset
