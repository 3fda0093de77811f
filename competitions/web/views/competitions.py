"""The list of competitions, and a competition's own pages but for boards, teams and submissions."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import Resolver404, ResolverMatch, resolve
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from accounts.sign_in import AFTER_SIGN_IN
from accounts.views import open_page, person
from competitions.catalog.downloads import downloads_of_all, phase_downloads
from competitions.catalog.models import Agents, Announcement, Competition, Page, Proposal, Series
from competitions.catalog.questions import answers_of_form
from competitions.catalog.readiness import competition_warnings
from competitions.catalog.services import current_rules
from competitions.leaderboards.reading.results import final_boards
from competitions.leaderboards.rescoring.services import count_kept_datasets
from competitions.resources.downloads import stored_response
from competitions.resources.models import Resource, StoredFile
from competitions.resources.storage import open_stored
from competitions.resources.table_heads import TableHead, archive_heads, table_head
from competitions.teams.links import link_by_token
from competitions.teams.refusals import RegistrationInvalid
from competitions.teams.services import find_registration, join_alone, register, require_registration
from competitions.web.checklist import checklist
from competitions.web.forms import JoinForm, SearchForm, cleaned
from competitions.web.markdown import has_markdown, markdown_response, wants_markdown
from competitions.web.presentation.conduct import Statement, as_latex, conduct
from competitions.web.presentation.listing import competition_cards, listed_for, narrowed
from competitions.web.presentation.own_cards import home_content
from competitions.web.presentation.proposals import shown_standings, shows_column
from competitions.web.visit import Visit, visit
from files.bundles.schema import PHASE_FILES
from files.images import HEAD_BYTES, image_type

PREVIEWED = 6  # files of the Data page whose first rows are looked at
SHOWN = 100


def render_tab(
    request: HttpRequest, visited: Visit, template: str, context: Mapping[str, object], *, tab: str = ""
) -> HttpResponse:
    """A page of a competition, inside its banner and tabs, or as Markdown; `tab` is the one it belongs to."""
    if wants_markdown(request):
        return markdown_response(visited, template, context)
    return render(request, template, {"visit": visited, "competition": visited.competition, "tab": tab, **context})


def follows_link(request: HttpRequest, competition: Competition) -> bool:
    """True if the person came by an invitation link of this competition, and so goes on there."""
    match = resolve_path(request.session.get(AFTER_SIGN_IN, ""))
    link = link_by_token(match.kwargs["token"]) if match is not None and match.view_name == "web:link" else None
    return link is not None and link.team.competition_id == competition.pk


def resolve_path(path: str) -> ResolverMatch | None:
    """The view behind a path of this site; None if there is none."""
    try:
        return resolve(path)
    except Resolver404:
        return None


@open_page
def index(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    form, listed = SearchForm(request.GET), listed_for(request.user, now)
    if form.is_valid():
        filters = form.cleaned_data
        listed = narrowed(
            listed, now, words=filters["q"], show=filters["show"], order=filters["order"], tag=filters["tag"]
        )
    page = Paginator(listed, 24).get_page(request.GET.get("page"))
    shown: list[Any] = list(page)
    context = {
        "page": page,
        "unread_count": shown[0].unread if shown else None,
        "cards": competition_cards(shown, now),
        "home": home_content(request.user, now),
        "form": form,
        "is_search": any(form.data.get(name) for name in form.fields),
    }
    return render(request, "web/home/index.html", context)


@open_page
def to_index(request: HttpRequest) -> HttpResponse:
    """The address above every competition's: people shorten one to it."""
    return redirect("web:index", permanent=True)


@open_page
def series(request: HttpRequest, slug: str) -> HttpResponse:
    """A series: what its tracks have in common, and the tracks that the visitor sees."""
    series = get_object_or_404(Series, slug=slug)
    now = timezone.now()
    tracks = listed_for(request.user, now).filter(series=series).order_by("pk")
    return render(request, "web/home/series.html", {"series": series, "cards": competition_cards(tracks, now)})


