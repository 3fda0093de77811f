"""Tasks beside those of the boards: the check of datasets that teams submit, and the smoke run."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from competitions.catalog.models.competition import Competition
from competitions.catalog.models.sections.section import Section
from competitions.catalog.models.task import Task

if TYPE_CHECKING:
    from django_stubs_ext.db.models.manager import RelatedManager

    from competitions.catalog.models.board import Leaderboard


class GrowthSection(Section):
    dataset_check = models.ForeignKey(
        Task,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        verbose_name="dataset check",
        help_text=(
            "Makes the board grow in both directions: a dataset that this task scores becomes a column, and every "
            "algorithm that counts is run on it, with the programs of the phase's first task. Leave empty for an "
            "ordinary board."
        ),
    )
    max_datasets = models.PositiveSmallIntegerField(
        "datasets in total",
        default=50,
        validators=[MinValueValidator(1), MaxValueValidator(200)],
        help_text="The number of submitted datasets that a growing board takes.",
    )
    max_datasets_per_team = models.PositiveSmallIntegerField(
        "datasets per team", default=3, validators=[MinValueValidator(1)], help_text="Withdrawn ones count, too."
    )

    visibility: str  # the phase's own
    as_on_codabench: bool
    accepts_predictions: bool
    accepts_code: bool
    accepts_datasets: bool
    leaderboards: "RelatedManager[Leaderboard]"

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "A board that grows by datasets": ("dataset_check", "max_datasets", "max_datasets_per_team")
    }
    form_kinds: ClassVar[Mapping[str, tuple[str, ...]]] = {"A board that grows by datasets": ("dataset",)}
    api: ClassVar[tuple[str, ...]] = ("grows", "max_datasets", "max_datasets_per_team")
    bundle: ClassVar[Mapping[str, str]] = {
        "max_datasets": "podium.grows.max_datasets",
        "max_datasets_per_team": "podium.grows.max_datasets_per_team",
    }

    class Meta:
        abstract = True

    @property
    def grows(self) -> bool:
        """Datasets that teams submit are columns of its board."""
        return self.dataset_check_id is not None

    def faults(self) -> dict[str, str]:
        """Settings that a growing board cannot be combined with."""
        if not self.grows:
            return {}
        faults = {}
        if self.visibility == "sealed":
            # Which of a team's submissions is run on a new dataset would tell which one is best.
            faults["visibility"] = (
                "A board that grows by datasets cannot be sealed: what is run on them shows what counts."
            )
        elif self.pk and self.leaderboards.filter(visibility="sealed").exists():
            faults["dataset_check"] = "A board of this phase is sealed, and a sealed board cannot grow by datasets."
        if self.as_on_codabench or self.accepts_predictions or not (self.accepts_code and self.accepts_datasets):
            faults["accepts_code"] = (
                "A board that grows by datasets takes code and datasets, and neither prediction files, which could not be run on new "
                "data, nor what runs as on Codabench."
            )
        return faults


class SmokeSection(Section):
    smoke_task = models.ForeignKey(
        Task,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="smoke_phases",
        verbose_name="smoke run on",
        help_text=(
            "A public mini split. Every code submission runs on it first, for at most five minutes, free of quota and"
            " with its full log; only those that pass go on to the hidden data. Teams may download all of it. Leave "
            "empty for no smoke run."
        ),
    )

    smoke_scale = models.FloatField(
        "size relative to the smoke run",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=(
            "How many times larger than the mini split the hidden data are, such as 150. After a smoke run, teams "
            "then see how long the full run may take. Leave empty to give no estimate."
        ),
    )

    competition: "models.ForeignKey[Competition, Competition]"  # the phase's own
    as_on_codabench: bool
    accepts_code: bool

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {"Smoke run": ("smoke_task", "smoke_scale")}
    form_kinds: ClassVar[Mapping[str, tuple[str, ...]]] = {"Smoke run": ("code",)}
    api: ClassVar[tuple[str, ...]] = ("has_smoke_run", "smoke_scale")
    bundle: ClassVar[Mapping[str, str]] = {"smoke_scale": "podium.smoke_scale"}

    class Meta:
        abstract = True

    @property
    def has_smoke_run(self) -> bool:
        """Code submissions run on a public mini split first."""
        return self.smoke_task_id is not None

    def faults(self) -> dict[str, str]:
        """Settings and tasks that a smoke run cannot be combined with."""
        if self.smoke_task is None:
            return {}
        if self.as_on_codabench or not self.accepts_code:
            return {"smoke_task": "A smoke run is of code: let the phase accept code, and not run as on Codabench."}
        why = self.smoke_task.hidden_part(self.competition)
        return {"smoke_task": why} if why else {}
