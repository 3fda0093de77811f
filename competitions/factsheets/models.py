"""Fact sheets: what an organizer asks about every submission."""

from typing import ClassVar

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.dispatch import Signal

from competitions.catalog.models import Competition, Phase
from competitions.catalog.questions import AskedQuestion
from core.fields import OneLineField

# Sent with `competition` when its questions changed: what stands on boards may have changed with them. `is_shown_alone`:
# they are only shown otherwise, and no row has another answer.
questions_changed = Signal()


class Question(AskedQuestion):
    """One question of a competition's fact sheet, or of one phase of it."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="questions")
    phase = models.ForeignKey(
        Phase,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="questions",
        help_text="Leave empty to ask it in every phase. A phase's own question replaces the one with the same key.",
    )
    is_public = models.BooleanField(
        default=False, help_text="Everybody who can see the submission's row can see the answer."
    )
    is_on_board = models.BooleanField("on the leaderboard", default=False, help_text="As a column; only if public.")
    compared_with = OneLineField(
        "compared with the score",
        max_length=36,
        blank=True,
        help_text=(
            "For a number that teams report themselves: the key of the score that it should equal. The difference is "
            "shown."
        ),
    )

    DECIDES: ClassVar = frozenset(
        {"key", "kind", "phase_id", "is_on_board"}
    )  # which answers a board has, and if they are sorted by

    class Meta(AskedQuestion.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["competition", "key"],
                condition=Q(phase=None),
                name="question_key_once_per_competition",
                violation_error_message="There is a question with this key already.",
            ),
            models.UniqueConstraint(
                fields=["phase", "key"],
                condition=Q(phase__isnull=False),
                name="question_key_once_per_phase",
                violation_error_message="There is a question with this key already.",
            ),
            models.CheckConstraint(
                name="question_on_board_is_public",
                condition=Q(is_on_board=False) | Q(is_public=True),
                violation_error_message="Only a public answer can stand on the leaderboard.",
            ),
        ]

    def clean(self) -> None:
        super().clean()
        if self.compared_with and self.kind != self.Kind.NUMBER:
            raise ValidationError({"compared_with": "Only a number can be compared with a score."})
        if self.phase is not None and self.phase.competition_id != self.competition_id:
            raise ValidationError({"phase": "This phase belongs to another competition."})
