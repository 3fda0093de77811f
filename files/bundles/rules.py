"""Rules between a bundle's parts: indexes that exist, phases in order, valid computations."""

from collections.abc import Iterable, Iterator
from itertools import count, pairwise
from typing import Final

from files.bundles.addresses import board_key
from files.bundles.document import Document
from files.bundles.faults import Note, Where
from files.bundles.schema import ColumnSpec, CompetitionSpec, LeaderboardSpec, PhaseSpec, SolutionSpec, TaskSpec

# The names of `competitions.catalog.presets.PRESETS`, which cannot be read without a site; a test compares them.
PRESET_NAMES: Final = ("pcqm4mv2-test-dev", "pcqm4mv2-test-challenge")
# Those of `competitions.catalog`, for the same reason.
MAX_TABS, MAX_TAB_TITLE = 5, 24


def remarks(spec: CompetitionSpec, document: Document) -> list[Note]:
    """Remarks on what is read otherwise than it was written, which stops no import."""
    notes = [document.note(*remark) for remark in _same_names(spec, document, is_fault=False)]
    for board in _used_boards(spec):
        indexes = [column.index for column in board.columns]
        if "primary_index" in board.model_fields_set and board.primary_index not in indexes:
            known = ", ".join(map(str, indexes))
            message = f"there is no column with the index {board.primary_index}, so the first column decides the rank; there are {known}"
            notes.append(document.note((*board.where, "primary_index"), message))
    return notes


def rule_faults(spec: CompetitionSpec, document: Document, *, legacy: bool) -> list[Note]:
    """Every contradiction between parts that are well formed by themselves."""
    faults = [
        *_tasks(spec),
        *_solutions(spec),
        *_phases(spec, legacy=legacy),
        *_same_names(spec, document, is_fault=True),
        *_boards(spec),
        *_sealing(spec),
        *_questions(spec),
        *_tabs(spec),
    ]
    return [document.note(where, message) for where, message in faults]


Found = Iterator[tuple[Where, str]]


def _tabs(spec: CompetitionSpec) -> Found:
    tabs = [page for page in spec.pages if page.podium.tab == "own"]
    for page in tabs:
        if len(page.title) > MAX_TAB_TITLE:
            yield (*page.where, "title"), f"the title of a tab has at most {MAX_TAB_TITLE} characters; shorten it"
    for page in tabs[MAX_TABS:]:
        yield page.where, f"a competition has at most {MAX_TABS} tabs of its own; show this page on another tab"


def _tasks(spec: CompetitionSpec) -> Found:
    seen: list[object] = []
    for task in spec.tasks:
        if task.index in seen:
            yield (*task.where, "index"), f"the index {task.index!r} is that of another task; give each its own"
        seen.append(task.index)
        if task.key is None and not task.name:
            yield task.where, "`name` is missing"
        if task.key is None and task.scoring_program is None:
            yield task.where, "`scoring_program` is missing; name its folder or zip, or give the `key` of a task"
    known = ", ".join(map(str, seen))
    yield from _checks(spec, known)
    for phase in spec.phases:
        for number, index in enumerate(phase.tasks):
            if index not in seen:
                yield (*phase.where, "tasks", number), f"there is no task with the index {index!r}; there are {known}"
        yield from _growth(phase, seen, phase.podium.leaderboards or spec.leaderboards[:1])
        yield from _smoke(phase, spec)


def _solutions(spec: CompetitionSpec) -> Found:
    tasks = [task.index for task in spec.tasks if task.podium.checks is None]
    names: set[str] = set()
    for solution in spec.solutions:
        if solution.reference is None:
            yield solution.where, "`path` is missing; name the solution's folder or zip, or give the `key` of one"
        for number, index in enumerate(solution.tasks):
            if index not in tasks:
                known = ", ".join(map(str, tasks))
                message = f"no task that is run by phases has the index {index!r}; there are {known}"
                yield (*solution.where, "tasks", number), message
        if solution.name and solution.name in names:
            message = f"the name {solution.name!r} is that of another solution; give each its own"
            yield (*solution.where, "name"), message
        names.add(solution.name)


