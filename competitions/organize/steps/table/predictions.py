"""The columns of the sample submission that answer the targets."""

from typing import Final

from django import forms
from django.core.exceptions import ValidationError

from competitions.organize.models import CompetitionDraft
from competitions.organize.steps.step import Step, StepForm, bound
from competitions.organize.steps.table.data import answer_texts, predicted_in_sample, sample_preview, solution_preview
from competitions.organize.steps.table.metric import MetricForm, expected_names
from scoring.errors import ScoringInputError
from scoring.metrics import METRICS
from scoring.tables.matching import ColumnMatch, match_columns


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
                self.add_error(
                    field, f"“{chosen[name]}” is chosen for “{others[0]}”, too. Choose each column only once."
                )
        return {"columns": chosen}


def expected_columns(draft: CompetitionDraft) -> dict[str, bool] | None:
    """The columns that teams predict, and if they hold numbers; None where that is not known yet."""
    metric = METRICS.get("".join(answer_texts(draft, "metric", "metric")[:1]))
    if metric is None or solution_preview(draft) is None or not answer_texts(draft, "columns", "targets"):
        return None
    answers = draft.answers["metric"]
    form = bound(MetricForm, draft, answers)
    parameters = form.cleaned_data.get("parameters") if form.is_valid() else None
    names = None if parameters is None else expected_names(draft, metric, parameters)
    if names is None:
        return None
    types = {column["name"]: column["type"] for column in (solution_preview(draft) or {"columns": []})["columns"]}
    is_class = metric.prediction.kind in ("class", "binary", "text")
    return {name: not is_class or types.get(name) == "integer" for name in names}


def asks_for_columns(draft: CompetitionDraft) -> bool:
    """True where the sample submission has columns of its own that answer the targets."""
    return sample_preview(draft) is not None and expected_columns(draft) is not None


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
