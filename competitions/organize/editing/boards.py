"""Boards: what counts, who sees it, its columns, and its winners' lane."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, cast

from django import forms
from django.db.models import Model
from django.http import QueryDict

from competitions.catalog.changes.board_rules import faults_of_board
from competitions.catalog.changes.boards import change_board, new_board
from competitions.catalog.models import Competition, Leaderboard, Phase, setting_names
from competitions.leaderboards.forms import ColumnFormSet
from competitions.organize.editing.change_form import CompetitionForm
from competitions.organize.editing.columns import COLUMNS, FORM_SET, merge, news_of_column, stored_values
from competitions.organize.editing.phases import PhaseMoment
from competitions.winners.lanes import impact_of_lane, save_lane
from competitions.winners.models import Lane


class BoardForm(CompetitionForm):
    """A board with its columns."""

    groups: ClassVar[Any] = tuple(Leaderboard.form.items())
    freeze_at = PhaseMoment(
        label="Freeze at (UTC)",
        required=False,
        help_text="Submissions received from then on stay off the board until this is emptied or the phase is revealed.",
    )
    selection_closes_at = PhaseMoment(
        label="Selection closes (UTC)", required=False, help_text="Empty: when the phase closes."
    )

    class Meta:
        model = Leaderboard
        fields = setting_names(Leaderboard)
        labels: ClassVar[dict[str, str]] = {
            "index": "Place",
        }

    def __init__(
        self,
        competition: Competition,
        data: QueryDict | None = None,
        *,
        phase: Phase,
        instance: Leaderboard | None = None,
    ) -> None:
        self.phase = phase
        super().__init__(competition, data, instance=instance or Leaderboard(phase=phase))
        if instance is None:  # it is the last
            del self.fields["index"]
        self.columns = FORM_SET(data, instance=self.instance, prefix=COLUMNS)

    def shared_values(self) -> dict[str, object]:
        if not self.instance.pk:
            return {}
        return self.row | stored_values(self.instance)

    def was_left(self, name: str, cleaned: Mapping[str, object], seen: str) -> bool:
        return name.startswith(COLUMNS) or super().was_left(
            name, cleaned, seen
        )  # of columns `merge` asks field by field

    def field_news(self, name: str) -> str:
        return news_of_column(self.columns, name) if name.startswith(COLUMNS) else super().field_news(name)

    def take_over(self, names: list[str]) -> None:
        """Show what others changed in columns beside what the reader entered."""
        seen = self._seen()
        super().take_over([name for name in names if not name.startswith(COLUMNS)])
        data = merge(self.columns, seen, cast("QueryDict", self.data))
        self.data = data
        self.columns = FORM_SET(data, instance=self.instance, prefix=COLUMNS)

    def is_valid(self) -> bool:
        return super().is_valid() and self.columns.is_valid()

    @property
    def is_refused(self) -> bool:
        return super().is_refused or not self.columns.is_valid()

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or self.cleaned_data
        stored = self._stored_board() if self.instance.pk else None
        entered = Leaderboard(phase=self.phase, visibility=str(cleaned.get("visibility", "")))
        for field, fault in faults_of_board(entered, stored):
            self.add_error(field, fault)
        return cleaned

    def _stored_board(self) -> Leaderboard:
        return Leaderboard.objects.select_related("phase__competition__queue").get(pk=self.instance.pk)

    def has_changed(self) -> bool:
        return super().has_changed() or self.columns.has_changed()

    def write(self, now: datetime) -> Model:
        board = self.instance
        if not board.pk:
            place = new_board(self.phase, self.cleaned_data["title"])
            board.key, board.index = place.key, place.index
        columns = cast("ColumnFormSet", self.columns).columns
        return change_board(board, columns, now=now, confirmed=self.confirmed).row


class LaneForm(CompetitionForm):
    """The winners' lane of a board."""

    groups: ClassVar[Any] = (
        ("Places", ("top", "by_tier", "days", "instructions")),
        (
            "How closely the code must repeat its predictions",
            ("tolerance", "min_equal_share", "score_tolerance", "tolerance_origin"),
        ),
    )

    class Meta:
        model = Lane
        fields = (
            "top",
            "by_tier",
            "days",
            "instructions",
            "tolerance",
            "min_equal_share",
            "score_tolerance",
            "tolerance_origin",
        )
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
