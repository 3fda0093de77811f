"""Pages that are made from the code."""

import re
from collections.abc import Iterator
from pathlib import Path

from scripts.docs.markdown import REPOSITORY
from scripts.docs.sources import DocsInvalid


def write_reference(folder: Path) -> None:
    """Write all pages of the reference. Raises `DocsInvalid` for what has no text in the code."""
    import django

    django.setup()
    from scripts.docs.reference.api import api_page
    from scripts.docs.reference.metrics import metrics_page
    from scripts.docs.reference.problems import problems_page
    from scripts.docs.reference.program import program_page
    from scripts.docs.reference.protocol import protocol_page
    from scripts.docs.reference.python import scoring_page

    if faults := list(undocumented_settings()):
        raise DocsInvalid("\n".join(faults))
    folder.mkdir()
    pages = {
        "program": program_page,
        "api": api_page,
        "problems": problems_page,
        "scoring": scoring_page,
        "metrics": metrics_page,
        "messages": protocol_page,
    }
    for name, write in pages.items():
        (folder / f"{name}.md").write_text(write())


def undocumented_settings() -> Iterator[str]:
    """A sentence for each setting of the site, of a competition or of its parts that no page names."""
    from competitions.bundles.reference import settings_page

    if (REPOSITORY / "docs" / "settings.md").read_text() != settings_page():
        yield "docs/settings.md: a setting of a competition or of its parts was changed since. `make derived` writes it anew."
    named = set(re.findall(r"[A-Z][A-Z_]+", (REPOSITORY / "docs" / "administrators.md").read_text()))
    read = re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', (REPOSITORY / "platform" / "config" / "settings.py").read_text())
    for name in sorted(set(read) - named):
        yield f"docs/administrators.md: the setting {name} of platform/config/settings.py stands in no table."


def missing_help(pages: Path) -> list[str]:
    """Places of the built docs that pages of the site lead to and that are not there."""
    from competitions.web.documentation.help_pages import HELP

    faults = []
    for target in filter(None, HELP):
        page, _, heading = target.partition("#")
        path = pages / page / "index.html"
        if not path.exists() or (heading and f'id="{heading}"' not in path.read_text()):
            faults.append(f"docs/{page}.md: pages of the site lead to {target!r}, which is not there (help_pages.py).")
    return faults
