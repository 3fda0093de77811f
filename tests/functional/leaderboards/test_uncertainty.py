"""Intervals, ranges of ranks and tiers of a board, from what scoring programs write."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape
from numpy.typing import NDArray

from competitions.catalog.changes.boards import change_board
from competitions.catalog.models import Column, CompetitionOrganizer, Leaderboard, Phase
from competitions.catalog.services import phase_reveal
from competitions.disclosure.outputs import LOSSES, REPLICATES, SECRET, may_download
from competitions.disclosure.readers import Reader
from competitions.disclosure.receipts import disclosed_receipt
from competitions.factsheets.models import Question
from competitions.factsheets.services import save_question
from competitions.leaderboards.models import BoardComparison, BoardUncertainty, Entry, EntryUncertainty, ScoreReplicates
from competitions.leaderboards.uncertainty import refreshing
from competitions.leaderboards.uncertainty.asking import UNCERTAINTY_JOB
from competitions.resources.storage import store_bytes
from competitions.runs.leases import reports
from competitions.runs.models import RunOutput
from competitions.submissions.models import Submission
from competitions.teams.models import Team
from core.background import jobs
from scoring.replicates import LOSSES_FILE, REPLICATES_FILE, Replicates, write, write_losses
from tests.answers import read_result
from tests.background import run_background
from tests.scenario import Scenario, lease
from tests.shared_rows import shared

ITEMS = 400
HARD = np.random.default_rng(0).exponential(1.0, ITEMS)  # what is common to all entries


def losses(seed: int, *, worse_by: float = 0.0) -> NDArray[np.float64]:
    return HARD + np.random.default_rng(seed).exponential(0.2, ITEMS) + worse_by


def losses_file(values: NDArray[np.float64]) -> bytes:
    with TemporaryDirectory() as folder:
        write_losses(folder, {"mae": values})
        return (Path(folder) / LOSSES_FILE).read_bytes()


def replicates_file(values: NDArray[np.float64], stream: str = "test") -> bytes:
    with TemporaryDirectory() as folder:
        write(folder, {"mae": Replicates(values.astype(np.float32), stream)})
        return (Path(folder) / REPLICATES_FILE).read_bytes()


def score(
    site: Scenario,
    value: float,
    file: bytes | None,
    *,
    team: Team | None = None,
    phase: Phase | None = None,
    name: str = LOSSES,
) -> Submission:
    """A submission that was scored, with what its scoring program wrote of its resamples."""
    submission = site.submit(team=team, phase=phase)
    run = site.claim()
    if file is not None:
        RunOutput.objects.create(run=run, attempt=run.attempt, name=name, file=store_bytes(file))
    body = {"outcome": "finished", "scores": {"mae": value}}
    reports.run_complete(**lease(run), result=read_result(body, columns=["mae"]), now=site.now)
    submission.refresh_from_db()
    return submission


def refresh() -> None:
    run_background(only=UNCERTAINTY_JOB)


def entry(site: Scenario, team: Team) -> Entry:
    return site.phase.leaderboard.entries.select_related("uncertainty").get(team=team)


def three_teams(site: Scenario) -> list[Team]:
    """Two that nobody can tell apart, and one that is surely worse."""
    teams = [site.team, site.join("second"), site.join("third")]
    for seed, (team, worse_by) in enumerate(zip(teams, (0.0, 0.0, 0.3), strict=True)):
        values = losses(seed + 1, worse_by=worse_by)
        score(site, float(values.mean()), losses_file(values), team=team)
    refresh()
    return teams


@shared
def uncertain_teams(common_site: Scenario) -> list[Team]:
    return three_teams(common_site)


def test_entries_that_cannot_be_told_apart_share_a_tier_and_a_range_of_ranks(
    site: Scenario, uncertain_teams: list[Team]
) -> None:
    first, second, third = (entry(site, team).uncertainty for team in uncertain_teams)
    assert [row.tier for row in (first, second, third)] == [1, 1, 2]
    assert [(row.first_rank, row.last_rank) for row in (first, second, third)] == [(1, 2), (1, 2), (3, 3)]
    board = BoardUncertainty.objects.get()
    assert (board.rows_known, board.rows_unknown, board.first_tier, board.resamples) == (3, 0, 2, 1000)
    value = entry(site, site.team).values["mae"]
    assert first.low < value < first.high
    assert (first.high - first.low) / 2 == pytest.approx(1.96 * losses(1).std() / np.sqrt(ITEMS), rel=0.15)
    assert board.resolution is not None
    assert board.resolution < first.high - first.low  # pairs are compared item by item


def api_address(site: Scenario) -> str:
    return f"/api/v1/competitions/{site.competition.slug}/phases/{site.phase.slug}/leaderboard/"


def test_page_api_and_csv_show_it_with_the_digits_of_the_column(
    site: Scenario, uncertain_teams: list[Team], client: Client
) -> None:
    row = entry(site, site.team).uncertainty
    half = f"{(row.high - row.low) / 2:.4f}"
    page = client.get(f"/competitions/{site.competition.slug}/leaderboard/?phase={site.phase.slug}").text
    assert f"± {half}" in page
    assert "1\N{EN DASH}2" in page
    assert "2 rows are tied for first" in page
    address = api_address(site)
    answer = client.get(address).json()
    assert answer["uncertainty"]["first_tier"] == 2
    assert [row["uncertainty"]["tier"] for row in answer["rows"]] == [1, 1, 2]
    assert {row["uncertainty"]["half_width"] for row in answer["rows"]} >= {half}
    rows = list(csv.DictReader(io.StringIO("".join(client.get(f"{address[:-1]}.csv").getvalue().decode()))))
    assert [row["tier"] for row in rows] == ["1", "1", "2"]
    shown = client.get(f"/entries/{entry(site, site.team).pk}/").text
    assert "Plausible ranks" in shown


def test_one_ranked_row_is_no_clear_first_and_without_any_the_summary_is_left_out(
    site: Scenario, client: Client
) -> None:
    page = f"/competitions/{site.competition.slug}/leaderboard/?phase={site.phase.slug}"
    baseline, alone = losses(1), losses(2)
    score(site, float(baseline.mean()), losses_file(baseline), team=site.join("constant", is_baseline=True))
    refresh()
    assert BoardUncertainty.objects.get().rows_known == 1
    assert '<details class="sure">' not in client.get(page).text
    score(site, float(alone.mean()), losses_file(alone))
    refresh()
    assert BoardUncertainty.objects.get().first_tier == 0
    assert "clear" not in client.get(page).text


def page_address(site: Scenario, board: Leaderboard | None = None) -> str:
    phase = board.phase if board else site.phase
    return reverse("web:uncertainty", args=[site.competition.slug, phase.slug, board.key if board else "main"])


def test_a_page_compares_the_best_rows_and_counts_all(
    site: Scenario, uncertain_teams: list[Team], client: Client
) -> None:
    teams = uncertain_teams
    comparison = BoardComparison.objects.get()
    assert comparison.entries == [entry.pk for entry in Entry.objects.order_by(*Entry.IN_ORDER)]
    assert [row[2] for row in comparison.surely_beats] == [True, True, False]
    assert comparison.surely_beats[2] == [False, False, False]
    assert sum(comparison.counts) == 3
    page = client.get(page_address(site)).text
    assert page.count("sure-win") == 3  # the legend, and the two that surely beat the third
    assert page.count("sure-loss") == 3
    assert len(re.findall(r"✓\s+&gt; 99</td>", page)) == 2, "no chance is shown as sure"
    assert len(re.findall(r"✗\s+&lt; 1</td>", page)) == 2
    assert "How the scores are distributed" in page
    client.force_login(site.team.captain)
    assert "Your team" in client.get(page_address(site)).text
    score(site, 0.01, None, team=teams[2])
    assert "Who surely beats whom" not in client.get(page_address(site)).text  # of other rows than now


def test_a_board_foresees_who_stays_on_top_and_the_shake_up_says_what_noise_explains(
    site: Scenario, client: Client
) -> None:
    final = Leaderboard.objects.create(phase=site.phase, key="final", title="Final", index=1, visibility="sealed")
    Column.objects.create(leaderboard=final, key="mae", title="MAE", sorting="asc", is_primary=True)
    three_teams(site)
    fourth = losses(9, worse_by=0.01)
    score(site, float(fourth.mean()), losses_file(fourth), team=site.join("fourth"))
    refresh()
    board = BoardUncertainty.objects.get(leaderboard=site.phase.leaderboard)
    assert (board.items, board.unseen_items, board.top) == (ITEMS, ITEMS, 3)
    stays = [entry(site, team).uncertainty.stays_top or 0.0 for team in site.teams]
    assert 0 <= stays[2] < 0.1  # surely worse than all others
    assert min(stays[0], stays[1]) > 0.8
    phase_reveal(phase=site.phase, now=site.now, before_the_end=True)
    refresh()
    comparison = BoardComparison.objects.get(leaderboard=final)
    assert comparison.rank_change == 0  # the same items, so the same order
    by_noise = comparison.rank_change_by_noise or 0.0
    assert 0.1 < by_noise < 2
    page = client.get(page_address(site, final).replace("uncertainty/", "shake-up/")).text
    assert f"noise alone would move them by {by_noise:.1f}" in page


def test_the_surest_chances_are_shown_as_bounds(site: Scenario, client: Client) -> None:
    three_teams(site)
    hopeless = losses(9, worse_by=9.0)
    score(site, float(hopeless.mean()), losses_file(hopeless), team=site.join("fourth"))
    refresh()
    page = client.get(page_address(site)).text
    assert "Chance of being in the top 3" in page
    assert "&lt; 1 %" in page
    assert "&gt; 99 %" in page
    chances = [row["uncertainty"]["stays_top_percent"] for row in client.get(api_address(site)).json()["rows"]]
    assert (max(chances), chances[-1]) == (99, 1), "numbers in the API"


def test_organizers_read_before_the_first_team_which_differences_the_test_set_tells(
    site: Scenario, client: Client
) -> None:
    values = losses(1)
    score(site, float(values.mean()), losses_file(values), team=site.join("constant", is_baseline=True))
    refresh()
    expected = 1.96 * np.sqrt(2) * values.std() / np.sqrt(ITEMS)
    assert BoardUncertainty.objects.get().foreseen_resolution == pytest.approx(expected, rel=0.1)
    address = reverse("organize:boards", args=[site.competition.slug])
    client.force_login(site.organizer)
    page = client.get(address).text
    assert "With 400 test items, teams closer than about <strong>0.1" in page
    assert "with 1,600 items, half that difference would be enough" in page
    assert "hidden part" not in page
    Leaderboard.objects.update(visibility="sealed")
    CompetitionOrganizer.objects.update(can_see_sealed=False)
    assert "cannot be told apart" not in client.get(address).text


def test_the_best_of_many_tries_is_said_to_be_too_good_to_organizers_alone(
    site: Scenario, uncertain_teams: list[Team], client: Client
) -> None:
    Entry.objects.update(submissions=20)
    Leaderboard.objects.update(version=50)
    assert "Best of" not in client.get(page_address(site)).text
    client.force_login(site.organizer)
    page = client.get(page_address(site)).text
    resolution = BoardUncertainty.objects.get().resolution
    assert resolution is not None
    shown = float(page.split("up to ")[1].split("<")[0])
    assert shown == pytest.approx(
        resolution / 1.96 / np.sqrt(2) * 1.87, rel=0.02
    )  # the largest of twenty normal numbers


def test_a_page_of_a_board_that_is_not_shown_is_refused(
    site: Scenario, uncertain_teams: list[Team], client: Client
) -> None:
    Leaderboard.objects.update(visibility="sealed")
    assert client.get(page_address(site)).status_code == 403
    Leaderboard.objects.update(visibility="phase", shows_uncertainty=False)
    assert client.get(page_address(site)).status_code == 404


def test_a_row_without_replicates_may_stand_anywhere_in_the_ranges_of_the_others_and_a_diverged_model_is_last(
    site: Scenario, uncertain_teams: list[Team], client: Client
) -> None:
    first, second, third = uncertain_teams
    diverged, values = site.join("diverged"), losses(9) * 1e22
    score(site, float(values.mean()), losses_file(values), team=diverged)
    score(site, 0.1, None, team=site.join("silent"))
    endless = np.append(np.random.default_rng(0).normal(1e9, 1, 999), np.inf)
    score(
        site,
        1e9,
        replicates_file(endless, ScoreReplicates.objects.latest("pk").stream),
        team=site.join("endless"),
        name=REPLICATES,
    )
    refresh()
    assert [entry(site, team).uncertainty.last_rank for team in (first, second, third, diverged)] == [3, 3, 4, 6]
    board = BoardUncertainty.objects.get()
    assert (board.rows_known, board.rows_unknown) == (5, 1)
    assert board.foreseen_resolution == pytest.approx(0.2, abs=0.15)
    page = client.get(f"/competitions/{site.competition.slug}/leaderboard/?phase={site.phase.slug}").text
    assert "1 row came without enough resamples" in page


def test_a_board_whose_program_writes_nothing_says_why_it_has_no_intervals(site: Scenario, client: Client) -> None:
    score(site, 0.5, None)
    assert not BoardUncertainty.objects.exists()
    page = client.get(f"/competitions/{site.competition.slug}/leaderboard/?phase={site.phase.slug}").text
    assert "No margins of error" in page


@pytest.mark.parametrize(
    ("file", "name", "words"),
    [
        (losses_file(losses(1) + 1), LOSSES, "the score is"),
        (losses_file(np.array([1.0, np.nan])), LOSSES, "NaN"),
        (replicates_file(np.full(1000, 7.0)), REPLICATES, "the replicates lie about 7"),
        (replicates_file(np.zeros(10)), REPLICATES, "there are 10 replicates"),
        (b"no archive", REPLICATES, "cannot be read"),
        (replicates_file(np.full(1000, np.nan)), REPLICATES, "no numbers"),
    ],
    ids=["losses of something else", "NaN", "replicates of something else", "few", "no file of numpy", "nothing known"],
)
def test_what_does_not_belong_to_the_score_is_told_to_organizers_and_the_score_counts(
    site: Scenario, client: Client, file: bytes, name: str, words: str
) -> None:
    submission = score(site, float(losses(1).mean()), file, name=name)
    refresh()
    assert submission.status == "finished"
    assert site.phase.leaderboard.entries.count() == 1
    assert words in ScoreReplicates.objects.get().remark
    client.force_login(site.organizer)
    page = client.get(reverse("organize:boards", args=[site.competition.slug])).text
    assert f"Rows without an interval: {escape(BoardUncertainty.objects.get().remark)}" in page
    assert words in BoardUncertainty.objects.get().remark
    assert not EntryUncertainty.objects.exists()


def test_words_and_answers_beside_the_scores_leave_the_intervals_as_they_are(
    site: Scenario, uncertain_teams: list[Team]
) -> None:
    board, known = site.phase.leaderboard, {"key": "code", "is_public": True, "is_on_board": True}
    Submission.objects.update(fact_sheet={"code": "x"})
    intervals = list(EntryUncertainty.objects.order_by("pk").values())
    replicates = list(ScoreReplicates.objects.order_by("pk").values_list("pk", "score"))

    def after(change: Callable[[], object]) -> list[object]:
        """The answers on the board after the change."""
        version = Leaderboard.objects.get(pk=board.pk).version
        change()
        assert Leaderboard.objects.get(pk=board.pk).version > version, "its pages are drawn anew"
        assert list(EntryUncertainty.objects.order_by("pk").values()) == intervals
        assert list(ScoreReplicates.objects.order_by("pk").values_list("pk", "score")) == replicates
        return [entry.values.get("fact:code") for entry in board.entries.all()]

    question = Question(competition=site.competition, title="Code", **known)
    assert after(lambda: save_question(question)) == ["x"] * 3
    question.help_text = "Where it is."
    assert after(lambda: save_question(question)) == ["x"] * 3
    question.is_on_board = False
    assert after(lambda: save_question(question)) == [None] * 3
    column = board.columns.get()
    column.title = "Error"
    assert after(lambda: change_board(board, [column], now=site.now)) == [None] * 3
    assert board.columns.get().title == "Error"


def test_what_an_earlier_attempt_left_is_not_read(site: Scenario) -> None:
    values = losses(1)
    replicates = replicates_file(np.random.default_rng(0).normal(values.mean(), 0.05, 1000))
    run = score(site, float(values.mean()), replicates, name=REPLICATES).runs.get()
    RunOutput.objects.create(run=run, attempt=run.attempt + 1, name=LOSSES, file=store_bytes(losses_file(values)))
    refresh()
    assert ScoreReplicates.objects.get().stream == "test"


def test_a_stream_is_kept_without_control_characters(site: Scenario) -> None:
    score(site, 0.5, replicates_file(np.full(300, 0.5), stream="te\0st\nset"), name=REPLICATES)
    refresh()
    assert ScoreReplicates.objects.get().stream == "te st set"


def test_a_share_of_1_has_an_interval_too(site: Scenario) -> None:
    score(site, 1.0, losses_file(np.ones(100)))
    refresh()
    row = EntryUncertainty.objects.get()
    assert (round(row.low, 3), row.high) == (0.963, 1.0)


def test_rows_on_other_resamples_than_most_are_not_compared(site: Scenario) -> None:
    rng = np.random.default_rng(0)
    for team, stream in [(site.team, "test"), (site.join("second"), "test"), (site.join("third"), "other")]:
        score(site, 0.5, replicates_file(rng.normal(0.5, 0.1, 1000), stream), team=team, name=REPLICATES)
    refresh()
    board = BoardUncertainty.objects.get()
    assert (board.rows_known, board.rows_unknown) == (2, 1)
    assert "other resamples" in board.remark


def test_a_row_with_values_on_too_few_resamples_costs_the_others_no_tier(site: Scenario) -> None:
    values = np.random.default_rng(0).normal(0.5, 0.01, (4, 1000)) + np.array([[0.0], [0.3], [0.0], [0.0]])
    values[0, 560:] = values[2, :490] = np.nan
    teams = [site.team, site.join("second"), site.join("with the other half"), site.join("in a hurry")]
    for team, replicates in zip(teams, [*values[:3], values[3, :200]], strict=True):
        file = replicates_file(replicates)
        score(site, round(float(np.nanmean(replicates)), 1), file, team=team, name=REPLICATES)
    refresh()
    rows = [entry(site, team).uncertainty for team in teams]
    assert [(row.first_rank, row.last_rank, row.tier) for row in rows] == [
        (1, 3, 1),
        (3, 4, 2),
        (None, None, None),
        (1, 3, 1),
    ]
    assert all(row.low < row.high for row in rows)
    board = BoardUncertainty.objects.get()
    assert (board.rows_known, board.rows_unknown, board.resamples) == (3, 1, 1000)
    assert board.remark == refreshing.FEW_SHARED


def test_a_better_submission_takes_the_place_of_the_interval_of_the_one_before(
    site: Scenario, uncertain_teams: list[Team]
) -> None:
    teams = uncertain_teams
    before = entry(site, teams[2]).uncertainty.high
    better = losses(9) - 0.5
    score(site, float(better.mean()), losses_file(better), team=teams[2])
    assert not EntryUncertainty.objects.filter(entry__team=teams[2]).exists()  # nothing of the old score is shown
    refresh()
    after = entry(site, teams[2]).uncertainty
    assert (after.tier, after.first_rank, after.last_rank) == (1, 1, 1)
    assert after.high < before


def test_a_lost_message_or_a_change_meanwhile_is_made_up_for(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    values = losses(1)
    score(site, float(values.mean()), losses_file(values))
    looked = refreshing._look

    def changed_meanwhile(board: Leaderboard) -> refreshing.Findings:
        row = looked(board)
        if BoardUncertainty.objects.get().wanted < 5:
            BoardUncertainty.objects.update(wanted=5)
        return row

    monkeypatch.setattr(refreshing, "_look", changed_meanwhile)
    jobs.perform(UNCERTAINTY_JOB, site.phase.leaderboard.pk)
    row = BoardUncertainty.objects.get()
    assert (row.wanted, row.done < row.wanted) == (5, True)
    jobs.perform(UNCERTAINTY_JOB, site.phase.leaderboard.pk)  # as the reconciler asks for it again
    row.refresh_from_db()
    assert row.wanted == row.done
    version = Leaderboard.objects.get(pk=site.phase.leaderboard.pk).version
    jobs.perform(UNCERTAINTY_JOB, site.phase.leaderboard.pk)  # once more: nothing is asked for
    assert Leaderboard.objects.get(pk=site.phase.leaderboard.pk).version == version


@pytest.mark.parametrize("change", [{"shows_uncertainty": False}, {}], ids=["switched off", "its column hidden"])
def test_a_board_that_does_not_say_it_tells_nothing(
    site: Scenario, uncertain_teams: list[Team], client: Client, change: dict[str, bool]
) -> None:
    if change:
        Leaderboard.objects.filter(pk=site.phase.leaderboard.pk).update(**change)
    else:
        site.phase.leaderboard.columns.update(is_hidden=True)
    address = f"/api/v1/competitions/{site.competition.slug}/phases/{site.phase.slug}/leaderboard/"
    answer = client.get(address).json()
    assert answer["uncertainty"] is None
    assert all(row["uncertainty"] is None for row in answer["rows"])
    page = client.get(f"/competitions/{site.competition.slug}/leaderboard/?phase={site.phase.slug}").text
    assert "±" not in page
    assert "1\N{EN DASH}2" not in page


def test_nobody_gets_replicates_or_their_digest_not_even_who_may_see_sealed_scores(
    site: Scenario, client: Client
) -> None:
    values = losses(1)
    submission = score(site, float(values.mean()), losses_file(values), phase=site.sealed)
    refresh()
    CompetitionOrganizer.objects.filter(user=site.organizer).update(can_see_sealed=True)
    reader = Reader(site.organizer, now=site.now)
    run = submission.runs.get()
    assert run.receipt["outputs"][LOSSES]
    assert LOSSES not in disclosed_receipt(reader, site.sealed, run.receipt)["outputs"]
    client.force_login(site.organizer)
    for name in SECRET:
        assert not may_download(reader, site.sealed, name)
        assert client.get(f"/submissions/{submission.pk}/outputs/{name}/").status_code == 404
    assert LOSSES not in client.get(f"/submissions/{submission.pk}/").text


def test_a_sealed_board_tells_teams_nothing_of_its_intervals(site: Scenario, client: Client) -> None:
    values = losses(1)
    score(site, float(values.mean()), losses_file(values), phase=site.sealed)
    refresh()
    row = EntryUncertainty.objects.get()
    client.force_login(site.member())
    address = f"/api/v1/competitions/{site.competition.slug}/phases/{site.sealed.slug}/leaderboard/"
    assert client.get(address).status_code == 403
    page = client.get(f"/competitions/{site.competition.slug}/leaderboard/?phase={site.sealed.slug}").text
    assert f"{row.high:.4f}" not in page
    assert client.get(f"/entries/{row.entry_id}/").status_code == 404
