"""Competitions and their phases, as they are answered."""

from rest_framework import serializers

from competitions.catalog.models import SECTIONS, Competition, Phase
from competitions.teams.models import RegistrationQuestion


class PhaseOut(serializers.ModelSerializer[Phase]):
    is_sealed = serializers.BooleanField()
    grows = serializers.BooleanField(help_text="Its board grows by the datasets that teams submit.")

    class Meta:
        model = Phase
        fields = [
            "id",
            "slug",
            "name",
            "visibility",
            "is_sealed",
            *(name for section in SECTIONS for name in section.api),
        ]


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
