"""A competition on a table: its answers, columns and metric, public and private part."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from django import forms
from django.core.exceptions import ValidationError

from competitions.organize.answers import MetricChoice, MetricFacts, Solution
from competitions.organize.steps.step import FileSlot, Step, StepForm, bound
from scoring.errors import ScoringInputError
from scoring.metrics import METRICS
from scoring.metrics.metric import Metric, Parameter
from scoring.tables.columns import metrics_for, prediction_names
from scoring.tables.file_types import join_values
from scoring.tables.recognise import ColumnDocument, TablePreview
from scoring.tables.samples import ColumnMatch, match_columns
from scoring.tables.schema import Value
from scoring.tables.table_reference import OWN_METRIC

if TYPE_CHECKING:
    from competitions.organize.models import CompetitionDraft

OWN: Final = OWN_METRIC  # the metric is a Python file of the organizer's
SOLUTION: Final = FileSlot(
    "solution",
    "Solution",
    "The answers: one row an item, an id column, the target. CSV, TSV, Parquet, JSON Lines, npz; compressed or not.",
)
SAMPLE: Final = FileSlot(
    "sample_submission",
    "Sample submission",
    "What teams start from: every id, and the same prediction in each row. Its columns may have names of their own. "
    "Without one, the site makes it.",
    is_required=False,
)
Choices = list[tuple[str, str]]
Predicted = tuple[str, str, tuple[str, ...] | None]  # layout, kind, and names where they are known
MOST_FURTHER: Final = 9


def table_preview(draft: "CompetitionDraft", role: str) -> Solution | None:
    """The preview of a table; None until it was read."""
    file = next((file for file in draft.files.all() if file.role == role), None)
    return cast("Solution", file.preview) if file is not None and file.preview else None


def solution_preview(draft: "CompetitionDraft") -> Solution | None:
    return table_preview(draft, SOLUTION.role)


def sample_preview(draft: "CompetitionDraft") -> Solution | None:
    return table_preview(draft, SAMPLE.role)


def _column_names(draft: "CompetitionDraft", role: str = SOLUTION.role) -> list[str]:
    table = table_preview(draft, role)
    return [column["name"] for column in table["columns"]] if table else []


def _answer(draft: "CompetitionDraft", step: str, name: str) -> list[str]:
    texts: list[str] = draft.answers.get(step, {}).get(name, [])
    return texts


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
        label="Scores by",
        required=False,
        help_text="You read a score for the rows of each value, such as each town. Teams read none unless the phase says so.",
    )

    def prepare(self) -> None:
        solution, sample = solution_preview(self.draft), sample_preview(self.draft)
        usage, identity = (solution["usage_column"], solution["id_column"]) if solution else (None, None)
        every: Choices = [(name, name) for name in _column_names(self.draft) if name != usage]
        for field in ("id_column", "targets"):
            self.fields[field].choices = every  # type: ignore[attr-defined]  # both are fields with choices
        for field in ("weight", "group", "slices"):
            self.fields[field].choices = [("", "none"), *every]  # type: ignore[attr-defined]
        self.fields["id_column"].initial = identity
        self.fields["targets"].initial, self.left_out = (
            propose_targets(solution, sample) if solution else (list[str](), "")
        )

    def clean(self) -> dict[str, object]:
        cleaned, solution = self.cleaned_data, solution_preview(self.draft)
        identity, targets = cleaned.get("id_column"), cleaned.get("targets", [])
        if solution is None:
            raise ValidationError("Upload the solution first.")
        if identity in targets:
            self.add_error("targets", f"“{identity}” is the id. Choose the columns that teams predict.")
        self._require_ids(solution, identity)
        self._require_slices(solution, cleaned.get("slices"))
        self._require_sample(solution, identity)
        revealed = set(targets) & set(_column_names(self.draft, "test"))
        if revealed:
            self.add_error(
                "targets",
                f"The test data hold {', '.join(sorted(revealed))}: that tells the answers. Upload them without it.",
            )
        return cleaned

    def _require_ids(self, solution: Solution, identity: str | None) -> None:
        column = next((candidate for candidate in solution["columns"] if candidate["name"] == identity), None)
        if column is None or (not column["missing"] and column["distinct"] == solution["rows"]):
            return
        what = column.get("repeats") or f"{column['distinct']:,} different ids in {solution['rows']:,} rows"
        if column["missing"]:
            what += f", {column['missing']:,} of them empty"
        self.add_error("id_column", f"“{identity}” is no id: {what}. Each row needs an id of its own.")

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
            what = f"The sample submission has no column “{identity}”, only {there}. Call the id alike in both files."
            self.add_error("id_column", what)
        elif sample["rows"] != solution["rows"]:
            what = f"The solution has {solution['rows']:,} rows, and the sample submission {sample['rows']:,}."
            self.add_error("id_column", f"{what} Give both files the same ids.")


_FAMILIES: Final = {
    "binary": "two values",
    "class": "classes",
    "count": "numbers",
    "number": "numbers",
    "text": "texts",
}


def propose_targets(solution: Solution, sample: Solution | None) -> tuple[list[str], str]:
    """The columns that are ticked at first, and a sentence on those that are not.

    They are what the sample submission names; else up to three of any kind, or all of the most frequent kind.
    """
    columns = {column["name"]: column for column in solution["columns"]}
    able = [name for name in solution["targets"] if name != solution["id_column"]]
    in_sample = {column["name"] for column in sample["columns"]} if sample else set[str]()
    named = [name for name in able if name in in_sample]
    if named:
        others = [name for name in able if name not in in_sample]
        return named, _left_out(others, "the sample submission does not have them") if others else ""
    families = {name: _family(columns[name]) for name in able}
    kinds = list(families.values())
    if len(able) <= 3 or len(set(kinds)) == 1:
        return able, ""
    kind = max(reversed(kinds), key=kinds.count)
    others = [f"{name} ({families[name]})" for name in able if families[name] != kind]
    why = f"columns are scored together if they are of one kind, and most hold {kind}"
    return [name for name in able if families[name] == kind], _left_out(others, why)


def _family(column: ColumnDocument) -> str:
    """The kind of target in the words of the page."""
    return _FAMILIES.get(column["kind"], "texts" if column["type"] == "text" else "numbers")


def _left_out(names: list[str], why: str) -> str:
    return f"Not ticked: {join_values(names, show=8)}, because {why}. Tick them if teams predict them."


def allowed_metrics(draft: "CompetitionDraft") -> list[Metric]:
    """The metrics that the chosen targets allow, the likeliest first."""
    solution, targets = solution_preview(draft), _answer(draft, "columns", "targets")
    if solution is None or not set(targets) <= set(_column_names(draft)) or not targets:
        return []
    grouped = any(_answer(draft, "columns", "group"))
    metrics = [
        metric for metric in metrics_for(TablePreview.from_json(solution), targets) if grouped or not metric.needs_group
    ]
    given = len(predicted_in_sample(draft))
    return sorted(
        metrics, key=lambda metric: bool(given) and given != len(_expected(draft, metric, {}) or range(given))
    )


def predicted_in_sample(draft: "CompetitionDraft") -> dict[str, bool]:
    """The prediction columns of the sample submission, if there is one, and if they hold numbers."""
    sample, identity = sample_preview(draft), "".join(_answer(draft, "columns", "id_column")[:1])
    columns = sample["columns"] if sample else []
    return {column["name"]: column["type"] != "text" for column in columns if column["name"] != identity}


def _expected(draft: "CompetitionDraft", metric: Metric, parameters: Mapping[str, object]) -> tuple[str, ...] | None:
    """The columns that a team predicts for the metric; None where the page does not know all classes."""
    targets = _answer(draft, "columns", "targets")
    classes = _classes(draft, targets[0]) if metric.prediction.layout == "per class" else ()
    return None if classes is None else prediction_names(metric, targets, metric.settings(parameters), classes)


def _classes(draft: "CompetitionDraft", target: str) -> list[Value] | None:
    """The classes of a column as the scoring library has them; None where they are too many or too long."""
    solution = solution_preview(draft)
    column = next((column for column in solution["columns"] if column["name"] == target), None) if solution else None
    texts = column.get("classes", []) if column is not None else []
    if column is None or not texts or any(text.endswith("…") for text in texts):
        return None
    if column["type"] == "text":
        return sorted(texts)
    numbers = {int(float(text)) for text in texts}
    return sorted(numbers | {0, 1} if numbers <= {0, 1} else numbers)


class MetricForm(StepForm):
    metric = forms.ChoiceField(label="Metric", widget=forms.RadioSelect)
    more = forms.MultipleChoiceField(
        label="Further columns of the board",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Shown beside the metric above, which alone ranks.",
    )
    own_title = forms.CharField(label="Name of your metric", max_length=36, required=False)
    own_direction = forms.ChoiceField(
        label="Better is", choices=[("max", "higher"), ("min", "lower")], required=False, initial="max"
    )
    own_parameters = forms.CharField(
        label="Settings of your metric",
        max_length=500,
        required=False,
        help_text="Values of the further parameters of its function score, such as k=10, alpha=0.1.",
    )

    def prepare(self) -> None:
        self.metrics = allowed_metrics(self.draft)
        groups: dict[str, Choices] = {}
        for number, metric in enumerate(self.metrics):
            name = "Suits your target" if number < 5 else metric.group.capitalize()
            groups.setdefault(name, []).append((metric.name, metric.title))
        choices = [*groups.items(), ("Your own", [(OWN, "A Python file of mine")])]
        self.fields["metric"].choices = choices  # type: ignore[attr-defined]  # a field with choices
        self.fields["metric"].initial = self.metrics[0].name if self.metrics else OWN
        self.fields["more"].choices = [(metric.name, metric.title) for metric in self.metrics]  # type: ignore[attr-defined]
        for metric in self.metrics:
            for parameter in metric.parameters:
                self.fields[_setting(metric, parameter)] = _field(parameter)

    def chosen(self) -> Metric | None:
        """The metric of the catalogue that is chosen now; None for one's own."""
        name = self["metric"].value()
        return next((metric for metric in self.metrics if metric.name == name), None)

    def further(self) -> list[tuple[str, list[forms.boundfield.BoundWidget]]]:
        """Metrics that can stand on one board, as names and boxes to tick: they need the same predictions."""
        kinds: dict[Predicted, list[str]] = {}
        for metric in self.metrics:
            kinds.setdefault(self._predicted(metric, {}), []).append(metric.name)
        boxes = {str(box.data["value"]): box for box in self["more"].subwidgets}
        return [(" ".join(names), [boxes[name] for name in names]) for names in kinds.values() if len(names) > 1]

    def _predicted(self, metric: Metric, parameters: Mapping[str, object]) -> "Predicted":
        """The predictions that the metric needs; metrics on one board need the same."""
        prediction = metric.prediction
        kind = "class" if prediction.kind == "binary" else prediction.kind
        return prediction.layout, kind, _expected(self.draft, metric, parameters)

    def settings(self) -> list[tuple[Metric, list[forms.BoundField]]]:
        """The metrics that have settings, each with their fields. Those of the chosen ones count."""
        return [
            (metric, [self[_setting(metric, parameter)] for parameter in metric.parameters])
            for metric in self.metrics
            if metric.parameters
        ]

    def kept(self, answers: dict[str, list[str]]) -> dict[str, list[str]]:
        others = self._of_others()
        return {name: texts for name, texts in answers.items() if name not in others}

    def clean_own_parameters(self) -> dict[str, object]:
        try:
            return _parameters(self.cleaned_data["own_parameters"])
        except ValueError as error:
            raise ValidationError("Write names and numbers, such as k=10, alpha=0.1, or levels=0.1 0.5 0.9.") from error

    def clean(self) -> dict[str, object]:
        cleaned, metric = self.cleaned_data, self.chosen()
        for name in self._of_others():
            self.errors.pop(name, None)  # nobody asks for them
        if metric is not None:
            cleaned["parameters"] = self._changed_parameters(metric)
        cleaned["more"] = self._clean_more(metric)
        if cleaned.get("metric") == OWN:
            cleaned["parameters"] = cleaned.get("own_parameters", {})
            if not any(file.role == "metric" for file in self.draft.files.all()):
                self.add_error("metric", "Upload the Python file of your metric.")
            if not cleaned.get("own_title"):
                self.add_error("own_title", "Give your metric a name for the leaderboard.")
        return cleaned

    def _clean_more(self, first: Metric | None) -> dict[str, dict[str, object]]:
        """Parameters by metric of the further columns, which need the same predictions as the first."""
        names = [name for name in self.cleaned_data.get("more", []) if first is not None and name != first.name]
        if len(names) > MOST_FURTHER:
            self.add_error("more", f"Choose {MOST_FURTHER} at most; you ticked {len(names)}.")
        further = {name: self._changed_parameters(METRICS[name]) for name in names}
        for name, parameters in further.items():
            assert first is not None, "without a first metric there are no others"
            needed = self._predicted(first, self.cleaned_data.get("parameters", {}))
            if not self.errors and self._predicted(METRICS[name], parameters) != needed:
                what = (
                    f"{METRICS[name].title} needs other predictions than {first.title}, so it cannot stand beside it."
                )
                self.add_error("more", f"{what} Choose metrics of one kind.")
        return further

    def _of_others(self) -> set[str]:
        """Names of the fields that belong to metrics other than the chosen ones."""
        chosen = self["metric"].value()
        named = {chosen, *(self["more"].value() or [])} if chosen != OWN else {OWN}
        settings = {
            _setting(metric, parameter)
            for metric in self.metrics
            if metric.name not in named
            for parameter in metric.parameters
        }
        return settings if chosen == OWN else settings | {"own_title", "own_direction", "own_parameters"}

    def _changed_parameters(self, metric: Metric) -> dict[str, object]:
        """The values that differ from the usual ones."""
        given = {}
        for parameter in metric.parameters:
            name = _setting(metric, parameter)
            value = self.cleaned_data.get(name)
            if value in (None, "", [], parameter.default):
                continue
            try:
                parameter.read(value)
            except ScoringInputError as error:
                self.add_error(name, f"It {str(error).partition(': it ')[2] or error}")
            given[parameter.name] = value
        return given


