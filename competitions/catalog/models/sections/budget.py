"""The budget of a run, and how it is scored."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Final

from django.core.validators import MinValueValidator
from django.db import models

from competitions.catalog.models.sections.section import Section
from competitions.compute.images import validate_image_name
from core.fields import OneLineField

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
        max_length=200, blank=True, validators=[validate_image_name], help_text="Empty: the competition's image."
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
        help_text="Of the scoring time, at the most: for scoring on resamples, from which the board says how sure it is. 0: none.",
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