def _checks(spec: CompetitionSpec, known: str) -> Found:
    """Faults of the tasks that a winners' verification names."""
    checks = {task.index: task for task in spec.tasks if task.podium.checks is not None or task.podium.check}
    others = [task.index for task in spec.tasks if task.index not in checks]
    for task in checks.values():
        where = (*task.where, "podium")
        if task.podium.checks is None or task.podium.check is None:
            message = "a check needs both: `checks`, the index of the task that it checks, and `check`, what kind it is"
            yield where, message
        elif task.podium.checks not in others:
            message = f"no task that is run by phases has the index {task.podium.checks!r}; there are {known}"
            yield (*where, "checks"), message
        if task.key is not None:
            yield where, "a task that is named by its key stays as it is; give a check by its programs and data"
    for phase in spec.phases:
        for number, index in enumerate(phase.tasks):
            if index in checks:
                message = "a check is run on winners' code alone; take it out of the phase's `tasks`"
                yield (*phase.where, "tasks", number), message


def _growth(phase: PhaseSpec, tasks: list[object], boards: list[LeaderboardSpec]) -> Found:
    growth, where = phase.podium.grows, (*phase.where, "podium", "grows")
    if growth is None:
        return
    if growth.check not in tasks:
        known = ", ".join(map(str, tasks))
        yield (*where, "check"), f"there is no task with the index {growth.check!r}; there are {known}"
    elif growth.check in phase.tasks:
        yield (*where, "check"), "the dataset check is run on datasets alone; take it out of the phase's `tasks`"
    if sorted(phase.podium.accepts or []) != ["code", "dataset"]:
        yield where, "a board that grows takes code and datasets alone: `accepts: [code, dataset]`"
    if phase.podium.visibility == "sealed" or any(board.podium.visibility == "sealed" for board in boards):
        yield where, "a board that grows cannot be sealed: what is run on new datasets shows what counts"


def _smoke(phase: PhaseSpec, spec: CompetitionSpec) -> Found:
    """A smoke run shows all of its log: it must be of code, and on a task that hides nothing."""
    index, where = phase.podium.smoke_task, (*phase.where, "podium", "smoke_task")
    if index is None:
        return
    task = next((task for task in spec.tasks if task.index == index), None)
    if task is None:
        known = ", ".join(str(task.index) for task in spec.tasks)
        yield where, f"there is no task with the index {index!r}; there are {known}"
        return
    if index in phase.tasks:
        yield where, "the smoke run comes before the others; take its task out of the phase's `tasks`"
    if "code" not in (phase.podium.accepts or []):
        yield where, "a smoke run is of code; add `code` to `accepts`"
    if task.key is None and not task.podium.public_split:
        message = f"the task {index!r} may hold hidden data; say `podium: {{public_split: true}}` there if teams may have all of its files"
        yield where, message
    if task.key is None:
        yield from ((where, fault) for fault in _hidden_data(task, spec))


def _hidden_data(task: TaskSpec, spec: CompetitionSpec) -> Iterator[str]:
    """The data that a public split has in common with a task that hides them."""
    for other in (candidate for candidate in spec.tasks if candidate is not task and not candidate.podium.public_split):
        hidden = [other.reference_data] + ([] if spec.make_input_data_available else [other.input_data])
        for path in {task.input_data, task.reference_data} & set(hidden) - {None}:
            yield f"the file {path} is also of the task {other.index!r}, which keeps it hidden; give the smoke run data of its own"


def solution_names(solutions: Iterable[SolutionSpec]) -> list[str]:
    """The name of each solution, a number where it has none."""
    rows = list(solutions)
    taken = {solution.name for solution in rows}
    free = (name for number in count(1) if (name := f"Solution {number}") not in taken)
    return [solution.name or next(free) for solution in rows]


