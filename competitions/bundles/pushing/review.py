"""The difference that a push makes, as people read it before they agree, and what no push may change."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, TypedDict

from competitions.bundles.pushing.document import Place, Values
from competitions.catalog.models import Column, Competition, Leaderboard, Phase
from competitions.catalog.presets import PRESETS
from competitions.catalog.queue_rights import faults_on_queue
from competitions.catalog.sealed_keys import keys_under_seal, keys_under_seal_on
from competitions.leaderboards.models import Score
from core.refusals import Conflict
from files.bundles.addresses import board_key, phase_slugs
from files.bundles.rules import sort_phases
from files.bundles.schema import CompetitionSpec, LeaderboardSpec, PhaseSpec
from files.line_differences import unified_lines

MAX_CHARS: Final = 200
MAX_LINES: Final = 60
PARTS: Final[set[Place]] = {
    ("pages",),
    ("images",),
    ("tasks",),
    ("phases",),
    ("solutions",),
}  # what is in them is told one by one


class Change(TypedDict):
    """One setting, or a part with all its settings, as texts; `lines` are the changes inside a long one."""

    path: str
    change: str  # added, changed, removed
    before: str
    after: str
    lines: list[str]


def differences(before: Values, after: Values) -> list[Change]:
    """Every change once. A part that is new, or gone, is one change, whatever it holds."""
    changes = [
        _change(place, before[place], after[place])
        for place in after
        if place in before and before[place] != after[place]
    ]
    changes += [_part(place, "added", after) for place in _roots(after, before)]
    changes += [_part(place, "removed", before) for place in _roots(before, after)]
    return sorted(changes, key=lambda change: change["path"])


def _roots(of: Values, without: Values) -> Iterator[Place]:
    """The outermost places in the first of which the second has nothing."""
    known = {place[:end] for place in without for end in range(len(place) + 1)} | PARTS
    seen: set[Place] = set()
    for place in of:
        root = next((place[:end] for end in range(1, len(place) + 1) if place[:end] not in known), None)
        if root is not None and root not in seen:
            seen.add(root)
            yield root


def _part(place: Place, change: str, values: Values) -> Change:
    text = _shown(values[place]) if place in values else ""
    before, after = (text, "") if change == "removed" else ("", text)
    return {"path": ".".join(place), "change": change, "before": before, "after": after, "lines": []}


def _change(place: Place, before: Any, after: Any) -> Change:
    is_text = isinstance(before, str) and isinstance(after, str) and "\n" in before + after
    lines = unified_lines(before.splitlines(), after.splitlines(), around=1) if is_text else iter(())
    return {
        "path": ".".join(place),
        "change": "changed",
        "before": "" if is_text else _shown(before),
        "after": "" if is_text else _shown(after),
        "lines": [line[:MAX_CHARS] for line in islice(lines, MAX_LINES)],
    }


def _shown(value: Any) -> str:
    text = "none" if value in (None, "") else str(value)
    return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}…"


class BreaksContest(Conflict):
    """`extra["faults"]` has a sentence for each."""

    code = "breaks_contest"

    def __init__(self, faults: list[str]) -> None:
        super().__init__("Nothing was changed:\n" + "\n".join(f"- {fault}" for fault in faults), faults=faults)


def require_standing(competition: Competition, spec: CompetitionSpec) -> None:
    """Raise `BreaksContest` if the bundle would remove the basis of submissions, or unseal their scores."""
    named = dict(phase_slugs(sort_phases(spec.phases)))
    faults: list[str] = []
    for phase in competition.phases.prefetch_related("leaderboards__columns"):
        faults += _faults_of_phase(phase, named.get(phase.slug), spec.leaderboards[0])
    if faults:
        raise BreaksContest(faults)


def _faults_of_phase(phase: Phase, spec: PhaseSpec | None, shared: LeaderboardSpec) -> Iterator[str]:
    has_submissions = phase.submissions.exists()
    if spec is None:
        if has_submissions or phase.sealed_keys.exists():
            yield f"The phase {phase.slug!r} has submissions, so it stays. Give it back, with `podium: {{slug: {phase.slug}}}`."
        return
    visibility = PRESETS[spec.podium.preset].visibility if spec.podium.preset else spec.podium.visibility
    if has_submissions and phase.is_sealed and visibility != phase.visibility:
        yield f"The phase {phase.slug!r} has sealed scores. Keep `visibility: sealed`, and reveal them on the site."
    boards = {board_key(board): board for board in spec.podium.leaderboards or [shared]}
    for board in phase.leaderboards.all():
        yield from _faults_of_board(board, boards.get(board.key))


def _faults_of_board(board: Leaderboard, spec: LeaderboardSpec | None) -> Iterator[str]:
    where = f"The leaderboard {board.key!r} of the phase {board.phase.slug!r}"
    sealed = set(board.sealed_keys.values_list("key", flat=True))
    has_scores = bool(sealed) or Score.objects.filter(leaderboard=board).exists()
    if spec is None:
        if has_scores:
            yield f"{where} has scores, so it stays. Give it back by its key, or hide it with `hidden: true`."
        return
    if board.is_sealed and has_scores and spec.podium.visibility != board.visibility:
        yield f"{where} has sealed scores. Keep its `visibility`, and reveal them on the site."
    remaining = {column.key for column in spec.columns if column.computation is None and not column.podium.meter}
    lost = sealed - remaining if board.phase.revealed_at is None else set()
    for key in sorted(lost):
        yield f"{where} has sealed scores in the column {key!r}, which keeps its key and stays until the reveal."


def rules_broken(competition: Competition) -> set[str]:
    """Sentences on stored states that must not be, such as sealed scores on open boards."""
    seals = {fault for phase in competition.phases.filter(revealed_at=None) for fault in _seals_broken_in(phase)}
    return seals | set(faults_on_queue(competition, competition.queue))


def _seals_broken_in(phase: Phase) -> Iterator[str]:
    """Columns of open boards that show what is sealed elsewhere: in the phase, or on one of its tasks."""
    elsewhere = keys_under_seal_on(phase.tasks.all(), phase=phase)
    for board in phase.leaderboards.prefetch_related("columns"):
        if board.is_set_sealed:
            continue
        sealed = keys_under_seal(phase, besides=board.pk) | set(elsewhere)
        for column in board.columns.all():
            if column.kind == Column.Kind.SCORE and column.key in sealed:
                yield f"The leaderboard {board.key!r} of the phase {phase.slug!r} would show the score {column.key!r}, which is sealed."
