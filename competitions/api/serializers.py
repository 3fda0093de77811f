"""What clients may say and what they are answered. Fields are listed one by one, so that none leaks."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from competitions.catalog.models import Competition, Phase
from competitions.factsheets.models import Question
from competitions.leaderboards.board import Row
from competitions.leaderboards.columns import CellState, DatasetColumn, ShownColumn, shown_values
from competitions.leaderboards.commitments import manifest_of
from competitions.leaderboards.facts import VERIFIED
from competitions.leaderboards.models import Column, Commitment, Entry
from competitions.leaderboards.standing import standing_of
from competitions.resources.models import Upload
from competitions.submissions.models import Dataset, Run, Submission
from competitions.submissions.states import REASONS, Kind, Reason, State
from competitions.teams.models import Invitation, MergeProposal, Registration, RegistrationQuestion, Team
from competitions.winners.models import Place


class PhaseOut(serializers.ModelSerializer[Phase]):
    is_sealed = serializers.BooleanField()
    grows = serializers.BooleanField(help_text="Its board grows by the data sets that teams submit.")

    class Meta:
        model = Phase
        fields = [
            "id", "slug", "name", "opens_at", "closes_at", "visibility", "is_sealed", "accepts_predictions", "accepts_code",
            "accepts_datasets", "grows", "max_datasets", "max_datasets_per_team",
            "prediction_format", "max_submissions_per_day", "max_submissions_per_week", "max_submissions", "time_limit_s",
            "gpus", "cpus", "memory_bytes", "output_bytes",
        ]  # fmt: skip


class CompetitionOut(serializers.ModelSerializer[Competition]):
    class Meta:
        model = Competition
        fields = [
            "id",
            "slug",
            "title",
            "subtitle",
            "host",
            "registration_policy",
            "max_team_size",
            "registration_closes_at",
            "merges_close_at",
        ]


class QuestionOut(serializers.ModelSerializer[RegistrationQuestion]):
    class Meta:
        model = RegistrationQuestion
        fields = ["key", "title", "help_text", "kind", "choices", "is_required"]


class CompetitionDetailOut(CompetitionOut):
    phases = PhaseOut(many=True)
    rules_version = serializers.IntegerField(allow_null=True)
    registration_questions = QuestionOut(many=True)
    series = serializers.SlugField(source="series.slug", allow_null=True, default=None)

    class Meta(CompetitionOut.Meta):
        fields = [*CompetitionOut.Meta.fields, "series", "phases", "rules_version", "registration_questions"]


class RegisterIn(serializers.Serializer[Any]):
    rules_version = serializers.IntegerField(min_value=1, help_text="The version of the rules that you accept.")
    answers = serializers.DictField(
        required=False, help_text="Answers to the competition's registration questions, by key."
    )


class RegistrationOut(serializers.ModelSerializer[Registration]):
    rules_version = serializers.IntegerField(source="rules_version.number")

    class Meta:
        model = Registration
        fields = ["state", "rules_version", "accepted_at", "answers"]


class TeamIn(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=200)


class TeamOut(serializers.ModelSerializer[Team]):
    captain = serializers.CharField(source="captain.username")
    members = serializers.SerializerMethodField()

    class Meta:
        model = Team
        fields = ["key", "name", "captain", "members"]

    def get_members(self, team: Team) -> list[str]:
        return [member.user.username for member in team.memberships.select_related("user")]


class InviteIn(serializers.Serializer[Any]):
    person = serializers.CharField(max_length=254, help_text="User name or e-mail address of a registered person.")


class MergeIn(serializers.Serializer[Any]):
    team = serializers.CharField(max_length=200, help_text="Name of the team that is to join yours.")


class MergeOut(serializers.ModelSerializer[MergeProposal]):
    team = serializers.CharField(source="team.name", help_text="The team that proposes, and keeps its name.")
    other = serializers.CharField(source="other.name", help_text="The team that would join it.")

    class Meta:
        model = MergeProposal
        fields = ["key", "team", "other", "state", "created_at", "answered_at"]


class InvitationOut(serializers.ModelSerializer[Invitation]):
    team = serializers.CharField(source="team.name")
    competition = serializers.SlugField(source="team.competition.slug")
    person = serializers.CharField(source="user.username")

    class Meta:
        model = Invitation
        fields = ["key", "team", "competition", "person", "state", "expires_at"]


class UploadIn(serializers.Serializer[Any]):
    file_name = serializers.CharField(max_length=255)
    size_bytes = serializers.IntegerField(min_value=0)


class UploadOut(serializers.ModelSerializer[Upload]):
    sha256 = serializers.CharField(source="file_id", allow_null=True)

    class Meta:
        model = Upload
        fields = ["key", "file_name", "size_bytes", "received_bytes", "began_at", "expires_at", "is_complete", "sha256"]


class SubmissionIn(serializers.Serializer[Any]):
    """Either `upload`, the key of a finished upload, or `file`, the file itself."""

    phase = serializers.IntegerField(min_value=1, max_value=2**63 - 1, help_text="Number of the phase.")
    kind = serializers.ChoiceField(choices=Kind.choices)
    description = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")
    fact_sheet = serializers.JSONField(
        required=False, default=dict, help_text="Answers by key; the phase's fact sheet says what is asked."
    )
    upload = serializers.UUIDField(required=False)
    file = serializers.FileField(required=False, allow_empty_file=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("upload" in attrs) == ("file" in attrs):
            raise serializers.ValidationError(
                "Give either `upload` (the key of a finished upload) or `file`, not both."
            )
        return attrs


class SubmissionFilter(serializers.Serializer[Any]):
    """What a list of submissions can be narrowed by."""

    LOOKUPS: ClassVar = {"competition": "phase__competition__slug", "phase": "phase_id", "status": "status"}

    competition = serializers.SlugField(required=False)
    phase = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    status = serializers.ChoiceField(choices=State.choices, required=False)

    def lookups(self) -> dict[str, Any]:
        """The checked values as lookups of a queryset."""
        return {self.LOOKUPS[name]: value for name, value in self.validated_data.items()}


class RunOut(serializers.ModelSerializer[Run]):
    task = serializers.CharField(source="task_name")

    class Meta:
        model = Run
        fields = [
            "id", "task", "state", "attempt", "queued_at", "started_at", "finished_at", "reason", "code", "detail", "meters",
        ]  # fmt: skip

    def to_representation(self, run: Run) -> dict[str, Any]:
        return _answer(self.Meta.fields, run, {"task": run.task_name})  # type: ignore[attr-defined]  # an annotation


def _answer(fields: list[str], row: Any, found: dict[str, Any]) -> dict[str, Any]:
    """The fields of a row as they are, but for those in `found`; the renderer writes times and numbers of rows as text.

    In a list of submissions, asking each field to represent itself took a fifth of the time of the whole answer.
    """
    return {name: found[name] if name in found else getattr(row, name) for name in fields}


class VerdictOut(serializers.Serializer[Any]):
    """Why a submission failed: whose fault it is, and what to do."""

    reason = serializers.CharField()
    blame = serializers.CharField()
    detail = serializers.CharField()
    advice = serializers.CharField()


class SubmissionOut(serializers.ModelSerializer[Submission]):
    """`scores` is null while there are none, and those of a sealed board are left out until its reveal."""

    phase = serializers.CharField(source="phase.slug")
    competition = serializers.CharField(source="phase.competition.slug")
    team = serializers.CharField(source="team_name")
    submitted_by = serializers.CharField(source="submitted_by_name")
    sha256 = serializers.CharField(source="file_id")
    verdict = VerdictOut(allow_null=True)
    scores = serializers.DictField(
        child=serializers.CharField(), allow_null=True, help_text="As the board shows them; null where they are sealed."
    )
    counts_on = serializers.ListField(
        child=serializers.CharField(), help_text="Keys of the boards on which it counts now."
    )
    selected_on = serializers.ListField(
        child=serializers.CharField(), help_text="Keys of the boards that its team chose it for."
    )
    runs = RunOut(many=True)

    class Meta:
        model = Submission
        fields = [
            "id", "competition", "phase", "team", "submitted_by", "kind", "file_name", "sha256", "description",
            "fact_sheet", "received_at", "is_late",
            "created_at", "finished_at", "status", "verdict", "is_charged", "disqualified_at", "disqualified_reason", "scores",
            "counts_on", "selected_on", "runs",
        ]  # fmt: skip

    def to_representation(self, submission: Submission) -> dict[str, Any]:
        standing = standing_of(submission, self.context["can_see_board"])
        run_out = RunOut()
        return _answer(self.Meta.fields, submission, {
            "competition": submission.competition_slug,  # type: ignore[attr-defined]  # an annotation
            "phase": submission.phase.slug,
            "team": submission.team_name,  # type: ignore[attr-defined]  # an annotation
            "submitted_by": submission.submitted_by_name,  # type: ignore[attr-defined]  # an annotation
            "sha256": submission.file_id,
            "verdict": _verdict(submission),
            "scores": {column.key: value for column, value in standing.values} or None,
            "counts_on": [board.key for board in standing.counting],
            "selected_on": [choice.board.key for choice in standing.choices if choice.is_picked],
            "runs": [run_out.to_representation(run) for run in submission.runs.all()],
        })  # fmt: skip


def _verdict(submission: Submission) -> dict[str, str] | None:
    if not submission.reason:
        return None
    info = REASONS[Reason(submission.reason)]
    run = next((run for run in submission.runs.all() if run.reason), None)
    return {
        "reason": submission.reason,
        "blame": info.blame,
        "detail": run.detail if run else "",
        "advice": info.advice,
    }


class FactSheetIn(serializers.Serializer[Any]):
    fact_sheet = serializers.JSONField(help_text="All answers by key; they replace the former ones.")


class FactQuestionOut(serializers.ModelSerializer[Question]):
    type = serializers.CharField(source="kind")

    class Meta:
        model = Question
        fields = [
            "key",
            "title",
            "help_text",
            "type",
            "choices",
            "is_required",
            "is_public",
            "is_on_board",
            "compared_with",
        ]


class LogOut(serializers.Serializer[Any]):
    run = serializers.UUIDField()
    stream = serializers.CharField()
    text = serializers.CharField()


class AllowanceOut(serializers.Serializer[Any]):
    period = serializers.CharField()
    limit = serializers.IntegerField()
    used = serializers.IntegerField()
    left = serializers.IntegerField()
    resets_at = serializers.DateTimeField(allow_null=True)


class ColumnOut(serializers.ModelSerializer[Column]):
    class Meta:
        model = Column
        fields = ["key", "title", "unit", "kind", "sorting", "precision", "is_primary"]


class CellOut(serializers.Serializer[Any]):
    key = serializers.CharField(help_text="As in `scores`: `column@task`.")
    state = serializers.ChoiceField(choices=[(one.value, one.value) for one in CellState])
    reason = serializers.CharField(allow_null=True, help_text="Why there is no score, where there will be none.")
    is_own = serializers.BooleanField(help_text="The row's team submitted the data set: it does not count for its rank.")


class RowOut(serializers.Serializer[Any]):
    rank = serializers.IntegerField(allow_null=True)
    team = serializers.CharField()
    is_baseline = serializers.BooleanField()
    scores = serializers.DictField(child=serializers.CharField())
    submissions = serializers.IntegerField()
    achieved_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()
    verified = serializers.DictField(
        allow_null=True, help_text="Of a winner whose code was run: `wall_s` it took and the `limit_s`."
    )
    cells = CellOut(many=True, required=False, help_text="On each submitted data set, of a board that grows by them.")


def row_out(row: Row, columns: list[ShownColumn]) -> dict[str, Any]:
    """A board's row as JSON, its values as shown."""
    entry = row.entry
    values = zip(columns, shown_values(columns, entry.values), strict=True)
    datasets = [column for column in columns if isinstance(column, DatasetColumn)]
    return ({"cells": [_cell_out(column, entry) for column in datasets]} if datasets else {}) | {
        "rank": row.rank,
        "team": entry.team.name,
        "is_baseline": entry.is_baseline,
        "scores": {column.key: value for column, value in values if value is not None},
        "submissions": entry.submissions,
        "achieved_at": entry.achieved_at,
        "last_at": entry.last_at,
        "verified": entry.values.get(VERIFIED),
    }


