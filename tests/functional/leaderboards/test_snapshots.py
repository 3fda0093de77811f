"""Boards frozen as snapshots, their signed file, the board for other sites, and badges of rows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Leaderboard
from competitions.leaderboards.models import Entry, Snapshot
from competitions.leaderboards.snapshots import SNAPSHOT_JOB, snapshot_document, snapshot_path
from files.manifest import main
from files.snapshots import verify_snapshot
from tests.background import run_background
from tests.permissions import user_client
from tests.scenario import Scenario
from tests.shared_rows import shared


def verify(words: list[str]) -> int:
    return main(words, verify_snapshot=verify_snapshot)


def address(site: Scenario, name: str, *more: Any) -> str:
    return reverse(f"web:{name}", args=[site.competition.slug, site.phase.slug, "main", *more])


@shared
def frozen(common_site: Scenario) -> Snapshot:
    """A snapshot of a board with two teams, one with a hostile name."""
    site = common_site
    for name, score in (("first", 0.1), ("</script><b>{x}", 0.2)):
        site.score(site.submit(team=site.join(name)), score)
    assert user_client(site.organizer).post(address(site, "snapshot-make")).status_code == 302
    assert "It is being written" in Client().get(address(site, "snapshot", 1)).text
    run_background(only=SNAPSHOT_JOB)
    return Snapshot.objects.get()


def test_a_snapshot_stays_as_it_was_and_its_file_is_verified_without_the_site(
    site: Scenario, frozen: Snapshot, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site.score(site.submit(team=site.join("late")), 0.01)
    page = Client().get(address(site, "snapshot", 1)).text
    assert "late" not in page
    file = tmp_path / "snapshot.json"
    file.write_bytes(Client().get(address(site, "snapshot-file", 1)).content)
    key = Client().get(reverse("web:signing-key")).text.strip()
    assert verify([str(file), "--key", key, "--digest", frozen.shown["digest"]]) == 0
    assert "OK: the document is the one that was signed." in capsys.readouterr().out
    stored = json.loads(file.read_text())
    stored["document"]["rows"][1]["rank"] = 1
    file.write_text(json.dumps(stored))
    assert verify([str(file), "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["faults"]) == 2  # digest and signature
    stored["document"]["url"] = "\x1b[2J\nOK: the document is the one that was signed."
    file.write_text(json.dumps(stored))
    assert verify([str(file)]) == 1
    assert "\ufffd[2J OK: the document is the one that was signed., made at" in capsys.readouterr().out
    stored["public_key"] = "no key"
    file.write_text(json.dumps(stored))
    assert verify([str(file)]) == 2


def test_another_row_takes_no_query_more(
    site: Scenario, frozen: Snapshot, django_assert_max_num_queries: Any, django_assert_num_queries: Any
) -> None:
    snapshot_path(frozen)  # reads its competition, once
    with django_assert_max_num_queries(6) as queries:
        assert len(snapshot_document(frozen)["rows"]) == 2
    site.score(site.submit(team=site.join("late")), 0.01)
    with django_assert_num_queries(len(queries)):
        assert len(snapshot_document(frozen)["rows"]) == 3


def test_a_snapshot_that_cannot_be_made_is_given_up(site: Scenario, frozen: Snapshot) -> None:
    Snapshot.objects.update(written_at=None, attempts=settings.BACKGROUND_ATTEMPTS)
    run_background(only=SNAPSHOT_JOB)
    assert not Snapshot.objects.exists()


def test_a_snapshot_is_cited_and_found(site: Scenario, frozen: Snapshot) -> None:
    page = Client().get(address(site, "snapshot", 1)).text
    match = re.search(r'<script type="application/ld\+json">(.*?)</script>', page)
    assert match is not None
    linked = json.loads(match[1])
    assert linked["@type"] == "Dataset"
    assert linked["identifier"] == f"sha256:{frozen.shown['digest']}"
    assert "@misc{" in page
    assert "<b>" not in page


def test_only_organizers_freeze_and_only_boards_that_everybody_sees(site: Scenario, frozen: Snapshot) -> None:
    assert user_client(site.team.captain).post(address(site, "snapshot-make")).status_code == 404
    Leaderboard.objects.update(visibility="sealed")
    response = user_client(site.organizer).post(address(site, "snapshot-make"))
    assert response.status_code in (403, 409)
    assert Snapshot.objects.count() == 1
    assert Client().get(address(site, "snapshot", 1)).status_code == 200  # it was public


def test_a_board_for_other_sites_shows_what_a_visitor_sees_whoever_asks(site: Scenario, frozen: Snapshot) -> None:
    response = user_client(site.organizer).get(address(site, "embed"))
    assert "frame-ancestors *" in response.headers["Content-Security-Policy"]
    assert "X-Frame-Options" not in response.headers
    assert response.headers["Cache-Control"] == "public, max-age=300"
    assert not response.cookies
    assert "first" in response.text
    assert "<b>" not in response.text
    row = Entry.objects.get(team__name="first")
    site.score(site.submit(team=site.join("Known", is_baseline=True)), 0.1)
    picture = user_client(site.organizer).get(reverse("web:badge", args=[row.pk]))
    assert "rank 1 of 2" in picture.text
    Leaderboard.objects.update(visibility="sealed")
    hidden = user_client(site.organizer).get(address(site, "embed"))
    assert "first" not in hidden.text
    assert user_client(site.organizer).get(reverse("web:badge", args=[row.pk])).status_code == 404
