"""A board's row beside its values: bars on one axis, people, change since yesterday, sparkline."""

from __future__ import annotations

from competitions.catalog.models import Column, Leaderboard
from competitions.leaderboards.models import Entry
from competitions.leaderboards.reading.board import baseline_entries, board_page
from competitions.leaderboards.reading.daily_ranks import daily_ranks_note
from competitions.web.presentation.board_rows import RowDetails, ScoreScale, row_details, score_scale, score_spark
from tests.scenario import Scenario

MAE = Column(key="mae", title="MAE", precision=2, sorting="asc")
AUC = Column(key="auc", title="AUC", precision=2, sorting="desc")


def score_team(site: Scenario, name: str, value: float, *, is_baseline: bool = False) -> None:
    site.score(site.submit(team=site.join(name, is_baseline=is_baseline)), value)


def details(site: Scenario) -> dict[str, RowDetails]:
    board = Leaderboard.objects.select_related("phase").get(pk=site.phase.leaderboard.pk)
    rows = board_page(board).rows
    details_by_entry = row_details(board, rows, score_scale(board, board.columns.get(), rows, baseline_entries(board)))
    return {row.entry.team.name: details_by_entry[row.entry.pk] for row in rows}


def test_a_bar_is_full_at_the_best_score_and_never_empty() -> None:
    for column, values in ((MAE, (0.1, 0.2, 0.3)), (AUC, (0.9, 0.8, 0.7))):
        scale = ScoreScale(column, values[0], values[2])
        assert [scale.percent(Entry(values={column.key: value})) for value in values] == [100.0, 50.0, 2.0]


def test_bars_tell_equal_looking_scores_apart_as_little_as_the_board_does() -> None:
    scale = ScoreScale(MAE, 0.1, 0.2)
    assert scale.percent(Entry(values={"mae": 0.1499})) == scale.percent(Entry(values={"mae": 0.1451}))
    assert ScoreScale(MAE, 0.1, 0.1).percent(Entry(values={"mae": 0.1})) == 100.0
    assert scale.percent(Entry(values={})) is None


def test_one_hopeless_score_does_not_make_all_others_look_alike(site: Scenario) -> None:
    for number in range(10):
        score_team(site, f"team {number}", 0.1 + number / 100)
    score_team(site, "hopeless", 900.0)
    score_team(site, "constant", 0.15, is_baseline=True)
    details_by_team = details(site)
    assert details_by_team["team 0"].percent == 100.0
    assert 30.0 < (details_by_team["team 5"].percent or 0) < 60.0
    assert details_by_team["hopeless"].percent == 2.0


def test_a_row_names_its_people_and_how_many_more_there_are(site: Scenario) -> None:
    site.score(site.submit(), 0.5)
    assert details(site)[site.team.name].members == ((site.member().username, False),)


def test_a_row_says_how_many_places_it_gained_since_yesterday(site: Scenario) -> None:
    score_team(site, "aa", 0.1)
    score_team(site, "bb", 0.2)
    daily_ranks_note(now=site.now)
    score_team(site, "new", 0.01)
    changes = {name: row.change for name, row in details(site).items()}
    assert changes == {"new": None, "aa": -1, "bb": -1}


def test_a_small_line_goes_where_the_value_goes_as_the_chart_does() -> None:
    for column, values, path, end in (
        (MAE, (0.5, 0.3), "M3.0 3.0H69.0V17.0", 17.0),
        (AUC, (0.3, 0.5), "M3.0 17.0H69.0V3.0", 3.0),
        (AUC, (-1.7e308, 1.797e308), "M3.0 17.0H69.0V3.0", 3.0),  # further apart than a number can be
    ):
        spark = score_spark(Entry(trend=[(0, values[0]), (100, values[1])]), column)
        assert spark is not None
        assert (spark.path, spark.x, spark.y) == (path, 69.0, end)
        assert spark.words == f"From {values[0]:.2f} to {values[1]:.2f} in 1 step"


def test_scores_that_look_the_same_are_no_line() -> None:
    assert score_spark(Entry(trend=[(0, 0.501), (100, 0.499)]), MAE) is None
