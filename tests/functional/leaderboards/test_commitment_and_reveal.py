"""Commitment at the close, manifest at the reveal, `podium verify` on it, and the shake-up."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Column, CompetitionOrganizer, Leaderboard, Phase
from competitions.catalog.services import StillOpen, phase_reveal
from competitions.leaderboards.commitment import commitment_manifest
from competitions.leaderboards.models import Commitment, RankChange
from competitions.leaderboards.sealing import (
    NOT_CLOSED_YET,
    StillScoring,
    board_commit,
    board_commitment,
    commit_closed_boards,
    reveal_planned,
    reveal_preview,
)
from competitions.leaderboards.services import board_freeze, board_rebuild
from competitions.notifications.models import Kind, Notification
from competitions.resources.storage import open_stored
from competitions.runs.models import Run
from competitions.teams.services import team_rename
from competitions.web.views.boards import reveal
from core.reconciler import reconcile
from files import manifest
from files.manifest import (
    ManifestInvalid,
    commitment_leaves,
    leaf,
    leaves_digest,
    main,
    manifest_faults,
    read_manifest,
)
from podium.cli import main as podium
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import Scenario
from tests.shared_rows import shared

Document = Any  # tests change it in ways that no manifest has


@shared
def closed(common_site: Scenario) -> Scenario:
    """A sealed phase with three teams and a baseline, just past its end, without a grace period."""
    site = common_site
    Phase.objects.filter(competition=site.competition).update(upload_grace_minutes=0)
    site.sealed.refresh_from_db()
    for name, public, sealed in [("aa", 0.1, 0.35), ("bb", 0.2, 0.31234), ("cc", 0.3, 0.31229)]:
        team = site.join(name)
        site.score(site.submit(team=team), public)
        site.score(site.submit(team=team, phase=site.sealed), sealed)
    site.score(site.submit(team=site.join("constant", is_baseline=True), phase=site.sealed), 0.9)
    assert site.sealed.closes_at is not None
    site.now = site.sealed.closes_at
    return site


def board(site: Scenario) -> Leaderboard:
    return Leaderboard.objects.select_related("phase__competition").get(phase=site.sealed)


def committed(site: Scenario) -> Commitment:
    commit_closed_boards(now=site.now)
    commitment = board_commitment(board(site))
    assert commitment is not None
    return commitment


def revealed(site: Scenario) -> Document:
    commitment = committed(site)
    phase_reveal(phase=site.sealed, now=site.now)
    return commitment_manifest(commitment)


def test_the_reconciler_commits_once_when_the_phase_has_closed_and_is_scored(closed: Scenario) -> None:
    before = closed.now - timedelta(microseconds=1)
    assert commit_closed_boards(now=before) == 0
    waiting = closed.submit(phase=closed.sealed, at=before)
    assert commit_closed_boards(now=closed.now) == 0
    closed.score(waiting, 0.5)
    assert [commit_closed_boards(now=closed.now) for _ in range(3)] == [1, 0, 0]
    assert Commitment.objects.get().entry_count == 5


def test_a_commitment_before_the_end_or_before_all_is_scored_is_refused(closed: Scenario) -> None:
    early = closed.now - timedelta(seconds=1)
    with refuses(NOT_CLOSED_YET):
        board_commit(board=board(closed), now=early)
    closed.submit(phase=closed.sealed, at=early)
    with pytest.raises(StillScoring, match="1 submission"):
        board_commit(board=board(closed), now=closed.now)
    assert not Commitment.objects.exists()


def test_the_digest_is_public_at_once_and_the_salt_and_manifest_only_after_the_reveal(closed: Scenario) -> None:
    commitment = committed(closed)
    CompetitionOrganizer.objects.filter(competition=closed.competition).update(can_see_sealed=True)
    names = [closed.competition.slug, closed.sealed.slug]
    page = reverse("web:leaderboard", args=names[:1])
    manifest, api = reverse("web:manifest", args=[*names, "main"]), reverse("api:commitment", args=names)
    assert commitment.digest in Client().get(page, {"phase": closed.sealed.slug}).content.decode()
    for client in (Client(), user_client(closed.member()), user_client(closed.organizer)):
        assert client.get(manifest).status_code == 403
        body = client.get(api).json()
        assert (body["digest"], body["manifest"]) == (commitment.digest, None)
        assert commitment.salt not in client.get(page, {"phase": closed.sealed.slug}).content.decode()
    phase_reveal(phase=closed.sealed, now=closed.now)
    document = json.loads(Client().get(manifest).content)
    assert document == Client().get(api).json()["manifest"]
    assert (document["digest"], manifest_faults(document, digest=commitment.digest)) == (commitment.digest, [])


def test_an_untouched_board_is_verified_offline(
    closed: Scenario, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = revealed(closed)
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(document))
    assert podium(["verify", str(path)]) == 0
    assert "OK: 4 rows" in capsys.readouterr().out
    assert podium(["verify", str(path), "--digest", document["digest"].upper(), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"]
    assert [row["rank"] for row in document["rows"]] == [1, 1, 3, None]  # 0.31234 and 0.31229 look alike
    assert podium(["verify", str(path), "--digest", "0" * 64]) == 1
    assert "published was" in capsys.readouterr().out


def test_the_check_is_one_file_that_runs_by_itself(closed: Scenario, tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(revealed(closed)))
    command = [sys.executable, "-I", "-S", str(Path(manifest.__file__)), str(path)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def score(document: Document) -> None:
    document["entries"][0]["scores"]["mae"] -= 1e-9


def team(document: Document) -> None:
    document["entries"][0]["team"], document["entries"][1]["team"] = (
        document["entries"][1]["team"],
        document["entries"][0]["team"],
    )


def drop_entry(document: Document) -> None:
    gone = document["entries"].pop()
    document["rows"] = [row for row in document["rows"] if row["submission"] != gone["submission"]]


def add_entry(document: Document) -> None:
    document["entries"].append(document["entries"][0] | {"submission": 999_999})


def twice(document: Document) -> None:
    document["entries"].append(copy.deepcopy(document["entries"][0]))


def labels(document: Document) -> None:
    document["tasks"][0]["reference_data"] = "sha256:" + "0" * 64


def column(document: Document) -> None:
    document["board"]["columns"][0]["sorting"] = "desc"


def rank(document: Document) -> None:
    document["rows"][2]["rank"] = 2


def one_leaf(document: Document) -> None:
    document["leaves"][0] = "0" * 64


def salt(document: Document) -> None:
    document["salt"] = "0" * 64


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (score, "is not what was committed to"),
        (team, "is not what was committed to"),
        (drop_entry, "missing or were changed"),
        (add_entry, "is not what was committed to"),
        (twice, "is there twice"),
        (labels, "programs and data of task"),
        (column, "columns and rule"),
        (rank, "1 of 4 rows differ"),
        (one_leaf, "The leaves give the digest"),
        (salt, "is not what was committed to"),
    ],
)
def test_whoever_changes_one_thing_in_the_manifest_is_found_out(
    closed: Scenario, tamper: Callable[[Document], None], message: str
) -> None:
    document = json.loads(json.dumps(revealed(closed)))
    assert manifest_faults(document) == []
    tamper(document)
    assert any(message in fault for fault in manifest_faults(document))


def test_a_whole_forgery_is_found_out_by_the_published_digest(closed: Scenario) -> None:
    document = json.loads(json.dumps(revealed(closed)))
    published = document["digest"]
    score(document)
    document["leaves"] = commitment_leaves(document, document["salt"])
    document["digest"] = leaves_digest(document["leaves"])
    assert manifest_faults(document) == []
    assert any("published was" in fault for fault in manifest_faults(document, digest=published))


def rescore(site: Scenario) -> None:
    score = board(site).scores.order_by("pk")[0]
    run = Run.objects.get(submission=score.submission)
    run.scores = {"mae": 0.0001}
    run.save()
    board_rebuild(board(site))


def relabel(site: Scenario) -> None:
    task = site.sealed.tasks.get()
    task.reference_data = site.phase.tasks.get().reference_data
    task.save()


@pytest.mark.parametrize("change", [rescore, relabel])
def test_a_change_in_the_database_after_the_close_makes_the_check_fail(
    closed: Scenario, change: Callable[[Scenario], None]
) -> None:
    commitment = committed(closed)
    assert reveal_preview(closed.sealed, now=closed.now).boards[0].changes == []
    change(closed)
    assert reveal_preview(closed.sealed, now=closed.now).boards[0].changes
    phase_reveal(phase=closed.sealed, now=closed.now)
    assert manifest_faults(commitment_manifest(commitment), digest=commitment.digest)


def test_a_team_may_change_its_name_after_the_close(closed: Scenario) -> None:
    commitment = committed(closed)
    team_rename(team=closed.teams[1], by=closed.member(closed.teams[1]), name="A better name")
    assert manifest_faults(commitment_manifest(commitment)) == []


def test_a_label_file_is_compared_byte_for_byte(closed: Scenario, tmp_path: Path) -> None:
    document = revealed(closed)
    reference = closed.sealed.tasks.get().reference_data
    assert reference is not None
    path = tmp_path / "labels.zip"
    with open_stored(reference.file) as stored:
        path.write_bytes(stored.read())
    assert manifest_faults(document, files=[path]) == []
    path.write_bytes(path.read_bytes() + b" ")
    assert "none of the programs and data" in manifest_faults(document, files=[path])[0]


@pytest.mark.parametrize(
    "text", ["", "no json", "[]", "{}", '{"format": "other/1"}', '{"format": "podium-commitment/1"}', "[" * 100_000]
)
def test_what_is_no_manifest_is_called_so(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(text)
    assert main([str(path)]) == 2
    assert "manifest" in capsys.readouterr().err


def test_a_manifest_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ManifestInvalid, match="cannot be read"):
        read_manifest(tmp_path / "nowhere.json")


def test_a_leaf_without_the_salt_tells_nothing() -> None:
    assert leaf("00" * 32, "entry", {"mae": 0.5}) != leaf("01" * 32, "entry", {"mae": 0.5})


def test_a_planned_reveal_waits_for_its_instant_the_end_and_the_last_score(closed: Scenario) -> None:
    at = closed.now + timedelta(days=1)
    Phase.objects.filter(pk=closed.sealed.pk).update(reveal_at=at)
    waiting = closed.submit(phase=closed.sealed, at=closed.now - timedelta(seconds=1))
    assert reveal_planned(now=at - timedelta(microseconds=1)) == 0
    assert reveal_planned(now=at) == 0
    closed.score(waiting, 0.5)
    assert [reveal_planned(now=at) for _ in range(2)] == [1, 0]
    closed.sealed.refresh_from_db()
    assert closed.sealed.revealed_at == at
    assert Commitment.objects.count() == 1


def test_a_round_of_the_reconciler_does_both(closed: Scenario) -> None:
    Phase.objects.filter(pk=closed.sealed.pk).update(reveal_at=closed.now)
    done = reconcile(now=closed.now)
    assert (done["boards_committed"], done["phases_revealed"]) == (1, 1)


def test_the_preview_is_for_organizers_and_shows_scores_to_those_with_the_right_alone(closed: Scenario) -> None:
    committed(closed)
    url = reverse("web:reveal", args=[closed.competition.slug, closed.sealed.slug])
    assert user_client(closed.member()).get(url).status_code == 404
    client = user_client(closed.organizer)
    page = client.get(url).content.decode()
    assert "Nothing has changed since the commitment" in page
    assert "0.3123" not in page
    assert "4 rows, 1 of them a baseline, would become public." in " ".join(page.split())
    CompetitionOrganizer.objects.filter(competition=closed.competition).update(can_see_sealed=True)
    assert "0.3123" in client.get(url).content.decode()


def test_a_reveal_before_the_end_asks_to_be_confirmed(closed: Scenario) -> None:
    Phase.objects.filter(pk=closed.sealed.pk).update(closes_at=closed.now + timedelta(days=400))
    closed.sealed.refresh_from_db()
    with pytest.raises(StillOpen):
        phase_reveal(phase=closed.sealed, now=closed.now)
    url, client = (
        reverse("web:reveal", args=[closed.competition.slug, closed.sealed.slug]),
        user_client(closed.organizer),
    )
    assert client.post(url, {"act": "reveal"}).status_code == 409
    closed.sealed.refresh_from_db()
    assert closed.sealed.revealed_at is None
    assert client.post(url, {"act": "reveal", "before_the_end": "on"}).status_code == 302
    closed.sealed.refresh_from_db()
    assert closed.sealed.revealed_at is not None


def test_the_shake_up_sets_rank_against_rank(closed: Scenario) -> None:
    names = [closed.competition.slug, closed.sealed.slug, "main"]
    url = reverse("web:shake-up", args=names)
    assert Client().get(url).status_code == 403
    revealed(closed)
    changes = {
        change.team.name: (change.rank_before, change.rank_after)
        for change in RankChange.objects.select_related("team")
    }
    assert changes == {"aa": (1, 3), "bb": (2, 1), "cc": (3, 1)}
    page = Client().get(url).content.decode()
    assert "▲ 2" in page
    assert "▼ 2" in page
    assert "2 of these 3 teams rose" in page


def test_the_shake_up_goes_on_where_teams_share_a_rank(closed: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    revealed(closed)
    RankChange.objects.update(rank_after=1)
    monkeypatch.setattr(reveal, "SHOWN", 2)
    client, url = Client(), reverse("web:shake-up", args=[closed.competition.slug, closed.sealed.slug, "main"])
    first = client.get(url).content.decode()
    match = re.search(r'href="(\?after=[^"]+)"', first)
    assert match is not None
    second = client.get(url + match[1]).content.decode()
    assert [first.count('scope="row"'), second.count('scope="row"')] == [2, 1]


def test_without_a_public_board_there_is_no_shake_up_and_the_page_says_so(closed: Scenario) -> None:
    Leaderboard.objects.filter(phase=closed.phase).delete()
    revealed(closed)
    url = reverse("web:shake-up", args=[closed.competition.slug, closed.sealed.slug, "main"])
    assert "no other leaderboard from before the reveal" in Client().get(url).content.decode()


def test_a_private_portion_is_set_against_the_public_one(site: Scenario) -> None:
    final = Leaderboard.objects.create(phase=site.phase, key="final", title="Final", index=1, visibility="sealed")
    Column.objects.create(leaderboard=final, key="mae", title="MAE", sorting="desc", is_primary=True)
    for name, value in [("aa", 0.1), ("bb", 0.2)]:
        site.score(site.submit(team=site.join(name)), value)
    phase_reveal(phase=site.phase, now=site.now, before_the_end=True)
    changes = {
        change.team.name: (change.rank_before, change.rank_after)
        for change in RankChange.objects.select_related("team")
    }
    assert changes == {"aa": (1, 2), "bb": (2, 1)}


def test_a_frozen_board_is_whole_again_after_the_reveal(closed: Scenario) -> None:
    board_freeze(board=board(closed), at=closed.now - timedelta(days=300))
    assert board(closed).entry_count == 0
    phase_reveal(phase=closed.sealed, now=closed.now)
    assert board(closed).entry_count == 4


def test_a_freeze_ends_with_the_commitment_so_that_the_reveal_shows_what_was_committed_to(closed: Scenario) -> None:
    board_freeze(board=board(closed), at=closed.now - timedelta(days=300))
    commitment = committed(closed)
    assert (board(closed).freeze_at, board(closed).entry_count, commitment.entry_count) == (None, 4, 4)
    phase_reveal(phase=closed.sealed, now=closed.now)
    assert manifest_faults(commitment_manifest(commitment), digest=commitment.digest) == []


def test_the_manifest_tells_nothing_of_hidden_columns_and_of_tasks_that_the_board_does_not_show(
    closed: Scenario,
) -> None:
    Column.objects.create(leaderboard=board(closed), key="secret", title="Secret", is_hidden=True)
    for entry in board(closed).entries.all():
        entry.values |= {"secret": 1.0, "mae@7": 0.5}
        entry.save()
    document = revealed(closed)
    assert [column["key"] for column in document["board"]["columns"]] == ["mae"]
    assert {key for entry in document["entries"] for key in entry["scores"]} == {"mae"}
    assert manifest_faults(document) == []


def test_a_hidden_column_that_decides_the_rank_is_committed_to(closed: Scenario) -> None:
    Column.objects.filter(leaderboard=board(closed)).update(is_hidden=True)
    assert [column["key"] for column in revealed(closed)["board"]["columns"]] == ["mae"]


def test_a_sealed_board_without_columns_is_committed_to_and_previewed(closed: Scenario) -> None:
    Column.objects.filter(leaderboard=board(closed)).delete()
    board_rebuild(board(closed))
    assert committed(closed).entry_count == 0
    url = reverse("web:reveal", args=[closed.competition.slug, closed.sealed.slug])
    assert "Nothing has changed since the commitment" in user_client(closed.organizer).get(url).content.decode()


def test_no_rank_of_a_hidden_board_is_told_by_the_shake_up(closed: Scenario) -> None:
    Leaderboard.objects.filter(phase=closed.phase).update(is_hidden=True)
    revealed(closed)
    assert not RankChange.objects.exists()


def test_each_member_is_told_of_the_reveal_once_however_often_the_reconciler_comes(closed: Scenario) -> None:
    Phase.objects.filter(pk=closed.sealed.pk).update(reveal_at=closed.now, name="Final")
    for _ in range(3):
        reconcile(now=closed.now)
    mails = [(message.to, message.subject) for message in mail.outbox if "are public" in message.subject]
    captains = [team.captain.email for team in closed.teams if team.name in ("aa", "bb", "cc")]
    assert mails == [([address], f"The scores of Final in {closed.competition} are public") for address in captains]
    assert "0.3" not in "".join(str(message.body) for message in mail.outbox)


def test_nobody_is_told_of_a_reveal_of_long_ago_or_of_a_hidden_board(closed: Scenario) -> None:
    phase_reveal(phase=closed.sealed, now=closed.now)
    assert reconcile(now=closed.now + timedelta(days=3))["reveals_told"] == 0
    Leaderboard.objects.filter(phase=closed.sealed).update(is_hidden=True)
    assert reconcile(now=closed.now)["reveals_told"] == 0
    assert not [message for message in mail.outbox if "are public" in message.subject]


def test_a_mail_server_that_is_away_holds_up_nothing(closed: Scenario, settings: Any) -> None:
    phase_reveal(phase=closed.sealed, now=closed.now)
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9  # nobody listens there
    assert [reconcile(now=closed.now)["reveals_told"] for _ in range(2)] == [3, 0]
    assert Notification.objects.filter(kind=Kind.REVEAL, mailed_at=None).count() == 3
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    assert reconcile(now=closed.now)["notifications_mailed"] == 3, "they wait for the mail server"


def test_a_reveal_by_hand_right_after_the_end_commits_first_and_can_be_checked(closed: Scenario) -> None:
    phase_reveal(phase=closed.sealed, now=closed.now)
    commitment = board_commitment(board(closed))
    assert commitment is not None
    assert manifest_faults(commitment_manifest(commitment), digest=commitment.digest) == []
    assert not Commitment.objects.filter(leaderboard__phase=closed.phase).exists()


def test_a_reveal_before_the_end_commits_to_nothing_and_has_its_shake_up(closed: Scenario) -> None:
    phase_reveal(phase=closed.sealed, now=closed.now - timedelta(days=1), before_the_end=True)
    assert not Commitment.objects.exists()
    url = reverse("web:leaderboard", args=[closed.competition.slug])
    page = Client().get(url, {"phase": closed.sealed.slug}).content.decode()
    assert "Shake-up</a>" in page
    assert "Manifest</a>" not in page
