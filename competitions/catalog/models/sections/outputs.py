"""Outputs of runs that teams may read, and the network."""

from collections.abc import Mapping
from typing import ClassVar

from django.db import models

from competitions.catalog.models.sections.section import Section


class ShowsSlices(models.TextChoices):
    NEVER = "never", "never"
    AFTER_CLOSE = "after_close", "after the end"
    AFTER_REVEAL = "after_reveal", "after the reveal"
    AT_ONCE = "at_once", "at once"


class OutputsSection(Section):
    hide_output = models.BooleanField(default=False, help_text="Logs are for organizers alone.")
    show_output_while_sealed = models.BooleanField(
        "show output while scores are sealed",
        default=False,
        help_text="Teams read the logs and predictions of their own programs although scores are sealed. A program can print the hidden "
        "input there.",
    )
    hide_prediction_output = models.BooleanField(default=False, help_text="Predictions are for organizers alone.")
    hide_score_output = models.BooleanField(default=False, help_text="Detailed results are for organizers alone.")
    shows_slices = models.CharField(
        "teams see scores by slice",
        max_length=12,
        choices=ShowsSlices,
        default=ShowsSlices.NEVER,
        db_default=ShowsSlices.NEVER,
        help_text="Of their own submissions, where the scoring program gives scores by slice; never while scores are sealed. Slices of "
        "few items tell much of their labels.",
    )
    allow_network = models.BooleanField(
        "network",
        default=False,
        help_text="Programs reach the network. Participants' code may then send out what it reads.",
    )
    auto_migrate_to_this_phase = models.BooleanField(
        default=False, help_text="At its start, the submissions that count in the phase before are run in this one."
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
