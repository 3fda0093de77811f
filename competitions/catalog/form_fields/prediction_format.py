"""The format of predictions as form fields: any zip, an official file, or a table."""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, TypedDict, cast

from django import forms
from django.core.exceptions import ValidationError
from django.template.loader import render_to_string
from django.utils.datastructures import MultiValueDict
from django.utils.safestring import SafeString

from competitions.catalog.models import validate_prediction_format

ANY, OFFICIAL, TABLE, KEPT = "any", "official", "table", "kept"
KINDS: Final = ((ANY, "Any zip"), (OFFICIAL, "The official file of a known dataset"), (TABLE, "A table of predictions"))
COLUMN_PARTS: Final = ("name", "type", "minimum", "maximum", "allowed", "missing")
SINGLE: Final = ("kind", "official", "rows", "id_column", "probabilities", "tolerance")
EMPTY_ROWS: Final = 3
MOST_COLUMNS: Final = 60  # more stay as they are: no form sends so many fields


class PredictionFormatWidget(forms.Widget):
    """One control for each part; a column of a table is a row. Columns without a name are left out."""

    use_fieldset = True

    class Media:
        css: ClassVar[dict[str, list[str]]] = {"all": ["podium/format-field.css"]}

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        from scoring.benchmarks.datasets import DATASETS
        from scoring.formats.layouts import splits
        from scoring.tables.schema import FORMATS, TYPES

        official = [f"{dataset} {split}" for dataset in sorted(DATASETS) for split in splits(dataset)]
        context = {
            "name": name,
            "sent": self.control_values(value),
            "kinds": KINDS,
            "official": official,
            "formats": FORMATS,
            "types": TYPES,
        }
        return render_to_string("forms/prediction_format.html", context)

    @staticmethod
    def control_values(value: Any) -> Mapping[str, Any]:
        """The values of the controls: of a stored format, or those that were sent and are wrong."""
        if isinstance(value, Sent):
            return value.parts
        table = (value or {}).get("table") or {}
        columns = [dict(column) for column in table.get("columns", ())]
        for column in columns:
            column["allowed"] = _as_line(column.get("allowed", ()))
        kind = KEPT if len(columns) > MOST_COLUMNS else TABLE if table else OFFICIAL if value else ANY
        return {
            "kind": kind,
            "official": f"{value['dataset']} {value['split']}" if kind == OFFICIAL else "",
            "rows": (table or value or {}).get("rows"),
            "id_column": table.get("id_column", ""),
            "formats": table.get("formats"),
            "columns": [*columns, *({} for _ in range(EMPTY_ROWS))],
            "probabilities": "\n".join(", ".join(group) for group in table.get("probabilities", ())),
            "tolerance": table.get("tolerance", ""),
        }

    @classmethod
    def stored_data(cls, name: str, value: Any) -> dict[str, list[str]]:
        """The stored format as the controls send it back."""
        parts = cls.control_values(value)
        data = {f"{name}_{part}": [_typed(parts[part])] for part in SINGLE}
        for part in COLUMN_PARTS:
            data[f"{name}_column_{part}"] = [_typed(column.get(part)) for column in parts["columns"]]
        return data | {f"{name}_formats": list(parts["formats"] or ())}

    def value_from_datadict(self, data: Any, files: Any, name: str) -> "Sent | None":
        if f"{name}_kind" not in data:
            return None
        lists = {part: data.getlist(f"{name}_column_{part}") for part in COLUMN_PARTS}
        rows = [
            {part: values[number].strip() if number < len(values) else "" for part, values in lists.items()}
            for number in range(len(lists["name"]))
        ]
        parts = {part: data.get(f"{name}_{part}", "").strip() for part in SINGLE}
        return Sent(cast("Parts", parts | {"columns": rows, "formats": data.getlist(f"{name}_formats")}))

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return f"{name}_kind" not in data


class Parts(TypedDict):
    """A format as its controls hold it; all of it is text but the columns and the formats of files."""

    kind: str
    official: str
    rows: str
    id_column: str
    probabilities: str
    tolerance: str
    columns: list[dict[str, str]]
    formats: list[str]


