"""The public and the private part of the solution."""

from bisect import bisect_left
from datetime import datetime
from typing import Any, Final

from django import forms

from competitions.organize.models import CompetitionDraft
from competitions.organize.steps.common import MOMENT, Moment
from competitions.organize.steps.step import Step, StepForm
from competitions.organize.steps.table.data import SOLUTION, Choices, column_names, solution_preview, table_preview

HOW: Final[Choices] = [
    ("random", "At random"),
    ("stratified", "At random, with the same mix in both parts"),
    ("grouped", "At random, whole groups together"),
    ("time", "By time: earlier rows are public, later ones private"),
    ("none", "No private part: one leaderboard, open to everybody"),
]


class SplitForm(StepForm):
    how = forms.ChoiceField(label="How are they divided?", widget=forms.RadioSelect, choices=HOW, initial="random")
    percent = forms.IntegerField(label="Public part, in percent", min_value=1, max_value=99, initial=30)
    by = forms.ChoiceField(
        label="Mix or group by", required=False, help_text="The column whose values are mixed evenly, or kept together."
    )
    seed = forms.IntegerField(
        min_value=0, max_value=2**31 - 1, initial=2024, help_text="The same seed divides the same rows."
    )

    time = forms.ChoiceField(label="Column of the time", required=False)
    cut = Moment(label="The private part begins (UTC)", required=False)

    def prepare(self) -> None:
        usage, instants = usage_column(self.draft), dated_columns(self.draft)
        how: Any = self.fields["how"]
        how.choices = [(name, label) for name, label in HOW if name != "time" or instants]
        if usage:
            how.choices = [("column", f"By the column “{usage}” of the solution"), *how.choices]
            how.initial = "column"
        self.fields["time"].choices = [(name, name) for name in instants]  # type: ignore[attr-defined]  # with choices
        for quantiles in list(instants.values())[:1]:
            first, last = quantiles[0], quantiles[-1]
            self.fields["cut"].initial = datetime.fromisoformat(quantiles[30]).strftime(MOMENT)
            self.fields["cut"].help_text = f"Rows are from {_shown(first)} to {_shown(last)}."
        self.fields["by"].choices = [("", "the target"), *((name, name) for name in column_names(self.draft))]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, object]:
        cleaned = self.cleaned_data
        cleaned["column"] = usage_column(self.draft)
        if cleaned.get("how") == "grouped" and not cleaned.get("by"):
            self.add_error("by", "Choose the column that says which rows belong together.")
        cut = cleaned.get("cut")
        cleaned["cut"] = cut.replace(tzinfo=None).isoformat() if cut else ""
        if cleaned.get("how") == "time" and "cut" not in self.errors:
            self._require_two_parts(dated_columns(self.draft).get(cleaned.get("time", "")), cleaned["cut"])
        return cleaned

    def _require_two_parts(self, quantiles: list[str] | None, cut: str) -> None:
        if quantiles is None:
            self.add_error("time", "Choose the column with the date of each row.")
        elif not cut or not quantiles[0] < cut <= quantiles[-1]:
            first, last = _shown(quantiles[0]), _shown(quantiles[-1])
            self.add_error(
                "cut", f"One part would be empty: rows are from {first} to {last}. Choose an instant between."
            )


def dated_columns(draft: CompetitionDraft, role: str = SOLUTION.role) -> dict[str, list[str]]:
    """Quantiles of the columns of a table that hold dates alone."""
    table = table_preview(draft, role)
    return table.get("instants", {}) if table else {}


def _shown(instant: str) -> str:
    """An ISO instant for people: a midnight is a date.

    >>> _shown("2026-05-01T00:00:00"), _shown("2026-05-01T10:30:00")
    ('2026-05-01', '2026-05-01 10:30')
    """
    return instant.removesuffix("T00:00:00").replace("T", " ")[:16]


def time_leak(draft: CompetitionDraft, values: dict[str, object]) -> str:
    """A warning where the training data reach into the time that is predicted; empty where they do not."""
    name = str(values.get("time") or "")
    scored, training = dated_columns(draft).get(name), dated_columns(draft, "training").get(name)
    if values.get("how") != "time" or not scored or not training or training[-1] < scored[0]:
        return ""
    later = len(training) - bisect_left(training, scored[0])
    return (
        f"The training data leak the future: about {max(1, round(100 * later / len(training)))} % of their rows are not before "
        f"{_shown(scored[0])}, when the first row to predict is. Cut them off there, unless teams may know them."
    )


def usage_column(draft: CompetitionDraft) -> str | None:
    """The column of the solution that names the parts."""
    solution = solution_preview(draft)
    return solution["usage_column"] if solution else None


def part_sizes(draft: CompetitionDraft, values: dict[str, object]) -> list[tuple[str, int]]:
    """About how many rows each part has, as the values say; nothing where they do not say it."""
    solution = solution_preview(draft)
    if solution is None:
        return []
    if values.get("how") == "column":
        bars = solution["shapes"].get(solution["usage_column"] or "", [])
        return [(str(name).capitalize(), count) for name, count in bars]
    if values.get("how") == "none":
        return [("Public", solution["rows"])]
    if values.get("how") == "time":
        return _sizes_by_time(draft, str(values.get("time")), str(values.get("cut")), solution["rows"])
    percent = str(values.get("percent"))
    if not percent.isdecimal() or not 0 < int(percent) < 100:
        return []
    public = round(solution["rows"] * int(percent) / 100)
    return [("Public", public), ("Private", solution["rows"] - public)]


def _sizes_by_time(draft: CompetitionDraft, name: str, cut: str, rows: int) -> list[tuple[str, int]]:
    quantiles = dated_columns(draft).get(name)
    if not quantiles or not cut:
        return []
    public = round(rows * bisect_left(quantiles, cut) / len(quantiles))
    return [("Public", public), ("Private", rows - public)]


SPLIT: Final = Step(
    "split",
    "Public and private",
    "Which part is public?",
    SplitForm,
    preview="organize/guided/previews/split.html",
    template="split",
    intro="Scores of the public part are shown at once. Those of the private part stay sealed until the end, and decide.",
)
