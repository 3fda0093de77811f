"""The style guide shows each component as on the pages: no faults at any width or scheme."""

from __future__ import annotations

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import NewVisitor
from tests.browser.gallery import CLUSTER, GAP
from tests.browser.visitor import OF_COLOURS, Visitor
from tests.soak import mostly_in_soak

SCREENS = {"desktop": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}
MOST_BYTES = 200_000


@pytest.mark.parametrize("screen", mostly_in_soak(SCREENS, always=["desktop"]))
def test_axe_finds_nothing_at_all_in_the_style_guide(new_visitor: NewVisitor, screen: str) -> None:
    """In the dark, the rules on colours: no other looks at them."""
    visitor = new_visitor(viewport=SCREENS[screen], color_scheme="light", reduced_motion="reduce")
    page = visitor.visit("/styleguide/")
    options: dict[str, Any] = {"resultTypes": ["violations"], "preload": False}
    violations = Axe().run(page, options=options).response["violations"]
    assert visitor.overflow() <= 0
    page.emulate_media(color_scheme="dark")
    colours = {"runOnly": {"type": "rule", "values": list(OF_COLOURS)}}
    violations += Axe().run(page, options=options | colours).response["violations"]
    assert [(violation["id"], node["html"][:120]) for violation in violations for node in violation["nodes"]] == []


def test_every_icon_that_a_page_names_is_in_the_sprite(new_visitor: NewVisitor) -> None:
    visitor = new_visitor("fred")
    names = set(visitor.visit("/styleguide/").locator(".icons li").all_inner_texts())
    used: set[str] = set()
    for path in ("/", f"{GAP}/", f"{CLUSTER}/submissions/", "/styleguide/"):
        used |= set(visitor.visit(path).locator("svg.icon use").evaluate_all("all => all.map(one => one.href.baseVal)"))
    assert {address.partition("#")[2] for address in used} <= {name.strip() for name in names}


WEIGHED = [
    ("", "/"),
    ("", f"{GAP}/"),
    ("", f"{GAP}/leaderboard/"),
    ("", "/competitions/crowd/leaderboard/history/"),
    ("ada", f"{GAP}/submissions/"),
    ("", "/styleguide/"),
]


@pytest.mark.parametrize(("who", "path"), WEIGHED)
def test_a_page_weighs_little(new_visitor: NewVisitor, who: str, path: str) -> None:
    visitor = new_visitor(who)
    visitor.context.new_cdp_session(visitor.page).send("Network.clearBrowserCache")  # as on the first visit
    sizes: dict[str, int] = {}
    visitor.page.on("requestfinished", lambda request: sizes.update({request.url: request.sizes()["responseBodySize"]}))
    visitor.visit(path)
    visitor.page.wait_for_load_state("networkidle")
    ours = {address: size for address, size in sizes.items() if "/logo/" not in address and "/images/" not in address}
    assert sum(ours.values()) <= MOST_BYTES, ours


def test_a_page_of_a_competition_begins_in_the_first_half_of_a_phone(new_visitor: NewVisitor) -> None:
    visitor = new_visitor("ada", viewport=SCREENS["phone"])
    for path in (f"{GAP}/", f"{GAP}/leaderboard/", f"{GAP}/submissions/"):
        visitor.visit(path)
        top = visitor.main.evaluate("one => one.getBoundingClientRect().top")
        assert top <= SCREENS["phone"]["height"] / 2, path


def test_tabs_and_the_head_of_a_board_stay_in_sight(new_visitor: NewVisitor) -> None:
    visitor = new_visitor("cleo", viewport={"width": 1440, "height": 420})
    page = visitor.visit(f"{GAP}/leaderboard/")
    page.locator("table.board tbody tr").last.scroll_into_view_if_needed()
    assert page.evaluate("scrollY") > 0
    head, tabs = (page.locator(name).first.bounding_box() for name in ("table.board thead th", ".tab-strip"))
    assert head is not None
    assert tabs is not None
    assert tabs["y"] == 0
    assert tabs["height"] - 2 <= head["y"] < 80


