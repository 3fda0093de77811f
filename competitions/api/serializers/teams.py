"""Registration, teams, invitations and merges: what clients say and are answered."""

from typing import Any

from rest_framework import serializers

from competitions.submissions.quota import team_storage
from competitions.teams.models import Invitation, MergeProposal, Registration, Team


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
