"""The bundle of a known dataset, with its official metric and files; of OGB-LSC with both test splits."""

from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from competitions.organize.answers import DatasetChoice, DatasetFacts
from competitions.organize.building import document as parts
from competitions.organize.steps.dataset import LSC_SPLITS, dataset_facts
from scoring import reference, synthetic
from scoring.errors import ScoringInputError
from scoring.formats import submissions

OWN_PROGRAMS: Final = ("lsc", "obl")  # families whose datasets have a program each
PREDICTIONS, RESULTS = "ogb-predictions", "ogb-results"


def write_dataset(answers: parts.Answers, folder: Path, bounded: parts.Bounded) -> parts.Sample | None:
    """Write the bundle into an empty folder. The sample is random; of results there is none."""
    name = cast("DatasetChoice", answers.steps["dataset"])["dataset"]
    facts = dataset_facts(name)
    splits = LSC_SPLITS if answers.start == "lsc" else (facts["split"] or "test",)  # each in a phase of its own
    parts.copy_program(folder, _program(name, facts))
    rows: dict[str, int | None] = {
        split: bounded(partial(_write_labels, answers, name, split, folder))["rows"] for split in splits
    }
    tasks = [
        {
            "index": index,
            "name": f"{name}, {split}",
            "scoring_program": "scoring_program",
            "reference_data": f"reference_data_{split}",
        }
        for index, split in enumerate(splits)
    ]
    phases = [_phase(answers, name, split, index, rows[split]) for index, split in enumerate(splits)]
    main = parts.board(name[:64], "main", _columns(facts))
    parts.write_yaml(folder, parts.document(answers, tasks=tasks, phases=phases, board=main), answers.texts)
    size = rows[splits[0]]
    if size is None:
        return None
    written = bounded(partial(_write_sample, name, splits[0], size, folder))
    return parts.Sample(Path(written["path"]), "Random baseline")


def _program(name: str, facts: DatasetFacts) -> str:
    if facts["family"] in OWN_PROGRAMS or name.startswith("obl"):
        return name
    return PREDICTIONS if facts["split"] else RESULTS


def _phase(answers: parts.Answers, name: str, split: str, index: int, rows: int | None) -> dict[str, object]:
    last = split == LSC_SPLITS[1]
    extra: dict[str, object] = {"slug": split, "accepts": ["prediction"], "visibility": "sealed" if last else "public"}
    if rows is not None:
        extra["prediction_format"] = {"dataset": name, "split": split, "rows": rows}
    return parts.phase(answers, name=split, index=index, extra=extra)


def _columns(facts: DatasetFacts) -> list[dict[str, object]]:
    """The metrics; with results over several seeds also their deviations, shown only beside the means."""
    has_results, scores = facts["split"] is None, facts["columns"]
    means = [
        parts.column(
            score["key"],
            score["key"],
            score["sorting"],
            index=index,
            unit=score["unit"],
            spread=_deviation(score["key"]) if has_results else "",
        )
        for index, score in enumerate(scores)
    ]
    deviations = [
        parts.column(_deviation(score["key"]), _deviation(score["key"]), "asc", index=index, unit=score["unit"])
        | {"hidden": True}
        for index, score in enumerate(scores, start=len(scores))
    ]
    return [*means, *(deviations if has_results else [])]


def _deviation(key: str) -> str:
    """The key under which the scoring program writes a score's deviation over the seeds."""
    return f"{key}_std"


def _write_labels(answers: parts.Answers, name: str, split: str, folder: Path) -> dict[str, object]:
    """In the child: write the reference data of a split. `rows` is None where teams send results."""
    target = folder / f"reference_data_{split}"
    file = answers.files.get(f"labels_{split}") or answers.files.get("labels")
    if file is None:
        reference.write_results(target, name)
        return {"fault": "", "rows": None}
    try:
        reference.write(target, name, {split: _arrays(*file)})
    except ScoringInputError as error:
        return {"fault": f"The labels of {split}: {error}"}
    return {"fault": "", "rows": reference.read(target).rows[split]}


def _write_sample(name: str, split: str, rows: int, folder: Path) -> dict[str, object]:
    """In the child: write a file of predictions that know nothing of the labels."""
    _, predictions = synthetic.make(name, split, rows=rows, quality=0)
    return {"fault": "", "path": str(submissions.write(folder, name, split, predictions, rows=rows))}


def _arrays(path: Path, file_name: str) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files}
    except (OSError, ValueError) as error:
        raise ScoringInputError(
            "not_a_zip", file_name, "it is not an .npz file of arrays", "write it with numpy.savez"
        ) from error
