"""Takes the pictures of README and docs: `make pictures`.

It starts the demo with its simulated teams on a port and data of its own, hosts the classroom's table in a browser, and takes each
page wide and light, wide and dark, and some as on a phone. Run it when pages look different; its results are in the repository.
"""

from __future__ import annotations

import io
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from PIL import Image
from playwright.sync_api import Page, ViewportSize, expect, sync_playwright

from examples.classroom.bundle import PUBLIC_SHARE
from examples.classroom.data import SEED, TARGET, TEST_HOURS, TRAIN_HOURS, hours
from examples.pcqm4mv2_small.bundle import SLUG
from scoring.tables.splitting import with_usage
from tests import services
from tests.browser.example_pictures import take_examples
from tests.browser.visitor import Visitor

FOLDER: Final = services.REPOSITORY / "docs" / "pictures"
WIDE, PHONE = (1440, 900), (390, 844)
ADMINISTRATOR: Final = "root"
MEMBER: Final = "ben"  # whose team is above the baseline
MOST_BYTES: Final = 150_000
QUALITIES: Final = (85, 70, 50)
ACCOUNT: Final = re.compile(r"^ +\S+(?: \d)? +(\w+) +(?:password|API token) (\S+)$")
READY: Final = "They are scored after"
SCORED_WITHIN_MS: Final = 120_000
COMPARED_WITHIN_S: Final = 120
UNCERTAINTY: Final = f"/competitions/{SLUG}/leaderboard/test-dev/main/uncertainty/"


@dataclass
class DemoSite:
    """The demo's address, and the accounts of its people."""

    url: str
    data_dir: str
    passwords: dict[str, str] = field(default_factory=dict)