def sort_phases(phases: Iterable[PhaseSpec]) -> list[PhaseSpec]:
    """Sort phases by index where there is one; the others keep their place."""
    rows = list(phases)
    if not all(isinstance(phase.index, int | float) for phase in rows):
        return rows
    return sorted(rows, key=lambda phase: phase.index if isinstance(phase.index, int | float) else 0)


def _phases(spec: CompetitionSpec, *, legacy: bool) -> Found:
    rows = sort_phases(spec.phases)
    for phase in rows:
        if phase.end is not None and phase.end <= phase.start:
            yield (*phase.where, "end"), "the phase ends before it starts; `end` must be later than `start`"
        if phase.podium.preset and phase.podium.preset not in PRESET_NAMES:
            message = f"there is no preset {phase.podium.preset!r}; there are {', '.join(PRESET_NAMES)}"
            yield (*phase.where, "podium", "preset"), message
    if rows and rows[0].auto_migrate_to_this_phase:
        key = "auto_migration" if legacy else "auto_migrate_to_this_phase"
        yield (*rows[0].where, key), "nothing can migrate to the first phase; set this on a later one"
    if not legacy:
        for before, after in pairwise(rows):
            yield from _follows(before, after)


def _same_names(spec: CompetitionSpec, document: Document, *, is_fault: bool) -> Found:
    """Phases that people cannot tell apart.

    A competition as code knows its phases again by name, so there it is a fault unless each has an address of its own.
    """
    first: dict[str, PhaseSpec] = {}
    for phase in spec.phases:
        other = first.setdefault(" ".join(phase.name.split()).casefold(), phase)
        if other is phase:
            continue
        slugs = {phase.podium.slug, other.podium.slug}
        if is_fault == (bool(spec.podium.slug) and (len(slugs) == 1 or None in slugs)):
            line = document.line((*other.where, "name"))
            message = f"the phase on line {line} is called {phase.name!r}, too; give each a name of its own"
            yield (*phase.where, "name"), message


def _follows(before: PhaseSpec, after: PhaseSpec) -> Found:
    if "podium" in before.model_fields_set & after.model_fields_set:  # phases of our own may run side by side
        return
    if before.end is None:
        yield before.where, f"`end` is missing; only the last phase may go on for ever, and {after.name!r} follows"
    elif after.start <= before.end:
        word = "at the very moment" if after.start == before.end else "before"
        message = f"the phase starts {word} {before.name!r} ends ({before.end:%Y-%m-%d %H:%M} UTC); it must start later"
        yield (*after.where, "start"), message


def _sealing(spec: CompetitionSpec) -> Found:
    """Faults of scores that one board keeps sealed and another shows.

    This may be in one phase, or in two that have a task in common, unless the reveal is planned for before the open one starts.
    """
    shown = [(phase, board) for phase in spec.phases for board in phase.podium.leaderboards or spec.leaderboards[:1]]
    for phase, board in (pair for pair in shown if not _is_sealed(*pair)):
        for other, sealed in (pair for pair in shown if _is_sealed(*pair)):
            common = _score_keys(board) & _score_keys(sealed)
            if not common or not (other is phase or _scores_the_same(phase, other)):
                continue
            named = ", ".join(map(repr, sorted(common)))
            place = "in the same phase" if other is phase else f"in {other.name!r} on the same task"
            yield phase.where, f"the scores {named} are shown to everybody here, and sealed on {sealed.title!r} {place}"


def _scores_the_same(open_phase: PhaseSpec, sealed: PhaseSpec) -> bool:
    """True if a file gets one phase's sealed scores in the other as well, before they are revealed."""
    reveal = sealed.podium.reveal
    return bool(set(open_phase.tasks) & set(sealed.tasks)) and (reveal is None or open_phase.start < reveal)


def _is_sealed(phase: PhaseSpec, board: LeaderboardSpec) -> bool:
    return "sealed" in (phase.podium.visibility, board.podium.visibility)


