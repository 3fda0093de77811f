"""Scores and rows of boards, kept up to date as results arrive and read by index.

A row's rank is not stored: it is one more than the number of better rows, which the index on `rank_value` counts.
"""

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from competitions.catalog.models import Leaderboard, Proposal
from competitions.submissions.models import Submission
from competitions.teams.models import Team
from core.background.rows import AskedRow, asker_key
from core.fields import OneLineField


class Score(models.Model):
    """The score of a finished submission on a board of its phase."""

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, related_name="scores")
    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="scores")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="scores")
    values = models.JSONField(
        default=dict, help_text="Column key to exact value; with several tasks also `key@task` to the task's value."
    )
    rank_value = models.FloatField()
    received_at = models.DateTimeField()
    is_eligible = models.BooleanField(default=True, help_text="May stand on the board.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["submission", "leaderboard"], name="one_score_per_submission_and_board")
        ]
        indexes = [
            models.Index(
                fields=["leaderboard", "team", "is_eligible", "rank_value", "received_at"], name="score_best_of_team"
            ),
            models.Index(fields=["leaderboard", "received_at"], name="score_history"),
        ]

    def __str__(self) -> str:
        return f"score of {self.submission}"


class Pick(models.Model):
    """A submission that its team selected for a board, or put on it."""

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, related_name="picks")
    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="picks")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="picks")
    picked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    picked_at = models.DateTimeField()

    class Meta:
        ordering = ["picked_at", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["submission", "leaderboard"], name="picked_once_per_submission_and_board")
        ]
        indexes = [models.Index(fields=["leaderboard", "team"], name="pick_of_team")]

    def __str__(self) -> str:
        return f"{self.team} picked {self.submission}"


class Entry(models.Model):
    """A row of a board: a score that counts. A team has one, or several where the board's rule says so."""

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, related_name="entries")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="entries")
    score = models.OneToOneField(Score, on_delete=models.CASCADE, related_name="entry")
    values = models.JSONField(default=dict)
    rank_value = models.FloatField()
    tie_key = models.CharField(
        max_length=700,
        blank=True,
        default="",
        db_default="",
        help_text="What tells rows of one rank value apart, smaller is better; empty where such rows share a rank.",
    )
    is_baseline = models.BooleanField(default=False)
    submissions = models.PositiveIntegerField(help_text="Scored submissions of the team in this phase.")
    achieved_at = models.DateTimeField(help_text="When the counting submission was received.")
    last_at = models.DateTimeField(help_text="When the team's newest scored submission was received.")
    trend = models.JSONField(
        default=list, help_text="The team's improvements: seconds since 1970 and the deciding value, oldest first."
    )

    IN_ORDER = ("rank_value", "tie_key", "achieved_at", "id")

    class Meta:
        indexes = [
            models.Index(fields=["leaderboard", "team"], name="entry_of_team"),
            models.Index(fields=["leaderboard", "rank_value", "tie_key", "achieved_at", "id"], name="entry_order"),
            models.Index(
                fields=["leaderboard", "rank_value", "tie_key"], condition=Q(is_baseline=False), name="entry_rank"
            ),
            models.Index(fields=["leaderboard", "rank_value"], condition=Q(is_baseline=True), name="entry_baseline"),
        ]

    def __str__(self) -> str:
        return f"row of {self.team}"

    @property
    def rank_key(self) -> tuple[float, str]:
        """Smaller is better; rows with the same one share a rank."""
        return self.rank_value, self.tie_key


class ScoreReplicates(models.Model):
    """The score by which a board ranks, on each of its resamples.

    As secret as labels: background work alone reads it. A row without values says in `remark` why there are none.
    """

    score = models.OneToOneField(Score, on_delete=models.CASCADE, primary_key=True, related_name="replicates")
    values = models.BinaryField(default=bytes, help_text="32-bit floats, the lowest byte first.")
    stream = OneLineField(max_length=64, help_text="Names the resamples; scores on other ones cannot be compared.")
    share_items = models.PositiveIntegerField(
        default=0, help_text="Items of which the score is the share that is right."
    )
    items = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Items that were drawn from; 0 where that is not known."
    )
    remark = OneLineField(max_length=300, blank=True, help_text="Why there are none, for organizers.")

    def __str__(self) -> str:
        return f"replicates of the {self.score}"


class EntryUncertainty(models.Model):
    """The uncertainty of a row's score and rank; `uncertainty/refreshing.py` writes it."""

    entry = models.OneToOneField(Entry, on_delete=models.CASCADE, primary_key=True, related_name="uncertainty")
    low = models.FloatField(help_text="The lower end of the score's interval.")
    high = models.FloatField()
    first_rank = models.PositiveIntegerField(
        null=True, help_text="The best rank that the data allow; none for a baseline."
    )
    last_rank = models.PositiveIntegerField(null=True)
    tier = models.PositiveIntegerField(null=True)
    beats_above = models.FloatField(
        null=True, help_text="The chance to score better than the row above; none for the first."
    )
    stays_top = models.FloatField(
        null=True, help_text="The chance to be among the first on test items that nobody has scored yet."
    )

    def __str__(self) -> str:
        return f"uncertainty of the {self.entry}"


