"""The sitemap for search engines: pages of competitions that everybody sees."""

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import AnonymousUser
from django.contrib.sitemaps import Sitemap
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from competitions.catalog.models import Competition


class CompetitionPages(Sitemap[Competition]):
    """One of the pages of each competition."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.page = page

    def items(self) -> QuerySet[Competition]:
        return Competition.objects.visible_to(AnonymousUser()).order_by("pk")

    def location(self, item: Competition) -> str:
        return reverse(f"web:{self.page}", args=[item.slug])


SITEMAPS = {page: CompetitionPages(page) for page in ("overview", "data", "rules", "leaderboard")}
ROBOTS = """User-agent: *
Disallow: /admin/
Disallow: /api/
Disallow: /accounts/
Sitemap: {site}/sitemap.xml
"""


@login_not_required
@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    return HttpResponse(ROBOTS.format(site=settings.SITE_URL), content_type="text/plain; charset=utf-8")
