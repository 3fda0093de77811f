"""A competition as a bundle of version 2, with its files or with keys in their place."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml
from django.db.models import Q

from accounts.models import User
from competitions.bundles.codabench_gaps import CODABENCH_QUESTIONS, codabench_gaps, codabench_refusals
from competitions.bundles.settings import Nested, written_settings
from competitions.catalog.models import Column, Competition, Format, Leaderboard, Page, Phase, Solution, Task
from competitions.catalog.services import current_rules
from competitions.factsheets.models import Question
from competitions.leaderboards.ranking.rules import CODABENCH_NAMES
from competitions.resources.models import Resource, StoredFile
from competitions.resources.storage import CHUNK_BYTES, open_stored
from core.design.covers import draw_cover
from files.bundles.archive import ZIP_TIME
from files.bundles.faults import YAML_NAME
from files.bundles.schema import PHASE_FILES, TASK_FILES
from files.images import HEAD_BYTES, image_type
from files.images import SUFFIXES as SUFFIXES_OF_IMAGES
from files.text import NO_TERMS
from workers.protocol.jobs import plain_file_name

STAND_IN: Final = "image.png"
SUFFIXES: Final = {Format.HTML: "html", Format.MARKDOWN: "md", Format.MIXED: "md"}
ASKED: Final = ("key", "title", "help_text", "kind", "choices", "is_required")
FACTS: Final = (*ASKED, "is_public", "is_on_board", "compared_with")


def bundle_write(*, competition: Competition, target: Path, with_files: bool, by: User) -> Path:
    """Write the bundle as a zip. `with_files` says whether programs and data are inside or named by key.

    A bundle with files is complete for any server; one with keys is for this one, and for those who may use the files.
    A task that `by` may use and not read, such as another organizer's public one, is named by its key in both.
    """
    writer = BundleWriter(competition, with_files=with_files, by=by)
    data = writer.competition_yaml()
    image = _stand_in_image(data, competition)
    text = "".join(_comment(competition, with_files=with_files, by=by)) + yaml_text(data)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        _member(archive, YAML_NAME, [text.encode()])
        if image:
            _member(archive, STAND_IN, [image])
        for name, content in writer.texts.items():
            _member(archive, name, [content.encode()])
        for name, stored in writer.stored.items():
            with open_stored(stored) as file:
                _member(archive, name, iter(lambda file=file: file.read(CHUNK_BYTES), b""))  # type: ignore[misc]
    return target


def yaml_text(data: dict[str, object]) -> str:
    """The text of `competition.yaml`, in the order of the data."""
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)


def _stand_in_image(data: Nested, competition: Competition) -> bytes:
    """Name the drawn cover as the image of a bundle without one, which Codabench refuses; return it."""
    if "image" in data:
        return b""
    data["image"] = STAND_IN
    data["podium"]["image_stands_in"] = True
    return draw_cover(competition.slug)


def _comment(competition: Competition, *, with_files: bool, by: User) -> Iterator[str]:
    """Lines above the YAML that say why Codabench would refuse it, and what it means otherwise there."""
    refusals = codabench_refusals(competition, with_files=with_files, by=by)
    for heading, sentences in (
        ("Codabench would refuse this bundle:", refusals),
        ("On Codabench this bundle means something else:", codabench_gaps(competition)),
    ):
        if sentences:
            yield f"# {heading}\n"
            yield from (f"# - {' '.join(sentence.split())}\n" for sentence in sentences)


def _member(archive: zipfile.ZipFile, name: str, chunks: Any) -> None:
    info = zipfile.ZipInfo(name, ZIP_TIME)
    info.compress_type = (
        zipfile.ZIP_STORED if name.endswith((".zip", ".png", ".jpg", ".gif", ".webp", ".gz")) else zipfile.ZIP_DEFLATED
    )
    info.external_attr = 0o644 << 16
    with archive.open(info, "w", force_zip64=True) as sink:
        for chunk in chunks:
            sink.write(chunk)


class BundleWriter:
    """Collects the files that the YAML names while the YAML is made."""

    def __init__(self, competition: Competition, *, with_files: bool, by: User) -> None:
        self.competition, self.with_files = competition, with_files
        self.readable = set(Task.objects.readable_by(by).values_list("pk", flat=True))
        self.tasks: list[Task] = []
        self.texts: dict[str, str] = {}
        self.stored: dict[str, StoredFile] = {}

    def competition_yaml(self) -> Nested:
        competition = self.competition
        phases = list(competition.phases.prefetch_related("tasks", "leaderboards__columns"))
        used = Q(phases__in=phases) | Q(pk__in=[phase.dataset_check_id for phase in phases if phase.grows])
        used |= Q(smoke_phases__in=phases)
        used |= Q(solutions__competition=competition)
        used |= Q(checks__phases__in=phases, competition=competition)
        tasks = self.tasks = list(Task.objects.filter(used).distinct().order_by("pk"))
        boards = [board for phase in phases for board in phase.leaderboards.all()]
        shared, own = board_yaml(boards[0]) if boards else None, written_settings(competition)
        extra = own.pop("podium")
        return {
            "version": 2,
            **{key: value for key, value in own.items() if value != "" or key == "docker_image"},
            "description": competition.subtitle,
            **({"image": self._picture("logo", competition.logo)} if competition.logo else {}),
            "terms": self._rules(),
            "registration_auto_approve": competition.registration_policy == competition.RegistrationPolicy.OPEN,
            **({"fact_sheet": fact_sheet} if (fact_sheet := fact_sheet_yaml(competition)) else {}),
            "podium": self._extra(extra),
            "pages": list(self._pages()),
            "tasks": [self._task(index, task, tasks) for index, task in enumerate(tasks)],
            **({"solutions": solutions} if (solutions := list(self._solutions(tasks))) else {}),
            "phases": [self._phase(index, phase, tasks, shared) for index, phase in enumerate(phases)],
            "leaderboards": [shared] if shared else [],
        }

    def _extra(self, settings: dict[str, object]) -> dict[str, object]:
        competition = self.competition
        questions = [
            {name: getattr(question, name) for name in ASKED} for question in competition.registration_questions.all()
        ]
        extra = {
            **settings,
            "cover": self._picture("cover", competition.cover) if competition.cover else None,
            "tags": competition.tags,
            "registration_questions": questions,
            "fact_sheet": _facts(self.competition, None),
            "images": list(self._images()),
        }
        return {key: value for key, value in extra.items() if value}

    def _picture(self, kind: str, picture: StoredFile) -> str:
        with open_stored(picture) as file:
            suffix = SUFFIXES_OF_IMAGES.get(image_type(file.read(HEAD_BYTES)) or "", ".png")
        name = f"{kind}{suffix}"
        self.stored[name] = picture
        return name

    def _images(self) -> Iterator[dict[str, str]]:
        for image in self.competition.images.select_related("file"):
            file = f"images/{image.name}"
            self.stored[file] = image.file
            yield {"name": image.name, "file": file}

    def _rules(self) -> str:
        """The rules; where there are none a sentence that says so, which is read as none again."""
        rules = current_rules(self.competition)
        if rules is None:
            return self._text("pages/terms.md", NO_TERMS)
        return self._text(f"pages/terms.{SUFFIXES[Format(rules.format)]}", rules.text)

    def _text(self, name: str, text: str) -> str:
        self.texts[name] = text
        return name

    def _pages(self) -> Iterator[dict[str, object]]:
        for number, page in enumerate(self.competition.pages.order_by("index", "pk")):
            name = f"pages/{self.page_name(number, page)}.{SUFFIXES[Format(page.format)]}"
            yield {"title": page.title, "file": self._text(name, page.body), "podium": {"tab": page.tab}}

    def page_name(self, number: int, page: Page) -> str:
        """The name of its file, without suffix."""
        return f"page-{number}"

    def file(self, resource: Resource, owner: Task | Phase | Solution) -> str:
        """A path in the bundle, or the key."""
        if not self.with_files:
            return str(resource.key)
        name = plain_file_name(resource.file_name)
        if not Path(name).suffix:  # by which Codabench recognizes zips of programs and data
            name += resource_suffix(resource)
        name = f"files/{resource.file_id[:16]}/{name}"
        self.stored[name] = resource.file
        return name

    def _files(self, owner: Task | Phase, names: tuple[str, ...]) -> dict[str, str]:
        return {name: self.file(resource, owner) for name in names if (resource := getattr(owner, name)) is not None}

    def names_by_key(self, task: Task) -> bool:
        """True for a task of somebody else, whose programs and data stay there."""
        return task.pk not in self.readable

    def _task(self, index: int, task: Task, tasks: list[Task]) -> dict[str, object]:
        if self.names_by_key(task):
            return {"index": index, "key": str(task.key)}
        return {"index": index, "name": task.name, **self._files(task, TASK_FILES), **_task_settings(task, tasks)}

    def _solutions(self, tasks: list[Task]) -> Iterator[dict[str, object]]:
        rows = self.competition.solutions.select_related("resource__file").prefetch_related("tasks")
        for index, solution in enumerate(rows):
            used = sorted(tasks.index(task) for task in solution.tasks.all() if task in tasks)
            place = "path" if self.with_files else "key"
            yield {
                "index": index,
                "name": solution.name,
                **({"description": solution.description} if solution.description else {}),
                "tasks": used,
                place: self.file(solution.resource, solution),
            }

    def _phase(
        self, index: int, phase: Phase, tasks: list[Task], shared: dict[str, object] | None
    ) -> dict[str, object]:
        own = written_settings(phase)
        extra = own.pop("podium")
        unlimited = {name: own[name] or 0 for name in ("max_submissions_per_day", "max_submissions")}
        return {
            "index": index,
            **{key: value for key, value in (own | unlimited).items() if value is not None},
            "tasks": [tasks.index(task) for task in sorted(phase.tasks.all(), key=lambda task: task.pk)],
            **({"accepts_only_result_submissions": True} if phase.as_on_codabench and not phase.accepts_code else {}),
            **self._files(phase, PHASE_FILES),
            "podium": self._phase_extra(phase, extra, tasks, shared),
        }

    def _phase_extra(
        self, phase: Phase, settings: Nested, tasks: list[Task], shared: dict[str, object] | None
    ) -> dict[str, object]:
        boards = [board_yaml(board) for board in phase.leaderboards.all()]
        extra = settings | {
            "slug": phase.slug,
            "accepts": None if phase.as_on_codabench else phase.accepted_kinds,
            "text_files": list(phase.text_patterns),
            "quota_week": phase.quota_week if phase.max_submissions_per_week else None,
            "environment": list(phase.own_environment) or None,
            "scoring_time_limit": phase.scoring_time_limit_s,
            "priority": phase.priority or None,
            "fact_sheet": _facts(phase.competition, phase) or None,
            "leaderboards": boards if boards != [shared] else None,
            "grows": _growth(phase, settings["grows"], tasks),
            "smoke_task": None if phase.smoke_task is None else tasks.index(phase.smoke_task),
        }
        return {key: value for key, value in extra.items() if value is not None and value != "" and value is not False}


def fact_sheet_yaml(competition: Competition) -> dict[str, object]:
    """The fact sheet's questions that Codabench has, in its words; `podium` has all of them."""
    questions = Question.objects.filter(competition=competition, phase=None, kind__in=CODABENCH_QUESTIONS)
    return {
        question.key: {
            "key": question.key,
            "type": question.kind,
            "title": question.title,
            "selection": question.choices or "",
            "is_required": str(question.is_required).lower(),
            "is_on_leaderboard": str(question.is_on_board).lower(),
        }
        for question in questions
    }