def _setting(metric: Metric, parameter: Parameter) -> str:
    """The name of the field."""
    return f"{metric.name}-{parameter.name}"


class _Numbers(forms.CharField):
    """Numbers with spaces or commas between."""

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) or value is None else " ".join(f"{number:g}" for number in value)

    def to_python(self, value: Any) -> Any:
        words = str(value or "").replace(",", " ").split()
        try:
            return [float(word) for word in words]
        except ValueError as error:
            raise ValidationError("Write numbers with spaces between, such as 0.1 0.5 0.9.") from error


def _field(parameter: Parameter) -> forms.Field:
    """A field for the parameter; what is left empty has the usual value."""
    about: dict[str, Any] = {
        "label": parameter.name.replace("_", " ").capitalize(),
        "help_text": parameter.help,
        "required": False,
        "initial": parameter.default,
    }
    if parameter.type == "choice":
        return forms.ChoiceField(choices=[(name, name) for name in parameter.choices], **about)
    if parameter.type == "numbers":
        return _Numbers(**about)
    kind = forms.IntegerField if parameter.type == "integer" else forms.FloatField
    return kind(min_value=parameter.minimum, max_value=parameter.maximum, **about)  # type: ignore[arg-type]  # whole where it is whole


def metric_facts(chosen: MetricChoice) -> list[MetricFacts]:
    """Facts of the metrics that were answered; the first one ranks."""
    first = METRICS.get(chosen["metric"])
    if first is None:
        direction = chosen["own_direction"] or "max"
        own: MetricFacts = {
            "name": OWN,
            "key": "score",
            "title": chosen["own_title"],
            "direction": direction,
            "unit": "",
            "parameters": chosen["parameters"],
        }
        return [own]
    further = chosen["more"].items()
    return [_facts(first, chosen["parameters"]), *(_facts(METRICS[name], given) for name, given in further)]


