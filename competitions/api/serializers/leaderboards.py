"""Leaderboards, their rows, datasets, commitments and winners, as they are answered."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from competitions.catalog.models import Column
from competitions.disclosure.scores import scores_are_public
from competitions.disclosure.uncertainty import RowUncertainty
from competitions.leaderboards.commitment import commitment_manifest
from competitions.leaderboards.models import Amendment, Commitment, Entry
from competitions.leaderboards.ranking.fact_columns import AGENT, SOURCE, VERIFIED
from competitions.leaderboards.reading.board import Row
from competitions.leaderboards.reading.columns import CellState, DatasetColumn, ShownColumn, shown_values
from competitions.submissions.models import Dataset
from competitions.winners.models import Place


class ColumnOut(serializers.ModelSerializer[Column]):
    class Meta:
        model = Column
        fields = ["key", "title", "unit", "kind", "sorting", "precision", "is_primary"]


class CellOut(serializers.Serializer[Any]):
    key = serializers.CharField(help_text="As in `scores`: `column@task`.")
    state = serializers.ChoiceField(choices=[(cell_state.value, cell_state.value) for cell_state in CellState])
    reason = serializers.CharField(allow_null=True, help_text="Why there is no score, where there will be none.")
    is_own = serializers.BooleanField(help_text="The row's team submitted the dataset: it does not count for its rank.")


class RowUncertaintyOut(serializers.Serializer[Any]):
    half_width = serializers.CharField(help_text="Half of the score's interval.")
    low = serializers.CharField()
    high = serializers.CharField()
    first_rank = serializers.IntegerField(
        allow_null=True, help_text="The best rank that the data allow; null for a baseline."
    )
    last_rank = serializers.IntegerField(allow_null=True)
    tier = serializers.IntegerField(allow_null=True, help_text="Rows of a tier cannot be told apart from its best one.")
    beats_above_percent = serializers.IntegerField(
        allow_null=True, help_text="The chance to score better than the row above: 1 is less than 1, 99 more than 99."
    )
    stays_top_percent = serializers.IntegerField(
        allow_null=True,
        help_text="The chance of being among the first `top` on unseen test data: 1 is less than 1, 99 more than 99.",
    )


class BoardUncertaintyOut(serializers.Serializer[Any]):
    confidence_percent = serializers.IntegerField()
    resamples = serializers.IntegerField()
    rows_known = serializers.IntegerField()
    rows_unknown = serializers.IntegerField(help_text="Ranked rows without enough resamples.")
    first_tier = serializers.IntegerField(help_text="Rows that are tied for first.")
    resolution = serializers.CharField(
        allow_null=True, help_text="Scores closer than this cannot be told apart at the top."
    )
    top = serializers.IntegerField(allow_null=True, help_text="The ranks that `stays_top_percent` is about.")
    unseen_items = serializers.IntegerField(
        allow_null=True, help_text="Test items of the board that is still sealed; null where there is none."
    )


class RowOut(serializers.Serializer[Any]):
    rank = serializers.IntegerField(allow_null=True)
    team = serializers.CharField()
    is_baseline = serializers.BooleanField()
    scores = serializers.DictField(
        child=serializers.CharField(),
        help_text="As the board shows them: 0.4942, or 0.4942 ± 0.0150 with a standard deviation.",
    )
    submissions = serializers.IntegerField()
    achieved_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()
    verified = serializers.DictField(
        allow_null=True, help_text="Of a winner whose code was run: `wall_s` it took and the `limit_s`."
    )
    commit = serializers.CharField(allow_blank=True, help_text="Of the submission's code, where its team gave it.")
    link = serializers.CharField(allow_blank=True, help_text="To the submission's code or a paper.")
    agent = serializers.DictField(
        allow_null=True,
        help_text="Of a submission by an agent: its `model` and `harness`, as its person declared them.",
    )
    uncertainty = RowUncertaintyOut(allow_null=True, help_text="Null where nothing is known of the row's error.")
    cells = CellOut(many=True, required=False, help_text="On each submitted dataset, of a board that grows by them.")


def row_out(row: Row, columns: list[ShownColumn], sure: RowUncertainty | None) -> dict[str, object]:
    """A board's row as JSON, its values as shown."""
    entry = row.entry
    values = zip(columns, shown_values(columns, entry.values), strict=True)
    datasets = [column for column in columns if isinstance(column, DatasetColumn)]
    return ({"cells": [_cell_out(column, entry) for column in datasets]} if datasets else {}) | {
        "rank": row.rank,
        "team": entry.team.name,
        "is_baseline": entry.is_baseline,
        "scores": {column.key: value for column, value in values if value is not None},
        "submissions": entry.submissions,
        "achieved_at": entry.achieved_at,
        "last_at": entry.last_at,
        "verified": entry.values.get(VERIFIED),
        "agent": entry.values.get(AGENT),
        **{name: entry.values.get(SOURCE, {}).get(name, "") for name in ("commit", "link")},
        "uncertainty": sure.as_json() if sure else None,
    }


