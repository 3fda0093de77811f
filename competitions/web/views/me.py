"""A person's own page."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from competitions.web.presentation.me import me_content
from competitions.web.views.teams import person


@require_safe
@login_required
def me(request: HttpRequest) -> HttpResponse:
    """Competitions, deadlines, invitations, runs in progress, notifications and tokens of whoever asks."""
    me = me_content(person(request), timezone.now())
    return render(request, "web/me/me.html", {"me": me, "home": me.waiting, "unread_count": me.unread})
