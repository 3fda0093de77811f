"""An organizer's way: a bundle's competition, a phase in the admin, people and submissions."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NewVisitor
from tests.browser.seeding.place import METADATA, SCORER, labels, npz, prediction
from tests.browser.visitor import Visitor
from tests.bundle_files import LEGACY, changed, packed, write
from tests.images import png_bytes
from tests.scenario import zip_bytes

OFFICIAL_NAME = "y_pred_pcqm4m-v2_test-dev.npz"
SCORED_WITHIN_MS = 180_000


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".messagelist .success").first).to_contain_text("successfully")


def solubility(folder: Path) -> Path:
    """A bundle with one phase that is over, its board, and a task."""
    now = datetime.now(UTC)
    start, end = (f"{now - timedelta(days=days):%Y-%m-%d}" for days in (9, 2))
    column = {"title": "MAE", "key": "mae", "index": 0, "sorting": "asc", "precision": 4}
    competition = {
        "version": 2,
        "title": "Solubility 2027",
        "terms": "terms.md",
        "pages": [{"title": "Overview", "file": "overview.md"}],
        "tasks": [{"index": 0, "name": "Solubility", "scoring_program": "program.zip", "reference_data": "labels.zip"}],
        "phases": [
            {
                "index": 0,
                "name": "Warm-up",
                "start": start,
                "end": end,
                "tasks": [0],
                "podium": {"accepts": ["prediction"]},
            }
        ],
        "leaderboards": [{"title": "Results", "key": "main", "submission_rule": "Force_Best", "columns": [column]}],
    }
    files: dict[str, str | bytes] = {
        "terms.md": "# Rules\n\nShare your code after the end.",
        "overview.md": "How well does it dissolve?",
        "program.zip": zip_bytes({"metadata.yaml": METADATA, "main.py": SCORER.read_text()}),
        "labels.zip": zip_bytes({"y.npz": npz(y_true=labels("test-dev"))}),
    }
    return packed(write(folder / "solubility", competition, files), folder / "solubility.zip")


def add_phase(page: Page, url: str) -> None:
    """Add a phase in the admin, whose form begins with the settings of the last one."""
    opens = datetime.now(UTC) - timedelta(days=1)
    page.goto(f"{url}/admin/catalog/phase/add/")
    page.locator("#content").get_by_role("link", name="Solubility 2027").click()
    page.locator("#id_name").fill("Final")
    page.get_by_label("Opens").fill(f"{opens:%Y-%m-%dT%H:%M}")
    page.get_by_label("The official file of a known dataset").check()
    page.get_by_label("Dataset and split").select_option("lsc-pcqm4mv2 test-dev")
    page.get_by_label("Rows", exact=True).fill("40")
    expect(page.get_by_role("checkbox", name="Solubility")).to_be_checked()
    save(page)


def add_column(olga: Visitor) -> None:
    """Give the new phase's board, which is like that of the phase before, one more column."""
    page = olga.visit("/host/competitions/solubility-2027/boards/")
    page.get_by_role("link", name="Results", exact=True).last.click()
    page.get_by_text("Another column").click()
    for field, text in {"key": "hits", "title": "Hits", "index": "1"}.items():
        page.locator(f"#id_columns-1-{field}").fill(text)
    page.locator("#id_columns-1-sorting").select_option("desc")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".message.success")).to_contain_text("was saved")


def test_a_competition_of_a_bundle_gets_a_phase_is_published_and_scores_its_first_submission(
    new_visitor: NewVisitor, tmp_path: Path
) -> None:
    olga, sam = new_visitor("olga"), new_visitor("sam")
    page, url = olga.page, olga.url
    olga.visit("/organize/bundles/")
    page.get_by_label("Bundle").set_input_files(solubility(tmp_path))
    page.get_by_role("button", name="Import").click()
    expect(page.locator("#bundle")).to_contain_text("is there, as a draft")
    sam.expect_on_console("status of 404")
    sam.visit("/competitions/solubility-2027/")
    expect(sam.main).to_contain_text("Not found")
    add_phase(page, url)
    add_column(olga)
    olga.visit("/competitions/solubility-2027/")
    expect(page.locator(".checklist .todo")).to_have_count(1)
    page.get_by_role("link", name="Change it").click()
    page.get_by_role("button", name="Publish the competition").click()
    expect(page.locator(".message.success")).to_contain_text("Everybody sees it now")
    olga.visit("/competitions/solubility-2027/")
    expect(page.locator(".checklist")).to_have_count(0)

    sam.join("solubility-2027")
    expect(sam.main).to_contain_text("is waiting for an organizer")
    olga.visit("/host/competitions/solubility-2027/").get_by_role("link", name="Decide").click()
    page.get_by_role("checkbox", name="sam").check()
    page.get_by_role("button", name="Apply").click()
    expect(page.locator(".message.success")).to_contain_text("1 of 1 approved")
    sam.name_team("solubility-2027", "Samplers")
    submit(sam, "solubility-2027", tmp_path, 0.2)
    sam.visit("/competitions/solubility-2027/leaderboard/")
    expect(sam.page.locator("tr.pinned")).to_contain_text("0.2000")


