"""The rows of a competition, made from what a bundle says; inside the importer's transaction."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import chain, count

from django.utils.text import slugify

from accounts.models import User
from competitions.bundles.importing.boards import boards_create
from competitions.bundles.importing.parts import Part
from competitions.bundles.importing.references import References
from competitions.bundles.reading.reader import NO_TERMS, BundleReader
from competitions.bundles.reading.rules import ordered
from competitions.bundles.reading.schema import (
    PHASE_FILES,
    TASK_FILES,
    CompetitionSpec,
    FactQuestionSpec,
    Index,
    PhaseExtra,
    PhaseSpec,
    TaskSpec,
)
from competitions.catalog.models import Competition, CompetitionOrganizer, Format, ImageUpload, Page, Phase, Task
from competitions.catalog.models.sections.intake import TEXT_FILES
from competitions.catalog.presets import PRESETS
from competitions.catalog.services import rules_publish
from competitions.catalog.tags import tags_set
from competitions.catalog.texts.images import image_request
from competitions.catalog.texts.pages import page_save
from competitions.factsheets.models import Question
from competitions.resources.models import Resource
from competitions.teams.models import RegistrationQuestion

MAX_SUBTITLE = 256
HTML_TAG = re.compile(r"<[a-zA-Z][^>]*>")
SAME_FIELDS = (
    "title", "docker_image", "competition_type", "enable_detailed_results", "show_detailed_results_in_submission_panel",
    "show_detailed_results_in_leaderboard", "make_programs_available", "make_input_data_available",
    "allow_robot_submissions",
)  # fmt: skip
SAME_PHASE_FIELDS = (
    "name", "description", "auto_migrate_to_this_phase", "hide_output", "hide_prediction_output", "hide_score_output",
)  # fmt: skip


class Maker:
    """The state of one import: what was read, what its keys stand for, and the stored files by their path."""

    def __init__(self, reader: BundleReader, references: References, owner: User, parts: Mapping[str, Part]) -> None:
        self.reader, self.references, self.owner, self.parts = reader, references, owner, parts
        self.spec: CompetitionSpec = reader.checked()
        self.report = reader.report
        self.resources: dict[tuple[str, str], Resource] = {}

    def competition(self, now: datetime) -> Competition:
        spec, policy = self.spec, Competition.RegistrationPolicy
        assert self.references.queue is not None, "looked up, or the bundle was refused"
        competition = Competition(
            slug=spec.podium.slug or self._free_slug(spec.title), subtitle=self._subtitle(), host=spec.podium.host,
            registration_policy=policy.OPEN if spec.registration_auto_approve else policy.APPROVAL,
            max_team_size=spec.podium.max_team_size, queue=self.references.queue, reward=spec.reward or "",
            registration_closes_at=spec.podium.registration_closes, merges_close_at=spec.podium.merges_close,
            contact_email=spec.contact_email or "",
            **{name: getattr(spec, name) for name in SAME_FIELDS},
        )  # fmt: skip
        competition.full_clean()
        competition.save()
        tags_set(competition=competition, names=spec.podium.tags)
        CompetitionOrganizer.objects.create(competition=competition, user=self.owner)
        self._rules(competition, now)
        self._pages(competition)
        self._images(competition, now)
        self._questions(competition)
        self._fact_sheet(competition)
        tasks = {task.index: self._task(competition, task) for task in spec.tasks if task.podium.checks is None}
        for task in spec.tasks:
            if task.podium.checks is not None:
                self._task(competition, task, checks=tasks[task.podium.checks])
        slugs = {phase.extra.slug for phase in spec.phases if phase.extra.slug}
        for number, phase in enumerate(ordered(spec.phases)):
            self._phase(competition, phase, number, tasks, slugs)
        self._say(competition)
        return competition

    def _say(self, competition: Competition) -> None:
        spec, mapped = self.spec, self.report.mapped
        self.report.created[:0] = [
            f"competition {competition.title!r} at /competitions/{competition.slug}/, a draft",
            f"{_counted(spec.pages, 'page')} and the rules", _counted(spec.tasks, "task"),
            f"{_counted(spec.phases, 'phase')}, each with a leaderboard",
        ]  # fmt: skip
        note = self.reader.document.note
        if not spec.docker_image:
            mapped.append(note(("docker_image",), f"no image is named; programs run in {competition.image_name}"))
        if spec.solutions:
            self.report.ignored.append(
                note(("solutions",), "solutions are not kept; submit them once to see them scored")
            )
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
        return next(name for name in (base, *(f"{base}-{number}" for number in range(2, 100_000))) if name not in taken)

    def _text(self, relative: str) -> tuple[str, Format]:
        text = self.reader.files.text(relative)
        if relative.lower().endswith((".html", ".htm")):
            return text, Format.HTML
        return text, Format.MIXED if HTML_TAG.search(text) else Format.MARKDOWN

    def _rules(self, competition: Competition, now: datetime) -> None:
        text, form = self._text(self.spec.terms) if self.spec.terms else ("", Format.MARKDOWN)
        if not text.strip():
            text, form = NO_TERMS, Format.MARKDOWN
        rules_publish(competition=competition, text=text, form=form, now=now)

    def _pages(self, competition: Competition) -> None:
        for page in self.spec.pages:
            body, form = self._text(page.file)
            by_title = Page.Tab.DATA if page.title.strip().lower() == "data" else Page.Tab.OVERVIEW
            tab = page.podium.tab or by_title
            page_save(Page(competition=competition, tab=tab, title=page.title, body=body, format=form))

    def _images(self, competition: Competition, now: datetime) -> None:
        images = self.reader.usable_images.files
        ask = partial(image_request, competition=competition, now=now)
        places = {
            ImageUpload.Place.LOGO: self.reader.usable_images.logo,
            ImageUpload.Place.COVER: self.reader.usable_images.cover,
        }
        for place, shown in places.items():
            if shown:
                ask(place=place, file=self.parts[shown].file)
        for name, path in images.items():
            ask(place=ImageUpload.Place.PAGE, file=self.parts[path].file, name=name)
        if images:
            self.report.created.append(f"{_counted(list(images), 'image')} for pages")

    def _fact_sheet(self, competition: Competition) -> None:
        own = {said.key for said in self.spec.podium.fact_sheet}
        for index, (key, said) in enumerate((self.spec.fact_sheet or {}).items()):
            if key in own:
                continue
            given = said.selection if isinstance(said.selection, list) else str(said.selection or "").split(",")
            choices = [str(choice).strip() for choice in given if str(choice).strip()] if said.type == "select" else []
            question = Question(
                competition=competition, key=key, title=said.title, kind=said.type, choices=choices, index=index,
                is_required=said.is_required, is_public=said.is_on_leaderboard, is_on_board=said.is_on_leaderboard,
            )  # fmt: skip
            question.full_clean()
            question.save()
        _ask(self.spec.podium.fact_sheet, competition=competition)

    def _questions(self, competition: Competition) -> None:
        for index, said in enumerate(self.spec.podium.registration_questions):
            asked = said.model_dump(exclude={"where"})
            question = RegistrationQuestion(competition=competition, index=index, **asked)
            question.full_clean()
            question.save()

    def _resource(self, said: str | None, kind: str, name: str) -> Resource | None:
        """The resource behind a path or a key; one for each file and kind, however often it is named."""
        if said is None:
            return None
        if (found := self.references.resources.get((said, kind))) is not None:
            return found
        if (said, kind) not in self.resources:
            part, label = self.parts[said], Resource.Kind(kind).label
            self.resources[said, kind] = Resource.objects.create(
                owner=self.owner, kind=kind, name=f"{name}: {label}"[:200], file=part.file, file_name=part.file_name
            )
            self.report.created.append(f"{label} {said} ({part.file.size_bytes:,} bytes)")
        return self.resources[said, kind]

    def _task(self, competition: Competition, spec: TaskSpec, checks: Task | None = None) -> Task:
        if spec.key is not None:
            return self.references.tasks[spec.key]
        files = {name: self._resource(getattr(spec, name), name, spec.name) for name in TASK_FILES}
        return Task.objects.create(
            competition=competition, owner=self.owner, name=spec.name, description=spec.description,
            ingestion_only_during_scoring=spec.ingestion_only_during_scoring, is_public=spec.is_public,
            checks=checks, check_kind=spec.podium.check or "", check_tolerance=spec.podium.tolerance, **files,
        )  # fmt: skip

    def _phase(
        self, competition: Competition, spec: PhaseSpec, index: int, tasks: dict[Index, Task], slugs: set[str]
    ) -> None:
        extra, kinds = spec.extra, spec.extra.accepts
        phase = Phase(
            competition=competition, slug=extra.slug or self._phase_slug(spec, slugs), index=index,
            opens_at=spec.start, closes_at=spec.end, time_limit_s=spec.execution_time_limit,
            scoring_time_limit_s=extra.scoring_time_limit or spec.execution_time_limit,
            max_submissions_per_day=spec.max_submissions_per_day or None, max_submissions=spec.max_submissions or None,
            max_submissions_per_week=extra.max_submissions_per_week or None, quota_week=extra.quota_week, visibility=extra.visibility,
            accepts_predictions=kinds is None or "prediction" in kinds,
            accepts_code=not spec.accepts_only_result_submissions if kinds is None else "code" in kinds,
            accepts_datasets=kinds is not None and "dataset" in kinds, as_on_codabench=kinds is None,
            reveal_at=extra.reveal, accepts_late=extra.accepts_late,
            upload_grace_minutes=extra.upload_grace_minutes, priority=extra.priority,
            show_output_while_sealed=extra.show_output_while_sealed, text_files=_text_files(extra),
            allow_network=extra.allow_network, docker_image=extra.docker_image, prediction_format=extra.prediction_format,
            **{name: self._resource(getattr(spec, name), name, spec.name) for name in PHASE_FILES},
            **{name: getattr(spec, name) for name in SAME_PHASE_FIELDS}, **_growth(spec, tasks),
        )  # fmt: skip
        self._preset(phase, spec)
        phase.full_clean()
        phase.save()
        for number in spec.tasks:
            phase.tasks.add(tasks[number])
        _ask(extra.fact_sheet, competition=competition, phase=phase)
        boards_create(phase, spec, self.spec.leaderboards[0])

    @staticmethod
    def _phase_slug(spec: PhaseSpec, slugs: set[str]) -> str:
        """A slug of the name that none of the competition's phases has; it is put to the others."""
        base = slugify(spec.name)[:54].strip("-") or "phase"
        slug = next(name for name in chain([base], (f"{base}-{number}" for number in count(2))) if name not in slugs)
        slugs.add(slug)
        return slug

    def _preset(self, phase: Phase, spec: PhaseSpec) -> None:
        extra = spec.extra
        if extra.preset:
            PRESETS[extra.preset].apply(phase)
        if extra.budget:
            for name, value in extra.budget.model_dump(exclude_none=True).items():
                setattr(phase, name, value)


def _counted(parts: Sequence[object], name: str) -> str:
    return f"{len(parts)} {name}{'' if len(parts) == 1 else 's'}"


def _text_files(extra: PhaseExtra) -> str:
    """As the bundle says; else what is usual here, and nothing in a phase that runs as on Codabench."""
    if extra.text_files is not None:
        return " ".join(extra.text_files)
    return "" if extra.accepts is None else TEXT_FILES


def _growth(spec: PhaseSpec, tasks: Mapping[Index, Task]) -> dict[str, Task | int]:
    """The settings of a board that grows by datasets; none where it does not."""
    growth = spec.extra.grows
    if growth is None:
        return {}
    limits = {"max_datasets": growth.max_datasets, "max_datasets_per_team": growth.max_datasets_per_team}
    return {"dataset_check": tasks[growth.check], **limits}


def _ask(said: Sequence[FactQuestionSpec], *, competition: Competition, phase: Phase | None = None) -> None:
    """The questions of a fact sheet in Podium's own form."""
    for index, one in enumerate(said):
        question = Question(competition=competition, phase=phase, index=index, **one.model_dump(exclude={"where"}))
        question.full_clean()
        question.save()