class ScoreOutcome(models.Model):
    """The standing of a score on an open board when it came; it holds while the score has this rank value."""

    score = models.OneToOneField(Score, on_delete=models.CASCADE, primary_key=True, related_name="outcome")
    rank_value = models.FloatField()
    rank = models.PositiveIntegerField(null=True, help_text="None where it was not the row of its team.")
    best_before = models.FloatField(null=True, help_text="The best value of its team before, in the deciding column.")

    def __str__(self) -> str:
        return f"outcome of the {self.score}"


class BoardUncertainty(AskedRow):
    """The uncertainty of a board; it asks for background work while `wanted` is ahead of `done`."""

    leaderboard = models.OneToOneField(
        Leaderboard, on_delete=models.CASCADE, primary_key=True, related_name="uncertainty"
    )
    created_at = models.DateTimeField(help_text="When the work was last asked for.")
    wanted = models.PositiveBigIntegerField(default=1)
    done = models.PositiveBigIntegerField(default=0)
    rows_known = models.PositiveIntegerField(default=0, help_text="Rows with replicates that can be compared.")
    rows_unknown = models.PositiveIntegerField(default=0)
    resamples = models.PositiveIntegerField(default=0)
    resolution = models.FloatField(
        null=True, help_text="The smallest difference at the top that the test set tells apart."
    )
    first_tier = models.PositiveIntegerField(default=0, help_text="Rows in the first tier.")
    foreseen_resolution = models.FloatField(
        null=True, help_text="The resolution between two rows whose errors have nothing in common."
    )
    items = models.PositiveIntegerField(default=0, db_default=0, help_text="Test items; 0 where that is not known.")
    unseen_items = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Items of the board that is still sealed; 0 where there is none."
    )
    top = models.PositiveSmallIntegerField(default=0, db_default=0, help_text="Ranks that `stays_top` is about.")
    remark = OneLineField(max_length=300, blank=True, help_text="Why rows are unknown, for organizers.")

    class Meta:
        indexes = [
            models.Index(fields=["asker", "leaderboard"], condition=Q(wanted__gt=F("done")), name="uncertainty_asked")
        ]

    def __str__(self) -> str:
        return f"uncertainty of {self.leaderboard}"

    def asked_by(self) -> str:
        return asker_key("competition", self.leaderboard.phase.competition_id)


class BoardComparison(models.Model):
    """The best rows of a board against each other, and the distribution of all; for pictures."""

    leaderboard = models.OneToOneField(
        Leaderboard, on_delete=models.CASCADE, primary_key=True, related_name="comparison"
    )
    entries = models.JSONField(default=list, help_text="The numbers of the best rows, the best first.")
    beats = models.JSONField(default=list, help_text="The chance of each to score better than each of them.")
    surely_beats = models.JSONField(default=list, help_text="If it surely does.")
    edges = models.JSONField(default=list, help_text="Ends of the ranges of scores that rows are counted in.")
    counts = models.JSONField(default=list)
    rank_change = models.FloatField(null=True, help_text="The mean change of rank at the reveal.")
    rank_change_by_noise = models.FloatField(null=True, help_text="The same if no team had become better or worse.")

    def __str__(self) -> str:
        return f"comparison on {self.leaderboard}"


class Joining(AskedRow):
    """A checked dataset's way onto its board: its file is divided in the background while it `needs_work`."""

    submission = models.OneToOneField(Submission, on_delete=models.CASCADE, primary_key=True, related_name="joining")
    asked_at = models.DateTimeField(help_text="When the work was last asked for.")
    needs_work = models.BooleanField(default=True)
    has_failed = models.BooleanField(default=False, help_text="It was given up, until its submission is run again.")

    class Meta:
        indexes = [models.Index(fields=["asker", "submission"], condition=Q(needs_work=True), name="joining_asked")]

    def __str__(self) -> str:
        return f"joining of submission {self.submission_id}"

    def asked_by(self) -> str:
        return asker_key("team", self.submission.team_id)


class Cell(models.Model):
    """One value of a row, for sorting a board by it; not needed for the primary column."""

    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="cells")
    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=60, help_text="As in the row's values: a column's key, or `key@task`.")
    sort_value = models.FloatField(help_text="Smaller is better; the largest number where the row has no such value.")
    is_baseline = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["entry", "key"], name="one_cell_per_entry_and_key")]
        indexes = [
            models.Index(fields=["leaderboard", "key", "sort_value", "entry"], name="cell_order"),
            models.Index(fields=["leaderboard", "key", "sort_value"], condition=Q(is_baseline=False), name="cell_rank"),
        ]

    def __str__(self) -> str:
        return f"{self.key} of the {self.entry}"


class Milestone(models.Model):
    """A score that was the board's best when it came: the line of the score-over-time plot."""

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, related_name="milestones")
    score = models.OneToOneField(Score, on_delete=models.CASCADE, related_name="+")
    rank_value = models.FloatField()
    received_at = models.DateTimeField()

    class Meta:
        ordering = ["received_at"]

    def __str__(self) -> str:
        return f"{self.score}, the best when it came"


