"""Every kind of page: no serious axe violation, light or dark; fits a phone; readable without script."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib import admin
from playwright.sync_api import Locator, ViewportSize, expect

from tests import services
from tests.browser.conftest import NewVisitor
from tests.browser.gallery import GAP, PAGES
from tests.browser.seeding.place import PASSWORD, prediction
from tests.browser.visitor import NEXT_FRAMES, OF_COLOURS, Visitor
from tests.soak import SOAKS, mostly_in_soak

NARROW: ViewportSize = {"width": 360, "height": 740}
ZOOMED: ViewportSize = {"width": 640, "height": 400}  # 1280 pixels at 200 %
LAPTOP: ViewportSize = {"width": 1366, "height": 768}
DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONES: list[ViewportSize] = [{"width": 360, "height": 740}, {"width": 390, "height": 844}]
CUT = """tables => tables.filter(one => one.scrollWidth > one.parentElement.clientWidth + 1).map(one => one.outerHTML.slice(0, 80))"""

FADED = """() => Promise.allSettled(
  document.getAnimations().filter((each) => each instanceof CSSTransition).map((each) => each.finished))"""


# Pages that show parts of others alone, each element with its classes and role: `make soak` looks at them.
SIBLINGS = {
    "admin-competition",
    "admin-competitions",
    "admin-empty",
    "admin-phase-growing",
    "admin-place",
    "board-crowd",
    "board-facts",
    "board-growing-empty",
    "board-of-agents",
    "board-private",
    "change",
    "changes-none",
    "conduct",
    "confirm-bad-link",
    "confirm-password",
    "costs-none",
    "data-empty",
    "data-member",
    "discussion-empty",
    "discussion-member",
    "discussion-nothing-fits",
    "history-crowd",
    "host-ask",
    "index-organizer",
    "index-signed-in",
    "leaderboard-empty",
    "leaderboard-organizer",
    "leaderboard-sealed",
    "logout",
    "me-new",
    "me-organizer",
    "notification-preferences-own",
    "notifications-none",
    "overview-organizer",
    "overview-quiet",
    "own-queue-cluster",
    "own-queue-settings",
    "own-queues-empty",
    "own-series",
    "own-series-new",
    "password-change",
    "password-reset",
    "password-reset-bad-link",
    "person",
    "person-report",
    "post-edit",
    "post-history",
    "profile-blocked",
    "profile-delete",
    "profile-delete-organizer",
    "proposal-applied",
    "proposal-draft",
    "proposals-none",
    "results-none",
    "rules-to-accept",
    "submissions-none-failed",
    "submissions-scores",
    "submissions-sealed",
    "submissions-tag-none",
    "submit-code-or-data",
    "team-merge-proposed",
    "team-none",
    "topic-long",
    "topic-new-excluded",
    "topic-organizer",
    "uncertainty-none",
    "workspace-announcement",
    "workspace-announcements",
    "workspace-board-delete",
    "workspace-board-delete-sealed",
    "workspace-boards-crowd",
    "workspace-compute-empty",
    "workspace-empty-announcements",
    "workspace-empty-teams",
    "workspace-fact-question-new",
    "workspace-lane",
    "workspace-page-new",
    "workspace-pages-empty",
    "workspace-phase-new",
    "workspace-question",
    "workspace-questions",
    "workspace-questions-empty",
    "workspace-rules",
    "workspace-settings-draft",
    "workspace-task-new",
    "workspace-teams-none",
    "workspace-webhooks",
}


@pytest.mark.parametrize("name", mostly_in_soak(PAGES, always=PAGES.keys() - SIBLINGS))
def test_axe_finds_nothing_serious_in_light_or_dark_and_the_page_fits(
    read_as: Callable[[str], Visitor], name: str
) -> None:
    """One load: colours and widths are changed under it."""
    who, path = PAGES[name]
    visitor = read_as(who)
    visitor.forget()
    visitor.expect_on_console("status of 40[34]")
    visitor.page.evaluate("document.documentElement.hidden = true")  # the page before need not follow
    visitor.page.emulate_media(color_scheme="light")
    visitor.page.set_viewport_size(DESKTOP)
    visitor.visit(path)
    faults = visitor.accessibility_faults() + in_the_dark(visitor) + too_wide(visitor, path)
    assert not faults, "\n".join(faults)
    visitor.check()


def in_the_dark(visitor: Visitor) -> list[str]:
    visitor.page.emulate_media(color_scheme="dark")
    if "/admin/" in visitor.page.url:  # it fades from one colour into the other
        visitor.page.evaluate(FADED)
    return [f"dark: {fault}" for fault in visitor.accessibility_faults(OF_COLOURS)]


def too_wide(visitor: Visitor, path: str) -> list[str]:
    """Pages that are wider than the window, and on a phone tables but boards that are cut."""
    faults = []
    for viewport in (ZOOMED, NARROW):
        visitor.page.set_viewport_size(viewport)
        if (by := visitor.settled_overflow()) > 0:
            faults.append(f"{path} is {by} pixels too wide for {viewport['width']}")
    if "/admin/" not in path:
        faults += [f"{path} cuts {table}" for table in visitor.page.locator("table:not(.board)").evaluate_all(CUT)]
    return faults


WIDE = 7  # columns: of shorter lists `make soak` looks at all


def columns(path: str) -> int:
    """The number of columns of a list of the admin."""
    _, _, app, model, _ = path.split("/")
    return len(admin.site.get_model_admin(apps.get_model(app, model)).list_display)


def test_no_list_of_the_admin_is_cut_on_a_laptop_and_each_fits_a_phone(new_visitor: NewVisitor) -> None:
    visitor = new_visitor("rita", viewport=LAPTOP)
    links = visitor.visit("/admin/").locator("#content-main th a").evaluate_all("all => all.map(one => one.pathname)")
    lists = [path for path in links if path.count("/") == 4 and (SOAKS or columns(path) >= WIDE)]
    assert len(lists) > 10
    cut = {}
    windows = [LAPTOP, NARROW]
    for path in lists:
        results = visitor.visit(path).locator("#changelist-form .results, #changelist .results")
        for window in windows:
            visitor.page.set_viewport_size(window)
            if window == NARROW and (by := visitor.settled_overflow()) > 0:
                cut[f"{path} on a phone"] = by
            if window == LAPTOP and results.count():
                visitor.page.evaluate(NEXT_FRAMES)
                if (hidden := results.first.evaluate("one => one.scrollWidth - one.clientWidth")) > 0:
                    cut[path] = hidden
        windows.reverse()  # the next page begins in the window of this one's end
    assert not cut


RIGHT_EDGES = "all => all.map(one => one.getBoundingClientRect().right)"
LONG_NAMES = ["W" * 60, "The Exceedingly Thorough Institute of Molecular Orbital Gaps", "ÄÖÜ-" * 15]


@pytest.mark.parametrize(
    "path", [f"{GAP}/leaderboard/", f"{GAP}/leaderboard/?sort=hits", "/competitions/both/leaderboard/"]
)
def test_a_long_name_of_a_team_leaves_the_score_in_sight_on_a_phone(new_visitor: NewVisitor, path: str) -> None:
    page = new_visitor("cleo", viewport=PHONES[0]).visit(path)
    names = page.locator("table.board tbody th > a:not(.chip)")
    for number in range(names.count()):
        names.nth(number).evaluate("(one, text) => { one.textContent = text }", LONG_NAMES[number % len(LONG_NAMES)])
    scores = page.locator("table.board tbody .deciding")
    assert scores.count() == names.count() > 0
    for viewport in PHONES:
        page.set_viewport_size(viewport)
        page.evaluate(NEXT_FRAMES)
        assert max(scores.evaluate_all(RIGHT_EDGES)) <= viewport["width"]
        widths = names.evaluate_all("all => all.map(one => one.getBoundingClientRect().width)")
        assert min(widths) > 60, "a name that is squeezed to a letter a line cannot be read"


def test_logos_and_images_of_pages_are_shown_whole(new_visitor: NewVisitor) -> None:
    visitor = new_visitor()
    for path in ("/", f"{GAP}/"):
        logo = visitor.visit(path).locator("img.logo").first
        logo.evaluate("one => one.complete || new Promise((done) => { one.onload = done })")
        shown = logo.evaluate(
            "one => [one.offsetWidth - one.offsetHeight, getComputedStyle(one).objectFit, one.naturalWidth]"
        )
        assert shown == [0, "contain", 320]
    image = visitor.page.get_by_alt_text("How the error falls")
    image.scroll_into_view_if_needed()
    image.evaluate("one => one.complete || new Promise((done) => { one.onload = done })")
    assert image.evaluate("one => one.naturalWidth") == 900
    assert visitor.overflow() <= 0


def test_a_submission_in_each_state_reads_well_on_a_phone(new_visitor: NewVisitor) -> None:
    visitor = new_visitor("fred", viewport=NARROW)
    visitor.visit("/competitions/cluster/submissions/")
    links = visitor.page.locator("table.submissions tbody th a").evaluate_all("all => all.map(one => one.pathname)")
    assert len(links) == 7
    faults = []
    for path in links:
        visitor.visit(path)
        faults += visitor.accessibility_faults()
        assert visitor.overflow() <= 0, path
    assert not faults, "\n".join(faults)


def test_reading_needs_no_script(new_visitor: NewVisitor) -> None:
    visitor = new_visitor(java_script_enabled=False)
    visitor.visit("/")
    visitor.page.get_by_role("link", name="HOMO-LUMO gap").click()
    expect(visitor.main).to_contain_text("Mean absolute error")
    for tab, text in [("Data", "smiles.csv"), ("Rules", "One account"), ("Leaderboard", "0.3100")]:
        visitor.page.get_by_role("link", name=tab, exact=True).click()
        expect(visitor.main).to_contain_text(text)
    expect(visitor.page.locator("time").first).to_have_text(re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d.UTC$"))


def test_a_file_can_be_submitted_without_script(new_visitor: NewVisitor, tmp_path: Path) -> None:
    visitor = new_visitor("dan", java_script_enabled=False)
    page = visitor.visit(f"{GAP}/submissions/?phase=test-dev")
    path = tmp_path / "y_pred_pcqm4m-v2_test-dev.npz"
    path.write_bytes(prediction("test-dev", 0.7))
    page.get_by_label("File").set_input_files(path)
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator(".message.success")).to_contain_text("was accepted")
    path.with_name("wrong.npz").write_bytes(b"nonsense")
    page.get_by_label("File").set_input_files(path.with_name("wrong.npz"))
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator(".message.error").first).to_contain_text("wrong.npz")


def test_signing_in_and_submitting_work_with_the_keyboard_alone(new_visitor: NewVisitor, tmp_path: Path) -> None:
    visitor = new_visitor()
    page, press = visitor.page, visitor.page.keyboard.press
    path = tmp_path / "y_pred_pcqm4m-v2_test-dev.npz"
    path.write_bytes(prediction("test-dev", 0.65))
    page.on(
        "filechooser", lambda chooser: chooser.set_files(path)
    )  # early: the browser must know before a key opens it
    visitor.visit(f"{GAP}/")

    def tab_to(target: Locator) -> None:
        for _ in range(60):
            press("Tab")
            if target.evaluate("one => one === document.activeElement"):
                assert target.evaluate("one => getComputedStyle(one).outlineStyle") != "none", (
                    "the focus cannot be seen"
                )
                return
        raise AssertionError(f"the Tab key does not reach {target}")

    press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    tab_to(page.get_by_role("link", name="Sign in"))
    press("Enter")
    page.wait_for_url(re.compile("/accounts/login/"))
    tab_to(page.get_by_label("User name or e-mail address"))
    page.keyboard.type("eva")
    tab_to(page.get_by_label("Password"))
    page.keyboard.type(PASSWORD)
    press("Enter")
    page.wait_for_url(f"**{GAP}/")
    tab_to(page.get_by_role("link", name="Submit", exact=True))
    press("Enter")
    page.wait_for_url(re.compile("/submissions/"))
    tab_to(page.get_by_label("File"))
    press("Enter")
    expect(page.get_by_label("File")).to_have_value(re.compile(path.name))
    tab_to(page.get_by_role("button", name="Submit", exact=True))
    press("Enter")
    expect(page.locator("table.submissions tbody tr").first).to_contain_text(path.name)
    expect(page.locator("table.submissions tbody tr")).to_have_count(4)


# Of each group of operations the first shows what all are made of; in the whole, axe looks at 27,000 elements for eight seconds.
OPERATIONS_ALIKE = "section section section ~ section"


def test_the_docs_are_searched_under_the_policy_and_fit_a_phone(new_visitor: NewVisitor) -> None:
    """They are those of the checkout; where `make lint` builds them just now, this waits for it."""
    subprocess.run(["scripts/docs.sh"], cwd=services.REPOSITORY, check=True)
    visitor = new_visitor()
    page = visitor.visit("/accounts/login/")
    page.get_by_role("navigation", name="Site", exact=True).get_by_role("link", name="Help").click()
    expect(page.get_by_role("heading", name="Your account", exact=True)).to_be_in_viewport()
    page.get_by_role("textbox", name="Search").fill("resamples replicates")
    page.keyboard.press("Enter")
    page.locator("#search-results").get_by_role("link", name="How sure is a board?").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("How sure is a board?")
    expect(page.get_by_role("img", name="Four scores with intervals")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    for address in ("", "first-site/", "how-sure-is-a-board/", "reference/api/", "settings/"):
        visitor.visit(f"/docs/{address}")
        assert visitor.overflow() <= 0, address
    visitor.visit("/api/v1/docs/")
    expect(page.get_by_role("heading", level=1)).to_contain_text("The REST API")
    if not SOAKS:
        page.locator(OPERATIONS_ALIKE).evaluate_all("all => all.forEach((one) => one.remove())")
    assert visitor.accessibility_faults() == []


MAIN_PAGES = (
    "index",
    "overview",
    "data",
    "leaderboard",
    "history",
    "board-crowd",
    "not-found",
    "index-signed-in",
    "team",
    "submissions-scores",
    "profile",
    "host",
    "workspace",
    "workspace-submissions",
)
MOST_SHIFT = 0.1  # "good" by Core Web Vitals
WATCH_SHIFTS = """
window.shifted = 0;
window.movers = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) {
    window.shifted += entry.value;
    window.movers.push(...entry.sources.map(({ node }) => (node?.outerHTML ?? node?.textContent ?? "").slice(0, 120)));
  }
}).observe({ type: "layout-shift", buffered: true });
"""
AUDIT = """async () => {
  await document.fonts.ready;
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
  return {
    shifted: window.shifted,
    movers: window.movers,
    headings: document.querySelectorAll("h1").length,
    title: document.title,
    description: document.querySelector("meta[name=description]")?.content.trim() ?? "",
    unsized: [...document.querySelectorAll("img:not([width][height], [src*='/images/'])")].map((image) => image.outerHTML.slice(0, 120)),
  };
}"""


def test_main_pages_stand_still_while_they_load_and_say_what_they_are(new_visitor: NewVisitor) -> None:
    """Without a cache nothing moves; each has an h1, title, description, and sizes of its own images."""
    faults, titles = [], {}
    for who in sorted({PAGES[name][0] for name in MAIN_PAGES}):
        visitor = new_visitor(who)
        visitor.expect_on_console("status of 404")
        visitor.context.add_init_script(WATCH_SHIFTS)
        visitor.context.new_cdp_session(visitor.page).send("Network.setCacheDisabled", {"cacheDisabled": True})
        for name in (name for name in MAIN_PAGES if PAGES[name][0] == who):
            audit = visitor.visit(PAGES[name][1]).evaluate(AUDIT)
            titles[name] = audit["title"]
            if audit["shifted"] >= MOST_SHIFT or audit["headings"] != 1 or not audit["description"] or audit["unsized"]:
                faults.append(f"{name}: {audit}")
    assert not faults, "\n".join(faults)
    assert len(set(titles.values())) == len(titles) - 1, (
        "each page has a title of its own; the home page has one for both"
    )
