"""Boards that grow by datasets: many columns, pages of algorithms and datasets, withdrawal."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import NewVisitor
from tests.browser.visitor import Visitor

BOTH = "/competitions/both"
NARROW = {"width": 360, "height": 740}


def submission_called(visitor: Visitor, name: str) -> None:
    visitor.visit(f"{BOTH}/submissions/")
    visitor.page.get_by_role("link", name=name, exact=True).click()


def test_the_team_s_name_stays_in_sight_while_datasets_are_scrolled(new_visitor: NewVisitor) -> None:
    page = new_visitor("", viewport=NARROW).visit(f"{BOTH}/leaderboard/?sets=2")
    board = page.get_by_role("region", name="Leaderboard")
    board.evaluate("region => { region.scrollIntoView(); region.scrollLeft = region.scrollWidth }")
    name = board.get_by_role("rowheader", name="Hedgehog")
    expect(name).to_be_in_viewport()
    expect(board.get_by_text("waiting").first).to_be_visible()
    expect(board.get_by_text("not run").first).to_be_visible()
    expect(board.get_by_text("being filled", exact=True)).to_be_visible()
    page.get_by_role("link", name="Earlier datasets").click()
    expect(page.get_by_text("Submitted datasets 1 to 20 of 23")).to_be_visible()
    expect(board.get_by_text("failed").first).to_be_visible()


def test_an_algorithm_and_a_dataset_have_pages_and_the_dataset_is_withdrawn(new_visitor: NewVisitor) -> None:
    visitor = new_visitor("hedi", viewport=NARROW)
    submission_called(visitor, "code.zip")
    expect(visitor.page.get_by_role("heading", name="On submitted datasets")).to_be_visible()
    assert visitor.accessibility_faults() == []
    assert visitor.overflow() <= 0
    visitor.page.get_by_role("link", name="Dataset 21").click()
    expect(visitor.page.get_by_role("heading", name="Dataset 21", exact=True)).to_be_visible()
    submission_called(visitor, "Dataset 21.zip")
    expect(visitor.page.get_by_text("on the board", exact=True)).to_be_visible()
    assert visitor.accessibility_faults() == []
    assert visitor.overflow() <= 0
    visitor.page.get_by_text("Withdraw this dataset").click()
    visitor.page.get_by_role("button", name="Withdraw").click()
    expect(visitor.page.get_by_text("it is no longer on the board")).to_be_visible()
    visitor.visit(f"{BOTH}/leaderboard/?sets=2")
    expect(visitor.page.get_by_text("Submitted datasets 21 to 22 of 22")).to_be_visible()
