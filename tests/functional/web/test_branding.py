"""Settings alone make a site look like its operator's; unreadable colours stop the start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from core.branding import Brand, check_brand, contrast

pytestmark = pytest.mark.django_db


def test_name_colours_sign_foot_and_legal_pages_are_the_operators(settings: Any, tmp_path: Path) -> None:
    logo, privacy = tmp_path / "sign.svg", tmp_path / "privacy.md"
    logo.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    privacy.write_text("We keep **little**. <script>alert(1)</script>")
    settings.BRAND = check_brand(
        Brand(
            name="Open Chemistry",
            footer="A house of chemists",
            accent="#0b6b3a",
            accent_dark="#7fd19d",
            logo=logo,
            legal={"imprint": "https://chem.example.org/imprint", "privacy": str(privacy)},
        )
    )
    client = Client()
    page = client.get("/").content.decode()
    for part in (
        "<title>Competitions · Open Chemistry</title>",
        "A house of chemists",
        "/about/privacy/",
        "/brand.css",
        "/brand/sign",
    ):
        assert part in page
    css = client.get("/brand.css")
    assert css["Content-Type"].startswith("text/css")
    assert "--accent: #0b6b3a" in css.content.decode()
    assert client.get("/brand/sign")["Content-Type"] == "image/svg+xml"
    assert "<strong>little</strong>. &lt;script&gt;" in client.get("/about/privacy/").content.decode()
    assert client.get("/about/imprint/")["Location"] == "https://chem.example.org/imprint"
    assert client.get("/about/bogus/").status_code == 404


def test_without_settings_it_is_podium(db: None) -> None:
    page = Client().get("/").content.decode()
    assert "<title>Competitions · Podium</title>" in page
    assert "/brand.css" not in page


@pytest.mark.parametrize(
    ("brand", "message"),
    [
        (Brand(accent="#ffee00"), r"PODIUM_ACCENT=#ffee00 has a contrast of 1\.\d to #ffffff"),
        (Brand(accent_dark="#1a1e25"), "PODIUM_ACCENT_DARK"),
        (Brand(accent="green"), "is not a colour; write six hexadecimal digits"),
        (Brand(accent="#zzzzzz"), "is not a colour"),
        (Brand(logo=Path("/no/such.svg")), "PODIUM_SITE_LOGO"),
        (Brand(legal={"imprint": "/no/such.md"}), "PODIUM_IMPRINT"),
        (Brand(legal={"privacy": "http://x.example.org"}), "PODIUM_PRIVACY"),
    ],
)
def test_what_could_not_be_shown_is_refused_at_the_start(brand: Brand, message: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=message):
        check_brand(brand)


def test_contrast_is_that_of_the_guidelines() -> None:
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)
