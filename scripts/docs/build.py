"""Builds the docs as a site: pages of docs/ and pages made from the code, by Sphinx, strictly.

A build lies in a folder of its own below `var/docs`, named by a digest of all that it is made from; `current.json` names it, with
every file and its digest. So the site never sees half a build, and what is up to date costs a moment.
"""

import fcntl
import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from scripts.docs.sources import DocsInvalid, add_navigation, stage_pages

REPOSITORY: Final = Path(__file__).resolve().parents[2]
OUTPUT: Final = REPOSITORY / "var" / "docs"
CURRENT: Final = "current.json"
# Whatever pages are made of. The image of the site is built from these, too (docker/site.Dockerfile).
SOURCES: Final = (
    "docs",
    "scripts/docs",
    "SECURITY.md",
    "constraints.txt",
    "client/podium",
    "client/podium_program.py",
    "competitions",
    "files",
    "platform",
    "scoring",
    "workers/__init__.py",
    "workers/protocol",
)
FRESH: Final = (".py", ".md", ".css", ".js", ".json", ".html", ".svg", ".webp", ".woff2", ".txt")
COMPRESSED: Final = (".html", ".js", ".css", ".svg")
LEFT_OUT: Final = ("objects.inv", ".buildinfo")  # for other builds of Sphinx
# What the Content-Security-Policy of the site refuses in a page, and what would be fetched from elsewhere.
REFUSED: Final = {
    "an inline script": re.compile(r"<script(?![^>]*\ssrc=)[^>]*>"),
    "an inline style": re.compile(r"<style[\s>]|<[a-z][^>]*\sstyle="),
    "a handler in an attribute": re.compile(r"<[a-z][^>]*\son[a-z]+="),
    "something of another site": re.compile(
        r"<(?:script|img|link|iframe|source)[^>]*\s(?:src|href|srcset)=\"(?:https?:)?//"
    ),
}


def sources_digest() -> str:
    """A digest of names and contents of everything that the docs are made of."""
    digest = hashlib.sha256()
    for source in SOURCES:
        path = REPOSITORY / source
        files = [path] if path.is_file() else (file for file in path.rglob("*") if file.suffix in FRESH)
        for file in sorted(files):
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            digest.update(f"{file.relative_to(REPOSITORY).as_posix()} {content}\n".encode())
    return digest.hexdigest()[:20]


def is_current(digest: str, output: Path = OUTPUT) -> bool:
    """True if these docs lie there already."""
    try:
        return bool(json.loads((output / CURRENT).read_text())["digest"] == digest) and (output / digest).is_dir()
    except FileNotFoundError:
        return False


