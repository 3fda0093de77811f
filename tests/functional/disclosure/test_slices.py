"""Scores by slice: who reads them, by which rule, and what is wrong with a file."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Column, CompetitionOrganizer, Phase, ShowsSlices
from competitions.disclosure.outputs import SLICES, may_download
from competitions.disclosure.readers import Reader
from competitions.disclosure.receipts import disclosed_receipt
from competitions.disclosure.slices import may_see_slices
from competitions.resources.storage import store_bytes
from competitions.runs.models import Run, RunOutput
from competitions.submissions.models import Submission
from tests.permissions import body_text, user_client
from tests.scenario import Scenario

ROWS = [
    {"value": "small", "items": 1234, "score": 0.41234567, "low": 0.40111111, "high": 0.42222222},
    {"value": "large", "items": 7, "score": 0.53333333},
    {"value": "none", "items": 3},
]
REMARK = "No slices of ndcg by town: 1 of 2 groups has items in several slices."
SCORES = {"mae": {"size of molecules": ROWS}, "secretkey": {"hidden": ROWS}}
FILE = json.dumps({"format": 1, "scores": SCORES, "remarks": [REMARK]}).encode()
SHOWN = [
    {"value": "small", "items": 1234, "score": "0.4123", "low": "0.4011", "high": "0.4222"},
    {"value": "large", "items": 7, "score": "0.5333", "low": None, "high": None},
    {"value": "none", "items": 3, "score": None, "low": None, "high": None},
]


def with_slices(site: Scenario, phase: Phase, content: bytes = FILE) -> Submission:
    submission = site.score(site.submit(phase=phase), 0.5)
    run = submission.runs.get()
    RunOutput.objects.create(run=run, attempt=run.attempt, name=SLICES, file=store_bytes(content))
    return submission


def page(client: Client, submission: Submission) -> str:
    return client.get(f"/submissions/{submission.pk}/").text


@pytest.mark.parametrize(
    ("rule", "before", "after_close", "after_reveal"),
    [
        (ShowsSlices.NEVER, False, False, False),
        (ShowsSlices.AFTER_CLOSE, False, True, True),
        (ShowsSlices.AFTER_REVEAL, False, False, True),
        (ShowsSlices.AT_ONCE, True, True, True),
    ],
)
def test_teams_read_their_own_by_the_rule_of_the_phase_and_organizers_at_once(
    site: Scenario, rule: ShowsSlices, before: bool, after_close: bool, after_reveal: bool
) -> None:
    open_phase, sealed = site.phase, site.sealed
    Phase.objects.update(shows_slices=rule)
    open_phase.refresh_from_db()
    sealed.refresh_from_db()
    after = open_phase.grace_ends_at
    assert after is not None
    times = [(site.now, before), (after - timedelta(seconds=1), before), (after, after_close)]
    for now, expected in times:
        assert may_see_slices(Reader(site.member(), now), open_phase, is_own=True) is expected
        assert not may_see_slices(Reader(site.member(), now), open_phase, is_own=False)
        assert may_see_slices(Reader(site.organizer, now), open_phase, is_own=False)
        assert not may_see_slices(Reader(site.member(), now), sealed, is_own=True)
        assert not may_see_slices(Reader(site.organizer, now), sealed, is_own=True)
    sealed.revealed_at = after
    assert may_see_slices(Reader(site.member(), after), sealed, is_own=True) is after_reveal
    assert may_see_slices(Reader(site.organizer, after), sealed, is_own=False)


def test_the_page_shows_them_with_the_digits_of_the_column(site: Scenario) -> None:
    Column.objects.create(
        leaderboard=site.phase.leaderboard, key="secretkey", title="Secret title", is_hidden=True, index=1
    )
    submission = with_slices(site, site.phase)
    member, organizer = user_client(site.member()), user_client(site.organizer)
    assert "Scores by slice" not in page(member, submission)
    shown = page(organizer, submission)
    assert REMARK in shown
    address = f"/api/v1/submissions/{submission.pk}/slices/"
    assert member.get(address).json() == []
    Phase.objects.filter(pk=site.phase.pk).update(shows_slices=ShowsSlices.AT_ONCE)
    for text in (shown, page(member, submission)):
        assert "MAE by size of molecules" in text
        assert "0.4011 to 0.4222" in text
        assert '<td class="num">0.5333' in text
        assert '<td class="num">1,234</td>' in text
        assert "0.41234" not in text
        assert "by hidden" not in text
    assert REMARK not in text
    run = submission.runs.get()
    for client in (member, organizer):
        (table,) = client.get(address).json()
        assert table.pop("slices") == SHOWN
        assert table == {
            "run": str(run.pk),
            "task": run.task.name,
            "score": "mae",
            "title": "MAE",
            "slicing": "size of molecules",
        }
    assert user_client(site.member(site.join())).get(f"/submissions/{submission.pk}/").status_code == 404


def test_organizers_download_those_of_the_submissions_that_a_list_shows(site: Scenario) -> None:
    first, second = with_slices(site, site.phase), with_slices(site, site.phase)
    secret = with_slices(site, site.sealed)
    listed = reverse("organize:submissions", args=[site.competition.slug])
    addresses = [reverse(f"{app}:slices-csv", args=[site.competition.slug]) for app in ("api", "organize")]
    organizer = user_client(site.organizer)
    assert "slices.csv?state=finished" in organizer.get(f"{listed}?state=finished").text
    assert "slices.csv" not in organizer.get(f"{listed}?state=failed").text
    for address in addresses:
        lines = list(csv.DictReader(io.StringIO(body_text(organizer.get(address)))))
        assert [line["submission"] for line in lines] == [str(pk) for pk in (second.pk, first.pk) for _ in ROWS]
        assert list(lines[0].values())[3:] == [
            first.runs.get().task.name,
            "mae",
            "size of molecules",
            "small",
            "1234",
            "0.4123",
            "0.4011",
            "0.4222",
        ]
        assert user_client(site.member()).get(address).status_code == 404
    CompetitionOrganizer.objects.filter(user=site.organizer).update(can_see_sealed=True)
    assert f"{secret.pk},{site.sealed.slug}" in body_text(organizer.get(addresses[0]))
    assert f"{secret.pk},{site.sealed.slug}" not in body_text(organizer.get(addresses[0], {"phase": site.phase.slug}))


def test_sealed_slices_are_for_organizers_with_the_right(site: Scenario) -> None:
    Phase.objects.update(shows_slices=ShowsSlices.AT_ONCE)
    submission = with_slices(site, site.sealed)
    for person in (site.member(), site.organizer):
        assert "y slice" not in page(user_client(person), submission)
    CompetitionOrganizer.objects.filter(user=site.organizer).update(can_see_sealed=True)
    assert "0.4011 to 0.4222" in page(user_client(site.organizer), submission)
    assert site.sealed.sealed_uses.filter(user=site.organizer).exists()


def test_nobody_downloads_them_or_learns_their_digest(site: Scenario) -> None:
    Phase.objects.update(shows_slices=ShowsSlices.AT_ONCE)
    submission = with_slices(site, site.phase)
    for person in (site.member(), site.organizer):
        reader = Reader(person, site.now)
        assert not may_download(reader, site.phase, SLICES)
        assert not may_download(reader, site.phase, SLICES, run=Run(is_smoke=True))
        assert user_client(person).get(f"/submissions/{submission.pk}/outputs/{SLICES}/").status_code == 404
        assert SLICES not in page(user_client(person), submission)
        assert disclosed_receipt(reader, site.phase, {"outputs": {SLICES: "0" * 64}})["outputs"] == {}


@pytest.mark.parametrize("content", [b"\x00", b'{"format": 1, "scores": {"mae": {"by": [{}]}}}', b" " * (1 << 20)])
def test_a_damaged_file_is_said_to_organizers_alone(site: Scenario, content: bytes) -> None:
    Phase.objects.update(shows_slices=ShowsSlices.AT_ONCE)
    submission = with_slices(site, site.phase, content)
    assert "The scores by slice cannot be shown: slices.json: " in page(user_client(site.organizer), submission)
    assert "y slice" not in page(user_client(site.member()), submission)


def test_runs_that_tell_other_labels_or_have_no_score_show_none(site: Scenario) -> None:
    submission = with_slices(site, site.phase)
    organizer = user_client(site.organizer)
    assert "Scores by slice" in page(organizer, submission)
    changes: list[dict[str, Any]] = [{"is_smoke": True}, {"fills_board": True}, {"scores": {}}]
    for changed in changes:
        before = Run.objects.filter(submission=submission).values(*changed).get()
        Run.objects.filter(submission=submission).update(**changed)
        assert "Scores by slice" not in page(organizer, submission)
        Run.objects.filter(submission=submission).update(**before)
