"""Exports of a person's data, their wish to leave, and certificates of participation."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from competitions.catalog.models import Competition
from competitions.resources.models import StoredFile
from core.background.rows import AskedRow, asker_key
from core.fields import NameField


class AccountDeletion(models.Model):
    """A person's wish to have their account deleted, which they can take back until it is due."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    asked_at = models.DateTimeField()
    due_at = models.DateTimeField(db_index=True)
    held_up_at = models.DateTimeField(
        null=True, help_text="When it was last seen that the person has to hand over first."
    )

    def __str__(self) -> str:
        return f"deletion of {self.user}"


class DataExport(AskedRow):
    """The data of a person that they want as a zip, and the file once it is written."""

    class State(models.TextChoices):
        WAITING = "waiting", "being written"
        FINISHED = "finished", "ready"
        FAILED = "failed", "failed"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="data_exports")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                name="data_export_file_iff_finished",
                condition=Q(state="finished", file__isnull=False) | (~Q(state="finished") & Q(file=None)),
            ),
            models.UniqueConstraint(
                fields=["user"], condition=Q(state="waiting"), name="one_waiting_data_export_per_person"
            ),
        ]
        indexes = [models.Index(fields=["asker", "id"], condition=Q(state="waiting"), name="data_export_waiting")]

    def __str__(self) -> str:
        return f"data of {self.user}: {self.get_state_display()}"

    def asked_by(self) -> str:
        return asker_key("person", self.user_id)


class Certificate(models.Model):
    """The address that certifies a person's part in a competition; team and ranks come from the boards."""

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="certificates")
    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="certificates")
    name = NameField(max_length=100, help_text="The person's name, as they want it printed.")
    made_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "competition"], name="certificate_once_per_person")]

    def __str__(self) -> str:
        return f"certificate of {self.user} for {self.competition}"

    @property
    def address(self) -> str:
        """The page of the certificate, for whoever knows it.

        Not `get_absolute_url`: Django's admin leads all staff there.
        """
        return f"/certificates/{self.key}/"
