"""Scores of tables that were sent in, by reference data that are not in force yet."""

import shutil
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from competitions.organize.tables.comparing import unpack_tables
from scoring.errors import ScoringInputError
from scoring.tables import table_reference
from scoring.tables.scores import score_table
from scoring.uploads import Refused


def foresee_scores(reference: str, files: Sequence[Sequence[str]]) -> dict[str, list[dict[str, float]] | None]:
    """Score each file, a path and the name that it was sent by, with the reference data in a zip.

    `scores` is None where one cannot be scored, or an organizer's own metric decides: that runs in a container alone.
    """
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "reference"
        with zipfile.ZipFile(reference) as archive:
            unpack_tables(archive, folder)
        rule, _ = table_reference.read(folder)
        if any(metric.is_own for metric in rule.metrics):
            return {"scores": None}
        try:
            return {"scores": [_score(folder, Path(parent), path, name) for path, name in files]}
        except (Refused, ScoringInputError):
            return {"scores": None}


def _score(reference: Path, parent: Path, path: str, name: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        sent = Path(folder) / "res"
        sent.mkdir()
        shutil.copy(path, sent / (PurePosixPath(name).name or "submission.csv"))
        return score_table(reference, sent, Path(folder) / "output").scores