@open_page
@has_markdown
def overview(request: HttpRequest, slug: str) -> HttpResponse:
    visited = visit(request, slug)
    pages = Page.objects.filter(competition=visited.competition, tab=Page.Tab.OVERVIEW)
    news = Announcement.objects.published(visited.now).filter(competition=visited.competition)[:5]
    warnings = competition_warnings(visited.competition) if visited.is_organizer else []
    steps = checklist(visited.competition, warnings) if warnings else []
    context = {
        "pages": pages,
        "announcements": news,
        "steps": steps,
        "phases": visited.phases_with_known_boards,
        "takes_code": any(phase.accepts_code for phase in visited.phases),
        "is_over": bool(final_boards(visited.phases_with_boards, visited.now)),
        "limits_agents": any(phase.agents != Agents.ANY for phase in visited.phases),
    }
    return render_tab(request, visited, "web/competition/overview.html", context, tab="overview")


def _first_rows(resources: Sequence[Resource]) -> list[tuple[str, TableHead]]:
    """The first rows of plain tables and of those in zips by name; none of them twice."""
    packed, named = archive_heads(resources), list[tuple[str, TableHead]]()
    for resource in resources:
        named += [(f"{head.name} in {resource.file_name}", head) for head in packed.get(resource.file_id, ())]
        head = table_head(resource)
        if head is not None and not any((other.columns, other.rows) == (head.columns, head.rows) for _, other in named):
            named.append((resource.file_name, head))
    return named


@open_page
@has_markdown
def data(request: HttpRequest, slug: str) -> HttpResponse:
    visited = visit(request, slug)
    pages = visited.competition.pages.filter(tab=Page.Tab.DATA)
    phases = visited.competition.phases.select_related("competition", *(f"{name}__file" for name in PHASE_FILES))
    files = downloads_of_all(phases, visited.now)
    may_have = visited.is_registered or visited.is_organizer
    heads = _first_rows([file.resource for file in files[:PREVIEWED]]) if may_have else []
    context = {
        "pages": pages,
        "files": files,
        "may_have": may_have,
        "heads": heads,
        "columns": {name: text for phase in phases for name, text in phase.described_columns.items()},
    }
    return render_tab(request, visited, "web/competition/data.html", context, tab="data")


@open_page
@has_markdown
def page(request: HttpRequest, slug: str, page_slug: str) -> HttpResponse:
    """A page with a tab of its own."""
    visited = visit(request, slug)
    page = get_object_or_404(visited.competition.pages, tab=Page.Tab.OWN, slug=page_slug)
    return render_tab(request, visited, "web/competition/page.html", {"page": page})


@require_safe
def download(request: HttpRequest, slug: str, phase_slug: str, name: str) -> HttpResponseBase:
    """A phase's public data or starting kit, for those who accepted the rules and for organizers."""
    visited = visit(request, slug)
    phase = visited.phase(phase_slug)
    resource = phase_downloads(phase, visited.now).get(name) if phase else None
    if resource is None:
        raise Http404
    if not visited.is_organizer:
        require_registration(user=person(request), competition=visited.competition)
    return stored_response(request, resource.file, file_name=resource.file_name)


@open_page
def picture(request: HttpRequest, slug: str, kind: Literal["logo", "cover"]) -> HttpResponseBase:
    competition = visit(request, slug).competition
    stored = competition.logo if kind == "logo" else competition.cover
    if stored is None:
        raise Http404
    return image_response(request, stored, is_public=competition.is_published)


@open_page
def image(request: HttpRequest, slug: str, name: str) -> HttpResponseBase:
    """An image that a page of the competition shows, for whoever sees the competition."""
    competition = visit(request, slug).competition
    image = get_object_or_404(competition.images.select_related("file", "small"), name=name)
    stored = image.small if request.GET.get("size") == "small" and image.small else image.file
    return image_response(request, stored, is_public=competition.is_published)


def image_response(request: HttpRequest, stored: StoredFile, *, is_public: bool) -> HttpResponseBase:
    """The image with the type that its first bytes say; anything that is not an image is not served."""
    with open_stored(stored) as file:
        content_type = image_type(file.read(HEAD_BYTES))
    if content_type is None:
        raise Http404
    response = stored_response(request, stored, content_type=content_type)
    if response.status_code == 200:  # a redirect to the store is valid for less than that
        response.headers["Cache-Control"] = f"{'public' if is_public else 'private'}, max-age=3600"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


