"""Smoke runs: requested by a tick, marked in the list, and shown with their whole log."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewVisitor
from tests.scenario import CODE, zip_bytes

MINI = "/competitions/mini/submissions/"
NARROW = {"width": 360, "height": 740}


@pytest.fixture
def code(tmp_path: Path) -> Path:
    path = tmp_path / "mine.zip"
    path.write_bytes(zip_bytes(CODE))
    return path


def test_a_tick_sends_code_to_the_mini_split_alone(new_visitor: NewVisitor, code: Path) -> None:
    visitor = new_visitor("sana", viewport=NARROW)
    page = visitor.visit(MINI)
    smoke = page.get_by_role("checkbox", name="Smoke run only")
    expect(smoke).not_to_be_visible()  # it is nothing for predictions
    page.get_by_role("radio", name="Code").check()
    smoke.check()
    page.get_by_label("File").set_input_files(code)
    page.get_by_role("button", name="Submit", exact=True).click()
    row = page.locator("table.submissions tbody tr").first
    expect(row).to_contain_text("mine.zip")
    expect(row).to_contain_text("smoke run")
    assert visitor.accessibility_faults() == []
    assert visitor.overflow() <= 0
    row.get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="Smoke run: Mini split")).to_be_visible()
    expect(page.get_by_text("not counted")).to_be_visible()


def test_what_passed_says_what_the_whole_may_take_and_what_crashed_went_no_further(new_visitor: NewVisitor) -> None:
    visitor = new_visitor("sana", viewport=NARROW)
    page = visitor.visit(MINI)
    page.get_by_role("row", name="Passed, then waits").get_by_role("link").first.click()
    passed = page.locator("summary", has_text="Smoke run passed in")
    expect(passed).to_contain_text("to 19 s")
    expect(page.locator("section.run:visible")).to_have_count(1)
    passed.click()
    expect(page.get_by_text("and at most 19 s, if all of it grows with the data")).to_be_visible()
    assert visitor.accessibility_faults() == []
    assert visitor.overflow() <= 0
    page = visitor.visit(MINI)
    page.get_by_role("row", name="Crashed").get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="Smoke run: Mini split")).to_be_visible()
    expect(page.locator("section.run")).to_have_count(1)
