"""Boards: what counts, who sees it, its columns; and what a change does to ranks, found out by ranking once and taking that back."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Final, cast

from django.db import transaction
from django.db.models import Max, Model
from django.http import QueryDict
from django.utils.text import slugify

from competitions.catalog.models import Competition, Leaderboard, Phase
from competitions.disclosure.scores import scores_are_public
from competitions.leaderboards.forms import visibility_fault
from competitions.leaderboards.sealing.reveal import ranks_of
from competitions.leaderboards.services import board_rebuild
from competitions.organize.editing.change_form import ChangeForm
from competitions.organize.editing.columns import COLUMNS, FORM_SET, merged, news_of_column, stored_values
from competitions.organize.editing.phases import PhaseMoment
from competitions.submissions.models import Submission
from competitions.teams.models import Team

MOST_RANKED: Final = 2000  # rows of a board whose ranks are compared while somebody waits


class BoardForm(ChangeForm):
    """A board with its columns."""

    groups: ClassVar[Any] = (
        ("Name", ("title",)),
        ("What counts", ("rule", "max_selected", "selection_closes_at", "breaks_ties")),
        ("Who sees what", ("visibility", "is_hidden", "freeze_at", "gives_exact_scores")),
        ("Display", ("is_transposed", "shows_tasks")),
    )
    freeze_at = PhaseMoment(
        label="Freeze at (UTC)", required=False,
        help_text="Submissions received from then on stay off the board until this is emptied or the phase is revealed.",
    )  # fmt: skip
    selection_closes_at = PhaseMoment(
        label="Selection closes (UTC)", required=False, help_text="Empty: when the phase closes."
    )

    class Meta:
        model = Leaderboard
        fields = (
            "title", "rule", "max_selected", "selection_closes_at", "breaks_ties", "visibility", "is_hidden", "freeze_at",
            "gives_exact_scores", "is_transposed", "shows_tasks",
        )  # fmt: skip

    def __init__(
        self,
        competition: Competition,
        data: QueryDict | None = None,
        *,
        phase: Phase,
        instance: Leaderboard | None = None,
    ) -> None:
        self.phase, self._sent = phase, data
        super().__init__(competition, data, instance=instance or Leaderboard(phase=phase))
        self.columns = FORM_SET(data, instance=self.instance, prefix=COLUMNS)

    def shared_values(self) -> dict[str, Any]:
        if not self.instance.pk:
            return {}
        return self.row | stored_values(self.instance)

    def was_left(self, name: str, cleaned: Mapping[str, Any], seen: str) -> bool:
        return name.startswith(COLUMNS) or super().was_left(
            name, cleaned, seen
        )  # of columns `merged` asks field by field

    def news_of(self, name: str) -> str:
        return news_of_column(self.columns, name) if name.startswith(COLUMNS) else super().news_of(name)

    def take_over(self, names: list[str]) -> None:
        """What others changed of columns is shown, too, and what the reader entered stays beside it."""
        seen = self._seen()
        super().take_over([name for name in names if not name.startswith(COLUMNS)])
        data = merged(self.columns, seen, cast("QueryDict", self.data))
        self.data = data
        self.columns = FORM_SET(data, instance=self.instance, prefix=COLUMNS)

    def is_valid(self) -> bool:
        return super().is_valid() and self.columns.is_valid()

    @property
    def is_refused(self) -> bool:
        return super().is_refused or not self.columns.is_valid()

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        board = self._stored_board() if self.instance.pk else self.instance
        if fault := visibility_fault(board, cleaned.get("visibility")):
            self.add_error("visibility", fault)
        return cleaned

    def _stored_board(self) -> Leaderboard:
        return Leaderboard.objects.select_related("phase__competition__queue").get(pk=self.instance.pk)

    def has_changed(self) -> bool:
        return super().has_changed() or self.columns.has_changed()

    def write(self, now: datetime) -> Model:
        if not self.instance.pk:
            self._place_last()
        board: Leaderboard = self.save()
        self.columns.save()
        board_rebuild(board)
        return board

    def _place_last(self) -> None:
        taken = set(self.phase.leaderboards.values_list("key", flat=True))
        highest = self.phase.leaderboards.aggregate(highest=Max("index"))["highest"]
        base = slugify(self.cleaned_data["title"])[:30] or "board"
        names = ("main", base, *(f"{base}-{number}" for number in range(2, len(taken) + 3)))
        self.instance.key = next(name for name in names if name not in taken)
        self.instance.index = 0 if highest is None else highest + 1

    def consequences(self, now: datetime) -> list[str]:
        if not self.instance.pk or not self.has_changed() or not self.instance.score_count:
            return []
        before = self._stored_board()
        changes = {name: self.cleaned_data[name] for name in self.changed_data if name in self.cleaned_data}
        return [*_sentences(before, changes), *self._columns_gone(), *self._rank_sentences(before, now)]

    def _columns_gone(self) -> list[str]:
        deleted = [form.instance.title for form in self.columns.deleted_forms if form.instance.pk]
        return [f"The column “{title}” leaves the board. Its scores stay recorded." for title in deleted]

    def _rank_sentences(self, before: Leaderboard, now: datetime) -> list[str]:
        """What changes in the ranks; nothing of them is told where a seal is on the board, before or after."""
        if before.entry_count > MOST_RANKED:
            return [f"All {before.entry_count:,} rows are ranked again, and ranks may change."]
        was_public, ranks_before = scores_are_public(before), ranks_of(before)
        with transaction.atomic():  # what is written here is taken back
            twin = type(self)(self.competition, self._sent, phase=self.phase, instance=self._stored_board())
            twin.is_valid()
            twin.write(now)
            after = self._stored_board()
            is_public, ranks_after = scores_are_public(after), ranks_of(after)
            transaction.set_rollback(True)
        if not (was_public and is_public):
            return ["The board is sealed, so what changes in the ranks is not told. Everything on it is ranked again."]
        return _differences(ranks_before, ranks_after)


def _sentences(board: Leaderboard, changes: Mapping[str, Any]) -> list[str]:
    sentences = []
    if changes.get("visibility") == Leaderboard.Visibility.SEALED:
        sentences.append(
            "Scores that everybody has seen so far would be sealed until the reveal; whoever kept them still has them."
        )
    if "is_hidden" in changes:
        seen = (
            "Teams and visitors no longer see the board."
            if changes["is_hidden"]
            else "Everybody sees the board from now on."
        )
        sentences.append(seen)
    if "freeze_at" in changes:
        sentences.append(_freeze_sentence(board, changes["freeze_at"]))
    return sentences


def _freeze_sentence(board: Leaderboard, freeze_at: datetime | None) -> str:
    if freeze_at is None:
        return "The freeze ends: everything that stayed off comes on the board."
    later = Submission.objects.filter(phase=board.phase_id, received_at__gte=freeze_at).count()
    count = f"{later} submission{'' if later == 1 else 's'} so far" if later else "none so far"
    return f"What is received from {freeze_at:%Y-%m-%d %H:%M} UTC on stays off the board: {count}."


def _differences(before: Mapping[int, int], after: Mapping[int, int]) -> list[str]:
    """Which teams stand elsewhere, in a few sentences."""
    moved = [team for team, rank in before.items() if after.get(team) != rank]
    come = [team for team in after if team not in before]
    if not moved and not come:
        return []
    sentences = [
        f"{len(moved)} of {len(before)} teams change their rank." if moved else f"{len(come)} teams come on the board."
    ]
    gone = sum(team not in after for team in before)
    if gone:
        sentences.append(f"{gone} of them leave the board.")
    first_before, first_after = _first(before), _first(after)
    if first_before != first_after:
        sentences.append(f"First is {first_after or 'nobody'}; it was {first_before or 'nobody'}.")
    return sentences


def _first(ranks: Mapping[int, int]) -> str:
    leaders = [team for team, rank in ranks.items() if rank == 1]
    return ", ".join(Team.objects.filter(pk__in=leaders[:3]).order_by("name").values_list("name", flat=True))
