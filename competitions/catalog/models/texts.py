"""What people read: rules in versions, pages with images, announcements."""

from datetime import datetime

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from competitions.catalog.models.competition import Competition
from competitions.resources.images import NAME
from competitions.resources.models import StoredFile

IMAGE_NAME = RegexValidator(rf"\A{NAME.pattern}\Z", "Letters, digits, blanks and the characters _ - . ( ) and /.")


class Format(models.TextChoices):
    """How a text is written. Either way only harmless HTML of it reaches a page."""

    MARKDOWN = "markdown", "Markdown"
    MIXED = "mixed", "Markdown with HTML in it"
    HTML = "html", "HTML"


class RulesVersion(models.Model):
    """The rules' text. A change is a new version, which participants accept again."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="rules_versions")
    number = models.PositiveIntegerField()
    text = models.TextField()
    format = models.CharField(max_length=10, choices=Format, default=Format.MARKDOWN)
    published_at = models.DateTimeField()

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "number"], name="rules_number_once_per_competition")
        ]

    def __str__(self) -> str:
        return f"{self.competition}: rules, version {self.number}"


class Page(models.Model):
    """A page of the competition's overview, in Markdown."""

    class Tab(models.TextChoices):
        OVERVIEW = "overview", "Overview"
        DATA = "data", "Data"

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="pages")
    tab = models.CharField(max_length=10, choices=Tab, default=Tab.OVERVIEW)
    title = models.CharField(max_length=256)
    body = models.TextField()
    format = models.CharField(max_length=10, choices=Format, default=Format.MARKDOWN)
    index = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["tab", "index", "pk"]

    def __str__(self) -> str:
        return self.title


class PageImage(models.Model):
    """An image that the competition's texts show by its name: `![what it shows](name)`."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="images")
    name = models.CharField(max_length=200, validators=[IMAGE_NAME])
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["competition", "name"], name="image_name_once_per_competition")]

    def __str__(self) -> str:
        return self.name


class AnnouncementQuerySet(models.QuerySet["Announcement"]):
    def published(self, now: datetime) -> "AnnouncementQuerySet":
        """Those that readers see."""
        return self.filter(published_at__lte=now, withdrawn_at=None)


class Announcement(models.Model):
    """News from the organizers, shown on the competition's first page from `published_at` on."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="announcements")
    title = models.CharField(max_length=200)
    body = models.TextField(help_text="Markdown.")
    published_at = models.DateTimeField(help_text="From this instant on it is shown.")
    withdrawn_at = models.DateTimeField(null=True, blank=True, editable=False)
    announced_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="When `announcement_published` was sent, which is once."
    )

    objects = AnnouncementQuerySet.as_manager()

    class Meta:
        ordering = ["-published_at"]
        indexes = [
            models.Index(
                fields=["published_at"],
                condition=Q(announced_at=None, withdrawn_at=None),
                name="announcement_waiting",
            )
        ]

    def __str__(self) -> str:
        return self.title
