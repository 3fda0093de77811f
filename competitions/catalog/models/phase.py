"""Phases: a span of time with its own tasks, quotas, budget and boards; and who saw what is sealed in them."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q

from competitions.catalog.models.competition import Competition
from competitions.catalog.models.task import Task
from competitions.compute.images import validate_image_name
from competitions.resources.models import Resource

if TYPE_CHECKING:
    from accounts.models import User
    from competitions.catalog.models.board import Leaderboard

GIB = 1024**3
MIB = 1024**2


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
    dataset_check = models.ForeignKey(
        Task, on_delete=models.PROTECT, null=True, blank=True, related_name="+", verbose_name="check of data sets",
        help_text="The board grows in both directions: a data set that this task scores joins it as a column, and every algorithm that "
        "counts is run on it, with the programs of the phase's first task. Empty: it does not.",
    )  # fmt: skip
    max_datasets = models.PositiveSmallIntegerField(
        "data sets in all", default=50, validators=[MinValueValidator(1), MaxValueValidator(200)],
        help_text="How many submitted data sets a growing board takes.",
    )  # fmt: skip
    max_datasets_per_team = models.PositiveSmallIntegerField(
        "data sets of a team",
        default=3,
        validators=[MinValueValidator(1)],
        help_text="Withdrawn ones are counted, too.",
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
    show_output_while_sealed = models.BooleanField(
        "show output while scores are sealed", default=False,
        help_text="Teams read the logs and predictions of their own programs although scores are sealed. A program can print the hidden "
        "input there.",
    )  # fmt: skip
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
    upload_grace_minutes = models.PositiveSmallIntegerField(
        "grace for uploads (minutes)", default=15, validators=[MaxValueValidator(1440)],
        help_text="An upload that began before the end counts if it is complete and submitted within these minutes after the end, and "
        "before any reveal.",
    )  # fmt: skip
    priority = models.SmallIntegerField(default=0, help_text="Runs of a phase with a higher number start first.")

    docker_image = models.CharField(
        max_length=200, blank=True, validators=[validate_image_name], help_text="Empty: the competition's image."
    )
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
        if self.grows and (faults := growth_faults(self)):
            raise ValidationError(faults)

    @property
    def grows(self) -> bool:
        """Its board grows in both directions: by algorithms, and by the data sets that teams submit."""
        return self.dataset_check_id is not None

    @property
    def upload_grace(self) -> timedelta:
        return timedelta(minutes=self.upload_grace_minutes)

    @property
    def grace_ends_at(self) -> datetime | None:
        """Until when a submission may still count; None: for ever."""
        return self.closes_at + self.upload_grace if self.closes_at else None

    def is_settled(self, now: datetime) -> bool:
        """True once no further submission can count: the phase has closed, and the grace for uploads is over."""
        return self.grace_ends_at is not None and self.grace_ends_at <= now

    def takes_late(self, at: datetime) -> bool:
        """True when a submission received at `at` is too late to be ranked, and is taken all the same."""
        return self.accepts_late and self.closes_at is not None and self.closes_at <= at

    @property
    def accepted_kinds(self) -> list[str]:
        """Kinds of submissions that the phase takes, by their names in `Submission.kind`."""
        kinds = {"prediction": self.accepts_predictions, "code": self.accepts_code, "dataset": self.accepts_datasets}
        return [kind for kind, yes in kinds.items() if yes]

    def is_open(self, at: datetime) -> bool:
        """True when a submission received at `at` is in time."""
        return self.opens_at <= at and (self.closes_at is None or at < self.closes_at)

    @property
    def image_name(self) -> str:
        return self.docker_image or self.competition.image_name

    @property
    def is_sealed(self) -> bool:
        """True while the scores of this phase must not leave the server."""
        return self.visibility == self.Visibility.SEALED and self.revealed_at is None

    @property
    def leaderboard(self) -> "Leaderboard":
        """The phase's main board.

        Raises `AttributeError` where there is none, as the accessor of a one-to-one relation does.
        """
        board = self.main_board
        if board is None:
            raise AttributeError(f"The phase “{self.name}” has no leaderboard.")
        return board

    @property
    def main_board(self) -> "Leaderboard | None":
        """The phase's main board, the first in its order; None where it has none."""
        return next(iter(self.leaderboards.all()), None)

    @property
    def keys_on_record(self) -> set[str]:
        """Keys under which scores were asked for under seal; without a query where no board has any.

        The boards say so in the rows that hold their settings: whoever reads changed settings reads this, too.
        """
        if not any(board.has_sealed_keys for board in self.leaderboards.all()):
            return set()
        return {record.key for record in self.sealed_keys.all()}

    @property
    def holds_sealed_scores(self) -> bool:
        """True while anything that a run of this phase produced may tell of a sealed score, whatever its boards are now."""
        boards = self.leaderboards.all()
        is_under_seal = self.is_sealed or any(board.is_set_sealed or board.has_sealed_keys for board in boards)
        return self.revealed_at is None and is_under_seal


def growth_faults(phase: Phase) -> dict[str, str]:
    """What a growing board cannot be combined with, by field; empty when nothing stands against it."""
    faults = {}
    if phase.visibility == Phase.Visibility.SEALED:
        # Which of a team's submissions is run on a new data set would tell which one is best.
        faults["visibility"] = (
            "A board that grows by data sets cannot be sealed: what is run on them shows what counts."
        )
    elif phase.pk and phase.leaderboards.filter(visibility="sealed").exists():
        faults["dataset_check"] = "A board of this phase is sealed, and a sealed board cannot grow by data sets."
    if phase.as_on_codabench or phase.accepts_predictions or not (phase.accepts_code and phase.accepts_datasets):
        faults["accepts_code"] = (
            "A board that grows by data sets takes code and data sets, and neither prediction files, which could not be run on new "
            "data, nor what runs as on Codabench."
        )
    return faults


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


class SealedUse(models.Model):
    """Somebody used the right to see sealed scores: one row for each person, phase and day (UTC)."""

    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="sealed_uses")
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
