"""A competition as the folder that `podium competition pull` writes, and as values to compare."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, count
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any, Final

from django.utils.text import slugify

from accounts.models import User
from competitions.bundles.settings import Nested
from competitions.bundles.writer import BundleWriter, resource_suffix, yaml_text
from competitions.catalog.models import Competition, Page, Phase, Solution, Task
from competitions.resources.models import Resource, StoredFile
from files.bundles.schema import PHASE_FILES, TASK_FILES

PLAIN_NAME: Final = re.compile(r"\A[A-Za-z0-9][\w.-]{0,99}\Z", re.ASCII)
ELSEWHERE: Final = frozenset(  # top-level keys whose values are told under other names
    ("version", "leaderboards", "description", "terms", "image", "podium", "pages", "tasks", "phases", "solutions")
)
Place = tuple[str, ...]
Values = dict[Place, Any]


class LiveDocument(BundleWriter):
    """The live competition as a folder, the same for all its organizers; others' tasks are named by key."""

    def __init__(self, competition: Competition, by: User) -> None:
        super().__init__(competition, with_files=True, by=by)
        self.data = self.competition_yaml() | {"queue": competition.queue.name}
        self.data.pop("fact_sheet", None)  # Codabench's form of what stands under `podium`, where it is edited
        self.data["podium"] = {"slug": competition.slug} | self.data["podium"]
        if " ".join(competition.subtitle.split()) != competition.subtitle:
            self.data["podium"]["subtitle"] = competition.subtitle  # a description loses such blanks
        # Every setting by its place, such as phases, final, max_submissions_per_day; files stand for their content.
        self.values: Values = dict(_flat((), self._plain()))

    @property
    def yaml(self) -> str:
        return yaml_text(self.data)

    def names_by_key(self, task: Task) -> bool:
        return task.competition_id != self.competition.pk

    def page_name(self, number: int, page: Page) -> str:
        base = slugify(page.title)[:60] or "page"
        taken = {"terms", *(PurePosixPath(path).stem for path in self.texts)}
        return next(name for name in chain([base], (f"{base}-{place}" for place in count(number))) if name not in taken)

    def file(self, resource: Resource, owner: Task | Phase | Solution) -> str:
        """The file's name by task or phase and kind; what participants download keeps its name."""
        kind = f"{resource.kind}{resource_suffix(resource)}"
        is_offered = isinstance(owner, Phase | Solution) and PLAIN_NAME.match(resource.file_name)
        folder = self._place(owner)
        names = [resource.file_name, f"{resource.kind}-{resource.file_name}"] if is_offered else [kind]
        places = [f"{folder}{name}" for name in [*names, f"{resource.file_id[:16]}-{kind}"]]
        place = next(path for path in places if self.stored.get(path, resource.file) == resource.file)
        self.stored[place] = resource.file
        return place

    def _place(self, owner: Task | Phase | Solution) -> str:
        if isinstance(owner, Phase):
            return f"phases/{owner.slug}/"
        return "solutions/" if isinstance(owner, Solution) else self._folder(owner)

    def _folder(self, task: Task) -> str:
        """An only task has its files at the top; else each has a folder, also where two have one name."""
        own = [other for other in self.tasks if not self.names_by_key(other)]
        if len(own) == 1:
            return ""
        name = _folder_name(task)
        before = [other for other in own if other.pk < task.pk and _folder_name(other) == name]
        return f"tasks/{name}-{len(before) + 1}/" if before else f"tasks/{name}/"

    @property
    def version(self) -> str:
        """A digest: equal exactly where nothing differs."""
        return hashlib.sha256(
            json.dumps(sorted(self.values.items(), key=itemgetter(0)), default=str).encode()
        ).hexdigest()

    def _plain(self) -> Nested:
        """The document with names in place of numbers, and with contents in place of paths."""
        data, names = self.data, _unique([task.get("name") or task["key"] for task in self.data["tasks"]])
        shared, titles = data["leaderboards"], _unique([page["title"] for page in data["pages"]])
        return {
            **{name: value for name, value in data.items() if name not in ELSEWHERE},
            **data["podium"],
            "subtitle": self.competition.subtitle,
            "rules": self.texts.get(str(data["terms"]), ""),
            "logo": self._content(data.get("image")),
            "images": {image["name"]: self._content(image["file"]) for image in data["podium"].get("images", ())},
            "pages": {
                title: {"text": self.texts[page["file"]], "tab": page["podium"]["tab"], "place": place}
                for place, (title, page) in enumerate(zip(titles, data["pages"], strict=True))
            },
            "tasks": {names[task["index"]]: self._task_values(task, names) for task in data["tasks"]},
            "solutions": {
                solution["name"]: self._solution_values(solution, names) for solution in data.get("solutions", ())
            },
            "phases": {phase["podium"]["slug"]: self._phase_values(phase, names, shared) for phase in data["phases"]},
        }

    def _content(self, path: str | None) -> str | None:
        """A stored file by its digest."""
        return digest_text(self.stored[path]) if path else None

    def _task_values(self, task: Nested, names: list[str]) -> Nested:
        values = {name: value for name, value in task.items() if name not in ("index", "podium", *TASK_FILES)}
        check = dict(task.get("podium", {}))
        if "checks" in check:
            check["checks"] = names[check["checks"]]
        return values | check | {name: self._content(task[name]) for name in TASK_FILES if name in task}

    def _solution_values(self, solution: Nested, names: list[str]) -> Nested:
        return {
            "description": solution.get("description", ""),
            "tasks": sorted(names[index] for index in solution["tasks"]),
            "path": self._content(solution["path"]),
        }

    def _phase_values(self, phase: Nested, names: list[str], shared: list[Nested]) -> Nested:
        extra = dict(phase["podium"])
        if "grows" in extra:
            extra["grows"] = extra["grows"] | {"check": names[extra["grows"]["check"]]}
        if "smoke_task" in extra:
            extra["smoke_task"] = names[extra["smoke_task"]]
        boards = extra.pop("leaderboards", shared)
        values = {name: value for name, value in phase.items() if name not in ("podium", *PHASE_FILES)}
        values["tasks"] = sorted(names[index] for index in phase["tasks"])
        files = {name: self._content(phase[name]) for name in PHASE_FILES if name in phase}
        return (
            values
            | extra
            | files
            | {"boards": {board["key"]: _board_values(place, board) for place, board in enumerate(boards)}}
        )


