"""Runs of a phase: their budget, what teams bring for them, and the outputs that teams may read."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Final

from django.core.validators import MinValueValidator
from django.db import models

from competitions.catalog.models.sections.section import Section
from competitions.compute.images import validate_image_name
from core.fields import OneLineField
from workers.protocol.hosts import Isolation as Kind

GIB: Final = 1024**3
MIB: Final = 1024**2


@dataclass(frozen=True)
class Budget:
    """The budget of a code submission: seconds of wall clock, GPUs, CPU cores, bytes, files, processes."""

    time_limit_s: int = 600
    gpus: int = 0
    cpus: float = 1
    memory_bytes: int = 4 * GIB
    output_bytes: int = 1 * GIB
    output_files: int = 1000
    pids: int = 256


_DEFAULT: Final = Budget()
_AT_LEAST_ONE: Final = [MinValueValidator(1)]  # for an engine, 0 means no limit


class BudgetSection(Section):
    docker_image = OneLineField(
        max_length=200,
        blank=True,
        validators=[validate_image_name],
        help_text="Leave empty for the competition's image.",
    )
    time_limit_s = models.PositiveIntegerField(
        "time limit (s)", default=_DEFAULT.time_limit_s, validators=_AT_LEAST_ONE
    )
    gpus = models.PositiveSmallIntegerField("GPUs", default=_DEFAULT.gpus, choices=[(0, "none"), (1, "exactly one")])
    cpus = models.FloatField("CPU cores", default=_DEFAULT.cpus, validators=[MinValueValidator(0.1)])
    memory_bytes = models.PositiveBigIntegerField(
        "memory (bytes)", default=_DEFAULT.memory_bytes, validators=_AT_LEAST_ONE
    )
    output_bytes = models.PositiveBigIntegerField(
        "output (bytes)", default=_DEFAULT.output_bytes, validators=_AT_LEAST_ONE
    )
    output_files = models.PositiveIntegerField(default=_DEFAULT.output_files, validators=_AT_LEAST_ONE)
    pids = models.PositiveIntegerField("processes", default=_DEFAULT.pids, validators=_AT_LEAST_ONE)
    scoring_time_limit_s = models.PositiveIntegerField("scoring time limit (s)", default=600, validators=_AT_LEAST_ONE)
    scoring_memory_bytes = models.PositiveBigIntegerField(
        "scoring memory (bytes)", default=4 * GIB, validators=_AT_LEAST_ONE
    )
    replicates_time_s = models.PositiveIntegerField(
        "time for replicates (s)",
        default=30,
        db_default=30,
        help_text=(
            "The part of the scoring time that scoring on resamples may take; from these the board computes how sure "
            "it is. 0 turns this off."
        ),
    )
    priority = models.SmallIntegerField(default=0, help_text="Runs of a phase with a higher number start first.")

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "Budget of a code submission": (*(field.name for field in fields(Budget)), "docker_image"),
        "Scoring and queue": ("scoring_time_limit_s", "scoring_memory_bytes", "replicates_time_s", "priority"),
    }
    form_kinds: ClassVar[Mapping[str, tuple[str, ...]]] = {"Budget of a code submission": ("code", "dataset")}
    api: ClassVar[tuple[str, ...]] = ("time_limit_s", "gpus", "cpus", "memory_bytes", "output_bytes")
    bundle: ClassVar[Mapping[str, str]] = {
        "docker_image": "podium.docker_image",
        "time_limit_s": "execution_time_limit",
        "gpus": "podium.budget.gpus",
        "cpus": "podium.budget.cpus",
        "memory_bytes": "podium.budget.memory_bytes",
        "output_bytes": "podium.budget.output_bytes",
        "output_files": "podium.budget.output_files",
        "pids": "podium.budget.pids",
        "scoring_memory_bytes": "podium.budget.scoring_memory_bytes",
        "replicates_time_s": "podium.replicates_time",
        "priority": "podium.priority",
    }

    class Meta:
        abstract = True

    @property
    def budget(self) -> Budget:
        return Budget(**{field.name: getattr(self, field.name) for field in fields(Budget)})


class EnvironmentSection(Section):
    own_weights = models.BooleanField(
        "separate weights",
        default=False,
        help_text="Teams upload weights once; submissions that name them find them in /app/weights, read-only.",
    )
    own_images = models.BooleanField(
        "teams' own container images",
        default=False,
        help_text=(
            "Code may run in an image that its team has uploaded, or that it names by digest, from a registry that "
            "the queue allows. The ingestion program then runs in it, too; the scoring program never does."
        ),
    )
    own_requirements = models.BooleanField(
        "locked requirements",
        default=False,
        help_text="A requirements.txt with hashes at the top level of a code submission is installed before the program runs, from the "
        "queue's package mirror.",
    )

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "Own environment": ("own_weights", "own_images", "own_requirements")
    }
    form_kinds: ClassVar[Mapping[str, tuple[str, ...]]] = {"Own environment": ("code",)}
    api: ClassVar[tuple[str, ...]] = ("own_weights", "own_images", "own_requirements")

    class Meta:
        abstract = True

    @property
    def own_environment(self) -> tuple[str, ...]:
        """The kinds that teams may bring, by name: weights, image, requirements."""
        taken = {"weights": self.own_weights, "image": self.own_images, "requirements": self.own_requirements}
        return tuple(name for name, is_taken in taken.items() if is_taken)


class Isolation(models.TextChoices):
    STANDARD = Kind.STANDARD, "a container"
    SANDBOXED = Kind.SANDBOXED, "a container in gVisor"


class IsolationSection(Section):
    isolation = models.CharField(
        "code runs in",
        max_length=10,
        choices=Isolation,
        default=Isolation.STANDARD,
        db_default=Isolation.STANDARD,
        help_text=(
            "In gVisor, participants' code runs on a kernel of its own instead of the host's. It starts later, is "
            "slower with files, has no GPU, and runs only on workers that have gVisor. The scoring program always "
            "runs in an ordinary container."
        ),
    )

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {"Isolation": ("isolation",)}
    form_kinds: ClassVar[Mapping[str, tuple[str, ...]]] = {"Isolation": ("code", "dataset")}
    api: ClassVar[tuple[str, ...]] = ("isolation",)
    bundle: ClassVar[Mapping[str, str]] = {"isolation": "podium.isolation"}

    class Meta:
        abstract = True

    @property
    def is_sandboxed(self) -> bool:
        return self.isolation == Isolation.SANDBOXED


class ShowsSlices(models.TextChoices):
    NEVER = "never", "never"
    AFTER_CLOSE = "after_close", "after the end"
    AFTER_REVEAL = "after_reveal", "after the reveal"
    AT_ONCE = "at_once", "at once"


class OutputsSection(Section):
    hide_output = models.BooleanField(default=False, help_text="Only organizers can see logs.")
    show_output_while_sealed = models.BooleanField(
        "show output while scores are sealed",
        default=False,
        help_text=(
            "Teams can read the logs and predictions of their own programs even while scores are sealed. A program "
            "can print the hidden input there."
        ),
    )
    hide_prediction_output = models.BooleanField(default=False, help_text="Only organizers can see predictions.")
    hide_score_output = models.BooleanField(default=False, help_text="Only organizers can see detailed results.")
    shows_slices = models.CharField(
        "teams see scores by slice",
        max_length=12,
        choices=ShowsSlices,
        default=ShowsSlices.NEVER,
        db_default=ShowsSlices.NEVER,
        help_text=(
            "For their own submissions, if the scoring program gives scores by slice; never while scores are sealed. "
            "Slices with few items give away much about their labels."
        ),
    )
    allow_network = models.BooleanField(
        "network",
        default=False,
        help_text="Programs can reach the network. Participants' code can then send out whatever it reads.",
    )
    auto_migrate_to_this_phase = models.BooleanField(
        default=False, help_text="When it starts, the submissions that count in the previous phase are run in this one."
    )

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "Outputs and network": (
            "hide_output",
            "show_output_while_sealed",
            "hide_prediction_output",
            "hide_score_output",
            "shows_slices",
            "allow_network",
            "auto_migrate_to_this_phase",
        )
    }
    bundle: ClassVar[Mapping[str, str]] = {
        "hide_output": "hide_output",
        "show_output_while_sealed": "podium.show_output_while_sealed",
        "hide_prediction_output": "hide_prediction_output",
        "hide_score_output": "hide_score_output",
        "shows_slices": "podium.shows_slices",
        "allow_network": "podium.allow_network",
        "auto_migrate_to_this_phase": "auto_migrate_to_this_phase",
    }

    class Meta:
        abstract = True