def test_a_chart_tells_its_values_to_the_keyboard_and_the_mouse_and_has_a_table_behind_it(
    new_visitor: NewVisitor,
) -> None:
    page = new_visitor().visit("/styleguide/")
    chart = page.locator("canvas[aria-roledescription=chart]")
    chart.focus()
    point_text = page.locator(".chart output")
    page.keyboard.press("ArrowRight")
    expect(point_text).to_have_text(re.compile(r"^Éva és a többiek: 0\.61, \d{4}-\d\d-\d\d \d\d:\d\d UTC$"))
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    expect(point_text).to_have_text(re.compile(r"^Your team: 0\.66, "))
    page.get_by_text("Show the numbers").click()
    expect(page.locator(".chart tbody tr")).to_have_count(8)
    chart.hover(position={"x": 60, "y": 60})
    read_tooltip = (
        "one => { const { opacity, body } = Chart.getChart(one).tooltip; return [opacity, body[0].lines[0]] }"
    )
    opacity, text = chart.evaluate(read_tooltip)
    assert opacity == 1
    assert text.startswith("Éva és a többiek: 0.61, ")


def test_the_values_of_an_axis_have_equally_many_decimals_and_none_comes_twice(new_visitor: NewVisitor) -> None:
    visitor = new_visitor("ada")
    for width in (1280, 390):
        visitor.page.set_viewport_size({"width": width, "height": 900})
        page = visitor.visit(f"{GAP}/leaderboard/history/?phase=test-dev")
        page.locator("[data-drawn]").wait_for()
        read_ticks = (
            "one => Object.values(Chart.getChart(one).scales).map(axis => axis.ticks.map(({ label }) => label))"
        )
        times, values = page.locator("canvas[aria-roledescription=chart]").evaluate(read_ticks)
        assert {len(value.partition(".")[2]) for value in values if value != "0"} == {1}, "zero stands without"
        for labels in (times, values):
            assert 2 <= len(labels) == len(set(labels)) <= 7


def test_a_chart_is_a_table_without_script(new_visitor: NewVisitor) -> None:
    page = new_visitor(java_script_enabled=False).visit("/styleguide/")
    expect(page.locator(".chart-area")).to_be_hidden()
    expect(page.locator(".chart figcaption")).to_contain_text("The best score went from 0.61 to 0.43")
    page.get_by_text("Show the numbers").click()
    expect(page.locator(".chart tbody")).to_contain_text("Éva és a többiek")


def test_what_cannot_be_taken_back_is_asked_in_a_dialog(new_visitor: NewVisitor) -> None:
    visitor = new_visitor(color_scheme="dark")
    page = visitor.visit("/styleguide/")
    opener = page.locator("details.confirm > summary")
    opener.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Withdraw")
    expect(dialog.get_by_role("button", name="Back")).to_be_focused()
    assert not visitor.accessibility_faults()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(opener).to_be_focused()


def test_what_htmx_is_refused_becomes_a_toast_that_can_be_closed(new_visitor: NewVisitor) -> None:
    visitor = new_visitor()
    visitor.expect_on_console("status of 403|Response Status Error Code 403")
    page = visitor.visit("/styleguide/")
    for _ in range(2):
        page.get_by_role("button", name="Be refused").click()
    toast = page.locator("#toasts").get_by_role("alert")
    expect(toast).to_contain_text("Your team has used all 5 submissions for today.")
    expect(toast).to_have_count(1)
    assert not covered_forms(visitor)
    page.set_viewport_size({"width": 390, "height": 844})
    toast.get_by_role("button", name="Close this message").click()
    page.locator("main form").last.scroll_into_view_if_needed()
    page.get_by_role("button", name="Be refused").evaluate("button => button.click()")
    expect(toast).to_be_visible()
    assert not covered_forms(visitor)
    assert not visitor.accessibility_faults()
    toast.get_by_role("button", name="Close this message").click()
    expect(toast).to_have_count(0)


def covered_forms(visitor: Visitor) -> int:
    """The number of forms under the messages."""
    count: int = visitor.page.evaluate("""() => {
      const box = document.getElementById("toasts").getBoundingClientRect();
      const lies = (r) => r.width && r.left < box.right && r.right > box.left && r.top < box.bottom && r.bottom > box.top;
      return [...document.querySelectorAll("main form")].filter((form) => lies(form.getBoundingClientRect())).length;
    }""")
    return count
