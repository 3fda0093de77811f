"""Pages as Markdown, by address or preference: the pages' permissions, and marks around texts."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import Scope
from competitions.catalog.models import Competition, Leaderboard
from tests.permissions import PermissionSite
from tests.scenario import Scenario
from tests.tools import secret_token

MARKDOWN = "text/markdown"
PAGES = ("", "/data", "/rules", "/how-it-is-run", "/leaderboard", "/discussion", "/pages/how-to")


def test_each_page_is_there_as_markdown_by_address_and_by_preference(permissions: PermissionSite) -> None:
    start, client = f"/competitions/{permissions.site.competition.slug}", Client()
    for page in (*PAGES, f"/discussion/{permissions.arguments['topic']}"):
        at_address = client.get(f"{start}{page}.md")
        preferred = client.get(f"{start}{page}/", headers={"accept": f"{MARKDOWN}, text/html;q=0.5"})
        html = client.get(f"{start}{page}/", headers={"accept": "text/html, */*;q=0.8"})
        assert preferred.content == at_address.content
        assert preferred.headers["Content-Type"].startswith(MARKDOWN)
        assert f'type="{MARKDOWN}" href="{start}{page}.md"' in html.content.decode()
        assert all("Accept" in answer.headers["Vary"] for answer in (preferred, html)), page
        assert "<untrusted-text author=" in at_address.content.decode() or page == "/data"


def test_a_board_that_is_unchanged_is_not_taken_for_its_other_form(site: Scenario) -> None:
    address, client = f"/competitions/{site.competition.slug}/leaderboard/", Client()
    site.score(site.submit(), 0.25)
    html, markdown = client.get(address), client.get(address, headers={"accept": MARKDOWN})
    assert html.headers["ETag"] != markdown.headers["ETag"]
    again = client.get(address, headers={"accept": MARKDOWN, "if-none-match": html.headers["ETag"]})
    assert (again.status_code, b"| 1 |" in again.content) == (200, True)


def test_a_name_with_a_bar_or_a_line_break_is_one_cell(site: Scenario) -> None:
    site.score(site.submit(), 0.25)
    site.team.name = "A | 1\\ B"
    site.team.save()
    text = Client().get(f"/competitions/{site.competition.slug}/leaderboard.md").content.decode()
    assert "| 1 | A \\| 1\\\\ B | 0.2500 |" in text


def test_what_is_private_is_there_for_its_people_and_their_tokens_alone(site: Scenario) -> None:
    Competition.objects.filter(pk=site.competition.pk).update(is_published=False)
    slug = site.competition.slug
    token = secret_token(site.organizer, Scope.READ)
    submitter = secret_token(site.organizer, Scope.SUBMIT)
    for page in ("", "/rules", "/leaderboard"):
        address = f"/competitions/{slug}{page}.md"
        assert Client().get(address).status_code == 404
        assert Client().get(address, headers={"authorization": f"Bearer {token}"}).status_code == 200
        refused = Client().get(address, headers={"authorization": f"Bearer {submitter}"})
        assert (refused.status_code, refused.json()["code"]) == (403, "scope_missing")
    Leaderboard.objects.filter(phase=site.phase).update(is_hidden=True)
    site.score(site.submit(), 0.25)
    for given, sees in ((token, False), (secret_token(site.organizer, Scope.READ, Scope.ORGANIZE), True)):
        board = Client().get(f"/competitions/{slug}/leaderboard.md", headers={"authorization": f"Bearer {given}"})
        assert (b"0.2500" in board.content) == sees, "a hidden board"
    for address in ("/llms.txt", "/competitions/none.md"):
        answer = Client().get(address, headers={"authorization": f"Bearer {token}"})
        assert slug not in answer.content.decode()


@pytest.mark.parametrize("address", ["/llms.txt", "/skill.md"])
def test_agents_find_their_way_in(site: Scenario, address: str) -> None:
    answer = Client().get(address)
    text = answer.content.decode()
    assert answer.headers["Cache-Control"] == "public, max-age=300"
    assert all(word in text for word in ("podium", "rules", ".md"))
    if address == "/llms.txt":
        assert text.startswith("# Podium\n\n> ")
        assert f"/competitions/{site.competition.slug}.md): {site.competition.title}" in text
