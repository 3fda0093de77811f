"""Making a competition from a bundle: all of it or nothing."""

import tempfile
from datetime import datetime
from pathlib import Path

from django.db import transaction
from django.utils.text import slugify

from accounts.models import User
from competitions.bundles.reader import BundleReader, InvalidBundle
from competitions.bundles.schema import LeaderboardSpec, PhaseSpec, TaskSpec
from competitions.catalog.models import Competition, CompetitionOrganizer, Page, Phase, Task
from competitions.catalog.presets import PRESETS
from competitions.catalog.services import rules_publish
from competitions.compute.models import Queue
from competitions.leaderboards.models import Column, Leaderboard
from competitions.leaderboards.rules import CODABENCH_RULES
from competitions.resources.models import Resource
from competitions.resources.storage import store_path


def bundle_import(*, folder: Path, owner: User, queue: Queue, now: datetime) -> Competition:
    """Import a bundle folder; its owner becomes its organizer. Raises `InvalidBundle`; then nothing was created."""
    reader = BundleReader(folder)
    with tempfile.TemporaryDirectory() as scratch, transaction.atomic():
        return _Import(reader, owner, Path(scratch)).competition(queue, now)


class _Import:
    """The state of one import: the reader, the owner, and where folders are zipped."""

    def __init__(self, reader: BundleReader, owner: User, scratch: Path) -> None:
        self.reader, self.spec = reader, reader.spec
        self.owner, self.scratch = owner, scratch

    def competition(self, queue: Queue, now: datetime) -> Competition:
        spec = self.spec
        slug = spec.podium.slug or slugify(spec.title)[:60]
        if Competition.objects.filter(slug=slug).exists():
            raise InvalidBundle(
                [f"A competition with the slug {slug!r} exists. Give another one under `podium: slug`."]
            )
        policy = Competition.RegistrationPolicy
        competition = Competition(
            slug=slug, title=spec.title, subtitle=spec.podium.subtitle or spec.description[:256], host=spec.podium.host,
            registration_policy=policy.OPEN if spec.registration_auto_approve else policy.APPROVAL,
            max_team_size=spec.podium.max_team_size, queue=queue, docker_image=spec.docker_image,
            logo=store_path(self.reader.path(spec.image)) if spec.image else None,
        )  # fmt: skip
        competition.full_clean()
        competition.save()
        CompetitionOrganizer.objects.create(competition=competition, user=self.owner)
        rules_publish(competition=competition, text=self.reader.text(spec.terms), now=now)
        self.pages(competition)
        tasks = {task.index: self.task(competition, task) for task in spec.tasks}
        for phase in spec.phases:
            self.phase(competition, phase, tasks)
        return competition

    def pages(self, competition: Competition) -> None:
        for index, page in enumerate(self.spec.pages):
            tab = Page.Tab.DATA if page.title.strip().lower() == "data" else Page.Tab.OVERVIEW
            Page.objects.create(
                competition=competition, tab=tab, title=page.title, body=self.reader.text(page.file), index=index
            )

    def optional(self, relative: str | None, kind: Resource.Kind, name: str) -> Resource | None:
        return self.resource(relative, kind, name) if relative is not None else None

    def resource(self, relative: str, kind: Resource.Kind, name: str) -> Resource:
        path, file_name = self.reader.zipped(relative, self.scratch)
        return Resource.objects.create(
            owner=self.owner, kind=kind, name=f"{name}: {kind.label}", file=store_path(path), file_name=file_name
        )

    def task(self, competition: Competition, spec: TaskSpec) -> Task:
        kinds = Resource.Kind
        return Task.objects.create(
            competition=competition,
            name=spec.name,
            description=spec.description,
            scoring_program=self.resource(spec.scoring_program, kinds.SCORING_PROGRAM, spec.name),
            ingestion_program=self.optional(spec.ingestion_program, kinds.INGESTION_PROGRAM, spec.name),
            input_data=self.optional(spec.input_data, kinds.INPUT_DATA, spec.name),
            reference_data=self.optional(spec.reference_data, kinds.REFERENCE_DATA, spec.name),
        )

    def phase(self, competition: Competition, spec: PhaseSpec, tasks: dict[int, Task]) -> Phase:
        extra = spec.podium
        phase = Phase(
            competition=competition, slug=extra.slug or slugify(spec.name), name=spec.name, description=spec.description,
            index=spec.index, opens_at=spec.start, closes_at=spec.end, time_limit_s=spec.execution_time_limit,
            max_submissions_per_day=spec.max_submissions_per_day or None, max_submissions=spec.max_submissions or None,
            max_submissions_per_week=extra.max_submissions_per_week, visibility=extra.visibility,
            accepts_predictions="prediction" in extra.accepts, accepts_code="code" in extra.accepts,
            prediction_format=extra.prediction_format,
            public_data=self.optional(spec.public_data, Resource.Kind.PUBLIC_DATA, spec.name),
            starting_kit=self.optional(spec.starting_kit, Resource.Kind.STARTING_KIT, spec.name),
        )  # fmt: skip
        if extra.preset:
            if extra.preset not in PRESETS:
                raise InvalidBundle([f"There is no preset {extra.preset!r}; there are {', '.join(PRESETS)}."])
            PRESETS[extra.preset].apply(phase)
        if extra.budget:
            for name, value in extra.budget.model_dump(exclude_none=True).items():
                setattr(phase, name, value)
        phase.full_clean()
        phase.save()
        phase.tasks.set([tasks[index] for index in spec.tasks])
        self.leaderboard(phase, self.spec.leaderboards[0])
        return phase

    def leaderboard(self, phase: Phase, spec: LeaderboardSpec) -> None:
        board = Leaderboard.objects.create(
            phase=phase, title=spec.title, rule=CODABENCH_RULES[spec.submission_rule], is_hidden=spec.hidden
        )
        for column in spec.columns:
            Column.objects.create(
                leaderboard=board, key=column.key, title=column.title, unit=column.podium.unit, index=column.index,
                sorting=column.sorting, precision=column.precision, is_hidden=column.hidden,
                is_primary=column.index == spec.primary_index,
            )  # fmt: skip