class Commitment(models.Model):
    """A commitment to a sealed board at its close: a digest, and at the reveal what proves it."""

    leaderboard = models.OneToOneField(Leaderboard, on_delete=models.PROTECT, related_name="commitment")
    digest = models.CharField(max_length=64, help_text="Public from the start.")
    salt = models.CharField(max_length=64, editable=False, help_text="Secret until the reveal.")
    leaves = models.JSONField(default=list, editable=False)
    document = models.JSONField(
        default=dict, editable=False, help_text="What the leaves are of; secret until the reveal."
    )
    entry_count = models.PositiveIntegerField()
    made_at = models.DateTimeField()

    class Meta:
        ordering = ["-made_at", "-pk"]
        verbose_name = "published digest"

    def __str__(self) -> str:
        return f"{self.leaderboard}: {self.digest[:12]}"


class Amendment(models.Model):
    """A change of a board after its commitment. Rows are only added: each digest covers the one before."""

    commitment = models.ForeignKey(Commitment, on_delete=models.PROTECT, related_name="amendments")
    number = models.PositiveIntegerField()
    made_at = models.DateTimeField()
    reason = models.CharField(max_length=1000, help_text="Public from the start.")
    changes = models.JSONField(default=dict, editable=False, help_text="Secret until the reveal.")
    digest = models.CharField(max_length=64, help_text="Public from the start.")

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["commitment", "number"], name="amendments_are_numbered"),
            models.CheckConstraint(name="amendment_has_a_reason", condition=~Q(reason="")),
        ]

    def __str__(self) -> str:
        return f"amendment {self.number} of {self.commitment}"


class Snapshot(AskedRow):
    """A version of an open board, frozen at a permanent address; background work writes the signed file."""

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.PROTECT, related_name="snapshots")
    number = models.PositiveIntegerField()
    created_at = models.DateTimeField()
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    written_at = models.DateTimeField(null=True, editable=False, help_text="When its file was written.")
    file_text = models.TextField(blank=True, editable=False, help_text="The signed file, as of `files.snapshots`.")
    shown = models.JSONField(
        default=dict, editable=False, help_text="Its document with the rows that the page shows, and its digest."
    )

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["leaderboard", "number"], name="snapshots_are_numbered"),
        ]
        indexes = [models.Index(fields=["asker", "id"], condition=Q(written_at=None), name="snapshot_asked")]

    def __str__(self) -> str:
        return f"snapshot {self.number} of {self.leaderboard}"

    def asked_by(self) -> str:
        return asker_key("competition", self.leaderboard.phase.competition_id)


class RemovedRow(models.Model):
    """A row that everybody saw and that was taken off the board, until it stands there again."""

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, related_name="removed_rows")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="+")
    removed_at = models.DateTimeField()
    reason = models.CharField(
        max_length=1000, blank=True, help_text="The organizers' words; empty where its own team took it off."
    )

    class Meta:
        ordering = ["-removed_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["leaderboard", "submission"], name="removed_once_per_submission_and_board")
        ]
        indexes = [models.Index(fields=["leaderboard", "-removed_at"], name="removed_row_newest")]

    def __str__(self) -> str:
        return f"row of {self.team} that was taken off"


class ProposedStanding(models.Model):
    """A board with a proposal and without it: rows before and after. As secret as the board's scores."""

    proposal = models.ForeignKey(Proposal, on_delete=models.CASCADE, related_name="standings")
    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, related_name="+")
    facts = models.JSONField(default=dict, help_text="Counts over all teams, as of `rescoring.adopting.Facts`.")
    rows = models.JSONField(default=list, help_text="The first teams, and those that move most.")
    snapshot = models.ForeignKey(
        Snapshot, on_delete=models.SET_NULL, null=True, related_name="+", help_text="The board before it was applied."
    )

    class Meta:
        ordering = ["leaderboard__phase__index", "leaderboard__index", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["proposal", "leaderboard"], name="one_standing_per_proposal_and_board")
        ]

    def __str__(self) -> str:
        return f"{self.leaderboard} by {self.proposal}"


class DailyRank(models.Model):
    """A team's rank on a public board as the day began; see `reading/daily_ranks.py`."""

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, related_name="daily_ranks")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    rank = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["leaderboard", "team"], name="one_daily_rank_per_team_and_board")
        ]

    def __str__(self) -> str:
        return f"rank {self.rank} of {self.team}"


class RankChange(models.Model):
    """A team's rank on a revealed board beside its rank on the board that everybody saw before."""

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, related_name="rank_changes")
    compared_with = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, related_name="+")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    rank_before = models.PositiveIntegerField(null=True)
    rank_after = models.PositiveIntegerField()

    class Meta:
        ordering = ["rank_after", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["leaderboard", "team"], name="one_rank_change_per_team_and_board")
        ]
        indexes = [models.Index(fields=["leaderboard", "rank_after", "id"], name="rank_change_order")]

    def __str__(self) -> str:
        return f"rank of {self.team} before and after the reveal"
