"""Settings in the organizer's workspace."""

from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from accounts.views import person
from competitions.catalog import publishing
from competitions.catalog.models import Competition, CompetitionOrganizer, SealedUse
from competitions.catalog.organizers import organizer_remove, organizer_set_sealed_right
from competitions.catalog.readiness import competition_warnings
from competitions.organize.building.removal import competition_delete
from competitions.organize.forms import OrganizerForm, PlanForm, VisibilityForm
from competitions.organize.inviting import organizer_invite
from competitions.organize.models import CompetitionDraft
from competitions.organize.refusals import NOT_CONFIRMED
from competitions.organize.views.editing.changes import render_page
from competitions.organize.views.workspace import managed_competition
from competitions.organize.workspace import settings as sections
from competitions.resources.rooms import takes_images
from competitions.submissions.models import Submission
from competitions.web.forms import cleaned

SHOWN_USES: Final = 50  # of the right to see sealed scores, the newest


@takes_images(managed_competition, count=2)
@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest, slug: str) -> HttpResponse:
    """All sections; the one that was sent is saved, or comes back with what is wrong."""
    competition = managed_competition(request, slug)
    if request.method != "POST":
        return _page(request, competition, {})
    section = cleaned(sections.SectionForm(request.POST))["section"]
    form, is_saved = sections.section_save(competition, section, request.POST, request.FILES, by=person(request))
    if not is_saved:
        return _page(request, competition, {section: form}, status=422 if form.is_refused else 200)
    messages.success(request, f"{sections.SECTIONS[section][0]}: saved.")
    return redirect("organize:settings", form.instance.slug)


def _page(
    request: HttpRequest, competition: Competition, sent: dict[str, sections.SettingsForm], status: int = 200
) -> HttpResponse:
    context = {
        "sections": [
            (name, title, sent.get(name) or form(competition, by=person(request), auto_id=f"{name}-%s"))
            for name, (title, form) in sections.SECTIONS.items()
        ],
        "organizers": CompetitionOrganizer.objects.filter(competition=competition)
        .select_related("user")
        .order_by("pk"),
        "invitations": competition.organizer_invitations.all(),
        "sealed_uses": SealedUse.objects.filter(phase__competition=competition).select_related("user", "phase")[
            :SHOWN_USES
        ],
        "draft": CompetitionDraft.objects.filter(competition=competition).first(),
        "warnings": [warning for warning in competition_warnings(competition) if warning.code != "not_published"],
        "plan": PlanForm(),
        "may_delete": not Submission.objects.filter(phase__competition=competition, team__is_baseline=False).exists(),
    }
    return render_page(request, competition, "organize/workspace/settings.html", context, tab="settings", status=status)


@require_POST
def organizers(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask somebody to organize it, take that back, remove an organizer, or let one see sealed scores."""
    competition, user = managed_competition(request, slug), person(request)
    values = cleaned(OrganizerForm(request.POST))
    action = values["action"]
    if action == "add":
        added = organizer_invite(competition=competition, person=values["person"], by=user, now=timezone.now())
        if isinstance(added, CompetitionOrganizer):
            messages.success(request, f"{added.user} organizes this competition now, and is told by mail.")
        else:
            messages.success(request, f"{added.named_as} was asked, and organizes this competition after accepting.")
        return redirect("organize:settings", slug)
    if action == "take_back":
        competition.organizer_invitations.filter(pk=values["invitation"]).delete()
        messages.success(request, "The invitation is taken back.")
        return redirect("organize:settings", slug)
    organizer = get_object_or_404(CompetitionOrganizer, competition=competition, user__username=values["organizer"])
    if action == "remove":
        organizer_remove(organizer=organizer)
        messages.success(request, f"{organizer.user} no longer organizes this competition.")
        if organizer.user_id == user.pk and not user.is_superuser:
            return redirect("organize:start")
    else:
        organizer_set_sealed_right(organizer=organizer, sees=action == "show_sealed", by=user)
        messages.success(request, "Saved.")
    return redirect("organize:settings", slug)


@require_POST
def visibility(request: HttpRequest, slug: str) -> HttpResponse:
    """Publish, now or at an instant, withdraw or delete the competition."""
    competition = managed_competition(request, slug)
    values = cleaned(VisibilityForm(request.POST))
    action = values["action"]
    if action == "publish":
        publishing.competition_publish(competition)
        messages.success(request, f"“{competition}” is published. Everybody sees it now.")
    elif action == "plan":
        at = cleaned(PlanForm(request.POST))["at"]
        publishing.publication_plan(competition, at=at, now=timezone.now())
        messages.success(request, f"“{competition}” will be published at {at:%Y-%m-%d %H:%M} UTC. You will get a mail.")
    elif action == "cancel-plan":
        publishing.publication_cancel(competition)
        messages.success(request, f"“{competition}” stays a draft until you publish it.")
    elif action == "withdraw":
        publishing.competition_withdraw(competition)
        messages.success(request, f"“{competition}” is withdrawn. Only its organizers can see it.")
    else:
        if values["confirm"] != competition.slug:
            raise NOT_CONFIRMED(slug=competition.slug)
        competition_delete(competition, now=timezone.now())
        messages.success(request, f"“{competition}” is deleted.")
        return redirect("organize:start")
    return redirect("organize:settings", slug)
