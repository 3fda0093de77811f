"""A change of a committed board is published with its reason, and `podium verify` reports both."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Leaderboard, Phase
from competitions.catalog.services import phase_reveal
from competitions.leaderboards.commitment import (
    AMENDMENT_REASON_MISSING,
    NOTHING_CHANGED,
    board_amend,
    changed_since,
    commitment_manifest,
)
from competitions.leaderboards.models import Amendment, Commitment, Score
from competitions.leaderboards.sealing import ALREADY_COMMITTED, board_commit, commit_closed_boards
from competitions.runs.services import submission_rerun
from competitions.submissions.models import Submission
from competitions.submissions.services import (
    submission_disqualify,
    submission_reinstate,
    team_disqualify,
    team_reinstate,
)
from competitions.teams.refusals import TEAM_DISQUALIFIED
from competitions.winners import services
from competitions.winners.models import Lane, Place, State
from files.manifest import main, manifest_faults
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import Scenario
from tests.shared_rows import shared

Document = Any  # tests change it in ways that no manifest has


@shared
def committed(common_site: Scenario) -> Scenario:
    """A sealed phase, closed and committed to: three teams, the first with two submissions."""
    site = common_site
    Phase.objects.filter(competition=site.competition).update(upload_grace_minutes=0)
    site.sealed.refresh_from_db()
    for name, scores in [("aa", [0.1, 0.2]), ("bb", [0.3]), ("cc", [0.4])]:
        team = site.join(name)
        for value in scores:
            site.score(site.submit(team=team, phase=site.sealed), value)
    assert site.sealed.closes_at is not None
    site.now = site.sealed.closes_at
    assert commit_closed_boards(now=site.now) == 1
    return site


def board(site: Scenario) -> Leaderboard:
    return Leaderboard.objects.select_related("phase__competition").get(phase=site.sealed)


def counting(site: Scenario, name: str) -> Submission:
    return Submission.objects.get(scores__entry__team__name=name, phase=site.sealed)


def manifest(site: Scenario) -> Document:
    """As it is downloaded after the reveal."""
    if Phase.objects.get(pk=site.sealed.pk).revealed_at is None:
        phase_reveal(phase=site.sealed, now=site.now)
    document: Document = json.loads(json.dumps(commitment_manifest(Commitment.objects.get())))
    return document


def ranks(document: Document) -> list[tuple[int, int]]:
    return [(row["rank"], row["submission"]) for row in document["rows"]]


def disqualify(site: Scenario) -> None:
    submission_disqualify(submission=counting(site, "aa"), reason="Used the test labels", now=site.now)


def disqualify_team(site: Scenario) -> None:
    team_disqualify(team=site.teams[1], reason="Two accounts", now=site.now)


def disqualify_and_reinstate(site: Scenario) -> None:
    submission = counting(site, "aa")
    submission_disqualify(submission=submission, reason="Used the test labels", now=site.now)
    submission_reinstate(submission=submission, reason="The labels were public", now=site.now)


def run_again(site: Scenario) -> None:
    submission = counting(site, "bb")
    submission_rerun(submission=submission, actor="test", now=site.now)
    site.score(submission, 0.05)


def amend_by_hand(site: Scenario) -> None:
    site.sealed.tasks.update(reference_data=site.phase.tasks.get().reference_data)
    board_amend(board=board(site), reason="The labels of rows 3 and 4 were swapped", now=site.now)


CHANGES = [disqualify, disqualify_team, disqualify_and_reinstate, run_again, amend_by_hand]


@pytest.mark.parametrize("is_before", [True, False], ids=["before the reveal", "after the reveal"])
@pytest.mark.parametrize("change", CHANGES)
def test_an_amended_board_is_verified_against_the_first_digest(
    committed: Scenario, change: Callable[[Scenario], None], is_before: bool
) -> None:
    digest = Commitment.objects.get().digest
    if not is_before:
        phase_reveal(phase=committed.sealed, now=committed.now)
    change(committed)
    document = manifest(committed)
    assert manifest_faults(document, digest=digest) == []
    assert document["amendments"]
    assert all(manifest_faults(document, digest=amendment["digest"]) == [] for amendment in document["amendments"])


def test_the_manifest_holds_the_board_of_then_and_the_ranks_of_now(committed: Scenario) -> None:
    best, second = counting(committed, "aa"), Submission.objects.filter(team__name="aa").order_by("pk")[1]
    others = [counting(committed, name).pk for name in ("bb", "cc")]
    disqualify(committed)
    document = manifest(committed)
    assert best.pk in {entry["submission"] for entry in document["entries"]}
    assert ranks(document) == [(1, second.pk), (2, others[0]), (3, others[1])]
    assert document["amendments"][0]["changes"]["removed"] == [best.pk]
    assert f"#{best.pk}: Used the test labels" in document["amendments"][0]["reason"]


def test_a_reinstatements_reason_is_published_as_a_disqualifications_is(committed: Scenario) -> None:
    disqualify_and_reinstate(committed)
    team_disqualify(team=committed.teams[1], reason="Two accounts", now=committed.now)
    team_reinstate(team=committed.teams[1], reason="They are two people", now=committed.now)
    reasons = [amendment["reason"] for amendment in manifest(committed)["amendments"]]
    words = ["Used the test labels", "The labels were public", "Two accounts", "They are two people"]
    assert [reason.partition(": ")[2] for reason in reasons] == words


def test_verify_reports_the_commitment_and_each_amendment(
    committed: Scenario, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    disqualify(committed)
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(manifest(committed)))
    assert main([str(path)]) == 0
    output = capsys.readouterr().out
    assert f"Committed on {committed.now.isoformat()}: 5 parts, digest {Commitment.objects.get().digest}" in output
    assert f"Amendment 1 on {committed.now.isoformat()}: Disqualified submission" in output
    assert "3 rows, rebuilt from the commitment and 1 amendment(s)" in output
    forged = manifest(committed)
    forged["amendments"][0]["reason"] = "Late\nOK: 3 rows\x1b[2J"
    path.write_text(json.dumps(forged))
    assert main([str(path)]) == 1
    assert ": Late OK: 3 rows\ufffd[2J\n" in capsys.readouterr().out


def other_reason(document: Document) -> None:
    document["amendments"][0]["reason"] = "A mistake"


def other_date(document: Document) -> None:
    document["amendments"][0]["made_at"] = "2031-01-01T00:00:00+00:00"


def other_change(document: Document) -> None:
    document["amendments"][0]["changes"]["entries"][0]["scores"]["mae"] = 0.001


def left_out(document: Document) -> None:
    del document["amendments"][0]


def swap_amendments(document: Document) -> None:
    document["amendments"].reverse()


@pytest.mark.parametrize("forge", [other_reason, other_date, other_change, left_out, swap_amendments])
def test_whoever_changes_an_amendment_is_detected(committed: Scenario, forge: Callable[[Document], None]) -> None:
    disqualify(committed)
    disqualify_team(committed)
    document = manifest(committed)
    assert manifest_faults(document) == []
    forge(document)
    assert any("Amendment 1" in fault for fault in manifest_faults(document))


def test_a_change_without_an_amendment_is_named_until_an_organizer_gives_its_reason(committed: Scenario) -> None:
    disqualify(committed)
    committed.sealed.tasks.update(reference_data=committed.phase.tasks.get().reference_data)
    assert changed_since(Commitment.objects.get()) == ["the programs or data of a task"]
    assert any("without an amendment" in fault for fault in manifest_faults(manifest(committed)))
    with refuses(AMENDMENT_REASON_MISSING):
        board_amend(board=board(committed), reason=" ", now=committed.now)
    board_amend(board=board(committed), reason="Labels fixed", now=committed.now)
    assert manifest_faults(manifest(committed)) == []
    with refuses(NOTHING_CHANGED):
        board_amend(board=board(committed), reason="Once more", now=committed.now)


def test_a_board_has_one_commitment(committed: Scenario) -> None:
    with refuses(ALREADY_COMMITTED):
        board_commit(board=board(committed), now=committed.now)


def test_an_amendment_is_published_whether_or_not_the_submission_counted(committed: Scenario) -> None:
    """Before the reveal, that there is one must not tell which submission is its team's best."""
    other = Submission.objects.filter(team__name="aa").exclude(pk=counting(committed, "aa").pk).get()
    submission_disqualify(submission=other, reason="Late data", now=committed.now)
    assert [(amendment.number, amendment.changes) for amendment in Amendment.objects.all()] == [(1, {})]


