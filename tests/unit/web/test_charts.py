"""The charts of the pages: what is drawn of which scores, and the sentence that says what they show."""

from datetime import UTC, datetime, timedelta

from competitions.catalog.models import Column
from competitions.leaderboards.models import RankChange
from competitions.teams.models import Team
from competitions.web.presentation.charts import own_chart, pair_chart, rank_chart, score_chart

START = datetime(2030, 5, 1, 12, tzinfo=UTC)
MAE = Column(key="mae", title="MAE", unit="eV", precision=2)


def at(hours: float) -> datetime:
    return START + timedelta(hours=hours)


def test_nothing_is_drawn_of_nothing() -> None:
    assert score_chart([], [], MAE, until=START) is None
    assert (own_chart([(START, 0.5, "")], MAE), rank_chart([]), pair_chart("one", "Pairs", [])) == (None, None, None)


def test_the_best_of_the_board_and_the_own_scores_are_two_series() -> None:
    drawn = score_chart([(at(0), 0.9, "Cats"), (at(4), 0.5, "Dogs")], [(at(2), 0.7, "")], MAE, until=at(8))
    assert drawn is not None
    assert [(series.title, series.form, len(series.points)) for series in drawn.series] == [
        ("Best of the leaderboard", "steps", 2),
        ("Your team", "points", 1),
    ]
    assert drawn.summary == "The best score went from 0.90 to 0.50, by Dogs. Your team's best of 1 is 0.70."
    assert (drawn.x.ends, drawn.y.title) == ((at(0).timestamp(), at(8).timestamp()), "MAE (eV)")


def test_a_team_without_a_best_of_the_board_is_drawn_alone() -> None:
    drawn = score_chart([], [(at(0), 0.5, ""), (at(1), 0.4, "")], MAE, until=at(1))
    assert drawn is not None
    assert [series.title for series in drawn.series] == ["Your team"]


def test_the_own_row_of_a_shake_up_is_a_series_of_its_own() -> None:
    teams = [Team(pk=1, name="Cats"), Team(pk=2, name="Dogs"), Team(pk=3, name="New")]
    changes = [
        RankChange(team=team, rank_before=before, rank_after=after)
        for team, before, after in zip(teams, (2, 1, None), (1, 2, 3), strict=True)
    ]
    drawn = rank_chart(changes, own_team_id=2)
    assert drawn is not None
    assert [(series.title, [point.note for point in series.points]) for series in drawn.series] == [
        ("", ["Cats", "Cats"]),
        ("Your team", ["Dogs", "Dogs"]),
    ]
    assert [[point.y for point in series.points] for series in drawn.series] == [[2, 1], [1, 2]]
    assert drawn.summary == "1 of these 2 teams rose, 1 fell."


def test_predictions_lie_on_one_scale() -> None:
    drawn = pair_chart("one", "Pairs", [(1.0, 2.0), (3.0, 2.5)])
    assert drawn is not None
    assert (drawn.x.ends, drawn.y.ends, drawn.has_diagonal) == ((1.0, 3.0), (1.0, 3.0), True)


def test_a_chart_holds_no_more_digits_than_the_board() -> None:
    drawn = score_chart([(START, 0.123456789, "Cats")], [(START, 0.987654321, "")], MAE, until=START)
    assert drawn is not None
    assert [point.y for _, point in drawn.rows] == [0.12, 0.99]
    assert "0.1234" not in str(drawn.spec)
