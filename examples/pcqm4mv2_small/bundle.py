"""Builds the competition as a bundle folder: `competition.yaml` and all that it names.

On the command line: `python -m examples.pcqm4mv2_small.bundle DEST`.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from examples.writing import copy_parts, copy_program, filled, instant_z, main, require_empty, write_yaml
from scoring import reference
from scoring.formats.submissions import official_filename

from .generate import DEFAULT_SEED, SMALL, Sizes, Split, generate, write_labelled, write_smiles
from .smiles import parse
from .target import NOISE_EV

HERE = Path(__file__).resolve().parent
DATASET = "lsc-pcqm4mv2"
SLUG = "pcqm4mv2-small"
TEST_SPLITS = ("test-dev", "test-challenge")
MINI_ROWS = 40  # of the validation split, whose gaps everybody has: what code runs on first
MINI = "mini"  # in names of folders
TIME_LIMIT_S = 45  # the ridge takes 3 s of one core, or 15 on a busy laptop; the program that waits takes all of it
MIB = 1024**2
DEFAULT_IMAGE = "podium/runtime:1"
RUNNING_FOR = timedelta(weeks=4)  # how long the competition has been open when it is set up
OPEN_FOR = timedelta(days=90)


@dataclass(frozen=True)
class _Phase:
    """The differences between the phases of the two splits."""

    split: str
    visibility: str
    description: str


PHASES = (
    _Phase("test-dev", "public", "Scores appear on the leaderboard as soon as a submission is scored."),
    _Phase("test-challenge", "sealed", "Submissions are checked at once; scores stay sealed until the reveal."),
)


def build_bundle(dest: Path, *, now: datetime, sizes: Sizes = SMALL, seed: int = DEFAULT_SEED) -> Path:
    """Write the whole competition into `dest` and return it; both phases are open at `now`.

    Phases began four weeks before `now` and end after 90 days. Raises `ValueError` for `now` without a time zone, an
    empty split, or a `dest` with something in it: nothing is overwritten.
    """
    require_empty(dest, now)
    splits = generate(sizes, seed=seed)
    copy_parts(HERE, dest, ("ingestion_program", "starting_kit"))
    copy_program(DATASET, dest)
    shutil.copy(HERE / "logo.png", dest / "logo.png")
    _write_pages(dest, sizes)
    _write_public_data(dest / "public_data", splits)
    for name in TEST_SPLITS:
        _write_task_data(dest, splits[name], folder=name)
    _write_task_data(dest, _mini(splits["valid"]), folder=MINI)
    return write_yaml(dest, competition(now, sizes))


def competition(now: datetime, sizes: Sizes) -> dict[str, object]:
    """The content of `competition.yaml`: Codabench's keys, and `podium:` for further settings."""
    return {
        "version": 2,
        "title": "PCQM4Mv2 in small",
        "description": "Predict the HOMO-LUMO gap of molecules from their SMILES strings.",
        "image": "logo.png",
        "terms": "pages/terms.md",
        "docker_image": DEFAULT_IMAGE,
        "registration_auto_approve": True,
        "podium": {
            "slug": SLUG,
            "subtitle": "Quantum chemistry at the speed of a graph model, on generated molecules",
            "host": "Podium demo",
            "max_team_size": 10,
        },
        "pages": [
            {"title": title, "file": f"pages/{title.lower()}.md"} for title in ("Overview", "Evaluation", "Data")
        ],
        "tasks": [*(_task(index, name) for index, name in enumerate(TEST_SPLITS)), _mini_task()],
        "phases": [_phase(index, phase, now, sizes) for index, phase in enumerate(PHASES)],
        "leaderboards": [
            {
                "title": "HOMO-LUMO gap",
                "key": "main",
                "submission_rule": "Force_Best",
                "podium": {"break_ties": False, "exact_scores": False},
                "columns": [
                    {
                        "title": "MAE",
                        "key": "mae",
                        "index": 0,
                        "sorting": "asc",
                        "precision": 4,
                        "podium": {"unit": "eV", "rank_by_shown": True},
                    }
                ],
            }
        ],
    }


