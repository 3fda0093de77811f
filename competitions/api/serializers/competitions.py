"""Competitions, phases, registrations and teams: what clients say and are answered."""

from typing import Any

from rest_framework import serializers
from rest_framework.reverse import reverse

from competitions.catalog.downloads import Download
from competitions.catalog.models import SECTIONS, Competition, Phase
from competitions.catalog.services import current_rules
from competitions.submissions.quota import team_storage
from competitions.teams.models import Invitation, MergeProposal, Registration, RegistrationQuestion, Team


class PhaseOut(serializers.ModelSerializer[Phase]):
    is_sealed = serializers.BooleanField()
    grows = serializers.BooleanField(help_text="Its board grows by the datasets that teams submit.")

    has_smoke_run = serializers.BooleanField(help_text="Code runs on a public mini split first.")
    official_file_name = serializers.CharField(help_text="The name that predictions must have; any name if empty.")

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
    storage = serializers.SerializerMethodField(help_text="Room for submitted files, in bytes.")

    class Meta:
        model = Team
        fields = ["key", "name", "captain", "members", "storage"]

    def get_storage(self, team: Team) -> dict[str, int]:
        storage = team_storage(team.pk)
        return {"used_bytes": storage.used_bytes, "limit_bytes": storage.limit_bytes}

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
    person = serializers.CharField()

    class Meta:
        model = Invitation
        fields = ["key", "team", "competition", "person", "state", "expires_at"]
