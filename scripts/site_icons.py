"""Draws the sign of the site as PNG for tabs, phones and cards: `python scripts/site_icons.py`.

It needs a Chromium. Run it when `icon.svg` changes; its results are in the repository.
"""

import base64
import json
from pathlib import Path
from typing import Final

from playwright.sync_api import Page, sync_playwright

STATIC: Final = Path(__file__).resolve().parents[1] / "platform" / "static" / "podium"
CHROMIUM: Final = "/usr/bin/chromium"
SIZES: Final = (32, 180, 192, 512)
CARD: Final = (1200, 630)
CARD_STYLE: Final = (
    "background:#17365f;display:grid;place-content:center;justify-items:center;gap:40px;color:#fff;font:700 96px Inter"
)


def draw(page: Page, body: str, width: int, height: int, target: Path) -> None:
    """A picture of the markup at that size."""
    page.set_viewport_size({"width": width, "height": height})
    page.set_content(f"<body style='margin:0'>{body}</body>")
    page.screenshot(path=target, omit_background=True)


def main() -> None:
    """Write the icons, the card, and the manifest that names them."""
    folder = STATIC / "icons"
    folder.mkdir(exist_ok=True)
    sign = "data:image/svg+xml;base64," + base64.b64encode((STATIC / "icon.svg").read_bytes()).decode()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        for size in SIZES:
            image = f"<img src='{sign}' width={size} height={size} style='display:block'>"
            draw(page, image, size, size, folder / f"icon-{size}.png")
        card = (
            f"<div style='{CARD_STYLE};width:{CARD[0]}px;height:{CARD[1]}px'><img src='{sign}' width=240>Podium</div>"
        )
        draw(page, card, *CARD, folder / "card.png")
        browser.close()
    icons = [{"src": f"icon-{size}.png", "sizes": f"{size}x{size}", "type": "image/png"} for size in SIZES[2:]]
    manifest = {"name": "Podium", "icons": icons, "display": "browser", "theme_color": "#1f4e8c"}
    (folder / "site.webmanifest").write_text(json.dumps(manifest, indent=2) + "\n")


if __name__ == "__main__":
    main()
