"""The metric of a table competition, further ones beside it, and the predictions that they need."""

from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError

from competitions.organize.answers import MetricChoice, MetricFacts
from competitions.organize.models import CompetitionDraft
from competitions.organize.steps.step import FileSlot, Step, StepForm
from competitions.organize.steps.table.data import (
    Choices,
    answer_texts,
    column_names,
    predicted_in_sample,
    solution_preview,
)
from scoring.errors import ScoringInputError
from scoring.metrics import METRICS
from scoring.metrics.metric import Metric, Parameter
from scoring.reference import OWN_METRIC
from scoring.tables.choices import metrics_for, prediction_names
from scoring.tables.previews import TablePreview
from scoring.tables.schema import Value

OWN: Final = OWN_METRIC  # the metric is a Python file of the organizer's
Predicted = tuple[str, str, tuple[str, ...] | None]  # layout, kind, and names where they are known
MOST_FURTHER: Final = 9


def allowed_metrics(draft: CompetitionDraft) -> list[Metric]:
    """The metrics that the chosen targets allow, the likeliest first."""
    solution, targets = solution_preview(draft), answer_texts(draft, "columns", "targets")
    if solution is None or not set(targets) <= set(column_names(draft)) or not targets:
        return []
    grouped = any(answer_texts(draft, "columns", "group"))
    metrics = [
        metric for metric in metrics_for(TablePreview.from_json(solution), targets) if grouped or not metric.needs_group
    ]
    given = len(predicted_in_sample(draft))
    return sorted(
        metrics, key=lambda metric: bool(given) and given != len(expected_names(draft, metric, {}) or range(given))
    )


def expected_names(draft: CompetitionDraft, metric: Metric, parameters: Mapping[str, object]) -> tuple[str, ...] | None:
    """The columns that a team predicts for the metric; None where the page does not know all classes."""
    targets = answer_texts(draft, "columns", "targets")
    classes = _classes(draft, targets[0]) if metric.prediction.layout == "per class" else ()
    return None if classes is None else prediction_names(metric, targets, metric.settings(parameters), classes)


def _classes(draft: CompetitionDraft, target: str) -> list[Value] | None:
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
        label="More leaderboard columns",
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
        if fault := self._low_fault():
            self.fields["metric"].error_messages["invalid_choice"] = fault
        self.fields["more"].choices = [(metric.name, metric.title) for metric in self.metrics]  # type: ignore[attr-defined]
        for metric in self.metrics:
            for parameter in metric.parameters:
                self.fields[_setting(metric, parameter)] = _field(parameter)

    def _low_fault(self) -> str:
        """Says why the target is too low for the metric that was sent, which is not offered then."""
        metric, solution = METRICS.get(self["metric"].value() or ""), solution_preview(self.draft)
        targets = answer_texts(self.draft, "columns", "targets")
        lows = (
            [column.get("minimum") for column in solution["columns"] if column["name"] in targets] if solution else []
        )
        return next(filter(None, (metric.target.low_fault(low) for low in lows)), "") if metric else ""

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
        return prediction.layout, kind, expected_names(self.draft, metric, parameters)

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


METRIC: Final = Step(
    "metric",
    "Metric",
    "How are predictions scored?",
    MetricForm,
    preview="organize/guided/previews/metric.html",
    template="metric",
    intro="The metrics that suit your target come first.",
    slots=(FileSlot("metric", "Your own metric", "A Python file with a function score.", (".py",)),),
)
