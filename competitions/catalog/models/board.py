"""Boards: definitions of leaderboards and columns, and which scores were requested under seal."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar, Final

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.functional import cached_property

from competitions.catalog.models.phase import Phase
from competitions.catalog.models.sections.intake import Agents
from core.fields import OneLineField
from workers.protocol.calls import METERED

EXACT_DIGITS: Final = 10  # as many as Codabench keeps


class Leaderboard(models.Model):
    """A board of a phase: one for everybody, and perhaps others, such as a final one that stays sealed."""

    class Rule(models.TextChoices):
        """Rules for which scored submissions of a team stand on the board; `rules.py` says what each means."""

        BEST = "best", "the best submission counts"
        LAST = "last", "the last submission counts"
        SELECTED = "selected", "the submissions that the team selected count, else its best public one"
        ADD = "add", "the team puts one submission on the board"
        ADD_AND_DELETE = "add_and_delete", "the team puts one submission on the board and may take it off"
        ADD_AND_DELETE_MULTIPLE = "add_multiple", "the team puts submissions on the board and may take them off"
        ALL = "all", "every scored submission counts"

    class Visibility(models.TextChoices):
        AS_PHASE = "phase", "As the phase"
        SEALED = "sealed", "Sealed until the reveal, also in a public phase"

    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="leaderboards")
    key = models.SlugField(max_length=36, default="main", help_text="Part of its address; unique within the phase.")
    title = OneLineField(max_length=64, default="Leaderboard")
    index = models.PositiveSmallIntegerField(
        default=0, help_text="The board with the lowest number is the phase's main board."
    )
    rule = models.CharField("which submission counts", max_length=20, choices=Rule, default=Rule.BEST)
    max_selected = models.PositiveSmallIntegerField(
        "final submissions per team",
        default=2,
        validators=[MinValueValidator(1)],
        help_text="How many a team may select, if only selected submissions count.",
    )
    selection_closes_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Leave empty for the end of the phase. After it, nothing can be selected, put on the board or taken off.",
    )
    for_agents = models.BooleanField(
        "for agents",
        default=False,
        db_default=False,
        help_text=(
            "If the phase gives agents a board of their own, it is this one, and the others are for people. Otherwise"
            " this changes nothing."
        ),
    )
    visibility = models.CharField(max_length=10, choices=Visibility, default=Visibility.AS_PHASE)
    is_hidden = models.BooleanField("hidden", default=False, help_text="Only organizers can see it.")
    is_transposed = models.BooleanField("teams as columns", default=False, help_text="Rows and columns are swapped.")
    shows_tasks = models.BooleanField(
        "scores for each task", default=False, help_text="Shown beside the score over all tasks."
    )
    breaks_ties = models.BooleanField(
        "break ties",
        default=False,
        help_text=(
            "By the other columns in their order, then by time, so that no two rows share a rank. If off, equal rows "
            "share one."
        ),
    )
    gives_exact_scores = models.BooleanField(
        "exact scores for teams",
        default=False,
        help_text=(
            "Teams and organizers can read this board's unrounded scores through the API as long as everybody may see"
            " the board."
        ),
    )
    shows_uncertainty = models.BooleanField(
        "show uncertainty",
        default=True,
        db_default=True,
        help_text="Show score intervals, rank ranges and tiers, if the scoring program gives replicates.",
    )
    confidence_percent = models.PositiveSmallIntegerField(
        "confidence (%)",
        default=95,
        db_default=95,
        choices=[(90, "90"), (95, "95"), (99, "99")],
        help_text="Of intervals and ranges; also how sure a difference has to be to start a new tier.",
    )
    freeze_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text=(
            "Submissions received from then on stay off the board until this field is cleared or the phase is revealed."
        ),
    )
    version = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="Goes up with every change; pages are cached by it."
    )
    has_sealed_keys = models.BooleanField(
        default=False, editable=False, help_text="A `SealedKey` names it; written with the first of them, and for good."
    )
    entry_count = models.PositiveIntegerField(default=0, editable=False)
    score_count = models.PositiveIntegerField(default=0, editable=False)
    removed_count = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    updated_at = models.DateTimeField(auto_now=True)
    ranks_noted_at = models.DateTimeField(
        null=True, editable=False, help_text="When the ranks that it compares with were noted, once a day."
    )

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "Name": ("title", "index"),
        "What counts": ("rule", "max_selected", "selection_closes_at", "breaks_ties", "for_agents"),
        "Who sees what": ("visibility", "is_hidden", "freeze_at", "gives_exact_scores"),
        "Display": ("is_transposed", "shows_tasks", "shows_uncertainty", "confidence_percent"),
    }
    bundle: ClassVar[Mapping[str, str]] = {
        "title": "title",
        "is_hidden": "hidden",
        "visibility": "podium.visibility",
        "max_selected": "podium.max_selected",
        "selection_closes_at": "podium.selection_closes",
        "freeze_at": "podium.freeze",
        "breaks_ties": "podium.break_ties",
        "for_agents": "podium.for_agents",
        "gives_exact_scores": "podium.exact_scores",
        "is_transposed": "podium.transposed",
        "shows_uncertainty": "podium.uncertainty",
        "confidence_percent": "podium.confidence",
    }
    bundle_defaults: ClassVar[Mapping[str, object]] = {
        "title": "Results",
        "breaks_ties": True,
        "gives_exact_scores": True,
    }

    class Meta:
        ordering = ["index", "pk"]
        constraints = [models.UniqueConstraint(fields=["phase", "key"], name="board_key_once_per_phase")]

    def __str__(self) -> str:
        return f"{self.phase}: {self.title}"

    def clean(self) -> None:
        phase: Phase | None = getattr(self, "phase", None)  # a form may name none
        if self.visibility == self.Visibility.SEALED and phase is not None and phase.grows:
            raise ValidationError(
                {"visibility": "The phase's boards grow by datasets, and such a board cannot be sealed."}
            )

    @property
    def shows_each_task(self) -> bool:
        """The scores of single tasks are shown, too; a board that grows always shows them."""
        return self.shows_tasks or self.phase.grows

    @cached_property
    def visible_columns(self) -> "list[Column]":
        """The columns that are not hidden."""
        return [column for column in self.columns.all() if not column.is_hidden]

    @property
    def score_keys(self) -> set[str]:
        """Keys of the scores that its columns show, or are computed from."""
        return {column.key for column in self.columns.all() if column.kind == Column.Kind.SCORE}

    @property
    def entrants(self) -> str:
        """`people` or `agents` where the phase gives agents a board of their own, else `all`."""
        if self.phase.agents != Agents.OWN_BOARD:
            return "all"
        return "agents" if self.for_agents else "people"

    @property
    def frozen_from(self) -> datetime | None:
        """The start of a freeze that holds: later scores stay off. None without one, and after the reveal."""
        return None if self.freeze_at is None or self.phase.revealed_at is not None else self.freeze_at

    @property
    def is_set_sealed(self) -> bool:
        """True while its settings, or its phase's, say that it is sealed."""
        return self.phase.is_sealed or (self.visibility == self.Visibility.SEALED and self.phase.revealed_at is None)

    @property
    def is_sealed(self) -> bool:
        """True while this board, and any order that follows from it, must not leave the server.

        Its settings alone do not open it: whatever was scored under seal stays sealed, on this board and by its key on
        any other board of the phase, until the reveal.
        """
        if self.phase.revealed_at is not None or self.is_set_sealed or self.has_sealed_keys:
            return self.phase.revealed_at is None
        recorded = self.phase.keys_on_record
        return bool(recorded) and not self.score_keys.isdisjoint(recorded)

    @property
    def was_sealed(self) -> bool:
        """It is sealed, or was until the reveal."""
        is_set = self.phase.visibility == Phase.Visibility.SEALED or self.visibility == self.Visibility.SEALED
        return is_set or self.has_sealed_keys

    @property
    def was_revealed(self) -> bool:
        """It was sealed, and everybody may see it now."""
        return self.was_sealed and self.phase.revealed_at is not None

    @property
    def selection_ends_at(self) -> datetime | None:
        return self.selection_closes_at or self.phase.grace_ends_at


