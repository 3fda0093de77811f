"""Forms of a board's columns. What columns may be together is asked of `catalog.changes.board_rules`."""

from typing import Any, ClassVar

from django import forms

from competitions.catalog.changes.board_rules import faults_of_columns
from competitions.catalog.models import Column, Leaderboard, setting_names


class KeysField(forms.CharField):
    """Keys of columns, with commas between them."""

    def to_python(self, value: Any) -> Any:
        return [key.strip() for key in (super().to_python(value) or "").split(",") if key.strip()]

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(map(str, value)) if isinstance(value, list) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.to_python(data) != (initial or []))


class ColumnForm(forms.ModelForm[Column]):
    """A column; what it is computed from are keys, with commas between them."""

    sources = KeysField(
        label="Computed from", required=False, help_text="Keys of other columns, with commas between them: acc, f1."
    )

    class Meta:
        model = Column
        fields = setting_names(Column)
        labels: ClassVar[dict[str, str]] = {
            "index": "Place",
            "precision": "Digits",
            "is_primary": "Decides the rank",
            "is_hidden": "Hidden",
            "rank_by_shown": "Rank by the value as shown",
        }
        help_texts: ClassVar[dict[str, str]] = {"is_primary": ""}

    def has_changed(self) -> bool:
        # The place of a new column is filled in, and moves on when somebody else adds one.
        return bool(self.changed_data and (self.instance.pk or self.changed_data != ["index"]))


class ColumnFormSet(forms.BaseInlineFormSet[Column, Leaderboard, forms.ModelForm[Column]]):
    """The columns of a board; what is wrong with them together stands at the column that it is about."""

    def clean(self) -> None:
        super().clean()
        if not self.instance.phase_id or any(self.errors):
            return
        forms_left = self.forms_left
        for fault in faults_of_columns(self.instance, [form.instance for form in forms_left]):
            if fault.place is None:
                raise forms.ValidationError(fault.text)
            forms_left[fault.place].add_error(fault.field, fault.text)

    @property
    def forms_left(self) -> list[forms.ModelForm[Column]]:
        """The forms of the columns that the board would have: not those to delete, nor an empty one."""
        gone = set(self.deleted_forms)
        return [form for form in self.forms if form not in gone and (form.instance.pk or form.has_changed())]

    @property
    def columns(self) -> list[Column]:
        """The columns as they were entered; valid once the forms are."""
        return [form.instance for form in self.forms_left]
