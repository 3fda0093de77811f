"""Fetches the typefaces, icons and libraries of the pages from npm and writes what the site serves: `python scripts/design_assets.py`.

Run it to add an icon or to raise a version; its results are in the repository, so neither building nor serving needs npm.
"""

from __future__ import annotations

import re
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Final

STATIC: Final = Path(__file__).resolve().parents[1] / "platform" / "static" / "podium"
LUCIDE: Final = "lucide-static@1.62.0"
# Package -> its file, and what it is called here.
FONTS: Final = {
    "@fontsource-variable/inter@5.3.0": ("files/inter-latin-wght-normal.woff2", "inter"),
    "@fontsource-variable/source-code-pro@5.3.0": ("files/source-code-pro-latin-wght-normal.woff2", "source-code-pro"),
}
# Package -> its file, which a page serves as it is, and its licence.
LIBRARIES: Final = {"chart.js@4.6.1": ("dist/chart.umd.min.js", "LICENSE.md", "chart")}
SOURCE_MAP: Final = re.compile(rb"\n?//# sourceMappingURL=.*\s*$")  # names a file that is not served
ICONS: Final = (
    "arrow-down", "arrow-right", "arrow-up", "award", "book-open", "calendar", "chart-line", "check",
    "chevron-right", "circle", "circle-check", "circle-dot-dashed", "circle-play", "circle-slash", "circle-x",
    "clock", "copy", "database", "download", "file-text", "gavel", "info", "layers", "list-ordered", "lock", "medal",
    "plus", "search", "search-check", "settings", "timer", "triangle-alert", "trophy", "upload", "users", "x",
)  # fmt: skip


def package(name: str, folder: Path) -> tarfile.TarFile:
    """The npm package of that name and version."""
    done = subprocess.run(["npm", "pack", "--silent", name], cwd=folder, check=True, capture_output=True, text=True)
    return tarfile.open(folder / done.stdout.split()[-1])


def text_of(archive: tarfile.TarFile, name: str) -> bytes:
    """A file of the package."""
    file = archive.extractfile(f"package/{name}")
    if file is None:
        raise SystemExit(f"The package has no file {name}.")
    return file.read()


def symbol(name: str, svg: str) -> str:
    """An icon of the set as a symbol of the sprite; size, stroke and colour are the style sheet's."""
    drawing = re.sub(r"\s+", " ", svg[svg.index(">", svg.index("<svg")) + 1 : svg.rindex("</svg>")]).strip()
    return f'<symbol id="{name}" viewBox="0 0 24 24">{drawing}</symbol>\n'


def write_icons(folder: Path) -> None:
    """All icons as one file, with the licence beside it."""
    with package(LUCIDE, folder) as archive:
        symbols = "".join(symbol(name, text_of(archive, f"icons/{name}.svg").decode()) for name in ICONS)
        (STATIC / "icons.LICENSE.txt").write_bytes(text_of(archive, "LICENSE"))
    (STATIC / "icons.svg").write_text(f'<svg xmlns="http://www.w3.org/2000/svg">\n{symbols}</svg>\n')


def write_fonts(folder: Path) -> None:
    """The Latin part of each typeface, with its licence beside it."""
    (STATIC / "fonts").mkdir(exist_ok=True)
    for name, (path, target) in FONTS.items():
        with package(name, folder) as archive:
            (STATIC / "fonts" / f"{target}.woff2").write_bytes(text_of(archive, path))
            (STATIC / "fonts" / f"{target}.LICENSE.txt").write_bytes(text_of(archive, "LICENSE"))


def write_libraries(folder: Path) -> None:
    """Each library's one file, with the licence beside it."""
    (STATIC / "vendor").mkdir(exist_ok=True)
    for name, (path, licence, target) in LIBRARIES.items():
        with package(name, folder) as archive:
            (STATIC / "vendor" / f"{target}.js").write_bytes(SOURCE_MAP.sub(b"\n", text_of(archive, path)))
            (STATIC / "vendor" / f"{target}.LICENSE.txt").write_bytes(text_of(archive, licence))


def main() -> None:
    """Write fonts, icons and libraries."""
    with tempfile.TemporaryDirectory() as folder:
        write_icons(Path(folder))
        write_fonts(Path(folder))
        write_libraries(Path(folder))


if __name__ == "__main__":
    main()