def _folder_name(task: Task) -> str:
    return slugify(task.name)[:60] or "task"


def _unique(names: list[str]) -> list[str]:
    """Each with a number where it is the name of one before it, too."""
    seen = Counter[str]()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return unique


def digest_text(stored: StoredFile) -> str:
    """A file as it is shown to people."""
    return f"sha256:{stored.sha256} ({stored.size_bytes:,} bytes)"


def _board_values(place: int, board: Nested) -> Nested:
    keys = {column["index"]: column["key"] for column in board["columns"]}
    own = {name: value for name, value in board.items() if name not in ("primary_index", "columns", "podium", "key")}
    columns = {column["key"]: _column_values(column, keys) for column in board["columns"]}
    primary = keys.get(board["primary_index"])
    return {**own, **board["podium"], "place": place, "primary": primary, "columns": columns}


def _column_values(column: Nested, keys: Mapping[int, str]) -> Nested:
    values = {name: value for name, value in column.items() if name not in ("podium", "key", "computation_indexes")}
    if "computation_indexes" in column:
        values["computed_from"] = [keys[index] for index in column["computation_indexes"]]
    return {**values, **column["podium"]}


def _flat(place: Place, value: Any) -> Iterator[tuple[Place, Any]]:
    """Questions are known by their key; any other list is one value."""
    if isinstance(value, list) and value and all(isinstance(item, dict) and "key" in item for item in value):
        value = {item["key"]: item | {"place": number} for number, item in enumerate(value)}
    if not isinstance(value, dict):
        yield place, value
        return
    for name, inner in value.items():
        yield from _flat((*place, str(name)), inner)
