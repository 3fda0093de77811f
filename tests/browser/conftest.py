"""The site, the browser and its visitors.

The browser lasts to the end, and these tests are the last where others run in the same process: its event loop must not reach those.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, sync_playwright

from tests.browser.site import BrowserSite
from tests.browser.visitor import Visitor
from tests.migrated import postgres_database

NewVisitor = Callable[..., Visitor]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bound the tests alone: the first would include the site's start, which has limits of its own."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.timeout(900, func_only=True))


@pytest.fixture(scope="session")
def site(
    postgres_url: str, redis_url: str, runtime_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrowserSite]:
    """The running site, filled."""
    database_url = postgres_database(postgres_url, f"browser-{uuid.uuid4().hex[:8]}")
    site = BrowserSite(tmp_path_factory.mktemp("site"), database_url=database_url, redis_url=redis_url)
    site.prepare()
    try:
        site.start()
        yield site
    finally:
        site.stop()


@pytest.fixture(scope="session")
def browser(chromium: str | None) -> Iterator[Browser]:
    """A Chromium without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def signed_in() -> dict[str, Any]:
    """Cookies of signed-in people by name: the site limits sign-ins from one address."""
    return {}


@pytest.fixture
def new_visitor(browser: Browser, site: BrowserSite, signed_in: dict[str, Any]) -> Iterator[NewVisitor]:
    """Makes visitors with separate cookies; fails at the end if any of their pages had an error."""
    visitors: list[Visitor] = []

    def make(name: str = "", **context: Any) -> Visitor:
        visitors.append(Visitor(browser.new_context(**_settings(signed_in, name, context)), site.url))
        _sign_in(visitors[-1], name, signed_in)
        return visitors[-1]

    yield make
    for visitor in visitors:
        visitor.context.close()
    for visitor in visitors:
        visitor.check()


@pytest.fixture(scope="module")
def read_as(browser: Browser, site: BrowserSite, signed_in: dict[str, Any]) -> Iterator[Callable[[str], Visitor]]:
    """One window for all who read pages: a test names the reader, begins with `forget`, ends with `check`."""
    # Else a colour that fades is seen on its way.
    context = browser.new_context(**_settings(signed_in, "", {"reduced_motion": "reduce"}))
    context.add_init_script(AXE_SCRIPT)  # sent once, not with every page
    visitor = Visitor(context, site.url)

    def become(name: str) -> Visitor:
        context.clear_cookies()
        if name in signed_in:
            context.add_cookies(signed_in[name]["cookies"])
        _sign_in(visitor, name, signed_in)
        return visitor

    yield become
    context.close()


def _settings(signed_in: dict[str, Any], name: str, more: dict[str, Any]) -> dict[str, Any]:
    return {"viewport": {"width": 1280, "height": 800}, "storage_state": signed_in.get(name)} | more


def _sign_in(visitor: Visitor, name: str, signed_in: dict[str, Any]) -> None:
    if name and name not in signed_in:
        visitor.sign_in_by_requests(name)
        signed_in[name] = visitor.context.storage_state()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder for the files that a test uploads."""
    return tmp_path
