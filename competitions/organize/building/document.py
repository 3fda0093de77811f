"""Parts of every bundle of the guided path: title, dates and limits in YAML, and the pages."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

import yaml

import scoring
from competitions.organize.answers import About, Schedule, ScoreOnScale, Values
from files.bundles.faults import YAML_NAME

PROGRAMS: Final = Path(scoring.__file__).resolve().parent / "programs"
SCORING_LIMIT_S: Final = 600
TITLES: Final = {"overview": "Overview", "data": "Data", "evaluation": "Evaluation"}


@dataclass(frozen=True)
class Answers:
    """Source of a bundle: cleaned values by step, files with their names by role, texts by page."""

    start: str
    steps: Mapping[str, Values]
    files: Mapping[str, tuple[Path, str]]
    texts: Mapping[str, str]

    @property
    def about(self) -> About:
        return cast("About", self.steps["about"])

    @property
    def schedule(self) -> Schedule:
        return cast("Schedule", self.steps["schedule"])


@dataclass(frozen=True)
class Sample:
    """The file that is scored on trial, its row's name on the board, and scores to compare with."""

    path: Path
    team: str
    is_code: bool = False
    scale: Sequence[ScoreOnScale] = ()


# Does what reads uploaded files in a child with limits: a function, or a request to the program for tables. What names a
# `fault` ends the build.
Bounded = Callable[[Callable[[], Any] | dict[str, object]], dict[str, Any]]


def instant(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()


def document(
    answers: Answers,
    *,
    tasks: Sequence[Mapping[str, object]],
    phases: Sequence[Mapping[str, object]],
    board: Mapping[str, object],
) -> dict[str, object]:
    """The content of `competition.yaml`; `board` is the leaderboard of phases that have none."""
    about, schedule = answers.about, answers.schedule
    return {
        "version": 2,
        "title": about["title"],
        "description": about["subtitle"],
        "terms": "pages/rules.md",
        "registration_auto_approve": True,
        **({"reward": about["reward"]} if about["reward"] else {}),
        "podium": {
            "subtitle": about["subtitle"],
            "host": about["host"],
            "max_team_size": schedule["max_team_size"],
            "merges_close": instant(schedule["closes_at"]),
            "tags": [tag for tag in about["tags"].split(", ") if tag],
        },
        "pages": [
            {"title": title, "file": f"pages/{name}.md", "podium": {"tab": "data" if name == "data" else "overview"}}
            for name, title in TITLES.items()
        ],
        "tasks": list(tasks),
        "phases": list(phases),
        "leaderboards": [board],
    }


def phase(
    answers: Answers, *, name: str, index: int = 0, extra: Mapping[str, object], **fields: Any
) -> dict[str, object]:
    """A phase with the dates and limits that were answered; `extra` is its `podium` mapping."""
    schedule = answers.schedule
    return {
        "index": index,
        "name": name,
        "start": instant(schedule["opens_at"]),
        "end": instant(schedule["closes_at"]),
        "tasks": [index],
        "max_submissions_per_day": schedule["max_submissions_per_day"],
        "max_submissions": None,
        **fields,
        "podium": {"scoring_time_limit": SCORING_LIMIT_S, **extra},
    }


def column(
    key: str, title: str, sorting: str, *, index: int = 0, unit: str = "", spread: str = ""
) -> dict[str, object]:
    """A column of a board, of four digits."""
    return {
        "title": title[:36],
        "key": key,
        "index": index,
        "sorting": sorting,
        "precision": 4,
        "podium": {"unit": unit, "spread": spread},
    }


def board(title: str, key: str, columns: Sequence[Mapping[str, object]], **extra: Any) -> dict[str, object]:
    """A board without exact scores, which help to guess labels; `extra` is of its `podium` mapping."""
    podium = {"exact_scores": False, **extra}
    return {"title": title, "key": key, "submission_rule": "Force_Best", "columns": columns, "podium": podium}


def write_yaml(folder: Path, spec: Mapping[str, object], texts: Mapping[str, str]) -> None:
    """Write the YAML and the pages."""
    (folder / "pages").mkdir()
    for name, text in texts.items():
        (folder / "pages" / f"{name}.md").write_text(text)
    (folder / YAML_NAME).write_text(yaml.safe_dump(dict(spec), sort_keys=False, allow_unicode=True, width=120))


def copy_program(folder: Path, name: str) -> None:
    """One of the site's scoring programs, as the bundle's."""
    shutil.copytree(PROGRAMS / name, folder / "scoring_program", ignore=shutil.ignore_patterns("__pycache__"))
