"""An organizer's series: competitions that belong together."""

from datetime import datetime
from typing import ClassVar

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.utils.text import slugify
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import User
from accounts.views import person
from competitions.catalog.models import Series
from competitions.catalog.organizers import require_host
from competitions.organize.editing.change_form import ChangeForm
from competitions.organize.editing.deletions import Deletion
from competitions.organize.views.editing.changes import change_page, delete_page, render_page
from files.text import free_name


def own_series(user: User) -> QuerySet[Series]:
    """The rows that this person may change; all of them for an administrator."""
    return Series.objects.all() if user.is_superuser else Series.objects.filter(owner=user)


class SeriesForm(ChangeForm):
    """Title, address and text of a series."""

    class Meta:
        model = Series
        fields = ("title", "slug", "subtitle", "description")
        labels: ClassVar[dict[str, str]] = {"slug": "Address", "subtitle": "In one line"}
        help_texts: ClassVar[dict[str, str]] = {
            "slug": "The last part of its address: /series/…/. Leave empty to have it made from the title."
        }
        widgets: ClassVar[dict[str, object]] = {"description": forms.Textarea(attrs={"rows": 6})}

    def __init__(self, data: QueryDict | None = None, *, by: User, instance: Series | None = None) -> None:
        super().__init__(data, instance=instance or Series(owner=by))
        self.fields["slug"].required = False

    def clean(self) -> dict[str, object]:
        cleaned = super().clean()
        if not cleaned.get("slug") and "slug" not in self.errors:
            base = slugify(str(cleaned.get("title", "")))[:40].strip("-") or "series"
            taken = set(Series.objects.filter(slug__startswith=base).values_list("slug", flat=True))
            cleaned["slug"] = self.instance.slug or free_name(base, taken)
        return cleaned

    def write(self, now: datetime) -> Series:
        series: Series = self.instance
        series.full_clean()
        series.save()
        return series


def series_deletion(series: Series) -> Deletion:
    """The consequences of deleting a series for its tracks."""
    tracks = series.tracks.count()
    stay = f"{tracks} competition{' stays' if tracks == 1 else 's stay'}, and no longer say that they belong together."
    return Deletion(f"the series “{series.title}”", (stay,) if tracks else (), ())


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
    return delete_page(request, None, chosen, series_deletion, tab="series")