def _cell_out(column: DatasetColumn, entry: Entry) -> dict[str, object]:
    """The state of a row on a submitted dataset."""
    return {
        "key": column.key,
        "state": column.state_in(entry.values),
        "reason": column.reason_in(entry.values) or None,
        "is_own": column.dataset.submission.team_id == entry.team_id,
    }


class DatasetOut(serializers.ModelSerializer[Dataset]):
    task = serializers.IntegerField(source="task_id", help_text="Behind the `@` of the keys of its scores.")
    team = serializers.CharField(source="submission.team.name")
    submission = serializers.IntegerField(source="submission_id")

    class Meta:
        model = Dataset
        fields = ["task", "name", "team", "submission", "joined_at", "counts_from", "withdrawn_at"]


class AmendmentOut(serializers.ModelSerializer[Amendment]):
    class Meta:
        model = Amendment
        fields = ["number", "made_at", "reason", "digest"]


class CommitmentOut(serializers.ModelSerializer[Commitment]):
    board = serializers.SlugField(source="leaderboard.key")
    amendments = AmendmentOut(many=True)
    manifest = serializers.SerializerMethodField(help_text="For `podium verify`; null until the reveal.")

    class Meta:
        model = Commitment
        fields = ["board", "digest", "entry_count", "made_at", "amendments", "manifest"]

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_manifest(self, commitment: Commitment) -> dict[str, Any] | None:
        return {**commitment_manifest(commitment)} if scores_are_public(commitment.leaderboard) else None


class WinnerOut(serializers.ModelSerializer[Place]):
    team = serializers.CharField(source="team.name")
    submission = serializers.IntegerField(source="submission_id")
    verified_at = serializers.DateTimeField(source="submission.verified_at")
    verified_s = serializers.FloatField(source="submission.verified_s")
    time_limit_s = serializers.IntegerField(source="submission.phase.time_limit_s")

    class Meta:
        model = Place
        fields = [
            "rank",
            "team",
            "submission",
            "verified_at",
            "verified_s",
            "time_limit_s",
            "repository_url",
            "commit",
            "report_url",
            "hardware",
        ]


class LeaderboardOut(serializers.Serializer[Any]):
    phase = serializers.CharField()
    board = serializers.SlugField()
    title = serializers.CharField()
    rule = serializers.CharField()
    entrants = serializers.ChoiceField(
        choices=["all", "people", "agents"], help_text="`all`, unless the phase gives agents a board of their own."
    )
    sorted_by = serializers.CharField(allow_null=True, help_text="Null: by the primary column.")
    columns = ColumnOut(many=True)
    entry_count = serializers.IntegerField()
    rows = RowOut(many=True)
    uncertainty = BoardUncertaintyOut(allow_null=True, help_text="Null where the board does not say how sure it is.")
    next_cursor = serializers.CharField(allow_null=True)
    datasets = DatasetOut(many=True, required=False, help_text="The submitted ones, of a board that grows by them.")
