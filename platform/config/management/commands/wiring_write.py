"""`manage.py wiring_write`: write the page of signals, reconciler steps and background work."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config.wiring import wiring_page

PAGE: Final = Path(settings.BASE_DIR) / "docs" / "wiring.md"


class Command(BaseCommand):
    help = "Write the documentation's page of signals, steps of the reconciler and background work."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="Only say whether it is out of date; exit status 1.")

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        text = wiring_page()
        if check and (not PAGE.exists() or PAGE.read_text() != text):
            raise CommandError(f"Out of date: {PAGE.relative_to(settings.BASE_DIR)}. Run `make derived`.")
        PAGE.write_text(text)
