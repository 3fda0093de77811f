"""The inbox, what is mailed of it, and the links in mails that stop them."""

from html import unescape
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.core.signing import BadSignature
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from accounts.views import person, posted
from competitions.catalog.models import Competition, Format
from competitions.notifications import services
from competitions.notifications.mails import OptOut, opt_out, read_opt_out
from competitions.notifications.models import CHOSEN_KINDS, Delivery, Kind, Notification
from competitions.teams.models import Registration
from competitions.web.feeds import calendar_url
from core.markup.bounded import rendered
from files.markup import no_images

PAGE_ROWS: Final = 30
DETAIL_READ: Final = 2000  # characters of an announcement of which the inbox shows the beginning
AS_EVERYWHERE: Final = "as_everywhere"
WHEN: Final = {Delivery.AT_ONCE: "at once", Delivery.DIGEST: "daily", Delivery.NONE: "never"}


class OlderForm(forms.Form):
    """A page of the inbox: the notifications before this one."""

    before = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)


class ReadForm(forms.Form):
    """The newest notification that the person had been shown."""

    up_to = forms.IntegerField(min_value=1, max_value=2**63 - 1)


class PreferencesForm(forms.Form):
    """One choice for each kind of notification; for one competition also the choice that is made for all."""

    def __init__(self, *args: Any, user: User, competition: Competition | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        general, own = services.stored_preferences(user, None), services.stored_preferences(user, competition)
        for kind in CHOSEN_KINDS:
            usual = general.get(kind, services.DEFAULTS[kind])
            choices = [*WHEN.items(), *([(AS_EVERYWHERE, f"as for all: {WHEN[usual]}")] if competition else [])]
            self.fields[kind.value] = forms.ChoiceField(
                label=kind.label,
                choices=choices,
                widget=forms.RadioSelect,
                initial=own.get(kind, AS_EVERYWHERE) if competition else usual,
            )

    @property
    def chosen(self) -> dict[Kind, Delivery | None]:
        return {Kind(name): Delivery(value) if value in Delivery else None for name, value in self.cleaned_data.items()}


@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    """The person's notifications, newest first."""
    older = OlderForm(request.GET)
    before = older.cleaned_data["before"] if older.is_valid() else None
    rows = Notification.objects.filter(user=person(request)).select_related("competition")
    if before:
        rows = rows.filter(pk__lt=before)
    shown = list(rows[: PAGE_ROWS + 1])
    more = services.details(shown[:PAGE_ROWS], person(request), timezone.now())
    context = {
        "rows": [(row, _subject(row), _words(row, more.get(row.pk, ""))) for row in shown[:PAGE_ROWS]],
        "newest": shown[0].pk if shown else None,
        "is_newest": not before,
        "older": shown[PAGE_ROWS - 1].pk if len(shown) > PAGE_ROWS else None,
        "has_unread": services.unread_count(person(request)) > 0,
    }
    return render(request, "web/me/notifications.html", context)


def _subject(row: Notification) -> str:
    """The subject without the competition's name, which the row has below."""
    return row.subject.removeprefix(f"{row.competition}: ") if row.competition else row.subject


def _words(row: Notification, detail: str) -> str:
    """The detail without marks of Markdown, in which announcements are written."""
    if row.kind != Kind.ANNOUNCEMENT:
        return detail
    html = rendered(detail[:DETAIL_READ], Format.MARKDOWN).shown(no_images)
    return "\n".join(line for line in unescape(strip_tags(html)).splitlines() if line.strip())


@require_safe
def follow(request: HttpRequest, pk: int) -> HttpResponse:
    """Go to the page that a notification is about, and mark it as read."""
    notification = get_object_or_404(Notification, pk=pk, user=person(request))
    services.mark_one_read(notification=notification, now=timezone.now())
    return redirect(notification.path)


@require_POST
def read(request: HttpRequest) -> HttpResponse:
    """Mark everything as read that the page had shown, and what is older."""
    form = ReadForm(request.POST)
    if form.is_valid():
        services.mark_read(user=person(request), now=timezone.now(), up_to=form.cleaned_data["up_to"])
    return redirect("web:notifications")


@require_http_methods(["GET", "HEAD", "POST"])
def preferences(request: HttpRequest) -> HttpResponse:
    """Choices of mails, for all competitions or for the one that `?competition=` names."""
    user = person(request)
    joined = Competition.objects.filter(pk__in=Registration.objects.filter(user=user).values("competition"))
    slug = request.GET.get("competition", "")
    competition = get_object_or_404(joined, slug=slug) if slug else None
    form = PreferencesForm(posted(request), user=user, competition=competition)
    if request.method == "POST" and form.is_valid():
        services.preferences_set(user=user, competition=competition, chosen=form.chosen)
        messages.success(request, "Saved.")
        return redirect(request.get_full_path())
    context = {
        "form": form,
        "competition": competition,
        "competitions": joined.order_by("title"),
        "calendar": calendar_url(user),
    }
    return render(request, "web/me/preferences.html", context, status=422 if form.is_bound else 200)


@login_not_required
@csrf_exempt  # mail programs post here by themselves; the signature says whose mails, and nothing else can be done with it
@require_http_methods(["GET", "HEAD", "POST"])
def stop(request: HttpRequest, token: str) -> HttpResponse:
    """Stop the mails that a signed link names, on POST alone: scanners of mail open links, too."""
    mails = _signed_mails(token)
    if request.method == "POST" and not opt_out(mails=mails):
        raise Http404
    context = {
        "kind": mails.kind,
        "is_done": request.method == "POST",
        "choices": reverse("web:notification-preferences"),
    }
    return render(request, "web/me/stop.html", context)


def _signed_mails(token: str) -> OptOut:
    try:
        return read_opt_out(token)
    except BadSignature as error:
        raise Http404 from error
