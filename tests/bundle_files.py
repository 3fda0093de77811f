"""Small bundles for tests, in the three shapes, as files by name."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import yaml

from tests.images import png_bytes

SCORER = {
    "scoring_program/metadata.yaml": "command: python3 $program/score.py $input $output\n",
    "scoring_program/score.py": "print('scored')\n",
}
FILES: dict[str, str | bytes] = {
    **SCORER,
    "ingestion_program/metadata": "command: python3 $program/ingest.py\n",
    "ingestion_program/ingest.py": "print('ran')\n",
    "reference_data/labels.txt": "1\n",
    "input_data/x.txt": "2\n",
    "terms.md": "Be fair.\n",
    "overview.html": "<h1>Overview</h1><script>alert(1)</script>\n",
    "logo.png": png_bytes(),
}


def second() -> dict[str, Any]:
    """The YAML of a bundle of version 2, as data."""
    return {
        "version": 2,
        "title": "Small",
        "image": "logo.png",
        "terms": "terms.md",
        "pages": [{"title": "Overview", "file": "overview.html"}],
        "tasks": [
            {
                "index": 0,
                "name": "First",
                "scoring_program": "scoring_program",
                "reference_data": "reference_data",
                "ingestion_program": "ingestion_program",
                "input_data": "input_data",
            }
        ],
        "phases": [
            {
                "index": 0,
                "name": "Development",
                "start": "2027-01-01 10:30:00",
                "end": "2027-02-01 10:30:00",
                "tasks": [0],
            },
            {"index": 1, "name": "Final", "start": "2027-02-01 10:30:01", "tasks": [0]},
        ],
        "leaderboards": [
            {
                "title": "Results",
                "key": "main",
                "columns": [{"title": "Accuracy", "key": "accuracy", "index": 0, "sorting": "desc"}],
            }
        ],
    }


LEGACY = """\
title: Small and old
description: As CodaLab had it
competition_docker_image: ''
image: logo.png
has_registration: True
force_best_submission_to_leaderboard: True
enable_forum: True
end_date: 2027-06-30
html:
  overview: overview.html
  terms: terms.md
phases:
  1:
    phasenumber: 2
    label: Final
    start_date: 2027-03-01
    auto_migration: True
    color: red
    scoring_program: scoring_program
    reference_data: reference_data
  0:
    phasenumber: 1
    label: Development
    start_date: 2027-01-01 12:00:00
    max_submissions: 100
    scoring_program: scoring_program
    reference_data: reference_data
leaderboard:
  leaderboards:
    Results: &main
      label: RESULTS
      rank: 1
  columns:
    loss:
      leaderboard: *main
      label: Loss <Rank>
      rank: 2
      sort: asc
      numeric_format: 3
    score one:
      leaderboard: *main
      label: Score
      numeric_format: 4
      rank: 1
    average:
      leaderboard: *main
      label: Average
      rank: 3
      computed: {operation: Avg, fields: "score one, loss"}
"""
PARALLEL = (
    LEGACY.replace("    color: red\n", "    parent_phasenumber: 1\n")
    .replace("    max_submissions: 100\n", "    is_parallel_parent: True\n")
    .replace("    auto_migration: True\n", "")
)


def write(folder: Path, competition: str | dict[str, Any], files: dict[str, str | bytes] | None = None) -> Path:
    """Write a bundle's folder."""
    text = competition if isinstance(competition, str) else yaml.safe_dump(competition, sort_keys=False)
    for name, content in {**(FILES if files is None else files), "competition.yaml": text}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def packed(folder: Path, target: Path) -> Path:
    """The folder as a zip."""
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))
    return target


def changed(path: str, value: Any, base: dict[str, Any] | None = None) -> dict[str, Any]:
    """Version 2's YAML with one place changed: `phases.0.start`; `...` removes it."""
    data = base or second()
    at: Any = data
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in steps:
        at = at[step]
    if value is ...:
        del at[last]
    elif isinstance(at, list) and last == len(at):
        at.append(value)
    else:
        at[last] = value
    return data
