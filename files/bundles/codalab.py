"""The shapes of CodaLab 1.5 and 1.8, told in the keys of version 2.

Nothing is checked here that the schema checks afterwards; every part remembers where it stood, for the messages.
"""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Final

from files.bundles.document import Document, DocumentReader
from files.bundles.faults import Report, Where
from files.bundles.schema import TASK_FILES
from files.bundles.types import read_instant

ROOT_SAME: Final = (
    "title",
    "description",
    "image",
    "queue",
    "auto_run_submissions",
    "enable_detailed_results",
    "show_detailed_results_in_submission_panel",
    "show_detailed_results_in_leaderboard",
    "make_programs_available",
    "make_input_data_available",
    "reward",
    "contact_email",
    "fact_sheet",
    "competition_type",
)
PHASE_SAME: Final = (
    "description",
    "max_submissions",
    "max_submissions_per_day",
    "execution_time_limit",
    "public_data",
    "starting_kit",
    "hide_output",
    "hide_prediction_output",
    "hide_score_output",
)
IGNORED_ROOT: Final = {
    "column_groups": "columns stand side by side",
    "admin_names": "add organizers on the competition's page",
    "allow_teams": "teams are always allowed; `max_team_size` on the competition limits them",
    "anonymous_leaderboard": "boards show team names",
    "allow_public_submissions": "submissions are seen by their team and the organizers",
    "enable_forum": "there is a discussion; its place is chosen in the settings",
    "enable_per_submission_metadata": "a submission has a description and a fact sheet",
    "show_datasets_from_yaml": "files are listed on the Data page",
    "start_date": "a competition starts with its first phase",
    "force_submission_to_leaderboard": "its value asks for nothing",
    "force_best_submission_to_leaderboard": "its value asks for nothing",
    "disallow_leaderboard_modifying": "who changes the board follows from its submission rule: with Force_Last and Force_Best, nobody",
    "has_registration": "",
    "competition_docker_image": "",
    "docker_image": "",
    "end_date": "",
    "html": "",
    "phases": "",
    "leaderboard": "",
    "version": "",
}
IGNORED_PHASE: Final = {
    "color": "phases have no colours",
    "is_scoring_only": "whether code is run follows from the programs and the submission",
    "datasets": "link to them on the page Data",
    "is_parallel_parent": "",
    "parent_phasenumber": "",
    "phasenumber": "",
    "label": "",
    "start_date": "",
    "auto_migration": "",
    "ingestion_program_only_during_scoring": "",
}
IGNORED_COLUMN: Final = {
    "selection_default": "the primary column is the first one",
    "column_group": "columns stand side by side",
}
NEVER_OPEN: Final = timedelta(seconds=1)
LATEST: Final = datetime.max.replace(tzinfo=UTC) - NEVER_OPEN


def is_legacy(data: dict[str, object]) -> bool:
    """True for the shape of 1.5: a mapping of phases, pages by title, or columns outside boards."""
    board = data.get("leaderboard")
    return (
        isinstance(data.get("phases"), dict)
        or isinstance(data.get("html"), dict)
        or (isinstance(board, dict) and ("leaderboards" in board or "columns" in board))
    )


