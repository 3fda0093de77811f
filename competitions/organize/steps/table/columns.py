"""The columns of the solution: id, targets, weights, groups and slices."""

from collections.abc import Sequence
from typing import Final

from django import forms
from django.core.exceptions import ValidationError

from competitions.catalog.models.sections.data import MOST_COLUMNS, read_descriptions, validate_descriptions
from competitions.organize.answers import Solution
from competitions.organize.models import CompetitionDraft
from competitions.organize.steps.step import Step, StepForm
from competitions.organize.steps.table.data import Choices, column_names, sample_preview, solution_preview
from core.fields import SHORT_TEXT
from scoring.tables.choices import metrics_for
from scoring.tables.previews import ColumnDocument, TablePreview
from scoring.tables.reading.file_types import join_values

TRAINING: Final = {"train", "training"}
OTHER_SETS: Final = {"test", "testing", "valid", "validation", "val", "dev"}


class ColumnsForm(StepForm):
    id_column = forms.ChoiceField(label="Id", help_text="Rows are matched by it, in any order.")
    targets = forms.MultipleChoiceField(
        label="Target", widget=forms.CheckboxSelectMultiple, help_text="What teams predict."
    )
    weight = forms.ChoiceField(label="Weight of each row", required=False)
    group = forms.ChoiceField(
        label="Group of each row", required=False, help_text="For metrics that are means over groups, such as users."
    )
    slices = forms.ChoiceField(
        label="Break scores down by",
        required=False,
        help_text="You read a score for the rows of each value, such as each town. Teams read none unless the phase says so.",
    )

    descriptions = forms.CharField(
        label="What the columns mean",
        required=False,
        max_length=SHORT_TEXT,
        validators=[validate_descriptions],
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="Shown beside the tables on the page Data: a name, a colon and the meaning, such as price: in euros. Lines without a "
        "meaning are left out.",
    )

    def prepare(self) -> None:
        self.fields["descriptions"].initial = "".join(f"{name}: \n" for name in public_columns(self.draft))
        solution, sample = solution_preview(self.draft), sample_preview(self.draft)
        usage, identity = (solution["usage_column"], solution["id_column"]) if solution else (None, None)
        every: Choices = [(name, name) for name in column_names(self.draft) if name != usage]
        for field in ("id_column", "targets"):
            self.fields[field].choices = every  # type: ignore[attr-defined]  # both are fields with choices
        for field in ("weight", "group", "slices"):
            self.fields[field].choices = [("", "none"), *every]  # type: ignore[attr-defined]
        self.fields["id_column"].initial = identity
        self.fields["targets"].initial, self.left_out = (
            propose_targets(solution, sample) if solution else (list[str](), "")
        )

    @property
    def has_descriptions(self) -> bool:
        return bool(read_descriptions(str(self["descriptions"].value() or "")))

    def clean(self) -> dict[str, object]:
        cleaned, solution = self.cleaned_data, solution_preview(self.draft)
        identity, targets = cleaned.get("id_column"), cleaned.get("targets", [])
        if solution is None:
            raise ValidationError(
                "Upload the solution first; these are its columns. A large one takes a minute to read."
            )
        if identity in targets:
            self.add_error("targets", f"“{identity}” is the id. Choose the columns that teams predict.")
        self._require_one_kind(solution, targets)
        self._require_ids(solution, identity)
        self._require_slices(solution, cleaned.get("slices"))
        self._require_sample(solution, identity)
        revealed = set(targets) & set(column_names(self.draft, "test"))
        if revealed:
            self.add_error(
                "targets",
                f"The test data hold {', '.join(sorted(revealed))}: that tells the answers. Upload them without it.",
            )
        return cleaned

    def _require_one_kind(self, solution: Solution, targets: list[str]) -> None:
        """Refuse text beside numbers, unless a metric takes both, as labels of two values."""
        are_texts = {column["type"] == "text" for column in solution["columns"] if column["name"] in targets}
        if len(are_texts) > 1 and not metrics_for(TablePreview.from_json(solution), targets):
            self.add_error("targets", "Text and number columns cannot be scored together. Choose one kind.")

    def _require_ids(self, solution: Solution, identity: str | None) -> None:
        column = next((candidate for candidate in solution["columns"] if candidate["name"] == identity), None)
        if column is None or (not column["missing"] and column["distinct"] == solution["rows"]):
            return
        what = column.get("repeats") or f"{column['distinct']:,} different ids in {solution['rows']:,} rows"
        if column["missing"]:
            what += f", {column['missing']:,} of them empty"
        self.add_error("id_column", f"“{identity}” is not an id: {what}. Each row needs an id of its own.")

    def _require_slices(self, solution: Solution, name: str | None) -> None:
        column = next((candidate for candidate in solution["columns"] if candidate["name"] == name), None)
        if column is not None and column["distinct"] == solution["rows"]:
            what = f"“{name}” has another value in each row. Choose a column whose values several rows share, or none."
            self.add_error("slices", what)

    def _require_sample(self, solution: Solution, identity: str | None) -> None:
        """Refuse a sample with another id column, or of another length; its ids are compared by the build."""
        sample = sample_preview(self.draft)
        if sample is None or identity is None:
            return
        names = [column["name"] for column in sample["columns"]]
        if identity not in names:
            there = join_values([f"“{name}”" for name in names], show=8)
            what = f"The sample submission has no column “{identity}”, only {there}. Give the id the same name in both files."
            self.add_error("id_column", what)
        elif sample["rows"] != solution["rows"]:
            what = f"The solution has {solution['rows']:,} rows, and the sample submission {sample['rows']:,}."
            self.add_error("id_column", f"{what} Give both files the same ids.")


