"""Teams and registrations in the organizer's workspace."""

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.views import person
from competitions.catalog.models import Competition
from competitions.disclosure.readers import Reader, reader_for
from competitions.environments.models import EnvironmentFile
from competitions.environments.services import environment_file_remove
from competitions.organize.editing.change_form import CompetitionForm
from competitions.organize.forms import BulkForm, list_page, ticked
from competitions.organize.views.editing.changes import change_page, render_page
from competitions.organize.views.workspace import managed_competition
from competitions.organize.workspace import registrations as registration_list
from competitions.organize.workspace import teams as team_list
from competitions.organize.workspace.registrations import registrations_csv
from competitions.organize.workspace.submissions import submission_rows
from competitions.submissions.models import Submission
from competitions.teams.models import Registration, Team
from competitions.teams.refusals import TeamNameInvalid, TeamNameTaken
from competitions.teams.services import team_save
from competitions.web.forms import cleaned
from core.spreadsheets import csv_download

SHOWN_SUBMISSIONS = 10  # the newest, on a team's page


class TeamForm(CompetitionForm):
    """A team's name, and whether it is a baseline."""

    class Meta:
        model = Team
        fields = ("name", "is_baseline")
        labels: ClassVar[dict[str, str]] = {"is_baseline": "Baseline"}
        help_texts: ClassVar[dict[str, str]] = {"name": "Boards and the team's own pages show it from then on."}

    def write(self, now: datetime) -> Team:
        team: Team = self.instance
        try:
            team_save(team=team)
        except (TeamNameInvalid, TeamNameTaken) as refusal:
            raise ValidationError({"name": refusal.detail}) from refusal
        return team


def _reader(request: HttpRequest) -> Reader:
    return reader_for(person(request), timezone.now())


@require_http_methods(["GET", "HEAD", "POST"])
def teams(request: HttpRequest, slug: str) -> HttpResponse:
    """The competition's teams, filtered by the address; disqualify or reinstate those ticked."""
    competition = managed_competition(request, slug)
    if request.method == "POST":
        return _act_on_teams(request, competition)
    form, best = _filtered_teams(request, competition)
    shown, following = list_page(request, form.narrowed(best))
    context = {
        "form": form,
        "best": best,
        "rows": [(team, team_list.best_score(team, best)) for team in shown],
        "actions": [
            *((name, words) for name, (words, _) in team_list.ACTIONS.items()),
            (team_list.MAIL, "Write a mail"),
        ],
        "following": following,
    }
    return render_page(request, competition, "organize/teams/teams.html", context, tab="teams")


def _filtered_teams(
    request: HttpRequest, competition: Competition
) -> tuple[team_list.TeamFilter, team_list.BestColumn | None]:
    form = team_list.TeamFilter(competition, request.GET)
    return form, team_list.best_column(competition, form.cleaned_data.get("phase"), _reader(request))


def _act_on_teams(request: HttpRequest, competition: Competition) -> HttpResponse:
    values = cleaned(BulkForm(request.POST, actions=(*team_list.ACTIONS, team_list.MAIL)))
    rows = Team.objects.filter(competition=competition, merged_into=None)
    action, chosen = values["action"], ticked(rows, values["chosen"], "team")
    if action == team_list.MAIL:
        query = urlencode({"team": [team.pk for team in chosen]}, doseq=True)
        return redirect(f"{reverse('organize:mail', args=[competition.slug])}?{query}")
    count = team_list.act_on_teams(chosen, action, reason=values["reason"], now=timezone.now())
    messages.success(request, f"{count} of {len(chosen)} {team_list.ACTIONS[action][1]}.")
    return redirect("organize:teams", competition.slug)


