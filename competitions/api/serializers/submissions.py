"""Uploads, submissions, fact sheets, logs and allowances: what clients say and are answered."""

from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from competitions.disclosure.scores import smoke_scores
from competitions.disclosure.slices import ShownSlice
from competitions.factsheets.models import Question
from competitions.leaderboards.reading.results import ScoredSubmission, known_results
from competitions.resources.models import Upload
from competitions.runs.models import Run
from competitions.runs.records.budget import budget_use
from competitions.submissions.annotations import LONGEST_TAG
from competitions.submissions.models import Submission
from competitions.submissions.states import REASONS, Kind, Reason, State


class UploadIn(serializers.Serializer[Any]):
    file_name = serializers.CharField(max_length=255)
    size_bytes = serializers.IntegerField(min_value=0)
    is_environment = serializers.BooleanField(
        required=False, default=False, help_text="Weights or a container image, which may be larger than submissions."
    )


class UploadOut(serializers.ModelSerializer[Upload]):
    sha256 = serializers.CharField(source="file_id", allow_null=True)

    class Meta:
        model = Upload
        fields = ["key", "file_name", "size_bytes", "received_bytes", "began_at", "expires_at", "is_complete", "sha256"]


class AnnotationsIn(serializers.Serializer[Any]):
    """Tags, commit and link of a submission; what is left out stays."""

    tags = serializers.ListField(
        child=serializers.CharField(max_length=100),
        required=False,
        max_length=100,
        help_text="Words of your team's own, at most ten; small letters and capitals are the same.",
    )
    commit = serializers.CharField(
        max_length=200, required=False, allow_blank=True, help_text="Its code's commit: 7 to 64 hexadecimal digits."
    )
    link = serializers.CharField(
        max_length=1000,
        required=False,
        allow_blank=True,
        help_text="Code or paper: an address in ASCII that begins with https://. Public where the submission stands on a board.",
    )


class SubmissionIn(AnnotationsIn):
    """Either `upload`, the key of a finished upload, or `file`, the file itself."""

    phase = serializers.IntegerField(min_value=1, max_value=2**63 - 1, help_text="Number of the phase.")
    kind = serializers.ChoiceField(
        choices=Kind.choices,
        required=False,
        help_text="If left out: the kind that the phase accepts, or of several the one that the file looks like.",
    )
    description = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")
    fact_sheet = serializers.JSONField(
        required=False, default=dict, help_text="Answers by key; the phase's fact sheet says what is asked."
    )
    smoke = serializers.BooleanField(
        required=False, default=False, help_text="Run it on the phase's public mini split alone: free, and on no board."
    )
    weights = serializers.CharField(
        max_length=120, required=False, allow_blank=True, default="", help_text="Your team's weights: `name@version`."
    )
    image = serializers.CharField(
        max_length=500,
        required=False,
        allow_blank=True,
        default="",
        help_text="Your team's image as `name@version`, or one by digest: `registry/repository@sha256:…`.",
    )
    upload = serializers.UUIDField(required=False)
    file = serializers.FileField(required=False, allow_empty_file=True)

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        if ("upload" in attrs) == ("file" in attrs):
            raise serializers.ValidationError(
                "Give either `upload` (the key of a finished upload) or `file`, not both."
            )
        return attrs


class SmokeFilter(serializers.Serializer[Any]):
    """Weights and image of a smoke run on the participant's own computer."""

    weights_bytes = serializers.IntegerField(required=False, min_value=0, max_value=2**63 - 1)
    image = serializers.CharField(max_length=500, required=False)
    image_bytes = serializers.IntegerField(required=False, min_value=0, max_value=2**63 - 1)


class SubmissionFilter(serializers.Serializer[Any]):
    """Filters of a list of submissions."""

    competition = serializers.SlugField(required=False)
    tag = serializers.CharField(required=False, max_length=LONGEST_TAG)
    phase = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    status = serializers.ChoiceField(choices=State.choices, required=False)


def _answer(fields: list[str], row: Any, values: dict[str, object]) -> dict[str, object]:
    """The fields of a row, except for those in `values`; the renderer writes times as text.

    In a list of submissions, asking each field to represent itself took a fifth of the time of the whole answer.
    """
    return {name: values[name] if name in values else getattr(row, name) for name in fields}


class AgentOut(serializers.Serializer[Any]):
    """A program that decides by itself, as its person declared it."""

    model = serializers.CharField()
    harness = serializers.CharField()


class BudgetOut(serializers.Serializer[Any]):
    """Seconds of the budget while a program runs."""

    elapsed_s = serializers.FloatField()
    limit_s = serializers.IntegerField()
    projected_s = serializers.FloatField(
        allow_null=True,
        help_text="Of the whole run, by what the program says of its progress; null where it says nothing.",
    )


class RunOut(serializers.ModelSerializer[Run]):
    task = serializers.CharField(source="task.name")
    queue_place = serializers.IntegerField(allow_null=True, help_text="Of a run that waits; 1 is next.")
    gpu_hours_at = serializers.DateTimeField(
        allow_null=True,
        help_text="Of a run that waits because the competition has used up its GPU hours of this month: when the next ones come.",
    )
    budget = BudgetOut(allow_null=True, help_text="While its program runs; else null.")
    smoke_scores = serializers.DictField(
        child=serializers.FloatField(), help_text="Of a smoke run, on the public mini split; empty for all others."
    )

    class Meta:
        model = Run
        fields = [
            "id",
            "task",
            "is_smoke",
            "state",
            "queue_place",
            "gpu_hours_at",
            "attempt",
            "queued_at",
            "started_at",
            "finished_at",
            "reason",
            "code",
            "detail",
            "meters",
            "budget",
            "smoke_scores",
        ]

    def to_representation(self, run: Run) -> dict[str, object]:
        position = self.context["queue_positions"].get(run.pk)
        use = budget_use(run, self.context["phase"], now=self.context["reader"].now)
        values = {
            "task": run.task.name,
            "queue_place": position and position.place,
            "gpu_hours_at": position and position.goes_on_at,
            "budget": use and asdict(use),
        }
        scores = smoke_scores(self.context["reader"], self.context["phase"], run.scores) if run.is_smoke else {}
        return _answer(self.Meta.fields, run, values | {"smoke_scores": scores})


