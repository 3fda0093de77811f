"""The docs on the site: what was built is served, and every page leads to its place there."""

import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from competitions.web.documentation.help_pages import HELP, help_target
from core.refusals import problem_address
from scripts.docs.build import refused_parts
from tests.permissions import named_patterns

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE, SCRIPT = "<!doctype html>\n<p>Read me.", "search();"
FILES = {
    "index.html": PAGE,
    "index.md": "# Read me",
    "participants/index.html": PAGE,
    "participants.md": "# For participants",
    "searchindex.js": SCRIPT,
    "_images/home.webp": "RIFF",
}


@pytest.fixture
def built(settings: Any, tmp_path: Path) -> Path:
    """A site whose docs are two pages and a script; a file beside them is none of theirs."""
    settings.DOCS_DIR = tmp_path
    for name, text in FILES.items():
        path = tmp_path / "build" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "build" / "notes.txt").write_text("nobody's")
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in FILES.items()}
    (tmp_path / "current.json").write_text(json.dumps({"digest": "build", "files": digests}))
    return tmp_path


def test_anybody_reads_the_docs_under_the_policy_of_the_site_and_asks_again_by_etag(
    built: Path, client: Client
) -> None:
    page = client.get("/docs/participants/")
    assert page.content.decode() == PAGE
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "script-src 'self'" in page.headers["Content-Security-Policy"].split("; ")
    assert page.headers["Cache-Control"] == "public, no-cache"
    assert client.get("/docs/participants/", headers={"If-None-Match": page.headers["ETag"]}).status_code == 304
    packed = client.get("/docs/searchindex.js?v=1", headers={"Accept-Encoding": "br, gzip"})
    assert gzip.decompress(packed.content).decode() == SCRIPT
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed.headers["Vary"]
    assert packed.headers["ETag"] != client.get("/docs/searchindex.js").headers["ETag"]
    assert "immutable" in packed.headers["Cache-Control"]
    assert client.get("/docs/_images/home.webp").headers["Content-Type"] == "image/webp"
    assert client.get("/docs/participants/?v=1").headers["Cache-Control"] == "public, no-cache"
    assert client.post("/docs/").status_code == 405


@pytest.mark.parametrize(
    ("address", "accept", "text"),
    [
        ("/docs/participants.md", "*/*", "# For participants"),
        ("/docs/participants/", "text/markdown", "# For participants"),
        ("/docs/", "text/markdown, text/html;q=0.5", "# Read me"),
        ("/docs/participants/", "text/html, text/markdown;q=0.5", PAGE),
        ("/docs/participants/", "*/*", PAGE),
    ],
)
def test_programs_read_the_docs_as_markdown(built: Path, client: Client, address: str, accept: str, text: str) -> None:
    answer = client.get(address, headers={"Accept": accept})
    assert answer.content.decode() == text
    assert answer.headers["Content-Type"].startswith("text/html" if text == PAGE else "text/markdown")
    assert "Accept" in answer.headers["Vary"].split(", ")


def test_an_address_without_its_slash_is_led_on(built: Path, client: Client) -> None:
    answer = client.get("/docs/participants")
    assert (answer.status_code, answer.headers["Location"]) == (301, "/docs/participants/")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "address",
    [
        "../current.json",
        "../../etc/passwd",
        "..%2fcurrent.json",
        "/etc/passwd",
        "participants/../../current.json",
        "notes.txt",
        "index.html.gz",
    ],
)
def test_no_address_leads_out_of_what_was_built(built: Path, client: Client, address: str) -> None:
    assert client.get(f"/docs/{address}").status_code == 404


@pytest.mark.django_db
def test_a_new_build_is_seen_and_a_site_without_one_says_so(built: Path, client: Client) -> None:
    assert client.get("/docs/").status_code == 200
    (built / "current.json").unlink()
    missing = client.get("/docs/participants/")
    assert missing.status_code == 404
    assert "The docs of this site were not built" in missing.content.decode()


def anchors(page: str) -> set[str]:
    """Headings of a page as GitHub and the built docs name them."""
    headings = re.findall(r"^#+ (.+)$", (DOCS / f"{page}.md").read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_readme_and_changelog_link_to_headings_that_are_there() -> None:
    for name in ("README.md", "CHANGELOG.md"):
        links = re.findall(r"\(docs/([\w-]+)\.md#([\w-]+)\)", (DOCS.parent / name).read_text())
        assert links
        assert [link for link in links if link[1] not in anchors(link[0])] == []


def test_templates_link_to_pages_and_headings_that_are_there() -> None:
    templates = "".join(path.read_text() for path in (DOCS.parent / "platform/templates").rglob("*.html"))
    links = set(re.findall(r"'web:docs-page' '([\w-]+)/' %}(?:#([\w-]+))?", templates))
    assert ("sealing-and-winners", "checks-of-winners-code") in links
    assert [link for link in links if link[1] and link[1] not in anchors(link[0])] == []
    assert [page for page, _ in links if not (DOCS / f"{page}.md").exists()] == []


PROGRAMS = ("api:", "codabench:", "worker-", "launcher-")


def test_every_page_has_its_place_in_the_docs_and_each_place_exists() -> None:
    names = [name for name, _ in named_patterns() if not name.startswith((*PROGRAMS, "^", "django."))]
    assert [name for name in names if help_target(name) is None] == []
    exact = {
        "web:team-webhooks": "participants#webhooks",
        "web:finals": "participants#final-submissions",
        "organize:discussion": "organizers#the-moderation-desk",
    }
    assert {name: help_target(name) for name in exact} == exact
    for target in filter(None, HELP):
        page, _, heading = target.partition("#")
        assert not heading or heading in anchors(page), target
        assert (DOCS / f"{page}.md").exists(), target
    stems = {stem.removesuffix("*") for row in HELP.values() for stem in row}
    assert [stem for stem in stems if not any(name.startswith(stem) for name in [*names, "styleguide"])] == []


@pytest.mark.django_db
def test_pages_and_refusals_lead_to_the_docs(client: Client) -> None:
    assert '<a href="/docs/participants/#your-account">Help</a>' in client.get("/accounts/login/").content.decode()
    problem = client.get("/api/v1/competitions/none/").json()
    assert problem["type"] == problem_address("not_found") == "/docs/reference/problems/#not-found"


def test_a_page_that_the_policy_would_refuse_is_not_built() -> None:
    assert refused_parts('<script src="a.js"></script><p>style=</p>') == []
    assert refused_parts("<script>a()</script>") == ["an inline script"]
    assert refused_parts('<td style="width: 1px">') == ["an inline style"]
    assert refused_parts('<p onclick="a()">') == ["a handler in an attribute"]
    assert refused_parts('<img src="https://example.org/a.png">') == ["something of another site"]
