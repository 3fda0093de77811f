"""A small public split that code submissions run on first."""

from collections.abc import Mapping
from typing import ClassVar

from django.core.validators import MinValueValidator
from django.db import models

from competitions.catalog.models.competition import Competition
from competitions.catalog.models.sections.section import Section
from competitions.catalog.models.task import Task


class SmokeSection(Section):
    smoke_task = models.ForeignKey(
        Task,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="smoke_phases",
        verbose_name="smoke run on",
        help_text="A public mini split: every code submission runs on it first, for at most five minutes, uncharged and with its whole "
        "log; only what passes goes on to the hidden data. Teams may download all of it. Empty: there is no smoke run.",
    )

    smoke_scale = models.FloatField(
        "size beside the smoke run",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="How many times the mini split the hidden data are, such as 150. With it, teams are told after a smoke run what the "
        "whole may take. Empty: they are not.",
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
