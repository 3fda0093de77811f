"""Runs suites of Podium side by side, and ends with a line for each; 1 when one of them failed.

    .venv/bin/python scripts/suites.py [SUITE...]    all, if none is named

Most suites wait more than they compute. So four run at a time (`PODIUM_SUITES_AT_ONCE`; 1 for one suite after the other), as
soon as the machine has what they need. Beside them run those that compute alone, one after the other, at a low priority: they
need nothing but Python, and take what the others leave. The images of the Compose stack are built meanwhile. What a suite prints
is shown in one piece when it has ended. One that hangs is interrupted after an hour and has failed. Ctrl-C ends all that was
started.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

REPOSITORY = Path(__file__).resolve().parents[1]
# In the order in which they begin: the longest of those that wait first, and the shortest when one of the four has ended.
WAITING = ("integration", "deployment", "browser", "hostile", "faults", "client", "cluster")
COMPUTING = ("lint", "unit", "functional")  # the last keeps two cores busy to the end of everything
SUITES = (*WAITING, *COMPUTING)
NICED = (*COMPUTING, "images")
PREPARING = {"machine": "scripts/machine.sh", "images": "scripts/stack.sh"}
SAY_EVERY_S = 60.0
PATIENCE_S = 60.0  # for what was interrupted to stop its servers and containers
OVERDUE_S = 3600.0  # of one suite: three times what the longest takes
INTERRUPTED = 130
UNKNOWN = 2


@dataclass
class Running:
    """One suite on its way; its output goes to a file, or straight to ours when `log` is None."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path | None
    began: float = field(default_factory=time.monotonic)
    processor_s: float = 0.0
    is_interrupted: bool = False

    def has_ended(self) -> bool:
        """True once it has; what it and its children computed is known then."""
        if self.process.returncode is None:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.process.returncode = os.waitstatus_to_exitcode(status)
                self.processor_s = usage.ru_utime + usage.ru_stime
        return self.process.returncode is not None

    def end(self) -> str:
        """The line of the summary."""
        outcome = "passed" if self.process.returncode == 0 else "FAILED"
        return f"{self.name:<12} {outcome:<7} {time.monotonic() - self.began:4.0f} s, {self.processor_s:4.0f} s of a processor"

    def end_overdue(self) -> None:
        """Interrupt it when it hangs, so that it says where, and kill it when that does not end it."""
        late_s = time.monotonic() - self.began - OVERDUE_S
        if late_s > PATIENCE_S:
            signal_group(self, signal.SIGKILL)
        elif late_s > 0 and not self.is_interrupted:
            self.is_interrupted = True
            say(f"test: {self.name} has not ended after {OVERDUE_S:.0f} s; it is interrupted")
            signal_group(self, signal.SIGINT)

    def so_far(self) -> str:
        """The last line of its output."""
        lines = self.log.read_text(errors="replace").split("\n") if self.log else []
        return next((line.strip() for line in reversed(lines) if line.strip()), "")[-78:]


def command(name: str) -> list[str]:
    """The command that runs a suite, prepares the machine, or builds the images."""
    niced = ["nice", "-n", "5"] if name in NICED else []
    return [*niced, PREPARING[name]] if name in PREPARING else [*niced, "scripts/suite.sh", name]


def say(text: str = "") -> None:
    """One line at once, also where the output is a file."""
    print(text, flush=True)


