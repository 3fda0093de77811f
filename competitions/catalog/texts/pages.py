"""Pages of a competition: kept in order, some with a tab of their own."""

from typing import Final

from django.db import transaction
from django.utils.text import slugify

from competitions.catalog.models import Competition, Page
from core.models import next_index
from core.refusals import RefusalKind
from files.text import free_name

MAX_TABS: Final = 5

TOO_MANY_TABS: Final = RefusalKind(
    422,
    "too_many_tabs",
    f"A competition has at most {MAX_TABS} tabs of its own. Show this page on the overview, or another one.",
)


@transaction.atomic
def page_save(page: Page) -> Page:
    """Save a new or changed page; a new one is the last of its tab. Raises `TOO_MANY_TABS`."""
    Competition.objects.select_for_update(no_key=True).get(pk=page.competition_id)  # pages are counted and numbered
    others = Page.objects.filter(competition=page.competition_id, tab=page.tab).exclude(pk=page.pk)
    before = Page.objects.filter(pk=page.pk).first()
    is_moved = before is None or before.tab != page.tab
    if page.tab == Page.Tab.OWN and is_moved and others.count() >= MAX_TABS:
        raise TOO_MANY_TABS()
    page.slug = page_address(page, Page.Tab(page.tab))
    if is_moved:
        page.index = next_index(others)
    page.save()
    list_own_tabs(page.competition)
    return page


@transaction.atomic
def page_delete(page: Page) -> None:
    """Delete a page, and its tab with it."""
    Competition.objects.select_for_update(no_key=True).get(pk=page.competition_id)
    page.delete()
    list_own_tabs(page.competition)


def list_own_tabs(competition: Competition) -> None:
    """Note the competition's own tabs in its row, as all its pages show them. Call where pages changed."""
    tabs = Page.objects.filter(competition=competition, tab=Page.Tab.OWN)
    competition.own_tabs = [list(tab) for tab in tabs.values_list("slug", "title")]
    competition.save(update_fields=["own_tabs"])


def page_address(page: Page, tab: Page.Tab) -> str:
    """The last part of its address: the present one, else a free one from the title; empty without a tab."""
    if tab != Page.Tab.OWN or page.slug:
        return page.slug if tab == Page.Tab.OWN else ""
    tabs = Page.objects.filter(competition=page.competition_id, tab=Page.Tab.OWN)
    taken, base = set(tabs.values_list("slug", flat=True)), slugify(page.title)[:30].strip("-") or "page"
    return free_name(base, taken)


@transaction.atomic
def page_move(page: Page, *, up: bool) -> None:
    """Swap a page with its neighbour on the tab; the first and the last stay where they are."""
    Competition.objects.select_for_update(no_key=True).get(pk=page.competition_id)
    pages = list(Page.objects.filter(competition=page.competition_id, tab=page.tab))
    if page not in pages:  # it was deleted meanwhile, or is on another tab now
        return
    place = pages.index(page)
    other = place + (-1 if up else 1)
    if 0 <= other < len(pages):
        pages[place], pages[other] = pages[other], pages[place]
    for index, each in enumerate(pages):
        each.index = index
    Page.objects.bulk_update(pages, ["index"])
    list_own_tabs(page.competition)
