"""Auto-migration: what counts in one phase runs in the next at its start, exactly once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from competitions.catalog.models import Leaderboard, Phase, Task
from competitions.catalog.services import phase_reveal
from competitions.leaderboards.auto_migration import phases_migrate
from competitions.leaderboards.models import Entry
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind
from core.reconciler import reconcile
from tests.scenario import Scenario

START = timedelta(days=1)


@pytest.fixture
def final(site: Scenario) -> Phase:
    """The second phase: public, it starts tomorrow and carries on what counts in the first."""
    Phase.objects.filter(pk=site.sealed.pk).update(
        visibility="public", opens_at=site.now + START, auto_migrate_to_this_phase=True
    )
    return Phase.objects.get(pk=site.sealed.pk)


def test_what_counts_is_run_in_the_next_phase_once(site: Scenario, final: Phase) -> None:
    other = site.join("Others")
    best = site.score(site.submit(), 0.2)
    site.score(site.submit(), 0.9)
    code = site.score(site.submit(team=other, kind=Kind.CODE), 0.4)
    site.submit(team=other)
    assert phases_migrate(now=site.now) == 0, "it has not begun"
    begin = site.now + START
    assert phases_migrate(now=begin) == 2
    for later in range(3):
        assert reconcile(now=begin + timedelta(minutes=later))["submissions_migrated"] == 0
    copies = list(Submission.objects.filter(phase=final).order_by("pk"))
    assert [copy.migrated_from for copy in copies] == [best, code]
    assert [(copy.kind, copy.file_id, copy.team_id, copy.is_charged) for copy in copies] == [
        (original.kind, original.file_id, original.team_id, False) for original in (best, code)
    ]


def test_every_task_of_the_next_phase_runs_and_the_board_waits_for_all(site: Scenario, final: Phase) -> None:
    second = Task.objects.create(
        competition=site.competition, name="Second", scoring_program=final.tasks.get().scoring_program
    )
    final.tasks.add(second)
    site.score(site.submit(), 0.2)
    phases_migrate(now=site.now + START)
    (copy,) = Submission.objects.filter(phase=final)
    assert copy.runs.count() == 2
    site.now += START
    site.answer(copy, {"outcome": "finished", "scores": {"mae": 0.5}})
    assert not Entry.objects.filter(leaderboard__phase=final).exists()
    site.answer(copy, {"outcome": "finished", "scores": {"mae": 0.7}})
    assert Entry.objects.get(leaderboard__phase=final).values["mae"] == pytest.approx(0.6)


def test_quotas_of_the_next_phase_are_untouched(site: Scenario, final: Phase) -> None:
    Phase.objects.filter(pk=final.pk).update(max_submissions_per_day=1)
    site.score(site.submit(), 0.2)
    phases_migrate(now=site.now + START)
    site.now += START
    assert site.submit(phase=Phase.objects.get(pk=final.pk)).pk


def test_what_counts_in_a_sealed_phase_is_carried_over_after_its_reveal_alone(site: Scenario, final: Phase) -> None:
    Phase.objects.filter(pk=site.phase.pk).update(visibility="sealed")
    best = site.score(site.submit(), 0.2)
    site.score(site.submit(), 0.9)
    begin = site.now + START
    assert phases_migrate(now=begin) == 0
    assert not Submission.objects.filter(phase=final).exists(), "which one is the best is sealed"
    phase_reveal(phase=site.phase, now=begin, before_the_end=True)
    assert phases_migrate(now=begin) == 1
    assert Submission.objects.get(phase=final).migrated_from == best


def test_the_last_one_of_a_sealed_phase_tells_nothing_and_is_carried_over_at_once(site: Scenario, final: Phase) -> None:
    Phase.objects.filter(pk=site.phase.pk).update(visibility="sealed")
    Leaderboard.objects.filter(phase=site.phase).update(rule=Leaderboard.Rule.LAST)
    site.score(site.submit(), 0.2)
    last = site.score(site.submit(at=site.now + timedelta(hours=1)), 0.9)
    assert phases_migrate(now=site.now + START) == 1
    assert Submission.objects.get(phase=final).migrated_from == last
