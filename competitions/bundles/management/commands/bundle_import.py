"""`manage.py bundle_import FOLDER --owner NAME`: make a competition from a bundle."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from accounts.models import User
from competitions.bundles.importer import bundle_import
from competitions.bundles.reader import InvalidBundle
from competitions.compute.models import Queue


class Command(BaseCommand):
    help = (
        "Make a competition from a bundle folder, all of it or nothing; it is a draft until its organizer publishes it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="The folder with competition.yaml at its top level.")
        parser.add_argument("--owner", required=True, help="User name of its organizer.")
        parser.add_argument("--queue", default="default", help="Queue that runs its submissions (default: default).")

    def handle(self, *args: Any, folder: Path, owner: str, queue: str, **options: Any) -> None:
        user = User.objects.filter(username=owner).first()
        if user is None:
            raise CommandError(f"There is no user {owner!r}. Give the name that the organizer signs in with.")
        runs_on = Queue.objects.filter(name=queue).first()
        if runs_on is None:
            known = ", ".join(Queue.objects.values_list("name", flat=True)) or "none"
            raise CommandError(f"There is no queue {queue!r}; there are: {known}.")
        try:
            made = bundle_import(folder=folder, owner=user, queue=runs_on, now=timezone.now())
        except InvalidBundle as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"/competitions/{made.slug}/")