def _facts(known: Metric, parameters: dict[str, object]) -> MetricFacts:
    return {
        "name": known.name,
        "key": known.name,
        "title": known.title,
        "direction": known.direction,
        "unit": known.unit,
        "parameters": parameters,
    }


def _parameters(text: str) -> dict[str, object]:
    """`k=10, levels=0.1 0.5` as values; a word is itself.

    >>> _parameters("k=10, levels=0.1 0.5, average=macro")
    {'k': 10, 'levels': [0.1, 0.5], 'average': 'macro'}
    """
    parameters: dict[str, object] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, separator, value = part.partition("=")
        if not separator or not value.strip():
            raise ValueError(part)
        values = [_value(word) for word in value.split()]
        parameters[name.strip()] = values if len(values) > 1 else values[0]
    return parameters


def _value(word: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


class PredictionsForm(StepForm):
    """The column of the sample submission for each column that a team predicts."""

    def prepare(self) -> None:
        self.fault, expected, given = "", expected_columns(self.draft) or {}, predicted_in_sample(self.draft)
        try:
            match = match_columns(expected, given)
        except ScoringInputError as error:
            match, self.fault = ColumnMatch({}), str(error)
        self.names = {f"column-{number}": name for number, name in enumerate(match.columns)}
        for field, name in self.names.items():
            self.fields[field] = forms.ChoiceField(
                label=name,
                choices=[(column, column) for column in given],
                initial=match.columns[name],
                help_text="No name says so: check it." if name in match.guessed else "",
            )

    def clean(self) -> dict[str, object]:
        if self.fault:
            raise ValidationError(self.fault)
        chosen = {name: self.cleaned_data.get(field) for field, name in self.names.items()}
        for field, name in self.names.items():
            others = [other for other, column in chosen.items() if column == chosen[name] and other != name]
            if others and chosen[name] is not None:
                self.add_error(field, f"“{chosen[name]}” is chosen for “{others[0]}”, too. Choose each column once.")
        return {"columns": chosen}


def expected_columns(draft: "CompetitionDraft") -> dict[str, bool] | None:
    """The columns that teams predict, and if they hold numbers; None where that is not known yet."""
    metric = METRICS.get("".join(_answer(draft, "metric", "metric")[:1]))
    if metric is None or solution_preview(draft) is None or not _answer(draft, "columns", "targets"):
        return None
    answers = draft.answers["metric"]
    form = bound(MetricForm, draft, answers)
    parameters = form.cleaned_data.get("parameters") if form.is_valid() else None
    names = None if parameters is None else _expected(draft, metric, parameters)
    if names is None:
        return None
    types = {column["name"]: column["type"] for column in (solution_preview(draft) or {"columns": []})["columns"]}
    is_class = metric.prediction.kind in ("class", "binary", "text")
    return {name: not is_class or types.get(name) == "integer" for name in names}


def asks_for_columns(draft: "CompetitionDraft") -> bool:
    """True where the sample submission has columns of its own that answer the targets."""
    return sample_preview(draft) is not None and expected_columns(draft) is not None


HOW: Final[Choices] = [
    ("random", "At random"),
    ("stratified", "At random, with the same mix in both parts"),
    ("grouped", "At random, whole groups together"),
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

    def prepare(self) -> None:
        usage = _usage_column(self.draft)
        how: Any = self.fields["how"]
        if usage:
            how.choices = [("column", f"By the column “{usage}” of the solution"), *HOW]
            how.initial = "column"
        self.fields["by"].choices = [("", "the target"), *((name, name) for name in _column_names(self.draft))]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, object]:
        cleaned = self.cleaned_data
        cleaned["column"] = _usage_column(self.draft)
        if cleaned.get("how") == "grouped" and not cleaned.get("by"):
            self.add_error("by", "Choose the column that says which rows belong together.")
        return cleaned


def _usage_column(draft: "CompetitionDraft") -> str | None:
    """The column of the solution that names the parts."""
    solution = solution_preview(draft)
    return solution["usage_column"] if solution else None


def column_shapes(draft: "CompetitionDraft", targets: Sequence[str]) -> list[dict[str, object]]:
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


def part_sizes(draft: "CompetitionDraft", values: dict[str, object]) -> list[tuple[str, int]]:
    """About how many rows each part has, as the values say; nothing where they do not say it."""
    solution = solution_preview(draft)
    if solution is None:
        return []
    if values.get("how") == "column":
        bars = solution["shapes"].get(solution["usage_column"] or "", [])
        return [(str(name).capitalize(), count) for name, count in bars]
    if values.get("how") == "none":
        return [("Public", solution["rows"])]
    percent = str(values.get("percent"))
    if not percent.isdecimal() or not 0 < int(percent) < 100:
        return []
    public = round(solution["rows"] * int(percent) / 100)
    return [("Public", public), ("Private", solution["rows"] - public)]


DATA: Final = Step(
    "data",
    "Data",
    "Which file holds the answers?",
    preview="organize/guided/previews/solution.html",
    intro="Upload the solution. Teams never see it; they get the ids, and the files that you add here for them.",
    slots=(
        SOLUTION,
        SAMPLE,
        FileSlot("training", "Training data", "What teams learn from. They can download it.", is_required=False),
        FileSlot(
            "test", "Test data", "The items to predict, without answers. They can download it.", is_required=False
        ),
    ),
)
COLUMNS: Final = Step(
    "columns",
    "Columns",
    "What are the columns?",
    ColumnsForm,
    preview="organize/guided/previews/columns.html",
    template="columns",
    intro="They were recognised. Check that the id and the target are right.",
)
METRIC: Final = Step(
    "metric",
    "Metric",
    "How are predictions scored?",
    MetricForm,
    preview="organize/guided/previews/metric.html",
    template="metric",
    intro="The metrics that suit your target come first.",
    slots=(FileSlot("metric", "Your own metric", "A Python file with a function score.", (".py",), is_required=False),),
)
PREDICTIONS: Final = Step(
    "predictions",
    "Predictions",
    "Which column answers what?",
    PredictionsForm,
    preview="organize/guided/previews/sample.html",
    template="predictions",
    intro="Choose the column of your sample submission for each one that is scored.",
    is_asked=asks_for_columns,
)
SPLIT: Final = Step(
    "split",
    "Public and private",
    "Which part is public?",
    SplitForm,
    preview="organize/guided/previews/split.html",
    template="split",
    intro="Scores of the public part are shown at once. Those of the private part stay sealed until the end, and decide.",
)
