"""The program's output: results on standard output, all else on standard error."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from podium.models import Submission
from podium.transfers import Progress as Report
from podium.transfers import quiet

Answer = TypeVar("Answer", bound=BaseModel)


def say(text: str) -> None:
    """A remark for the person who looks on."""
    print(printable_lines(text), file=sys.stderr)


def write_text(text: str, *, end: str = "\n") -> None:
    """A result for a person, with words that others wrote."""
    print(printable_lines(text), end=end, flush=True)


def write_json(value: BaseModel | Sequence[BaseModel] | dict[str, Any] | list[dict[str, Any]]) -> None:
    """A result for programs: as the site answers it."""
    print(json.dumps(value, indent=1, default=lambda answer: answer.model_dump(mode="json")))


def write_result(value: BaseModel | Sequence[BaseModel] | dict[str, Any], text: str, *, as_json: bool) -> None:
    """Write the result of a verb: as JSON for programs, or as a remark for a person."""
    if as_json:
        write_json(value)
    elif text:
        say(text)


def write_list(
    values: Sequence[Answer], columns: Sequence[str], row: Callable[[Answer], Sequence[object]], *, as_json: bool
) -> None:
    """Write what a verb lists: as JSON for programs, or as a table for a person."""
    if as_json:
        write_json(values)
    else:
        write_table(columns, [row(value) for value in values])


def write_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table that fits the terminal; where there is none, whole lines with tabs in between."""
    texts = [["" if value is None else _text(value) for value in row] for row in rows]
    if not sys.stdout.isatty():
        for line in [list(columns), *texts]:
            print("\t".join(line))
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold", no_wrap=name in ("id", "rank"))
    for line in texts:
        table.add_row(*line)
    Console(markup=False, highlight=False).print(table)


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return printable(str(value)).replace("\t", "\ufffd")  # which is between columns


def printable(text: str) -> str:
    """The text without what steers a terminal, as others wrote it; tabs stay."""
    return "".join(char if char.isprintable() or char == "\t" else "\ufffd" for char in text)


def printable_lines(text: str) -> str:
    """The same for several lines; a carriage return ends one, for it would write over what stands there."""
    return "\n".join(map(printable, text.replace("\r\n", "\n").replace("\r", "\n").split("\n")))


@contextmanager
def transfer_bar(what: str) -> Iterator[Report]:
    """A progress bar for one file, where somebody can see it."""
    try:
        with _bar(printable(what)) as report:
            yield report
    except KeyboardInterrupt:
        say("\nThis was interrupted. The same command goes on from here.")
        raise


@contextmanager
def _bar(what: str) -> Iterator[Report]:
    if not sys.stderr.isatty():
        yield quiet
        return
    columns = ("{task.description}", BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def describe(submission: Submission) -> str:
    """The progress of a submission, in one line."""
    places = [run.queue_place for run in submission.runs if run.queue_place is not None]
    place = f", place {min(places)} in the queue" if places else ""
    if hours_at := [run.gpu_hours_at for run in submission.runs if run.gpu_hours_at is not None]:
        place = f", waits for GPU hours of the competition, which are available on {min(hours_at):%Y-%m-%d} (UTC) at the latest"
    return f"{submission.id}: {submission.status}{place}"