def submit(visitor: Visitor, slug: str, folder: Path, error: float) -> None:
    page = visitor.visit(f"/competitions/{slug}/submissions/")
    path = folder / OFFICIAL_NAME
    path.write_bytes(prediction("test-dev", error))
    page.get_by_label("File").set_input_files(path)
    page.get_by_role("button", name="Submit", exact=True).click()
    badge = page.locator("table.submissions tbody tr").first.locator(".badge")
    expect(badge).to_contain_text("finished", timeout=SCORED_WITHIN_MS)


def act(page: Page, action: str, reason: str = "") -> None:
    """Choose the first submission of the workspace's list and do something with it."""
    page.get_by_role("checkbox", name=re.compile("^Submission")).first.check()
    page.get_by_label("With selected", exact=True).select_option(label=action)
    if reason:
        page.get_by_label(re.compile("^Public reason")).fill(reason)
    page.get_by_role("button", name="Apply").click()


def test_a_submission_is_run_again_disqualified_with_a_reason_and_reinstated(
    new_visitor: NewVisitor, tmp_path: Path
) -> None:
    kim, olga = new_visitor("kim"), new_visitor("olga")
    submit(kim, "gap", tmp_path, 0.05)
    page = olga.page

    olga.visit("/host/competitions/gap/submissions/?team=Kimchi")
    act(page, "Disqualify")
    expect(page.locator(".message.error")).to_contain_text("Give the reason")
    act(page, "Disqualify", reason="Two accounts of one person.")
    expect(page.locator(".message.success")).to_contain_text("1 of 1 disqualified")
    kim.visit("/competitions/gap/submissions/")
    expect(kim.page.locator("table.submissions tbody")).to_contain_text("Two accounts of one person.")
    kim.visit("/competitions/gap/leaderboard/")
    expect(kim.page.locator("table.board")).not_to_contain_text("Kimchi")
    olga.visit("/host/competitions/gap/submissions/?team=Kimchi")
    act(page, "Undo a disqualification", reason="They are two people.")
    olga.visit("/host/competitions/gap/submissions/?team=Kimchi")
    act(page, "Run again")
    expect(olga.main).to_contain_text("This concerns 1 submission with 1 run")
    page.get_by_role("button", name="Run again").click()
    expect(page.locator(".message.success")).to_contain_text("1 of 1 queued again")
    kim.visit("/competitions/gap/submissions/")
    row = kim.page.locator("table.submissions tbody tr").first
    expect(row.locator(".badge")).to_contain_text("finished", timeout=SCORED_WITHIN_MS)
    expect(row).to_contain_text("0.0500 eV")
    row.get_by_role("link").first.click()
    expect(kim.main).to_contain_text("attempt 2")
    kim.visit("/competitions/gap/leaderboard/")
    expect(kim.page.locator("tr.pinned")).to_contain_text("Kimchi")


def test_sealed_scores_are_shown_to_nobody_without_the_right(new_visitor: NewVisitor) -> None:
    for who in ("ada", "olga", "rita"):
        visitor = new_visitor(who)
        page = visitor.visit("/competitions/gap/leaderboard/?phase=test-challenge")
        expect(visitor.main).to_contain_text("are sealed")
        assert "0.1235" not in page.content()
        visitor.visit("/competitions/gap/submissions/?phase=test-challenge")
        assert "0.1235" not in page.content()


def test_rita_gives_the_right_to_see_sealed_scores_and_then_olga_sees_them(new_visitor: NewVisitor) -> None:
    rita = new_visitor("rita")
    rita.visit("/host/competitions/gap/settings/").get_by_role("button", name="Show sealed scores").first.click()
    olga = new_visitor("olga")
    olga.visit("/competitions/gap/leaderboard/?phase=test-challenge")
    expect(olga.page.locator("table.board")).to_contain_text("0.1235")
    expect(olga.main).to_contain_text("only you and other organizers with the right see this")
    rita.visit("/host/competitions/gap/settings/").get_by_role("button", name="Hide sealed scores").first.click()
    expect(rita.page.get_by_role("button", name="Show sealed scores").first).to_be_visible()


