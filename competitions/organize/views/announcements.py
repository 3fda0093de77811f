"""Announcements and mail in the organizer's workspace."""

import uuid
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from accounts.views import person, posted
from competitions.catalog.models import Announcement, Competition
from competitions.catalog.texts.announcements import announcement_save, announcement_withdraw
from competitions.notifications.services import with_inbox
from competitions.organize.editing.change_form import EditForm
from competitions.organize.forms import SendForm
from competitions.organize.models import OrganizersMail
from competitions.organize.steps.common import Moment
from competitions.organize.views.editing.changes import render_page
from competitions.organize.views.workspace import managed_competition
from competitions.organize.workspace.mails import MAILS_A_DAY, MailForm, mail_send, recipients
from competitions.teams.notices import registered_people
from competitions.web.visit import visit

SHOWN_MAILS = 20


@require_safe
def announcements(request: HttpRequest, slug: str) -> HttpResponse:
    """All of them: shown, planned and withdrawn."""
    competition = managed_competition(request, slug)
    rows = Announcement.objects.filter(competition=competition)
    context = {"announcements": rows, "now": timezone.now()}
    return render_page(request, competition, "organize/messages/announcements.html", context, tab="announcements")


@require_http_methods(["GET", "HEAD", "POST"])
def announcement(request: HttpRequest, slug: str, number: int | None = None) -> HttpResponse:
    """Write or change one; a preview shows it as readers will see it and stores nothing."""
    competition = managed_competition(request, slug)
    with transaction.atomic():
        row = _row(competition, number, for_update=request.method == "POST")
        if row.pk and request.POST.get("action") == "withdraw":
            announcement_withdraw(announcement=row, now=timezone.now())
            messages.success(request, f"“{row.title}” is withdrawn.")
            return redirect("organize:announcements", slug)
        form = AnnouncementForm(posted(request), instance=row)
        if request.method == "POST" and form.is_valid() and request.POST.get("action") != "preview":
            saved = form.publish(timezone.now())
            shown = "is published" if saved.published_at <= timezone.now() else "is planned"
            messages.success(request, f"“{saved.title}” {shown}.")
            return redirect("organize:announcements", slug)
    readers = with_inbox(registered_people(competition)).count() if row.announced_at is None else 0
    context: dict[str, object] = {"form": form, "announcement": row, "readers": readers}
    if request.method == "POST" and form.is_valid():
        context |= {"preview": form.cleaned_data, "visit": visit(request, slug)}
    status = 200 if form.is_valid() or not form.is_bound else 422
    template = "organize/messages/announcement.html"
    return render_page(request, competition, template, context, tab="announcements", status=status)


def _row(competition: Competition, number: int | None, *, for_update: bool) -> Announcement:
    if number is None:
        return Announcement(competition=competition)
    rows = Announcement.objects.filter(competition=competition)
    return get_object_or_404(rows.select_for_update() if for_update else rows, pk=number)


@require_http_methods(["GET", "HEAD", "POST"])
def mail(request: HttpRequest, slug: str) -> HttpResponse:
    """Write a mail, see to how many people it goes, and send it; what was sent is below."""
    competition = managed_competition(request, slug)
    form = MailForm(competition, posted(request), request.GET.getlist("team"))
    if request.method == "POST" and form.is_valid() and request.POST.get("action") != "change":
        return _send(request, competition, form)
    context = {
        "form": form,
        "limit": MAILS_A_DAY,
        "mails": OrganizersMail.objects.filter(competition=competition).select_related("author", "phase")[:SHOWN_MAILS],
    }
    status = 422 if form.errors else 200
    return render_page(request, competition, "organize/messages/mail.html", context, tab="mail", status=status)


def _send(request: HttpRequest, competition: Competition, form: MailForm) -> HttpResponse:
    """Show what goes to how many people; the second time, send it."""
    values = form.cleaned_data
    sent = SendForm(request.POST)
    if request.POST.get("action") == "send" and sent.is_valid():
        key = sent.cleaned_data["key"]
        mail_send(competition=competition, author=person(request), key=key, values=dict(values), now=timezone.now())
        messages.success(request, "The mail is on its way.")
        return redirect("organize:mail", competition.slug)
    people = recipients(competition, values["audience"], values["phase"], values["teams"])
    context = {
        "form": form,
        "mail": values,
        "count": people.count(),
        "audience": dict(OrganizersMail.Audience.choices)[values["audience"]],
        "key": uuid.uuid4(),
    }
    return render_page(request, competition, "organize/messages/mail_confirm.html", context, tab="mail")


class AnnouncementForm(EditForm[Announcement]):
    """Text in Markdown. Without a date it is shown as soon as it is saved."""

    published_at = Moment(
        label="Publish at (UTC)",
        required=False,
        help_text="Leave empty to publish it now. With a date in the future it is held back until then.",
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
