"""One's own account, public profiles, read alone, and the people whom one blocks."""

from typing import Any

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import ApiToken, Block, Profile, Scope, User
from accounts.people.blocks import block, blocked_people, unblock
from accounts.people.profiles import public_profile
from competitions.api.framework import IdCursorPagination
from competitions.api.serializers.submissions import AgentOut
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


class BlockOut(serializers.ModelSerializer[Block]):
    """A person whom you block, since when."""

    username = serializers.CharField(source="person.username")
    name = serializers.CharField(source="person.__str__")

    class Meta:
        model = Block
        fields = ["username", "name", "created_at"]


class Blocks(ApiView):
    """The people whom you block, those blocked last first."""

    serializer_class = BlockOut
    pagination_class = IdCursorPagination
    queryset = Block.objects.none()

    @extend_schema(operation_id="blocks_list", responses=BlockOut(many=True))
    def get(self, request: Request) -> Response:
        return self.page_response(blocked_people(self.person().pk), BlockOut)


class BlockDetail(ApiView):
    """Your choice to hear nothing from somebody, who is not told."""

    serializer_class = BlockOut
    write_scope = Scope.TEAM

    @extend_schema(operation_id="blocks_set", request=None, responses=BlockOut)
    def put(self, request: Request, username: str) -> Response:
        """Block somebody, or leave them blocked."""
        by = self.person()
        other = block(by=by, username=username, now=timezone.now())
        return Response(BlockOut(blocked_people(by.pk).get(person=other)).data)

    @extend_schema(operation_id="blocks_remove", responses={204: None})
    def delete(self, request: Request, username: str) -> Response:
        """Hear from somebody again. One whom you do not block is not found."""
        if not unblock(by=self.person(), username=username):
            raise Http404
        return Response(status=204)


class TokenOut(serializers.ModelSerializer[ApiToken]):
    """An API token, without its secret."""

    agent = AgentOut(allow_null=True, read_only=True)

    class Meta:
        model = ApiToken
        fields = ["name", "scopes", "expires_at", "agent"]


class AccountOut(serializers.ModelSerializer[User]):
    """An account; `token` is the one that the call came with, null in a browser."""

    name = serializers.CharField(source="__str__", read_only=True)
    is_service_account = serializers.BooleanField(source="is_robot", read_only=True)
    token = serializers.SerializerMethodField()

    class Meta:
        model = User
        fields = ["username", "name", "is_service_account", "token"]

    @extend_schema_field(TokenOut(allow_null=True))
    def get_token(self, account: User) -> dict[str, Any] | None:
        token = self.context["token"]
        return dict(TokenOut(token).data) if isinstance(token, ApiToken) else None


class Me(ApiView):
    """The account that you ask with, and what its API token may do. A token with any scope may ask."""

    serializer_class = AccountOut
    other_scopes = tuple(Scope)

    @extend_schema(operation_id="me_retrieve")
    def get(self, request: Request) -> Response:
        return Response(AccountOut(self.person(), context={"token": request.auth}).data)
