"""The bundle of a competition that runs code; what the organizer has not brought yet is the example's."""

import shutil
from pathlib import Path
from typing import Final, cast

from competitions.organize.answers import Program
from competitions.organize.building.document import Answers, Bounded, Sample, board, column, document, phase, write_yaml
from competitions.organize.steps.code import GIB, SAMPLE_ROLE
from files.bundles.cli import STARTERS

PARTS: Final = ("scoring_program", "ingestion_program", "input_data", "reference_data")


def write_code(answers: Answers, folder: Path, bounded: Bounded) -> Sample | None:
    """Write the bundle into an empty folder; returns the sample of the organizer or of the example.

    The example's is used only while everything else is the example's, too.
    """
    program = cast("Program", answers.steps["program"])
    task: dict[str, object] = {"index": 0, "name": answers.about["title"][:256]}
    task |= {part: _part(answers, part, folder) for part in PARTS}
    budget = {"gpus": program["gpus"], "cpus": program["cpus"], "memory_bytes": program["memory_gib"] * GIB}
    extra = {"slug": "main", "accepts": ["code"], "budget": budget, "docker_image": program["docker_image"]}
    results = board("Results", "main", [column(program["score"], program["score"].capitalize(), program["sorting"])])
    main = phase(answers, name="Competition", execution_time_limit=program["minutes"] * 60, extra=extra)
    write_yaml(folder, document(answers, tasks=[task], phases=[main], board=results), answers.texts)
    return _sample(answers, folder)


def _sample(answers: Answers, folder: Path) -> Sample | None:
    if SAMPLE_ROLE in answers.files:
        path, _ = answers.files[SAMPLE_ROLE]
        return Sample(Path(shutil.copyfile(path, folder / "sample.zip")), "Baseline", is_code=True)
    if any(part in answers.files for part in PARTS):
        return None
    packed = shutil.make_archive(str(folder / "sample"), "zip", STARTERS / "code" / "solution")
    return Sample(Path(packed), "Baseline of the example", is_code=True)


def _part(answers: Answers, part: str, folder: Path) -> str:
    """The name of a program or of data in the bundle."""
    if part not in answers.files:
        shutil.copytree(STARTERS / "code" / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        return part
    path, _ = answers.files[part]
    shutil.copyfile(path, folder / f"{part}.zip")
    return f"{part}.zip"
