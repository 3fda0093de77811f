"""The scoring program: read the reference and the uploaded files, refuse or score, write the scores.

Exit codes: 0 scored; 65 (`REFUSED`) the participant's file is invalid and ``refusal.json`` says why; 1 anything else,
which is the organizer's to fix. What a participant can read never depends on the labels: a file is checked completely
before the labels are opened, and a later refusal is a fixed sentence of the vocabulary.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from numpy.typing import NDArray

from scoring import reference, replicates, slices
from scoring.errors import CODES, ScoringInputError
from scoring.evaluation import evaluate, per_sample
from scoring.formats import seed_results, submissions
from scoring.reference import ArrayReference
from scoring.replicates import Deadline, Replicates, Resampling, Sample
from scoring.row_scores import sampled_arrays
from scoring.slices import Scored, Slicing
from scoring.statistics import SampledScore
from scoring.uploads import Refused, find_upload, refusing, write_samples

REFUSED: Final = 65
Arrays = dict[str, NDArray[Any]]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a scoring program: ``score.py INPUT OUTPUT``, where INPUT holds ``ref`` and ``res``.

    Returns the exit code.

    The reference folder says what is scored: files of predictions, results of several seeds, or a table.

    >>> import tempfile
    >>> from scoring.formats.submissions import write
    >>> with tempfile.TemporaryDirectory() as root:
    ...     ref, res, output = (Path(root) / name for name in ("input/ref", "input/res", "output"))
    ...     res.mkdir(parents=True)
    ...     _ = reference.write(ref, "lsc-mag240m", {"test-dev": {"y_true": [1, 2]}})
    ...     _ = write(res, "lsc-mag240m", "test-dev", {"y_pred": [1, 3]}, rows=2)
    ...     main([str(ref.parent), str(output)])
    {"acc": 0.5}
    0
    """
    folders = sys.argv[1:] if argv is None else argv
    if len(folders) != 2:
        print("usage: score.py INPUT OUTPUT (INPUT holds the folders ref and res)", file=sys.stderr)
        return 1
    given, output = Path(folders[0]), Path(folders[1])
    try:
        scored = _score(given / "ref", given / "res", output)
    except Refused as refusal:
        _write_json(output / "refusal.json", {"code": refusal.code, "message": refusal.message})
        print(f"refused: {refusal.code}: {CODES[refusal.code]}")
        return REFUSED
    except ScoringInputError as error:
        print(f"the reference data cannot be used: {error}", file=sys.stderr)
        return 1
    _write_json(output / "scores.json", scored.scores)
    print(json.dumps(scored.scores))
    seconds = float(os.environ.get(replicates.SECONDS_VARIABLE, "0"))
    if seconds > 0:
        whole = Deadline(seconds)
        _write_replicates(scored, output, seconds / 2 if scored.slicings else seconds)
        _write_slices(scored, output, whole)
    return 0


def score(ref: Path, res: Path, output: Path) -> dict[str, float]:
    """Scores of the files in `res` by the rule of the reference folder `ref`.

    Raises `Refused`, or `ScoringInputError` where the reference is at fault.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as root:
    ...     ref, res, output = (Path(root) / name for name in ("input/ref", "input/res", "output"))
    ...     res.mkdir(parents=True)
    ...     _ = reference.write_results(ref, "ogbn-papers100M")
    ...     path = seed_results.write(res, "ogbn-papers100M", valid=[0.5] * 3, test=[0.5] * 3, seeds=[1, 2, 3])
    ...     score(ref, res, output)
    {'acc': 0.5, 'acc_std': 0.0, 'acc_valid': 0.5, 'acc_valid_std': 0.0}
    """
    return _score(ref, res, output).scores


def _score(ref: Path, res: Path, output: Path) -> Scored:
    kind = reference.kind(ref)
    if kind == "table":
        from scoring.tables.scores import score_table  # only here: its table library is an extra

        return score_table(ref, res, output)
    return _score_results(ref, res) if kind == "results" else _score_predictions(ref, res, output)


