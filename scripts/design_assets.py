"""Fetches typefaces, icons and libraries of the pages from npm: `python scripts/design_assets.py`.

Run it to add an icon or to raise a version; its results are in the repository, so neither building nor serving needs npm.
"""

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
# The parts of Chart.js that charts.js draws with, in one file: half of it would be sent for nothing.
CHARTS: Final = ("chart.js@4.6.1", "esbuild@0.28.2")
CHART_PARTS: Final = "LineController, BarController, LinearScale, LineElement, PointElement, BarElement, Tooltip"
CHART_ENTRY: Final = f"""import {{ Chart, {CHART_PARTS} }} from "chart.js";
Chart.register({CHART_PARTS});
globalThis.Chart = Chart;
"""
CHART_LICENCES: Final = ("chart.js/LICENSE.md", "@kurkle/color/LICENSE.md")
ICONS: Final = (
    "arrow-down", "arrow-right", "arrow-up", "award", "bell", "book-open", "calendar", "chart-line", "check",
    "chevron-right", "circle", "circle-check", "circle-dot-dashed", "circle-play", "circle-question-mark", "circle-slash",
    "circle-x", "clock", "copy", "cpu", "database", "download", "file-text", "gavel", "git-compare", "info", "layers",
    "list-ordered", "lock", "mail", "medal", "megaphone", "messages-square", "plus", "search", "search-check", "settings",
    "timer", "triangle-alert", "trophy", "upload", "user-check", "users", "webhook", "x",
)  # fmt: skip


def package(name: str, folder: Path) -> tarfile.TarFile:
    """The npm package of that name and version."""
    done = subprocess.run(["npm", "pack", "--silent", name], cwd=folder, check=True, capture_output=True, text=True)
    return tarfile.open(folder / done.stdout.split()[-1])


def member_text(archive: tarfile.TarFile, name: str) -> bytes:
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
        symbols = "".join(symbol(name, member_text(archive, f"icons/{name}.svg").decode()) for name in ICONS)
        (STATIC / "icons.LICENSE.txt").write_bytes(member_text(archive, "LICENSE"))
    (STATIC / "icons.svg").write_text(f'<svg xmlns="http://www.w3.org/2000/svg">\n{symbols}</svg>\n')


def write_fonts(folder: Path) -> None:
    """The Latin part of each typeface, with its licence beside it."""
    (STATIC / "fonts").mkdir(exist_ok=True)
    for name, (path, target) in FONTS.items():
        with package(name, folder) as archive:
            (STATIC / "fonts" / f"{target}.woff2").write_bytes(member_text(archive, path))
            (STATIC / "fonts" / f"{target}.LICENSE.txt").write_bytes(member_text(archive, "LICENSE"))


def write_charts(folder: Path) -> None:
    """The chart library, with the licences of all that is in it beside it."""
    (STATIC / "vendor").mkdir(exist_ok=True)
    (folder / "entry.js").write_text(CHART_ENTRY)
    subprocess.run(["npm", "install", "--silent", "--prefix", ".", *CHARTS], cwd=folder, check=True)
    bundle = ["node_modules/.bin/esbuild", "entry.js", "--bundle", "--minify", "--format=iife", "--target=es2020"]
    subprocess.run([*bundle, f"--outfile={STATIC / 'vendor' / 'chart.js'}"], cwd=folder, check=True)
    licences = [(folder / "node_modules" / name).read_text() for name in CHART_LICENCES]
    (STATIC / "vendor" / "chart.LICENSE.txt").write_text("\n".join(licences))


def main() -> None:
    """Write fonts, icons and libraries."""
    with tempfile.TemporaryDirectory() as folder:
        write_icons(Path(folder))
        write_fonts(Path(folder))
        write_charts(Path(folder))


if __name__ == "__main__":
    main()
