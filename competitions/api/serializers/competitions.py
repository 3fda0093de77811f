"""Competitions and their phases, as they are answered."""

from typing import Any

from rest_framework import serializers
from rest_framework.reverse import reverse

from competitions.catalog.downloads import Download
from competitions.catalog.models import SECTIONS, Competition, Phase
from competitions.catalog.services import current_rules
from competitions.teams.models import RegistrationQuestion


class PhaseOut(serializers.ModelSerializer[Phase]):
    is_sealed = serializers.BooleanField()
    grows = serializers.BooleanField(help_text="Its board grows by the datasets that teams submit.")

    has_smoke_run = serializers.BooleanField(help_text="Code runs on a public mini split first.")
    official_file_name = serializers.CharField(help_text="The name that predictions must have; empty: any.")

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
    tags = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = Competition
        fields = [
            "id",
            "slug",
            "title",
            "subtitle",
            "host",
            "tags",
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
    rules_version = serializers.SerializerMethodField()
    registration_questions = QuestionOut(many=True)
    series = serializers.SlugField(source="series.slug", allow_null=True, default=None)

    class Meta(CompetitionOut.Meta):
        fields = [*CompetitionOut.Meta.fields, "series", "phases", "rules_version", "registration_questions"]

    def get_rules_version(self, competition: Competition) -> int | None:
        rules = current_rules(competition)
        return rules.number if rules else None


class FileOut(serializers.Serializer[Any]):
    """A file that participants may download."""

    phase = serializers.SlugField(source="phase.slug")
    name = serializers.CharField(help_text="What it is: `public_data`, `starting_kit` or a task's part.")
    file_name = serializers.CharField(source="resource.file_name")
    size_bytes = serializers.IntegerField(source="resource.file.size_bytes")
    sha256 = serializers.CharField(source="resource.file_id")
    url = serializers.SerializerMethodField()

    def get_url(self, file: Download) -> str:
        where = {"slug": file.phase.competition.slug, "phase_slug": file.phase.slug, "name": file.name}
        return reverse("api:file", kwargs=where, request=self.context["request"])
