"""Rows in the words of Codabench's API."""

import hashlib
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypedDict

from django.db.models import BooleanField, Model, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import User
from competitions.bundles.settings import written_settings
from competitions.bundles.writer import fact_sheet_yaml
from competitions.catalog.downloads import phase_downloads
from competitions.catalog.models import Column, Competition, Leaderboard, Phase, Task
from competitions.catalog.services import current_rules
from competitions.codabench_api.files import address
from competitions.disclosure.outputs import may_download
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import gives_exact_scores, may_see_board
from competitions.leaderboards.ranking.rules import CODABENCH_NAMES
from competitions.leaderboards.reading.results import submission_columns
from competitions.resources.models import Resource
from competitions.runs.models import Run
from competitions.submissions.models import Submission
from competitions.submissions.states import REASONS, Reason, State
from files.bundles.schema import PHASE_FILES

STATUS: Final = {
    State.CHECKING: "Submitting",
    State.UNSTARTED: "Submitting",  # as there, until an organizer starts it
    State.QUEUED: "Submitted",
    State.LEASED: "Preparing",
    State.PREPARING: "Preparing",
    State.INGESTING: "Running",
    State.SCORING: "Scoring",
    State.FINISHED: "Finished",
    State.FAILED: "Failed",
    State.CANCELLED: "Cancelled",
}
TASK_PARTS: Final = (
    "owner",
    "scoring_program__file",
    "ingestion_program__file",
    "input_data__file",
    "reference_data__file",
)
# Codabench's names of what a run leaves, and Podium's.
RESULTS: Final = {
    "prediction_result": "predictions.zip",
    "scoring_result": "scoring.zip",
    "detailed_result": "detailed_results.html",
}
# Yes or no of a competition, from the declaration of its settings.
COMPETITION_FLAGS: Final = tuple(
    field
    for field, place in Competition.bundle.items()
    if field == place and isinstance(Competition._meta.get_field(field), BooleanField)
)


class ScoreLine(TypedDict):
    id: int
    index: int
    column_key: str
    score: str
    is_primary: bool
    task: int | None
    task_id: int | None


class TaskFiles(TypedDict):
    task: int
    logs: list[dict[str, str]]
    prediction_result: str | None
    scoring_result: str | None
    detailed_result: str | None


def shared_settings(row: Model) -> dict[str, object]:
    """The row's settings that Codabench has, too, by their keys in a bundle."""
    return {key: value for key, value in written_settings(row).items() if key != "podium"}


def competition_row(competition: Competition) -> dict[str, object]:
    """One line of the list."""
    owner = next(iter(competition.organizers.all()), None)  # `first()` would not use what was prefetched
    return {
        "id": competition.pk,
        "title": competition.title,
        "created_by": owner.username if owner else "podium",
        "created_when": competition.created_at.isoformat(),
        "published": competition.is_published,
        "description": competition.subtitle,
        "competition_type": competition.competition_type,
        "reward": competition.reward or None,
        "contact_email": competition.contact_email or None,
        "logo": f"/competitions/{competition.slug}/logo/" if competition.logo_id else None,
        "slug": competition.slug,
    }


def competition_shape(competition: Competition, user: Any, *, as_member: bool = False) -> dict[str, object]:
    """The whole of a competition that the asker may see; `as_member`: whatever they organize."""
    phases = load_phases(competition.phases.all())
    pages = [{"title": page.title, "content": page.body, "index": page.index} for page in competition.pages.all()]
    manages = isinstance(user, User) and Competition.objects.managed_by(user).filter(pk=competition.pk).exists()
    with_hidden = manages and not as_member
    known = [board for phase in phases for board in phase.leaderboards.all() if with_hidden or not board.is_hidden]
    boards = [board_shape(board, with_hidden=with_hidden) for board in known]
    rules = current_rules(competition)
    return competition_row(competition) | {
        **{name: getattr(competition, name) for name in COMPETITION_FLAGS},
        "terms": rules.text if rules is not None else "",
        "docker_image": competition.image_name,
        "registration_auto_approve": competition.registration_policy == Competition.RegistrationPolicy.OPEN,
        "queue": {"name": competition.queue.name},
        "phases": [phase_shape(phase, timezone.now()) for phase in phases],
        "pages": pages,
        "leaderboards": boards,
        "fact_sheet": fact_sheet_yaml(competition) or None,
        "participant_status": _participant(competition, user),
        "admin": manages,
    }


