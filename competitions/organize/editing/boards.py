"""Boards: what counts, who sees it, its columns, and its winners' lane."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, ClassVar, Final, cast

from django import forms
from django.db.models import Model
from django.http import QueryDict

from competitions.catalog.changes.board_rules import faults_of_board
from competitions.catalog.changes.boards import change_board, new_board
from competitions.catalog.models import Column, Competition, Leaderboard, Phase, setting_names
from competitions.leaderboards.forms import ColumnForm, ColumnFormSet
from competitions.leaderboards.impact import empty_columns
from competitions.organize.editing.change_form import CompetitionForm, browser_texts
from competitions.organize.editing.phases import PhaseMoment
from competitions.winners.lanes import impact_of_lane, save_lane
from competitions.winners.models import Lane
from core.confirmations import state_digest
from core.models import next_index

COLUMNS: Final = "columns"
FORM_SET: Final = forms.inlineformset_factory(Leaderboard, Column, form=ColumnForm, formset=ColumnFormSet, extra=1)
FIELDS: Final = ColumnForm.Meta.fields


class BoardForm(CompetitionForm):
    """A board with its columns."""

    groups: ClassVar[Any] = tuple(Leaderboard.form.items())
    freeze_at = PhaseMoment(
        label="Freeze at (UTC)",
        required=False,
        help_text=(
            "Submissions received from then on stay off the board until this field is cleared or the phase is revealed."
        ),
    )
    selection_closes_at = PhaseMoment(
        label="Selection closes (UTC)", required=False, help_text="Leave empty for the end of the phase."
    )

    class Meta:
        model = Leaderboard
        fields = setting_names(Leaderboard)
        labels: ClassVar[dict[str, str]] = {"index": "Place"}

    def __init__(
        self,
        competition: Competition,
        data: QueryDict | None = None,
        *,
        phase: Phase,
        instance: Leaderboard | None = None,
    ) -> None:
        self.phase = phase
        super().__init__(competition, data, instance=instance or Leaderboard(phase=phase))
        if instance is None:  # it is the last
            del self.fields["index"]
        self.columns = self._column_forms(data)

    def _column_forms(self, data: QueryDict | None) -> Any:
        """The columns, and a new one at the last place."""
        place = next_index(self.instance.columns) if self.instance.pk else 0
        return FORM_SET(data, instance=self.instance, prefix=COLUMNS, initial=[{"index": place}])

    def shared_values(self) -> dict[str, object]:
        if not self.instance.pk:
            return {}
        return self.row | stored_values(self.instance)

    def was_left(self, name: str, cleaned: Mapping[str, object], seen: str) -> bool:
        # Of columns `merge` asks field by field.
        return name.startswith(COLUMNS) or super().was_left(name, cleaned, seen)

    def field_news(self, name: str) -> str:
        return news_of_column(self.columns, name) if name.startswith(COLUMNS) else super().field_news(name)

    def take_over(self, names: list[str]) -> None:
        """Show what others changed in columns beside what the reader entered."""
        seen = self._seen()
        super().take_over([name for name in names if not name.startswith(COLUMNS)])
        data = merge(self.columns, seen, cast("QueryDict", self.data))
        self.data = data
        self.columns = self._column_forms(data)

    def is_valid(self) -> bool:
        return super().is_valid() and self.columns.is_valid()

    @property
    def is_refused(self) -> bool:
        return super().is_refused or not self.columns.is_valid()

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or self.cleaned_data
        rows = Leaderboard.objects.select_related("phase__competition__queue")
        stored = rows.get(pk=self.instance.pk) if self.instance.pk else None
        entered = Leaderboard(phase=self.phase, visibility=str(cleaned.get("visibility", "")))
        for field, fault in faults_of_board(entered, stored):
            self.add_error(field, fault)
        return cleaned

    def has_changed(self) -> bool:
        return super().has_changed() or self.columns.has_changed()

    def write(self, now: datetime) -> Model:
        board = self.instance
        if not board.pk:
            place = new_board(self.phase, self.cleaned_data["title"])
            board.key, board.index = place.key, place.index
        keys = set(board.columns.values_list("key", flat=True)) if board.pk else set()
        columns = cast("ColumnFormSet", self.columns).columns
        row = change_board(board, columns, now=now, confirmed=self.confirmed).row
        self.remarks = empty_columns(row, keys)
        return row


class LaneForm(CompetitionForm):
    """The winners' lane of a board."""

    groups: ClassVar[Any] = (
        ("Places", ("top", "by_tier", "days", "instructions")),
        (
            "How closely the code must repeat its predictions",
            ("tolerance", "min_equal_share", "score_tolerance", "tolerance_origin"),
        ),
    )

    class Meta:
        model = Lane
        fields = (
            "top",
            "by_tier",
            "days",
            "instructions",
            "tolerance",
            "min_equal_share",
            "score_tolerance",
            "tolerance_origin",
        )
        labels: ClassVar[dict[str, str]] = {
            "tolerance": "Largest mean difference",
            "score_tolerance": "Largest difference of the score",
            "instructions": "Instructions for invited teams",
        }
        widgets: ClassVar[dict[str, object]] = {"tolerance_origin": forms.Textarea(attrs={"rows": 2})}

    def __init__(self, board: Leaderboard, data: QueryDict | None = None, *, instance: Lane | None = None) -> None:
        super().__init__(board.phase.competition, data, instance=instance or Lane(leaderboard=board))

    def consequences(self, now: datetime) -> list[str]:
        return list(impact_of_lane(self.instance, self.changed_data))

    def write(self, now: datetime) -> Lane:
        return save_lane(self.instance)


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
        stored = browser_texts(fresh.fields[field], fresh[field].value())
        yield field, stored if is_left else _texts_sent(form, field)
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
