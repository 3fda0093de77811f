"""People, service accounts, and the API tokens that stand for them."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Final

from django.apps import apps
from django.contrib.auth.models import AbstractUser, UserManager
from django.contrib.postgres.indexes import GinIndex
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils import timezone

from accounts.links import require_github_name, require_orcid, require_web_site
from core.background.rows import AskedRow, asker_key
from core.fields import LongTextField, NameField, OneLineField
from core.refusals import Conflict, RefusalKind

TOKEN_PREFIX: Final = "podium_"
MAX_ABOUT: Final = 1_000  # characters
MAX_REPORT: Final = 500
MOST_TOKENS: Final = 50  # of one account that are neither revoked nor expired

TOO_MANY_TOKENS: Final = RefusalKind(
    409,
    "too_many_tokens",
    "This account has {limit} API tokens, which is the limit. Revoke one that is not used any more.",
)


class AddressTaken(Conflict):
    code = "address_taken"

    def __init__(self, email: str) -> None:
        super().__init__(f"Another account has confirmed the address {email}. Give this one its own.")


def address_confirm(user: "User") -> None:
    """Confirm the account's e-mail address without a mail, on the word of an administrator.

    It takes the place of one that it had before. Raises `AddressTaken`.
    """
    addresses = apps.get_model("account", "EmailAddress").objects
    if addresses.filter(email__iexact=user.email, verified=True).exclude(user=user).exists():
        raise AddressTaken(user.email)
    with transaction.atomic():
        addresses.filter(user=user).exclude(email=user.email).update(primary=False)
        addresses.update_or_create(user=user, email=user.email, defaults={"verified": True, "primary": True})


class AccountManager(UserManager["User"]):
    """Accounts. An administrator that is made at the command line can sign in before mail is set up."""

    def create_superuser(
        self, username: str, email: str | None = None, password: str | None = None, **extra_fields: Any
    ) -> "User":
        user = super().create_superuser(username, email, password, **extra_fields)
        if user.email:
            address_confirm(user)
        return user


class User(AbstractUser):
    """A person or a service account. Staff are organizers: they see their own competitions in the admin.

    Superusers are the site's administrators.
    """

    email = models.EmailField("e-mail address", unique=True)
    first_name = NameField("first name", max_length=150, blank=True)
    last_name = NameField("last name", max_length=150, blank=True)
    affiliation = NameField(max_length=200, blank=True)
    deleted_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="The person is gone; what boards and receipts need stays."
    )
    is_robot = models.BooleanField(default=False, help_text="A program's account; it signs in with API tokens alone.")

    objects: ClassVar[AccountManager] = AccountManager()

    class Meta(AbstractUser.Meta):
        indexes = [
            models.Index(Lower("username"), name="user_mentioned"),  # in any case
            # On SQLite a plain one.
            GinIndex(fields=["username"], opclasses=["gin_trgm_ops"], name="user_search_inside"),
        ]

    def __str__(self) -> str:
        return "Deleted account" if self.deleted_at else self.get_full_name() or self.username

    @property
    def has_public_profile(self) -> bool:
        """True where a name leads to the person's page; lists read the profile with the person."""
        profile: Profile | None = getattr(self, "profile", None)
        return profile is not None and profile.is_public and self.is_active


class Scope(models.TextChoices):
    """The kinds of action that an API token may allow."""

    READ = "read", "Read: competitions, leaderboards, own team and submissions"
    SUBMIT = "submit", "Submit: upload files, make and cancel submissions"
    TEAM = "team", "Team: register, create and leave teams, invite"
    ORGANIZE = "organize", "Organize: your competitions, with labels and everybody's submissions; for organizers"


AGENT_MAY: Final = (
    "An agent may read and submit. A person accepts the rules, builds teams, writes in discussions and organizes: "
    "untick the rest."
)
AGENT_SCOPES: Final = frozenset({Scope.READ, Scope.SUBMIT})  # the rest is a person's: rules, teams, posts, organizing


@dataclass(frozen=True)
class Agent:
    """A program that decides by itself, as whoever runs it declares it."""

    model: str
    harness: str = ""

    def __str__(self) -> str:
        return f"{self.model}, {self.harness}" if self.harness else self.model


class DeclaresAgent(models.Model):
    """A row of an agent, if it names a model."""

    agent_model = OneLineField("agent's model", max_length=100, blank=True, default="", db_default="")
    agent_harness = OneLineField("agent's harness", max_length=100, blank=True, default="", db_default="")

    class Meta:
        abstract = True

    @property
    def agent(self) -> Agent | None:
        """The agent; None for a person or an ordinary program."""
        return Agent(self.agent_model, self.agent_harness) if self.agent_model else None


def validate_scopes(scopes: list[str]) -> None:
    unknown = sorted(set(scopes) - set(Scope.values))
    if unknown or not scopes:
        raise ValidationError(f"Unknown or missing scopes {unknown}; choose from {', '.join(Scope.values)}.")


