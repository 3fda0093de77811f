"""A known dataset with its official metric and file format; OGB-LSC with its two splits."""

from typing import Any, Final

from django import forms

import scoring
from competitions.organize.answers import DatasetColumn, DatasetFacts
from competitions.organize.steps.step import FileSlot, Step, StepForm
from scoring.formats.layouts import splits

ARRAYS: Final = (".npz",)
LSC: Final = ("lsc-mag240m", "lsc-pcqm4mv2", "lsc-wikikg90mv2")
LSC_SPLITS: Final = ("test-dev", "test-challenge")
FAMILIES: Final = {
    "lsc": "OGB-LSC",
    "ogbn": "OGB, nodes",
    "ogbl": "OGB, links",
    "ogbg": "OGB, graphs",
    "obl": "OpenBioLink",
}


def dataset_facts(name: str) -> DatasetFacts:
    """A known dataset; `split` is the one to predict, None where teams send results."""
    described = scoring.describe(name)
    split = next(iter(splits(name)), None)
    columns: list[DatasetColumn] = [
        {
            "key": metric["key"],
            "sorting": "asc" if metric["direction"] == "min" else "desc",
            "unit": metric.get("unit") or "",
        }
        for metric in described["metrics"]
    ]
    return {**described, "split": split, "rows": described["splits"].get(split) if split else None, "columns": columns}


def _choices(names: list[str] | tuple[str, ...]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The datasets by family, each with its task."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name in names:
        described = scoring.describe(name)
        family = FAMILIES.get(described["family"], described["family"])
        groups.setdefault(family, []).append((name, f"{name}: {described['task']}"))
    return list(groups.items())


class DatasetForm(StepForm):
    dataset = forms.ChoiceField(label="Dataset", choices=lambda: _choices(scoring.names()))


class LscForm(StepForm):
    dataset = forms.ChoiceField(label="Dataset", choices=lambda: _choices(LSC), widget=forms.RadioSelect)


def asks_labels(draft: Any) -> bool:
    """True where teams send predictions to score against labels; False where they send results."""
    chosen = draft.answers.get("dataset", {}).get("dataset", [""])[0]
    return not chosen or bool(splits(chosen))


class LabelsForm(StepForm):
    """Labels to score predictions against; OGB's leaderboards take computed results and need none."""

    has_labels = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, object]:
        there = {file.role for file in self.draft.files.all()}
        if asks_labels(self.draft) and "labels" not in there:
            self.add_error(None, "Upload the labels: predictions are scored against them.")
        return self.cleaned_data


_LABELS_HINT: Final = "A .npz file with the reference arrays named beside this."
DATASET: Final = Step(
    "dataset",
    "Dataset",
    "Which dataset is it?",
    DatasetForm,
    preview="organize/guided/previews/dataset.html",
    intro="Metric, columns, sizes and the format of the files come with it.",
)
LABELS: Final = Step(
    "labels",
    "Labels",
    "Where are the hidden labels?",
    LabelsForm,
    preview="organize/guided/previews/dataset.html",
    slots=(FileSlot("labels", "Labels", _LABELS_HINT, ARRAYS),),
    intro="Only the scoring program ever sees them.",
)
LSC_DATASET: Final = Step(
    "dataset",
    "Track",
    "Which track of OGB-LSC?",
    LscForm,
    preview="organize/guided/previews/dataset.html",
    intro="It gets a public test-dev and a test-challenge whose scores stay sealed until you reveal them.",
)
LSC_LABELS: Final = Step(
    "labels",
    "Labels",
    "Where are the hidden labels?",
    preview="organize/guided/previews/dataset.html",
    slots=(
        FileSlot("labels_test-dev", "Labels of test-dev", _LABELS_HINT, ARRAYS, is_required=True),
        FileSlot("labels_test-challenge", "Labels of test-challenge", _LABELS_HINT, ARRAYS, is_required=True),
    ),
    intro="Only the scoring program ever sees them.",
)
