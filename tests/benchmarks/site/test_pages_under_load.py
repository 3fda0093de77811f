"""Leaderboard pages a second from two web processes, with 10^5 teams. Run by `make bench`.

Visitors come over loopback, each on a connection of its own; half of them have the page already (304). At most 10 s a
case.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone

from competitions.compute import wakeups
from tests.benchmarks.site.filling import fill
from tests.scenario import scenario

pytestmark = pytest.mark.django_db(transaction=True)
SECONDS, VISITORS = 10, 8
WANTED_PER_S = 200


def answers_per_s(port: int, path: str, keeps: bool) -> float:
    script = Path(__file__).with_name("visitors.py")
    arguments = [str(port), path, str(VISITORS), str(SECONDS), "1" if keeps else "0"]
    output = subprocess.run([sys.executable, script, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout
    return int(output) / SECONDS


def test_two_web_processes_serve_the_board(monkeypatch: pytest.MonkeyPatch, two_web_processes: int) -> None:
    monkeypatch.setattr(wakeups, "wake", lambda name: True)
    site = scenario(now=timezone.now())
    fill(site, 100_000, 100_000)
    page = f"{reverse('web:leaderboard', args=[site.competition.slug])}?phase={site.phase.slug}"
    board = reverse("api:leaderboard", args=[site.competition.slug, site.phase.slug])
    print(f"\n{'what':<28}{'answers a second':>18}{'of 200':>10}")
    for name, path, keeps in [
        ("page, new visitors", page, False),
        ("page, unchanged (304)", page, True),
        ("JSON", board, False),
    ]:
        rate = answers_per_s(two_web_processes, path, keeps)
        print(f"{name:<28}{rate:>18.0f}{rate / WANTED_PER_S:>9.2f}x")
