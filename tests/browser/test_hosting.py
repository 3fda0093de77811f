"""From a CSV to a live competition: the guided path, with the trial in a real container."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import NewVisitor
from tests.browser.visitor import OF_COLOURS, Visitor

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MOST_DECISIONS = 12
MOST_S = 600
SCORED_WITHIN_MS = 90_000
SPECIES = ("Adelie", "Chinstrap", "Gentoo")


def solution(folder: Path) -> Path:
    """The answers, with a column that says which part a row belongs to."""
    rng = random.Random(7)
    rows = [f"P{number},{rng.choice(SPECIES)},{'Public' if number % 3 else 'Private'}" for number in range(200)]
    path = folder / "penguins.csv"
    path.write_text("\n".join(["id,species,Usage", *rows]) + "\n")
    return path


def sample(folder: Path) -> Path:
    """A sample submission whose column is not called as the target."""
    path = folder / "sample.csv"
    path.write_text("\n".join(["id,prediction", *(f"P{number},Adelie" for number in range(200))]) + "\n")
    return path


class Decisions:
    """The person at the path: each file, field and button is one decision."""

    def __init__(self, visitor: Visitor, rules: Sequence[str] = ()) -> None:
        self.visitor, self.page, self.count = visitor, visitor.page, 0
        self.rules = rules  # of accessibility; all where none are named

    def upload(self, label: str, path: Path) -> None:
        self.page.get_by_role("button", name=label, exact=True).set_input_files(path)
        self.count += 1

    def write(self, label: str, text: str) -> None:
        self.page.get_by_label(label).fill(text)
        self.count += 1

    def press(self, name: str, then: str) -> None:
        """Press a button, and wait for the question that comes next."""
        self.page.get_by_role("button", name=name, exact=True).click()
        self.count += 1
        self.expect_question(then)

    def expect_question(self, question: str) -> None:
        expect(self.page.get_by_role("heading", level=1)).to_have_text(question)
        assert self.visitor.overflow() == 0
        assert self.visitor.accessibility_faults(self.rules) == []


def draft_key(page: Page) -> str:
    return page.url.split("/host/")[1].split("/")[0]


def test_a_csv_becomes_a_live_competition_in_few_decisions(new_visitor: NewVisitor, tmp_path: Path) -> None:
    olga, began = new_visitor("olga"), time.monotonic()
    page, host = olga.page, Decisions(olga)
    olga.visit("/host/")
    host.press("Begin with a table", "Which file holds the answers?")
    host.upload("Solution", solution(tmp_path))
    host.press("Next", "What are the columns?")  # at once: it waits until the file is sent and read
    expect(page.get_by_label("species", exact=True)).to_be_checked()
    host.press("Next", "How are predictions scored?")
    expect(page.locator("#metrics").get_by_label("Accuracy", exact=True)).to_be_checked()
    host.press("Next", "Which part is public?")
    host.press("Next", "What is it called?")
    host.write("Title", "Penguins by their bills")
    expect(page.locator("#preview h3")).to_have_text("Penguins by their bills")
    host.press("Next", "When does it run, and how much may teams send?")
    host.press("Next", "What should people read?")
    host.press("Next", "Does the sample score?")
    host.press("Build and try it", "Does the sample score?")
    expect(page.locator("#build .badge")).to_contain_text("finished", timeout=SCORED_WITHIN_MS)
    expect(page.locator("#build .scores dd")).to_have_count(2)
    expect(page.locator("#build .score-scale tbody tr")).to_have_count(2)
    expect(page.get_by_role("complementary", name="What was made")).to_contain_text("3 different values")
    page.get_by_role("link", name="Next").click()
    host.expect_question("Ready to publish?")
    host.press("Publish", "Penguins by their bills")
    assert host.count <= MOST_DECISIONS
    assert time.monotonic() - began < MOST_S

    olga.visit("/host/competitions/penguins-by-their-bills/phases/")
    phase = page.locator(".phase-card h2 a").first
    name = phase.inner_text()
    phase.click()
    host.expect_question(f"Phase “{name}”")
    expect(page.locator("#id_time_limit_s")).to_be_hidden()  # of programs: a table takes none

    sam = new_visitor("sam")
    sam.join("penguins-by-their-bills")
    sam.visit("/competitions/penguins-by-their-bills/leaderboard/")
    expect(sam.page.locator("tr.baseline")).to_contain_text("Constant baseline")
    sam.visit("/competitions/penguins-by-their-bills/leaderboard/?board=private")
    expect(sam.main).to_contain_text("are sealed")


def test_on_a_phone_a_question_stands_in_the_first_half_and_back_loses_nothing(
    new_visitor: NewVisitor, tmp_path: Path
) -> None:
    olga = new_visitor("olga", viewport={"width": 390, "height": 844}, color_scheme="dark")
    page, host = olga.page, Decisions(olga, OF_COLOURS)
    olga.visit("/host/")
    host.press("Begin with a table", "Which file holds the answers?")
    host.upload("Solution", solution(tmp_path))
    expect(page.locator("#file-solution")).to_contain_text("200 rows")
    host.upload("Sample submission", sample(tmp_path))
    expect(page.locator("#file-sample_submission")).to_contain_text("200 rows")
    for question in (
        "What are the columns?",
        "How are predictions scored?",
        "Which column answers what?",
        "Which part is public?",
        "What is it called?",
    ):
        host.press("Next", question)
        box = page.get_by_role("heading", level=1).bounding_box()
        assert box is not None
        assert box["y"] < 844 / 2
    host.write("Title", "On a phone")
    host.press("Back", "Which part is public?")
    host.press("Next", "What is it called?")
    expect(page.get_by_label("Title")).to_have_value("On a phone")
    olga.visit(f"/host/{draft_key(page)}/steps/metric/")
    page.get_by_label("Search").fill("kappa")
    metrics = page.locator("#metrics")
    expect(metrics.get_by_label("Cohen's kappa", exact=True)).to_be_visible()
    expect(metrics.get_by_label("Top-k accuracy", exact=True)).to_be_hidden()
    settings = page.get_by_role("group", name="Settings of Cohen's kappa")
    expect(settings).to_be_hidden()
    further = page.locator(".further:visible")
    further.locator("summary").click()
    further.get_by_label("Cohen's kappa").check()
    expect(settings.get_by_label("Weights")).to_have_value("none")
    further.get_by_label("Cohen's kappa").uncheck()
    expect(settings).to_be_hidden()
    page.locator("#metrics").get_by_label("Cohen's kappa", exact=True).check()
    expect(settings.get_by_label("Weights")).to_have_value("none")
    page.get_by_label("Search").fill("")
    page.get_by_label("A Python file of mine").check()
    expect(further).to_have_count(0)
    page.get_by_label("Name of your metric").fill("Bill error")
    slot = page.locator("section.file-slot")
    slot.locator("input[type=file]").set_input_files(EXAMPLES / "delivery_times" / "metric.py")
    expect(slot).to_contain_text("metric.py")
    expect(page.get_by_label("Name of your metric")).to_have_value("Bill error")  # the upload loaded the page again