class Suites:
    """Starts what is due, shows what has ended, and stops all of it when it is told to."""

    def __init__(self, names: Sequence[str], *, at_once: int, logs: Path, command: Callable[[str], list[str]]) -> None:
        self.names = list(dict.fromkeys(names))
        self.due = [name for name in SUITES if name in names]
        self.at_once, self.logs, self.command = at_once, logs, command
        self.shows_live = at_once == 1 or len(self.due) == 1
        self.running: list[Running] = []
        self.machine: Running | None = None
        self.images: Running | None = None
        self.summary: dict[str, str] = {}
        self.failed = False

    def run(self) -> int:
        """See all suites through; 0 when each of them passed."""
        if not set(self.due).isdisjoint(WAITING):
            say("test: preparing the machine")
            self.machine = self.start("machine", self.logs / "machine.log")
        reported_at = time.monotonic()
        while self.due or self.running:
            if self.machine is not None and self.machine.has_ended():
                self.go_on_after(self.machine)
            while (name := self.next_name()) is not None:
                self.due.remove(name)
                self.begin(name)
            for suite in list(self.running):
                suite.end_overdue()
                if suite.has_ended():
                    self.show(suite)
            if not self.shows_live and time.monotonic() - reported_at > SAY_EVERY_S:
                reported_at = time.monotonic()
                for suite in self.running:
                    say(f"test: {suite.name}, {reported_at - suite.began:.0f} s: {suite.so_far()}")
            time.sleep(0.1)
        say("\n== all suites")
        for name in self.names:
            say(self.summary[name])
        return int(self.failed)

    def go_on_after(self, machine: Running) -> None:
        """Begin the suites that waited for the machine; where it could not be prepared, they have failed."""
        self.machine = None
        if machine.process.returncode == 0:
            say(f"test: the machine is prepared, after {time.monotonic() - machine.began:.0f} s")
            if "deployment" in self.due and self.at_once > 1:
                self.images = self.start("images", self.logs / "images.log")
            return
        say(machine.log.read_text(errors="replace").rstrip("\n") if machine.log else "")
        say("test: this machine could not be prepared; the reason is above")
        self.failed = True
        for name in [name for name in self.due if name in WAITING]:
            self.due.remove(name)
            self.summary[name] = f"{name:<12} FAILED  it was not begun: the machine could not be prepared"

    def next_name(self) -> str | None:
        """The first suite that is due and that there is room for."""
        if self.at_once == 1 and (self.running or self.machine):
            return None
        computing = sum(suite.name in COMPUTING for suite in self.running)
        waiting = len(self.running) - computing
        has_room = {True: computing < 1, False: self.machine is None and waiting < self.at_once}
        return next((name for name in self.due if has_room[name in COMPUTING]), None)

    def begin(self, name: str) -> None:
        """Start the next suite."""
        say(f"\n== {name}" if self.shows_live else f"test: {name} begins")
        self.running.append(self.start(name, None if self.shows_live else self.logs / f"{name}.log"))

    def start(self, name: str, log: Path | None) -> Running:
        """A process in a group of its own: an interrupt is ours to pass on, once."""
        output = None if log is None else log.open("wb")
        process = subprocess.Popen(
            self.command(name),
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        if output is not None:
            output.close()
        return Running(name, process, log)

    def show(self, suite: Running) -> None:
        """Print the suite's output under its heading, and its line."""
        self.running.remove(suite)
        self.failed |= suite.process.returncode != 0
        self.summary[suite.name] = suite.end()
        if suite.log is not None:
            say(f"\n== {suite.name}")
            say(suite.log.read_text(errors="replace").rstrip("\n"))
        say(f"test: {self.summary[suite.name]}")

    def stop(self) -> None:
        """Interrupt what runs, as Ctrl-C would, and give it time to stop what it started itself."""
        groups = [*self.running, *filter(None, [self.machine, self.images])]
        for group in groups:
            signal_group(group, signal.SIGINT)
        give_up = time.monotonic() + PATIENCE_S
        for group in groups:
            try:
                group.process.wait(max(give_up - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                signal_group(group, signal.SIGKILL)
                group.process.wait()


def signal_group(group: Running, number: int) -> None:
    """Send a signal to the process and its children, unless it has ended."""
    if group.process.poll() is None:
        os.killpg(group.process.pid, number)


def interrupt(number: int, frame: FrameType | None) -> None:
    """SIGTERM and a closed terminal end the run as Ctrl-C does."""
    raise KeyboardInterrupt


def main(names: Sequence[str]) -> int:
    """Run the suites that are named, or all; 2 for a name that no suite has."""
    if unknown := set(names) - set(SUITES):
        print(f"test: no suite is called {', '.join(sorted(unknown))}; there are {', '.join(SUITES)}", file=sys.stderr)
        return UNKNOWN
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)  # also where a shell started us with SIGINT ignored
    at_once = int(os.environ.get("PODIUM_SUITES_AT_ONCE", "4"))
    logs = REPOSITORY / "var" / "suites"
    logs.mkdir(parents=True, exist_ok=True)
    suites = Suites(names or SUITES, at_once=at_once, logs=logs, command=command)
    try:
        return suites.run()
    except KeyboardInterrupt:
        say(f"\ntest: interrupted; stopping what runs; what it printed so far is in {logs}")
        return INTERRUPTED
    finally:
        suites.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