class Legacy(DocumentReader):
    """One document of the old shape. `spec()` gives the keys of version 2; the report gets the notes."""

    def __init__(self, document: Document, report: Report) -> None:
        self.document, self.report = document, report
        self.data: dict[str, object] = document.data

    def spec(self) -> dict[str, object]:
        """The competition in the keys of version 2, each part with `where` it stood."""
        data = self.data
        spec: dict[str, object] = {key: data[key] for key in ROOT_SAME if key in data}
        spec["docker_image"] = data.get("competition_docker_image") or data.get("docker_image") or ""
        spec["registration_auto_approve"] = not _flag(data.get("has_registration"), default=True)
        self._pages(spec)
        self._phases(spec)
        self._boards(spec)
        self._left_out(data, (), set(ROOT_SAME), IGNORED_ROOT)
        return spec

    def _note_mapping(self, where: Where, message: str) -> None:
        self.report.mapped.append(self.document.note(where, message))

    def _pages(self, spec: dict[str, object]) -> None:
        pages = self.data.get("html")
        if not isinstance(pages, dict) or not pages:
            self.add_fault(("html",), "there are no pages; `html` must map titles to files, with at least `terms`")
            spec["pages"] = []
            return
        if not pages.get("terms"):
            self.add_fault(("html",), "the page `terms` is missing; add `terms: terms.html` with the rules")
        spec["terms"] = pages.get("terms")
        spec["pages"] = [
            {"title": title, "file": file, "where": ("html", title)}
            for title, file in pages.items()
            if title != "terms"
        ]

    def _phases(self, spec: dict[str, object]) -> None:
        phases = self.data.get("phases")
        if isinstance(phases, list):
            phases = dict(enumerate(phases))
        if not isinstance(phases, dict) or not phases:
            self.add_fault(("phases",), "there are no phases; `phases` must map a number to each phase")
            spec["phases"] = spec["tasks"] = []
            return
        for key, phase in phases.items():
            if not isinstance(phase, dict):
                self.add_fault(("phases", key), "a phase must be a mapping of keys such as `label` and `start_date`")
        rows = [(key, phase) for key, phase in phases.items() if isinstance(phase, dict)]
        rows.sort(key=lambda row: _number(row[1].get("phasenumber")))
        rows = self._without_parent(rows)
        spec["tasks"] = [self._task(number, key, phase) for number, (key, phase) in enumerate(rows)]
        specs = [self._phase(number, key, phase) for number, (key, phase) in enumerate(rows)]
        self._ends(specs)
        spec["phases"] = specs

    def _without_parent(self, rows: list[tuple[Any, dict[str, object]]]) -> list[tuple[Any, dict[str, object]]]:
        parallel = any("parent_phasenumber" in phase or phase.get("is_parallel_parent") for _, phase in rows)
        if not parallel or len(rows) < 2:
            return rows
        self.report.shape = "1.8"
        self._note_mapping(
            ("phases", rows[0][0]), "the parent of parallel phases is left out; its children follow each other"
        )
        return rows[1:]

    def _task(self, number: int, key: Any, phase: dict[str, object]) -> dict[str, object]:
        label = str(phase.get("label") or f"Phase {number + 1}")
        task: dict[str, object] = {name: phase[name] for name in TASK_FILES if phase.get(name) is not None}
        during = _flag(phase.get("ingestion_program_only_during_scoring"), default=False)
        return task | {
            "index": number,
            "name": f"{label} Task",
            "ingestion_only_during_scoring": during,
            "where": ("phases", key),
        }

    def _phase(self, number: int, key: Any, phase: dict[str, object]) -> dict[str, object]:
        where = ("phases", key)
        self._left_out(phase, where, {*PHASE_SAME, *TASK_FILES}, IGNORED_PHASE)
        spec: dict[str, object] = {name: phase[name] for name in PHASE_SAME if phase.get(name) is not None}
        if "label" not in phase:
            self.add_fault(where, "the phase has no `label`, which is its name")
        start = self._date((*where, "start_date"), phase.get("start_date"), needed=True)
        return spec | {
            "index": number,
            "name": phase.get("label") or f"Phase {number + 1}",
            "tasks": [number],
            "where": where,
            "start": start or datetime.min.replace(tzinfo=UTC),
            "auto_migrate_to_this_phase": _flag(phase.get("auto_migration"), default=False),
        }

    def _ends(self, phases: list[dict[str, Any]]) -> None:
        """A phase ends a day before the next one starts; the last one with the competition."""
        for phase, following in pairwise(phases):
            phase["end"] = following["start"] - timedelta(days=1) if following["start"].year > 1 else None
            self._not_before_start(
                phase, "it would end a day before the next phase starts, which is before its own start"
            )
        if phases:
            phases[-1]["end"] = self._date(("end_date",), self.data.get("end_date"), needed=False)
            self._not_before_start(phases[-1], "`end_date` is before its start")

    def _not_before_start(self, phase: dict[str, Any], why: str) -> None:
        if phase["end"] is not None and phase["end"] <= phase["start"]:
            phase["end"] = min(phase["start"], LATEST) + NEVER_OPEN
            self.add_warning(phase["where"], f"the phase is closed from its start on: {why}. Set its end afterwards")

    def _date(self, where: Where, value: Any, *, needed: bool) -> datetime | None:
        if value is None or str(value).strip().lower() in ("", "null", "none"):
            if needed:
                self.add_fault(where, "the date is missing; write it as 2027-03-31 13:30:00")
            return None
        try:
            return read_instant(str(value))
        except ValueError as error:
            self.add_fault(where, str(error))
            return None

    def _boards(self, spec: dict[str, object]) -> None:
        board = self.data.get("leaderboard")
        boards = board.get("leaderboards") if isinstance(board, dict) else None
        columns = board.get("columns") if isinstance(board, dict) else None
        if not isinstance(boards, dict) or not boards or not isinstance(columns, dict) or not columns:
            what = "leaderboards" if not isinstance(boards, dict) or not boards else "columns"
            self.add_fault(("leaderboard", what), f"`leaderboard` must hold a mapping `{what}` that is not empty")
            spec["leaderboards"] = []
            return
        rule = self._rule()
        leaderboards = [
            self._board(key, board, columns, rule, first=n == 0) for n, (key, board) in enumerate(boards.items())
        ]
        spec["leaderboards"] = [board for number, board in enumerate(leaderboards) if board["columns"] or number == 0]

    def _board(self, key: str, board: Any, columns: dict[str, object], rule: str, *, first: bool) -> dict[str, object]:
        where = ("leaderboard", "leaderboards", key)
        label = str(board.get("label") or key) if isinstance(board, dict) else str(key)
        board_columns = [
            (name, column)
            for name, column in columns.items()
            if isinstance(column, dict) and _belongs_to(column, label)
        ]
        board_columns.sort(key=lambda item: _number(item[1].get("rank"), default=1))
        if first and not board_columns:
            self.add_fault(
                where, f"no column belongs to the leaderboard {label!r}; give a column `leaderboard: *anchor` of it"
            )
        column_specs = [
            self._column(number, name, column, board_columns) for number, (name, column) in enumerate(board_columns)
        ]
        return {
            "title": key,
            "key": key,
            "columns": column_specs,
            "submission_rule": rule,
            "primary_index": 0,
            "where": where,
        }

    def _column(
        self, number: int, name: str, column: dict[str, object], board_columns: list[tuple[str, dict[str, object]]]
    ) -> dict[str, object]:
        where = ("leaderboard", "columns", name)
        spec: dict[str, object] = {
            "key": name,
            "title": column.get("label") or name,
            "index": number,
            "where": where,
            "sorting": column.get("sort") or "desc",
            "hidden": _flag(column.get("hidden"), default=False),
            "precision": 2 if column.get("numeric_format") is None else column["numeric_format"],
        }
        computed = column.get("computed")
        if isinstance(computed, dict):
            spec |= self._computed((*where, "computed"), computed, [key for key, _ in board_columns])
        known = {"leaderboard", "label", "sort", "rank", "numeric_format", "hidden", "computed"}
        self._left_out(column, where, known, IGNORED_COLUMN)
        return spec

    def _computed(self, where: Where, computed: dict[str, object], keys: list[str]) -> dict[str, object]:
        operation = str(computed.get("operation") or "").strip().lower()
        fields = computed.get("fields")
        if isinstance(fields, str):
            fields = [part.strip() for part in fields.split(",")]
        names = fields if isinstance(fields, list) else []
        unknown = [name for name in names if name not in keys]
        if operation not in ("avg", "mean") or not names or unknown:
            message = f"the computation {operation or '?'!r} of {names} is left out: it needs `operation: Avg` and columns of this board"
            self.add_warning(where, message)
            return {}
        self._note_mapping(where, "`Avg` becomes the average of the ranks in these columns, as CodaLab computed it")
        return {
            "computation": "avg_rank",
            "computation_indexes": [keys.index(name) for name in names],
            "sorting": "asc",
        }

    def _rule(self) -> str:
        rules = (
            ("force_best_submission_to_leaderboard", "Force_Best"),
            ("force_submission_to_leaderboard", "Force_Last"),
        )
        for key, rule in rules:
            if _flag(self.data.get(key), default=False):
                self._note_mapping((key,), f"becomes the submission rule {rule}")
                return rule
        return "Add"

    def _left_out(self, data: dict[str, object], where: Where, known: set[str], ignored: dict[str, str]) -> None:
        forced = ("force_best_submission_to_leaderboard", "force_submission_to_leaderboard")
        for key in data:
            place = (*where, key)
            if key in known or ignored.get(key) == "" or (key in forced and _flag(data[key], default=False)):
                continue
            if key in ignored:
                self.report.ignored.append(self.document.note(place, ignored[key]))
            else:
                self.add_warning(place, f"the key {key!r} is not known here and is left out")


def _belongs_to(column: dict[str, object], label: str) -> bool:
    board = column.get("leaderboard")
    board_label = board.get("label") if isinstance(board, dict) else board
    return str(board_label or "").strip().lower() == label.strip().lower()


def _flag(value: Any, *, default: bool) -> bool:
    if value is None:
        return default
    return str(value).strip().lower() in ("true", "yes", "on", "1") if not isinstance(value, bool) else value


def _number(value: Any, default: float = 0) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return default
