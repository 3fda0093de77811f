"""A submission that is watched: log, budget, verdict, Ctrl-C, and a site that goes away."""

from __future__ import annotations

import itertools
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO

import pytest
from django.utils import timezone

from competitions.catalog.models import Phase
from competitions.runs.leases import reports
from competitions.runs.models import Run
from competitions.runs.records.logs import append_logs
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind, State
from podium.client import Client
from podium.commands import watching
from podium.errors import SiteUnreachable
from tests.answers import read_result
from tests.client.conftest import Proxy, killed_at_the_end, make_token
from tests.scenario import CODE, Scenario, lease, zip_bytes
from workers.protocol.calls import LogPiece, LogStream

PROGRAM = "import sys; from podium.cli import main; sys.exit(main(sys.argv[1:]))"
SCORED = {"outcome": "finished", "scores": {"mae": 0.25}}


@pytest.fixture
def code(site: Scenario) -> Submission:
    """A submission of code whose program runs for a minute of four hours, half done."""
    Phase.objects.filter(pk=site.phase.pk).update(accepts_code=True, time_limit_s=14_400)
    site.now = timezone.now()
    return site.submit(kind=Kind.CODE, content=zip_bytes(CODE))


def start(site: Scenario) -> Run:
    until = time.monotonic() + 120
    while Submission.objects.filter(status=State.CHECKING).exists():  # its file is read beside
        assert time.monotonic() < until
        time.sleep(0.1)
    site.now = timezone.now()
    run = site.claim()
    meters = {"wall_s": 60, "progress": {"fraction": 0.5}}
    reports.run_heartbeat(
        **lease(run), state=State.INGESTING, meters=meters, now=timezone.now() - timedelta(seconds=60)
    )
    return run


def write(run: Run, seq: int, text: str) -> None:
    append_logs(run, [LogPiece(stream=LogStream.INGESTION, seq=seq, text=text)])


@contextmanager
def watched_by_program(
    url: str, site: Scenario, *verb: str, stderr: int = subprocess.PIPE
) -> Iterator[subprocess.Popen[str]]:
    environment = os.environ | {"PODIUM_SITE": url, "PODIUM_TOKEN": make_token(site.member()), "PYTHONPATH": "client"}
    argv = [sys.executable, "-c", PROGRAM, *verb]
    program = subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True)
    with killed_at_the_end(program) as process:
        yield process


def read_until(stream: IO[str] | None, words: str) -> str:
    assert stream is not None
    shown = ""
    for line in stream:
        shown += line
        if words in line:
            return shown
    raise AssertionError(f"{words!r} is not in {shown!r}")


def test_log_and_budget_come_as_lines_and_the_verdict_ends_it(site: Scenario, url: str, code: Submission) -> None:
    with watched_by_program(url, site, "watch", str(code.pk)) as process:
        read_until(process.stderr, "queued, place 1 in the queue")
        run = start(site)
        write(run, 0, "epoch 1\nepo")
        assert "epoch 1\n" in read_until(process.stderr, "0:01:"), "what a line begins with waits for its end"
        write(run, 1, "ch 2\n\x1b[31mred\x1b[0m\n")
        shown = read_until(process.stderr, "red")
        assert "epoch 2\n" in shown
        assert "\x1b" not in shown
        assert "epoch 1" not in shown, "each line once"
        reports.run_complete(**lease(run), result=read_result(SCORED, columns=["mae"]), now=timezone.now())
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "mae\t0.25" in out
    assert "finished" in err


def test_after_ctrl_c_the_run_goes_on_and_a_failed_one_ends_with_1(site: Scenario, url: str, code: Submission) -> None:
    run = start(site)
    with watched_by_program(url, site, "watch", str(code.pk)) as process:
        read_until(process.stderr, "of 4:00:00, at this pace 0:02:")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in err) == (130, False)
    assert f"Submission {code.pk} goes on at the site: `podium watch {code.pk}`" in err
    run.refresh_from_db()
    assert (run.state, run.cancel_requested_at) == (State.INGESTING, None)
    failed = {
        "outcome": "failed",
        "reason": "time_limit",
        "code": "time_limit",
        "detail": "It ran for 9 s; the limit is 8 s.",
    }
    reports.run_complete(**lease(run), result=read_result(failed, columns=["mae"]), now=timezone.now())
    with watched_by_program(url, site, "watch", str(code.pk), "--json") as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert '"time_limit"' in out


def test_a_terminal_shows_a_bar_that_goes_on_between_two_answers(site: Scenario, url: str, tmp_path: Path) -> None:
    path = tmp_path / "code.zip"
    path.write_bytes(zip_bytes(CODE))
    Phase.objects.filter(pk=site.phase.pk).update(accepts_code=True, accepts_predictions=False, time_limit_s=14_400)
    ours, theirs = pty.openpty()
    with watched_by_program(
        url, site, "submit", site.competition.slug, str(path), "--watch", "--tag", "GIN", stderr=theirs
    ) as process:
        assert process.stdout is not None
        number = int(process.stdout.readline())
        run, shown = start(site), b""
        until = time.monotonic() + 120
        while len(set(re.findall(rb"(0:01:\d\d) of 4:00:00", shown))) < 3:
            assert select.select([ours], [], [], 30)[0], shown
            shown += os.read(ours, 4096)
            assert time.monotonic() < until, shown[-2000:]
        assert "━".encode() in shown
        reports.run_complete(**lease(run), result=read_result(SCORED, columns=["mae"]), now=timezone.now())
        out, _ = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert "mae\t0.25" in out
    assert Submission.objects.get(pk=number).tags == ("gin",)


def test_a_site_that_goes_away_is_asked_again_and_no_line_is_lost(
    site: Scenario, proxy: Proxy, code: Submission, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(watching, "WAITING_POLL_S", 0.1)
    monkeypatch.setattr(watching, "POLL_S", 0.1)
    run = start(site)
    write(run, 0, "before\n")
    me = Client(proxy.url, make_token(site.member()), patience_s=0.2)
    away_until = time.monotonic()
    proxy.fault = lambda method, path: "away" if time.monotonic() < away_until else None
    pauses = itertools.count()

    def sleep(pause_s: float) -> None:  # what happens at the site meanwhile
        nonlocal away_until
        if (pause := next(pauses)) == 0:
            write(run, 1, "meanwhile\n")
            away_until = time.monotonic() + 1.5
        elif pause == 1:
            reports.run_complete(**lease(run), result=read_result(SCORED, columns=["mae"]), now=timezone.now())
        time.sleep(pause_s)

    ended = watching.Watch(me, code.pk, watching.PlainScreen(), sleep=sleep).until_it_ends()
    err = capsys.readouterr().err
    assert ended.status == "finished"
    assert err.count("before\n") == err.count("meanwhile\n") == 1
    assert "The submission goes on there; trying again." in err
    assert any("printed=" in path for _, path in proxy.calls), "only what is new of a log is sent"
    monkeypatch.setattr(watching, "AWAY_S", 0.0)
    proxy.fault = lambda method, path: "away"
    with pytest.raises(SiteUnreachable):
        watching.Watch(me, code.pk, watching.PlainScreen()).until_it_ends()
