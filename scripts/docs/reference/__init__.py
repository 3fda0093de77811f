"""Pages that are made from the code."""

from pathlib import Path

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
    from scripts.docs.reference.settings import undocumented_settings

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
