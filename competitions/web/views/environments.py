"""The page of a team's weights and images, with a form for the next version."""

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from accounts.views import person
from competitions.environments import services
from competitions.environments.models import EnvironmentFile
from competitions.resources.rooms import takes_uploads
from competitions.resources.uploads import take_upload
from competitions.web.forms import EnvironmentFileForm, cleaned
from competitions.web.refusals import back_to_form, entered_values, wants_json
from competitions.web.views.competitions import render_tab
from competitions.web.visit import visit
from core.refusals import Refusal


@require_safe
def environment(request: HttpRequest, slug: str) -> HttpResponse:
    """The team's weights and images, newest versions first, and the kinds that it may upload."""
    visited = visit(request, slug)
    team_id = visited.facts.team_id
    files = EnvironmentFile.objects.filter(team=team_id).select_related("uploaded_by") if team_id else []
    context = {
        "files": files,
        "kinds": services.kinds_accepted(visited.phases),
        "takes_requirements": [phase for phase in visited.phases if phase.own_requirements],
        "queue": visited.competition.queue,
        "entered": entered_values(request),
        "room": services.environment_room(team_id) if team_id else None,
    }
    return render_tab(request, visited, "web/teams/environment.html", context, tab="team")


@takes_uploads(visit, limit=lambda: settings.ENVIRONMENT_FILE_MAX_BYTES)
@require_POST
def environment_add(request: HttpRequest, slug: str) -> HttpResponse:
    """Take a finished upload, or the file in the form, as the next version of a name."""
    visited, user = visit(request, slug), person(request)
    url = reverse("web:environment", args=[slug])
    try:
        values = cleaned(EnvironmentFileForm(request.POST, request.FILES))
        upload = take_upload(user, values["file"], visited.now, key=values["upload"], is_environment=True)
        environment_file = services.environment_file_add(
            user=user,
            competition=visited.competition,
            kind=EnvironmentFile.Kind(values["kind"]),
            name=values["name"],
            upload=upload,
            now=timezone.now(),
        )
    except Refusal as refusal:
        return back_to_form(request, refusal, url)
    if wants_json(request):
        return JsonResponse({"url": url}, status=201)
    messages.success(request, f"{environment_file.reference} was received and is being checked.")
    return redirect(url)


@require_POST
def environment_remove(request: HttpRequest, key: UUID) -> HttpResponse:
    """Remove one file; its name and digest stay on record."""
    user = person(request)
    file = get_object_or_404(services.own_environment_files(user).select_related("team__competition"), key=key)
    services.environment_file_remove(file=file, note=f"Removed by {user}.")
    messages.success(request, f"{file.reference} was removed.")
    return redirect("web:environment", file.team.competition.slug)
