"""Boards, kept up to date as results arrive and read by index.

A row's rank is not stored: it is one more than the number of better rows, which the index on `rank_value` counts.
"""

from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import Q

from competitions.catalog.models import Phase
from competitions.submissions.models import Submission
from competitions.teams.models import Team


class Leaderboard(models.Model):
    """The board of one phase."""

    class Rule(models.TextChoices):
        BEST = "best", "the best submission counts"
        LAST = "last", "the last submission counts"

    phase = models.OneToOneField(Phase, on_delete=models.CASCADE, related_name="leaderboard")
    title = models.CharField(max_length=64, default="Leaderboard")
    rule = models.CharField("which submission counts", max_length=10, choices=Rule, default=Rule.BEST)
    is_hidden = models.BooleanField(default=False, help_text="Seen by organizers alone.")
    version = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="Raised by every change; pages are cached by it."
    )
    entry_count = models.PositiveIntegerField(default=0, editable=False)
    score_count = models.PositiveIntegerField(default=0, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.phase}: {self.title}"


class Column(models.Model):
    """One number of a board. `key` is the key in the scoring program's `scores.json`."""

    class Sorting(models.TextChoices):
        ASC = "asc", "lower is better"
        DESC = "desc", "higher is better"

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, related_name="columns")
    key = models.CharField(max_length=36)
    title = models.CharField(max_length=36)
    unit = models.CharField(max_length=20, blank=True)
    index = models.PositiveSmallIntegerField(default=0)
    sorting = models.CharField(max_length=4, choices=Sorting, default=Sorting.DESC)
    precision = models.PositiveSmallIntegerField(
        default=4, validators=[MaxValueValidator(15)], help_text="Digits after the point."
    )
    rank_by_shown = models.BooleanField(
        default=True, help_text="Rank by the value as shown, so that equal-looking scores share a rank."
    )
    is_primary = models.BooleanField(default=False, help_text="The column that decides the rank.")
    is_hidden = models.BooleanField(default=False)

    class Meta:
        ordering = ["index", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["leaderboard", "key"], name="column_key_once_per_board"),
            models.UniqueConstraint(
                fields=["leaderboard"], condition=Q(is_primary=True), name="one_primary_column_per_board",
                violation_error_message="Only one column can be the primary one.",
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return self.title

    def shown(self, value: float) -> str:
        """The value at the column's precision."""
        return f"{value:.{self.precision}f}"

    def rank_value(self, value: float) -> float:
        """The number that rows are ordered by, smaller is better; equal numbers share a rank."""
        number = round(value, self.precision) if self.rank_by_shown else value
        return number if self.sorting == self.Sorting.ASC else -number


class Score(models.Model):
    """What a finished submission reached on its phase's board."""

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, related_name="scores")
    submission = models.OneToOneField(Submission, on_delete=models.CASCADE, related_name="score")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="scores")
    values = models.JSONField(default=dict, help_text="Column key to exact value.")
    rank_value = models.FloatField()
    received_at = models.DateTimeField()
    is_eligible = models.BooleanField(default=True, help_text="May stand on the board.")

    class Meta:
        indexes = [
            models.Index(
                fields=["leaderboard", "team", "is_eligible", "rank_value", "received_at"], name="score_best_of_team"
            ),
            models.Index(fields=["leaderboard", "received_at"], name="score_history"),
        ]

    def __str__(self) -> str:
        return f"{self.submission}: {self.values}"


class Entry(models.Model):
    """A team's row on a board: the score that counts."""

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, related_name="entries")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="entries")
    score = models.ForeignKey(Score, on_delete=models.CASCADE, related_name="+")
    values = models.JSONField(default=dict)
    rank_value = models.FloatField()
    is_baseline = models.BooleanField(default=False)
    submissions = models.PositiveIntegerField(help_text="Scored submissions of the team in this phase.")
    achieved_at = models.DateTimeField(help_text="When the counting submission was received.")
    last_at = models.DateTimeField(help_text="When the team's newest scored submission was received.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["leaderboard", "team"], name="one_entry_per_team_and_board")]
        indexes = [
            models.Index(fields=["leaderboard", "rank_value", "achieved_at", "id"], name="entry_order"),
            models.Index(fields=["leaderboard", "rank_value"], condition=Q(is_baseline=False), name="entry_rank"),
        ]

    def __str__(self) -> str:
        return f"{self.team}: {self.values}"


class Milestone(models.Model):
    """A score that was the board's best when it came: the line of the score-over-time plot."""

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, related_name="milestones")
    score = models.OneToOneField(Score, on_delete=models.CASCADE, related_name="+")
    rank_value = models.FloatField()
    received_at = models.DateTimeField()

    class Meta:
        ordering = ["received_at"]

    def __str__(self) -> str:
        return f"{self.score} at {self.received_at}"
