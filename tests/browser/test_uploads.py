"""Uploads over a network that breaks: nothing is lost, and what arrives is the file that was chosen."""

from __future__ import annotations

import hashlib
import random
import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import NewVisitor
from tests.browser.visitor import Visitor

PART_BYTES = 8 * 1024 * 1024
UPLOADS = re.compile("/api/v1/uploads/[0-9a-f-]{36}/$")


@pytest.fixture(scope="module")
def big_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A code submission of three parts, which no compression makes smaller."""
    return write_code(tmp_path_factory.mktemp("three-parts"), random.Random(4).randbytes(17 * 1024 * 1024))


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A code submission of one part."""
    return write_code(tmp_path, b"small")


def write_code(folder: Path, weights: bytes) -> Path:
    path = folder / "code.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.yaml", "command: python3 $program/main.py\n")
        archive.writestr("main.py", "print()\n")
        archive.writestr("weights.bin", weights)
    return path


def to_submit(new_visitor: NewVisitor, who: str) -> Visitor:
    visitor = new_visitor(who)
    visitor.visit("/competitions/transfers/submissions/?phase=test-dev")
    visitor.expect_on_console("net::ERR_")
    return visitor


def send(page: Page, path: Path) -> None:
    page.get_by_role("radio", name=re.compile("Code")).check()
    page.get_by_label("File").set_input_files(path)
    page.get_by_role("button", name="Submit", exact=True).click()


def sent_digest(page: Page) -> str:
    """SHA-256 of the file that the newest submission holds."""
    with page.expect_download() as download:
        page.locator("table.submissions tbody tr").first.get_by_role("link").first.click()
        page.locator(".facts").get_by_role("link", name="code.zip").click()
    return hashlib.sha256(Path(download.value.path()).read_bytes()).hexdigest()


def test_a_transfer_that_is_cut_goes_on_by_itself_and_the_file_is_the_same(
    new_visitor: NewVisitor, big_code: Path
) -> None:
    page = to_submit(new_visitor, "ben").page
    offsets: list[int] = []

    def cut_the_second(route: Route) -> None:
        if route.request.method == "PATCH":
            offsets.append(int(route.request.headers["upload-offset"]))
            if len(offsets) == 2:
                route.abort("connectionreset")
                return
        route.continue_()

    page.route(UPLOADS, cut_the_second)
    send(page, big_code)
    expect(page.locator(".upload-progress output")).to_contain_text("Connection lost")
    expect(page.locator("table.submissions tbody tr").first).to_contain_text("code.zip")
    assert offsets == [0, PART_BYTES, PART_BYTES, 2 * PART_BYTES]
    assert sent_digest(page) == hashlib.sha256(big_code.read_bytes()).hexdigest()


def test_after_the_page_is_loaded_again_the_same_file_goes_on_where_it_stopped(
    new_visitor: NewVisitor, big_code: Path
) -> None:
    page = to_submit(new_visitor, "cleo").page
    page.route(
        UPLOADS, lambda route: route.abort() if route.request.headers.get("upload-offset") != "0" else route.continue_()
    )
    with page.expect_request_finished(lambda request: request.method == "PATCH"):
        send(page, big_code)
    expect(page.locator(".upload-progress output")).to_contain_text("Connection lost")
    page.unroute(UPLOADS)
    page.once("dialog", lambda dialog: dialog.accept())  # a page that sends asks before it is left
    page.reload()
    offsets: list[str] = []
    page.on(
        "request",
        lambda request: offsets.append(request.headers["upload-offset"]) if request.method == "PATCH" else None,
    )
    send(page, big_code)
    expect(page.locator("table.submissions tbody tr").first).to_contain_text("code.zip")
    assert offsets == [str(PART_BYTES), str(2 * PART_BYTES)]
    assert sent_digest(page) == hashlib.sha256(big_code.read_bytes()).hexdigest()


def test_a_refused_form_leaves_the_upload_with_its_moment_for_the_next_try(new_visitor: NewVisitor, code: Path) -> None:
    visitor = to_submit(new_visitor, "cleo")
    visitor.expect_on_console("status of 422")
    page, calls = visitor.page, []
    page.on("request", lambda request: calls.append(request.method) if "/api/v1/uploads/" in request.url else None)
    refusal = {"code": "unknown_environment_file", "detail": "Your team has no weights of this name."}
    page.route("**/competitions/transfers/submit/", lambda route: route.fulfill(status=422, json=refusal), times=1)
    send(page, code)
    expect(page.locator("[data-upload-error]")).to_contain_text("no weights of this name")
    calls.clear()
    rows = page.locator("table.submissions tbody tr")
    before = rows.count()
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(rows).to_have_count(before + 1)
    expect(rows.first).to_contain_text("code.zip")
    assert calls == ["GET"], "nothing is begun or sent anew"


LOOK = "**/competitions/transfers/submit/look/"


