"""Lists of the workspace: filters in the address, page by page, and the rows that are ticked."""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from django import forms
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from competitions.organize.refusals import NOTHING_CHOSEN

PAGE_SIZE: Final = 50
Row = TypeVar("Row", bound=Model)


class ListForm(forms.Form):
    """Filters of a list; a value that is wrong filters nothing, and the page says so."""

    before = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1, widget=forms.HiddenInput)

    def filtered(self, rows: QuerySet[Row], **filters: str) -> QuerySet[Row]:
        """The rows with the entered values, newest first; `filters` names a filter for a field of the row."""
        named = filters | {"pk__lt": "before"}
        values = {field: self.cleaned_data.get(name) for field, name in named.items()}
        return rows.filter(**{field: value for field, value in values.items() if value}).order_by("-pk")


def list_page(request: HttpRequest, rows: QuerySet[Any]) -> tuple[list[Any], str]:
    """The first rows, and the query of the address at which the list goes on; empty at its end."""
    shown = list(rows[: PAGE_SIZE + 1])
    if len(shown) <= PAGE_SIZE:
        return shown, ""
    query = request.GET.copy()
    query["before"] = str(shown[PAGE_SIZE - 1].pk)
    return shown[:PAGE_SIZE], query.urlencode()


def ticked(rows: QuerySet[Row], numbers: Sequence[int], what: str) -> QuerySet[Row]:
    """Those of these rows that were ticked. Raises `NOTHING_CHOSEN`."""
    chosen = rows.filter(pk__in=numbers[:PAGE_SIZE]).order_by("pk")
    if not chosen.exists():
        raise NOTHING_CHOSEN(what=what)
    return chosen
