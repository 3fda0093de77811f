"""Forms of boards: what is under seal stays so, whichever page changes it."""

from collections.abc import Collection
from typing import Any, ClassVar, Final

from django import forms

from competitions.catalog.models import Column, Leaderboard
from competitions.catalog.queue_rights import seal_fault
from competitions.catalog.sealed_keys import keys_under_seal, keys_under_seal_on

SEALED_HERE: Final = "The score {key!r} is sealed in this phase until the reveal; here everybody would see it."


def visibility_fault(board: Leaderboard, visibility: str | None) -> str:
    """Why the board, as it is stored or new, cannot get this visibility; empty where it can."""
    phase = board.phase
    if visibility == Leaderboard.Visibility.SEALED and phase.revealed_at is None:
        return seal_fault(phase.competition, phase.competition.queue)
    has_scores = board.pk and (board.scores.exists() or board.sealed_keys.exists())
    if has_scores and board.is_sealed and visibility != board.visibility:
        return "This board has sealed scores. To show them, use the action Reveal in the list of phases."
    return ""


NO_DEVIATION: Final = "There is no other column with the key {spread!r} on this board. Add one, hidden if you like."


class KeysField(forms.CharField):
    """Keys of columns, with commas between them."""

    def to_python(self, value: Any) -> Any:
        return [key.strip() for key in (super().to_python(value) or "").split(",") if key.strip()]

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(map(str, value)) if isinstance(value, list) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.to_python(data) != (initial or []))


class ColumnForm(forms.ModelForm[Column]):
    """A column; what it is computed from are keys, with commas between them."""

    sources = KeysField(
        label="Computed from", required=False, help_text="Keys of other columns, with commas between them: acc, f1."
    )

    class Meta:
        model = Column
        fields = (
            "title", "unit", "index", "kind", "key", "sorting", "precision", "is_primary", "rank_by_shown", "is_hidden", "computation",
            "sources", "spread_key",
        )  # fmt: skip
        labels: ClassVar[dict[str, str]] = {"index": "Place", "precision": "Digits", "is_primary": "Decides the rank"}
        help_texts: ClassVar[dict[str, str]] = {"is_primary": ""}


class ColumnFormSet(forms.BaseInlineFormSet[Column, Leaderboard, forms.ModelForm[Column]]):
    """Refuses what would show a sealed score: its key on an open board, and a sealed column without its key."""

    def clean(self) -> None:
        super().clean()
        self._require_deviations()
        board = self.instance
        if not board.phase_id or board.phase.revealed_at is not None:
            return
        self._keep_sealed_columns(board)
        if board.is_set_sealed:
            self._refuse(
                _open_keys(board), "The score {key!r} is on an open board of this phase, too. Give it a key of its own."
            )
            return
        on_tasks = keys_under_seal_on(board.phase.tasks.all(), phase=board.phase)
        self._refuse(keys_under_seal(board.phase, besides=board.pk), SEALED_HERE)
        self._refuse(
            on_tasks, "Another phase keeps the score {key!r} sealed on the same task; here everybody would see it."
        )

    def _require_deviations(self) -> None:
        """A board keeps the scores of its columns alone, so what is shown behind ± is one of them."""
        forms_left = [form for form in self.forms if form not in self.deleted_forms and hasattr(form, "cleaned_data")]
        keys = {form.cleaned_data.get("key") for form in forms_left}
        for form in forms_left:
            key, spread = form.cleaned_data.get("key"), form.cleaned_data.get("spread_key")
            if spread and (spread == key or spread not in keys):
                form.add_error("spread_key", NO_DEVIATION.format(spread=spread))

    def _refuse(self, keys: Collection[str], text: str) -> None:
        """An error at each column that shows one of these scores."""
        for form in self.forms:
            values = getattr(form, "cleaned_data", {})
            if values.get("key") in keys and values.get("kind") == Column.Kind.SCORE and form not in self.deleted_forms:
                form.add_error("key", text.format(key=values["key"]))

    def _keep_sealed_columns(self, board: Leaderboard) -> None:
        """A column whose scores are under seal stays as it is: its board would say less than what was scored."""
        recorded = set(board.sealed_keys.values_list("key", flat=True)) if board.pk else set()
        for form in self.initial_forms:
            before, values = form.initial.get("key"), getattr(form, "cleaned_data", {})
            is_gone = form in self.deleted_forms or (values.get("key"), values.get("kind")) != (
                before,
                form.initial.get("kind"),
            )
            if before in recorded and form.initial.get("kind") == Column.Kind.SCORE and is_gone:
                raise forms.ValidationError(
                    f"The column {before!r} has sealed scores: it keeps its key and stays on the board until the reveal."
                )


def _open_keys(board: Leaderboard) -> set[str]:
    """Keys of the scores that the other boards of the phase show to everybody."""
    others = Leaderboard.objects.filter(phase=board.phase_id).exclude(pk=board.pk).select_related("phase")
    return {key for other in others.prefetch_related("columns") if not other.is_set_sealed for key in other.score_keys}