def _participant(competition: Competition, user: Any) -> str | None:
    if not isinstance(user, User):
        return None
    registration = competition.registrations.filter(user=user).first()
    return registration.state if registration else None


def load_phases(phases: QuerySet[Phase]) -> QuerySet[Phase]:
    """These phases with what their shapes need."""
    files = [f"{name}__file" for name in PHASE_FILES]
    return phases.select_related("competition", *files).prefetch_related("tasks", "leaderboards__columns")


def phase_shape(phase: Phase, now: datetime) -> dict[str, object]:
    """A phase with its tasks, and the files that its participants may have."""
    downloads = phase_downloads(phase, now)
    board = phase.main_board
    return shared_settings(phase) | {
        "id": phase.pk,
        "index": phase.index,
        "name": phase.name,
        "status": "Next" if now < phase.opens_at else "Current" if phase.is_open(now) else "Previous",
        "competition": phase.competition_id,
        "leaderboard": board.pk if board is not None and not board.is_hidden else None,
        **{name: dataset_shape(getattr(phase, name)) for name in PHASE_FILES},
        "tasks": [
            task_row(task) | {"public_datasets": _opened(task, downloads), "solutions": []}
            for task in phase.tasks.all()
        ],
        "max_submissions_per_person": phase.max_submissions,
        "accepts_only_result_submissions": phase.as_on_codabench and not phase.accepts_code,
    }


def _opened(task: Task, downloads: Mapping[str, Resource]) -> list[dict[str, object] | None]:
    """The task's programs and data that participants may have."""
    return [dataset_shape(resource) for name, resource in downloads.items() if name.endswith(f"-{task.pk}")]


def task_row(task: Task) -> dict[str, object]:
    return {"id": task.pk, "key": str(task.key), "name": task.name, "description": task.description}


def task_shape(task: Task, *, with_files: bool = True, owner: User | None = None) -> dict[str, object]:
    """A task with its programs and data, by key; participants have no use for these.

    Its `owner` sees with whom it is shared.
    """
    shared_with = task.shared_with.all() if owner is not None and task.owner_id == owner.pk else ()
    return task_row(task) | {
        "created_by": task.owner.username if task.owner else None,
        "created_when": None,
        "is_public": task.is_public,
        "ingestion_only_during_scoring": task.ingestion_only_during_scoring,
        "validated": None,
        "shared_with": [user.username for user in shared_with],
        **{
            name: dataset_shape(getattr(task, name)) if with_files else None
            for name in ("input_data", "ingestion_program", "reference_data", "scoring_program")
        },
    }


def dataset_shape(resource: Resource | None) -> dict[str, object] | None:
    if resource is None:
        return None
    return {
        "id": resource.pk,
        "key": str(resource.key),
        "name": resource.name,
        "type": resource.kind,
        "file_name": resource.file_name,
        "file_size": resource.file.size_bytes,
    }


def dataset_row(resource: Resource) -> dict[str, object]:
    """A dataset of the asker's own, in full."""
    named = dataset_shape(resource) or {}
    return named | {
        "created_by": resource.owner.username,
        "created_when": resource.created_at.isoformat(),
        "description": "",
        "is_public": resource.is_public,
        "url": f"/datasets/download/{resource.key}/",
    }


def board_shape(board: Leaderboard, *, with_hidden: bool = False) -> dict[str, object]:
    """A board and its columns, without rows; `with_hidden`: also those that its organizers alone know of."""
    columns = list(board.columns.all()) if with_hidden else board.visible_columns
    primary = next((column.index for column in columns if column.is_primary), 0)
    return {
        "id": board.pk,
        "title": board.title,
        "key": board.key,
        "hidden": board.is_hidden,
        "submission_rule": CODABENCH_NAMES.get(Leaderboard.Rule(board.rule), "Selected"),
        "primary_index": primary,
        "columns": column_shapes(columns),
    }


