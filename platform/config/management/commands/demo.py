"""`manage.py demo`: run the demo site until Ctrl-C, or with `--check` until its baselines are scored.

With `PODIUM_DEMO` it is a public demo, which changes nothing and begins anew each day.
"""

import os
import signal
import sys
import time
from datetime import time as time_of_day
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections
from django.utils import timezone

from competitions.catalog.models import Competition
from competitions.organize.workspace.days import days_recount
from competitions.runs.services import submission_rerun
from competitions.submissions.models import Submission
from config.demo import baselines, simulation
from config.demo.content import DEFAULT, DEMOS
from config.demo.processes import Processes, ProcessFailed, free_port
from config.demo.seed import Seed, next_reset, remove_data, seed
from config.schema import UnknownSchema, upgrade_database

TEAMS = 40


class Command(BaseCommand):
    help = "Start a demo site with a small competition, send in its baselines and show the leaderboard."
    requires_system_checks: list[str] = []  # those of the code: `make lint` asks them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="End once every baseline is scored as expected.")
        parser.add_argument(
            "--content", choices=sorted(DEMOS), default=DEFAULT, help=f"Which demo (default {DEFAULT})."
        )
        parser.add_argument("--port", type=int, help="Port of 127.0.0.1 (default: 8000, or the next one that is free).")
        parser.add_argument(
            "--teams", type=int, help=f"Simulated teams, where the demo has some (default {TEAMS}; with --check none)."
        )
        parser.add_argument("--timeout", type=float, default=900, help="Seconds to wait for the baselines.")

    def handle(
        self, *args: Any, check: bool, content: str, port: int | None, teams: int | None, timeout: float, **options: Any
    ) -> None:
        if not settings.EMBEDDED:
            raise CommandError(
                "The demo runs embedded: unset DATABASE_URL, it would fill your database with demo people."
            )
        began = time.monotonic()
        signal.signal(signal.SIGTERM, _interrupt)
        self.say("Preparing the database and the static files")
        try:
            upgrade_database()
        except UnknownSchema as error:
            raise CommandError(f"{error} A demo has nothing to lose: remove {settings.DATA_DIR}.") from error
        call_command("collectstatic", interactive=False, verbosity=0)
        self.say("Preparing the competition")
        seed_content = seed(
            DEMOS[content], now=timezone.now(), teams=(0 if check else TEAMS) if teams is None else max(0, teams)
        )
        token_file = seed_content.queue_token_file
        try:
            port = free_port(port)
            with Processes(port=port, token_file=token_file) as processes:
                self.say(f"Web server, reconciler, background and compute worker run (logs in {processes.logs})")
                self.accounts(processes.url, seed_content)
                self.score(processes, seed_content, timeout, is_check=check)
                self.say(f"Ready after {time.monotonic() - began:.1f} s")
                self.simulate(processes, seed_content)
                if not check:
                    self.stay(processes)
        except (ProcessFailed, baselines.Unexpected) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            self.say("\nStopped")
            return
        if settings.PUBLIC_DEMO and not check:
            self.begin_anew(port)

    def say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()

    def score(self, processes: Processes, content: Seed, timeout_s: float, *, is_check: bool) -> None:
        """Have the baselines scored. If one ends unexpectedly, a check fails; a demo says so and goes on."""
        client = baselines.Client(processes.url)
        for step in (
            partial(self.run_baselines, processes, client, content, timeout_s, is_check=is_check),
            partial(self.boards, client, content),
        ):
            try:
                step()
            except baselines.Unexpected as error:
                if is_check:
                    raise
                self.say(f"\n{error}\nThe site stays up. The next start runs these baselines again.\n")

    def run_baselines(
        self, processes: Processes, client: baselines.Client, content: Seed, timeout_s: float, *, is_check: bool
    ) -> None:
        """Send them in and follow them. Raises `Unexpected`."""
        self.say("Sending in the baselines")
        sent = baselines.send_all(client, content, is_check=is_check)
        self.run_again(baselines.ended_wrongly(client, sent))
        baselines.follow(client, sent, timeout_s=timeout_s, say=self.say, check=processes.check)
        baselines.require_as_expected(sent)

    def boards(self, client: baselines.Client, content: Seed) -> None:
        """Show the board of each competition. Raises `Unexpected` where the site does not answer."""
        token = content.account_token("robot")
        for slug in content.slugs:
            phase = client.get(f"/competitions/{slug}/", token)["phases"][0]["slug"]
            self.board(slug, client.get(f"/competitions/{slug}/phases/{phase}/leaderboard/", token))

    def run_again(self, ended: list[baselines.Sent]) -> None:
        """Run baselines again that an earlier start left with an unexpected end."""
        for each in ended:
            self.say(f"  {each.label} is run again; it had ended as {baselines.describe(each.answer)}")
            submission_rerun(submission=Submission.objects.get(pk=each.pk), actor="demo", now=timezone.now())

    def simulate(self, processes: Processes, content: Seed) -> None:
        """Simulated teams come when the demo can be used already; a second start finds theirs."""
        now, began = timezone.now(), time.monotonic()
        for competition in Competition.objects.filter(
            slug__in=[slug for slug, files in content.simulated.items() if files]
        ):
            files, folder = content.simulated[competition.slug], content.simulated_dir / competition.slug
            count = simulation.teams_create(competition, files, folder=folder, now=now)
            self.say(f"Simulated teams have sent in {count} files as of the last four weeks, which are being scored")
            simulation.wait_until_scored(competition, check=processes.check)
            days_recount(competition, now=timezone.now())
            self.say(f"They are scored after {time.monotonic() - began:.0f} s")

    def board(self, slug: str, board: dict[str, Any]) -> None:
        column = board["columns"][0]
        arrow = "lower is better" if column["sorting"] == "asc" else "higher is better"
        title = f"{column['title']} in {column['unit']}" if column["unit"] else column["title"]
        self.say(f"\n  Leaderboard {slug} {board['phase']}: {title}, {arrow}")
        for row in board["rows"]:
            rank = "baseline" if row["is_baseline"] else str(row["rank"])
            self.say(f"  {rank:>8}  {row['team']:<24} {row['scores'][column['key']]:>10}")

    def accounts(self, url: str, content: Seed) -> None:
        self.say(f"\n  {url}{content.path}\n")
        if settings.PUBLIC_DEMO:
            self.say(f"  Visitors look around without a password: {url}/demo/\n")
        folder = settings.EMAIL_CONFIG["EMAIL_FILE_PATH"]
        self.say(f"  Mails, such as those that confirm the address of a new account, are in {folder}\n")
        if not content.is_new:
            names = ", ".join(account.username for account in content.accounts if account.role != "robot")
            self.say(f"  Sign in as {names}, with the passwords that the first start printed. To set a new one:")
            self.say(f"  PODIUM_DATA_DIR={settings.DATA_DIR} .venv/bin/python manage.py changepassword NAME\n")
            return
        for account in content.accounts:
            secret = f"password {account.password}" if account.password else f"API token {account.token}"
            self.say(f"  {account.role:<10} {account.username:<10} {secret}")

    def stay(self, processes: Processes) -> None:
        """Watch the processes until Ctrl-C, or until a public demo begins anew."""
        ends = None
        if settings.PUBLIC_DEMO:
            ends = next_reset(timezone.now(), time_of_day.fromisoformat(settings.DEMO_RESET))
            self.say(f"Nothing that visitors do is saved. Everything begins anew at {ends:%d %B, %H:%M} UTC")
        self.say("Running until Ctrl-C")
        while ends is None or timezone.now() < ends:
            processes.check()
            time.sleep(1)

    def begin_anew(self, port: int) -> None:
        """Remove what there is, and start as for the first time, at the same address."""
        self.say("Beginning anew")
        connections.close_all()
        remove_data(Path(settings.DATA_DIR))
        port_is_named = any(argument.startswith("--port") for argument in sys.argv)
        os.execv(sys.executable, [sys.executable, *sys.argv, *([] if port_is_named else ["--port", str(port)])])


def _interrupt(*_: object) -> None:
    """SIGTERM ends the demo as Ctrl-C does."""
    raise KeyboardInterrupt
