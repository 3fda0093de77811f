"""The baselines of a track: the starting kit's program is run as a participant would, and its files are scored here."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Final

from examples.baselines import Baseline
from examples.tracks.bundle import run_baseline
from examples.tracks.track import Track
from scoring.formats.layouts import owner_of
from scoring.program import score_predictions, score_results

EXACT = 1e-4  # boards show four digits

ANSWERS: Final[dict[str, str | bool]] = {
    "text": "as the starting kit", "checkbox": True, "repository": f"https://example.org/podium/baseline/tree/{'0' * 40}",
}  # fmt: skip


def track_baselines(bundle: Path, track: Track, dest: Path) -> list[Baseline]:
    """Write the baseline's files into `dest` and say what each must score; one for each phase.

    `bundle` is a folder made by `build_track`.
    """
    made = []
    for path in run_baseline(bundle, dest):
        owner = owner_of(path.name)
        phase = next(one for one in track.phases if owner is None or owner[1] == one.split)
        metric = track.columns[0].key
        score = _score(bundle / f"reference_data_{phase.split}", path, has_official_file=track.has_official_file)[
            metric
        ]
        made.append(
            Baseline(
                competition=track.slug, name=f"{track.slug}-{phase.split}", title=f"Baseline of {track.title}",
                description="The program of the starting kit.", kind="prediction", phase=phase.split, filename=path.name,
                outcome="finished", reason=None, metric=metric, score_range=(score - EXACT, score + EXACT),
                also_by=("team 1", "team 2") if phase.visibility == "public" else (),
                facts={one.key: ANSWERS[one.kind] for one in track.fact_sheet},
            )
        )  # fmt: skip
    return made


def _score(ref: Path, upload: Path, *, has_official_file: bool) -> dict[str, float]:
    """What the scoring program says of the upload."""
    with tempfile.TemporaryDirectory() as scratch:
        res, output = Path(scratch) / "res", Path(scratch) / "output"
        res.mkdir()
        if has_official_file:
            shutil.copy(upload, res)
            return score_predictions(ref, res, output)
        shutil.unpack_archive(upload, res)
        return score_results(ref, res, output)
