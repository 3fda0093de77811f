"""Webhooks of a team and of organizers: add one, see what was delivered, test, turn off, delete."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from accounts.views import person, posted
from competitions.catalog.models import Competition
from competitions.notifications.models import CHOSEN_KINDS, TEAM_KINDS, Kind, organizers_label
from competitions.teams.models import Team
from competitions.teams.services import find_team, require_admitted, require_team
from competitions.web.views.competitions import render_tab
from competitions.web.visit import visit
from competitions.webhooks import services
from competitions.webhooks.models import Webhook
from competitions.webhooks.targets import TargetRefused, check_url

SHOWN_MESSAGES: Final = 50


def _kinds_field(kinds: Sequence[tuple[Kind, str]]) -> forms.MultipleChoiceField:
    """A choice among these kinds of messages, each with its label."""
    return forms.MultipleChoiceField(
        label="What about",
        choices=[(kind.value, label) for kind, label in kinds],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Choose none to hear about everything.",
    )


class WebhookForm(forms.Form):
    """The address of an organizers' webhook, and the kinds of messages that it gets."""

    url = forms.URLField(
        label="Address",
        max_length=500,
        assume_scheme="https",
        widget=forms.URLInput(attrs={"placeholder": "https://example.org/podium"}),
        help_text="It gets a POST with JSON, signed as Standard Webhooks says.",
    )
    kinds = _kinds_field([(kind, organizers_label(kind)) for kind in CHOSEN_KINDS])

    def clean_url(self) -> str:
        url = str(self.cleaned_data["url"])
        try:  # its name is looked up when something is sent: a stranger's name server must hold up no page
            check_url(url)
        except TargetRefused as error:
            raise ValidationError(str(error)) from error
        return url

    @property
    def chosen(self) -> list[Kind]:
        return [Kind(kind) for kind in self.cleaned_data["kinds"]]


class TeamWebhookForm(WebhookForm):
    """A webhook of a team, which gets what concerns the whole team."""

    kinds = _kinds_field([(kind, str(kind.label)) for kind in TEAM_KINDS])


class MessageForm(forms.Form):
    """A message to send again."""

    message = forms.IntegerField(min_value=1, max_value=2**63 - 1)


@require_http_methods(["GET", "HEAD", "POST"])
def team_webhooks(request: HttpRequest, slug: str) -> HttpResponse:
    """The webhooks of one's team, and a form to add one."""
    visited = visit(request, slug)
    team = require_team(user=person(request), competition=visited.competition)
    form = TeamWebhookForm(posted(request))
    if request.method == "POST" and form.is_valid():
        return add_webhook(request, form, visited.competition, team)
    context = {"form": form, "webhooks": services.webhooks_for(competition=visited.competition, team=team)}
    response = render_tab(request, visited, "web/teams/webhooks.html", context, tab="team")
    response.status_code = 422 if form.is_bound else 200
    return response


def add_webhook(request: HttpRequest, form: WebhookForm, competition: Competition, team: Team | None) -> HttpResponse:
    """Store it, and lead to its page. Raises `TOO_MANY_WEBHOOKS`."""
    webhook = services.webhook_create(
        competition=competition,
        team=team,
        by=person(request),
        url=form.cleaned_data["url"],
        kinds=form.chosen,
        now=timezone.now(),
    )
    messages.success(request, "The webhook is added. Send a test to see that it arrives.")
    return redirect("web:webhook", webhook.key)


@require_safe
def webhook(request: HttpRequest, key: UUID) -> HttpResponse:
    """One webhook with its signing key and what was delivered."""
    webhook = _mine(request, key)
    context = {
        "webhook": webhook,
        "competition": webhook.competition,
        "back": _back(webhook),
        "rows": webhook.messages.all()[:SHOWN_MESSAGES],
    }
    return render(request, "web/teams/webhook.html", context)


@require_http_methods(["POST"])
def webhook_act(request: HttpRequest, key: UUID, action: str) -> HttpResponse:
    """Test, turn off or on, replace the key, send a message again, delete."""
    webhook = _mine(request, key)
    if action == "delete":
        back = _back(webhook)
        webhook.delete()
        messages.success(request, "The webhook is deleted.")
        return redirect(back)
    messages.success(request, _act(request, webhook, action))
    return redirect("web:webhook", key)


def _act(request: HttpRequest, webhook: Webhook, action: str) -> str:
    """Do it, and say what was done."""
    now = timezone.now()
    match action:
        case "test":
            services.webhook_test(webhook=webhook, now=now)
            return "A test is on its way; this page shows what becomes of it."
        case "stop":
            services.webhook_stop(webhook=webhook, now=now)
            return "The webhook is turned off."
        case "resume":
            services.webhook_resume(webhook=webhook, by=person(request))
            return "The webhook is turned on."
        case "replace-key":
            services.secret_replace(webhook=webhook)
            return "The signing key is new. The old one no longer works."
        case "resend":
            form = MessageForm(request.POST)
            number = form.cleaned_data["message"] if form.is_valid() else 0
            services.message_resend(message=get_object_or_404(webhook.messages, pk=number), now=now)
            return "The message is sent again."
    raise Http404


def _mine(request: HttpRequest, key: UUID) -> Webhook:
    """A webhook of the asker's team, or of a competition that they organize; any other does not exist.

    Raises why the asker is not admitted, where it is their team's.
    """
    user = person(request)
    webhook = get_object_or_404(Webhook.objects.select_related("competition", "team"), key=key)
    if webhook.team_id is not None:
        team = find_team(user, webhook.competition)
        is_mine = team is not None and team.pk == webhook.team_id
        if is_mine:
            require_admitted(user=user, competition=webhook.competition)
    else:
        is_mine = Competition.objects.managed_by(user).filter(pk=webhook.competition_id).exists()
    if not is_mine:
        raise Http404
    return webhook


def _back(webhook: Webhook) -> str:
    """The page that lists it."""
    name = "web:team-webhooks" if webhook.team_id is not None else "organize:webhooks"
    return reverse(name, args=[webhook.competition.slug])
