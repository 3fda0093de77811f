"""Pages of a competition: kept in order, some with a tab of their own."""

from itertools import chain, count
from typing import Final

from django.db import transaction
from django.db.models import Max
from django.utils.text import slugify

from competitions.catalog.models import Competition, Page
from core.refusals import Refusal

MAX_TABS: Final = 5


class TooManyTabs(Refusal):
    code, http_status = "too_many_tabs", 422

    def __init__(self) -> None:
        super().__init__(
            f"A competition has at most {MAX_TABS} tabs of its own. Show this page on the overview, or another one."
        )


@transaction.atomic
def page_save(page: Page) -> Page:
    """Save a new or changed page; a new one is the last of its tab. Raises `TooManyTabs`."""
    Competition.objects.select_for_update(no_key=True).get(pk=page.competition_id)  # pages are counted and numbered
    others = Page.objects.filter(competition=page.competition_id, tab=page.tab).exclude(pk=page.pk)
    before = Page.objects.filter(pk=page.pk).first()
    if page.tab != Page.Tab.OWN:
        page.slug = ""
    elif before is None or before.tab != page.tab:
        if others.count() >= MAX_TABS:
            raise TooManyTabs
        page.slug = _free_slug(page, set(others.values_list("slug", flat=True)))
    if before is None or before.tab != page.tab:
        highest = others.aggregate(highest=Max("index"))["highest"]
        page.index = 0 if highest is None else highest + 1
    page.save()
    return page


def _free_slug(page: Page, taken: set[str]) -> str:
    base = slugify(page.title)[:30].strip("-") or "page"
    return next(slug for slug in chain([base], (f"{base}-{number}" for number in count(2))) if slug not in taken)


@transaction.atomic
def page_move(page: Page, *, up: bool) -> None:
    """Change places with the page before or after it on the same tab; the first and the last stay where they are."""
    Competition.objects.select_for_update(no_key=True).get(pk=page.competition_id)
    pages = list(Page.objects.filter(competition=page.competition_id, tab=page.tab))
    place = pages.index(page)
    other = place + (-1 if up else 1)
    if 0 <= other < len(pages):
        pages[place], pages[other] = pages[other], pages[place]
    for index, each in enumerate(pages):
        each.index = index
    Page.objects.bulk_update(pages, ["index"])
