"""The written pages of docs/, as Sphinx reads them.

The files are for readers of the repository, too. So what only a site has is made of what both understand: a `<picture>` becomes two
images that follow the reader's scheme, a diagram becomes a part of the page, lists of the index become the navigation, and
`/docs/reference/...` a link to a page that is made from the code.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PICTURE: Final = re.compile(
    r'<picture><source media="\(prefers-color-scheme: dark\)" srcset="(?P<dark>[^"]+)">\n'
    r'<img src="(?P<light>[^"]+)" width="(?P<width>[^"]+)" alt="(?P<alt>[^"]*)"></picture>'
)
IMAGE: Final = re.compile(r'<img src="(?P<src>[^"]+)" width="(?P<width>[^"]+)" alt="(?P<alt>[^"]*)">')
DIAGRAM: Final = re.compile(r"^!\[(?P<alt>[^\]]*)\]\((?P<path>diagrams/[\w-]+\.svg)\)$", re.MULTILINE)
OUTSIDE: Final = re.compile(r"\[(?P<text>[^\]]*)\]\(\.\./(?P<path>[^)]+)\)")
NAMED_FILE: Final = re.compile(r"\[[\w-]+\.md\]\((?P<target>[\w-]+\.md)\)")  # shown with the page's title
REFERENCE: Final = re.compile(r"`/docs/(?P<page>reference/[a-z-]+)/`")
LISTED: Final = re.compile(r"^\* \[[^\]]*\]\(/?(?P<page>[\w/-]+)\.md\)", re.MULTILINE)
INDEX_ORDER: Final = ("Is it what you need?", "Tutorials", "How-to guides", "Reference", "Explanation", "Development")


class DocsInvalid(Exception):
    """Something in the docs cannot be shown; the sentence says what and where."""


def stage_pages(docs: Path, staging: Path) -> None:
    """Copy the pages, with what they show."""
    shutil.copytree(docs / "pictures", staging / "pictures")
    for page in sorted(docs.glob("*.md")):
        (staging / page.name).write_text(_converted(page.read_text(), docs))
    security = docs.parent / "SECURITY.md"
    text = security.read_text().replace("](docs/", "](").replace("# Security\n", "# Reporting a vulnerability\n", 1)
    (staging / "reporting.md").write_text(_converted(text, docs))


def add_navigation(staging: Path) -> None:
    """Turn the lists of the index into the navigation. Raises `DocsInvalid` for a page in none of them."""
    index = staging / "index.md"
    text = index.read_text()
    sections = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    trees, listed = [], {"index"}
    for title in INDEX_ORDER:
        pages = [row["page"] for row in LISTED.finditer(sections.get(title, ""))]
        listed |= set(pages)
        trees.append("\n".join(["```{toctree}", ":hidden:", f":caption: {title}", "", *pages, "```"]))
    forgotten = {page.relative_to(staging).with_suffix("").as_posix() for page in staging.rglob("*.md")} - listed
    if forgotten:
        raise DocsInvalid(f"docs/index.md lists no page {', '.join(sorted(forgotten))}: add it to a list there.")
    index.write_text("\n\n".join([text, *trees]) + "\n")


def _converted(text: str, docs: Path) -> str:
    text = PICTURE.sub(lambda row: " ".join(_images(row)), text)
    text = IMAGE.sub(lambda row: f"![{row['alt']}]({row['src']}){{.picture .{_size(row['width'])}}}", text)
    text = DIAGRAM.sub(lambda row: _diagram(docs / row["path"], row["alt"]), text)
    text = NAMED_FILE.sub(lambda row: f"[]({row['target']})", OUTSIDE.sub(_outside, text))
    return REFERENCE.sub(lambda row: f"[](/{row['page']}.md)", text)


def _images(row: re.Match[str]) -> Iterator[str]:
    for scheme in ("light", "dark"):
        yield f"![{row['alt']}]({row[scheme]}){{.picture .for-{scheme} .{_size(row['width'])}}}"


def _size(width: str) -> str:
    """The name of a width: `66%` is most of the text's."""
    if not width.endswith("%"):
        return "full"
    return "narrow" if int(width[:-1]) < 30 else "half" if int(width[:-1]) < 50 else "most"


def _diagram(path: Path, alt: str) -> str:
    """The drawing without its own colours; the stylesheet of the docs has the same classes."""
    try:
        drawing = path.read_text()
    except FileNotFoundError as error:
        raise DocsInvalid(f"There is no diagram docs/diagrams/{path.name}, which a page shows.") from error
    lines = re.sub(r"<style>.*?</style>", "", drawing, flags=re.DOTALL).split("\n")
    opening = f'<svg class="diagram" role="img" aria-label="{alt}" '
    return f'<div class="diagram" tabindex="0">{"".join(lines).replace("<svg ", opening, 1)}</div>'


def _outside(row: re.Match[str]) -> str:
    """A file of the repository that is not a page: named, not linked."""
    if row["path"] == "SECURITY.md":
        return f"[{row['text']}](reporting.md)"
    name = f"`{row['path']}`"
    return name if row["text"].strip("`") in row["path"] else f"{row['text']} ({name})"