@contextmanager
def demo_site() -> Iterator[DemoSite]:
    """The demo as `make demo` starts it, from the moment that all of its simulated teams are scored."""
    port = services.free_port()
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PODIUM_DATA_DIR": folder}
        process = subprocess.Popen(
            [services.REPOSITORY / "scripts" / "demo.sh", "--port", str(port)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            site = _ready(process, DemoSite(f"http://127.0.0.1:{port}", folder))
            site.passwords[ADMINISTRATOR] = _administrator(environment)
            yield site
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()


def _administrator(environment: dict[str, str]) -> str:
    """Make an administrator, as the tutorial does; returns the password."""
    password = secrets.token_urlsafe(16)
    command = ["manage.py", "createsuperuser", "--no-input", "--username", ADMINISTRATOR, "--email", "root@example.org"]
    subprocess.run(
        [sys.executable, *command],
        cwd=services.REPOSITORY,
        env=environment | {"DJANGO_SETTINGS_MODULE": "config.settings", "DJANGO_SUPERUSER_PASSWORD": password},
        check=True,
    )
    return password


def _ready(process: subprocess.Popen[str], site: DemoSite) -> DemoSite:
    assert process.stdout is not None
    for line in process.stdout:
        if account := ACCOUNT.match(line.rstrip()):
            site.passwords[account[1]] = account[2]
            continue
        print(line, end="", flush=True)
        if READY in line:
            return site
    raise SystemExit("The demo ended before its teams were scored; the reason is above.")


def take(page: Page, name: str, *, on_phone: bool = False) -> None:
    """The page as it is in both schemes, and as on a phone."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        _write(page, f"{name}-{scheme}")
    page.emulate_media(color_scheme="light")
    if on_phone:
        page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        _write(page, f"{name}-phone")
        page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})


def take_light(page: Page, name: str) -> None:
    """The page as it is, light alone."""
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    _write(page, name)


def _write(page: Page, name: str) -> None:
    """As WebP, as good as the limit allows."""
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(250)  # charts follow a window's new width and colours one frame later
    image = Image.open(io.BytesIO(page.screenshot(animations="disabled")))
    for quality in QUALITIES:
        image.save(FOLDER / f"{name}.webp", quality=quality, method=6)
        if (FOLDER / f"{name}.webp").stat().st_size <= MOST_BYTES:
            return
    raise SystemExit(f"{name} is larger than {MOST_BYTES} bytes at each quality.")


def classroom_files(folder: Path) -> dict[str, Path]:
    """The classroom's tables as an organizer has them: the answers say which rows are public."""
    train, test = hours(TRAIN_HOURS, SEED, first_id=1), hours(TEST_HOURS, SEED, first_id=TRAIN_HOURS + 1)
    solution = with_usage(test.select("id", TARGET), fraction=PUBLIC_SHARE, seed=SEED)
    tables = {
        "Solution": ("solution", solution),
        "Training data": ("train", train),
        "Test data": ("test", test.drop(TARGET)),
    }
    for name, table in tables.values():
        table.write_csv(folder / f"{name}.csv")
    return {label: folder / f"{name}.csv" for label, (name, _) in tables.items()}


def host_the_classroom(page: Page, site: str, files: dict[str, Path]) -> None:
    """From tables to a competition, as an organizer makes it; three of the questions are taken."""

    def press(name: str, then: str) -> None:
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(then)

    page.goto(f"{site}/host/")
    press("Begin with a table", "Which file holds the answers?")
    for label, path in files.items():
        page.get_by_role("button", name=label, exact=True).set_input_files(path)
        part = page.get_by_role("region", name=label)
        expect(part).to_contain_text(re.compile(r"\d rows"), timeout=SCORED_WITHIN_MS)
    take(page, "host-data")
    press("Next", "What are the columns?")
    press("Next", "How are predictions scored?")
    page.get_by_role("radio", name="Root mean squared error", exact=True).check()
    take(page, "host-metric")
    press("Next", "Which part is public?")
    press("Next", "What is it called?")
    page.get_by_label("Title").fill("Bicycles at the bridge")
    press("Next", "When does it run, and how much may teams send?")
    press("Next", "What should people read?")
    press("Next", "Does the sample score?")
    press("Build and try it", "Does the sample score?")
    expect(page.locator("#build .badge")).to_contain_text("finished", timeout=SCORED_WITHIN_MS)
    expect(page.locator("#build .scores dd")).to_have_count(2)
    page.reload()  # what was made stands beside it, as when one comes back
    take(page, "host-trial")
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ready to publish?")
    take(page, "host-publish")
    press("Publish", "Bicycles at the bridge")


def wait_for_comparison(visitor: Visitor, path: str) -> None:
    """Load a board's page again until its rows were compared, a little after the last score."""
    page = visitor.visit(path)
    for _ in range(COMPARED_WITHIN_S):
        if page.get_by_role("heading", name="Who surely beats whom").count():
            return
        page.wait_for_timeout(1000)
        page.reload()
    raise SystemExit(f"The rows were not compared within {COMPARED_WITHIN_S} s.")


def take_all(people: dict[str, Visitor], site: str) -> None:
    """Take the pages of visitors, a member and the organizer."""
    with tempfile.TemporaryDirectory() as scratch:
        host_the_classroom(people["organizer"].page, site, classroom_files(Path(scratch)))
    wait_for_comparison(people[MEMBER], UNCERTAINTY)
    pages = {
        "home": ("", "/"),
        "competition": (MEMBER, f"/competitions/{SLUG}/"),
        "leaderboard": (MEMBER, f"/competitions/{SLUG}/leaderboard/"),
        "uncertainty": (MEMBER, UNCERTAINTY),
        "submit": (MEMBER, f"/competitions/{SLUG}/submissions/"),
        "queue": (ADMINISTRATOR, "/host/queues/default/"),
        "administration": (ADMINISTRATOR, "/admin/"),
        "workspace": ("organizer", f"/host/competitions/{SLUG}/"),
    }
    for name, (who, path) in pages.items():
        take(people[who].visit(path), name, on_phone=name == "leaderboard")
    page = people[MEMBER].visit(f"/competitions/{SLUG}/submissions/")
    page.locator("table.submissions tbody th a").first.click()
    take(page, "submission")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with demo_site() as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=services.chromium(), args=["--no-sandbox"])
        size: ViewportSize = {"width": WIDE[0], "height": WIDE[1]}
        people = {
            name: Visitor(browser.new_context(viewport=size), site.url)
            for name in ("", MEMBER, "organizer", ADMINISTRATOR)
        }
        for name, visitor in people.items():
            if name:
                visitor.sign_in(name, site.passwords[name])
        take_all(people, site.url)
        take_examples(people["organizer"], people[""], site.data_dir, take_light)
        for visitor in people.values():
            visitor.check()


if __name__ == "__main__":
    main()
