"""What an organizer defines: the competition, its pages and rules, its phases and their tasks."""

import uuid
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q

from competitions.compute.models import Queue
from competitions.resources.models import Resource, StoredFile

if TYPE_CHECKING:
    from accounts.models import User

GIB = 1024**3
MIB = 1024**2


class CompetitionQuerySet(models.QuerySet["Competition"]):
    def visible_to(self, user: "User | AnonymousUser") -> "CompetitionQuerySet":
        """Published competitions, and the drafts of their organizers."""
        if user.is_superuser:
            return self
        published = Q(is_published=True)
        if not user.is_authenticated:
            return self.filter(published)
        return self.filter(published | Q(pk__in=CompetitionOrganizer.objects.filter(user=user).values("competition")))

    def managed_by(self, user: "User | AnonymousUser") -> "CompetitionQuerySet":
        """Those that the user organizes; all of them for an administrator."""
        if user.is_superuser:
            return self
        if not user.is_authenticated:
            return self.none()
        return self.filter(pk__in=CompetitionOrganizer.objects.filter(user=user).values("competition"))


class Series(models.Model):
    """Competitions that belong together, each a track with its own data, teams and leaderboards."""

    slug = models.SlugField(max_length=60, unique=True)
    title = models.CharField(max_length=256)
    subtitle = models.CharField(max_length=256, blank=True)
    description = models.TextField(blank=True, help_text="Markdown.")

    class Meta:
        ordering = ["title"]
        verbose_name_plural = "series"

    def __str__(self) -> str:
        return self.title


class Competition(models.Model):
    """One competition or benchmark."""

    class RegistrationPolicy(models.TextChoices):
        OPEN = "open", "Open: accepting the rules is enough"
        APPROVAL = "approval", "Approval: an organizer decides"

    class Type(models.TextChoices):
        COMPETITION = "competition", "competition"
        BENCHMARK = "benchmark", "benchmark"

    slug = models.SlugField(max_length=60, unique=True)
    title = models.CharField(max_length=256)
    subtitle = models.CharField(max_length=256, blank=True)
    host = models.CharField(max_length=200, blank=True, help_text="Who organizes it, as shown under the title.")
    logo = models.ForeignKey(StoredFile, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    is_published = models.BooleanField(default=False, help_text="Drafts are seen by their organizers alone.")
    organizers = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="CompetitionOrganizer", related_name="organized_competitions"
    )
    registration_policy = models.CharField(max_length=10, choices=RegistrationPolicy, default=RegistrationPolicy.OPEN)
    max_team_size = models.PositiveSmallIntegerField(default=10, validators=[MinValueValidator(1)])
    registration_closes_at = models.DateTimeField(
        null=True, blank=True, help_text="Nobody registers from this instant on. Empty: never closed."
    )
    merges_close_at = models.DateTimeField(
        "team merges close at", null=True, blank=True, help_text="Teams merge until this instant. Empty: always."
    )
    series = models.ForeignKey(
        Series, on_delete=models.SET_NULL, null=True, blank=True, related_name="tracks",
        help_text="The series of which this competition is a track.",
    )  # fmt: skip
    queue = models.ForeignKey(Queue, on_delete=models.PROTECT, related_name="competitions")
    docker_image = models.CharField(max_length=200, blank=True, help_text="Empty: the site's runtime image.")
    competition_type = models.CharField(max_length=12, choices=Type, default=Type.COMPETITION)
    reward = models.CharField(max_length=256, blank=True)
    contact_email = models.EmailField("contact e-mail", blank=True)
    enable_detailed_results = models.BooleanField(
        default=False, help_text="The page that the scoring program writes, detailed_results.html, is kept and shown."
    )
    show_detailed_results_in_submission_panel = models.BooleanField(
        "detailed results for the team",
        default=True,
        help_text="On the submission's page, as far as its scores are visible.",
    )
    show_detailed_results_in_leaderboard = models.BooleanField(
        "detailed results for everybody",
        default=True,
        help_text="Linked from the leaderboard, as far as its scores are visible.",
    )
    make_programs_available = models.BooleanField(
        "programs for participants",
        default=False,
        help_text="Ingestion and scoring programs can be downloaded on the page Data.",
    )
    make_input_data_available = models.BooleanField(
        "input data for participants", default=False, help_text="Input data can be downloaded on the page Data."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = CompetitionQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.title

    @property
    def image_name(self) -> str:
        return self.docker_image or settings.DEFAULT_IMAGE


class CompetitionOrganizer(models.Model):
    """A person's rights in one competition."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    can_see_sealed = models.BooleanField(
        default=False, help_text="May see scores of sealed phases before the reveal. Off unless it is needed."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["competition", "user"], name="organizer_once_per_competition")]

    def __str__(self) -> str:
        return f"{self.user} organizes {self.competition}"


class Format(models.TextChoices):
    """How a text is written. Either way only harmless HTML of it reaches a page."""

    MARKDOWN = "markdown", "Markdown"
    MIXED = "mixed", "Markdown with HTML in it"
    HTML = "html", "HTML"


class SealedUse(models.Model):
    """Somebody used the right to see sealed scores: one row for each person, phase and day (UTC)."""

    phase = models.ForeignKey("Phase", on_delete=models.CASCADE, related_name="sealed_uses")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    uses = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ["-last_at"]
        constraints = [models.UniqueConstraint(fields=["phase", "user", "day"], name="sealed_use_once_a_day")]
        verbose_name = "use of the right to see sealed scores"
        verbose_name_plural = "uses of the right to see sealed scores"

    def __str__(self) -> str:
        return f"{self.user} saw sealed scores of {self.phase} on {self.day}"


class RulesVersion(models.Model):
    """The rules' text. A change is a new version, which participants accept again."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="rules_versions")
    number = models.PositiveIntegerField()
    text = models.TextField()
    format = models.CharField(max_length=10, choices=Format, default=Format.MARKDOWN)
    published_at = models.DateTimeField()

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "number"], name="rules_number_once_per_competition")
        ]

    def __str__(self) -> str:
        return f"{self.competition}: rules, version {self.number}"