def public_columns(draft: CompetitionDraft) -> list[str]:
    """The columns of the tables that teams get, each once, as many as can be described."""
    roles = ("training", "test", "sample_submission")
    names = list(dict.fromkeys(name for role in roles for name in column_names(draft, role)))
    return [name for name in names if ":" not in name][:MOST_COLUMNS]


_FAMILIES: Final = {
    "binary": "two values",
    "class": "classes",
    "count": "numbers",
    "number": "numbers",
    "text": "texts",
}


def propose_targets(solution: Solution, sample: Solution | None) -> tuple[list[str], str]:
    """The columns that are ticked at first, and a sentence on those that are not.

    They are what the sample submission names; else all, if they are of one kind; else those of the most frequent kind,
    of numbers where there are any: text beside numbers mostly describes the row.
    """
    columns = {column["name"]: column for column in solution["columns"]}
    able = [name for name in solution["targets"] if name != solution["id_column"]]
    in_sample = {column["name"] for column in sample["columns"]} if sample else set[str]()
    named = [name for name in able if name in in_sample]
    if named:
        others = [name for name in able if name not in in_sample]
        why = "The sample submission does not have them. Tick those that teams predict all the same"
        return named, _left_out(others, why) if others else ""
    families = {name: _family(columns[name]) for name in able}
    if len(set(families.values())) <= 1:
        return able, ""
    numbers = [name for name in able if columns[name]["type"] != "text"]
    kinds = [columns[name]["kind"] for name in numbers or able]
    likeliest = max(reversed(kinds), key=lambda kind: (kinds.count(kind), kind == "number"))
    ticked = [name for name in numbers or able if columns[name]["kind"] == likeliest]
    others = [f"{name} ({families[name]})" for name in able if name not in ticked]
    return ticked, _left_out(
        others, "Only columns of one kind are scored together. Tick these instead if teams predict them"
    )


def _family(column: ColumnDocument) -> str:
    """The kind of target in the words of the page."""
    return _FAMILIES.get(column["kind"], "texts" if column["type"] == "text" else "numbers")


def _left_out(names: list[str], why: str) -> str:
    return f"Not ticked: {join_values(names, show=8)}. {why}."


def column_shapes(draft: CompetitionDraft, targets: Sequence[str]) -> list[dict[str, object]]:
    """The distribution of these columns, as bars."""
    solution = solution_preview(draft)
    if solution is None:
        return []
    shapes, columns = solution["shapes"], {column["name"]: column for column in solution["columns"]}
    chosen = [name for name in targets if name in shapes and name in columns][:3]
    return [
        {"column": columns[name], "bars": shapes[name], "most": max((count for _, count in shapes[name]), default=1)}
        for name in chosen
    ]


def set_column(draft: CompetitionDraft) -> str:
    """The name of a column that tells training rows from test rows; empty without one."""
    solution = solution_preview(draft)
    for name, bars in (solution["shapes"] if solution is not None else {}).items():
        values = {label.lower() for label, _ in bars}
        if len(values) > 1 and values & TRAINING and values <= TRAINING | OTHER_SETS:
            return str(name)
    return ""


COLUMNS: Final = Step(
    "columns",
    "Columns",
    "What are the columns?",
    ColumnsForm,
    preview="organize/guided/previews/columns.html",
    template="columns",
    intro="Check what we found: which column is the id, and which one teams predict.",
)
