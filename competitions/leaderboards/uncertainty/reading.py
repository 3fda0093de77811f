"""Takes the replicates of the scores that stand on a board from the files that their runs left."""

import base64
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from django.conf import settings
from django.db.models import QuerySet
from numpy.typing import NDArray

from competitions.catalog.models import Column, Leaderboard
from competitions.disclosure.outputs import LOSSES, SECRET
from competitions.leaderboards.models import Score, ScoreReplicates
from competitions.leaderboards.ranking.values import primary_column
from competitions.leaderboards.uncertainty.files import ReadFile
from competitions.resources.storage import local_copy
from competitions.runs.models import Run, RunOutput
from core.background.bounded import Bounds, Call, OverBounds, run_bounded
from core.background.rows import RENEWALS

READ: Final = "competitions.leaderboards.uncertainty.files:read_files"
SCORES_AT_ONCE: Final = 100
VALUES_AT_ONCE: Final = 100  # arrays of replicates; the answer with them is below a megabyte
NONE_WRITTEN: Final = "The scoring program wrote no replicates of this score."
TOO_MUCH: Final = "Its replicates took more {what} to read than this site allows."
REDUCE: Final[Mapping[str, Callable[..., Any]]] = {
    Column.Computation.AVG: np.mean,
    Column.Computation.SUM: np.sum,
    Column.Computation.MIN: np.min,
    Column.Computation.MAX: np.max,
}
NOT_READ: Final[ReadFile] = {"values": {}, "fault": ""}
Floats = NDArray[np.float64]
ReadKey = tuple[str, str, tuple[tuple[str, float], ...]]  # a file's digest and kind, and the run's scores by key


@dataclass(frozen=True)
class Found:
    """The replicates of a score, and the name of their resamples; or a remark on why there are none."""

    values: Floats | None = None
    stream: str = ""
    share_items: int = 0
    items: int = 0
    remark: str = ""


