"""Builds a track as a bundle folder: `competition.yaml` and all that it names."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from examples.tracks.track import Arrays, BoardColumn, Check, Data, Question, Size, Track, TrackPhase
from examples.writing import copy_program, filled, instant_z, require_empty, write_yaml
from scoring import reference

DEFAULT_IMAGE = "podium/runtime:1"
DEFAULT_SEED = 20221129
CODE_METADATA = "command: python3 $program/baseline.py $program $output $input\n"  # its training data lie beside it
MINI = "mini"  # in names of folders
CHECK_TITLES = {"permuted": "rows permuted", "perturbed": "other spellings", "held_out": "held-out part"}
RUNNING_FOR = timedelta(days=1)  # how long the track has been open when it is set up
OPEN_FOR = timedelta(days=90)
SCORING_LIMIT_S = 600
LIMIT_S = {"small": 300, "true": 4 * 3600}
GIB = 1024**3
SMALL_BUDGET = {"gpus": 0, "cpus": 1, "memory_bytes": GIB, "output_bytes": GIB // 16}
TRUE_BUDGET = {"gpus": 1, "cpus": 20, "memory_bytes": 64 * GIB, "output_bytes": GIB}
BUDGET_TEXT = {
    "small": "In this small version it has 5 minutes on one core, without GPU or network; at the true size 4 hours on one GPU and one CPU.",
    "true": "It has 4 hours on one GPU and one CPU (20 cores), without network.",
}


def build_track(dest: Path, track: Track, *, now: datetime, size: Size = "small", seed: int = DEFAULT_SEED) -> Path:
    """Write the whole track into `dest` and return it; its phases are open at `now`.

    Raises `ValueError` for `now` without a time zone, or a `dest` with something in it: nothing is overwritten.
    """
    require_empty(dest, now)
    data = track.generate(size, seed)
    rows = {split: len(next(iter(arrays.values()))) for split, arrays in data.labels.items() if arrays}
    dest.mkdir(parents=True, exist_ok=True)
    _write_pages(dest / "pages", track, rows, size)
    _write_data(dest, track, data)
    copy_program(track.program, dest)
    (dest / "starting_kit").mkdir()
    shutil.copy(track.baseline, dest / "starting_kit" / "baseline.py")
    if track.takes_code:
        (dest / "starting_kit" / "metadata.yaml").write_text(CODE_METADATA)
    return write_yaml(dest, competition(track, rows, now, size, data))


def run_baseline(bundle: Path, dest: Path) -> list[Path]:
    """Run the starting kit's program on the public data, as a participant would; the files it wrote."""
    dest.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(bundle / "starting_kit" / "baseline.py"), str(bundle / "public_data"), str(dest)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return sorted(dest.iterdir())


def competition(track: Track, rows: Mapping[str, int], now: datetime, size: Size, data: Data) -> dict[str, object]:
    """The content of `competition.yaml`: Codabench's keys, and `podium:` for further settings."""
    spec: dict[str, Any] = {
        "version": 2,
        "title": track.title,
        "description": track.subtitle,
        "terms": "pages/rules.md",
        "docker_image": DEFAULT_IMAGE,
        "registration_auto_approve": True,
        "podium": {
            "slug": track.slug,
            "subtitle": track.subtitle,
            "max_team_size": 10,
            "merges_close": instant_z(now + OPEN_FOR),
            "registration_questions": [_registration(question) for question in track.registration],
        },
        "pages": [{"title": title, "file": f"pages/{title.lower()}.md"} for title in ("Overview", "Data")],
        "tasks": _tasks(track, data),
        "phases": [_phase(index, track, phase, rows, now, size) for index, phase in enumerate(track.phases)],
        "leaderboards": [
            {
                "title": track.title[:64],
                "key": "main",
                "submission_rule": track.phases[0].rule,
                "podium": {"break_ties": False, "exact_scores": False},
                "columns": [_column(index, column) for index, column in enumerate(track.columns)],
            }
        ],
    }
    if data.mini is not None:
        mini_task = len(spec["tasks"]) - 1
        for phase in spec["phases"]:
            scale = max(1.0, rows[phase["name"]] / data.mini.rows)
            phase["podium"] |= {"smoke_task": mini_task, "smoke_scale": scale}
    if track.fact_sheet:
        spec["podium"]["fact_sheet"] = [_fact(question) for question in track.fact_sheet]
    return spec


def _registration(question: Question) -> dict[str, object]:
    return {"key": question.key, "title": question.title, "kind": question.kind, "is_required": question.is_required}


def _fact(question: Question) -> dict[str, object]:
    is_public = question.is_public or question.is_on_board
    return _registration(question) | {"is_public": is_public, "is_on_board": question.is_on_board}