def _task(index: int, split: str) -> dict[str, object]:
    return {
        "index": index,
        "name": f"HOMO-LUMO gap, {split}",
        "description": f"Predict the gap in eV of every molecule of {split} from its raw SMILES string.",
        "ingestion_program": "ingestion_program",
        "scoring_program": "scoring_program",
        "input_data": f"input_data_{split}",
        "reference_data": f"reference_data_{split}",
    }


def _mini_task() -> dict[str, object]:
    """The task that code runs on before it sees a test split."""
    about = f"Molecules of the validation split, {MINI_ROWS} of them: public, with their gaps."
    named = {"name": "HOMO-LUMO gap, mini split", "description": about, "podium": {"public_split": True}}
    return _task(len(TEST_SPLITS), MINI) | named


def _mini(valid: Split) -> Split:
    """The mini split under the name of test-dev, so that code writes the file that it will write there."""
    rows = min(MINI_ROWS, len(valid.smiles))
    return Split(TEST_SPLITS[0], valid.smiles[:rows], valid.gaps[:rows])


def _phase(index: int, phase: _Phase, now: datetime, sizes: Sizes) -> dict[str, object]:
    return {
        "index": index,
        "name": phase.split,
        "description": phase.description,
        "start": instant_z(now - RUNNING_FOR),
        "end": instant_z(now + OPEN_FOR),
        "tasks": [index],
        "max_submissions_per_day": 20,
        "max_submissions": 500,
        "execution_time_limit": TIME_LIMIT_S,
        "public_data": "public_data",
        "starting_kit": "starting_kit",
        "podium": {
            "slug": phase.split,
            "visibility": phase.visibility,
            "accepts": ["prediction", "code"],
            "environment": ["weights", "image"],  # requirements, too, where the queue has a package mirror
            "preset": None,
            "smoke_task": len(TEST_SPLITS),
            "smoke_scale": max(1.0, sizes.by_split()[phase.split] / min(MINI_ROWS, sizes.valid)),
            "budget": {"gpus": 0, "cpus": 1, "memory_bytes": 1024 * MIB, "output_bytes": 64 * MIB},
            "prediction_format": {"dataset": DATASET, "split": phase.split, "rows": sizes.by_split()[phase.split]},
        },
    }


def _write_pages(dest: Path, sizes: Sizes) -> None:
    values: Mapping[str, object] = {
        **{name.replace("-", "_"): f"{size:,}" for name, size in sizes.by_split().items()},
        "time_limit_s": TIME_LIMIT_S,
        "mini": MINI_ROWS,
        "noise_ev": NOISE_EV,
        "noise_floor_ev": f"{NOISE_EV * np.sqrt(2 / np.pi):.2f}",  # mean absolute value of the noise
    }
    (dest / "pages").mkdir()
    for page in sorted((HERE / "pages").glob("*.md")):
        (dest / "pages" / page.name).write_text(filled(page, values))


def _write_public_data(folder: Path, splits: Mapping[str, Split]) -> None:
    folder.mkdir()
    for name in ("train", "valid"):
        write_labelled(splits[name], folder / f"{name}.csv.gz")
    for name in TEST_SPLITS:
        write_smiles(splits[name], folder / f"{name}.smiles.csv")


def _write_task_data(dest: Path, split: Split, *, folder: str) -> None:
    """Write what a code submission may read, and apart from it what the scorer alone may."""
    inputs = dest / f"input_data_{folder}"
    inputs.mkdir()
    write_smiles(split, inputs / "smiles.csv")
    about = {
        "dataset": DATASET,
        "split": split.name,
        "rows": len(split.smiles),
        "predictions": official_filename(DATASET, split.name),
    }
    (inputs / "split.json").write_text(json.dumps(about, indent=2) + "\n")
    atoms = [len(parse(smiles)) for smiles in split.smiles]
    slices = {split.name: {"heavy atoms": atoms}}
    reference.write(dest / f"reference_data_{folder}", DATASET, {split.name: {"y_true": split.gaps}}, slices=slices)


if __name__ == "__main__":
    about = "Build the small competition into a folder."
    raise SystemExit(main("pcqm4mv2_small", build_bundle, description=about))
