"""The public page of a person who switched it on."""

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.profiles import public_profile
from competitions.people.public import public_record


@login_not_required
@require_safe
def profile_page(request: HttpRequest, username: str) -> HttpResponse:
    """A profile; one that is off, and that of nobody, do not exist alike."""
    profile = public_profile(username)
    if profile is None:
        raise Http404
    context = {"profile": profile, "record": public_record(profile, timezone.now())}
    response = render(request, "web/people/profile.html", context)
    if not profile.is_indexed:
        response.headers["X-Robots-Tag"] = "noindex"
    return response
