"""Fact sheets: what an organizer asks about every submission."""

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.dispatch import Signal

from competitions.catalog.models import Competition, Phase

# Sent with `competition` when its questions changed: what stands on boards may have changed with them.
questions_changed = Signal()


class Question(models.Model):
    """One question of a competition's fact sheet, or of one phase of it."""

    class Kind(models.TextChoices):
        TEXT = "text", "text"
        NUMBER = "number", "number"
        URL = "url", "web address"
        SELECT = "select", "one of several"
        CHECKBOX = "checkbox", "yes or no"

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="questions")
    phase = models.ForeignKey(
        Phase, on_delete=models.CASCADE, null=True, blank=True, related_name="questions",
        help_text="Empty: asked in every phase. A phase's own question replaces the one of the same key.",
    )  # fmt: skip
    key = models.CharField(
        max_length=36, validators=[RegexValidator(r"\A[\w.-]+\Z", "Use letters, digits, point, hyphen and underscore.")],
        help_text="In the API and in exports, for instance code_url.",
    )  # fmt: skip
    title = models.CharField(max_length=100, help_text="The question as people read it.")
    help_text = models.CharField("help", max_length=300, blank=True)
    kind = models.CharField("type", max_length=10, choices=Kind, default=Kind.TEXT)
    choices = models.JSONField(default=list, blank=True, help_text='For one of several: ["none", "ImageNet"].')
    is_required = models.BooleanField(
        default=False, help_text="Without an answer nothing is submitted; a required yes or no must be yes."
    )
    is_public = models.BooleanField(default=False, help_text="Everybody who sees the submission's row sees the answer.")
    is_on_board = models.BooleanField("on the leaderboard", default=False, help_text="As a column; only if public.")
    compared_with = models.CharField(
        "compared with the score", max_length=36, blank=True,
        help_text="For a number that teams report of themselves: the key of the score that it should equal. The difference is shown.",
    )  # fmt: skip
    index = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["index", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["competition", "key"], condition=Q(phase=None), name="question_key_once_per_competition",
                violation_error_message="There is a question with this key already.",
            ),
            models.UniqueConstraint(
                fields=["phase", "key"], condition=Q(phase__isnull=False), name="question_key_once_per_phase",
                violation_error_message="There is a question with this key already.",
            ),
            models.CheckConstraint(
                name="question_on_board_is_public", condition=Q(is_on_board=False) | Q(is_public=True),
                violation_error_message="Only a public answer can stand on the leaderboard.",
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return self.title

    def clean(self) -> None:
        texts = isinstance(self.choices, list) and all(isinstance(one, str) and one.strip() for one in self.choices)
        if self.kind == self.Kind.SELECT and (
            not texts or len(self.choices) < 2 or len(set(self.choices)) < len(self.choices)
        ):
            raise ValidationError({"choices": 'Give at least two different texts, for instance ["none", "ImageNet"].'})
        if self.compared_with and self.kind != self.Kind.NUMBER:
            raise ValidationError({"compared_with": "Only a number can be compared with a score."})
        if self.phase is not None and self.phase.competition_id != self.competition_id:
            raise ValidationError({"phase": "This phase belongs to another competition."})
