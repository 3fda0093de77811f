"""Weights and container images of teams: uploaded once, named by many submissions."""

import uuid
from typing import Final

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from competitions.resources.models import StoredFile, Upload
from competitions.teams.models import Team
from core.background.rows import AskedRow, asker_key
from core.fields import OneLineField

FILE_NAME: Final = RegexValidator(
    r"\A[a-z0-9][a-z0-9._-]{0,59}\Z", "Lower-case letters, digits, dots, dashes and underscores, at most 60."
)


class EnvironmentFile(AskedRow):
    """One version of a named file of a team. The row stays when its file is removed: receipts name it."""

    class Kind(models.TextChoices):
        WEIGHTS = "weights", "weights"
        IMAGE = "image", "container image"

    class State(models.TextChoices):
        CHECKING = "checking", "being checked"
        READY = "ready", "ready"
        REFUSED = "refused", "refused"
        REMOVED = "removed", "removed"

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="environment_files")
    kind = models.CharField(max_length=10, choices=Kind)
    name = OneLineField(max_length=60, validators=[FILE_NAME])
    version = models.PositiveIntegerField(help_text="Counts up with each file of this name.")
    upload = models.OneToOneField(
        Upload, on_delete=models.SET_NULL, null=True, blank=True, editable=False, related_name="environment_file"
    )
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    file_name = OneLineField(max_length=255)
    size_bytes = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64, blank=True, help_text="Of the file; known once it is stored.")
    image_id = models.CharField(
        max_length=71, blank=True, help_text="Digest of an image's configuration, as engines name it."
    )
    facts = models.JSONField(default=dict, blank=True, help_text="What was found in an image: platform, layers, bytes.")
    state = models.CharField(max_length=10, choices=State, default=State.CHECKING)
    code = models.CharField(max_length=40, blank=True)
    detail = models.CharField(max_length=1000, blank=True, help_text="Why it was refused or removed.")
    uploaded_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(help_text="When it was uploaded, or last named by a submission.")

    class Meta:
        ordering = ["kind", "name", "-version"]
        constraints = [
            models.UniqueConstraint(fields=["team", "kind", "name", "version"], name="environment_file_version_once"),
            models.CheckConstraint(
                name="environment_file_stored_iff_ready",
                condition=Q(state="ready", file__isnull=False) | (~Q(state="ready") & Q(file__isnull=True)),
            ),
        ]
        indexes = [
            models.Index(fields=["asker", "id"], name="environment_file_of_asker"),
            models.Index(fields=["last_used_at"], condition=Q(state="ready"), name="environment_file_last_used"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.reference}"

    def asked_by(self) -> str:
        return asker_key("team", self.team_id)

    @property
    def reference(self) -> str:
        """The file's name in a submission: `name@version`."""
        return f"{self.name}@{self.version}"
