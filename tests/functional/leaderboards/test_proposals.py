"""Proposals: everything is scored again aside, compared, and then applied at once or dropped."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Column, Leaderboard, Phase, Proposal, Task
from competitions.catalog.services import phase_reveal
from competitions.disclosure.outputs import LOSSES
from competitions.leaderboards.commitment import commitment_manifest
from competitions.leaderboards.models import Commitment, Entry, ProposedStanding, Score, Snapshot
from competitions.leaderboards.rescoring import jobs, services
from competitions.leaderboards.rescoring.costs import rescoring_costs
from competitions.leaderboards.sealing import board_commit
from competitions.leaderboards.uncertainty import reading
from competitions.notifications.models import Notification
from competitions.resources.models import Resource
from competitions.resources.storage import store_bytes
from competitions.runs import dispatch
from competitions.runs.leases import reports
from competitions.runs.models import Rescoring, Run, RunOutput
from competitions.runs.planning import runs_add
from competitions.runs.services import submission_cancel, submission_rerun
from competitions.runs.worker_api.jobs import job_for
from competitions.submissions.models import Submission
from competitions.submissions.services import submission_disqualify, submission_reinstate
from competitions.submissions.states import Kind, State
from core.background.bounded import run_bounded
from files.manifest import manifest_faults
from tests.answers import read_result
from tests.background import run_background
from tests.functional.leaderboards.test_uncertainty import losses, losses_file, score
from tests.pages import page_words
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import Scenario, lease, zip_bytes
from tests.shared_rows import shared

PROGRAM = zip_bytes({"metadata.yaml": "command: python3 score.py", "score.py": "print('new')"})


def proposal(site: Scenario, *, start: bool = True, **column: Any) -> Proposal:
    """A proposal with another scoring program, or with a column."""
    begun = services.proposal_begin(
        competition=site.competition, title="Mean of three", reason="It was wrong.", by=site.organizer, now=site.now
    )
    if column:
        services.proposal_set(proposal=begun, board=site.phase.leaderboard, **column)
    else:
        put(site, begun)
    if start:
        services.proposal_start(proposal=begun, now=site.now)
        work(site)
    return begun


def put(site: Scenario, begun: Proposal, content: bytes = PROGRAM) -> None:
    services.proposal_put_file(
        proposal=begun,
        task=site.phase.tasks.get(),
        slot="scoring_program",
        file=store_bytes(content),
        file_name="scoring.zip",
        by=site.organizer,
    )


def work(site: Scenario) -> None:
    run_background(at=site.now, only=services.PROPOSAL_JOB)


def carry_on(site: Scenario) -> None:
    site.now += jobs.COMPARED_EVERY
    jobs.proposals_carry_on(now=site.now)
    work(site)


def answer(site: Scenario, values: dict[int, float | None], key: str = "mae") -> None:
    """Score the copies that wait, by their originals; None fails one by its scoring program."""
    while (run := dispatch.run_claim(worker=site.worker(), free_gpus=0, now=site.now)) is not None:
        rescoring = Rescoring.objects.filter(copy=run.submission_id).first()
        value = values[rescoring.submission_id if rescoring else run.submission_id]
        body: dict[str, Any] = {"outcome": "finished", "scores": {"mae": value, key: value}}
        if value is None:
            body = {"outcome": "failed", "reason": "scoring_error", "detail": "It raised."}
        columns = run.receipt["columns"]
        reports.run_complete(**lease(run), result=read_result(body, columns=columns), now=site.now)


def not_run(site: Scenario, submission: Submission) -> None:
    """Fail the submission's copy by nobody's data."""
    copy = Rescoring.objects.get(submission=submission).copy.runs.get()
    Run.objects.filter(pk=copy.pk).update(state=State.FAILED, reason="infrastructure", finished_at=site.now)
    Submission.objects.filter(pk=copy.submission_id).update(status=State.FAILED, reason="infrastructure")


def apply(site: Scenario, begun: Proposal) -> None:
    begun.refresh_from_db()
    services.proposal_apply(
        proposal=begun, by=site.organizer, confirmed=services.comparison_digest(begun), now=site.now
    )
    work(site)
    begun.refresh_from_db()


def ranks(board: Leaderboard) -> list[tuple[int, float]]:
    rows = Entry.objects.filter(leaderboard=board).order_by("rank_value").values_list("team", "values__mae")
    return list(rows)


@shared
def two(common_site: Scenario) -> list[Submission]:
    """Two scored submissions, the first better."""
    site = common_site
    sent = [site.submit(team=site.join("first")), site.submit(team=site.join("second"))]
    for submission, value in zip(sent, (0.1, 0.2), strict=True):
        site.score(submission, value)
    return sent


def test_nothing_changes_before_it_is_applied_and_then_everything_at_once(
    site: Scenario, two: list[Submission]
) -> None:
    first, second = two
    board, former = site.phase.leaderboard, {run.pk: run.receipt for run in Run.objects.all()}
    begun = proposal(site)
    waiting = Run.objects.filter(state=State.QUEUED, submission__rescores__proposal=begun)
    assert waiting.count() == 2
    assert {run.team.memberships.count() for run in waiting} == {0}
    answer(site, {first.pk: 0.5, second.pk: 0.4})
    assert ranks(board) == [(first.team_id, 0.1), (second.team_id, 0.2)]
    assert Score.objects.count() == 2
    carry_on(site)
    begun.refresh_from_db()
    assert begun.fault == ""
    standing = ProposedStanding.objects.get(leaderboard=board)
    assert standing.facts["moved"] == 2
    assert (standing.facts["first_before"], standing.facts["first_after"]) == ([first.team_id], [second.team_id])
    assert standing.rows[0]["before"] == {"rank": 2, "score": "0.2000", "column": "mae", "tier": None}
    assert ranks(board) == [(first.team_id, 0.1), (second.team_id, 0.2)], "a comparison writes nothing"
    task = Task.objects.get(pk=site.phase.tasks.get().pk)
    assert task.scoring_program_id == begun.files.get(task=task).replaces_id

    apply(site, begun)
    assert begun.state == Proposal.State.APPLIED
    assert ranks(board) == [(second.team_id, 0.4), (first.team_id, 0.5)]
    task.refresh_from_db()
    assert task.scoring_program_id == begun.files.get(task=task).resource_id
    run = first.runs.get()
    assert run.attempt == 2
    digest = f"sha256:{task.scoring_program.file_id}"
    assert run.receipt["inputs"]["scoring_program"] == digest
    rescoring = Rescoring.objects.get(submission=first)
    assert run.receipt["rescored_by"] == str(rescoring.copy.runs.get().pk)
    assert rescoring.former[0]["receipt"] == former[run.pk]
    snapshot = Snapshot.objects.get(leaderboard=board)
    assert [row["team"] for row in snapshot.shown["rows"]] == ["first", "second"]
    people = Notification.objects.filter(event=f"proposal-{begun.pk}").values_list("user", flat=True)
    assert set(people) == set(site.competition.registrations.values_list("user", flat=True))


def test_files_that_say_how_sure_a_board_is_are_read_while_nothing_is_locked(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = [
        score(site, float(values.mean()), losses_file(values), team=site.join())
        for values in (losses(1), losses(2, worse_by=0.3))
    ]
    run_background(at=site.now)
    begun = proposal(site)
    for seed in (4, 3):
        run, values = site.claim(), losses(seed)
        RunOutput.objects.create(run=run, attempt=run.attempt, name=LOSSES, file=store_bytes(losses_file(values)))
        body = {"outcome": "finished", "scores": {"mae": float(values.mean())}}
        reports.run_complete(**lease(run), result=read_result(body, columns=["mae"]), now=site.now)
    depths = []

    def watched(*arguments: Any, **options: Any) -> Any:
        depths.append(len(connection.savepoint_ids))
        return run_bounded(*arguments, **options)

    monkeypatch.setattr(reading, "run_bounded", watched)
    carry_on(site)
    apply(site, begun)
    assert depths == [len(connection.savepoint_ids)] * 2, "once to compare, once before it is applied"
    standing = ProposedStanding.objects.get(leaderboard=site.phase.leaderboard)
    tiers = {row["team"]: (row["before"]["tier"], row["after"]["tier"]) for row in standing.rows}
    assert tiers == {sent[0].team_id: (1, 1), sent[1].team_id: (2, 1)}


def test_what_comes_meanwhile_is_scored_with_both(site: Scenario, two: list[Submission]) -> None:
    first, second = two
    begun = proposal(site)
    third = site.submit(team=site.join("third"))
    answer(site, {first.pk: 0.5, second.pk: 0.4, third.pk: 0.3})
    carry_on(site)
    assert Rescoring.objects.count() == 3
    with refuses(services.PROPOSAL_NOT_COMPARED):
        services.proposal_apply(proposal=begun, by=site.organizer, confirmed="what nobody saw", now=site.now)
    answer(site, {third.pk: 0.1})
    carry_on(site)
    running = site.submit(team=site.join("fourth"))
    held = site.claim()
    apply(site, begun)
    board = site.phase.leaderboard
    assert ranks(board) == [(third.team_id, 0.1), (second.team_id, 0.4), (first.team_id, 0.5)]
    body = {"outcome": "finished", "scores": {"mae": 0.9}}  # still by the former program
    reports.run_complete(**lease(held), result=read_result(body, columns=["mae"]), now=site.now)
    carry_on(site)
    answer(site, {running.pk: 0.2})
    carry_on(site)
    assert (running.team_id, 0.2) in ranks(board)
    site.now += jobs.SETTLED_AFTER
    carry_on(site)
    begun.refresh_from_db()
    assert begun.is_settled


def test_code_is_scored_from_the_predictions_that_it_left(site: Scenario) -> None:
    code = site.submit(kind=Kind.CODE, content=zip_bytes({"metadata": "command: python3 a.py"}), name="code.zip")
    run = site.claim()
    RunOutput.objects.create(run=run, attempt=run.attempt, name="predictions.zip", file=store_bytes(b"predictions"))
    RunOutput.objects.create(run=run, attempt=run.attempt, name="scoring-losses.npz", file=store_bytes(b"losses"))
    stages = [{"name": name, "image": "i", "outcome": "exited"} for name in ("ingestion", "scoring")]
    body = {"outcome": "finished", "scores": {"mae": 0.3}}
    reports.run_complete(**lease(run), result=read_result(body, columns=["mae"]), now=site.now)
    Run.objects.filter(pk=run.pk).update(receipt=Run.objects.get(pk=run.pk).receipt | {"stages": stages})
    task = site.phase.tasks.get()
    mini = Task.objects.create(competition=site.competition, name="mini", scoring_program=task.scoring_program)
    runs_add(
        submission=code, tasks=[mini], priority=0, now=site.now, is_smoke=True
    )  # shares the program, and has no score
    mini.runs.update(state=State.FINISHED)
    begun = proposal(site, start=False)
    assert begun.files.count() == 2
    costs = rescoring_costs(begun, now=site.now)
    assert (costs.submissions, costs.runs, costs.whole) == (1, 1, 0)
    services.proposal_start(proposal=begun, now=site.now)
    work(site)
    copy = site.claim()
    job = job_for(copy)
    assert [stage.name for stage in job.stages] == ["scoring"]
    assert copy.gpus == 0
    files = {mount.file.sha256 for stage in job.stages for mount in stage.mounts if hasattr(mount, "file")}
    assert store_bytes(PROGRAM).sha256 in files
    assert store_bytes(b"predictions").sha256 in files
    reports.run_complete(
        **lease(copy), result=read_result(body | {"scores": {"mae": 0.7}}, columns=["mae"]), now=site.now
    )
    carry_on(site)
    apply(site, begun)
    code.refresh_from_db()
    assert [(score.values["mae"], score.submission_id) for score in Score.objects.all()] == [(0.7, code.pk)]
    of_program = Run.objects.get(pk=run.pk).receipt["ingestion"]
    assert [stage["name"] for stage in of_program["stages"]] == ["ingestion"]
    assert set(of_program["outputs"]) == {"predictions.zip"}, "nothing of what its former scoring left"


def test_a_failure_is_said_and_takes_the_score_with_it(site: Scenario, two: list[Submission]) -> None:
    first, second = two
    begun = proposal(site)
    answer(site, {first.pk: None, second.pk: 0.4})
    carry_on(site)
    assert ProposedStanding.objects.get(leaderboard=site.phase.leaderboard).facts["gone"] == 1
    apply(site, begun)
    first.refresh_from_db()
    assert (first.status, first.reason) == (State.FAILED, "scoring_error")
    assert ranks(site.phase.leaderboard) == [(second.team_id, 0.4)]


def test_who_is_reinstated_after_it_stands_by_its_scores(site: Scenario, two: list[Submission]) -> None:
    first, second = two
    submission_disqualify(submission=first, reason="Copied.", now=site.now)
    begun = proposal(site)
    answer(site, {first.pk: 0.5, second.pk: 0.4})
    carry_on(site)
    apply(site, begun)
    assert ranks(site.phase.leaderboard) == [(second.team_id, 0.4)]
    submission_reinstate(submission=first, reason="It was not.", now=site.now)
    assert ranks(site.phase.leaderboard) == [(second.team_id, 0.4), (first.team_id, 0.5)]


def test_what_could_not_be_run_is_run_again_before_it_is_applied(site: Scenario, two: list[Submission]) -> None:
    first, second = two
    begun = proposal(site)
    not_run(site, first)
    answer(site, {second.pk: 0.4})
    carry_on(site)
    begun.refresh_from_db()
    digest = services.comparison_digest(begun)
    with refuses(services.PROPOSAL_UNTRIED):
        services.proposal_apply(proposal=begun, by=site.organizer, confirmed=digest, now=site.now)
    services.proposal_retry(proposal=begun, now=site.now)
    work(site)
    answer(site, {first.pk: 0.01})
    carry_on(site)
    apply(site, begun)
    assert ranks(site.phase.leaderboard)[0] == (first.team_id, 0.01)


def test_what_could_not_be_run_after_it_was_applied_is_said_and_run_again(
    site: Scenario, two: list[Submission]
) -> None:
    begun = proposal(site)
    answer(site, {sent.pk: 0.4 for sent in two})
    carry_on(site)
    late, held = site.submit(team=site.join("late")), site.claim()
    apply(site, begun)
    body = {"outcome": "finished", "scores": {"mae": 0.9}}
    reports.run_complete(**lease(held), result=read_result(body, columns=["mae"]), now=site.now)
    carry_on(site)
    not_run(site, late)
    task, proposed = site.phase.tasks.get(), Resource.objects.get(name__contains="proposal")
    other = Resource.objects.create(
        owner=site.organizer, kind="scoring_program", name="other", file=proposed.file, file_name="o"
    )
    Task.objects.filter(pk=task.pk).update(scoring_program=other)
    with refuses(services.PROPOSAL_SUPERSEDED):
        services.proposal_retry(proposal=begun, now=site.now)
    Task.objects.filter(pk=task.pk).update(scoring_program=proposed)
    carry_on(site)
    site.now += jobs.SETTLED_AFTER
    assert not jobs.proposals_carry_on(now=site.now), "it is no news each time"
    begun.refresh_from_db()
    assert begun.is_settled
    page = user_client(site.organizer).get(reverse("organize:proposal", args=[site.competition.slug, begun.number]))
    assert "1 submission could not be run with the proposal, and keeps its former score" in page_words(page)
    services.proposal_retry(proposal=begun, now=site.now)
    work(site)
    answer(site, {late.pk: 0.2})
    carry_on(site)
    assert (late.team_id, 0.2) in ranks(site.phase.leaderboard)
    begun.refresh_from_db()
    assert begun.compared_count is not None, "what it did stays on its page"


def test_scores_of_a_task_are_taken_over_although_the_scoring_of_another_was_changed_again(
    site: Scenario, two: list[Submission]
) -> None:
    task = site.phase.tasks.get()
    other = Task.objects.create(competition=site.competition, name="Other", scoring_program=task.scoring_program)
    begun = proposal(site)
    answer(site, {sent.pk: 0.4 for sent in two})
    carry_on(site)
    site.phase.tasks.add(other)
    late = site.submit(team=site.join("late"))
    held = [site.claim(), site.claim()]
    apply(site, begun)
    Task.objects.filter(pk=other.pk).update(scoring_program=task.scoring_program)
    for run in held:
        body = {"outcome": "finished", "scores": {"mae": 0.9}}
        reports.run_complete(**lease(run), result=read_result(body, columns=["mae"]), now=site.now)
    carry_on(site)
    answer(site, {late.pk: 0.2})
    carry_on(site)
    scores = dict(late.runs.values_list("task", "scores__mae"))
    assert scores == {task.pk: 0.2, other.pk: 0.9}


def test_an_earlier_proposal_takes_nothing_over_once_a_later_one_is_applied(
    site: Scenario, two: list[Submission]
) -> None:
    earlier = proposal(site)
    answer(site, {sent.pk: 0.4 for sent in two})
    carry_on(site)
    late, held = site.submit(team=site.join("late")), site.claim()
    apply(site, earlier)
    body = {"outcome": "finished", "scores": {"mae": 0.9}}
    reports.run_complete(**lease(held), result=read_result(body, columns=["mae"]), now=site.now)
    carry_on(site)
    not_run(site, late)
    later = proposal(site, start=False)
    put(site, later, PROGRAM + b"\0")
    services.proposal_start(proposal=later, now=site.now)
    work(site)
    answer(site, {each.pk: 0.3 for each in (*two, late)})
    carry_on(site)
    services.proposal_retry(proposal=earlier, now=site.now)
    work(site)
    held = site.claim()
    apply(site, later)
    reports.run_complete(**lease(held), result=read_result(body, columns=["mae"]), now=site.now)
    carry_on(site)
    assert ranks(site.phase.leaderboard) == [(each.team_id, 0.3) for each in (*two, late)]
    earlier.refresh_from_db()
    assert earlier.is_settled
    with refuses(services.PROPOSAL_SUPERSEDED):
        services.proposal_retry(proposal=earlier, now=site.now)


def test_what_ran_while_two_proposals_were_applied_is_scored_by_the_second(
    site: Scenario, two: list[Submission]
) -> None:
    slow, held = site.submit(team=site.join("slow")), site.claim()
    for number in (1, 2):
        begun = proposal(site, start=False)
        put(site, begun, PROGRAM + bytes(number))
        services.proposal_start(proposal=begun, now=site.now)
        work(site)
        answer(site, {sent.pk: 0.4 for sent in two})
        carry_on(site)
        apply(site, begun)
    body = {"outcome": "finished", "scores": {"mae": 0.1}}
    reports.run_complete(**lease(held), result=read_result(body, columns=["mae"]), now=site.now)
    carry_on(site)
    answer(site, {slow.pk: 0.3})
    carry_on(site)
    assert ranks(site.phase.leaderboard)[0] == (slow.team_id, 0.3)
    assert Rescoring.objects.filter(submission=slow).count() == 1


def test_dropped_it_leaves_no_trace_on_boards(site: Scenario, two: list[Submission]) -> None:
    begun = proposal(site)
    with refuses(services.PROPOSAL_IN_WORK):
        services.proposal_start(proposal=proposal(site, start=False), now=site.now)
    held = site.claim()
    services.proposal_drop(proposal=begun, by=site.organizer, now=site.now)
    work(site)
    assert site.claim_nothing()
    assert Run.objects.filter(pk=held.pk, cancel_requested_at=site.now).exists(), "its worker is asked to stop"
    begun.refresh_from_db()
    assert begun.is_settled
    with refuses(services.PROPOSAL_NOT_OPEN):
        services.proposal_drop(proposal=begun, by=site.organizer, now=site.now)
    assert Score.objects.count() == 2
    assert not jobs.proposals_carry_on(now=site.now)


def test_a_column_is_proposed_and_ranked_by(site: Scenario, two: list[Submission]) -> None:
    first, second = two
    with pytest.raises(ValidationError):
        proposal(site, column_key="")
    begun = proposal(site, column_key="rmse", column_title="RMSE", column_decides=True)
    answer(site, {first.pk: 0.9, second.pk: 0.8}, key="rmse")
    carry_on(site)
    apply(site, begun)
    board = Leaderboard.objects.get(pk=site.phase.leaderboard.pk)
    assert {column.key: column.is_primary for column in board.columns.all()} == {"mae": False, "rmse": True}
    assert Entry.objects.filter(leaderboard=board).order_by("rank_value").first().team == second.team  # type: ignore[union-attr]


def test_a_column_whose_scores_are_known_is_changed_without_a_run(site: Scenario, two: list[Submission]) -> None:
    begun = proposal(site, column_key="mae", column_sorting=Column.Sorting.DESC)
    assert not Rescoring.objects.exists()
    apply(site, begun)
    assert ranks(site.phase.leaderboard)[0] == (two[1].team_id, 0.2)
    page = reverse("web:change", args=[site.competition.slug, begun.number])
    change = f"“{begun.column_title or 'mae'}” on {site.phase.name}"
    before = Client().get(page).content.decode()
    assert (change in before, before.count(">0.2000<")) == (True, 2)
    Column.objects.update(is_hidden=True)
    shown = [user_client(who).get(page).content.decode() for who in (site.member(), site.organizer)]
    assert not any("0.2000" in text for text in shown)
    assert [change in text for text in shown] == [False, True], "a hidden column is the organizers'"


def test_a_proposal_for_a_version_that_is_gone_is_not_applied(site: Scenario, two: list[Submission]) -> None:
    begun = proposal(site)
    answer(site, {sent.pk: 0.4 for sent in two})
    carry_on(site)
    task = site.phase.tasks.get()
    task.scoring_program = Resource.objects.create(
        owner=site.organizer, kind="scoring_program", name="other", file=store_bytes(b"other"), file_name="o.zip"
    )
    task.save()
    apply(site, begun)
    assert begun.state == Proposal.State.SCORING
    assert "was replaced since it was proposed" in begun.fault
    assert ranks(site.phase.leaderboard)[0] == (two[0].team_id, 0.1)


def test_a_submission_that_is_run_again_meanwhile_takes_its_scores_over_when_it_has_ended(
    site: Scenario, two: list[Submission]
) -> None:
    first, second = two
    begun = proposal(site)
    answer(site, {first.pk: 0.5, second.pk: 0.4})
    carry_on(site)
    submission_rerun(submission=first, actor="organizer:o", now=site.now)
    apply(site, begun)
    assert ranks(site.phase.leaderboard) == [(second.team_id, 0.4)]
    assert not RunOutput.objects.filter(run__submission=first).exists()
    answer(site, {first.pk: 0.3})
    carry_on(site)
    assert ranks(site.phase.leaderboard) == [(second.team_id, 0.4), (first.team_id, 0.5)]


def test_a_submission_that_was_cancelled_meanwhile_stays_so(site: Scenario, two: list[Submission]) -> None:
    first, second = two
    begun = proposal(site)
    answer(site, {first.pk: 0.1, second.pk: 0.4})
    carry_on(site)
    submission_rerun(submission=first, actor="organizer:o", now=site.now)
    submission_cancel(submission=first, actor="organizer:o", now=site.now)
    apply(site, begun)
    assert ranks(site.phase.leaderboard) == [(second.team_id, 0.4)]
    first.refresh_from_db()
    assert (first.status, first.runs.get().scores) == (State.CANCELLED, {})


def test_a_column_that_another_phase_has_sealed_since_is_not_applied(site: Scenario, two: list[Submission]) -> None:
    begun = proposal(site, column_key="rmse")
    answer(site, {sent.pk: 0.4 for sent in two}, key="rmse")
    carry_on(site)
    site.sealed.tasks.set(site.phase.tasks.all())
    Column.objects.create(leaderboard=site.sealed.leaderboard, key="rmse", title="RMSE", index=1)
    apply(site, begun)
    assert begun.state == Proposal.State.SCORING
    assert "cannot stand on the board any more" in begun.fault
    assert not site.phase.leaderboard.columns.filter(key="rmse").exists()


def test_a_sealed_board_stays_sealed_and_its_commitment_stays_true(site: Scenario) -> None:
    phase: Phase = site.sealed
    sent = [site.submit(team=site.join(name), phase=phase) for name in ("first", "second")]
    for submission, value in zip(sent, (0.1, 0.2), strict=True):
        site.score(submission, value)
    assert phase.closes_at is not None
    site.now = phase.closes_at + (jobs.SETTLED_AFTER * 48)
    board_commit(board=phase.leaderboard, now=site.now)
    begun = services.proposal_begin(
        competition=site.competition, title="Other labels", reason="Wrong rows.", by=site.organizer, now=site.now
    )
    services.proposal_put_file(
        proposal=begun,
        task=phase.tasks.get(),
        slot="scoring_program",
        file=store_bytes(PROGRAM),
        file_name="s.zip",
        by=site.organizer,
    )
    services.proposal_start(proposal=begun, now=site.now)
    work(site)
    answer(site, {sent[0].pk: 0.5, sent[1].pk: 0.4})
    carry_on(site)
    apply(site, begun)
    assert begun.fault == ""
    commitment = Commitment.objects.get(leaderboard=phase.leaderboard)
    assert [amendment.reason for amendment in commitment.amendments.all()] == ["Proposal 1: Other labels"]
    assert not Snapshot.objects.filter(leaderboard=phase.leaderboard).exists()
    phase.refresh_from_db()
    assert phase.leaderboard.is_sealed
    phase_reveal(phase=phase, now=site.now)
    assert manifest_faults(commitment_manifest(Commitment.objects.get())) == []
