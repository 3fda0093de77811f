"""Competitions, the series that they are tracks of, and who organizes them."""

from collections.abc import Mapping
from typing import ClassVar, Final

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.validators import MinValueValidator, URLValidator
from django.db import models
from django.db.models import Q, Value

from accounts.models import User
from competitions.compute.images import validate_image_name
from competitions.compute.models import Queue
from competitions.resources.models import StoredFile
from core.fields import SHORT_TEXT, LongTextField, OneLineField

MOST_TAGS: Final = 8  # of one competition
TAG_LENGTH: Final = 30


class CompetitionQuerySet(models.QuerySet["Competition"]):
    def visible_to(self, user: User | AnonymousUser) -> "CompetitionQuerySet":
        """Published competitions, and the drafts of their organizers."""
        if user.is_superuser:
            return self
        published = Q(is_published=True)
        if not user.is_authenticated:
            return self.filter(published)
        return self.filter(published | Q(pk__in=CompetitionOrganizer.objects.filter(user=user).values("competition")))

    def managed_by(self, user: User | AnonymousUser) -> "CompetitionQuerySet":
        """The competitions that the user organizes; all of them for an administrator."""
        if user.is_superuser:
            return self
        if not user.is_authenticated:
            return self.none()
        return self.filter(pk__in=CompetitionOrganizer.objects.filter(user=user).values("competition"))

    def tagged(self, tag: str) -> "CompetitionQuerySet":
        """The competitions with this tag, as `clean_tag` writes it."""
        return self.filter(tag_line__contains=f",{tag},")


class Series(models.Model):
    """Competitions that belong together, each a track with its own data, teams and leaderboards."""

    slug = models.SlugField(max_length=60, unique=True)
    title = OneLineField(max_length=256)
    subtitle = OneLineField(max_length=256, blank=True)
    description = LongTextField(max_length=SHORT_TEXT, blank=True, help_text="Markdown.")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The organizer who edits it and adds competitions; administrators can do so with every series.",
    )

    class Meta:
        ordering = ["title"]
        verbose_name_plural = "series"

    def __str__(self) -> str:
        return self.title


