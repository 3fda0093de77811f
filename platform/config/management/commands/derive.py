"""`manage.py derive`: write the files that follow from the code, for readers without it."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from competitions.bundles.reference import settings_page, settings_schema
from config.wiring import wiring_page
from files.bundles.declared import FILE

DOCS: Final = Path(settings.BASE_DIR) / "docs"


class Command(BaseCommand):
    help = "Write the settings that bundles know, and the documentation's pages of all settings and of the wiring."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="Only say which file is out of date; exit status 1.")

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        texts = {FILE: settings_schema(), DOCS / "settings.md": settings_page(), DOCS / "wiring.md": wiring_page()}
        stale = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
        if check and stale:
            names = ", ".join(str(path.relative_to(settings.BASE_DIR)) for path in stale)
            raise CommandError(f"Out of date: {names}. Run `make derived`.")
        for path in stale:
            path.write_text(texts[path])
