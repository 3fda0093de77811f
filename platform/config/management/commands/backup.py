"""`podium backup PATH`: the database and all stored files of this site."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from config.backup.archive import STREAM, Broken
from config.backup.services import backup


class Command(BaseCommand):
    help = "Write a backup: a folder, to which later backups only add, a file whose name ends with .tar, or - for standard output."
    requires_system_checks: list[str] = []  # those of the code: `make lint` asks them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path)

    def handle(self, *args: Any, path: Path, **options: Any) -> None:
        try:
            contents = backup(path, now=timezone.now())
        except (Broken, OSError) as error:
            raise CommandError(f"No backup was made: {error}") from error
        answer = self.stderr if path == STREAM else self.stdout
        answer.write(f"{path}: {contents.rows} rows, {contents.files} files of {contents.file_bytes} bytes.")
