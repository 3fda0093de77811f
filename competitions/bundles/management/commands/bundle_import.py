"""`manage.py bundle_import BUNDLE --owner NAME`: make a competition from a bundle."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from accounts.models import User
from competitions.bundles.importing.importer import bundle_import
from competitions.bundles.importing.rows import queue_named
from core.refusals import Refusal
from files.bundles.faults import InvalidBundle


class Command(BaseCommand):
    help = "Make a competition from a bundle, all of it or nothing; it is a draft until its organizer publishes it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("bundle", type=Path, help="A zip, or a folder, with competition.yaml at its top level.")
        parser.add_argument("--owner", required=True, help="User name of its organizer.")
        parser.add_argument("--queue", help="Queue that runs its submissions; else the bundle's own, else `default`.")
        parser.add_argument("--json", action="store_true", help="Print the report as JSON.")

    def handle(self, *args: Any, bundle: Path, owner: str, queue: str | None, json: bool, **options: Any) -> None:
        user = User.objects.filter(username=owner).first()
        if user is None:
            raise CommandError(f"There is no user {owner!r}. Give the name that the organizer signs in with.")
        try:
            imported = bundle_import(
                source=bundle,
                owner=user,
                queue=queue_named(queue, user) if queue else None,
                now=timezone.now(),
                progress=lambda step: self.stderr.write(step, ending="\n") if options["verbosity"] else None,
            )
        except InvalidBundle as error:
            if json:
                self.stdout.write(_json(error.report.as_json()))
            raise CommandError(str(error)) from error
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal
        if json:
            self.stdout.write(_json(imported.report.as_json()))
            return
        self.stderr.write("\n".join(imported.report.lines()))
        self.stdout.write(f"/competitions/{imported.competition.slug}/")


def _json(value: Any) -> str:
    return json.dumps(value, indent=2)