def _score_keys(board: LeaderboardSpec) -> set[str]:
    return {column.key for column in board.columns if column.computation is None and not column.podium.meter}


def _used_boards(spec: CompetitionSpec) -> list[LeaderboardSpec]:
    """The first of the bundle, for the others of it are on no phase, and those of single phases."""
    return [*spec.leaderboards[:1], *(board for phase in spec.phases for board in phase.podium.leaderboards or [])]


def _boards(spec: CompetitionSpec) -> Found:
    for phase in spec.phases:
        yield from _same_keys(phase.podium.leaderboards or [])
    for board in _used_boards(spec):
        yield from _twice(board)
        indexes = {column.index for column in board.columns}
        for column in board.columns:
            yield from _computation(column, indexes)
            yield from _deviation(column, board)
        yield from _circles(board)


def _same_keys(boards: list[LeaderboardSpec]) -> Found:
    keys: set[str] = set()
    for board in boards:
        key = board_key(board)
        if key in keys:
            message = f"the key {board.key!r} stands for {key!r}, as that of another leaderboard of the phase does; give each its own"
            yield (*board.where, "key"), message
        keys.add(key)


def _twice(board: LeaderboardSpec) -> Found:
    keys: set[str] = set()
    indexes: set[int] = set()
    for column in board.columns:
        if column.key in keys:
            yield (*column.where, "key"), f"the key {column.key!r} is that of another column; give each its own"
        if column.index in indexes:
            yield (*column.where, "index"), f"the index {column.index} is that of another column; give each its own"
        keys.add(column.key)
        indexes.add(column.index)


def _computation(column: ColumnSpec, indexes: set[int]) -> Found:
    chosen = column.computation_indexes or []
    if column.computation is None and not chosen:
        return
    if column.computation is None:
        yield column.where, "`computation_indexes` need a `computation`: avg, sum, min or max"
    if not chosen:
        message = f"the computation {column.computation!r} needs `computation_indexes`, a list of column indexes"
        yield column.where, message
    if column.index in chosen:
        yield (*column.where, "computation_indexes"), "a column cannot be computed from itself; name other columns"
    if unknown := sorted(set(chosen) - indexes):
        known = ", ".join(map(str, sorted(indexes)))
        yield (*column.where, "computation_indexes"), f"there are no columns {unknown}; there are {known}"


def _deviation(column: ColumnSpec, board: LeaderboardSpec) -> Found:
    """A board keeps the scores of its columns alone, so a deviation is one of them; a hidden one will do."""
    others = [other.key for other in board.columns if other.key != column.key]
    if column.podium.spread and column.podium.spread not in others:
        message = (
            f"no other column has the key {column.podium.spread!r}, so there is no deviation to show; add one with that key, "
            f"with `hidden: true` if it is to be seen behind ± alone, or name one of the others: {', '.join(others) or 'none'}"
        )
        yield ((*column.where, "podium", "spread"), message)


def _circles(board: LeaderboardSpec) -> Found:
    """Columns that can never be computed, because each of them waits for another."""
    known = {column.index for column in board.columns}
    left = [column for column in board.columns if column.computation is not None]
    have = known - {column.index for column in left}
    while ready := [column for column in left if not set(column.computation_indexes or ()) & (known - have)]:
        have |= {column.index for column in ready}
        left = [column for column in left if column not in ready]
    for column in left:
        if column.index not in (column.computation_indexes or ()):  # said already
            message = "the columns are computed from each other in a circle; name at least one that the scoring program writes"
            yield (*column.where, "computation_indexes"), message


def _questions(spec: CompetitionSpec) -> Found:
    for key, question in (spec.fact_sheet or {}).items():
        where = ("fact_sheet", key)
        if question.key != key:
            yield (*where, "key"), f"the inner key {question.key!r} must equal the outer one, {key!r}"
        if question.type == "select" and not question.selection:
            yield (*where, "selection"), "a question of the type select needs a list of choices"