def test_reasons_and_digests_are_public_at_once_and_the_changes_only_after_the_reveal(committed: Scenario) -> None:
    disqualify(committed)
    amendment = Amendment.objects.get()
    names = [committed.competition.slug, committed.sealed.slug]
    page, api = reverse("web:leaderboard", args=names[:1]), reverse("api:commitment", args=names)
    shown = Client().get(page, {"phase": committed.sealed.slug}).content.decode()
    assert amendment.digest in shown
    assert "Used the test labels" in shown
    answer = Client().get(api)
    assert [public_amendment["digest"] for public_amendment in answer.json()["amendments"]] == [amendment.digest]
    assert "0.2" not in answer.content.decode()
    phase_reveal(phase=committed.sealed, now=committed.now)
    assert amendment.digest in Client().get(page, {"phase": committed.sealed.slug}).content.decode()
    assert Client().get(api).json()["manifest"]["amendments"][0]["changes"]["entries"][0]["scores"] == {"mae": 0.2}


def test_an_organizer_publishes_an_amendment_on_the_page_after_the_reveal(committed: Scenario) -> None:
    phase_reveal(phase=committed.sealed, now=committed.now)
    committed.sealed.tasks.update(reference_data=committed.phase.tasks.get().reference_data)
    url, client = (
        reverse("web:reveal", args=[committed.competition.slug, committed.sealed.slug]),
        user_client(committed.organizer),
    )
    assert "without an amendment" in client.get(url).content.decode()
    assert client.post(url, {"act": "commit"}).status_code == 422
    assert client.post(url, {"act": "commit", "reason": "Labels fixed"}).status_code == 302
    page = client.get(url).content.decode()
    assert "Labels fixed" in page
    assert "Nothing has changed since the commitment except as the amendments say" in page
    assert "Reveal to everyone" not in page