@open_page
@has_markdown
def rules(request: HttpRequest, slug: str) -> HttpResponse:
    return _rules_page(request, visit(request, slug))


def _rules_page(request: HttpRequest, visited: Visit, refusal: RegistrationInvalid | None = None) -> HttpResponse:
    """The rules and, for those who can accept them, the questions with earlier or refused answers."""
    user = request.user
    registration = find_registration(user, visited.competition) if isinstance(user, User) else None
    before: dict[str, object] = registration.answers if registration else {}
    answers = answers_of_form(request.POST) if refusal else before
    context = {
        "rules": current_rules(visited.competition),
        "questions": [
            (question, answers.get(question.key)) for question in visited.competition.registration_questions.all()
        ],
        "refusal": refusal,
        "registration": registration,
        "is_closed": _is_closed(visited),
    }
    response = render_tab(request, visited, "web/competition/rules.html", context, tab="rules")
    response.status_code = refusal.http_status if refusal else 200
    return response


def _is_closed(visited: Visit) -> bool:
    """Nobody new registers any more."""
    closed_at = visited.competition.registration_closes_at
    return closed_at is not None and visited.now >= closed_at and visited.facts.registration_state is None


@require_POST
def join(request: HttpRequest, slug: str) -> HttpResponse:
    """Accept the rules and answer the organizer's questions; the form says which version was read."""
    visited, user = visit(request, slug), person(request)
    version = cleaned(JoinForm(request.POST))["rules_version"]
    try:
        registration = register(
            user=user,
            competition=visited.competition,
            rules_version=version,
            answers=answers_of_form(request.POST),
            now=timezone.now(),
        )
    except RegistrationInvalid as refusal:
        return _rules_page(request, visited, refusal)
    state = (
        "You have joined." if registration.state == registration.State.APPROVED else "An organizer decides on it now."
    )
    messages.success(request, f"You accepted version {version} of the rules. {state}")
    if registration.state != registration.State.APPROVED:
        return redirect("web:rules", slug)
    if follows_link(request, visited.competition):
        return redirect(request.session[AFTER_SIGN_IN])
    join_alone(user=user, competition=visited.competition, now=visited.now)
    return redirect("web:team", slug)


@open_page
def changes(request: HttpRequest, slug: str) -> HttpResponse:
    """Every applied proposal, the newest first."""
    visited = visit(request, slug)
    applied = Proposal.objects.filter(competition=visited.competition, state=Proposal.State.APPLIED)
    context = {"proposals": applied.order_by("-ended_at")[:SHOWN]}
    return render_tab(request, visited, "web/competition/changes.html", context, tab="changes")


@open_page
def change(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """One applied proposal: why, what was replaced, and every board before and after."""
    visited = visit(request, slug)
    rows = Proposal.objects.select_related("board__phase__competition").prefetch_related("board__columns")
    applied = rows.filter(competition=visited.competition, state=Proposal.State.APPLIED, number=number).first()
    if applied is None:
        raise Http404
    context = {
        "proposal": applied,
        "files": applied.files.select_related("task", "resource", "replaces"),
        "kept_datasets": count_kept_datasets(applied),
        "standings": shown_standings(applied, visited.reader, would=False),
        "shows_column": shows_column(applied, visited.reader),
    }
    return render_tab(request, visited, "web/competition/change.html", context, tab="changes")


def _statements(visited: Visit) -> list[Statement]:
    return conduct(visited.competition, visited.phases_with_boards, visited.reader)


@open_page
@has_markdown
def conduct_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer the questions of a reviewer from the settings."""
    visited = visit(request, slug)
    context = {"statements": _statements(visited)}
    return render_tab(request, visited, "web/competition/conduct.html", context, tab="rules")


@open_page
def conduct_file(request: HttpRequest, slug: str) -> HttpResponse:
    """The same as a section of LaTeX."""
    visited = visit(request, slug)
    text = as_latex(visited.competition, _statements(visited), settings.SITE_URL + visited.url("conduct"))
    headers = {"Content-Disposition": f'attachment; filename="{slug}-how-it-is-run.tex"'}
    return HttpResponse(text, content_type="application/x-tex; charset=utf-8", headers=headers)
