"""The command line: ``python -m scoring evaluate|check|describe|write-example|try-metric``.

Exit codes: 0 scored or valid, 2 invalid input (also a wrong call). With ``--json`` the answer is one JSON document on
standard output, an error included.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

from scoring.errors import ScoringInputError
from scoring.evaluation import describe, evaluate, metric_names, names
from scoring.formats import seed_results, submissions
from scoring.formats.inputs import load_inputs

Answer: TypeAlias = tuple[Any, str]
"""A document for ``--json``, and the same in words."""

INVALID: Final = 2
TABLE: Final = "table"
"""The word in place of a dataset's name that checks a table of predictions."""


class Parser(argparse.ArgumentParser):
    """A parser that writes wrong use as JSON to standard output, where `--json` is among the words."""

    as_json = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Look for `--json` first, as it may stand behind what is wrong."""
        self.as_json = "--json" in (sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """End with the exit status of wrong use."""
        if not self.as_json:
            super().error(message)
        print(json.dumps({"error": {"code": "wrong_use", "message": message, "exit_status": INVALID}}))
        self.exit(INVALID)


def main(argv: Sequence[str] | None = None, *, prog: str = "python -m scoring") -> int:
    """Run one command and return the exit code; `prog` is what the help calls this program.

    >>> main(["describe", "obl2021", "--json"])  # doctest: +ELLIPSIS
    {"name": "obl2021", ...}
    0
    """
    options = _parser(prog).parse_args(argv)
    try:
        answer, text = options.run(options)
    except ScoringInputError as error:
        _report_error(error, as_json=options.json)
        return INVALID
    print(json.dumps(answer, allow_nan=False) if options.json else text)
    return 0


def _report_error(error: ScoringInputError, *, as_json: bool) -> None:
    if as_json:
        answer = {"code": error.code, "where": error.where, "message": str(error), "exit_status": INVALID}
        print(json.dumps({"error": answer}))
    else:
        print(f"{error.code}: {error}", file=sys.stderr)


def _evaluate(options: argparse.Namespace) -> Answer:
    known = describe(options.name)
    uploads = {file: submissions.named_split(options.name, file.name) for file in options.files}
    inputs = load_inputs([file for file, split in uploads.items() if split is None], options.name)
    for file, split in uploads.items():
        if split is not None:
            inputs |= submissions.read(file, options.name, split, rows=options.rows)
    scores = evaluate(options.name, inputs)
    better = {metric["key"]: "higher" if metric["direction"] == "max" else "lower" for metric in known["metrics"]}
    return scores, "\n".join(f"{key} = {value!r} ({better[key]} is better)" for key, value in scores.items())


def _check(options: argparse.Namespace) -> Answer:
    if options.dataset == TABLE:
        return _check_table(options)
    if options.file.suffix == ".json":
        results = seed_results.read(options.file, options.dataset)
        summary = seed_results.summary(results)
        return summary, f"{options.file.name} is valid: " + ", ".join(f"{k} = {v:.6g}" for k, v in summary.items())
    split = options.split or _split_from_name(options.dataset, options.file)
    report = submissions.check(options.file, options.dataset, split, rows=options.rows)
    arrays = ", ".join(f"{name} {tuple(array['shape'])} {array['dtype']}" for name, array in report.arrays.items())
    return _with_warnings(report, f"{options.file.name} is valid for {report.dataset} {report.split}: {arrays}")


def _check_table(options: argparse.Namespace) -> Answer:
    from scoring.tables.commands import check_file  # only here: its table library is an extra

    report = check_file(options.file, sample=options.sample, schema=options.schema)
    return _with_warnings(report, f"{options.file.name} is valid: {report.rows:,} rows of {', '.join(report.columns)}")


def _with_warnings(report: Any, is_valid: str) -> Answer:
    return asdict(report), "\n".join([is_valid, *(f"warning: {warning}" for warning in report.warnings)])


def _try_metric(options: argparse.Namespace) -> Answer:
    from scoring.tables.commands import try_metric

    scores = try_metric(
        options.metric, options.solution, options.sample, id_column=options.id, parameters=options.parameters
    )
    return scores, "\n".join(f"{name} = {value!r}" for name, value in scores.items())


def _split_from_name(dataset: str, file: Path) -> str:
    """The split that the file's name stands for; of a dataset with one split, that one."""
    named_split = submissions.named_split(dataset, file.name)
    known = submissions.splits(dataset)
    if named_split is None and len(known) == 1:
        return known[0]
    if named_split is None:
        describe(dataset)  # an unknown dataset is the better message
        right = ", ".join(submissions.official_filename(dataset, split) for split in known) or "see scoring describe"
        raise ScoringInputError("wrong_file_name", ascii(file.name), "no split follows from this name", f"use {right}")
    return named_split


