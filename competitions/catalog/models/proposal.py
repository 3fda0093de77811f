"""Proposals: changes of what scores submissions, tried on all of them before they count."""

from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import Q

from competitions.catalog.models.board import Column, Leaderboard
from competitions.catalog.models.competition import Competition
from competitions.catalog.models.task import Task
from competitions.compute.models import Queue
from competitions.resources.models import Resource
from core.background.rows import AskedRow, asker_key
from core.fields import SHORT_TEXT, LongTextField, OneLineField


class Proposal(AskedRow):
    """A change of scoring programs, reference data or a column, with all submissions rescored by it.

    It asks for background work while `needs_work`.
    """

    class State(models.TextChoices):
        DRAFT = "draft", "being prepared"
        SCORING = "scoring", "being scored"
        APPLYING = "applying", "being applied"
        APPLIED = "applied", "applied"
        DROPPED = "dropped", "dropped"

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="proposals")
    number = models.PositiveIntegerField(help_text="Counts the competition's proposals.")
    title = OneLineField(max_length=200, help_text="Public once it is applied.")
    reason = LongTextField(max_length=SHORT_TEXT, help_text="Public once it is applied, and mailed to every team.")
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    queue = models.ForeignKey(
        Queue,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="Where submissions are rescored. Leave empty for the competition's queue.",
    )
    board = models.ForeignKey(
        Leaderboard,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The board with the new or changed column.",
    )
    column_key = OneLineField(
        max_length=36,
        blank=True,
        help_text="Its key in scores.json; the key of an existing column changes that column.",
    )
    column_title = OneLineField(max_length=36, blank=True)
    column_sorting = models.CharField(
        max_length=4, choices=Column.Sorting, default=Column.Sorting.ASC, help_text="Which end is better."
    )
    column_decides = models.BooleanField(default=False, help_text="The board ranks by it from then on.")
    column_is_new = models.BooleanField(
        default=False,
        editable=False,
        help_text="No run has this score yet, so all submissions of the board's phase are scored again.",
    )
    needs_work = models.BooleanField(default=False, editable=False)
    tries_again = models.BooleanField(
        default=False, editable=False, help_text="Run the copies again that were not scored."
    )
    asked_at = models.DateTimeField(editable=False, help_text="When work was last asked for.")
    compared_count = models.PositiveIntegerField(
        null=True, editable=False, help_text="The number of rescored submissions in the comparison."
    )
    compared_at = models.DateTimeField(null=True, editable=False)
    fault = models.TextField(blank=True, editable=False, help_text="Why it could not be compared or applied.")
    ended_at = models.DateTimeField(null=True, editable=False, help_text="When it was applied or dropped.")
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, editable=False, related_name="+"
    )
    is_settled = models.BooleanField(
        default=False, editable=False, help_text="Nothing in it is left to be scored or taken over."
    )

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "number"], name="proposals_are_numbered"),
            models.UniqueConstraint(
                fields=["competition"],
                condition=Q(state__in=["scoring", "applying"]),
                name="one_proposal_is_scored_at_a_time",
            ),
        ]
        indexes = [
            models.Index(fields=["asker", "id"], condition=Q(needs_work=True), name="proposal_asked"),
            models.Index(
                fields=["state"], condition=Q(is_settled=False) & ~Q(state="draft"), name="proposal_unsettled"
            ),
        ]

    def __str__(self) -> str:
        return f"proposal {self.number} of {self.competition}"

    def asked_by(self) -> str:
        return asker_key("competition", self.competition_id)

    @property
    def state_words(self) -> str:
        """The state in words, for use within a sentence."""
        return str(self.get_state_display())

    @property
    def is_open(self) -> bool:
        """It can still be applied or dropped."""
        return self.state in (self.State.DRAFT, self.State.SCORING)

    def columns_after(self, board: Leaderboard) -> list[Column]:
        """The board's columns, as the proposal would have them; new ones are not saved."""
        columns = list(board.columns.order_by("index", "pk"))  # read anew: they are changed here
        if self.board_id != board.pk:
            return columns
        changed = next((column for column in columns if column.key == self.column_key), None)
        if changed is None:
            changed = Column(
                leaderboard=board, key=self.column_key, index=1 + max((each.index for each in columns), default=0)
            )
            columns.append(changed)
        changed.title = self.column_title or changed.title or self.column_key
        changed.sorting = self.column_sorting
        if self.column_decides:
            for column in columns:
                column.is_primary = column is changed
        return columns


class ProposedFile(models.Model):
    """A new version of a task's scoring program or reference data, which scores the proposal's runs alone."""

    SLOTS: Final = ("scoring_program", "reference_data")

    proposal = models.ForeignKey(Proposal, on_delete=models.CASCADE, related_name="files")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="+")
    slot = models.CharField(max_length=20, choices=[(name, Resource.Kind(name).label) for name in SLOTS])
    resource = models.ForeignKey(
        Resource, on_delete=models.PROTECT, related_name="+", help_text="The new version; no task names it yet."
    )
    replaces = models.ForeignKey(
        Resource,
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        help_text="The version in force when it was proposed.",
    )

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["proposal", "task", "slot"], name="proposed_once_per_task_and_slot")
        ]

    def __str__(self) -> str:
        return f"{self.resource} for {self.task}"


class ProposalComment(models.Model):
    """A remark of an organizer on a proposal, for the others."""

    proposal = models.ForeignKey(Proposal, on_delete=models.CASCADE, related_name="comments")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    text = LongTextField(max_length=SHORT_TEXT)
    written_at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"comment on {self.proposal}"
