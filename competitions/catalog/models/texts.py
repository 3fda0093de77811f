"""Texts of a competition: rules in versions, pages with images, announcements."""

from datetime import datetime
from typing import Final

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Length
from django.db.models.lookups import LessThanOrEqual

from competitions.catalog.models.competition import Competition
from competitions.resources.models import StoredFile
from core.background.rows import AskedRow, asker_key
from core.fields import LongTextField, OneLineField
from core.markup.rows import WrittenRow
from files.images import NAME
from files.markup import MAX_CHARACTERS

IMAGE_NAME = RegexValidator(rf"\A{NAME.pattern}\Z", "Letters, digits, blanks and the characters _ - . ( ) and /.")


class Format(models.TextChoices):
    """The markup of a text. Only harmless HTML of it reaches a page."""

    MARKDOWN = "markdown", "Markdown"
    MIXED = "mixed", "Markdown with HTML in it"
    HTML = "html", "HTML"


class RulesVersion(WrittenRow):
    """The rules' text. A change is a new version, which participants accept again."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="rules_versions")
    number = models.PositiveIntegerField()
    text = LongTextField(max_length=MAX_CHARACTERS)
    format = models.CharField(max_length=10, choices=Format, default=Format.MARKDOWN)
    published_at = models.DateTimeField()

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "number"], name="rules_number_once_per_competition")
        ]

    def __str__(self) -> str:
        return f"{self.competition}: rules, version {self.number}"

    def text_and_form(self) -> tuple[str, str]:
        return self.text, self.format


MAX_TAB_TITLE: Final = 24


class Page(WrittenRow):
    """A text of the competition: part of Overview or Data, or a page with its own tab."""

    class Tab(models.TextChoices):
        OVERVIEW = "overview", "Overview"
        DATA = "data", "Data"
        OWN = "own", "A tab of its own"

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="pages")
    tab = models.CharField("shown on", max_length=10, choices=Tab, default=Tab.OVERVIEW)
    slug = models.SlugField(max_length=40, blank=True, editable=False, help_text="Its address, where it has a tab.")
    title = OneLineField(max_length=256)
    body = LongTextField(max_length=MAX_CHARACTERS)
    format = models.CharField(max_length=10, choices=Format, default=Format.MARKDOWN)
    index = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["tab", "index", "pk"]
        constraints = [
            models.CheckConstraint(
                name="page_address_iff_own_tab", condition=(Q(tab="own") & ~Q(slug="")) | (~Q(tab="own") & Q(slug=""))
            ),
            models.CheckConstraint(
                name="page_tab_has_short_title",
                condition=~Q(tab="own") | Q(LessThanOrEqual(Length("title"), MAX_TAB_TITLE)),
                violation_error_message=f"The title of a tab has at most {MAX_TAB_TITLE} characters. Shorten it.",
            ),
            models.UniqueConstraint(
                fields=["competition", "slug"], condition=Q(tab="own"), name="page_address_once_per_competition"
            ),
        ]

    def __str__(self) -> str:
        return self.title

    def text_and_form(self) -> tuple[str, str]:
        return self.body, self.format


class PageImage(models.Model):
    """An image that the competition's texts show by its name: `![what it shows](name)`."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="images")
    name = OneLineField(max_length=200, validators=[IMAGE_NAME])
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT, related_name="+")
    small = models.ForeignKey(
        StoredFile, on_delete=models.PROTECT, null=True, blank=True, related_name="+", help_text="For phones."
    )
    width = models.PositiveIntegerField(null=True, blank=True)
    height = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["competition", "name"], name="image_name_once_per_competition")]

    def __str__(self) -> str:
        return self.name


class ImageUpload(AskedRow):
    """An uploaded image, not shown until a background process has re-encoded it."""

    class Place(models.TextChoices):
        PAGE = "page", "Pages"
        LOGO = "logo", "Logo"
        COVER = "cover", "Cover"

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="image_uploads")
    place = models.CharField(max_length=10, choices=Place)
    name = OneLineField(max_length=200, blank=True, validators=[IMAGE_NAME])
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT, related_name="+")
    fault = models.TextField(blank=True, help_text="Why it cannot be shown, for the organizers.")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "place", "name"], name="image_upload_once_per_name")
        ]
        indexes = [models.Index(fields=["asker", "id"], condition=Q(fault=""), name="image_upload_waiting")]

    def __str__(self) -> str:
        return self.name or self.get_place_display()

    def asked_by(self) -> str:
        return asker_key("competition", self.competition_id)


class AnnouncementQuerySet(models.QuerySet["Announcement"]):
    def published(self, now: datetime) -> "AnnouncementQuerySet":
        """The announcements that readers see."""
        return self.filter(published_at__lte=now, withdrawn_at=None)


class Announcement(WrittenRow):
    """News from the organizers, shown on the competition's first page from `published_at` on."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="announcements")
    title = OneLineField(max_length=200)
    body = LongTextField(max_length=MAX_CHARACTERS, help_text="Markdown.")
    published_at = models.DateTimeField(help_text="It is shown from this time on.")
    withdrawn_at = models.DateTimeField(null=True, blank=True, editable=False)
    announced_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="When its readers were told; empty while it is withdrawn."
    )

    objects = AnnouncementQuerySet.as_manager()

    class Meta:
        ordering = ["-published_at"]
        indexes = [
            models.Index(
                fields=["published_at"], condition=Q(announced_at=None, withdrawn_at=None), name="announcement_waiting"
            )
        ]

    def __str__(self) -> str:
        return self.title

    def text_and_form(self) -> tuple[str, str]:
        return self.body, Format.MARKDOWN
