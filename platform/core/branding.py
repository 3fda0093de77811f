"""The operator's branding: name, logo, colours, footer and legal pages, all from settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest

LEGAL_PAGES: Final = {"imprint": "Imprint", "privacy": "Privacy"}
LOGO_TYPES: Final = {".svg": "image/svg+xml", ".png": "image/png", ".webp": "image/webp"}
MIN_CONTRAST: Final = 4.5  # WCAG 2.2, 1.4.3
WHITE, NIGHT = "#ffffff", "#1a1e25"  # what accents stand on, as in tokens.css


@dataclass(frozen=True)
class Brand:
    """The site's brand: colours, empty for Podium's own, and legal pages as Markdown files or URLs."""

    name: str = "Podium"
    summary: str = "Open competitions and benchmarks in machine learning."
    footer: str = ""
    accent: str = ""
    accent_dark: str = ""
    logo: Path | None = None
    legal: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_colours(self) -> bool:
        return bool(self.accent or self.accent_dark)

    @property
    def css(self) -> str:
        """The tokens that the accents replace."""
        light = f":root {{ --accent: {self.accent}; --link: {self.accent}; }}\n" if self.accent else ""
        if not self.accent_dark:
            return light
        dark = f":root {{ --accent: {self.accent_dark}; --link: {self.accent_dark}; }}"
        return f"{light}@media (prefers-color-scheme: dark) {{ {dark} }}\n"


def check_brand(brand: Brand) -> Brand:
    """The brand, checked. Raises `ImproperlyConfigured` for unreadable colours and missing files."""
    for name, colour, ground in (("ACCENT", brand.accent, WHITE), ("ACCENT_DARK", brand.accent_dark, NIGHT)):
        if colour and (ratio := contrast(colour, ground, f"PODIUM_{name}")) < MIN_CONTRAST:
            raise ImproperlyConfigured(
                f"PODIUM_{name}={colour} has a contrast of {ratio:.1f} to {ground}, too little to read; {MIN_CONTRAST} is needed."
            )
    if brand.logo is not None and (brand.logo.suffix.lower() not in LOGO_TYPES or not brand.logo.is_file()):
        raise ImproperlyConfigured(f"PODIUM_SITE_LOGO={brand.logo} is not a file that ends in {', '.join(LOGO_TYPES)}.")
    for name, source in brand.legal.items():
        if not source.startswith("https://") and not Path(source).is_file():
            raise ImproperlyConfigured(f"PODIUM_{name.upper()}={source} is neither a file nor an https address.")
    return brand


def contrast(colour: str, ground: str, setting: str = "") -> float:
    """Contrast ratio by WCAG 2.2, from 1 to 21.

    Raises `ImproperlyConfigured` for anything but a colour such as `#1d55a5`.

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    lighter, darker = sorted((_luminance(colour, setting), _luminance(ground, setting)), reverse=True)
    return round((lighter + 0.05) / (darker + 0.05), 2)


def _luminance(colour: str, setting: str) -> float:
    try:
        parts = (
            [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
            if len(colour) == 7 and colour[0] == "#"
            else None
        )
    except ValueError:
        parts = None
    if parts is None:
        raise ImproperlyConfigured(
            f"{setting}={colour} is not a colour; write six hexadecimal digits, such as #1d55a5."
        )
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def brand_context(request: HttpRequest) -> dict[str, object]:
    """The brand, the legal pages that there are, and if the site is a public demo, for every template."""
    from django.conf import settings

    return {
        "brand": settings.BRAND,
        "legal_pages": [(name, LEGAL_PAGES[name]) for name in settings.BRAND.legal],
        "is_public_demo": settings.PUBLIC_DEMO,
    }
