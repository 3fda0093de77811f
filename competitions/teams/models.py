"""Teams, their members and invitations, and who registered under which version of the rules."""

import uuid
from datetime import datetime

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from competitions.catalog.models import Competition, RulesVersion
from competitions.catalog.questions import AskedQuestion
from core.fields import OneLineField


class RegistrationQuestion(AskedQuestion):
    """A question to everybody who registers: real name, affiliation, an honour code."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="registration_questions")

    class Meta(AskedQuestion.Meta):
        constraints = [
            models.UniqueConstraint(fields=["competition", "key"], name="registration_question_once_per_competition")
        ]


class Registration(models.Model):
    """One person in one competition."""

    class State(models.TextChoices):
        PENDING = "pending", "waiting for an organizer"
        APPROVED = "approved", "registered"
        DENIED = "denied", "denied"

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="registrations")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="registrations")
    state = models.CharField(max_length=10, choices=State)
    rules_version = models.ForeignKey(
        RulesVersion, on_delete=models.PROTECT, help_text="The version that was accepted."
    )
    accepted_at = models.DateTimeField()
    answers = models.JSONField(default=dict, blank=True, help_text="From the question's key to the answer.")
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    decided_reason = models.CharField(max_length=500, blank=True, help_text="What the organizer told the person.")

    class Meta:
        ordering = ["-accepted_at"]
        constraints = [models.UniqueConstraint(fields=["competition", "user"], name="registered_once_per_competition")]

    def __str__(self) -> str:
        return f"{self.user} in {self.competition}"


class Team(models.Model):
    """The unit of quota, rank and selection; a person alone is a team of one."""

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="teams")
    name = OneLineField(max_length=60)
    captain = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, through="Membership", related_name="teams")
    searched_name = models.GeneratedField(
        expression=Lower("name"), output_field=models.CharField(max_length=60), db_persist=True
    )
    is_baseline = models.BooleanField(default=False, help_text="Shown on the board without a rank.")
    is_personal = models.BooleanField(
        default=False,
        editable=False,
        help_text="Made when its person joined; it has one member and is removed when they join another team.",
    )
    merged_into = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, editable=False, related_name="merged_teams"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    disqualified_at = models.DateTimeField(null=True, blank=True, editable=False)
    disqualified_reason = models.CharField(max_length=500, blank=True, editable=False)
    reinstated_at = models.DateTimeField(null=True, blank=True, editable=False)
    reinstated_reason = models.CharField(max_length=500, blank=True, editable=False, default="", db_default="")

    class Meta:
        ordering = ["name"]
        indexes = [  # on PostgreSQL, the second kind of comparison finds beginnings, and trigrams what is inside
            models.Index(
                fields=["competition", "searched_name"],
                opclasses=["int8_ops", "varchar_pattern_ops"],
                name="team_search",
            ),
            GinIndex(fields=["searched_name"], opclasses=["gin_trgm_ops"], name="team_search_inside"),
        ]
        constraints = [
            models.CheckConstraint(
                name="team_disqualified_with_a_reason",
                condition=Q(disqualified_at=None, disqualified_reason="")
                | (Q(disqualified_at__isnull=False) & ~Q(disqualified_reason="")),
            ),
            models.UniqueConstraint(
                "competition",
                Lower("name"),
                name="team_name_once_per_competition",
                violation_error_message="Another team of this competition has this name.",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A person in a team; the competition is repeated so that the database refuses a second team."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="memberships")
    joined_at = models.DateTimeField()

    class Meta:
        ordering = ["joined_at"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "user"], name="one_team_per_person_and_competition")
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.team}"


class OfferState(models.TextChoices):
    """The state of an invitation or a proposal: it takes one answer."""

    OPEN = "open", "waiting for an answer"
    ACCEPTED = "accepted", "accepted"
    DECLINED = "declined", "declined"
    WITHDRAWN = "withdrawn", "withdrawn"


class Invitation(models.Model):
    """A captain asks a person to join; nobody joins without accepting."""

    State = OfferState

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="invitations")
    named_as = OneLineField(
        max_length=254,
        blank=True,
        default="",
        db_default="",
        help_text="The user name or address that the captain knew; whose account it is stays unsaid until it is accepted.",
    )
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=10, choices=OfferState, default=OfferState.OPEN)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "user"], condition=Q(state="open"), name="one_open_invitation_per_person_and_team"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user} to {self.team}"

    @property
    def person(self) -> str:
        """The invited person in the words of who invited."""
        return self.named_as or str(self.user)

    def is_live(self, now: datetime) -> bool:
        return self.state == self.State.OPEN and now < self.expires_at


class InvitationLink(models.Model):
    """An address by which so many people may join a team until it expires or is revoked."""

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitation_links")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    max_uses = models.PositiveSmallIntegerField(help_text="How many people may join with it.")
    uses = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(name="link_used_as_often_as_it_may", condition=Q(uses__lte=models.F("max_uses")))
        ]

    def __str__(self) -> str:
        return f"link to {self.team}"

    def is_open(self, now: datetime) -> bool:
        return self.revoked_at is None and now < self.expires_at and self.uses < self.max_uses


class MergeProposal(models.Model):
    """One captain proposes to another that their teams become one; the proposing team takes the other in."""

    State = OfferState

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="merges_proposed")
    other = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="merges_received")
    proposed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=10, choices=OfferState, default=OfferState.OPEN)
    created_at = models.DateTimeField()
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "other"], condition=Q(state="open"), name="one_open_proposal_per_pair_of_teams"
            ),
            models.CheckConstraint(name="a_team_merges_with_another", condition=~Q(team=models.F("other"))),
        ]

    def __str__(self) -> str:
        return f"{self.team} takes in {self.other}"