class Page(models.Model):
    """A page of the competition's overview, in Markdown."""

    class Tab(models.TextChoices):
        OVERVIEW = "overview", "Overview"
        DATA = "data", "Data"

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="pages")
    tab = models.CharField(max_length=10, choices=Tab, default=Tab.OVERVIEW)
    title = models.CharField(max_length=256)
    body = models.TextField()
    format = models.CharField(max_length=10, choices=Format, default=Format.MARKDOWN)
    index = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["tab", "index", "pk"]

    def __str__(self) -> str:
        return self.title


class Announcement(models.Model):
    """News from the organizers, shown on the competition's first page."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="announcements")
    title = models.CharField(max_length=200)
    body = models.TextField(help_text="Markdown.")
    published_at = models.DateTimeField()

    class Meta:
        ordering = ["-published_at"]

    def __str__(self) -> str:
        return self.title


class TaskQuerySet(models.QuerySet["Task"]):
    def usable_by(self, user: "User") -> "TaskQuerySet":
        """Those that this organizer may put into a competition: own ones, shared ones, those of competitions organized."""
        if user.is_superuser:
            return self
        mine = Q(owner=user) | Q(is_public=True) | Q(pk__in=user.shared_tasks.values("pk"))
        return self.filter(mine | Q(competition__in=Competition.objects.managed_by(user)))


class Task(models.Model):
    """What one run does: programs and data. Several phases, and competitions, may use one task."""

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    competition = models.ForeignKey(
        Competition, on_delete=models.CASCADE, related_name="tasks", null=True, blank=True,
        help_text="Empty: a task that stands by itself, for its owner's competitions.",
    )  # fmt: skip
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="tasks", null=True, blank=True, editable=False
    )
    is_public = models.BooleanField(default=False, help_text="Any organizer may use it in a competition.")
    shared_with = models.ManyToManyField(settings.AUTH_USER_MODEL, blank=True, related_name="shared_tasks")
    name = models.CharField(max_length=256)
    description = models.TextField(blank=True)
    scoring_program = models.ForeignKey(
        Resource, on_delete=models.PROTECT, related_name="+", limit_choices_to={"kind": Resource.Kind.SCORING_PROGRAM}
    )
    reference_data = models.ForeignKey(
        Resource,
        on_delete=models.PROTECT,
        related_name="+",
        null=True,
        blank=True,
        limit_choices_to={"kind": Resource.Kind.REFERENCE_DATA},
        help_text="Hidden labels: mounted into the scoring container alone.",
    )
    ingestion_program = models.ForeignKey(
        Resource,
        on_delete=models.PROTECT,
        related_name="+",
        null=True,
        blank=True,
        limit_choices_to={"kind": Resource.Kind.INGESTION_PROGRAM},
        help_text="Runs a code submission. Empty: the submission's own metadata file says the command.",
    )
    input_data = models.ForeignKey(
        Resource,
        on_delete=models.PROTECT,
        related_name="+",
        null=True,
        blank=True,
        limit_choices_to={"kind": Resource.Kind.INPUT_DATA},
    )
    ingestion_only_during_scoring = models.BooleanField(
        default=False,
        help_text="The ingestion program runs beside the scoring program, at the same time, in a container of its own; "
        "the two talk through /app/shared.",
    )

    objects = TaskQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def runs_beside_scoring(self) -> bool:
        """Its ingestion program and its scoring program run at the same time."""
        return self.ingestion_program_id is not None and self.ingestion_only_during_scoring


class PhaseQuerySet(models.QuerySet["Phase"]):
    def visible_to(self, user: "User | AnonymousUser") -> "PhaseQuerySet":
        return self.filter(competition__in=Competition.objects.visible_to(user))


class Phase(models.Model):
    """A span of time with its own tasks, quotas, budget and board."""

    class Visibility(models.TextChoices):
        PUBLIC = "public", "Public: scores appear at once"
        SEALED = "sealed", "Sealed: scores are hidden until the reveal"

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="phases")
    slug = models.SlugField(max_length=60)
    name = models.CharField(max_length=256)
    description = models.TextField(blank=True, help_text="Markdown.")
    index = models.PositiveSmallIntegerField(default=0)
    opens_at = models.DateTimeField()
    closes_at = models.DateTimeField(null=True, blank=True, help_text="Empty: open for ever.")
    tasks = models.ManyToManyField(Task, related_name="phases", blank=True)
    visibility = models.CharField(max_length=10, choices=Visibility, default=Visibility.PUBLIC)
    reveal_at = models.DateTimeField(
        "reveal planned for", null=True, blank=True,
        help_text="Sealed scores become public by themselves at this instant, not before the phase has closed and all is scored.",
    )  # fmt: skip
    revealed_at = models.DateTimeField(null=True, blank=True, editable=False)
    reveal_told_at = models.DateTimeField(null=True, blank=True, editable=False)

    accepts_predictions = models.BooleanField("accepts prediction files", default=True)
    accepts_code = models.BooleanField("accepts code", default=False)
    accepts_datasets = models.BooleanField(
        "accepts data sets", default=False, help_text="Participants send data; the tasks' programs are the algorithms."
    )
    as_on_codabench = models.BooleanField(
        "runs as on Codabench",
        default=False,
        help_text="Programs and inputs are writable copies, a submission without a metadata file is copied into the output before "
        "ingestion, and the ingestion program's exit code alone fails no run.",
    )
    allow_network = models.BooleanField(
        "network",
        default=False,
        help_text="Programs reach the network. Participants' code may then send out what it reads.",
    )
    auto_migrate_to_this_phase = models.BooleanField(
        default=False, help_text="At its start, the submissions that count in the phase before are run in this one."
    )
    migrated_at = models.DateTimeField(null=True, blank=True, editable=False)
    hide_output = models.BooleanField(default=False, help_text="Logs are for organizers alone.")
    hide_prediction_output = models.BooleanField(default=False, help_text="Predictions are for organizers alone.")
    hide_score_output = models.BooleanField(default=False, help_text="Detailed results are for organizers alone.")
    prediction_format = models.JSONField(
        null=True,
        blank=True,
        help_text="An official file format that uploads are checked against before they are queued, for instance "
        '{"dataset": "lsc-pcqm4mv2", "split": "test-dev", "rows": 147037}. Empty: any zip.',
    )
    max_submissions_per_day = models.PositiveIntegerField(
        null=True, blank=True, default=5, help_text="Empty: unlimited."
    )
    max_submissions_per_week = models.PositiveIntegerField(null=True, blank=True, help_text="Empty: unlimited.")
    max_submissions = models.PositiveIntegerField(
        "max submissions in total", null=True, blank=True, default=100, help_text="Empty: unlimited."
    )
    accepts_late = models.BooleanField(
        "accepts late submissions", default=False,
        help_text="After the end, submissions still run and are scored; they are marked as late and never ranked.",
    )  # fmt: skip
    priority = models.SmallIntegerField(default=0, help_text="Runs of a phase with a higher number start first.")

    docker_image = models.CharField(max_length=200, blank=True, help_text="Empty: the competition's image.")
    time_limit_s = models.PositiveIntegerField("time limit (s)", default=600, validators=[MinValueValidator(1)])
    gpus = models.PositiveSmallIntegerField("GPUs", default=0, choices=[(0, "none"), (1, "exactly one")])
    cpus = models.FloatField("CPU cores", default=1, validators=[MinValueValidator(0.1)])
    memory_bytes = models.PositiveBigIntegerField("memory (bytes)", default=4 * GIB)
    output_bytes = models.PositiveBigIntegerField("output (bytes)", default=1 * GIB)
    output_files = models.PositiveIntegerField(default=1000)
    pids = models.PositiveIntegerField("processes", default=256)
    scoring_time_limit_s = models.PositiveIntegerField("scoring time limit (s)", default=600)
    scoring_memory_bytes = models.PositiveBigIntegerField("scoring memory (bytes)", default=4 * GIB)

    public_data = models.ForeignKey(
        Resource,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        limit_choices_to={"kind": Resource.Kind.PUBLIC_DATA},
    )
    starting_kit = models.ForeignKey(
        Resource,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        limit_choices_to={"kind": Resource.Kind.STARTING_KIT},
    )

    objects = PhaseQuerySet.as_manager()

    class Meta:
        ordering = ["index", "opens_at"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "slug"], name="phase_slug_once_per_competition"),
            models.CheckConstraint(
                name="phase_closes_after_it_opens",
                condition=Q(closes_at__isnull=True) | Q(closes_at__gt=F("opens_at")),
                violation_error_message="The phase must close after it opens.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.competition}: {self.name}"

    def clean(self) -> None:
        if self.prediction_format is not None:
            validate_prediction_format(self.prediction_format)

    def takes_late(self, at: datetime) -> bool:
        """True when a submission whose upload began at `at` is too late to be ranked, and is taken all the same."""
        return self.accepts_late and self.closes_at is not None and self.closes_at <= at

    @property
    def accepted_kinds(self) -> list[str]:
        """Kinds of submissions that the phase takes, by their names in `Submission.kind`."""
        kinds = {"prediction": self.accepts_predictions, "code": self.accepts_code, "dataset": self.accepts_datasets}
        return [kind for kind, yes in kinds.items() if yes]

    def is_open(self, at: datetime) -> bool:
        """True when a submission whose upload began at `at` is in time."""
        return self.opens_at <= at and (self.closes_at is None or at < self.closes_at)

    @property
    def image_name(self) -> str:
        return self.docker_image or self.competition.image_name

    @property
    def is_sealed(self) -> bool:
        """True while the scores of this phase must not leave the server."""
        return self.visibility == self.Visibility.SEALED and self.revealed_at is None

    @property
    def leaderboard(self) -> Any:
        """The phase's main board. Boards are an app above this one, so their type has no name here.

        Raises `AttributeError` where there is none, as the accessor of a one-to-one relation does.
        """
        board = next(iter(self.leaderboards.all()), None)
        if board is None:
            raise AttributeError(f"The phase “{self.name}” has no leaderboard.")
        return board

    @property
    def holds_sealed_scores(self) -> bool:
        """True while anything that a run of this phase produced may tell of a sealed score."""
        return self.revealed_at is None and (
            self.is_sealed or any(board.is_sealed for board in self.leaderboards.all())
        )


def validate_prediction_format(value: object) -> None:
    """Refuse what `scoring.submissions` could not check uploads against."""
    from scoring.errors import ScoringInputError
    from scoring.layouts import layout

    if not isinstance(value, dict) or set(value) - {"dataset", "split", "rows"} or {"dataset", "split"} - set(value):
        raise ValidationError({"prediction_format": 'Give "dataset", "split" and, if not the official number, "rows".'})
    rows = value.get("rows")
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
        raise ValidationError({"prediction_format": f'"rows" must be a whole number of at least 1, not {rows!r}.'})
    try:
        layout(str(value["dataset"]), str(value["split"]), rows)
    except ScoringInputError as error:
        raise ValidationError({"prediction_format": str(error)}) from error