@contextmanager
def _alone(output: Path) -> Iterator[None]:
    """A second build waits for the first, and then has nothing to do."""
    output.mkdir(parents=True, exist_ok=True)
    with (output / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(output: Path = OUTPUT) -> bool:
    """Build the docs; False if they were up to date. Raises `DocsInvalid` with all that is wrong."""
    with _alone(output):
        digest = sources_digest()
        if is_current(digest, output):
            return False
        with tempfile.TemporaryDirectory(dir=output, prefix="building-") as scratch:
            work = Path(scratch)
            pages = work / "html"
            _stage(work / "source")
            _run_sphinx(work / "source", pages, work / "doctrees")
            _add_markdown(work / "source", pages)
            files = _finish(pages)
            _publish(pages, output, digest, files)
    return True


def export(folder: Path) -> None:
    """Copy the current build alone."""
    digest = json.loads((OUTPUT / CURRENT).read_text())["digest"]
    folder.mkdir(parents=True)
    shutil.copytree(OUTPUT / digest, folder / digest)
    shutil.copy(OUTPUT / CURRENT, folder)


def _stage(staging: Path) -> None:
    from scripts.docs.reference import write_reference  # it needs the packages of the site, all else does not

    staging.mkdir()
    stage_pages(REPOSITORY / "docs", staging)
    write_reference(staging / "reference")
    add_navigation(staging)


def _run_sphinx(source: Path, pages: Path, doctrees: Path) -> None:
    """Sphinx's own check of links, anchors and pictures: each warning is a fault."""
    command = [sys.executable, "-m", "sphinx", "-b", "dirhtml", "-W", "--keep-going", "-n", "-q", "-j", "2"]
    folders = map(str, ("-c", REPOSITORY / "docs" / "site", "-d", doctrees, source, pages))
    outcome = subprocess.run([*command, *folders], check=False, capture_output=True, text=True)
    if outcome.returncode:
        text = f"{outcome.stdout}{outcome.stderr}".replace(f"{source}/", "docs/")
        raise DocsInvalid(text.strip())


def _add_markdown(staging: Path, pages: Path) -> None:
    """Put each page's Markdown beside it: as people wrote it, else as it was made from the code."""
    for path in staging.rglob("*.md"):
        name = path.relative_to(staging)
        written = REPOSITORY / "docs" / name
        shutil.copy(written if written.is_file() else path, pages / name)


def _finish(pages: Path) -> dict[str, str]:
    """Add colours, leave out what nobody asks for, check each page; returns every file with its digest."""
    (pages / "_static" / "tokens.css").write_text(
        scheme_tokens((REPOSITORY / "platform/static/podium/tokens.css").read_text())
    )
    shutil.rmtree(pages / "_sources", ignore_errors=True)
    from scripts.docs.reference import missing_help

    faults, files = missing_help(pages), {}
    for path in sorted(pages.rglob("*")):
        name = path.relative_to(pages).as_posix()
        if path.name in LEFT_OUT or path.suffix == ".map":
            path.unlink()
        elif path.is_file():
            content = path.read_bytes()
            files[name] = hashlib.sha256(content).hexdigest()[:32]
            if path.suffix == ".html":
                faults += [f"{name}: has {what}." for what in refused_parts(content.decode())]
            if path.suffix in COMPRESSED:
                path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(content, 9, mtime=0))
    if faults:
        raise DocsInvalid("\n".join(faults))
    return files


def refused_parts(html: str) -> list[str]:
    """Kinds of parts of a page that the site's Content-Security-Policy refuses."""
    return [what for what, pattern in REFUSED.items() if pattern.search(html)]


def scheme_tokens(css: str) -> str:
    """The site's tokens, for a page whose reader may choose the scheme, too."""
    fonts = "\n".join(re.findall(r"@font-face \{.*?\n\}", css, re.DOTALL)).replace("fonts/", "")
    light, dark = (
        re.search(r"^:root \{(.*?)\n\}", css, re.DOTALL | re.MULTILINE),
        re.search(r"^  :root \{(.*?)\n  \}", css, re.DOTALL | re.MULTILINE),
    )
    if light is None or dark is None:
        raise DocsInvalid("platform/static/podium/tokens.css: there is no block of tokens for each scheme.")
    blocks = f'body {{{light[1]}\n}}\nbody[data-theme="dark"] {{{dark[1]}\n}}'
    return (
        f'{fonts}\n{blocks}\n@media (prefers-color-scheme: dark) {{ body:not([data-theme="light"]) {{{dark[1]}\n}} }}\n'
    )


def _publish(pages: Path, output: Path, digest: str, files: dict[str, str]) -> None:
    """Make it the current build, at once; the one before stays for whoever reads it just now."""
    previous = json.loads((output / CURRENT).read_text())["digest"] if (output / CURRENT).exists() else ""
    shutil.rmtree(output / digest, ignore_errors=True)
    pages.rename(output / digest)
    draft = output / f"{CURRENT}.new"
    draft.write_text(json.dumps({"digest": digest, "files": files}))
    draft.replace(output / CURRENT)
    for folder in output.iterdir():
        if folder.is_dir() and folder.name not in (digest, previous) and not folder.name.startswith("building-"):
            shutil.rmtree(folder)
