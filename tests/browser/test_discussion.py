"""A topic, a reply and an organizer's decision, in the browser and without script."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import NewVisitor

QUIET = "/competitions/gap/discussion/"


def test_a_question_is_answered_solved_and_moderated(new_visitor: NewVisitor) -> None:
    ada, olga = new_visitor("ada", java_script_enabled=False), new_visitor("olga")
    page = ada.visit(QUIET)
    page.get_by_role("link", name="New topic", exact=True).click()
    page.get_by_label("Title").fill("Is the test set shuffled?")
    page.get_by_label("Text").fill("See `data.csv`.")
    page.get_by_role("button", name="Open the topic").click()
    expect(page.get_by_role("heading", name="Is the test set shuffled?")).to_be_visible()
    answering = olga.visit(page.url.removeprefix(olga.url).partition("?")[0])
    answering.get_by_label("Text").fill("Yes, **once**.")
    answering.get_by_role("button", name="Reply", exact=True).click()
    expect(answering.locator(".post strong", has_text="once")).to_be_visible()
    page.reload()
    expect(page.get_by_text("organizer", exact=True)).to_be_visible()
    page.get_by_role("button", name="Block Olga").first.click()
    expect(page.get_by_text("once", exact=True)).to_be_hidden()
    page.get_by_text("By somebody you have blocked. Show").click()
    expect(page.get_by_text("once", exact=True)).to_be_visible()
    page.get_by_role("button", name="Unblock Olga").first.click()
    page.get_by_role("button", name="This solves it").click()
    expect(page.get_by_text("Solved by")).to_be_visible()
    answering.reload()
    answering.get_by_role("button", name="Lock", exact=True).click()
    page.reload()
    expect(page.get_by_text("This topic is locked")).to_be_visible()
    answering.get_by_role("button", name="Remove the topic").click()
    ada.expect_on_console("status of 404")
    page.reload()
    expect(page.get_by_text("Is the test set shuffled?")).to_have_count(0)
