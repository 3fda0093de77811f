"""Stored files by digest, the named resources that point at them, and uploads on their way in."""

import uuid
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.fields.related import ForeignObjectRel

from accounts.models import User
from core.background.rows import AskedRow, ClaimedRow, asker_key
from core.fields import OneLineField

SHA256_HEX = RegexValidator(r"\A[0-9a-f]{64}\Z", "64 lower-case hexadecimal digits of a SHA-256 digest.")


def pointers_at(model: type[models.Model]) -> list[tuple[type[models.Model], str]]:
    """Every model and foreign key that points at `model`, also those without a name for the way back."""
    relations = [
        field for field in model._meta.get_fields(include_hidden=True) if field.one_to_many or field.one_to_one
    ]
    return [(field.related_model, field.field.name) for field in relations if isinstance(field, ForeignObjectRel)]


class StoredFile(models.Model):
    """Immutable bytes in the object storage, known by their SHA-256. Equal bytes are stored once."""

    sha256 = models.CharField(max_length=64, primary_key=True, validators=[SHA256_HEX])
    size_bytes = models.PositiveBigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    unneeded_since = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="When nothing was first seen to point at it; it is removed a week later.",
    )

    def __str__(self) -> str:
        return f"sha256:{self.sha256[:12]}… ({self.size_bytes} bytes)"


class RemovalGuard(ClaimedRow):
    """One row for the whole site: while it is claimed, as by a backup, no stored file is removed."""

    THE_ONE: Final = 1

    def __str__(self) -> str:
        return f"claimed until {self.claimed_until}" if self.claimed_until else "free"


class ResourceQuerySet(models.QuerySet["Resource"]):
    def usable_by(self, user: User) -> "ResourceQuerySet":
        """An organizer's own resources, public ones and shared ones; all for an administrator."""
        if user.is_superuser:
            return self
        if not user.is_staff:
            return self.none()
        return self.filter(Q(owner=user) | Q(is_public=True) | Q(pk__in=user.shared_resources.values("pk")))


class Resource(models.Model):
    """A named, owned file that competitions use: a program, a dataset, a starting kit."""

    class Kind(models.TextChoices):
        SCORING_PROGRAM = "scoring_program", "scoring program"
        INGESTION_PROGRAM = "ingestion_program", "ingestion program"
        INPUT_DATA = "input_data", "input data"
        REFERENCE_DATA = "reference_data", "reference data"
        PUBLIC_DATA = "public_data", "public data"
        STARTING_KIT = "starting_kit", "starting kit"
        SAMPLE_SUBMISSION = "sample_submission", "sample submission"
        SOLUTION = "solution", "solution"
        IMAGE = "image", "image"
        BUNDLE = "bundle", "competition bundle"

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="resources")
    kind = models.CharField(max_length=20, choices=Kind)
    name = OneLineField(max_length=200)
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT, related_name="resources")
    file_name = OneLineField(max_length=255, help_text="Name under which the file is downloaded.")
    is_public = models.BooleanField(
        default=False,
        help_text="Any organizer may use it in a competition, and can then read it with a program of their own.",
    )
    shared_with = models.ManyToManyField(settings.AUTH_USER_MODEL, blank=True, related_name="shared_resources")
    replaces = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="replaced_by",
        editable=False,
        help_text="The previous version.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ResourceQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.get_kind_display()})"


def resource_field(kind: Resource.Kind, help_text: str = "") -> "models.ForeignKey[Resource | None, Resource | None]":
    """A file of this kind that a row may name; it is kept as long as the row names it."""
    return models.ForeignKey(
        Resource,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        limit_choices_to={"kind": kind},
        help_text=help_text,
    )


class ArchiveHead(AskedRow):
    """The first rows of the tables in a stored zip, by its digest, which keeps no file from removal."""

    sha256 = models.CharField(max_length=64, unique=True, validators=[SHA256_HEX])
    is_read = models.BooleanField(default=False)
    tables = models.JSONField(default=list, blank=True, help_text="Name, columns and first rows of each.")
    created_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["asker", "id"], condition=Q(is_read=False), name="archive_head_waiting")]

    def __str__(self) -> str:
        return f"sha256:{self.sha256[:12]}…"

    def asked_by(self) -> str:
        return asker_key("site")


class UploadFailures(models.Model):
    """The number of failed uploads by cause, for the metrics, which every process answers alike."""

    cause = models.CharField(max_length=40, primary_key=True)
    count = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.cause}: {self.count}"


class Upload(models.Model):
    """A file on its way in, in parts; `received_bytes` is what a resumed transfer continues from.

    The instant the upload began is recorded by the server and is what a deadline is compared with.
    """

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="uploads")
    file_name = OneLineField(max_length=255)
    size_bytes = models.PositiveBigIntegerField(help_text="Size announced by the client.")
    received_bytes = models.PositiveBigIntegerField(default=0)
    began_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    is_bundle = models.BooleanField(default=False, editable=False, help_text="Announced as a competition's bundle.")
    is_environment = models.BooleanField(
        default=False, editable=False, help_text="Announced as weights or an image: stored by a background task."
    )
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT, null=True, blank=True, related_name="uploads")

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="upload_received_at_most_announced", condition=Q(received_bytes__lte=models.F("size_bytes"))
            ),
            models.CheckConstraint(
                name="upload_file_only_when_whole",
                condition=Q(file__isnull=True) | Q(received_bytes=models.F("size_bytes")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.file_name} ({self.received_bytes}/{self.size_bytes} bytes)"

    @property
    def folder(self) -> Path:
        """The folder of the received parts, named by their offset, until the upload is whole."""
        return Path(settings.UPLOADS_DIR) / str(self.key)

    @property
    def is_complete(self) -> bool:
        return self.file_id is not None

    @staticmethod
    def default_expiry(now: datetime) -> datetime:
        return now + timedelta(seconds=settings.UPLOAD_EXPIRES_S)
