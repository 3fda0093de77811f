"""A participant's way, from sign-up to the leaderboard, without reloading what updates itself."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import NewVisitor
from tests.browser.gallery import first_row
from tests.browser.seeding.place import LONG_TEAM, prediction
from tests.browser.site import BrowserSite
from tests.browser.visitor import Visitor
from tests.scenario import zip_bytes

SCORED_WITHIN_MS = 180_000
OFFICIAL_NAME = "y_pred_pcqm4m-v2_test-dev.npz"
COMMAND = "command: python3 $program/main.py\n"
SLOW_PROGRAM = """
import shutil, sys, time
for step in range(60):
    print(f"step {step}", flush=True)
    time.sleep(0.25)
"""
GOOD_PROGRAM = """
import shutil, time
for epoch in range(6):
    print(f"epoch {epoch} done", flush=True)
    time.sleep(0.6)
shutil.copy("/app/program/answer.npz", "/app/output/y_pred_pcqm4m-v2_test-dev.npz")
"""


def write_file(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def write_code(folder: Path, source: str) -> Path:
    files: dict[str, str | bytes] = {
        "metadata.yaml": COMMAND,
        "main.py": source,
        "answer.npz": prediction("test-dev", 0.5),
    }
    return write_file(folder, "code.zip", zip_bytes(files))


def sign_up(visitor: Visitor, site: BrowserSite, name: str) -> None:
    """Create an account and follow the link of the confirmation mail."""
    page = visitor.visit("/accounts/signup/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("E-mail").fill(f"{name}@example.net")
    page.get_by_label("Password", exact=True).fill("quite a long secret 11")
    page.get_by_label("Password (again)").fill("quite a long secret 11")
    visitor.main.get_by_role("button", name="Sign up", exact=True).click()
    expect(visitor.main.get_by_role("heading")).to_contain_text("Confirm your e-mail")
    page.goto(site.link_mailed_to(f"{name}@example.net", "confirm-email"))
    visitor.main.get_by_role("button", name="Confirm").click()
    expect(page.locator(".site-nav")).to_contain_text(name)


def choose_and_submit(page: Page, path: Path, *, kind: str = "Predictions", note: str = "") -> None:
    page.get_by_role("radio", name=re.compile(kind)).check()
    page.get_by_label("File").set_input_files(path)
    page.get_by_label(re.compile("^Description")).fill(note)
    page.get_by_role("button", name="Submit", exact=True).click()


def with_team(new_visitor: NewVisitor, name: str) -> Visitor:
    """Somebody who has a team, at the page to submit on."""
    visitor = new_visitor(name)
    visitor.visit("/competitions/gap/submissions/?phase=test-dev")
    return visitor


def test_two_people_sign_up_found_a_team_submit_and_stand_on_the_leaderboard(
    new_visitor: NewVisitor, site: BrowserSite, folder: Path
) -> None:
    nora, page = (visitor := new_visitor()), visitor.page
    sign_up(nora, site, "nora")
    nora.visit("/competitions/gap/")
    nora.page.get_by_role("link", name="Join competition").click()
    page.get_by_label(re.compile("I have read and accept")).check()
    page.get_by_role("button", name="Join competition").click()
    page.get_by_label("Team name").fill("Northern Lights")
    page.get_by_role("button", name="Rename").click()
    expect(page.locator(".message")).to_contain_text("Northern Lights")

    oskar = new_visitor()
    sign_up(oskar, site, "oskar")
    oskar.join("gap")
    page.get_by_label("User name or e-mail address").fill("oskar@example.net")
    page.get_by_role("button", name="Invite").click()
    expect(page.get_by_role("table", name="Open invitations")).to_contain_text("oskar")
    oskar.visit("/competitions/gap/data/")
    oskar.page.get_by_role("link", name="Accept or decline").click()
    oskar.page.get_by_role("button", name="Accept").click()
    expect(oskar.page.get_by_role("table")).to_contain_text("nora")
    expect(oskar.page.locator(".invitation")).to_have_count(0)

    nora.visit("/competitions/gap/data/")
    with page.expect_download() as download:
        page.get_by_role("link", name="data.zip").click()
    assert zipfile.ZipFile(io.BytesIO(Path(download.value.path()).read_bytes())).namelist() == ["train.csv"]

    page.get_by_role("link", name="Submit", exact=True).click()
    choose_and_submit(page, write_file(folder, OFFICIAL_NAME, prediction("test-dev", 0.001)), note="first try")
    row = page.get_by_role("row", name=re.compile("first try"))
    expect(row).to_be_visible()
    page.evaluate("window.notReloaded = true")
    expect(row.locator(".badge")).to_contain_text("finished", timeout=SCORED_WITHIN_MS)
    expect(row).to_contain_text("0.0010 eV")
    assert page.evaluate("window.notReloaded"), "the row must change in place"
    assert row.get_attribute("hx-get") is None, "a row that is final must stop asking"

    page.get_by_role("link", name="Leaderboard").click()
    pinned = page.locator("tr.pinned")
    expect(pinned).to_contain_text("Northern Lights")
    expect(pinned.locator("td").first).to_have_text("1")
    expect(page.locator("table.board")).to_contain_text(LONG_TEAM)

    page.get_by_role("link", name="Submissions").click()
    expect(row).to_contain_text("counts now")
    row.get_by_role("link").first.click()
    expect(page.locator(".scores").first).to_contain_text("0.0010")
    expect(page.locator(".meters")).to_contain_text("Peak memory")
    expect(page.locator("#live")).to_contain_text("counts now")
    page.get_by_text("Receipt", exact=True).click()
    expect(page.locator("details[id^=receipt]")).to_contain_text("sha256:")
    with page.expect_download() as receipt:
        page.get_by_role("link", name="Download as JSON").click()
    assert '"submission": "sha256:' in Path(receipt.value.path()).read_text().replace('":"', '": "')


def test_a_code_submission_shows_its_log_and_budget_while_it_runs(new_visitor: NewVisitor, folder: Path) -> None:
    visitor = with_team(new_visitor, "lena")
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visitor.page
    choose_and_submit(page, write_code(folder, GOOD_PROGRAM), kind="Code", note="ridge")
    page.get_by_role("link", name="code.zip").click()
    log, meter = page.locator("[data-follow]").first, page.get_by_role("meter", name="Budget used")
    expect(log).to_contain_text("epoch 0 done", timeout=SCORED_WITHIN_MS)
    expect(meter).to_be_visible()
    page.get_by_text("History", exact=True).click()
    expect(page.locator("#live .badge")).to_contain_text("finished", timeout=SCORED_WITHIN_MS)
    expect(log).to_contain_text("epoch 5 done")
    expect(page.locator(".scores").first).to_contain_text("0.5000 eV")
    expect(page.locator(".budget")).to_contain_text("of the budget used")
    page.get_by_text("Receipt", exact=True).click()
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert "podium/runtime" in page.evaluate("navigator.clipboard.readText()")
    assert page.locator("details[id^=history]").get_attribute("open") is not None, "what was opened stays open"
    assert page.locator("#live").get_attribute("hx-get") is None


def test_a_running_submission_can_be_cancelled(new_visitor: NewVisitor, folder: Path) -> None:
    page = with_team(new_visitor, "mika").page
    choose_and_submit(page, write_code(folder, SLOW_PROGRAM), kind="Code")
    page.get_by_role("link", name="code.zip").click()
    expect(page.locator("[data-follow]").first).to_contain_text("step", timeout=SCORED_WITHIN_MS)
    page.get_by_text("Cancel this submission").click()
    stop = page.get_by_role("button", name="Stop it")
    stop.focus()
    with page.expect_response("**/live/"):
        pass
    expect(stop).to_be_focused()  # the page is replaced every two seconds, and the keyboard stays where it was
    page.keyboard.press("Enter")
    expect(page.locator("#live .badge")).to_contain_text("cancelled", timeout=SCORED_WITHIN_MS)
    expect(stop).to_have_count(0)


def test_a_wrong_file_is_named_and_the_form_can_be_used_again(new_visitor: NewVisitor, folder: Path) -> None:
    visitor = with_team(new_visitor, "otto")
    page = visitor.page
    visitor.expect_on_console("status of 422")
    error = page.locator("[data-upload-error]")
    choose_and_submit(page, write_file(folder, "y_pred_pcqm4m-v2_test-challenge.npz", prediction("test-challenge")))
    expect(error).to_contain_text(OFFICIAL_NAME)
    choose_and_submit(page, write_file(folder, OFFICIAL_NAME, b"not a zip at all"))
    expect(error).not_to_contain_text("test-challenge.npz")
    expect(error).to_be_visible()
    expect(page.locator("[data-drop-answer]")).to_have_text(f"{OFFICIAL_NAME}, 1 KiB")  # it no longer looks right
    choose_and_submit(page, write_file(folder, OFFICIAL_NAME, prediction("test-dev")), note="now right")
    expect(page.get_by_role("row", name=re.compile("now right"))).to_be_visible()
    expect(page.locator("table.submissions tbody tr")).to_have_count(1)


def test_the_list_can_be_filtered(new_visitor: NewVisitor) -> None:
    visitor = new_visitor("fred")
    page = visitor.visit("/competitions/cluster/submissions/")
    rows = page.locator("table.submissions tbody tr")
    expect(rows).to_have_count(7)
    for name, count in [("Finished", 2), ("Failed", 4), ("Running", 1), ("All", 7)]:
        page.get_by_role("link", name=name, exact=True).click()
        expect(rows).to_have_count(count)


def test_who_waits_is_told_the_place_and_who_runs_the_workers(new_visitor: NewVisitor) -> None:
    page = new_visitor("fred").visit("/competitions/cluster/submissions/?show=running")
    row = page.locator("table.submissions tbody tr")
    expect(row).to_contain_text("First in the queue")
    expect(row).to_contain_text("No compute worker is responding; last contact")
    expect(row).to_contain_text("Cluster team, room 4.12")


def test_a_page_that_follows_says_when_it_cannot(new_visitor: NewVisitor) -> None:
    visitor = new_visitor("fred")
    visitor.expect_on_console("net::ERR_|htmx:")
    page = visitor.visit("/competitions/cluster/submissions/?show=running")
    trouble = visitor.main.get_by_role("status").filter(has_text=re.compile("site does not answer|signed out"))
    visitor.context.set_offline(True)
    expect(trouble).to_contain_text("The site does not answer")
    visitor.context.set_offline(False)
    expect(trouble).to_have_count(0)
    visitor.context.clear_cookies()
    expect(trouble).to_contain_text("You are signed out")
    expect(page.locator("table.submissions tbody tr")).to_contain_text(
        "First in the queue"
    )  # and not a form to sign in


def test_a_team_name_that_is_taken_is_said_beside_the_form_as_it_was_filled_in(new_visitor: NewVisitor) -> None:
    visitor = new_visitor("rosa")
    visitor.join("gap")
    visitor.name_team("gap", "aromatics")
    expect(visitor.page.get_by_role("alert")).to_contain_text("Another team in this competition is called")
    expect(visitor.page.get_by_label("Team name")).to_have_value("aromatics")  # what was typed is still there
    visitor.page.get_by_label("Team name").fill("Roses")
    visitor.page.get_by_role("button", name="Rename").click()
    expect(visitor.page.locator(".message")).to_contain_text("Roses")


def test_detailed_results_are_as_high_as_they_are_within_bounds(new_visitor: NewVisitor) -> None:
    gina = new_visitor("gina")
    first_row(gina)
    frame = gina.page.locator("iframe.detailed")
    inside = gina.page.frame_locator("iframe.detailed")
    height = inside.locator("body").evaluate("body => Math.ceil(body.getBoundingClientRect().bottom + scrollY)")
    expect(frame).not_to_have_css("height", "576px")  # that of a page that says nothing
    box = frame.bounding_box()
    assert box is not None
    assert height <= box["height"] <= height + 40
    inside.locator("body").evaluate("() => parent.postMessage({ height: 1e9 }, '*')")
    expect(frame).to_have_css("height", "3002px")
