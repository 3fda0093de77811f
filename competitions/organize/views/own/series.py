"""An organizer's series: competitions that belong together."""

from functools import partial

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_http_methods, require_safe

from accounts.views import person
from competitions.organize.editing.series import SeriesForm, own_series, remove_series, series_deletion
from competitions.organize.hosts import require_host
from competitions.organize.views.changes import change_page, delete_page, render_page


@require_safe
def series_list(request: HttpRequest) -> HttpResponse:
    """The asker's series with their tracks."""
    user = person(request)
    require_host(user)
    rows = own_series(user).prefetch_related("tracks")
    return render_page(request, None, "organize/own/series.html", {"rows": rows}, tab="series")


@require_http_methods(["GET", "HEAD", "POST"])
def series(request: HttpRequest, slug: str = "") -> HttpResponse:
    """Change a series, or add one."""
    user = person(request)
    require_host(user)
    before = get_object_or_404(own_series(user), slug=slug) if slug else None

    def make(data: QueryDict | None) -> SeriesForm:
        rows = own_series(user).select_for_update() if data else own_series(user)
        return SeriesForm(data, by=user, instance=None if before is None else get_object_or_404(rows, pk=before.pk))

    return change_page(request, make, tab="series", title=f"Series “{before.title}”" if before else "New series")


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, slug: str) -> HttpResponse:
    """Say what goes with a series, then delete it."""
    chosen = get_object_or_404(own_series(person(request)), slug=slug)
    deletion = series_deletion(chosen)
    return delete_page(request, None, tab="series", deletion=deletion, delete=partial(remove_series, chosen))
