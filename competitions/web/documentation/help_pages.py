"""The page of the docs that belongs to each page of the site: one table."""

from functools import cache
from typing import Final

from django.http import HttpRequest
from django.urls import reverse

INDEX: Final = ""
# Page of the docs, and heading on it -> names of views, or their beginnings where they end with `*`. The longest one decides.
HELP: Final[dict[str, tuple[str, ...]]] = {
    INDEX: ("web:docs*", "sitemap", "robots", "web:brand-*", "web:legal", "styleguide"),
    "administrators": ("admin:*", "metrics"),
    "administrators#a-public-demo": ("web:demo*",),
    "agents": ("mcp", "llms", "skill", "web:overview-markdown", "web:page-markdown", "web:own-page-markdown"),
    "participants#your-public-profile": ("accounts:public", "web:person", "web:person-report"),
    "participants#blocking-people": ("web:blocks", "web:person-block"),
    "participants#your-data": ("web:own-data*",),
    "participants#deleting-your-account": ("web:account-delete*",),
    "organizers#phases-in-the-admin": ("admin:catalog_phase_*",),
    "participants#take-part": (
        "web:index", "web:competitions", "web:series", "web:me", "web:overview", "web:rules", "web:page", "web:join", "web:logo",
        "web:cover", "web:image", "web:discourse",
    ),
    "participants#your-team": ("web:team*", "web:link*", "web:invitation-*", "web:public-team"),
    "participants#merging-teams": ("web:merge-*", "web:team-merge"),
    "participants#final-submissions": ("web:finals",),
    "participants#notifications": ("web:notification*",),
    "participants#feeds-and-calendars": ("web:calendar", "web:competition-calendar", "web:announcement-feed", "web:leader-feed"),
    "participants#webhooks": ("web:webhook*", "web:team-webhooks"),
    "participants#your-account": (
        "account_*", "mfa_*", "socialaccount_*", "social/*", "github_*", "orcid_*", "openid_connect_*",
        "accounts:profile",
    ),
    "participants#from-the-command-line-and-from-python": ("accounts:token-*",),
    "participants#discuss": ("web:discussion*", "web:topic*", "web:post-*"),
    "participants#submit": ("web:data", "web:download", "web:submissions", "web:own-submissions-csv", "web:submit", "web:submission-look"),
    "participants#states-and-verdicts": ("web:submission*",),
    "participants#the-fact-sheet": ("web:submission-fact-sheet",),
    "participants#the-leaderboard": (
        "web:leaderboard*", "web:history", "web:embed", "web:costs", "web:entry*", "web:badge",
        "web:snapshot*", "web:signing-key",
    ),
    "participants#results-and-certificates": ("web:results", "web:certificate*"),
    "participants#if-you-are-among-the-winners": ("web:winners*",),
    "how-sure-is-a-board": ("web:uncertainty",),
    "sealing-and-winners#freeze-commitment-reveal": ("web:manifest", "web:shake-up", "web:reveal"),
    "sealing-and-winners#the-winners-lane": ("organize:winners",),
    "environments": ("web:environment*", "organize:team-file-remove"),
    "organizers#how-it-is-run-for-those-who-review-it": ("web:conduct*",),
    "organizers#changing-the-scoring-while-a-competition-runs": ("web:change*", "organize:proposal*"),
    "organizers#from-a-table-to-a-competition-in-ten-minutes": (
        "organize:start", "organize:begin", "organize:ask", "organize:attach", "organize:detach",
        "organize:file-status", "organize:step*", "organize:preview", "organize:draft", "organize:trial",
        "organize:build*", "organize:review", "organize:publish", "organize:discard",
    ),
    "organizers#your-workspace": ("organize:overview",),
    "organizers#submissions-and-runs": ("organize:submission*", "organize:slices-csv", "organize:dataset-rerun", "organize:solution*"),
    "organizers#teams-and-registrations": ("organize:team*", "organize:registrations*"),
    "organizers#announcements-mail-and-webhooks": ("organize:announcement*", "organize:mail", "organize:webhooks"),
    "organizers#the-moderation-desk": ("organize:discussion", "organize:topic-act", "organize:post-act", "organize:writer-*"),
    "organizers#phases-boards-and-data": ("organize:data", "organize:task*", "organize:file"),
    "organizers#pages-images-and-rules": ("organize:page*", "organize:rules", "organize:images", "organize:image-*"),
    "organizers#settings": ("organize:settings", "organize:visibility"),
    "organizers#organizing-together": ("organize:organizers", "organize:invitation"),
    "settings#phase": ("organize:phase*",),
    "organizers#leaderboards": ("organize:board*",),
    "organizers#fact-sheets": ("organize:question*",),
    "tables#a-new-solution": ("organize:new-solution*",),
    "organizers#files-queues-and-series": ("organize:files", "organize:own-file*", "organize:series*"),
    "organizers#a-queue-of-your-own": ("organize:queue*",),
    "administrators#what-compute-costs": ("organize:usage*",),
    "organizers#a-competition-as-a-bundle": ("web:bundle*", "dataset-download"),
}  # fmt: skip


@cache
def help_target(view_name: str) -> str | None:
    """Page and heading for a view; None for one that stands in no row."""
    best: tuple[int, str] | None = None
    for target, names in HELP.items():
        for name in names:
            stem = name.removesuffix("*")
            fits = view_name.startswith(stem) if name.endswith("*") else view_name == name
            if fits and (best is None or len(stem) > best[0]):
                best = len(stem), target
    return None if best is None else best[1]


def docs_address(target: str) -> str:
    """The address of a page of the docs: of `participants#submit`, `/docs/participants/#submit`."""
    page, _, heading = target.partition("#")
    address = reverse("web:docs-page", args=[f"{page}/"]) if page else reverse("web:docs")
    return f"{address}#{heading}" if heading else address


def help_context(request: HttpRequest) -> dict[str, object]:
    """The address where this page is explained, for every template."""
    name = request.resolver_match.view_name if request.resolver_match else ""
    return {"help_address": docs_address(help_target(name) or INDEX)}
