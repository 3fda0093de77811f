"""The images of a bundle: its logo, and what its pages show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from competitions.bundles.importing.importer import Imported, bundle_import, competition_clone
from competitions.bundles.writer import bundle_write
from competitions.catalog.models import Competition, ImageUpload, PageImage
from competitions.catalog.texts.images import image_request
from competitions.resources.storage import open_stored, store_bytes
from tests.background import run_background
from tests.bundle_files import FILES, changed, second, write
from tests.images import png_bytes
from tests.scenario import NOON, Scenario

BOMB = png_bytes(announced=(50_000, 20_000))


def imported(site: Scenario, folder: Path, files: dict[str, Any], data: dict[str, Any] | None = None) -> Imported:
    source = write(folder / "b", data or changed("pages.0.file", "pages/one.md"), FILES | files)
    result = bundle_import(source=source, owner=site.organizer, queue=site.queue, now=NOON)
    run_background()
    result.competition.refresh_from_db()
    return result


def image_contents(competition: Competition) -> dict[str, bytes]:
    contents = {}
    for image in competition.images.select_related("file"):
        with open_stored(image.file) as file:
            contents[image.name] = file.read()
    return contents


@pytest.mark.parametrize(
    ("source", "path", "name"),
    [
        ("plot.png", "pages/plot.png", "plot.png"),
        ("images/plot.png", "pages/images/plot.png", "images/plot.png"),
        ("../images/plot.png", "images/plot.png", "images/plot.png"),
        ("images/plot.png", "images/plot.png", "images/plot.png"),
        ("a%20plot.png", "pages/a plot.png", "a plot.png"),
    ],
)
def test_an_image_that_a_page_shows_comes_with_it(
    site: Scenario, tmp_path: Path, source: str, path: str, name: str
) -> None:
    result = imported(site, tmp_path, {"pages/one.md": f"![Loss]({source})", path: png_bytes(9, 9)})
    shown = result.competition.images.get()
    assert (shown.name, shown.width, shown.height) == (name, 9, 9)
    assert "1 image for pages" in result.report.created
    assert not result.report.warnings


def test_the_rules_show_images_too(site: Scenario, tmp_path: Path) -> None:
    files = {"terms.md": '<img src="plot.gif">', "pages/one.md": "Words.", "plot.gif": png_bytes(2, 2)}
    with CaptureQueriesContext(connection) as queries:
        assert list(image_contents(imported(site, tmp_path, files).competition)) == ["plot.gif"]
    inserted = [query["sql"].split('"')[1] for query in queries if query["sql"].startswith("INSERT")]
    rows = inserted[inserted.index("catalog_competition") :]
    assert "catalog_pageimage" in rows
    assert "resources_storedfile" not in rows, "files are written before the transaction that makes the rows"


@pytest.mark.parametrize(
    ("text", "files", "words"),
    [
        ("![a](none.png)", {}, "the page shows the image 'none.png', and the bundle has no such file"),
        ("![a](https://else.where/a.png)", {}, "pages show no images of other sites"),
        ("![a](a.svg)", {"pages/a.svg": b"<svg/>"}, "is not a PNG, JPEG, GIF or WebP image"),
        ("![a](a.png)", {"pages/a.png": BOMB}, "has more than 40,000,000 pixels in all"),
        ("![a](../../../etc/passwd)", {}, "the bundle has no such file"),
    ],
)
def test_an_image_that_cannot_be_shown_is_left_out_with_a_warning(
    site: Scenario, tmp_path: Path, text: str, files: dict[str, bytes], words: str
) -> None:
    result = imported(site, tmp_path, files | {"pages/one.md": text})
    (warning,) = result.report.warnings
    assert words in warning.message
    assert warning.path == "pages[0]"
    assert not PageImage.objects.exists()
    assert not ImageUpload.objects.exists()


def test_two_files_of_one_name_are_said(site: Scenario, tmp_path: Path) -> None:
    pages = [{"title": name, "file": f"{name}/p.md"} for name in "ab"]
    files = {
        f"{name}/{file}": content
        for name in "ab"
        for file, content in (("p.md", "![x](x.png)"), ("x.png", png_bytes()))
    }
    result = imported(site, tmp_path, files, changed("pages", pages))
    assert "two images are called 'x.png'" in result.report.warnings[0].message
    assert list(image_contents(result.competition)) == ["x.png"]


@pytest.mark.parametrize("content", [BOMB, b"<svg/>"])
def test_a_logo_that_cannot_be_shown_is_left_out_with_a_warning(site: Scenario, tmp_path: Path, content: bytes) -> None:
    result = imported(site, tmp_path, {"logo.png": content}, second())
    assert result.competition.logo is None
    (warning,) = result.report.warnings
    assert (warning.path, "It is left out" in warning.message) == ("image", True)


def test_images_travel_with_a_clone_named_by_texts_or_not(site: Scenario, tmp_path: Path) -> None:
    competition = imported(
        site, tmp_path, {"pages/one.md": "![Loss](../plots/a.png)", "plots/a.png": png_bytes(7, 7)}
    ).competition
    image_request(competition=competition, place=ImageUpload.Place.LOGO, file=store_bytes(png_bytes(600, 3)), now=NOON)
    image_request(competition=competition, place=ImageUpload.Place.COVER, file=store_bytes(png_bytes(60, 30)), now=NOON)
    image_request(
        competition=competition,
        place=ImageUpload.Place.PAGE,
        file=store_bytes(png_bytes(8, 8)),
        name="page-0.md",
        now=NOON,
    )
    run_background()
    competition.refresh_from_db()
    copy = competition_clone(competition=competition, by=site.organizer, now=NOON)
    assert not copy.image_uploads.exists()
    assert image_contents(copy) == image_contents(competition)
    assert len(image_contents(copy)) == 2
    run_background()
    copy.refresh_from_db()
    assert copy.logo == competition.logo is not None  # written anew twice, it is the same
    assert copy.cover is not None
    bundle_write(competition=competition, target=tmp_path / "out.zip", with_files=True, by=site.organizer)
    assert b"logo.webp" in (tmp_path / "out.zip").read_bytes()


def test_what_was_never_written_anew_is_in_a_copy(site: Scenario, tmp_path: Path) -> None:
    competition = imported(site, tmp_path, {"pages/one.md": "Words."}).competition
    PageImage.objects.create(competition=competition, name="old.png", file=store_bytes(png_bytes(8, 8)))
    copy = competition_clone(competition=competition, by=site.organizer, now=NOON)
    run_background()
    assert copy.images.get(name="old.png").width == 8
