"""Forms of a board's columns that two people may send at once; neither overwrites the other unseen."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django import forms
from django.http import QueryDict

from competitions.catalog.models import Column, Leaderboard
from competitions.leaderboards.forms import ColumnForm, ColumnFormSet
from core.confirmations import state_digest

COLUMNS: Final = "columns"
FORM_SET: Final = forms.inlineformset_factory(Leaderboard, Column, form=ColumnForm, formset=ColumnFormSet, extra=1)
FIELDS: Final = ColumnForm.Meta.fields


def stored_values(board: Leaderboard) -> dict[str, object]:
    """The stored values of the board's columns, field by field, and which columns there are."""
    rows = list(board.columns.order_by("index", "pk"))
    values = {_name(row.pk, field): getattr(row, field) for row in rows for field in FIELDS}
    return {COLUMNS: [row.pk for row in rows]} | values


def _name(column: int, field: str) -> str:
    return f"{COLUMNS}.{column}.{field}"


def news_of_column(columns: Any, name: str) -> str:
    """Others' change in a few words: the field of which column, or columns added or deleted."""
    if name == COLUMNS:
        return "which columns there are"
    _, column, field = name.split(".")
    row = Column.objects.filter(pk=column).first()
    label = columns.empty_form.fields[field].label
    return f"{label} of the column “{row.title}”" if row is not None else str(label)


def merge(columns: Any, seen: Mapping[str, str], sent: QueryDict) -> QueryDict:
    """Merge the sent data with what is stored now, and return it.

    A field that its sender left alone gets the stored value; columns that others added are added. Columns that others
    deleted are dropped, unless the sender changed them: then they are new columns.
    """
    data = sent.copy()
    board: Leaderboard = columns.instance
    by_column = {str(form["id"].data): form for form in columns.forms if form["id"].data}
    stored = {str(row.pk): row for row in board.columns.order_by("index", "pk")}
    rows = [list(_stored_row(row, by_column.get(key), seen)) for key, row in stored.items()]
    others = [form for form in columns.forms if str(form["id"].data or "") not in stored]
    new_forms = [form for form in others if not form["id"].data or _was_changed(form, seen)]
    rows += [
        [(field, _texts_sent(form, field)) for field in (*FIELDS, "DELETE")] for form in new_forms if form.has_changed()
    ]
    for key in [key for key in data if key.startswith(f"{COLUMNS}-") and key.split("-")[1].isdigit()]:
        del data[key]
    for number, fields in enumerate(rows):
        for field, texts in fields:
            data.setlist(f"{COLUMNS}-{number}-{field}", texts)
    data[f"{COLUMNS}-INITIAL_FORMS"] = str(len(stored))
    data[f"{COLUMNS}-TOTAL_FORMS"] = str(len(rows))
    return data


def _stored_row(row: Column, form: Any, seen: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """A stored column as form data; fields that the sender left, or never saw, have stored values."""
    fresh = ColumnForm(instance=row)
    yield "id", [str(row.pk)]
    for field in FIELDS:
        is_left = form is None or _was_left(form, row.pk, field, seen)
        yield field, _texts_stored(fresh, field) if is_left else _texts_sent(form, field)
    if form is not None:
        yield "DELETE", _texts_sent(form, "DELETE")


def _was_left(form: Any, column: int, field: str, seen: Mapping[str, str]) -> bool:
    """True where the sender saw this value and sent it back; a value that cannot be read was entered."""
    try:
        value = form.fields[field].clean(form[field].data)
    except forms.ValidationError:
        return False
    return state_digest(value) == seen.get(_name(column, field))


def _was_changed(form: Any, seen: Mapping[str, str]) -> bool:
    column = int(form["id"].data) if str(form["id"].data).isdigit() else 0
    return not all(_was_left(form, column, field, seen) for field in FIELDS)


def _texts_sent(form: Any, field: str) -> list[str]:
    return list(form.data.getlist(form.add_prefix(field)))


def _texts_stored(form: Any, field: str) -> list[str]:
    """The stored value as a browser would send it."""
    value, widget = form[field].value(), form.fields[field].widget
    if isinstance(widget, forms.CheckboxInput):
        return ["on"] if value else []
    shown = widget.format_value(form.fields[field].prepare_value(value))
    return [str(item) for item in (shown if isinstance(shown, list) else [shown]) if item is not None]
