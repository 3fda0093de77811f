"""Pages that are made from the code."""

from pathlib import Path


def write_reference(folder: Path) -> None:
    """Write all pages of the reference. Raises `DocsInvalid` for what has no text in the code."""
    import django

    django.setup()
    from scripts.docs.reference.api import api_page
    from scripts.docs.reference.problems import problems_page
    from scripts.docs.reference.program import program_page
    from scripts.docs.reference.protocol import protocol_page
    from scripts.docs.reference.python import scoring_page

    folder.mkdir()
    pages = {
        "program": program_page,
        "api": api_page,
        "problems": problems_page,
        "scoring": scoring_page,
        "messages": protocol_page,
    }
    for name, write in pages.items():
        (folder / f"{name}.md").write_text(write())
