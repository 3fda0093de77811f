"""The form of an announcement: what it says, and from when on it is shown."""

from datetime import datetime
from typing import Any

from django import forms

from competitions.catalog.models import Announcement
from competitions.catalog.texts.announcements import announcement_save
from competitions.organize.steps.common import Moment
from competitions.organize.workspace.editing import EditForm


class AnnouncementForm(EditForm[Announcement]):
    """Text in Markdown. Without a date it is shown as soon as it is saved."""

    published_at = Moment(
        label="Publish at (UTC)",
        required=False,
        help_text="Empty: now. A date that is to come keeps it back until then.",
    )

    class Meta:
        model = Announcement
        fields = ("title", "body", "published_at")
        widgets = {"body": forms.Textarea(attrs={"rows": 12})}
        labels = {"body": "Text"}
        help_texts = {"body": "Markdown, with images of the competition."}

    def publish(self, now: datetime) -> Announcement:
        """Store it as the form says; one that is shown already keeps its date."""
        announcement: Any = self.instance
        announcement.published_at = self.cleaned_data["published_at"] or now
        return announcement_save(announcement=announcement, now=now)
