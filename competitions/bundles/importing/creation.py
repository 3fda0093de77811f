"""Makes or changes a competition's rows as a bundle says, inside the caller's transaction."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db.models import Exists, OuterRef
from django.utils.text import slugify

from accounts.models import User
from competitions.bundles.importing.boards import boards_write
from competitions.bundles.importing.rows import Existing, Part, References, fill, write
from competitions.bundles.settings import bundle_places, read_settings, said_settings
from competitions.catalog.changes.competitions import store_competition
from competitions.catalog.changes.phases import store_phase
from competitions.catalog.changes.tasks import store_task
from competitions.catalog.models import (
    Competition,
    CompetitionOrganizer,
    Format,
    ImageUpload,
    Page,
    PageImage,
    Phase,
    Solution,
    Task,
)
from competitions.catalog.models.sections.intake import TEXT_FILES
from competitions.catalog.presets import PRESETS
from competitions.catalog.queue_rights import faults_on_queue
from competitions.catalog.services import current_rules, rules_publish, same_text, tags_set
from competitions.catalog.texts.images import image_import
from competitions.catalog.texts.pages import list_own_tabs, page_address
from competitions.factsheets.models import Question
from competitions.factsheets.services import note_questions
from competitions.resources.models import Resource
from competitions.teams.models import RegistrationQuestion
from files.bundles.addresses import phase_slugs
from files.bundles.faults import invalid
from files.bundles.reader import BundleReader
from files.bundles.rules import solution_names, sort_phases
from files.bundles.schema import (
    PHASE_FILES,
    TASK_FILES,
    CompetitionSpec,
    FactQuestionSpec,
    PhaseExtra,
    PhaseSpec,
    TaskSpec,
)
from files.bundles.types import Index
from files.markup import MAX_CHARACTERS
from files.text import free_name, is_placeholder, quantity

MAX_SUBTITLE = 256
Text = tuple[str, Format]
HTML_TAG = re.compile(r"<[a-zA-Z][^<>]*>")


class Maker:
    """The state of one import: what was read, what its keys stand for, and the stored files by their path.

    With `references.live` that competition is changed to what the bundle says. Rows are known again by their key, slug or title;
    tasks that the bundle no longer names stay, because runs point at them.
    """

    def __init__(self, reader: BundleReader, references: References, owner: User, parts: Mapping[str, Part]) -> None:
        self.reader, self.references, self.owner, self.parts = reader, references, owner, parts
        self.spec: CompetitionSpec = reader.valid_spec()
        self.report = reader.report
        self.resources: dict[tuple[str, str], Resource] = {}

    def competition(self, now: datetime) -> Competition:
        spec, policy = self.spec, Competition.RegistrationPolicy
        assert self.references.queue is not None, "looked up, or the bundle was refused"
        live = self.references.live
        competition = fill(
            live or Competition(slug=spec.podium.slug or self._free_slug(spec.title)),
            subtitle=self._subtitle(),
            registration_policy=policy.OPEN if spec.registration_auto_approve else policy.APPROVAL,
            queue=self.references.queue,
            **read_settings(Competition, spec),
        )
        store_competition(competition, now=now)
        tags_set(competition=competition, names=spec.podium.tags)
        if live is None:
            CompetitionOrganizer.objects.create(competition=competition, user=self.owner)
        self._rules(competition, now)
        self._pages(competition)
        self._images(competition, now)
        self._questions(competition)
        self._fact_sheet(competition)
        tasks = self._tasks(competition, now)
        self._phases(competition, tasks, now)
        self._solutions(competition, tasks)
        note_questions(competition)
        self._say(competition)
        if live is None:
            self.report.warnings += [
                self.reader.document.note(("queue",), fault)
                for fault in faults_on_queue(competition, competition.queue)
            ]
        return competition

    def _tasks(self, competition: Competition, now: datetime) -> dict[Index, Task]:
        """The tasks by their index; checks are made once there is what they check."""
        own = competition.tasks.filter(dataset=None).alias(is_used=Exists(Phase.objects.filter(tasks=OuterRef("pk"))))
        before = Existing(own.order_by("-is_used", "pk"), "name")
        tasks = {
            spec.index: self._task(competition, spec, before, now)
            for spec in self.spec.tasks
            if spec.podium.checks is None
        }
        for spec in self.spec.tasks:
            if spec.podium.checks is not None:
                self._task(competition, spec, before, now, checks=tasks[spec.podium.checks])
        return tasks

    def _phases(self, competition: Competition, tasks: dict[Index, Task], now: datetime) -> None:
        before = Existing(competition.phases.all(), "slug")
        for number, (slug, spec) in enumerate(phase_slugs(sort_phases(self.spec.phases))):
            self._phase(before.take(slug, Phase(competition=competition, slug=slug)), spec, number, tasks, now)
        before.remove_others()

    def _solutions(self, competition: Competition, tasks: dict[Index, Task]) -> None:
        before = Existing(competition.solutions.all(), "name")
        names = solution_names(self.spec.solutions)
        for index, (name, spec) in enumerate(zip(names, self.spec.solutions, strict=True)):
            solution = before.take(name, Solution(competition=competition, name=name))
            current = solution.resource if solution.pk else None
            resource = self._resource(spec.reference, Resource.Kind.SOLUTION, name, current)
            write(solution, index=index, description=spec.description, resource=resource)
            solution.tasks.set([tasks[number] for number in spec.tasks or tasks if number in tasks])
        before.remove_others()

    def _say(self, competition: Competition) -> None:
        spec, mapped = self.spec, self.report.mapped
        self.report.created[:0] = [
            f"competition {competition.title!r} at /competitions/{competition.slug}/, a draft",
            f"{quantity(len(spec.pages), 'page')} and {'the' if current_rules(competition) else 'no'} rules",
            quantity(len(spec.tasks), "task"),
            f"{quantity(len(spec.phases), 'phase')}, each with a leaderboard",
        ]
        note = self.reader.document.note
        if not spec.docker_image:
            mapped.append(note(("docker_image",), f"no image is named; programs run in {competition.image_name}"))
        if spec.solutions:
            self.report.created.append(f"{quantity(len(spec.solutions), 'solution')}, for organizers alone")
        for board in spec.leaderboards[1:]:
            self.report.ignored.append(
                note(board.where, "phases have the first leaderboard; this one is on none of them")
            )

    def _subtitle(self) -> str:
        spec = self.spec
        line = spec.podium.subtitle or " ".join(spec.description.split())
        if len(line) > MAX_SUBTITLE:
            note = self.reader.document.note(
                ("description",), f"the line under the title is cut to {MAX_SUBTITLE} characters"
            )
            self.report.mapped.append(note)
        return line[:MAX_SUBTITLE]

    @staticmethod
    def _free_slug(title: str) -> str:
        base = slugify(title)[:54].strip("-") or "competition"
        taken = set(Competition.objects.filter(slug__startswith=base).values_list("slug", flat=True))
        return free_name(base, taken)

    def _text(self, relative: str) -> tuple[str, Format]:
        text = self.reader.files.text(relative)
        if len(text) > MAX_CHARACTERS:
            raise invalid(f"It has {len(text):,} characters; a text has at most {MAX_CHARACTERS:,}.", file=relative)
        if relative.lower().endswith((".html", ".htm")):
            return text, Format.HTML
        return text, Format.MIXED if HTML_TAG.search(text) else Format.MARKDOWN

    def _read_text(self, relative: str, before: Text | None) -> tuple[str, Format]:
        """A text that is the same as before keeps how it is written: both kinds of Markdown have one suffix."""
        text, form = self._text(relative)
        is_html = form == Format.HTML
        if before is not None and same_text(before[0], text) and is_html == (before[1] == Format.HTML):
            return before
        return text, form

    def _rules(self, competition: Competition, now: datetime) -> None:
        rules = current_rules(competition)
        before = (rules.text, Format(rules.format)) if rules else None
        text, form = self._read_text(self.spec.terms, before) if self.spec.terms else ("", Format.MARKDOWN)
        if not is_placeholder(text):  # else rules that are there stay in force: people have accepted them
            rules_publish(competition=competition, text=text, form=form, now=now)

    def _pages(self, competition: Competition) -> None:
        before = Existing(competition.pages.all(), "title")
        for index, spec in enumerate(self.spec.pages):
            page = before.take(spec.title, Page(competition=competition, title=spec.title))
            body, form = self._read_text(spec.file, (page.body, Format(page.format)) if page.pk else None)
            by_title = Page.Tab.DATA if spec.title.strip().lower() == "data" else Page.Tab.OVERVIEW
            tab = Page.Tab(spec.podium.tab or by_title)
            write(page, is_checked=False, tab=tab, slug=page_address(page, tab), body=body, format=form, index=index)
        before.remove_others()
        list_own_tabs(competition)

    def _images(self, competition: Competition, now: datetime) -> None:
        images = self.reader.usable_images.files

        def show(path: str, place: ImageUpload.Place, name: str = "") -> None:
            part = self.parts[path]
            encoded = part.encoded[place]
            image_import(competition=competition, place=place, file=part.file, encoded=encoded, now=now, name=name)

        for place in (ImageUpload.Place.LOGO, ImageUpload.Place.COVER):
            shown = getattr(self.reader.usable_images, place)
            if shown is None:
                store_competition(fill(competition, **{place.value: None}), now=now)
            elif self.parts[shown].file != getattr(competition, place):
                show(shown, place)
        before = Existing(competition.images.all(), "name")
        for name, path in images.items():
            image = before.take(name, PageImage(competition=competition, name=name))
            if not image.pk or image.file_id != self.parts[path].file.pk:
                show(path, ImageUpload.Place.PAGE, name)
        before.remove_others()
        if images:
            self.report.created.append(f"{quantity(len(images), 'image')} for pages")

    def _fact_sheet(self, competition: Competition) -> None:
        own = {question.key for question in self.spec.podium.fact_sheet}
        before = Existing(Question.objects.filter(competition=competition, phase=None), "key")
        for index, (key, question) in enumerate((self.spec.fact_sheet or {}).items()):
            if key in own:
                continue
            given = question.selection
            listed = given if isinstance(given, list) else str(given or "").split(",")
            choices = [text for choice in listed if question.type == "select" and (text := str(choice).strip())]
            write(
                before.take(key, Question(competition=competition, key=key)),
                title=question.title,
                kind=question.type,
                choices=choices,
                index=index,
                is_required=question.is_required,
                is_public=question.is_on_leaderboard,
                is_on_board=question.is_on_leaderboard,
            )
        _ask(self.spec.podium.fact_sheet, before, competition=competition)

    def _questions(self, competition: Competition) -> None:
        before = Existing(competition.registration_questions.all(), "key")
        for index, spec in enumerate(self.spec.podium.registration_questions):
            question = before.take(spec.key, RegistrationQuestion(competition=competition))
            write(question, index=index, **spec.model_dump(exclude={"where"}))
        before.remove_others()

    def _resource(self, reference: str | None, kind: str, name: str, current: Resource | None) -> Resource | None:
        """The resource behind a path or a key; one for each file and kind, however often it is named.

        `current` is the one in its place so far: it stays where its content is the same, else the new one replaces it.
        """
        if reference is None:
            return None
        if (resource := self.references.resources.get((reference, kind))) is not None:
            return resource
        part = self.parts[reference]
        if current is not None and current.file_id == part.file.pk:
            return current
        if (reference, kind) not in self.resources:
            label = Resource.Kind(kind).label
            self.resources[reference, kind] = Resource.objects.create(
                owner=self.owner,
                kind=kind,
                name=f"{name}: {label}"[:200],
                file=part.file,
                file_name=part.file_name,
                replaces=current,
            )
            self.report.created.append(f"{label} {reference} ({part.file.size_bytes:,} bytes)")
        return self.resources[reference, kind]

    def _resources(
        self, row: Task | Phase, spec: TaskSpec | PhaseSpec, names: Sequence[str]
    ) -> dict[str, Resource | None]:
        """The files of a task or a phase, by the name of their field."""
        current = {name: getattr(row, name) if getattr(row, f"{name}_id") else None for name in names}
        return {name: self._resource(getattr(spec, name), name, spec.name, current[name]) for name in names}

    def _task(
        self,
        competition: Competition,
        spec: TaskSpec,
        before: Existing[Task],
        now: datetime,
        checks: Task | None = None,
    ) -> Task:
        if spec.key is not None:
            return self.references.tasks[spec.key]
        task = before.take(spec.name, Task(competition=competition, owner=self.owner, name=spec.name))
        fill(
            task,
            checks=checks,
            check_kind=spec.podium.check or "",
            **read_settings(Task, spec),
            **self._resources(task, spec, TASK_FILES),
        )
        return store_task(task, now=now).row

    def _phase(self, phase: Phase, spec: PhaseSpec, index: int, tasks: dict[Index, Task], now: datetime) -> None:
        extra, kinds = spec.podium, spec.podium.accepts
        settings: dict[str, object] = {
            "index": index,
            "scoring_time_limit_s": extra.scoring_time_limit or spec.execution_time_limit,
            "accepts_predictions": kinds is None or "prediction" in kinds,
            "accepts_code": not spec.accepts_only_result_submissions if kinds is None else "code" in kinds,
            "accepts_datasets": kinds is not None and "dataset" in kinds,
            "as_on_codabench": kinds is None,
            "text_files": _text_files(extra),
            "own_weights": "weights" in extra.environment,
            "own_images": "image" in extra.environment,
            "own_requirements": "requirements" in extra.environment,
        }
        if extra.grows is not None:
            settings["dataset_check"] = tasks[extra.grows.check]
        if extra.smoke_task is not None:
            settings["smoke_task"] = tasks[extra.smoke_task]
        values = _defaults() | read_settings(Phase, spec) | settings | self._resources(phase, spec, PHASE_FILES)
        preset = PRESETS[extra.preset].fields() if extra.preset else {}
        fill(phase, **values | preset | said_settings(Phase, spec, "podium.budget"))
        store_phase(phase, tasks=[tasks[number] for number in spec.tasks], now=now)
        before = Existing(Question.objects.filter(phase=phase), "key")
        _ask(extra.fact_sheet, before, competition=phase.competition, phase=phase)
        boards_write(phase, spec, self.spec.leaderboards[0], now)


def _defaults() -> dict[str, object]:
    """Defaults of a phase whose bundle names neither budget, nor preset, nor how its board grows."""
    names = {*bundle_places(Phase), "dataset_check", "smoke_task"}
    return {field.name: field.get_default() for field in Phase._meta.concrete_fields if field.name in names}


def _text_files(extra: PhaseExtra) -> str:
    """The bundle's patterns, else the usual ones; none in a phase that runs as on Codabench."""
    if extra.text_files is not None:
        return " ".join(extra.text_files)
    return "" if extra.accepts is None else TEXT_FILES


def _ask(
    specs: Sequence[FactQuestionSpec],
    before: Existing[Question],
    *,
    competition: Competition,
    phase: Phase | None = None,
) -> None:
    """The questions of a fact sheet in Podium's own form, in place of those that were asked `before`."""
    for index, spec in enumerate(specs):
        question = before.take(spec.key, Question(competition=competition, phase=phase))
        write(question, index=index, **spec.model_dump(exclude={"where"}))
    before.remove_others()