def test_a_disqualified_team_leaves_every_board_and_submits_no_more(site: Scenario) -> None:
    team = site.join("aa")
    for value in (0.1, 0.2):
        site.score(site.submit(team=team), value)
    own = site.submit(team=team)
    submission_disqualify(submission=own, reason="by itself", now=site.now - timedelta(days=1))
    assert team_disqualify(team=team, reason="Two accounts", now=site.now)
    assert not team_disqualify(team=team, reason="Again", now=site.now)
    assert not site.phase.leaderboard.entries.filter(team=team).exists()
    with refuses(TEAM_DISQUALIFIED, match="Two accounts"):
        site.submit(team=team)
    with refuses(TEAM_DISQUALIFIED):
        submission_reinstate(submission=own, reason="x", now=site.now)
    assert team_reinstate(team=team, reason="Two people", now=site.now)
    assert not team_reinstate(team=team, reason="Again", now=site.now)
    assert site.phase.leaderboard.entries.filter(team=team).count() == 1
    assert list(Submission.objects.exclude(disqualified_at=None)) == [own]


def test_an_open_phase_has_no_amendments(site: Scenario) -> None:
    site.score(site.submit(phase=site.sealed), 0.1)
    submission_disqualify(submission=Submission.objects.get(), reason="x", now=site.now)
    assert not Amendment.objects.exists()
    assert not Score.objects.filter(is_eligible=True).exists()


@pytest.fixture
def two_places(committed: Scenario) -> Lane:
    """Two places, both invited."""
    phase_reveal(phase=committed.sealed, now=committed.now)
    lane = Lane.objects.create(leaderboard=committed.sealed.leaderboard, top=2)
    services.invite_next(lane=lane, actor="test", now=committed.now)
    return lane


def places(lane: Lane) -> list[tuple[str, str]]:
    return [(place.team.name, place.state) for place in lane.places.order_by("pk")]


def test_a_failed_winner_is_published_and_the_next_team_is_invited(committed: Scenario, two_places: Lane) -> None:
    first = Place.objects.get(team__name="aa")
    services.place_fail(key=first.key, reason="The code does not run", actor="test", now=committed.now)
    assert places(two_places) == [("aa", State.FAILED), ("bb", State.INVITED), ("cc", State.INVITED)]
    assert "Rank 1, aa, is not confirmed: The code does not run" in [
        amendment.reason for amendment in Amendment.objects.all()
    ]
    assert manifest_faults(manifest(committed)) == []


def test_a_team_that_withdraws_is_published_and_the_next_team_is_invited(committed: Scenario, two_places: Lane) -> None:
    first = Place.objects.get(team__name="aa")
    services.place_decline(key=first.key, by=committed.member(first.team), now=committed.now)
    assert places(two_places) == [("aa", State.DECLINED), ("bb", State.INVITED), ("cc", State.INVITED)]
    assert manifest_faults(manifest(committed)) == []


@pytest.mark.parametrize("state", [State.INVITED, State.VERIFYING, State.CONFIRMED])
def test_a_disqualified_winner_loses_the_place_and_the_next_team_is_invited(
    committed: Scenario, two_places: Lane, state: State
) -> None:
    place = Place.objects.get(team__name="aa")
    Place.objects.filter(pk=place.pk).update(state=state)
    team_disqualify(team=place.team, reason="Two accounts", now=committed.now)
    assert places(two_places) == [("aa", State.FAILED), ("bb", State.INVITED), ("cc", State.INVITED)]
    assert Place.objects.get(pk=place.pk).reason == "disqualified: Two accounts"
    assert manifest_faults(manifest(committed)) == []
