"""The winners' lane: teams invited after the close, their code, its verification, and their moves."""

import uuid
from datetime import datetime
from typing import Final

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q

from competitions.catalog.models import Leaderboard
from competitions.resources.models import StoredFile
from competitions.submissions.models import Submission
from competitions.teams.models import Team
from core.fields import SHORT_TEXT, LongTextField, OneLineField


class State(models.TextChoices):
    """The states of a place; the team's steps are in the order in which they are asked for."""

    INVITED = "invited", "invited"
    CODE = "code", "code handed in"
    REPORT = "report", "report handed in"
    HARDWARE = "hardware", "all handed in"
    VERIFYING = "verifying", "verification run"
    COMPARED = "compared", "compared"
    CONFIRMED = "confirmed", "confirmed"
    FAILED = "failed", "failed"
    DECLINED = "declined", "declined"


_OUT: Final = (State.FAILED, State.DECLINED)
NEXT: Final[dict[State, tuple[State, ...]]] = {  # a state without a row is final
    State.INVITED: (State.CODE, *_OUT),
    State.CODE: (State.REPORT, *_OUT),
    State.REPORT: (State.HARDWARE, *_OUT),
    State.HARDWARE: (State.VERIFYING, *_OUT),
    # HARDWARE: the run failed by no fault of the team's, or is to be repeated.
    State.VERIFYING: (State.COMPARED, State.HARDWARE, State.FAILED),
    State.COMPARED: (State.CONFIRMED, State.HARDWARE, State.FAILED),
    State.CONFIRMED: (State.FAILED,),  # the submission was disqualified
}
TEAMS_TURN: Final = (State.INVITED, State.CODE, State.REPORT)
OPEN: Final = tuple(state for state in NEXT if state != State.CONFIRMED)


class Lane(models.Model):
    """The winners' lane of one board: what its winners have to show."""

    leaderboard = models.OneToOneField(Leaderboard, on_delete=models.CASCADE, related_name="winners_lane")
    top = models.PositiveSmallIntegerField(
        "places", default=3, validators=[MinValueValidator(1)], help_text="The number of winners."
    )
    by_tier = models.BooleanField(
        "tied teams, too",
        default=False,
        db_default=False,
        help_text="Invite every team that the board cannot tell apart from a winner (its tier), not only the first ranks.",
    )
    days = models.PositiveSmallIntegerField(
        default=14, validators=[MinValueValidator(1)], help_text="Days that an invited team has to hand in everything."
    )
    tolerance = models.FloatField(
        default=0.0,
        validators=[MinValueValidator(0)],
        help_text="Largest mean absolute difference allowed between the predictions made here and those submitted.",
    )
    min_equal_share = models.FloatField(
        "smallest share of equal rows",
        default=0.0,
        validators=[MinValueValidator(0)],
        help_text="0 to 1, for rankings, classes and texts, which have no mean difference. At 0, all rows have to be equal.",
    )
    score_tolerance = models.FloatField(
        default=0.0,
        validators=[MinValueValidator(0)],
        help_text="Largest difference allowed in the score of the primary column.",
    )
    tolerance_origin = models.TextField(
        "where the tolerances come from",
        blank=True,
        help_text=(
            "For instance: five runs of the baseline with different seeds differed by 0.003 eV on average. Shown with"
            " each comparison."
        ),
    )
    instructions = LongTextField(max_length=SHORT_TEXT, blank=True, help_text="Markdown, shown to invited teams.")
    baseline_run = models.ForeignKey(
        Submission,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        help_text="The best baseline of the board that is code, run on the input of the tasks' checks.",
    )

    def __str__(self) -> str:
        return f"Winners of {self.leaderboard}"

    def clean(self) -> None:
        super().clean()
        if (self.tolerance or self.score_tolerance) and not self.tolerance_origin.strip():
            text = "Say how the tolerance was found, best by repeated runs with other seeds; without one, leave the tolerances at 0."
            raise ValidationError({"tolerance_origin": text})

    @property
    def equal_share_asked(self) -> float:
        """Smallest share of equal rows, 0 to 1, where no mean difference says how close two predictions are."""
        return self.min_equal_share or 1.0


class Place(models.Model):
    """One invited team. Only `place_move` writes `state`."""

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    lane = models.ForeignKey(Lane, on_delete=models.CASCADE, related_name="places")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="winners_places")
    submission = models.ForeignKey(
        Submission,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="The one that counted when the team was invited.",
    )
    rank = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.INVITED)
    invited_at = models.DateTimeField()
    due_at = models.DateTimeField()
    repository_url = models.URLField(max_length=500, blank=True)
    commit = OneLineField(max_length=64, blank=True)
    code = models.ForeignKey(StoredFile, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    code_name = OneLineField(max_length=255, blank=True)
    report_url = models.URLField(max_length=500, blank=True)
    hardware = models.CharField(max_length=1000, blank=True)
    verification = models.ForeignKey(
        Submission,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="verifies",
        help_text="The newest run of the code.",
    )
    check_run = models.ForeignKey(
        Submission,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="The same code on the input of the tasks' checks.",
    )
    comparison = models.JSONField(default=dict, blank=True)
    reason = models.CharField(max_length=1000, blank=True)

    class Meta:
        ordering = ["rank", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["lane", "team"], name="invited_once_per_team_and_lane"),
            models.CheckConstraint(
                name="place_reason_iff_failed",
                condition=(Q(state=State.FAILED) & ~Q(reason="")) | (~Q(state=State.FAILED) & Q(reason="")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team}, invited {self.invited_at:%Y-%m-%d}"

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    def is_overdue(self, now: datetime) -> bool:
        return now >= self.due_at


class PlaceEvent(models.Model):
    """One line of a place's history: its invitation, a move between states, or more time."""

    place = models.ForeignKey(Place, on_delete=models.CASCADE, related_name="events")
    source = models.CharField(max_length=10, choices=State, blank=True)
    target = models.CharField(max_length=10, choices=State)
    actor = models.CharField(max_length=200)
    note = models.CharField(max_length=1000, blank=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.source} → {self.target}"