class ReplicateFiles:
    """Reads files of replicates, at once or, with `notes_unknown`, later, when no lock is held.

    What was noted has no values yet.
    """

    def __init__(self, is_wanted: Callable[[], bool]) -> None:
        self._is_wanted = is_wanted
        self._known: dict[ReadKey, ReadFile] = {}
        self._noted: dict[ReadKey, RunOutput] = {}
        self.notes_unknown = False

    def read(self, outputs: Sequence[RunOutput], scores: Mapping[Any, Mapping[str, float]]) -> list[ReadFile]:
        """The content of each file, by the scores of its run. Raises `Stopped`."""
        keys = [(output.file_id, output.name, tuple(sorted(scores[output.run_id].items()))) for output in outputs]
        unknown = {key: output for key, output in zip(keys, outputs, strict=True) if key not in self._known}
        if self.notes_unknown:
            self._noted |= unknown
        known = self._known if self.notes_unknown else self._known | self._contents(unknown)
        return [known.get(key, NOT_READ) for key in keys]

    def read_noted(self) -> bool:
        """Read what was noted; False where nothing was. Raises `Stopped`."""
        noted, self._noted = self._noted, {}
        self._known |= self._contents(noted)
        return bool(noted)

    def _contents(self, outputs: Mapping[ReadKey, RunOutput]) -> dict[ReadKey, ReadFile]:
        size = max(1, VALUES_AT_ONCE // max((len(scores) for _, _, scores in outputs), default=1))
        contents: dict[ReadKey, ReadFile] = {}
        keys = list(outputs)
        for start in range(0, len(keys), size):
            some = keys[start : start + size]
            contents |= zip(some, _answers({key: outputs[key] for key in some}, self._is_wanted), strict=True)
        return contents


def read_missing(board: Leaderboard, *, files: ReplicateFiles) -> None:
    """Keep the replicates of each score on the board that were not looked at yet. Raises `Stopped`."""
    columns = list(board.columns.all())
    column = primary_column(columns)
    if column is None:
        return
    keys = _source_keys(column, columns)
    missing = (
        Score.objects.filter(entry__leaderboard=board, replicates=None).order_by("pk").values_list("pk", flat=True)
    )
    while some := list(missing[:SCORES_AT_ONCE]):
        _read(Score.objects.filter(pk__in=some), column, columns, keys, files)


def _read(
    scores: QuerySet[Score], column: Column, columns: Sequence[Column], keys: set[str], files: ReplicateFiles
) -> None:
    runs = _runs_by_submission(scores)
    by_run = _values_by_run([run for some in runs.values() for run in some], keys, files)
    rows = []
    for score in scores:
        replicates = _found_for(column, columns, [by_run[run.pk] for run in runs.get(score.submission_id, [])])
        values = b"" if replicates.values is None else replicates.values.astype("<f4").tobytes()
        rows.append(ScoreReplicates(score=score, **vars(replicates) | {"values": values}))
    ScoreReplicates.objects.bulk_create(rows, ignore_conflicts=True)


def _runs_by_submission(scores: QuerySet[Score]) -> dict[int, list[Run]]:
    """The runs that a submission's score is made of; those that fill a growing board are not."""
    runs: dict[int, list[Run]] = {}
    chosen = Run.objects.filter(submission__in=scores.values("submission"), is_smoke=False, fills_board=False)
    for run in chosen.order_by("pk"):
        runs.setdefault(run.submission_id, []).append(run)
    return runs


def _values_by_run(runs: Sequence[Run], keys: set[str], files: ReplicateFiles) -> dict[Any, dict[str, Found]]:
    """The values that are known of each run's scores, by key."""
    known_values: dict[Any, dict[str, Found]] = {run.pk: {} for run in runs}
    scores = {run.pk: {key: run.scores[key] for key in keys if key in run.scores} for run in runs}
    attempts = {run.pk: run.attempt for run in runs}
    outputs = [
        output
        for output in RunOutput.objects.filter(run__in=runs, name__in=SECRET).select_related("file").order_by("name")
        if output.attempt == attempts[output.run_id]
    ]
    for output, answer in zip(outputs, files.read(outputs, scores), strict=True):
        for key in keys - known_values[output.run_id].keys():
            if key in answer["values"]:
                value = answer["values"][key]
                numbers = np.frombuffer(base64.b64decode(value["base64"]), dtype="<f4").astype(np.float64)
                known_values[output.run_id][key] = Found(numbers, value["stream"], value["share_items"], value["items"])
            elif answer["fault"]:
                known_values[output.run_id][key] = Found(remark=answer["fault"])
    return known_values


def _answers(outputs: Mapping[ReadKey, RunOutput], is_wanted: Callable[[], bool]) -> list[ReadFile]:
    bounds = Bounds(settings.CHECK_WALL_S, settings.CHECK_CPU_S, settings.CHECK_MEMORY_BYTES)
    with ExitStack() as stack:
        paths = {
            file.pk: str(stack.enter_context(local_copy(file))) for file in {output.file for output in outputs.values()}
        }
        files = [
            {"path": paths[file], "is_losses": name == LOSSES, "scores": dict(scores)} for file, name, scores in outputs
        ]
        call = Call(READ, {"files": files})
        try:
            answers: list[ReadFile] = run_bounded(
                call, bounds, is_wanted=is_wanted, every_s=settings.BACKGROUND_LEASE_S / RENEWALS
            )
        except OverBounds as error:
            return [{"values": {}, "fault": TOO_MUCH.format(what=error.what)} for _ in outputs]
    return answers


def _source_keys(column: Column, columns: Sequence[Column], above: frozenset[str] = frozenset()) -> set[str]:
    """Keys of the scores that a column's value is made of."""
    if column.key in above:
        return set()
    if column.kind == Column.Kind.SCORE:
        return {column.key}
    known = {other.key: other for other in columns}
    sources = [known[key] for key in column.sources if key in known]
    return set().union(*(_source_keys(source, columns, above | {column.key}) for source in sources))


def _found_for(column: Column, columns: Sequence[Column], runs: Sequence[Mapping[str, Found]]) -> Found:
    """The replicates of a column's value from those of its submission's runs."""
    parts = _parts(column, columns, runs)
    if parts is None:
        return Found(remark="Ranks, and what is measured, have no replicates.")
    if remarks := [part.remark for part in parts if part.values is None]:
        return Found(remark=remarks[0] or NONE_WRITTEN)
    if not parts:
        return Found(remark=NONE_WRITTEN)
    if len(parts) == 1 and column.kind == Column.Kind.SCORE:
        return parts[0]
    count = min(len(part.values) for part in parts if part.values is not None)
    together = np.stack([part.values[:count] for part in parts if part.values is not None])
    reduce = REDUCE[column.computation] if column.kind == Column.Kind.COMPUTED else np.mean
    streams = sorted({part.stream for part in parts})
    items = sum(part.items for part in parts) if len(streams) == len(parts) else 0
    return Found(reduce(together, axis=0), "+".join(streams)[:64], items=items)


def _parts(column: Column, columns: Sequence[Column], runs: Sequence[Mapping[str, Found]]) -> list[Found] | None:
    """The parts of a column's value, as `ranking.values` has them; None where they are no scores."""
    if column.is_relative or column.kind == Column.Kind.METER:
        return None
    if column.kind == Column.Kind.SCORE:
        return [run.get(column.key, Found(remark=NONE_WRITTEN)) for run in runs]
    known = {other.key: other for other in columns}
    parts: list[Found] = []
    for key in column.sources:
        source = known.get(key)
        some = None if source is None or source == column else _parts(source, columns, runs)
        if source is None or some is None:
            return None
        parts += [_found_for(source, columns, runs)] if source.kind == Column.Kind.COMPUTED else some
    return parts