class Competition(models.Model):
    """One competition or benchmark."""

    class RegistrationPolicy(models.TextChoices):
        OPEN = "open", "Open: accepting the rules is enough"
        APPROVAL = "approval", "Approval: an organizer decides"

    class Type(models.TextChoices):
        COMPETITION = "competition", "competition"
        BENCHMARK = "benchmark", "benchmark"

    class Discussion(models.TextChoices):
        HERE = "here", "On this site"
        ELSEWHERE = "elsewhere", "In a forum elsewhere"
        OFF = "off", "None"

    class Review(models.TextChoices):
        LINKS = "links", "First posts with links or images"
        FIRST = "first", "Every first post"
        NONE = "none", "None"

    slug = models.SlugField(max_length=60, unique=True)
    title = OneLineField(max_length=256)
    subtitle = OneLineField(max_length=256, blank=True)
    host = OneLineField(
        max_length=200, blank=True, help_text="The people or institution behind it, as shown under the title."
    )
    logo = models.ForeignKey(StoredFile, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    cover = models.ForeignKey(StoredFile, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    tag_line = OneLineField(
        max_length=MOST_TAGS * (TAG_LENGTH + 1) + 1,
        blank=True,
        editable=False,
        help_text="The tags with a comma before and after each; written by `tags_set` alone.",
    )
    rules_number = models.PositiveIntegerField(
        null=True, editable=False, help_text="Of the rules in force; written by `rules_publish` alone."
    )
    team_count = models.PositiveIntegerField(
        default=0, editable=False, help_text="Without baselines and merged teams; written by `count_teams` alone."
    )
    has_questions = models.BooleanField(
        default=False,
        editable=False,
        help_text="Submissions come with a fact sheet; written by `note_questions` alone.",
    )
    own_tabs = models.JSONField(
        default=list,
        editable=False,
        help_text="Address and title of each tab that the organizers added; written by `list_own_tabs` alone.",
    )
    applied_proposals = models.PositiveIntegerField(
        default=0, db_default=0, editable=False, help_text="Written by `proposal_adopt` alone."
    )
    is_published = models.BooleanField(default=False, help_text="Only its organizers can see a draft.")
    is_trial = models.BooleanField(
        default=False,
        editable=False,
        help_text="Made by its organizers to try it out, and not published yet: they see all scores of their own trials.",
    )
    publish_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="When it will be published automatically; written only by `publishing.py`.",
    )
    publish_despite = models.JSONField(
        default=list,
        db_default=Value([], models.JSONField()),
        editable=False,
        help_text="Warnings that were accepted when this was planned, and do not prevent it.",
    )
    publish_fault = models.TextField(
        blank=True, default="", db_default="", editable=False, help_text="Why it was not published as planned."
    )
    organizers = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="CompetitionOrganizer", related_name="organized_competitions"
    )
    registration_policy = models.CharField(max_length=10, choices=RegistrationPolicy, default=RegistrationPolicy.OPEN)
    allow_robot_submissions = models.BooleanField(
        "service accounts",
        default=False,
        help_text=(
            "Service accounts can take part without an organizer's approval, and can run any team's submissions again."
        ),
    )
    auto_run_submissions = models.BooleanField(
        "run submissions at once",
        default=True,
        db_default=True,
        help_text=(
            "If off, a submission waits after the check of its file until an organizer starts it. It counts towards "
            "the quota as usual. A smoke run costs no quota and still begins at once."
        ),
    )
    max_team_size = models.PositiveSmallIntegerField(default=10, validators=[MinValueValidator(1)])
    registration_closes_at = models.DateTimeField(
        null=True, blank=True, help_text="Nobody can register from this time on. Leave empty to keep registration open."
    )
    merges_close_at = models.DateTimeField(
        "team merges close at",
        null=True,
        blank=True,
        help_text="Teams can merge until this time. Leave empty for no deadline.",
    )
    series = models.ForeignKey(
        Series,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="tracks",
        help_text="The series that this competition is a track of.",
    )
    queue = models.ForeignKey(Queue, on_delete=models.PROTECT, related_name="competitions")
    docker_image = OneLineField(
        max_length=200,
        blank=True,
        validators=[validate_image_name],
        help_text="Leave empty for the site's runtime image.",
    )
    competition_type = models.CharField(max_length=12, choices=Type, default=Type.COMPETITION)
    reward = OneLineField(max_length=256, blank=True)
    contact_email = models.EmailField("contact e-mail", blank=True)
    data_licence = OneLineField(
        "licence of the data",
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="For instance CC BY 4.0, with a link to it.",
    )
    conflicts_of_interest = LongTextField(
        max_length=SHORT_TEXT,
        blank=True,
        default="",
        db_default="",
        help_text="For instance: organizers and their groups may take part but win no prizes.",
    )
    enable_detailed_results = models.BooleanField(
        default=False, help_text="Keep and show detailed_results.html, a page that the scoring program writes."
    )
    show_detailed_results_in_submission_panel = models.BooleanField(
        "detailed results for the team",
        default=True,
        help_text="Shown on the submission's page, to those who can see its scores.",
    )
    show_detailed_results_in_leaderboard = models.BooleanField(
        "detailed results for everybody",
        default=True,
        help_text="Linked from the leaderboard, for those who can see the scores.",
    )
    make_programs_available = models.BooleanField(
        "programs for participants",
        default=False,
        help_text="Ingestion and scoring programs can be downloaded from the Data page.",
    )
    make_input_data_available = models.BooleanField(
        "input data for participants",
        default=False,
        help_text="Input data can be downloaded from the Data page, from the opening of its phase on.",
    )
    gives_certificates = models.BooleanField(
        "certificates of participation",
        default=False,
        db_default=False,
        help_text=(
            "Once it is over and its scores are public, members of ranked teams can get a certificate on the "
            "Results page."
        ),
    )
    discussion = models.CharField(
        max_length=10,
        choices=Discussion,
        default=Discussion.HERE,
        db_default=Discussion.HERE,
        help_text=(
            "Where people discuss. Turning it off hides the posts but keeps them; they appear again when it is turned"
            " on."
        ),
    )
    discussion_url = OneLineField(
        "address of the forum",
        max_length=200,
        blank=True,
        default="",
        db_default="",
        validators=[URLValidator(schemes=["https", "http"])],
        help_text="Where the Discussion tab leads, if the forum is elsewhere.",
    )
    discussion_review = models.CharField(
        "posts held for an organizer",
        max_length=10,
        choices=Review,
        default=Review.LINKS,
        db_default=Review.LINKS,
        help_text="They wait until an organizer has approved one of the author's posts, or one has been visible for a day.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = CompetitionQuerySet.as_manager()

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "About": ("title", "subtitle", "host", "reward", "contact_email"),
        "How it is run": ("data_licence", "conflicts_of_interest"),
        "Taking part": (
            "registration_policy",
            "registration_closes_at",
            "max_team_size",
            "merges_close_at",
            "allow_robot_submissions",
        ),
        "Running": ("queue", "docker_image", "auto_run_submissions"),
        "Results and files": (
            "enable_detailed_results",
            "show_detailed_results_in_submission_panel",
            "show_detailed_results_in_leaderboard",
            "make_programs_available",
            "make_input_data_available",
            "gives_certificates",
        ),
        "Discussion": ("discussion", "discussion_url", "discussion_review"),
        "Address": ("slug", "competition_type", "series"),
    }
    bundle: ClassVar[Mapping[str, str]] = {
        "title": "title",
        "docker_image": "docker_image",
        "auto_run_submissions": "auto_run_submissions",
        "competition_type": "competition_type",
        "reward": "reward",
        "contact_email": "contact_email",
        "data_licence": "podium.data_licence",
        "conflicts_of_interest": "podium.conflicts_of_interest",
        "enable_detailed_results": "enable_detailed_results",
        "show_detailed_results_in_submission_panel": "show_detailed_results_in_submission_panel",
        "show_detailed_results_in_leaderboard": "show_detailed_results_in_leaderboard",
        "make_programs_available": "make_programs_available",
        "make_input_data_available": "make_input_data_available",
        "allow_robot_submissions": "allow_robot_submissions",
        "host": "podium.host",
        "max_team_size": "podium.max_team_size",
        "registration_closes_at": "podium.registration_closes",
        "merges_close_at": "podium.merges_close",
        "gives_certificates": "podium.certificates",
        "discussion": "podium.discussion",
        "discussion_url": "podium.discussion_url",
        "discussion_review": "podium.discussion_review",
    }

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["publish_at"], condition=Q(publish_at__isnull=False), name="competition_planned")
        ]
        constraints = [
            models.CheckConstraint(
                name="competition_no_trial_once_published", condition=~Q(is_trial=True, is_published=True)
            ),
            models.CheckConstraint(
                name="competition_planned_while_a_draft", condition=Q(is_published=False) | Q(publish_at=None)
            ),
            models.CheckConstraint(
                name="competition_tags_between_commas",
                condition=Q(tag_line="") | Q(tag_line__startswith=",", tag_line__endswith=","),
            ),
            models.CheckConstraint(
                name="competition_forum_elsewhere_has_an_address",
                condition=~Q(discussion="elsewhere") | ~Q(discussion_url=""),
                violation_error_message="Discussion: give the address of the forum elsewhere, or choose another place.",
            ),
        ]

    def is_visible_to(self, user: User | AnonymousUser) -> bool:
        """The rule of `visible_to` for one row; a query only for a draft."""
        return self.is_published or Competition.objects.visible_to(user).filter(pk=self.pk).exists()

    def __str__(self) -> str:
        return self.title

    @property
    def tags(self) -> list[str]:
        """Words by which people look for competitions."""
        return [tag for tag in self.tag_line.split(",") if tag]

    def admits_at_once(self, user: User) -> bool:
        """Accepting the rules is enough for this person or service account; else an organizer decides."""
        is_open = self.registration_policy == self.RegistrationPolicy.OPEN
        return is_open or (self.allow_robot_submissions and user.is_robot)

    @property
    def image_name(self) -> str:
        return self.docker_image or settings.DEFAULT_IMAGE


class CompetitionOrganizer(models.Model):
    """A person's rights in one competition."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    can_see_sealed = models.BooleanField(
        default=False,
        help_text="Can see the scores of sealed phases before the reveal. Leave it off unless it is needed.",
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["competition", "user"], name="organizer_once_per_competition")]

    def __str__(self) -> str:
        return f"{self.user} organizes {self.competition}"
