"""The baselines of a track: the starting kit is run as a participant would, and scored here."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

from examples.baselines import Baseline
from examples.tracks.bundle import run_baseline
from examples.tracks.track import Track
from examples.writing import zipped
from scoring.formats.layouts import file_owner
from scoring.program import score

EXACT = 1e-4  # boards show four digits

ANSWERS: Final[dict[str, str | bool]] = {
    "text": "as the starting kit",
    "checkbox": True,
    "repository": f"https://example.org/podium/baseline/tree/{'0' * 40}",
}


def track_baselines(bundle: Path, track: Track, dest: Path) -> list[Baseline]:
    """Write the baseline's files into `dest` and say what each must score; one for each phase.

    `bundle` is a folder made by `build_track`.
    """
    baselines = []
    for path in run_baseline(bundle, dest):
        owner = file_owner(path.name)
        phase = next(candidate for candidate in track.phases if owner is None or owner[1] == candidate.split)
        metric = track.columns[0].key
        ref = bundle / f"reference_data_{phase.split}"
        score = _score(ref, path, has_official_file=track.has_official_file)[metric]
        baselines.append(
            Baseline(
                competition=track.slug,
                name=f"{track.slug}-{phase.split}",
                title=f"Baseline of {track.title}",
                description="The program of the starting kit.",
                phase=phase.split,
                filename=path.name,
                metric=metric,
                score_range=(score - EXACT, score + EXACT),
                also_by=("team 1", "team 2") if phase.visibility == "public" else (),
                facts={question.key: ANSWERS[question.kind] for question in track.fact_sheet},
            )
        )
    first = next(baseline for baseline in baselines if baseline.phase == track.phases[0].split)
    return baselines + ([_code(bundle, track, dest, first)] if track.takes_code else [])


def _code(bundle: Path, track: Track, dest: Path, predictions: Baseline) -> Baseline:
    """The starting kit with its training data as a code submission: the same file and score."""
    filename = f"{track.slug}-code.zip"
    paths = (*sorted((bundle / "starting_kit").iterdir()), bundle / "public_data" / "train.npz")
    (dest / filename).write_bytes(zipped({path.name: path.read_bytes() for path in paths}))
    return replace(
        predictions,
        name=f"{track.slug}-code",
        title=f"Code of {track.title}",
        kind="code",
        filename=filename,
        also_by=(),
        description="The program of the starting kit, run on the raw input.",
    )


def _score(ref: Path, upload: Path, *, has_official_file: bool) -> dict[str, float]:
    """The scores of the upload, as the scoring program gives them."""
    with tempfile.TemporaryDirectory() as scratch:
        res, output = Path(scratch) / "res", Path(scratch) / "output"
        res.mkdir()
        if has_official_file:
            shutil.copy(upload, res)
        else:
            shutil.unpack_archive(upload, res)
        return score(ref, res, output)
