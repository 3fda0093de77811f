"""Logs: numbered, linkable lines, search by keyboard, and ten thousand lines stay fast."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewVisitor
from tests.browser.seeding.place import LONG_FILE
from tests.browser.visitor import Visitor
from tests.soak import mostly_in_soak

MANY = 10_000
MANY_WITHIN_MS = 20_000  # a fraction of a second where nothing else runs
WINDOWS = {"wide": {"width": 1280, "height": 800}, "phone": {"width": 390, "height": 844}}
IN_LOG = "[data-log]"


def opened(visitor: Visitor) -> Page:
    """The page of a submission whose program wrote 400 lines."""
    visitor.visit("/competitions/cluster/submissions/")
    visitor.page.get_by_role("link", name=LONG_FILE).first.click()
    visitor.page.locator(".log-line").first.wait_for()
    return visitor.page


@pytest.mark.parametrize("window", mostly_in_soak(WINDOWS, always=["phone"]))
def test_text_is_found_and_gone_to_by_keyboard(new_visitor: NewVisitor, window: str) -> None:
    visitor = new_visitor("fred", viewport=WINDOWS[window])
    page = opened(visitor)
    log, find, count = page.locator(IN_LOG), page.get_by_label("Find in this log"), page.locator(".log-find output")
    log.focus()
    page.keyboard.press("/")
    expect(find).to_be_focused()
    page.keyboard.type("EPOCH  39")
    expect(count).to_have_text("1 of 10 lines")
    current = page.locator(".log-line.is-current")
    expect(current).to_contain_text("epoch  390")
    expect(current).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(current).to_contain_text("epoch  391")
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    expect(count).to_have_text("10 of 10 lines")
    expect(current).to_contain_text("epoch  399")
    page.get_by_role("button", name="Next").click()
    expect(count).to_have_text("1 of 10 lines")
    find.fill("no such words")
    expect(count).to_have_text("Not found")
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    find.press("Escape")
    expect(log).to_be_focused()
    assert visitor.settled_overflow() == 0


def test_a_line_has_an_address_of_its_own(new_visitor: NewVisitor) -> None:
    page = opened(new_visitor("fred"))
    link = page.get_by_role("link", name="Line 400", exact=True)
    address = link.get_attribute("href")
    page.goto(page.url.partition("#")[0] + str(address))
    page.reload()
    line = page.locator(".log-line.is-linked")
    expect(line).to_contain_text("epoch  399")
    expect(line).to_be_in_viewport()
    copied = page.evaluate(
        f"getSelection().selectAllChildren(document.querySelector('{IN_LOG}')) || String(getSelection())"
    )
    assert re.match(r"epoch    0 ", copied), "numbers are not copied"


def test_without_script_a_log_is_the_same_text(new_visitor: NewVisitor) -> None:
    visitor = new_visitor("fred")
    text = opened(visitor).locator(IN_LOG).text_content() or ""
    answer = visitor.page.request.get(visitor.page.url).text()
    assert text.count("\n") == 400
    assert text.removesuffix("\n") in answer


def test_ten_thousand_lines_stay_fast_and_a_part_that_is_replaced_keeps_the_search(new_visitor: NewVisitor) -> None:
    page = opened(new_visitor("fred"))
    took_ms = page.evaluate(
        """async count => {
            const log = document.querySelector("[data-log]");
            const text = Array.from({ length: count }, (_, at) => `step ${at} loss ${(at * 7919) % 1000}`).join("\\n");
            const replace = () => {
                document.querySelector(".log-find").remove();
                const fresh = document.createElement("pre");
                Object.assign(fresh, { id: log.id, className: "log", tabIndex: 0, textContent: text });
                fresh.dataset.log = "";
                document.querySelector("[data-log]").replaceWith(fresh);
                document.dispatchEvent(new CustomEvent("htmx:afterSwap"));
            };
            const started = performance.now();
            replace();
            const find = document.querySelector(".log-find input");
            find.value = "loss 77";
            find.dispatchEvent(new Event("input"));
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
            document.querySelector(".log-find button:nth-of-type(2)").click();
            replace();
            await new Promise((done) => requestAnimationFrame(done));
            return performance.now() - started;
        }""",
        MANY,
    )
    expect(page.get_by_label("Find in this log")).to_have_value("loss 77")
    expect(page.locator(".log-find output")).to_have_text("2 of 110 lines")
    expect(page.locator(".log-line")).to_have_count(MANY)
    assert took_ms < MANY_WITHIN_MS
