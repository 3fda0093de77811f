"""Pages of a competition as Markdown, each from the context that the page is drawn from.

Outside of the marks of `core/untrusted.py` stand the site's own words, numbers, dates and slugs alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import wraps
from typing import Any, Final, Protocol

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import patch_vary_headers

from competitions.leaderboards.reading.columns import shown_values
from competitions.web.templatetags.podium import by_agent
from competitions.web.visit import Visit
from core.untrusted import NOTICE, fenced

MEDIA_TYPE: Final = "text/markdown"
WANTED: Final = "podium.markdown"  # in the WSGI environment, by the addresses that end in `.md`
ORGANIZERS: Final = "organizers"
Context = Mapping[str, Any]
View = Callable[..., HttpResponseBase]


def has_markdown(view: View) -> View:
    """Declare that a page is there as Markdown, too, for who prefers that, and at its address with `.md`."""

    @wraps(view)
    def negotiated(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        query = request.META.get("QUERY_STRING", "")
        request.markdown_url = f"{request.path.rstrip('/')}.md{'?' if query else ''}{query}"  # type: ignore[attr-defined]  # for the head
        response = view(request, *args, **kwargs)
        patch_vary_headers(response, ["Accept"])
        return response

    return negotiated


def wants_markdown(request: HttpRequest) -> bool:
    """True if the address ends in `.md`, or the reader prefers Markdown to HTML."""
    if not hasattr(request, "markdown_url"):
        return False
    return bool(request.META.get(WANTED)) or request.get_preferred_type(["text/html", MEDIA_TYPE]) == MEDIA_TYPE


def markdown_response(visited: Visit, template: str, context: Context) -> HttpResponse:
    """The page that this template would draw."""
    parts = [NOTICE, *RENDERERS[template](visited, context), _links(visited)]
    return HttpResponse("\n\n".join(parts) + "\n", content_type=f"{MEDIA_TYPE}; charset=utf-8")


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; a bar or a line break in a cell breaks no row."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(value: object) -> str:
    return "" if value is None else " ".join(str(value).replace("\\", "\\\\").replace("|", "\\|").split())


def _at(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else ""


def _links(visited: Visit) -> str:
    """The other pages, by address."""
    start = f"{settings.SITE_URL}/competitions/{visited.competition.slug}"
    names = [
        "data",
        "rules",
        "how-it-is-run",
        "leaderboard",
        "results",
        *(f"pages/{slug}" for slug, _ in visited.competition.own_tabs),
    ]
    if visited.competition.discussion == visited.competition.Discussion.HERE:
        names.append("discussion")
    return "\n".join(["## Pages", "", f"- {start}.md", *(f"- {start}/{name}.md" for name in names)])


def _texts(rows: Iterable[Any]) -> list[str]:
    """Pages and announcements of organizers."""
    return [fenced(f"## {row.title}\n\n{row.body}", ORGANIZERS) for row in rows]


def _overview(visited: Visit, context: Context) -> Iterator[str]:
    competition = visited.competition
    yield f"# Competition `{competition.slug}`"
    facts = {"Title": competition.title, "Subtitle": competition.subtitle, "Host": competition.host}
    facts |= {"Reward": competition.reward, "Tags": ", ".join(competition.tags)}
    yield fenced("\n".join(f"{name}: {value}" for name, value in facts.items() if value), ORGANIZERS)
    yield f"Teams: {competition.team_count}. People in a team: {competition.max_team_size} at most."
    yield "## Phases"
    head = ["slug", "number", "name", "opens", "closes", "takes", "a day", "agents", "board", "scores"]
    phases = [
        (
            phase.slug,
            phase.pk,
            phase.name,
            _at(phase.opens_at),
            _at(phase.closes_at),
            ", ".join(phase.accepted_kinds),
            phase.max_submissions_per_day,
            phase.agents,
            board.key if board else "",
            f"{phase.visibility}{', revealed' if phase.revealed_at else ''}",
        )
        for phase, board in visited.phases_with_known_boards
    ]
    yield fenced(markdown_table(head, phases), ORGANIZERS)
    yield from _texts(context["announcements"])
    yield from _texts(context["pages"])


def _data(visited: Visit, context: Context) -> Iterator[str]:
    yield f"# Data of `{visited.competition.slug}`"
    yield from _texts(context["pages"])
    if context["columns"]:
        yield "## Columns"
        yield fenced(markdown_table(["column", "meaning"], list(context["columns"].items())), ORGANIZERS)
    yield "## Files"
    if not context["may_have"]:
        yield f"{len(context['files'])} files, for participants: a person accepts the rules first."
        return
    rows = [
        (item.resource.file_name, item.phase.slug, item.name, item.resource.file.size_bytes, item.resource.file_id)
        for item in context["files"]
    ]
    yield fenced(markdown_table(["file", "phase", "name", "bytes", "SHA-256"], rows), ORGANIZERS)


def _rules(visited: Visit, context: Context) -> Iterator[str]:
    rules = context["rules"]
    yield f"# Rules of `{visited.competition.slug}`"
    if rules is None:
        yield "There are none yet, so registration is not open."
        return
    yield f"Version {rules.number}, in force since {_at(rules.published_at)}. A person accepts them, on the page or by their own token."
    yield fenced(rules.text, ORGANIZERS)


def _own_page(visited: Visit, context: Context) -> Iterator[str]:
    yield f"# Page `{context['page'].slug}` of `{visited.competition.slug}`"
    yield from _texts([context["page"]])


def _conduct(visited: Visit, context: Context) -> Iterator[str]:
    yield f"# How `{visited.competition.slug}` is run"
    for statement in context["statements"]:
        yield f"## {statement.question}"
        yield fenced("\n".join(f"- {answer}" for answer in statement.answers), "the site, from settings of organizers")


def _leaderboard(visited: Visit, context: Context) -> Iterator[str]:
    yield f"# Leaderboard of `{visited.competition.slug}`"
    phase, board = context["phase"], context["board"]
    boards = ", ".join(f"`?phase={each.slug}`" for each in visited.phases)
    yield f"Phases: {boards or 'none'}; of one with several boards `&board=KEY`, of " + (
        ", ".join(f"`{each.key}`" for each in context["boards"]) or "none"
    )
    if board is None or context["rows"] is None:
        yield "There is no board to see here."
        return
    yield f"Phase `{phase.slug}`, board `{board.key}`: {board.entry_count} rows, ordered by rule `{board.rule}`."
    columns = context["columns"]
    described = [
        (column.key, column.title, column.unit, column.get_sorting_display()) for column in context["board_columns"]
    ]
    yield fenced(markdown_table(["column", "title", "unit", "order"], described), ORGANIZERS)
    rows = [(row.rank, _team(row.entry), *shown_values(columns, row.entry.values)) for row in context["rows"]]
    yield fenced(
        markdown_table(["rank", "team", *(column.title for column in columns)], rows), "organizers and participants"
    )
    if context["next_cursor"]:
        yield f"More rows: `?phase={phase.slug}&board={board.key}&cursor={context['next_cursor']}`"


def _results(visited: Visit, context: Context) -> Iterator[str]:
    yield f"# Results of `{visited.competition.slug}`"
    if not context["boards"]:
        yield "The competition is not over: something is open, sealed or unscored."
    for final in context["boards"]:
        yield f"## Phase `{final.phase.slug}`, board `{final.board.key}`: {final.board.entry_count} rows"
        columns = [final.column] if final.column else []
        rows = [(row.rank, _team(row.entry), *shown_values(columns, row.entry.values)) for row, _ in final.rows]
        head = ["rank", "team", *(column.title for column in columns)]
        yield fenced(markdown_table(head, rows), "organizers and participants")
        if final.winners:
            places = [(place.rank, place.team.name, place.repository_url) for place in final.winners]
            yield fenced(markdown_table(["place", "winner", "code"], places), "participants")


def _team(entry: Any) -> str:
    agent = by_agent(entry.values)
    marks = [*(["baseline"] if entry.is_baseline else []), *([f"agent: {agent}"] if agent else [])]
    return f"{entry.team.name} ({'; '.join(marks)})" if marks else entry.team.name


def _topics(visited: Visit, context: Context) -> Iterator[str]:
    yield f"# Discussion of `{visited.competition.slug}`"
    rows = [
        (topic.pk, topic.title, _role(topic), topic.reply_count, _at(topic.last_post_at))
        for topic in [*context["page"].pinned, *context["page"].topics]
    ]
    head = ["topic", "title", "by", "replies", "last post"]
    yield fenced(markdown_table(head, rows), "organizers and participants") if rows else "There are no topics here."
    yield "A topic is at `discussion/NUMBER.md`."


def _topic(visited: Visit, context: Context) -> Iterator[str]:
    topic = context["topic"]
    yield f"# Topic {topic.pk} of the discussion of `{visited.competition.slug}`"
    yield fenced(topic.title, _role(topic))
    for shown in [*([context["opening"]] if context["opening"] else []), *context["replies"]]:
        yield f"## Post {shown.post.pk}, {_at(shown.post.created_at)}{', the solution' if shown.is_solution else ''}"
        if shown.text is None or shown.is_folded:
            yield "You block its author." if shown.is_folded else "It is not shown."
        else:
            yield fenced(shown.post.text, _role(shown.post))


class _Written(Protocol):
    by_organizer: bool


def _role(row: _Written) -> str:
    return "organizer" if row.by_organizer else "participant"


RENDERERS: Final[dict[str, Callable[[Visit, Context], Iterator[str]]]] = {
    "web/competition/overview.html": _overview,
    "web/competition/data.html": _data,
    "web/competition/rules.html": _rules,
    "web/competition/page.html": _own_page,
    "web/competition/conduct.html": _conduct,
    "web/leaderboard/leaderboard.html": _leaderboard,
    "web/competition/results.html": _results,
    "web/discussion/topics.html": _topics,
    "web/discussion/topic.html": _topic,
}
