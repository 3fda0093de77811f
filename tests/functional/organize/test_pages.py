"""Pages in the workspace: previewed, ordered, some with their own tab; two people at once."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Page
from competitions.catalog.texts.pages import page_move, page_save
from tests.admin_forms import form_fields
from tests.permissions import body_text, user_client
from tests.scenario import Scenario


@pytest.fixture
def organizer(site: Scenario) -> Client:
    return user_client(site.organizer)


def page_form_url(site: Scenario, name: str = "page-new", *arguments: object) -> str:
    return reverse(f"organize:{name}", args=[site.competition.slug, *arguments])


def write(site: Scenario, client: Client, title: str, tab: str = "overview", body: str = "Words.") -> Any:
    return client.post(page_form_url(site), {"title": title, "tab": tab, "body": body, "format": "markdown"})


def titles(tab: str) -> list[str]:
    return list(Page.objects.filter(tab=tab).values_list("title", flat=True))


def test_pages_are_written_kept_in_order_and_deleted(site: Scenario, organizer: Client) -> None:
    for title in ("One", "Two", "Three"):
        assert write(site, organizer, title).status_code == 302
    three = Page.objects.get(title="Three")
    for _ in range(3):  # the first stays the first
        organizer.post(page_form_url(site, "page-act", three.pk, "up"))
    assert titles("overview") == ["Three", "One", "Two"]
    organizer.post(page_form_url(site, "page-act", three.pk, "down"))
    assert titles("overview") == ["One", "Three", "Two"]
    organizer.post(page_form_url(site, "page-act", three.pk, "delete"))
    page_move(three, up=True)  # by somebody who looked at it before
    assert "The page “Three” was deleted" in organizer.get(page_form_url(site, "pages")).content.decode()
    assert titles("overview") == ["One", "Two"]


def test_a_format_that_is_none_is_refused_on_the_form(site: Scenario, organizer: Client) -> None:
    refused = organizer.post(
        page_form_url(site), {"title": "One", "tab": "overview", "body": "Words.", "format": "pdf"}
    )
    assert refused.status_code == 422
    assert "pdf is not one of the available choices" in refused.content.decode()


def test_a_page_may_have_a_tab_of_its_own(site: Scenario, organizer: Client) -> None:
    overview = reverse("web:overview", args=[site.competition.slug])
    write(site, organizer, "How to begin", "own", "Install $x^2$.")
    tab = f'href="/competitions/{site.competition.slug}/pages/how-to-begin/"'
    for path in (overview, reverse("web:leaderboard", args=[site.competition.slug])):
        assert tab in body_text(Client().get(path))
    page = body_text(Client().get(f"/competitions/{site.competition.slug}/pages/how-to-begin/"))
    assert "<math" in page
    assert "Install" not in body_text(Client().get(overview))
    write(site, organizer, "How to begin", "own")
    assert list(Page.objects.filter(tab="own").values_list("slug", flat=True)) == ["how-to-begin", "how-to-begin-2"]


def test_a_new_tab_changes_the_board_that_was_read_before(site: Scenario, organizer: Client) -> None:
    board = reverse("web:leaderboard", args=[site.competition.slug])
    before = Client().get(board)["ETag"]
    write(site, organizer, "FAQ", "own")
    first = Client().get(board)["ETag"]
    page = Page.objects.get(tab="own")
    page.title = "Questions"
    page_save(page)
    assert len({before, first, Client().get(board)["ETag"]}) == 3


def test_tabs_have_short_titles_and_are_few(site: Scenario, organizer: Client) -> None:
    assert "at most 24 characters" in write(site, organizer, "A" * 25, "own").content.decode()
    for number in range(5):
        assert write(site, organizer, f"Tab {number}", "own").status_code == 302
    refused = write(site, organizer, "Tab 6", "own", "Long thoughts.")
    assert refused.status_code == 422
    assert "at most 5 tabs of its own" in refused.content.decode()
    assert "Long thoughts." in refused.content.decode()
    assert Page.objects.filter(tab="own").count() == 5


def test_a_text_is_previewed_and_not_saved(site: Scenario, organizer: Client) -> None:
    form = {"title": "One", "tab": "overview", "body": "**Loud** <script>", "format": "markdown", "preview": "yes"}
    whole = organizer.post(page_form_url(site), form).content.decode()
    alone = organizer.post(page_form_url(site), form, headers={"HX-Request": "true"}).content.decode()
    for text in (whole, alone):
        assert "<strong>Loud</strong> &lt;script&gt;" in text
    assert ("<html" in whole, "<html" in alone) == (True, False)
    assert not Page.objects.exists()


def test_two_who_save_at_once_lose_nothing(site: Scenario, organizer: Client) -> None:
    write(site, organizer, "One", body="First")
    url = page_form_url(site, "page", Page.objects.get().pk)
    own_form = form_fields(organizer.get(url)) | {"body": "Mine"}
    assert organizer.post(url, form_fields(organizer.get(url)) | {"title": "Theirs"}).status_code == 302
    conflict = organizer.post(url, own_form)
    assert conflict.status_code == 409
    assert "Somebody else has changed this meanwhile: Title" in conflict.content.decode()
    assert Page.objects.get().body == "First"
    assert organizer.post(url, form_fields(conflict)).status_code == 302
    page = Page.objects.get()
    assert (page.title, page.body) == ("Theirs", "Mine")
