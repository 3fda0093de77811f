"""`podium restore PATH`: an empty site becomes the one that the backup was made of."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from config.backup.archive import Broken
from config.backup.services import CannotRestore, restore


class Command(BaseCommand):
    help = "Fill an empty, migrated site from a backup (- for one on standard input) and compare the two."
    requires_system_checks: list[str] = []  # those of the code: `make lint` asks them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path)

    def handle(self, *args: Any, path: Path, **options: Any) -> None:
        try:
            contents = restore(path)
        except (Broken, CannotRestore, DatabaseError, OSError) as error:
            raise CommandError(f"Nothing was restored: {error}") from error
        self.stdout.write(
            f"{contents.rows} rows, {contents.files} files of {contents.file_bytes} bytes; compared and equal."
        )