def _tasks(track: Track, data: Data) -> list[dict[str, object]]:
    """The tasks of the phases, then those of the checks, then that of the mini split."""
    tasks: list[tuple[str, str, dict[str, object]]] = [(phase.split, phase.split, {}) for phase in track.phases]
    for check in data.checks:
        title, name = f"{check.split}: {CHECK_TITLES[check.kind]}", f"{check.split}_{check.kind}"
        checked = next(number for number, phase in enumerate(track.phases) if phase.split == check.split)
        tasks.append((title, name, {"checks": checked, "check": check.kind, "tolerance": check.tolerance}))
    if data.mini is not None:
        tasks.append(("mini split", MINI, {"public_split": True}))
    return [
        {
            "index": index,
            "name": f"{track.title}, {title}",
            "scoring_program": "scoring_program",
            "reference_data": f"reference_data_{name}",
            **({"input_data": f"input_data_{name}"} if track.takes_code else {}),
            **({"podium": extra} if extra else {}),
        }
        for index, (title, name, extra) in enumerate(tasks)
    ]


def _phase(
    index: int, track: Track, phase: TrackPhase, rows: Mapping[str, int], now: datetime, size: Size
) -> dict[str, object]:
    extra: dict[str, object] = {
        "slug": phase.split,
        "visibility": phase.visibility,
        "accepts": ["prediction", "code"] if track.takes_code else ["prediction"],
        "max_submissions_per_week": phase.per_week if size == "true" else None,  # in small it is for trying out
        "quota_week": "sliding" if phase.per_week and size == "true" else "calendar",
        "rule": phase.rule,
        "scoring_time_limit": SCORING_LIMIT_S,
    }
    if track.has_official_file:
        extra["prediction_format"] = {"dataset": track.dataset, "split": phase.split, "rows": rows[phase.split]}
    if size == "true" and phase.preset:
        extra["preset"] = phase.preset
    elif track.takes_code:
        extra["budget"] = TRUE_BUDGET if size == "true" else SMALL_BUDGET
    return {
        "index": index,
        "name": phase.split,
        "description": phase.description,
        "start": instant_z(now - RUNNING_FOR),
        "end": instant_z(now + OPEN_FOR),
        "tasks": [index],
        "max_submissions_per_day": phase.per_day,
        "max_submissions": None,
        **({"execution_time_limit": LIMIT_S[size]} if track.takes_code else {}),
        "public_data": "public_data",
        "starting_kit": "starting_kit",
        "podium": extra,
    }


def _column(index: int, column: BoardColumn) -> dict[str, object]:
    return {
        "title": column.title,
        "key": column.key,
        "index": index,
        "sorting": column.sorting,
        "precision": 4,
        "hidden": column.is_hidden,
        "podium": {"unit": column.unit, "spread": column.spread, "rank_by_shown": True},
    }


def _write_pages(folder: Path, track: Track, rows: Mapping[str, int], size: Size) -> None:
    folder.mkdir()
    values = {f"rows_{split.replace('-', '_')}": f"{count:,}" for split, count in rows.items()}
    values["budget"] = BUDGET_TEXT[size]
    for page in ("overview", "data", "rules"):
        own, shared = track.folder / "pages" / f"{track.slug}-{page}.md", track.folder / "pages" / f"{page}.md"
        (folder / f"{page}.md").write_text(filled(own if own.exists() else shared, values))


def _write_data(dest: Path, track: Track, data: Data) -> None:
    (dest / "public_data").mkdir()
    for name, arrays in data.public.items():
        _save(dest / "public_data" / name, arrays)
    for phase in track.phases if track.takes_code else ():
        _save(dest / f"input_data_{phase.split}" / f"{phase.split}.npz", data.public[f"{phase.split}.npz"])
    for check in data.checks:
        _write_check(dest, track, check)
    # Under the name of the first split, so that code writes the file that it will write there.
    if data.mini is not None:
        split = track.phases[0].split
        _save(dest / f"input_data_{MINI}" / f"{split}.npz", data.mini.inputs)
        reference.write(dest / f"reference_data_{MINI}", track.dataset, {split: data.mini.labels})
    for split, arrays in data.labels.items():
        folder = dest / f"reference_data_{split}"
        if track.has_official_file:
            reference.write(folder, track.dataset, {split: arrays}, slices=data.slices)
        else:
            reference.write_results(folder, track.dataset)


def _write_check(dest: Path, track: Track, check: Check) -> None:
    name = f"{check.split}_{check.kind}"
    _save(dest / f"input_data_{name}" / f"{check.split}.npz", check.inputs)
    reference.write(dest / f"reference_data_{name}", track.dataset, {check.split: check.labels})
    if check.rows is not None:  # beside the labels, where the code never looks
        (dest / f"reference_data_{name}" / "rows.csv").write_text("\n".join(map(str, check.rows)) + "\n")


def _save(path: Path, arrays: Arrays) -> None:
    path.parent.mkdir(exist_ok=True)
    members: dict[str, Any] = dict(arrays)
    np.savez_compressed(path, **members)