@require_safe
def teams_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The teams that the address asks for, all of them, as a file."""
    competition = managed_competition(request, slug)
    form, best = _filtered_teams(request, competition)
    return csv_download(team_list.team_lines(form.narrowed(best), best), f"{slug}-teams")


@require_http_methods(["GET", "HEAD", "POST"])
def team(request: HttpRequest, slug: str, team: UUID) -> HttpResponse:
    """One team: its people with what they answered, what it sent in, and what became of it."""
    competition = managed_competition(request, slug)
    shown = get_object_or_404(Team.objects.select_related("captain", "merged_into"), competition=competition, key=team)
    if request.method == "POST":
        values = cleaned(BulkForm(request.POST, actions=team_list.ACTIONS))
        chosen = ticked(Team.objects.filter(competition=competition, merged_into=None), [shown.pk], "team")
        team_list.act_on_teams(chosen, values["action"], reason=values["reason"], now=timezone.now())
        messages.success(request, f"“{shown}” is {team_list.ACTIONS[values['action']][1]}.")
        return redirect("organize:team", slug, team)
    sent = Submission.objects.filter(team=shown).select_related("team", "phase__competition", "submitted_by")
    people = Registration.objects.filter(competition=competition, user__memberships__team=shown)
    context = {
        "team": shown,
        "people": registration_list.registration_rows(
            competition, list(people.select_related("user", "rules_version", "decided_by"))
        ),
        "submissions": submission_rows(list(sent.order_by("-pk")[:SHOWN_SUBMISSIONS]), _reader(request)),
        "history": team_list.team_history(shown),
        "files": shown.environment_files.order_by("kind", "name", "-version"),
    }
    return render_page(request, competition, "organize/teams/team.html", context, tab="teams")


@require_http_methods(["GET", "HEAD", "POST"])
def team_settings(request: HttpRequest, slug: str, team: UUID) -> HttpResponse:
    """Rename a team, or mark it as a baseline."""
    competition = managed_competition(request, slug)
    rows = Team.objects.filter(competition=competition, merged_into=None, key=team)
    before = get_object_or_404(rows)

    def make(data: QueryDict | None) -> TeamForm:
        return TeamForm(
            competition, data, instance=get_object_or_404(rows.select_for_update(no_key=True) if data else rows)
        )

    return change_page(request, make, tab="teams", title=f"Team “{before.name}”")


@require_POST
def team_file_remove(request: HttpRequest, slug: str, key: UUID) -> HttpResponse:
    """Take away a file that a team brought for its code."""
    rows = EnvironmentFile.objects.filter(team__competition=managed_competition(request, slug)).select_related("team")
    file = get_object_or_404(rows, key=key)
    environment_file_remove(file=file, note=f"Removed by {person(request)}.")
    messages.success(request, f"{file.reference} was removed. Its name and digest stay.")
    return redirect("organize:team", slug, file.team.key)


@require_http_methods(["GET", "HEAD", "POST"])
def registrations(request: HttpRequest, slug: str) -> HttpResponse:
    """Registrations, narrowed by the address; those that are ticked are approved or denied."""
    competition = managed_competition(request, slug)
    if request.method == "POST":
        _decide(request, competition)
        return redirect("organize:registrations", slug)
    form = registration_list.RegistrationFilter(request.GET)
    shown, following = list_page(request, form.narrowed(competition))
    context = {
        "form": form,
        "rows": registration_list.registration_rows(competition, shown),
        "actions": [(name, words) for name, (words, _) in registration_list.ACTIONS.items()],
        "following": following,
    }
    return render_page(request, competition, "organize/teams/registrations.html", context, tab="registrations")


def _decide(request: HttpRequest, competition: Competition) -> None:
    values = cleaned(BulkForm(request.POST, actions=registration_list.ACTIONS))
    rows = Registration.objects.filter(competition=competition).select_related("user", "competition")
    action, chosen = values["action"], ticked(rows, values["chosen"], "registration")
    count = registration_list.decide(chosen, action, reason=values["reason"], by=person(request), now=timezone.now())
    messages.success(request, f"{count} of {len(chosen)} {registration_list.ACTIONS[action][1]}, and told by mail.")


@require_safe
def registrations_file(request: HttpRequest, slug: str) -> HttpResponse:
    """The registrations that the address asks for, with their answers, as a file."""
    competition = managed_competition(request, slug)
    return registrations_csv(registration_list.RegistrationFilter(request.GET).narrowed(competition))
