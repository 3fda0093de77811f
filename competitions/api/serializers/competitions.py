"""Competitions and their phases, as they are answered."""

from rest_framework import serializers

from competitions.catalog.models import Competition, Phase
from competitions.teams.models import RegistrationQuestion


class PhaseOut(serializers.ModelSerializer[Phase]):
    is_sealed = serializers.BooleanField()
    grows = serializers.BooleanField(help_text="Its board grows by the data sets that teams submit.")

    class Meta:
        model = Phase
        fields = [
            "id", "slug", "name", "opens_at", "closes_at", "upload_grace_minutes", "visibility", "is_sealed",
            "accepts_predictions", "accepts_code",
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
