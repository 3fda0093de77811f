"""`manage.py upgrade`: bring the database to this version, or say why that cannot be done."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.schema import UnknownSchema, upgrade_database


class Command(BaseCommand):
    help = "Make or upgrade the tables of the database; safe to run again."
    requires_system_checks: list[str] = []  # those of the code: `make lint` asks them

    def handle(self, *args: Any, verbosity: int, **options: Any) -> None:
        try:
            upgrade_database(verbosity=verbosity)
        except UnknownSchema as error:
            raise CommandError(str(error)) from error