class Column(models.Model):
    """A value on a board: a score of the scoring program, a meter of the run, or a computed value."""

    class Sorting(models.TextChoices):
        ASC = "asc", "lower is better"
        DESC = "desc", "higher is better"

    class Kind(models.TextChoices):
        SCORE = "score", "score of the scoring program"
        COMPUTED = "computed", "computed from other columns"
        METER = "meter", "measured while running"

    class Computation(models.TextChoices):
        AVG = "avg", "average"
        SUM = "sum", "sum"
        MIN = "min", "smallest"
        MAX = "max", "largest"
        AVG_RANK = "avg_rank", "average rank"

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, related_name="columns")
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.SCORE)
    key = OneLineField(
        max_length=36,
        help_text="For a score, its key in scores.json; for a measurement, its name, for instance wall_s.",
    )
    computation = models.CharField(max_length=10, choices=Computation, blank=True)
    sources = models.JSONField(default=list, blank=True, help_text="Keys of the columns that it is computed from.")
    spread_key = OneLineField(
        "standard deviation",
        max_length=36,
        blank=True,
        help_text=(
            "Key of the column with the deviation, for results over several seeds; shown as value ± deviation. That "
            "column may be hidden."
        ),
    )
    title = OneLineField(max_length=36)
    unit = OneLineField(max_length=20, blank=True)
    index = models.PositiveSmallIntegerField(default=0)
    sorting = models.CharField(max_length=4, choices=Sorting, default=Sorting.DESC)
    precision = models.PositiveSmallIntegerField(
        default=4, validators=[MaxValueValidator(15)], help_text="Digits after the decimal point."
    )
    rank_by_shown = models.BooleanField(
        default=True,
        help_text=(
            "Rank by the value as shown, so that scores that look equal share a rank. If off, at least ten digits "
            "after the decimal point count."
        ),
    )
    is_primary = models.BooleanField("decides the rank", default=False, help_text="Exactly one column of a board does.")
    is_hidden = models.BooleanField("hidden", default=False)

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "Column": (
            "title",
            "unit",
            "index",
            "kind",
            "key",
            "sorting",
            "precision",
            "is_primary",
            "rank_by_shown",
            "is_hidden",
            "computation",
            "sources",
            "spread_key",
        )
    }
    bundle: ClassVar[Mapping[str, str]] = {
        "title": "title",
        "key": "key",
        "sorting": "sorting",
        "precision": "precision",
        "is_hidden": "hidden",
        "unit": "podium.unit",
        "rank_by_shown": "podium.rank_by_shown",
        "spread_key": "podium.spread",
    }
    bundle_defaults: ClassVar[Mapping[str, object]] = {"precision": 2, "rank_by_shown": False}

    class Meta:
        ordering = ["index", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["leaderboard", "key"], name="column_key_once_per_board"),
            models.UniqueConstraint(
                fields=["leaderboard"],
                condition=Q(is_primary=True),
                name="one_primary_column_per_board",
                violation_error_message="Only one column can be the primary one.",
            ),
            models.CheckConstraint(
                name="column_computation_iff_computed",
                condition=(Q(kind="computed") & ~Q(computation="")) | (~Q(kind="computed") & Q(computation="")),
                violation_error_message="A computed column says how it is computed, and no other column does.",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    def clean(self) -> None:
        if self.kind == self.Kind.METER and self.key not in METERED:
            raise ValidationError({"key": f"There is no measurement {self.key!r}; there are {', '.join(METERED)}."})
        if self.kind != self.Kind.COMPUTED:
            return
        if (
            not isinstance(self.sources, list)
            or not self.sources
            or not all(isinstance(key, str) for key in self.sources)
        ):
            raise ValidationError({"sources": "Give the keys of the columns that it is computed from."})
        if self.key in self.sources:
            raise ValidationError({"sources": f"The column {self.key!r} cannot be computed from itself."})

    is_sortable = True  # a column of answers may not be

    @property
    def is_relative(self) -> bool:
        """True if its value depends on the board's other teams."""
        return self.computation == self.Computation.AVG_RANK

    def shown(self, value: float) -> str:
        """The value at the column's precision."""
        return f"{value:.{self.precision}f}"

    def difference(self, value: float, other: float) -> str:
        """The signed difference of two values as they are shown, so that it tells no more digits."""
        signed = round(value, self.precision) - round(other, self.precision)
        return f"{signed:+.{self.precision}f}".replace("-", "\N{MINUS SIGN}")

    def exact(self, value: float) -> str:
        """The value as far as rows are told apart by it."""
        return f"{value:.{max(self.precision, EXACT_DIGITS)}f}"

    def shown_in(self, values: Mapping[str, float]) -> str | None:
        """This column's value in a row, with its standard deviation if known; None without a value."""
        if self.key not in values:
            return None
        return self.shown_with(values[self.key], values.get(self.spread_key) if self.spread_key else None)

    def shown_with(self, value: float, spread: float | None) -> str:
        """The value at the column's precision, with its standard deviation where that is known."""
        return self.shown(value) + (f" ± {self.shown(spread)}" if spread is not None else "")

    def rank_value(self, value: float) -> float:
        """The number that rows are ordered by, smaller is better; equal numbers share a rank."""
        number = round(value, self.precision if self.rank_by_shown else max(self.precision, EXACT_DIGITS))
        return number if self.sorting == self.Sorting.ASC else -number


class SealedKey(models.Model):
    """A score's key that was requested while its board was sealed; no board shows it before the reveal.

    It outlives the column, and keeps its board and phase from being deleted. `sealed_keys.sealed_keys_record` writes it,
    and marks the board in the same transaction, so that the keys are read only where a board has some.
    """

    phase = models.ForeignKey(Phase, on_delete=models.PROTECT, related_name="sealed_keys")
    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.PROTECT, related_name="sealed_keys")
    key = OneLineField(max_length=36)
    sealed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["phase", "key", "leaderboard"], name="sealed_key_once_per_board")
        ]
        verbose_name = "key of sealed scores"
        verbose_name_plural = "keys of sealed scores"

    def __str__(self) -> str:
        return f"{self.key} of {self.leaderboard}"