def test_revealing_a_sealed_phase_before_its_end_asks_to_be_confirmed(new_visitor: NewVisitor) -> None:
    olga = new_visitor("olga")
    page, board = olga.page, "/competitions/cluster/leaderboard/?phase=test-challenge"
    olga.visit(board)
    expect(olga.main).to_contain_text("are sealed")

    page.goto(f"{olga.url}/admin/catalog/phase/")
    row = page.get_by_role("row").filter(has_text="Cluster benchmark").filter(has_text="test-challenge")
    row.get_by_role("checkbox").check()
    page.get_by_label("Action:").select_option("reveal")
    page.get_by_role("button", name="Go").click()
    expect(olga.main).to_contain_text("Reveal of test-challenge")
    page.get_by_text("Reveal the scores").click()
    page.get_by_label("I understand that uploads may still arrive").check()
    page.get_by_role("button", name="Reveal to everyone").click()
    expect(page.locator(".message")).to_contain_text("are public now")
    new_visitor().visit(board)
    olga.visit(board)
    expect(olga.main).to_contain_text("No scores yet")


def test_a_bundle_is_imported_by_itself_once_it_has_arrived_and_says_what_became_of_it(
    new_visitor: NewVisitor, tmp_path: Path
) -> None:
    visitor = new_visitor("olga")
    page = visitor.page
    for name, data, words in (
        ("old", LEGACY, "is there, as a draft"),
        ("bad", changed("terms", "no.md"), "It cannot be imported, and nothing was created"),
    ):
        packed(write(tmp_path / name, data), tmp_path / f"{name}.zip")
        visitor.visit("/organize/bundles/")
        page.get_by_label("Bundle").set_input_files(tmp_path / f"{name}.zip")
        page.get_by_role("button", name="Import").click()
        expect(page.locator("#bundle")).to_contain_text(words)
    expect(page.locator("#bundle")).to_contain_text("the bundle has no 'no.md'")


def test_a_page_is_previewed_while_it_is_typed_and_shows_an_image_that_was_uploaded(new_visitor: NewVisitor) -> None:
    olga = new_visitor("olga")
    page = olga.visit("/host/competitions/quiet/images/")
    page.get_by_label("Image", exact=True).set_input_files(
        {"name": "a plot.png", "mimeType": "image/png", "buffer": png_bytes(640, 200)}
    )
    page.get_by_role("button", name="Upload").click()
    expect(olga.main).to_contain_text("It can be shown in a few seconds.")
    shown = page.locator(".image-list li")
    expect_after_reloads(page, shown, "640")
    olga.visit("/host/competitions/quiet/pages/new/")
    page.get_by_label("Title").fill("How to begin")
    page.get_by_label("Where it is shown").select_option("own")
    page.get_by_label("Text", exact=True).fill("A **plot** of $x^2$\n\n![How it falls](<a plot.png>)")
    preview = page.get_by_label("Preview", exact=True)
    expect(preview.locator("strong")).to_have_text("plot")
    expect(preview.get_by_alt_text("How it falls")).to_have_attribute("width", "640")
    page.get_by_role("button", name="Save").click()
    expect(olga.main).to_contain_text("was saved")
    olga.visit("/competitions/quiet/").get_by_role("link", name="How to begin").click()
    expect(olga.main.locator("math")).to_be_visible()


def expect_after_reloads(page: Page, locator: Locator, text: str) -> None:
    """Load the page again until a background process has done its work."""
    for _ in range(40):
        if locator.filter(has_text=text).count():
            return
        page.wait_for_timeout(250)
        page.reload()
    expect(locator).to_contain_text(text)


def test_all_rows_of_a_list_are_selected_at_once(new_visitor: NewVisitor) -> None:
    page = new_visitor("olga").visit("/host/competitions/gap/submissions/")
    every = page.get_by_label("on this page")
    boxes = page.get_by_role("checkbox", name=re.compile("^Submission"))
    total = boxes.count()
    boxes.first.check()
    assert every.evaluate("box => box.indeterminate")
    expect(page.locator(".choose-all output")).to_have_text("1 selected")
    every.check()
    assert all(box.is_checked() for box in boxes.all())
    expect(page.locator(".choose-all output")).to_have_text(f"{total} selected")
    every.uncheck()
    assert not any(box.is_checked() for box in boxes.all())
    expect(page.get_by_role("button", name="Apply")).to_be_hidden()


def test_new_labels_are_used_once_it_was_read_what_was_scored_with_the_former(new_visitor: NewVisitor) -> None:
    olga = new_visitor("olga")
    page = olga.visit("/host/competitions/finals/data/")
    place = page.locator(".data-slot", has_text="Reference data").first
    before = place.locator(".digest").inner_text()
    place.locator("summary", has_text="Replace").click()
    content = zip_bytes({"y.npz": npz(y_true=labels("test-dev"))})
    place.locator("input[type=file]").set_input_files(
        {"name": "labels.zip", "mimeType": "application/zip", "buffer": content}
    )
    expect(olga.main).to_contain_text("scored with the present version")
    page.get_by_role("link", name="Leave it").click()
    expect(place.locator(".digest")).to_have_text(before)
