"""A submission that is watched in the terminal: live log, use of the budget, and the verdict."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column

from podium.client import Client
from podium.errors import SiteUnreachable
from podium.models import Budget, Log, Submission
from podium.output import describe, printable, printable_lines, say

POLL_S: Final = 2.0
WAITING_POLL_S: Final = 5.0  # while nothing runs yet
PLAIN_EVERY_S: Final = 60.0  # a line on the budget, where no bar can be drawn
PATIENCE_S: Final = 10.0  # of one call: who watches is told soon that the site does not answer
AWAY_S: Final = 1800.0  # the site may be away so long; the run goes on there
TICK_S: Final = 0.5
BAR_WIDTH: Final = 20  # beside the words in 80 columns


class Screen(Protocol):
    """The place where it is shown: a terminal with a bar, or plain lines."""

    def line(self, text: str) -> None: ...

    def budget(self, use: Budget | None, ago_s: float) -> None: ...


class PlainScreen:
    """Lines alone, for files, pipes and runners of CI; now and then one on the budget."""

    def __init__(self) -> None:
        self._next_at = 0.0

    def line(self, text: str) -> None:
        say(text)

    def budget(self, use: Budget | None, ago_s: float) -> None:
        if use is not None and ago_s < TICK_S and time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + PLAIN_EVERY_S
            say(budget_words(use, 0.0))


class TerminalScreen:
    """Lines above a bar that fills up to the limit."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: TaskID | None = None

    def line(self, text: str) -> None:
        self._progress.console.print(printable_lines(text), markup=False, highlight=False, soft_wrap=True)

    def budget(self, use: Budget | None, ago_s: float) -> None:
        if use is None:
            if self._task is not None:
                self._progress.remove_task(self._task)
                self._task = None
            return
        if self._task is None:
            self._task = self._progress.add_task("", total=use.limit_s)
        done = min(use.elapsed_s + ago_s, use.limit_s)
        self._progress.update(self._task, completed=done, total=use.limit_s, description=budget_words(use, ago_s))


@contextmanager
def opened_screen() -> Iterator[Screen]:
    """A bar where somebody sees it, else plain lines."""
    if not sys.stderr.isatty():
        yield PlainScreen()
        return
    words = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True))
    columns = BarColumn(bar_width=BAR_WIDTH), words
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield TerminalScreen(progress)


def clock(seconds: float) -> str:
    """Seconds as hours, minutes and seconds.

    >>> clock(3725.9)
    '1:02:05'
    """
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def budget_words(use: Budget, ago_s: float) -> str:
    """The use of the budget in one line; `ago_s`: how long ago the site said it.

    >>> budget_words(Budget(elapsed_s=60, limit_s=14400, projected_s=18000), 5)
    '0:01:05 of 4:00:00, at this pace 5:00:00: OVER THE LIMIT'
    """
    words = f"{clock(min(use.elapsed_s + ago_s, use.limit_s))} of {clock(use.limit_s)}"
    if use.projected_s is not None:
        words += f", at this pace {clock(use.projected_s)}"
        words += ": OVER THE LIMIT" if use.projected_s > use.limit_s else ""
    return words


class Watch:
    """One submission that is watched; it asks the site again and again, and survives its absence."""

    def __init__(self, me: Client, number: int, screen: Screen, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._me, self._number, self._screen, self._sleep = me, number, screen, sleep
        self._printed: dict[tuple[str, str], int] = {}
        self._said = ""
        self._away_since: float | None = None

    def until_it_ends(self) -> Submission:
        """Show what happens until the submission has ended.

        Raises `SiteUnreachable` after half an hour without the site.
        """
        while True:
            try:
                submission = self._me.submission(self._number)
                self._show_status(submission)
                self._show_logs(submission)
            except SiteUnreachable as error:
                self._away(error)
                continue
            self._away_since = None
            if submission.is_final:
                self._screen.budget(None, 0.0)
                return submission
            self._pause(_budget(submission), POLL_S if _is_running(submission) else WAITING_POLL_S)

    def _away(self, error: SiteUnreachable) -> None:
        now = time.monotonic()
        if self._away_since is None:
            self._away_since = now
            self._screen.line(f"{error} The submission goes on there; trying again.")
        elif now - self._away_since > AWAY_S:
            raise error
        self._sleep(WAITING_POLL_S)

    def _show_status(self, submission: Submission) -> None:
        running = next((run for run in submission.runs if run.budget is not None), None)
        what = "" if running is None else f", {'smoke run' if running.is_smoke else running.task}"
        words = describe(submission) + what
        if words != self._said:
            self._said = words
            self._screen.line(words)

    def _show_logs(self, submission: Submission) -> None:
        if not any(run.started_at for run in submission.runs):
            return
        for log, is_anew in new_logs(self._me, submission.id, self._printed, is_over=submission.is_final):
            if is_anew:
                self._screen.line(f"--- {log.stream}: a new attempt")
            if log.text and log.offset == 0:
                self._screen.line(f"--- {log.stream}")
            for line in log.text.splitlines():
                self._screen.line(printable(line))

    def _pause(self, use: Budget | None, pause_s: float) -> None:
        began_at = time.monotonic()
        while (passed_s := time.monotonic() - began_at) < pause_s:
            self._screen.budget(use, passed_s)
            self._sleep(min(TICK_S, pause_s - passed_s))


def new_logs(
    me: Client, number: int, printed: dict[tuple[str, str], int], *, is_over: bool
) -> Iterator[tuple[Log, bool]]:
    """The new text of each log, and True where a new attempt writes it.

    `printed` has the characters that were printed, by run and stream, and is kept up. The last line of a running program may still be
    written over, so it waits for its end.
    """
    for log in me.logs(number, printed=printed):
        key = log.run, log.stream
        text = log.text if is_over else log.text[: log.text.rfind("\n") + 1]
        is_anew = log.offset == 0 and bool(printed.get(key))
        printed[key] = log.offset + len(text)
        yield log.model_copy(update={"text": text}), is_anew


def _is_running(submission: Submission) -> bool:
    return any(run.started_at and not run.finished_at for run in submission.runs)


def _budget(submission: Submission) -> Budget | None:
    """That of the run which will take longest, where several run at once."""
    uses = [run.budget for run in submission.runs if run.budget is not None]
    return max(uses, key=lambda use: use.projected_s or use.elapsed_s, default=None)


def watched(me: Client, number: int) -> Submission:
    """Watch a submission to its end; who breaks off is told that it goes on."""
    me.site.patience_s = PATIENCE_S
    try:
        with opened_screen() as screen:
            return Watch(me, number, screen).until_it_ends()
    except KeyboardInterrupt:
        say(
            f"\nYou are no longer watching. Submission {number} goes on at the site: `podium watch {number}` shows it again, "
            f"`podium cancel {number}` stops it."
        )
        raise
