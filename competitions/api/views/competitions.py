"""Competitions, registration, teams and invitations."""

from django.db.models import Q
from django.http import Http404, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope
from competitions.api.framework import IdCursorPagination
from competitions.api.serializers import competitions as s
from competitions.api.views.base import ApiView, checked
from competitions.catalog.downloads import downloads_of_all, phase_downloads
from competitions.catalog.models import Competition
from competitions.catalog.services import clean_tag
from competitions.resources.downloads import stored_response
from competitions.teams import merging, services
from competitions.teams.models import Invitation, MergeProposal
from competitions.teams.refusals import NOT_REGISTERED
from files.bundles.schema import PHASE_FILES


class CompetitionList(ApiView):
    """Competitions that you can see, newest first; of one tag with `tag`."""

    serializer_class = s.CompetitionOut
    pagination_class = IdCursorPagination
    queryset = Competition.objects.none()

    @extend_schema(
        operation_id="competitions_list",
        responses=s.CompetitionOut(many=True),
        parameters=[OpenApiParameter("tag", str)],
    )
    def get(self, request: Request) -> Response:
        seen = Competition.objects.visible_to(request.user)
        if tag := clean_tag(request.query_params.get("tag", "")):
            seen = seen.tagged(tag)
        return self.page_response(seen, s.CompetitionOut)


class CompetitionDetail(ApiView):
    """One competition with its phases and the version of its rules."""

    serializer_class = s.CompetitionDetailOut

    @extend_schema(operation_id="competitions_retrieve")
    def get(self, request: Request, slug: str) -> Response:
        return Response(s.CompetitionDetailOut(self.competition(slug)).data)


class CompetitionFiles(ApiView):
    """Files that participants may download, with sizes and digests."""

    serializer_class = s.FileOut

    @extend_schema(responses=s.FileOut(many=True))
    def get(self, request: Request, slug: str) -> Response:
        phases = self.competition(slug).phases.select_related("competition", *(f"{name}__file" for name in PHASE_FILES))
        files = s.FileOut(downloads_of_all(phases, timezone.now()), many=True, context=self.get_serializer_context())
        return Response(files.data)


class PhaseFile(ApiView):
    """A file, for registered people and organizers. `Range: bytes=N-` resumes a broken download."""

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, slug: str, phase_slug: str, name: str) -> HttpResponseBase:
        user, phase = self.person(), self.phase(competition__slug=slug, slug=phase_slug)
        resource = phase_downloads(phase, timezone.now()).get(name)
        if resource is None:
            raise Http404
        if not Competition.objects.managed_by(user).filter(pk=phase.competition_id).exists():
            services.require_registration(user=user, competition=phase.competition)
        return stored_response(self.received, resource.file, file_name=resource.file_name)


class RegistrationView(ApiView):
    """Your registration: read it, or register by accepting the current version of the rules."""

    serializer_class = s.RegisterIn
    write_scope = Scope.TEAM

    @extend_schema(responses=s.RegistrationOut)
    def get(self, request: Request, slug: str) -> Response:
        """Your registration in a competition, with the version of the rules that you accepted."""
        competition = self.competition(slug)
        registration = services.find_registration(self.person(), competition)
        if registration is None:
            raise NOT_REGISTERED(competition=competition)
        return Response(s.RegistrationOut(registration).data)

    @extend_schema(responses={201: s.RegistrationOut})
    def post(self, request: Request, slug: str) -> Response:
        """Register by accepting the version of the rules that is in force, or accept a new version."""
        competition, user = self.competition(slug), self.person()
        values = checked(self.get_serializer(data=request.data))
        now = timezone.now()
        registration = services.register(user=user, competition=competition, now=now, **values)
        if registration.state == registration.State.APPROVED:
            services.join_alone(user=user, competition=competition, now=now)
        return Response(s.RegistrationOut(registration).data, status=201)


