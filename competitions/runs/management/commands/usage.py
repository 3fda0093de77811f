"""`manage.py usage`: the compute that competitions, phases and teams used in a month, by queue."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from competitions.compute.models import Queue
from competitions.runs.accounting.usage import Month, slots_in, usage_lines, use_rows
from core.refusals import Refusal


class Command(BaseCommand):
    help = "Print how many hours runs used slots and GPUs in a month: by competition, or with --csv by phase and team, too."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--month", default="", help="Such as 2026-11; else the present one (UTC).")
        parser.add_argument("--queue", default="", help="Of this queue alone.")
        parser.add_argument("--csv", action="store_true", help="As CSV, a line for each team in a phase.")

    def handle(self, *args: Any, month: str, queue: str, csv: bool, **options: Any) -> None:
        now = timezone.now()
        try:
            shown = Month.parse(month) if month else Month.at(now)
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal
        slots = slots_in(shown, now=now)
        if queue:
            if not Queue.objects.filter(name=queue).exists():
                raise CommandError(f"There is no queue {queue!r}. The page Host > Your queues lists them.")
            slots = slots.filter(queue__name=queue)
        if csv:
            for line in usage_lines(slots, shown):
                self.stdout.write(line, ending="")
            return
        for row in use_rows(slots, "competition", "competition__title"):
            use = row.use
            self.stdout.write(f"{use.gpu_hours:10.2f} GPU h {use.hours:10.2f} h {use.runs:8} runs  {row.name}")
