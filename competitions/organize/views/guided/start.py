"""The first page of hosting: ways to begin, drafts, and how to ask for it."""

from datetime import datetime

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from accounts.second_factor import lacks_second_factor
from accounts.views import person
from competitions.catalog.models import Competition
from competitions.catalog.organizers import may_host
from competitions.organize import hosts
from competitions.organize.drafts import draft_begin
from competitions.organize.inviting import SECOND_FACTOR_FIRST, invitation_accept, invitations_to
from competitions.organize.models import CompetitionDraft, HostRequest
from competitions.organize.steps.paths import draft_path
from competitions.web.forms import cleaned
from competitions.web.presentation.timeline import Deadline, next_deadline


class BeginForm(forms.Form):
    start = forms.ChoiceField(choices=CompetitionDraft.Start.choices)


class AnswerForm(forms.Form):
    answer = forms.ChoiceField(choices=[("accept", "Accept"), ("decline", "Decline")])


class RequestForm(forms.Form):
    purpose = forms.CharField(
        label="What do you want to host?",
        min_length=10,
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="A course, a challenge of your group, a benchmark: a sentence or two is enough.",
    )


def _organized(user: User, now: datetime) -> list[tuple[Competition, Deadline | None, bool]]:
    """The person's competitions, each with its next date and with whether a phase is open."""
    shown = Competition.objects.filter(organizers=user).prefetch_related("phases")[:100]
    phases = [(competition, list(competition.phases.all())) for competition in shown]
    return [
        (competition, next_deadline(own, now), any(phase.is_open(now) for phase in own)) for competition, own in phases
    ]


@require_safe
def start(request: HttpRequest) -> HttpResponse:
    user = person(request)
    host_request = HostRequest.objects.filter(user=user).first()
    context = {
        "may_host": may_host(user),
        "may_ask": hosts.may_ask(user),
        "asked": host_request,
        "form": RequestForm(),
        "invitations": invitations_to(user),
        "second_factor_first": SECOND_FACTOR_FIRST if lacks_second_factor(user, organizes=True) else "",
        "drafts": CompetitionDraft.objects.open_to(user).select_related("competition"),
        "organized": _organized(user, timezone.now()),
    }
    return render(request, "organize/guided/start.html", context)


@require_POST
def begin(request: HttpRequest) -> HttpResponse:
    """A new draft, and its first step."""
    chosen = CompetitionDraft.Start(cleaned(BeginForm(request.POST))["start"])
    draft = draft_begin(owner=person(request), start=chosen, now=timezone.now())
    return redirect("organize:step", draft.key, draft_path(draft)[0].slug)


@require_POST
def invitation(request: HttpRequest, pk: int) -> HttpResponse:
    """Accept or decline an invitation to organize a competition."""
    chosen = get_object_or_404(invitations_to(person(request)), pk=pk)
    if cleaned(AnswerForm(request.POST))["answer"] == "accept":
        competition = invitation_accept(invitation=chosen, by=person(request))
        messages.success(request, f"You organize “{competition}” now.")
        return redirect("organize:overview", competition.slug)
    chosen.delete()
    messages.success(request, f"You declined to organize “{chosen.competition}”.")
    return redirect("organize:start")


@require_POST
def ask(request: HttpRequest) -> HttpResponse:
    """Ask the administrators for the right to host."""
    purpose = cleaned(RequestForm(request.POST))["purpose"]
    hosts.host_request(user=person(request), purpose=purpose, now=timezone.now())
    messages.success(request, "You have asked to host competitions. An administrator decides, and you will get a mail.")
    return redirect("organize:start")