def column_shapes(columns: list[Column]) -> list[dict[str, object]]:
    """These columns; one that is computed names those of them that it is made of."""
    indexes = {column.key: column.index for column in columns}
    return [
        shared_settings(column)
        | {
            "id": column.pk,
            "index": column.index,
            "computation": column.computation or None,
            "computation_indexes": [indexes[key] for key in column.sources if key in indexes] or None,
        }
        for column in columns
    ]


def submission_shape(submission: Submission, reader: Reader, *, is_exact: bool = True) -> dict[str, object]:
    """A submission for its team or organizers; `is_exact`: with unrounded scores where its board has them."""
    runs = [run for run in submission.runs.all() if not run.is_smoke]
    task = runs[0].task if len(runs) == 1 else None
    board = submission.phase.main_board
    counting = [
        score
        for score in submission.scores.all()
        if board and score.leaderboard_id == board.pk and hasattr(score, "entry")
    ]
    sees = may_see_board(reader, board)
    return {
        "id": submission.pk,
        "pk": submission.pk,
        "phase": submission.phase_id,
        "phase_name": submission.phase.name,
        "name": submission.file_name,
        "filename": submission.file_name,
        "description": submission.description,
        "created_when": submission.created_at.isoformat(),
        "owner": sender_name(submission),
        "status": STATUS[State(submission.status)],
        "status_details": status_details(submission, list(submission.runs.all())),
        "is_public": False,
        "is_specific_task_re_run": submission.is_task_rerun,
        "has_children": len(runs) > 1,
        "parent": None,
        "children": [],
        "task": task_shape(task, with_files=reader.organizes(submission.phase)) if task else None,
        "scores": score_lines(submission, board, submission_columns(reader, submission, board), is_exact=is_exact),
        "fact_sheet_answers": submission.fact_sheet or None,
        "leaderboard": board.pk if sees and counting and board else None,
        "on_leaderboard": bool(sees and counting),
        "auto_run": submission.phase.competition.auto_run_submissions,
        "can_make_submissions_public": False,
        "is_soft_deleted": False,
    }


def repeat_shape(submission: Submission, reader: Reader) -> dict[str, object]:
    """A repeated submission for the service account that ran it again, without the team's own texts."""
    withheld = {"name": "", "filename": "", "description": "", "status_details": None, "fact_sheet_answers": None}
    return submission_shape(submission, reader, is_exact=False) | withheld


def sender_name(submission: Submission) -> str:
    """The username of its sender; of a submission that was run again, the sender of the first."""
    while submission.rerun_of is not None:
        submission = submission.rerun_of
    return submission.submitted_by.username


def made_shape(submission: Submission, reader: Reader, key: str) -> dict[str, object]:
    """The answer to a new submission, with time in minutes and the empty fields of Codabench."""
    return submission_shape(submission, reader) | {
        "status": "Submitting",
        "data": key,
        "md5": None,
        "organization": None,
        "queue": submission.phase.competition.queue.name,
        "created_when": f"{submission.created_at:%Y-%m-%d %H:%M}",
    }


def status_details(submission: Submission, runs: list[Run]) -> str | None:
    """Podium's verdict in one line: the reason, what happened, and what the team should do."""
    if submission.status != State.FAILED:
        sentences = {
            State.CHECKING: "The file is being checked.",
            State.UNSTARTED: "Waiting for the organizers to start it.",
            State.QUEUED: "Waiting for a compute worker.",
        }
        return sentences.get(State(submission.status))
    failed = next((run for run in runs if run.state == State.FAILED), None)
    reason = Reason(submission.reason)
    detail = failed.detail if failed else ""
    return f"{reason.label}: {detail} {REASONS[reason].advice}".strip()