def _score_predictions(ref: Path, res: Path, output: Path) -> Scored:
    """Scores of each split; all files are checked before any label is read.

    With one split the keys are the metrics; with several, ``<metric>_<split>``.
    """
    known = reference.read(ref)
    uploads = {split: _read_upload(known, split, res) for split in known.rows}
    scores: dict[str, float] = {}
    sampled: dict[str, Sample] = {}
    slicings: dict[str, dict[str, Slicing]] = {}
    for split, predictions in uploads.items():
        suffix = "" if len(uploads) == 1 else f"_{split}"
        inputs, by_name = {**known.labels(split), **predictions}, known.slicings(split)
        for name, values in _evaluate(known, inputs, set(predictions)).items():
            scores |= {f"{key}{suffix}": value for key, value in values.items()}
            resampling = Resampling(f"{known.dataset or 'metrics'}/{split}", known.rows[split])
            for key in values:
                sampled[f"{key}{suffix}"] = partial(_sample, name, inputs, key, resampling)
                if by_name:
                    slicings[f"{key}{suffix}"] = by_name
        if known.per_sample and known.dataset is not None:
            write_samples(output / f"per_sample_{split}.npz", per_sample(known.dataset, inputs))
    return Scored(scores, sampled, slicings=slicings)


def _sample(name: str, inputs: Arrays, key: str, resampling: Resampling) -> tuple[SampledScore, Resampling]:
    return sampled_arrays(name, inputs, resampling.items, key), resampling


def _score_results(ref: Path, res: Path) -> Scored:
    """Mean and unbiased standard deviation of self-computed results; see `scoring.formats.seed_results`."""
    dataset = reference.results_dataset(ref)
    path = find_upload(res, seed_results.official_filename(dataset))
    try:
        results = seed_results.read(path, dataset)
    except ScoringInputError as error:
        raise Refused(error.code, str(error)) from error
    trials = {results.metric: results.test, f"{results.metric}_valid": results.valid}
    return Scored(seed_results.summary(results), trials=trials)


def _write_replicates(scored: Scored, output: Path, seconds: float) -> None:
    """Write the scores on resamples, within the time. What cannot be resampled is said to the organizers."""
    deadline = Deadline(seconds)
    by_key = {key: replicates.trial_replicates(values) for key, values in scored.trials.items() if len(values) > 1}
    for key, sample in scored.sampled.items():
        try:
            sampled, resampling = sample()
            values = replicates.replicate_scores(sampled, resampling, deadline=deadline)
        except ScoringInputError as error:
            print(f"no replicates of {key}: {error}", file=sys.stderr)
            continue
        if values is None:
            what = f"fewer than {replicates.FEWEST} resamples could be scored in {seconds:g} s"
            print(f"no replicates of {key}: {what}", file=sys.stderr)
        else:
            share_items = replicates.count_share_items(sampled, resampling)
            by_key[key] = Replicates(values.astype("f4"), resampling.stream, share_items, resampling.items)
    replicates.write(output, by_key)


def _write_slices(scored: Scored, output: Path, deadline: Deadline) -> None:
    """Write the scores of slices, where there are some. What was left out is said to the organizers."""
    remarks, samples = list(scored.unsliced), {}
    for key in scored.slicings:
        try:
            samples[key] = scored.sampled[key]()
        except ScoringInputError as error:
            remarks.append(f"No slices of {key}: {error}")
    by_key = slices.scores_by_slice(samples, scored.slicings, deadline)
    for key in samples:
        missing = scored.slicings[key].keys() - by_key.get(key, {}).keys()
        remarks += [f"No slices of {key} by {name}: there was no time." for name in sorted(missing)]
    left_out = slices.write(output, by_key, remarks)
    remarks += [f"No slices of {name}: the file would have more than {slices.MAX_BYTES} bytes." for name in left_out]
    for remark in remarks:
        print(remark, file=sys.stderr)


def _read_upload(known: ArrayReference, split: str, res: Path) -> Arrays:
    """The checked predictions for one split.

    The labels have not been opened yet, so the whole message may be shown.
    """
    expected = known.layout(split)
    path = find_upload(res, expected.filename)
    try:
        return submissions.read_layout(path, expected)
    except ScoringInputError as error:
        raise Refused(error.code, str(error)) from error


def _evaluate(known: ArrayReference, inputs: Arrays, predicted: set[str]) -> dict[str, dict[str, float]]:
    """The scores of each evaluator that the reference names."""
    with refusing(predicted):
        return {name: evaluate(name, inputs) for name in ([known.dataset] if known.dataset else known.metrics)}


def _write_json(path: Path, value: Mapping[str, str | float]) -> None:
    """NaN and infinity raise ValueError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, allow_nan=False) + "\n", "utf-8")