def test_code_that_was_dropped_on_predictions_is_recognised_before_a_byte_of_it_is_sent(
    new_visitor: NewVisitor, code: Path
) -> None:
    visitor = to_submit(new_visitor, "dan")
    visitor.expect_on_console("status of 422")
    page = visitor.page
    rows = page.locator("table.submissions tbody tr")
    before = rows.count()
    page.get_by_role("radio", name=re.compile("Predictions")).check()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method) if "/api/v1/uploads/" in request.url else None)
    page.get_by_label("File").set_input_files(code)
    expect(page.locator("[data-upload-error]")).to_contain_text("code.zip looks like code: it has metadata.yaml")
    page.get_by_role("radio", name=re.compile("Code")).check()
    expect(page.locator("[data-upload-error]")).to_be_hidden()
    page.get_by_role("radio", name=re.compile("Predictions")).check()
    instead = page.get_by_role("button", name="Send as code instead")
    expect(instead).to_be_visible()
    assert sent == [], "the names in it were enough"
    instead.click()
    expect(rows).to_have_count(before + 1)
    expect(rows.first).to_contain_text("code.zip")
    assert sent.count("PATCH") == 1


def test_code_that_the_page_could_not_look_at_is_sent_as_code_with_one_press(
    new_visitor: NewVisitor, code: Path
) -> None:
    visitor = to_submit(new_visitor, "ben")
    visitor.expect_on_console("status of 422")
    page = visitor.page
    page.route(LOOK, lambda route: route.abort())
    rows = page.locator("table.submissions tbody tr")
    before = rows.count()
    page.get_by_role("radio", name=re.compile("Predictions")).check()
    page.get_by_label("File").set_input_files(code)
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator("[data-upload-error]")).to_contain_text("code.zip looks like code")
    parts: list[str] = []
    page.on("request", lambda request: parts.append(request.method) if request.method == "PATCH" else None)
    instead = page.get_by_role("button", name="Send as code instead")
    expect(instead).to_be_focused()
    page.keyboard.press("Enter")
    expect(rows).to_have_count(before + 1)
    expect(rows.first).to_contain_text("code.zip")
    assert parts == [], "nothing travels twice"


def test_another_choice_takes_the_two_ways_on_back(new_visitor: NewVisitor, code: Path) -> None:
    visitor = to_submit(new_visitor, "cleo")
    visitor.expect_on_console("status of 422")
    page = visitor.page
    page.get_by_label("File").set_input_files(code)
    page.get_by_role("button", name="Submit", exact=True).click()
    anyway = page.get_by_role("button", name="Send as predictions all the same")
    expect(anyway).to_be_visible()
    anyway.click()
    expect(page.locator("[data-upload-error]")).to_contain_text("this phase takes an .npz file named")
    expect(anyway).to_be_hidden()


def test_no_other_file_can_be_chosen_while_one_is_sent(new_visitor: NewVisitor, code: Path) -> None:
    page = to_submit(new_visitor, "cleo").page

    def hang(route: Route) -> None:
        """No answer comes."""

    page.route(UPLOADS, hang)
    with page.expect_request(UPLOADS):
        send(page, code)
    expect(page.locator("form[data-upload] input[type=file]")).to_be_disabled()
    page.once("dialog", lambda dialog: dialog.accept())
    page.goto("about:blank")
    page.go_back()
    expect(page.get_by_role("button", name="Submit", exact=True)).to_be_enabled()
    expect(page.locator(".upload-progress")).to_be_hidden()


def test_a_file_that_is_changed_while_it_is_sent_is_to_be_chosen_again(new_visitor: NewVisitor, code: Path) -> None:
    page = to_submit(new_visitor, "cleo").page

    def change_and_break(route: Route) -> None:
        with code.open("ab") as file:
            file.write(b"more")
        route.abort()

    page.route(UPLOADS, change_and_break, times=1)
    send(page, code)
    expect(page.locator("[data-upload-error]")).to_contain_text("changed while it was sent")
    expect(page.locator("form[data-upload] input[type=file]")).to_be_enabled()


def test_an_empty_file_is_refused_and_nothing_is_kept(new_visitor: NewVisitor, tmp_path: Path) -> None:
    visitor = to_submit(new_visitor, "ben")
    visitor.expect_on_console("status of 4")
    empty = tmp_path / "empty.zip"
    empty.touch()
    send(visitor.page, empty)
    expect(visitor.page.locator("[data-upload-error]")).to_contain_text("empty")
    expect(visitor.page.get_by_role("button", name="Submit", exact=True)).to_be_enabled()


def test_a_site_that_is_away_or_a_session_that_ended_is_said_in_words(new_visitor: NewVisitor, tmp_path: Path) -> None:
    visitor = to_submit(new_visitor, "dan")
    visitor.expect_on_console("status of 401")
    page, error = visitor.page, visitor.page.locator("[data-upload-error]")
    file = tmp_path / "code.zip"
    file.write_bytes(b"PK")
    visitor.context.set_offline(True)
    send(page, file)
    expect(error).to_contain_text("The site does not answer")
    visitor.context.set_offline(False)
    visitor.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(error).to_contain_text("You are signed out")
