"""What people read: rules in versions, pages, announcements."""

from django.db import models

from competitions.catalog.models.competition import Competition


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


class Announcement(models.Model):
    """News from the organizers, shown on the competition's first page."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="announcements")
    title = models.CharField(max_length=200)
    body = models.TextField(help_text="Markdown.")
    published_at = models.DateTimeField()

    class Meta:
        ordering = ["-published_at"]

    def __str__(self) -> str:
        return self.title