def _task_settings(task: Task, tasks: list[Task]) -> dict[str, object]:
    """The task's settings; for a check of winners' code also the task that it checks."""
    own = written_settings(task)
    extra = own.pop("podium")
    if task.checks is not None:
        extra |= {"checks": tasks.index(task.checks), "check": task.check_kind}
    extra = {key: value for key, value in extra.items() if value is not None and value is not False}
    return own | ({"podium": extra} if extra else {})


def _growth(phase: Phase, limits: dict[str, object], tasks: list[Task]) -> dict[str, object] | None:
    """The settings of a board that grows by datasets; those that were submitted stay with their teams."""
    return {"check": tasks.index(phase.dataset_check), **limits} if phase.dataset_check is not None else None


def board_yaml(board: Leaderboard) -> dict[str, object]:
    """A board in the keys of version 2."""
    columns = list(board.columns.all())
    indexes = {column.key: index for index, column in enumerate(columns)}
    rule = Leaderboard.Rule(board.rule)
    own = written_settings(board)
    extra = own.pop("podium")
    extra |= {"show_tasks": board.shows_tasks, "rule": None if rule in CODABENCH_NAMES else rule.value}
    return own | {
        "key": board.key,
        "submission_rule": CODABENCH_NAMES.get(rule, "Force_Best"),
        "primary_index": next((index for index, column in enumerate(columns) if column.is_primary), 0),
        "columns": [_column(index, column, indexes) for index, column in enumerate(columns)],
        "podium": {key: value for key, value in extra.items() if value is not None},
    }


def _column(index: int, column: Column, indexes: dict[str, int]) -> dict[str, object]:
    own = written_settings(column)
    extra = own.pop("podium")
    own |= {"index": index}
    if column.kind == Column.Kind.COMPUTED:
        own |= {"computation": column.computation, "computation_indexes": [indexes[key] for key in column.sources]}
    if not column.spread_key:
        del extra["spread"]
    return own | {"podium": extra | {"meter": column.kind == Column.Kind.METER}}


def _facts(competition: Competition, phase: Phase | None) -> list[dict[str, object]]:
    questions = Question.objects.filter(competition=competition, phase=phase)
    return [{name: getattr(question, name) for name in FACTS} for question in questions]


def resource_suffix(resource: Resource) -> str:
    """The suffix of a resource's name, such as `.csv.gz`; without one it is a zip, except for downloads."""
    suffixes = Path(resource.file_name.lower()).suffixes[-2:]
    suffix = "".join(suffixes if suffixes[-1:] in ([".gz"], [".zst"]) else suffixes[-1:])
    return suffix or ("" if resource.kind in PHASE_FILES else ".zip")