class TeamView(ApiView):
    """Your team in a competition: read it, create it (you become captain), or leave it."""

    serializer_class = s.TeamIn
    write_scope = Scope.TEAM

    @extend_schema(responses=s.TeamOut)
    def get(self, request: Request, slug: str) -> Response:
        """Your team in a competition, with its members."""
        team = services.require_team(user=self.person(), competition=self.competition(slug))
        return Response(s.TeamOut(team).data)

    @extend_schema(responses={201: s.TeamOut})
    def post(self, request: Request, slug: str) -> Response:
        """Make a team; you become its captain."""
        competition, user = self.competition(slug), self.person()
        values = checked(self.get_serializer(data=request.data))
        team = services.team_create(user=user, competition=competition, now=timezone.now(), **values)
        return Response(s.TeamOut(team).data, status=201)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str) -> Response:
        """Leave your team."""
        user = self.person()
        team = services.require_team(user=user, competition=self.competition(slug))
        services.team_leave(team=team, by=user)
        return Response(status=204)


class TeamInvitations(ApiView):
    """Invite a registered person to your team; captains only."""

    serializer_class = s.InviteIn
    write_scope = Scope.TEAM

    @extend_schema(responses={201: s.InvitationOut})
    def post(self, request: Request, slug: str) -> Response:
        user = self.person()
        team = services.require_team(user=user, competition=self.competition(slug))
        values = checked(self.get_serializer(data=request.data))
        invitation = services.invite(team=team, by=user, now=timezone.now(), **values)
        return Response(s.InvitationOut(invitation).data, status=201)


class TeamMerges(ApiView):
    """Open proposals to merge that your team made or received; or propose one as its captain."""

    serializer_class = s.MergeIn
    write_scope = Scope.TEAM

    @extend_schema(operation_id="merges_list", responses=s.MergeOut(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Open proposals to merge that your team made or received."""
        team = services.require_team(user=self.person(), competition=self.competition(slug))
        waiting = MergeProposal.objects.filter(Q(team=team) | Q(other=team), state=MergeProposal.State.OPEN)
        return Response(s.MergeOut(waiting.select_related("team", "other"), many=True).data)

    @extend_schema(operation_id="merges_create", responses={201: s.MergeOut})
    def post(self, request: Request, slug: str) -> Response:
        """Propose, as the captain, that another team joins yours."""
        user = self.person()
        team = services.require_team(user=user, competition=self.competition(slug))
        values = checked(self.get_serializer(data=request.data))
        proposal = merging.merge_propose(team=team, by=user, other_name=values["team"], now=timezone.now())
        return Response(s.MergeOut(proposal).data, status=201)


class MergeAnswer(ApiView):
    """Accept or decline (the other captain), or withdraw (the proposing captain), a merge."""

    serializer_class = s.MergeOut
    write_scope = Scope.TEAM

    @extend_schema(request=None, responses=s.MergeOut)
    def post(self, request: Request, key: str, answer: str) -> Response:
        user, now = self.person(), timezone.now()
        own = Q(team__memberships__user=user) | Q(other__memberships__user=user)
        proposals = MergeProposal.objects.filter(own).distinct().select_related("team__competition", "other")
        proposal = get_object_or_404(proposals, key=key)
        acts = {"accept": merging.merge_accept, "decline": merging.merge_decline, "withdraw": merging.merge_withdraw}
        acts[answer](proposal=proposal, by=user, now=now)
        proposal.refresh_from_db()
        return Response(s.MergeOut(proposal).data)


class MyInvitations(ApiView):
    """Open invitations that wait for your answer."""

    serializer_class = s.InvitationOut

    @extend_schema(operation_id="invitations_list", responses=s.InvitationOut(many=True))
    def get(self, request: Request) -> Response:
        own = Invitation.objects.filter(
            user=self.person(), state=Invitation.State.OPEN, expires_at__gt=timezone.now()
        ).select_related("team__competition", "user")
        return Response(s.InvitationOut(own, many=True).data)


class InvitationAnswer(ApiView):
    """Accept or decline an invitation of yours."""

    serializer_class = s.InvitationOut
    write_scope = Scope.TEAM

    @extend_schema(request=None, responses=s.InvitationOut)
    def post(self, request: Request, key: str, answer: str) -> Response:
        user = self.person()
        invitation = get_object_or_404(Invitation, key=key, user=user)
        if answer == "accept":
            services.invitation_accept(invitation=invitation, by=user, now=timezone.now())
        else:
            services.invitation_decline(invitation=invitation, by=user)
        invitation.refresh_from_db()
        return Response(s.InvitationOut(invitation).data)