class VerdictOut(serializers.Serializer[Any]):
    """The reason of a failure: whose fault it is, and what to do."""

    reason = serializers.CharField()
    blame = serializers.CharField()
    detail = serializers.CharField()
    advice = serializers.CharField()


class SubmissionOut(serializers.ModelSerializer[Submission]):
    """`scores` is null while there are none, and those of a sealed board are left out until its reveal."""

    phase = serializers.CharField(source="phase.slug")
    competition = serializers.CharField(source="phase.competition.slug")
    team = serializers.CharField(source="team.name")
    submitted_by = serializers.CharField(source="submitted_by.username")
    sha256 = serializers.CharField(source="file_id")
    tags = serializers.ListField(child=serializers.CharField())
    verdict = VerdictOut(allow_null=True)
    scores = serializers.DictField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="As the board shows them: 0.4942, or 0.4942 ± 0.0150 with a standard deviation. Null where they are sealed.",
    )
    counts_on = serializers.ListField(
        child=serializers.CharField(), help_text="Keys of the boards on which it counts now."
    )
    selected_on = serializers.ListField(
        child=serializers.CharField(), help_text="Keys of the boards that its team chose it for."
    )
    agent = AgentOut(allow_null=True, help_text="The agent that submitted it; null for people and ordinary programs.")
    runs = RunOut(many=True)

    class Meta:
        model = Submission
        fields = [
            "id", "competition", "phase", "team", "submitted_by", "agent", "kind", "file_name", "sha256", "description",
            "tags", "commit", "link", "fact_sheet", "received_at", "is_late", "is_smoke",
            "created_at", "finished_at", "status", "verdict", "is_charged", "disqualified_at", "disqualified_reason",
            "reinstated_at", "reinstated_reason", "scores",
            "counts_on", "selected_on", "runs",
        ]  # fmt: skip

    def to_representation(self, scored: ScoredSubmission) -> dict[str, object]:  # type: ignore[override]  # with its scores
        submission, results = scored.submission, known_results(scored, self.context["reader"])
        runs = list(submission.runs.all())
        return _answer(
            self.Meta.fields,
            submission,
            {
                "competition": submission.phase.competition.slug,
                "phase": submission.phase.slug,
                "team": submission.team.name,
                "submitted_by": submission.submitted_by.username,
                "agent": AgentOut(submission.agent).data if submission.agent else None,
                "sha256": submission.file_id,
                "verdict": _verdict(submission, runs),
                "scores": {column.key: value for column, value in results.values} or None,
                "counts_on": [board.key for board in results.counting],
                "selected_on": [choice.board.key for choice in results.choices if choice.is_picked],
                "runs": RunOut(runs, many=True, context={**self.context, "phase": submission.phase}).data,
            },
        )


def _verdict(submission: Submission, runs: list[Run]) -> dict[str, str] | None:
    if not submission.reason:
        return None
    info = REASONS[Reason(submission.reason)]
    return {
        "reason": submission.reason,
        "blame": info.blame,
        "detail": next((run.detail for run in runs if run.reason), ""),
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


class LogsFilter(serializers.Serializer[Any]):
    """The parts of logs that a client has."""

    printed = serializers.ListField(
        child=serializers.RegexField(r"\A[0-9a-f-]{36}:[a-z]{1,20}:[0-9]{1,9}\Z"), required=False, max_length=500
    )

    def offsets(self) -> dict[tuple[str, str], int]:
        """Characters by run and stream."""
        given = (text.split(":") for text in self.validated_data.get("printed", []))
        return {(run, stream): int(chars) for run, stream, chars in given}


class LogOut(serializers.Serializer[Any]):
    run = serializers.UUIDField()
    stream = serializers.CharField()
    offset = serializers.IntegerField(help_text="The characters that come before the text, and that the client has.")
    text = serializers.CharField()


class SliceOut(serializers.Serializer[Any]):
    """A slice, with the digits of the score's column.

    No score where the metric has no value, no interval of few items.
    """

    value = serializers.CharField()
    items = serializers.IntegerField()
    score = serializers.CharField(allow_null=True)
    low = serializers.CharField(allow_null=True, help_text="Lower end of the 95 % interval.")
    high = serializers.CharField(allow_null=True)

    def to_representation(self, instance: ShownSlice) -> dict[str, object]:
        shown = {name: getattr(instance, name) or None for name in ("score", "low", "high")}
        return {"value": instance.value, "items": instance.items, **shown}


class SlicesOut(serializers.Serializer[Any]):
    """A score of a run by one slicing."""

    run = serializers.UUIDField()
    task = serializers.CharField()
    score = serializers.CharField(help_text="Key of the column.")
    title = serializers.CharField()
    slicing = serializers.CharField()
    slices = SliceOut(many=True)


class StartedOut(serializers.Serializer[Any]):
    """The number of submissions that were started, and of those that still wait for the organizers."""

    started = serializers.IntegerField()
    waiting = serializers.IntegerField()


class AllowanceOut(serializers.Serializer[Any]):
    period = serializers.CharField()
    limit = serializers.IntegerField()
    used = serializers.IntegerField()
    left = serializers.IntegerField()
    resets_at = serializers.DateTimeField(allow_null=True)