class Sent:
    """The parts as they were typed."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts


class PredictionFormatField(forms.Field):
    """Returns the value of `Phase.prediction_format`; unchanged parts of `stored` stay as written."""

    widget = PredictionFormatWidget
    stored: dict[str, object] | None = None

    def __init__(self, **options: Any) -> None:
        allowed = {name: options[name] for name in ("label", "initial", "help_text", "required") if name in options}
        super().__init__(**allowed)

    def clean(self, value: Any) -> dict[str, object] | None:
        kind = value.parts["kind"] if isinstance(value, Sent) else ANY
        if kind == KEPT:
            return self.stored
        prediction_format = _read_format(kind, value.parts) if kind != ANY else None
        return self.stored if self.stored and prediction_format == self._as_sent_back() else prediction_format

    def _as_sent_back(self) -> dict[str, object] | None:
        """The value of a form that nobody touched."""
        data = MultiValueDict(PredictionFormatWidget.stored_data("f", self.stored))
        sent = PredictionFormatWidget().value_from_datadict(data, {}, "f")
        return _read_format(sent.parts["kind"], sent.parts) if sent is not None else None

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return bool(self.clean(data) != initial)
        except ValidationError:
            return True


def _typed(value: Any) -> str:
    """A value as its control sends it."""
    return "yes" if value is True else "" if value in (None, False) else str(value)


def _read_format(kind: str, parts: Parts) -> dict[str, object]:
    prediction_format = _read_table(parts) if kind == TABLE else _read_official(parts)
    validate_prediction_format(prediction_format)
    return prediction_format


def _read_official(parts: Parts) -> dict[str, object]:
    dataset, _, split = parts["official"].partition(" ")
    rows = {"rows": _whole(parts["rows"])} if parts["rows"] else {}
    return {"dataset": dataset, "split": split, **rows}


def _read_table(parts: Parts) -> dict[str, object]:
    """The table as `TableSchema.as_json` writes it: what is as by default is left out."""
    from scoring.tables.schema import FORMATS, TableSchema

    columns = [_read_column(row) for row in parts["columns"] if row["name"]]
    table: dict[str, object] = {"id_column": parts["id_column"], "columns": columns}
    if parts["rows"]:
        table["rows"] = _whole(parts["rows"])
    if parts["formats"] and set(parts["formats"]) != set(FORMATS):
        table["formats"] = parts["formats"]
    groups = [
        [name.strip() for name in line.split(",") if name.strip()] for line in parts["probabilities"].splitlines()
    ]
    if groups := [group for group in groups if group]:
        table["probabilities"] = groups
    if parts["tolerance"]:
        table["tolerance"] = _number(parts["tolerance"])
    validate_prediction_format({"table": table})
    return {"table": TableSchema.from_json(table).as_json()}


def _read_column(row: Mapping[str, str]) -> dict[str, object]:
    column: dict[str, object] = {"name": row["name"], "type": row["type"] or "number"}
    for bound in ("minimum", "maximum"):
        if row[bound]:
            column[bound] = _number(row[bound])
    if row["allowed"]:
        texts = [text for text in next(csv.reader([row["allowed"]], skipinitialspace=True)) if text]
        column["allowed"] = texts if column["type"] == "text" else [_number(text) for text in texts]
    if row["missing"] == "yes":
        column["missing"] = True
    return column


def _as_line(values: Iterable[object]) -> str:
    """The values with commas between them; a value that holds a comma is quoted."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(values)
    return line.getvalue()


def _number(text: str) -> int | float:
    try:
        number = float(text)
    except ValueError as error:
        raise ValidationError(f"{text[:40]!r} is not a number.") from error
    return int(number) if number.is_integer() and abs(number) < 2**53 and not set(text) & set(".eE") else number


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 12:
        raise ValidationError(f"{text[:40]!r} is not a number of rows. Give a whole number, or leave it empty.")
    return int(text)
