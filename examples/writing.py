"""Writing a bundle folder: the YAML, the example's own files, and the generated data."""

import argparse
import io
import shutil
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml

import scoring

OPEN_FOR = timedelta(days=365)
OVERVIEW = {"Overview": "pages/overview.md"}
ZIP_TIME = (2020, 1, 1, 0, 0, 0)  # equal content, equal file
PROGRAMS = Path(scoring.__file__).resolve().parent / "programs"
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc")


def require_empty(dest: Path, now: datetime | None = None) -> None:
    """Raise `ValueError` for `now` without a time zone, or a `dest` with something in it."""
    if now is not None and now.tzinfo is None:
        raise ValueError("`now` needs a time zone, for instance datetime.now(UTC)")
    if dest.exists() and any(dest.iterdir()):
        raise ValueError(f"{dest} is not empty; give a folder that does not exist yet")


def copy_parts(source: Path, dest: Path, names: Sequence[str]) -> None:
    """Copy programs and pages of an example into its bundle. Raises `ValueError` if it is not empty."""
    require_empty(dest)
    dest.mkdir(parents=True, exist_ok=True)
    for name in names:
        shutil.copytree(source / name, dest / name, ignore=LEFT_OUT)


def copy_program(name: str, dest: Path) -> None:
    """Copy a ready scoring program into a bundle."""
    shutil.copytree(PROGRAMS / name, dest / "scoring_program", ignore=LEFT_OUT)


def write_yaml(dest: Path, competition: Mapping[str, object]) -> Path:
    """Write `competition.yaml` and return the folder."""
    text = yaml.safe_dump(dict(competition), sort_keys=False, allow_unicode=True, width=120)
    (dest / "competition.yaml").write_text(text)
    return dest


def benchmark(
    *,
    title: str,
    description: str,
    image: str,
    now: datetime,
    tasks: Sequence[Mapping[str, object]],
    phase: Mapping[str, object],
    board: Mapping[str, object],
    pages: Mapping[str, str] = OVERVIEW,
    **settings: object,
) -> dict[str, object]:
    """The content of `competition.yaml` of a benchmark with one board and one phase, open from `now` on."""
    numbered = [{"index": index, **task} for index, task in enumerate(tasks)]
    dates = {"start": instant(now), "end": instant(now + OPEN_FOR)}
    return {
        "version": 2,
        "title": title,
        "description": description,
        "terms": "pages/terms.md",
        "docker_image": image,
        "registration_auto_approve": True,
        "competition_type": "benchmark",
        **settings,
        "pages": [{"title": name, "file": file} for name, file in pages.items()],
        "tasks": numbered,
        "phases": [{"index": 0, **dates, "tasks": [task["index"] for task in numbered], **phase}],
        "leaderboards": [{"key": "main", **board}],
    }


def instant(moment: datetime) -> str:
    """A date as Codabench's documentation writes it, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def instant_z(moment: datetime) -> str:
    """A date as ISO 8601 has it, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def filled(page: Path, values: Mapping[str, object]) -> str:
    """The text of a page, with a value for each name in braces."""
    text = page.read_text()
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def zipped(members: Mapping[str, bytes]) -> bytes:
    """A zip file with these members."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, ZIP_TIME), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def main(name: str, build: Callable[..., Path], *, description: str | None = None) -> int:
    """The command line of an example: build its bundle into a folder."""
    parser = argparse.ArgumentParser(prog=f"python -m examples.{name}.bundle", description=description)
    parser.add_argument("dest", type=Path)
    print(build(parser.parse_args().dest, now=datetime.now(UTC)))
    return 0