class ApiToken(DeclaresAgent):
    """A secret for programs, kept as a digest: the token itself is shown once, when it is made.

    One with a model is that of an agent, which acts for the token's person.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = OneLineField(max_length=100)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    hint = models.CharField(max_length=20, editable=False, help_text="First characters, to tell tokens apart.")
    scopes = models.JSONField(default=list, validators=[validate_scopes])
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.hint}…)"

    def clean(self) -> None:
        """Raise `ValidationError` for an agent that could do what is a person's."""
        if self.agent and set(self.scopes) - AGENT_SCOPES:
            raise ValidationError(AGENT_MAY)
        if self.agent_harness and not self.agent_model:
            raise ValidationError("Name the agent's model, too.")

    def is_live(self, now: datetime) -> bool:
        return self.revoked_at is None and now < self.expires_at


SIGN_IN_TOKEN: Final = "Signed in with a password"  # of a script, which has no page to make a token on


def sign_in_tokens_revoke(sender: object, user: User, **kwargs: object) -> None:
    """Receiver of a new password or second factor: tokens that the old password gave end."""
    ApiToken.objects.filter(user=user, name=SIGN_IN_TOKEN, revoked_at=None).update(revoked_at=timezone.now())


def token_digest(token: str) -> str:
    """SHA-256 of a token. The token has 256 random bits, so a plain digest cannot be searched."""
    return hashlib.sha256(token.encode()).hexdigest()


@transaction.atomic
def token_create(
    *, user: User, name: str, scopes: list[str], expires_at: datetime, secret: str = "", agent: Agent | None = None
) -> tuple[ApiToken, str]:
    """Make a token; return its row and its secret, which is random unless given and is not stored.

    Raises `TOO_MANY_TOKENS`, and `ValidationError` on unknown scopes and those that no agent has.
    """
    User.objects.select_for_update(no_key=True).get(pk=user.pk)  # tokens are counted
    if user.api_tokens.filter(revoked_at=None, expires_at__gt=timezone.now()).count() >= MOST_TOKENS:
        raise TOO_MANY_TOKENS(limit=MOST_TOKENS)
    secret = secret or TOKEN_PREFIX + secrets.token_urlsafe(32)
    token = ApiToken(
        user=user,
        name=name,
        scopes=scopes,
        expires_at=expires_at,
        digest=token_digest(secret),
        hint=secret[:12],
        agent_model=agent.model if agent else "",
        agent_harness=agent.harness if agent else "",
    )
    token.full_clean()
    token.save(force_insert=True)
    return token, secret


class Profile(models.Model):
    """A person's public page. Nothing is shown until they switch it on."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="profile")
    is_public = models.BooleanField("show my profile to everybody", default=False)
    is_indexed = models.BooleanField("let search engines list it", default=False)
    name = NameField("display name", max_length=100, blank=True, help_text="Without one, your user name stands there.")
    about = LongTextField("about you", max_length=MAX_ABOUT, blank=True, help_text="Plain text.")
    orcid = OneLineField(
        "ORCID iD", max_length=19, blank=True, validators=[require_orcid], help_text="Such as 0000-0002-1825-0097."
    )
    github = OneLineField("GitHub user name", max_length=39, blank=True, validators=[require_github_name])
    website = OneLineField(
        "web site", max_length=200, blank=True, validators=[require_web_site], help_text="Begins with https://."
    )
    shows_competitions = models.BooleanField("list the competitions that I take part in", default=False)
    shows_ranks = models.BooleanField("list final ranks, once the public sees them", default=False)
    shows_teams = models.BooleanField("list my teams", default=False)

    hidden_at = models.DateTimeField(null=True, editable=False, help_text="By an administrator, until it is released.")

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="profile_indexed_where_public", condition=Q(is_indexed=False) | Q(is_public=True)
            ),
            models.CheckConstraint(
                name="profile_hidden_is_not_public", condition=Q(hidden_at=None) | Q(is_public=False)
            ),
        ]

    def __str__(self) -> str:
        return self.name or str(self.user)


class Block(models.Model):
    """A person's choice to hear nothing from another one, who is not told."""

    by = models.ForeignKey(User, on_delete=models.CASCADE, related_name="blocks")
    person = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["by", "person"], name="block_once"),
            models.CheckConstraint(name="block_of_another", condition=~Q(by=models.F("person"))),
        ]

    def __str__(self) -> str:
        return f"{self.by} blocks {self.person}"


class ProfileReport(models.Model):
    """A note to the administrators on a public profile."""

    profile = models.ForeignKey(Profile, on_delete=models.CASCADE, related_name="reports")
    reporter = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    text = LongTextField(max_length=MAX_REPORT)
    created_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True)
    settled_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        ordering = ["-pk"]
        constraints = [models.UniqueConstraint(fields=["profile", "reporter"], name="profile_report_once_per_person")]
        indexes = [models.Index(fields=["reporter", "-created_at"], name="profile_report_of_person")]

    def __str__(self) -> str:
        return f"report of the profile of {self.profile.user}"


class OutgoingMail(AskedRow):
    """A mail that the mail server has not taken yet."""

    document = models.JSONField()
    created_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["asker", "id"], name="outgoing_mail_of_asker")]

    def __str__(self) -> str:
        return f"mail {self.pk}"

    def asked_by(self) -> str:
        return asker_key("site")
