"""Public profiles over the API, read alone."""

from typing import Any

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Profile
from accounts.profiles import public_profile
from competitions.api.views.base import ApiView
from competitions.people.public import PublicRank, PublicTeam, public_record


class RankOut(serializers.Serializer[PublicRank]):
    """A final place on a board that everybody sees."""

    competition = serializers.SlugField(source="competition.slug")
    phase = serializers.SlugField(source="board.phase.slug")
    board = serializers.CharField(source="board.key")
    team = serializers.IntegerField(source="entry.team_id")
    rank = serializers.IntegerField()
    rank_range = serializers.CharField()
    tier = serializers.IntegerField(allow_null=True)


class ProfileTeamOut(serializers.Serializer[PublicTeam]):
    """A team of a person."""

    id = serializers.IntegerField(source="team.pk")
    name = serializers.CharField(source="team.name")
    competition = serializers.SlugField(source="competition.slug")


class ProfileOut(serializers.ModelSerializer[Profile]):
    """A person's profile as everybody sees it; lists are empty unless they want them."""

    username = serializers.CharField(source="user.username")
    competitions = serializers.ListField(child=serializers.SlugField())
    teams = ProfileTeamOut(many=True)
    ranks = RankOut(many=True)

    class Meta:
        model = Profile
        fields = ["username", "name", "about", "orcid", "github", "website", "competitions", "teams", "ranks"]


class PersonView(ApiView):
    """A public profile. One that is off does not exist."""

    serializer_class = ProfileOut

    @extend_schema(operation_id="people_retrieve", responses=ProfileOut)
    def get(self, request: Request, username: str) -> Response:
        profile: Any = public_profile(username)
        if profile is None:
            raise Http404
        record = public_record(profile, timezone.now())
        profile.competitions = [competition.slug for competition in record.competitions]
        profile.teams, profile.ranks = record.teams, record.ranks
        return Response(ProfileOut(profile).data)