def _cell_out(column: DatasetColumn, entry: Entry) -> dict[str, Any]:
    """How far a row is on a submitted data set."""
    return {
        "key": column.key,
        "state": column.state_in(entry.values),
        "reason": column.reason_in(entry.values) or None,
        "is_own": column.dataset.submission.team_id == entry.team_id,
    }


class DatasetOut(serializers.ModelSerializer[Dataset]):
    task = serializers.IntegerField(source="task_id", help_text="Behind the `@` of the keys of its scores.")
    team = serializers.CharField(source="submission.team.name")
    submission = serializers.IntegerField(source="submission_id")

    class Meta:
        model = Dataset
        fields = ["task", "name", "team", "submission", "joined_at", "counts_from", "withdrawn_at"]


class CommitmentOut(serializers.ModelSerializer[Commitment]):
    board = serializers.SlugField(source="leaderboard.key")
    manifest = serializers.SerializerMethodField(help_text="For `podium verify`; null until the reveal.")

    class Meta:
        model = Commitment
        fields = ["board", "digest", "entry_count", "made_at", "manifest"]

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_manifest(self, commitment: Commitment) -> dict[str, Any] | None:
        return None if commitment.leaderboard.is_sealed else manifest_of(commitment)


class WinnerOut(serializers.ModelSerializer[Place]):
    team = serializers.CharField(source="team.name")
    submission = serializers.IntegerField(source="submission_id")
    verified_at = serializers.DateTimeField(source="submission.verified_at")
    verified_s = serializers.FloatField(source="submission.verified_s")
    time_limit_s = serializers.IntegerField(source="submission.phase.time_limit_s")

    class Meta:
        model = Place
        fields = [
            "rank", "team", "submission", "verified_at", "verified_s", "time_limit_s", "repository_url", "commit", "report_url",
            "hardware",
        ]  # fmt: skip


class LeaderboardOut(serializers.Serializer[Any]):
    phase = serializers.CharField()
    board = serializers.SlugField()
    title = serializers.CharField()
    rule = serializers.CharField()
    sorted_by = serializers.CharField(allow_null=True, help_text="Null: by the primary column.")
    columns = ColumnOut(many=True)
    entry_count = serializers.IntegerField()
    rows = RowOut(many=True)
    next_cursor = serializers.CharField(allow_null=True)
    datasets = DatasetOut(many=True, required=False, help_text="The submitted ones, of a board that grows by them.")
