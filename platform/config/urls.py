"""Every URL of the site."""

from allauth.account.decorators import secure_admin_login
from allauth.socialaccount.models import SocialApp, SocialToken
from allauth.socialaccount.views import login_error
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.contrib.sitemaps.views import sitemap
from django.urls import include, path
from django.views.decorators.cache import cache_page

from competitions.codabench_api.uploads import DatasetDownload
from competitions.mcp.views import Mcp
from competitions.web.site_files import SITEMAPS, llms, robots, skill
from config import metrics
from config.styleguide import styleguide

SITEMAP_S = 3600
admin.autodiscover()
admin.site.unregister([SocialApp, SocialToken])  # providers are settings, and their tokens are not kept
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
admin.site.site_header = "Podium administration"
admin.site.site_title = "Podium"
admin.site.index_title = "Site administration"

login_not_required(login_error)  # whoever sees it could not sign in

urlpatterns = [
    path("metrics", metrics.metrics, name="metrics"),
    path("admin/", admin.site.urls),
    path("accounts/", include("allauth.urls")),
    path("profile/", include("accounts.urls")),
    path("api/worker/v1/", include("competitions.runs.worker_api.urls")),
    path("api/v1/", include("competitions.api.urls")),
    path("api/", include("competitions.codabench_api.urls")),
    path("datasets/download/<uuid:key>/", DatasetDownload.as_view(), name="dataset-download"),
    path("mcp", Mcp.as_view(), name="mcp"),
    path("host/", include("competitions.organize.urls")),
    path("sitemap.xml", login_not_required(cache_page(SITEMAP_S)(sitemap)), {"sitemaps": SITEMAPS}, name="sitemap"),
    path("robots.txt", robots, name="robots"),
    path("llms.txt", llms, name="llms"),
    path("skill.md", skill, name="skill"),
    path("", include("competitions.web.urls")),
]
if settings.SHOW_STYLEGUIDE:
    urlpatterns.append(path("styleguide/", styleguide, name="styleguide"))
handler400 = "competitions.web.refusals.bad_request"
handler404 = "competitions.web.refusals.not_found"
handler403 = "competitions.web.refusals.forbidden"
handler429 = "competitions.web.refusals.too_many_requests"  # allauth calls it
handler500 = "competitions.web.refusals.server_error"
