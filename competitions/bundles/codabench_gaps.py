"""Reasons for which Codabench refuses a bundle, and what it treats otherwise; exports list them."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from accounts.models import User
from competitions.catalog.models import Column, Competition, Leaderboard, Phase, Task
from competitions.factsheets.models import Question
from competitions.leaderboards.ranking.rules import CODABENCH_RULES
from files.text import NO_TERMS

CODABENCH_QUESTIONS = (Question.Kind.TEXT, Question.Kind.SELECT, Question.Kind.CHECKBOX)
IMAGE_NAME_CHARACTERS: Final = 128  # of an image's name, there
CODABENCH_FILES: Final = ("public_data", "starting_kit")  # of a phase; it reads no sample submission
Compared = tuple[str, list[tuple[str, str, str, bool]]]


def codabench_refusals(competition: Competition, *, with_files: bool, by: User) -> list[str]:
    """A sentence for each reason for which Codabench would refuse the bundle that `by` exports."""
    phases = list(competition.phases.prefetch_related("tasks", "leaderboards__columns"))
    return [
        *_missing_parts(competition, phases),
        *_of_order(phases),
        *(reason for phase in phases for reason in _of_files(phase)),
        *_of_keys(phases, by, with_files=with_files),
        *(reason for phase in phases for board in phase.leaderboards.all() for reason in _of_ranks(board)),
    ]


def _missing_parts(competition: Competition, phases: Sequence[Phase]) -> Iterator[str]:
    boards = [board for phase in phases for board in phase.leaderboards.all()]
    if not phases:
        yield "There is no phase; there must be one."
    elif not boards:
        yield "There is no leaderboard; there must be one with a column."
    elif not boards[0].columns.all():
        yield f"The leaderboard “{boards[0].title}” of “{boards[0].phase.name}” has no column; add one."
    for page in competition.pages.all():
        if not page.body.strip():
            yield f"The page “{page.title}” is empty; write it, or delete it."
    for phase in phases:
        if not phase.tasks.all():
            yield f"“{phase.name}” has no task; add one."
    if len(competition.image_name) > IMAGE_NAME_CHARACTERS:
        yield f"The name of the image {competition.image_name} has more than {IMAGE_NAME_CHARACTERS} characters; give it a shorter one."


def _of_order(phases: Sequence[Phase]) -> Iterator[str]:
    """Phases follow one another there, in the order of their numbers."""
    if phases and phases[0].auto_migrate_to_this_phase:
        yield f"“{phases[0].name}” is the first phase, so no submissions can be carried into it; take that setting off."
    for before, after in pairwise(phases):
        if before.closes_at is None:
            yield f"“{before.name}” has no end, and “{after.name}” follows; only the last phase may be open for ever."
        elif after.opens_at <= before.closes_at:
            yield f"“{after.name}” does not start after the end of “{before.name}”; phases must not overlap or touch."
    for phase in phases:
        if phase.closes_at is not None and phase.closes_at <= phase.opens_at:
            yield f"“{phase.name}” ends before it starts; move one of the two dates."


def _of_files(phase: Phase) -> Iterator[str]:
    for name in CODABENCH_FILES:
        resource = getattr(phase, name)
        if resource is not None and not resource.file_name.lower().endswith(".zip"):
            yield f"The {resource.get_kind_display()} of “{phase.name}”, {resource.file_name}, is not a zip; pack it into one."


def _of_keys(phases: Sequence[Phase], by: User, *, with_files: bool) -> Iterator[str]:
    if not with_files:
        yield "Programs and data are named by their keys on this site, which Codabench does not know; export it with its files."
        return
    used = Task.objects.filter(phases__in=phases).exclude(pk__in=Task.objects.readable_by(by))
    for task in used.distinct().order_by("pk"):
        yield f"The task “{task.name}” is another organizer's, so it is named by its key on this site; use one of your own."


def _of_ranks(board: Leaderboard) -> Iterator[str]:
    for column in board.columns.all():
        if column.is_relative:
            yield f"The column “{column.title}” on “{board.title}” of “{board.phase.name}” has average ranks, which are not known there."


def codabench_gaps(competition: Competition) -> list[str]:
    """A sentence for each difference; empty where the exported bundle means the same there."""
    phases = list(competition.phases.prefetch_related("leaderboards__columns"))
    boards = [board for phase in phases for board in phase.leaderboards.all()]
    gaps = [
        *_of_rules(competition),
        *_of_questions(competition),
        *_of_boards(phases),
        *(gap for phase in phases for gap in _of_phase(phase)),
    ]
    return [*gaps, *(gap for board in boards for gap in _of_board(board))]


def _of_rules(competition: Competition) -> Iterator[str]:
    if not competition.rules_versions.exists():
        yield f"There are no rules, so people on Codabench accept this sentence: “{NO_TERMS}”"


def _of_boards(phases: Sequence[Phase]) -> Iterator[str]:
    """The bundle's only board there is that of the first phase."""
    boards = [(phase, phase.leaderboards.all()[0]) for phase in phases if phase.leaderboards.all()]
    for phase, board in boards[1:]:
        if _compared(board) != _compared(boards[0][1]):
            yield f"Codabench gives all phases the leaderboard of “{boards[0][0].name}”; that of “{phase.name}” is another one."


def _compared(board: Leaderboard) -> Compared:
    return board.rule, [(column.key, column.title, column.sorting, column.is_primary) for column in board.columns.all()]


def _of_questions(competition: Competition) -> Iterator[str]:
    others = Question.objects.filter(competition=competition).exclude(phase=None, kind__in=CODABENCH_QUESTIONS)
    for question in others:
        yield f"Codabench does not ask “{question.title}” of the fact sheet: it has text, choices and yes or no, alike in all phases."


def _of_phase(phase: Phase) -> Iterator[str]:
    name = f"“{phase.name}”"
    if phase.visibility == Phase.Visibility.SEALED:
        yield f"Codabench shows the scores of {name} at once: it has no sealed phases."
    if phase.grows:
        yield f"The board of {name} does not grow by datasets on Codabench."
    if phase.max_submissions_per_week:
        yield f"Codabench has no weekly limit, so that of {name} does not hold there."
    if phase.leaderboards.count() > 1:
        yield f"Codabench shows one leaderboard; {name} has {phase.leaderboards.count()}."


def _of_board(board: Leaderboard) -> Iterator[str]:
    name = f"“{board.title}” of “{board.phase.name}”"
    if board.rule not in CODABENCH_RULES.values():
        yield (
            f"On Codabench each team's best submission counts on {name} (Force_Best): it has no rule by which {board.get_rule_display()}."
        )
    if board.visibility == Leaderboard.Visibility.SEALED:
        yield f"Codabench shows the scores of {name} at once: it has no sealed leaderboards."
    if board.freeze_at is not None:
        yield f"Codabench does not freeze {name}."
    columns = list(board.columns.all())
    if not board.breaks_ties or any(column.rank_by_shown for column in columns):
        yield f"Rows of {name} that share a rank here are told apart there, by ten decimals, the other columns and time."
    for column in columns:
        if column.kind == Column.Kind.METER:
            yield f"The column “{column.title}” on {name} stays empty on Codabench: it shows no measurements."
