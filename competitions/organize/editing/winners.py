"""The winners' lane of a board: number of places, time allowed, tolerance of repeated predictions."""

from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.http import QueryDict

from competitions.catalog.models import Leaderboard
from competitions.organize.editing.change_form import CompetitionForm
from competitions.winners.lanes import impact_of_lane, save_lane
from competitions.winners.models import Lane


class LaneForm(CompetitionForm):
    """The winners' lane of a board."""

    groups: ClassVar[Any] = (
        ("Places", ("top", "days", "instructions")),
        (
            "How closely the code must repeat its predictions",
            ("tolerance", "min_equal_share", "score_tolerance", "tolerance_origin"),
        ),
    )

    class Meta:
        model = Lane
        fields = ("top", "days", "instructions", "tolerance", "min_equal_share", "score_tolerance", "tolerance_origin")
        labels: ClassVar[dict[str, str]] = {
            "tolerance": "Largest mean difference",
            "score_tolerance": "Largest difference of the score",
            "instructions": "Instructions for invited teams",
        }
        widgets: ClassVar[dict[str, object]] = {"tolerance_origin": forms.Textarea(attrs={"rows": 2})}

    def __init__(self, board: Leaderboard, data: QueryDict | None = None, *, instance: Lane | None = None) -> None:
        super().__init__(board.phase.competition, data, instance=instance or Lane(leaderboard=board))

    def consequences(self, now: datetime) -> list[str]:
        return list(impact_of_lane(self.instance, self.changed_data))

    def write(self, now: datetime) -> Lane:
        return save_lane(self.instance)
