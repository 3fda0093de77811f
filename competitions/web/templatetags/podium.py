"""Filters and tags of the pages: Markdown, instants, durations, sizes, statuses."""

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from django import template
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from accounts.models import Agent
from competitions.catalog.models import Format
from competitions.catalog.questions import shown_answer
from competitions.disclosure.uncertainty import shown_chance
from competitions.leaderboards.models import Entry
from competitions.leaderboards.ranking.fact_columns import AGENT, SOURCE, VERIFIED
from competitions.leaderboards.reading.columns import CellState, DatasetColumn, ShownColumn
from competitions.notifications.services import MOST_COUNTED, unread_count
from competitions.submissions.states import Reason, State
from competitions.web.visit import Visit
from core.markup.bounded import rendered
from core.markup.rows import WrittenRow
from files.markup import no_images
from files.markup.formulas import mathml

register = template.Library()
register.filter("answer", shown_answer)
register.filter("chance", shown_chance)

STATUS_ICONS = {
    State.CHECKING: "search-check",
    State.UNSTARTED: "circle",
    State.QUEUED: "clock",
    State.LEASED: "circle-dot-dashed",
    State.PREPARING: "circle-dot-dashed",
    State.INGESTING: "circle-play",
    State.SCORING: "chart-line",
    State.FINISHED: "circle-check",
    State.FAILED: "circle-x",
    State.CANCELLED: "circle-slash",
}


@register.filter
def formula(latex: str) -> SafeString:
    """A formula of the site's own as MathML."""
    return mark_safe(mathml(latex, is_block=True))  # its text is escaped on writing


@register.filter
def is_web_address(text: str) -> bool:
    """True for what may be a link.

    An answer from before its question asked for an address may be anything.
    """
    return text.startswith(("https://", "http://"))


@register.filter
def markdown(value: str, visit: Visit | None = None) -> SafeString:
    """Render a short or unstored Markdown text; with `visit`, with the competition's images."""
    html = rendered(value, Format.MARKDOWN).shown(visit.image_url if visit else no_images)
    return mark_safe(html)  # only harmless tags are left in it


@register.filter
def written(row: WrittenRow, visit: Visit) -> SafeString:
    """The text of a page, of rules or of news of the visited competition, in the format it was written in."""
    return mark_safe(row.rendering.shown(visit.image_url))  # only harmless tags are left in it


@register.filter
def has_heading(body: str) -> bool:
    """True when a text, Markdown or HTML, brings its own title."""
    return body.lstrip().startswith("# ") or "<h1" in body[:2000].lower()


@register.filter
def instant(value: datetime | None) -> SafeString | str:
    """A moment in UTC; the page's script adds the reader's own zone as a title and fills countdowns."""
    return _time(value)


@register.filter
def exact_instant(value: datetime | None) -> SafeString | str:
    """Like `instant`, to the second."""
    return _time(value, form="%Y-%m-%d %H:%M:%S")


def _time(value: datetime | None, shown_as: str = "instant", form: str = "%Y-%m-%d %H:%M") -> SafeString | str:
    if value is None:
        return "—"
    utc = value.astimezone(UTC)
    return format_html('<time datetime="{}" data-{}>{}&nbsp;UTC</time>', utc.isoformat(), shown_as, f"{utc:{form}}")


@register.filter
def ago(value: datetime | None) -> SafeString | str:
    """A past time for narrow places: the page's script turns it into "3 hours ago".

    The server writes the instant itself, so that a cached page, or one without script, stays true.
    """
    return _time(value, "ago")


@register.filter
def duration(seconds: float | None) -> str:
    """Seconds as people say them: 42 s, 3 min 20 s, 4 h, 2 h 5 min."""
    if seconds is None:
        return "—"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


@register.filter
def size(bytes_: float | None) -> str:
    """Bytes in binary units."""
    if bytes_ is None:
        return "—"
    value = float(bytes_)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024 or unit == "TiB":
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return "—"


@register.filter
def left(value: datetime) -> SafeString | str:
    """A future date for narrow places: the page's script turns it into "5 days left"."""
    return _time(value, "left")


@register.filter
def status_icon(status: str) -> str:
    """The name of its icon in the sprite."""
    return STATUS_ICONS[State(status)]


@register.filter
def status_label(status: str) -> str:
    return State(status).label


@register.filter
def shown(values: dict[str, float], column: ShownColumn) -> str:
    """A row's value at the column's precision, or a dash."""
    return column.shown_in(values) or "-"


CELL_NOTES = {
    CellState.WAITING: ("waiting", "It is still to be run on this dataset."),
    CellState.NOT_RUN: ("not run", "The platform or the competition's setup failed; it is to be run again."),
}


@register.filter
def cell(entry: Entry, column: DatasetColumn) -> SafeString:
    """A row's score on a submitted dataset, or the state of its run there."""
    state = column.state_in(entry.values)
    if state == CellState.FAILED:
        label = Reason(column.reason_in(entry.values)).label
        return format_html('<span class="cell-failed" title="{}: behind all that have a score">failed</span>', label)
    if state != CellState.SCORED:
        word, title = CELL_NOTES[state]
        return format_html('<span class="cell-waiting" title="{}">{}</span>', title, word)
    value = column.shown_in(entry.values)
    if column.dataset.submission.team_id != entry.team_id:
        return format_html("{}", value)
    return format_html(
        '{} <span class="chip" title="Its own dataset: it does not count for its rank.">own</span>', value
    )


@register.filter
def verified(values: dict[str, Any]) -> dict[str, float] | None:
    """The measured time and limit of a winner whose code was run here."""
    return values.get(VERIFIED)


@register.filter
def by_agent(values: dict[str, Any]) -> str:
    """The declared model and harness of the agent that submitted; empty for all others."""
    agent = values.get(AGENT)
    return str(Agent(**agent)) if agent else ""


@register.filter
def source(values: dict[str, Any]) -> dict[str, str]:
    """The commit and the link of a row's submission, and the link's host; empty without both."""
    given = values.get(SOURCE)
    return given | {"host": urlsplit(given["link"]).hostname or ""} if given else {}


@register.filter
def pretty(value: Any) -> str:
    """JSON for people."""
    return json.dumps(value, indent=2, ensure_ascii=False)


@register.simple_tag(takes_context=True)
def unread(context: Context) -> str:
    """The number of unread notifications as the bell shows it; empty for none.

    Pages that ask the database anyway have counted them already.
    """
    visited, counted = context.get("visit"), context.get("unread_count")
    if isinstance(visited, Visit):
        counted = visited.facts.unread
    count: int = unread_count(context["user"]) if counted is None else counted
    return f"{MOST_COUNTED - 1}+" if count >= MOST_COUNTED else str(count or "")