def score_lines(
    submission: Submission, board: Leaderboard | None, columns: list[Column], *, is_exact: bool
) -> list[ScoreLine]:
    """A line for each score, by task where the board shows that, and for each column over all tasks.

    As far as readers may see.
    """
    if board is None:
        return []
    runs = [run for run in submission.runs.all() if not (run.fills_board or run.is_smoke)]
    shown = Column.exact if is_exact and gives_exact_scores(board) else Column.shown
    over_all = _values_over_all(submission, board)
    lines: list[ScoreLine] = []
    scores: list[tuple[int | None, float]]
    for column in columns:
        if column.kind == Column.Kind.SCORE and board.shows_each_task:
            scores = [(run.task_id, run.scores[column.key]) for run in runs if is_score(run.scores.get(column.key))]
        else:
            task = runs[0].task_id if len(runs) == 1 else None
            scores = [(task, over_all[column.key])] if column.key in over_all else []
        lines += [score_line(column, submission.pk, task, shown(column, value)) for task, value in scores]
    return lines


def _values_over_all(submission: Submission, board: Leaderboard) -> dict[str, float]:
    """The submission's values on the board; those of its row, with average ranks, if it counts."""
    score = next((score for score in submission.scores.all() if score.leaderboard_id == board.pk), None)
    if score is None:
        return {}
    values: dict[str, float] = score.entry.values if hasattr(score, "entry") else score.values
    return values


def is_score(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def score_line(column: Column, submission: int, task: int | None, score: str) -> ScoreLine:
    """A score in Codabench's words; its id is a digest, since scores have no rows of their own here."""
    named = hashlib.sha256(f"{submission} {task} {column.key}".encode()).digest()
    number = int.from_bytes(named[:7]) >> 3  # 53 bits: JavaScript reads no larger number exactly
    return {
        "id": number,
        "index": column.index,
        "column_key": column.key,
        "score": score,
        "is_primary": column.is_primary,
        "task": task,
        "task_id": task,
    }


def details_shape(submission: Submission, reader: Reader, request: HttpRequest) -> dict[str, object]:
    """Files and logs of a submission, as addresses that need no header."""
    board = submission.phase.main_board
    tasks = []
    for run in sorted(submission.runs.all(), key=lambda run: run.is_smoke):
        outputs = run.outputs.filter(attempt=run.attempt).order_by("name")
        shown = [output for output in outputs if may_download(reader, submission.phase, output.name, run=run)]
        tasks.append(
            files_shape(run, {output.name: address(request, "codabench:output", output.pk) for output in shown})
        )
    return {
        "data_file": address(request, "codabench:file", submission.pk),
        "logs": [log for files in tasks for log in _told_apart(files, len(tasks))],
        **{name: tasks[0].get(name) if tasks else None for name in RESULTS},
        "tasks": tasks,
        "leaderboards": [board_shape(board)]
        if board is not None and may_see_board(reader, board) and not board.is_hidden
        else [],
        "fact_sheet_answers": submission.fact_sheet or None,
        "is_admin": reader.organizes(submission.phase),
    }


def files_shape(run: Run, addresses: dict[str, str]) -> TaskFiles:
    """Addresses of one run's files by Codabench's names, from addresses by Podium's names."""
    logs = [{"name": log_name(run, name), "data_file": url} for name, url in addresses.items() if name.endswith(".log")]
    return {
        "task": run.task_id,
        "logs": logs,
        "prediction_result": addresses.get(RESULTS["prediction_result"]),
        "scoring_result": addresses.get(RESULTS["scoring_result"]),
        "detailed_result": addresses.get(RESULTS["detailed_result"]),
    }


def log_name(run: Run, name: str) -> str:
    """Codabench's name of a log; what a program writes to standard error is in the same one here."""
    if name == "ingestion.log" and run.task.ingestion_program_id is not None:
        return f"{'scoring' if run.task.runs_beside_scoring else 'prediction'}_ingestion_stdout"
    return "scoring_stdout" if name == "scoring.log" else "prediction_stdout"


def _told_apart(files: TaskFiles, count: int) -> list[dict[str, str]]:
    """The logs of one task; where there are several, its number stands in their names."""
    if count == 1:
        return files["logs"]
    return [log | {"name": f"{log['name']}_task_{files['task']}"} for log in files["logs"]]