def _describe(options: argparse.Namespace) -> Answer:
    if options.name is None:
        every = [*names(), *metric_names()]
        return every, "\n".join(f"{name:24}{describe(name)['task']}" for name in every)
    known = describe(options.name)
    return known, "\n".join(f"{key + ':':12}{_plain(value)}" for key, value in known.items())


def _plain(value: Any) -> str:
    """A value of a description as text: one line per entry of a list, indented."""
    if isinstance(value, list):
        return "".join("\n  " + ", ".join(f"{key} {item}" for key, item in entry.items()) for entry in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {item:,}" if isinstance(item, int) else f"{key} {item}" for key, item in value.items())
    return "-" if value is None else str(value)


def _write_example(options: argparse.Namespace) -> Answer:
    from scoring import synthetic  # only here: checking a file needs none of it

    submissions.official_filename(options.dataset, options.split)  # refuses a split without a file format
    _, predictions = synthetic.make(
        options.dataset, options.split, rows=options.rows, quality=options.quality, seed=options.seed
    )
    path = submissions.write(options.folder, options.dataset, options.split, predictions, rows=options.rows)
    return {"path": str(path)}, f"wrote {path}"


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = Parser(prog=prog, description="Check and score files of predictions.")
    commands = parser.add_subparsers(required=True, metavar="evaluate|check|describe|write-example|try-metric")
    _add_evaluate(commands.add_parser("evaluate", help="score arrays or a submission file"))
    _add_check(commands.add_parser("check", help="check a submission file before the upload; needs no labels"))
    _add_describe(commands.add_parser("describe", help="what is known about a dataset or metric"))
    _add_write_example(commands.add_parser("write-example", help="write a valid file of made-up predictions"))
    _add_try_metric(commands.add_parser("try-metric", help="run a metric file on a solution and a sample submission"))
    for command in commands.choices.values():
        command.add_argument("--json", action="store_true", help="one JSON document on standard output")
    return parser


def _add_evaluate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="a dataset or metric, see describe")
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="labels and predictions: .npz (its arrays by name), .npy (named as the file), .json (lists); a file with "
        "an official name of predictions is checked like an upload first",
    )
    _add_rows(parser)
    parser.set_defaults(run=_evaluate)


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", help=f"the dataset, see describe; {TABLE} for a table of predictions")
    parser.add_argument(
        "file", type=Path, help="the official .npz, results_<dataset>.json of several seeds, or a table"
    )
    parser.add_argument(
        "--sample", type=Path, help="of a table: the sample submission, which has the ids that are asked for"
    )
    parser.add_argument("--schema", type=Path, help="of a table: a JSON file with its columns (default: the sample's)")
    parser.add_argument("--split", help="by default the one that the file's name stands for")
    _add_rows(parser)
    parser.set_defaults(run=_check)


def _add_describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="a dataset or metric; without it: all of them")
    parser.set_defaults(run=_describe)


def _add_write_example(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset")
    parser.add_argument("split", help="for instance test-dev")
    parser.add_argument("--folder", type=Path, default=Path(), help="where to write it (default: here)")
    _add_rows(parser)
    parser.add_argument("--quality", type=float, default=0.7, help="0 to 1 (default 0.7)")
    parser.add_argument("--seed", type=int, default=0)
    parser.set_defaults(run=_write_example)


def _add_try_metric(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("metric", type=Path, help="the Python file with the function score")
    parser.add_argument("solution", type=Path, help="the table with the true values")
    parser.add_argument("sample", type=Path, help="the sample submission")
    parser.add_argument("--id", help="the id column (default: the first of the sample)")
    parser.add_argument("--parameters", type=json.loads, default={}, help="a JSON mapping of the metric's parameters")
    parser.set_defaults(run=_try_metric)


def _add_rows(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, help="another number of test items than the official one")
