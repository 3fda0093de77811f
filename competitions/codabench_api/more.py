"""Further calls of Codabench's API: boards, what stands on them, tasks, queues, participants, dumps."""

import csv
import io
import zipfile
from collections.abc import Mapping
from typing import Any, Final, cast

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.http import require_safe
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope, User
from competitions.bundles.exports import export_begin, export_recent
from competitions.bundles.imports import task_import_begin
from competitions.bundles.models import BundleImport
from competitions.bundles.reading.faults import InvalidBundle
from competitions.catalog.models import Competition, Leaderboard, Phase
from competitions.catalog.rights import organizes
from competitions.codabench_api.base import BadForm, RobotView
from competitions.codabench_api.files import address, read_address
from competitions.codabench_api.shapes import board_shape, task_shape
from competitions.codabench_api.uploads import report_of
from competitions.codabench_api.waiting import wait_until_over
from competitions.compute.models import Queue
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import Sealed, may_know_of, may_see_scores
from competitions.leaderboards.auto_migration import phase_migrate
from competitions.leaderboards.picks import pick_add, pick_remove
from competitions.leaderboards.ranking.fact_columns import fact_columns
from competitions.leaderboards.reading.board import all_rows
from competitions.resources.downloads import stored_response
from competitions.resources.uploads import upload_whole
from competitions.resources.versions import storage_used
from competitions.submissions.fact_sheets import fact_sheet_edit
from core.numbers import is_number
from core.refusals import NotAllowed
from core.spreadsheets import safe_cell

ASK_AGAIN_S: Final = 5
EXPORT_WAITS: Final = "The bundle is still being written. Ask again in a few seconds."
EXPORT_FAILED: Final = (
    "The bundle could not be written by a fault of this site. Ask again in a minute, or tell the administrators."
)


def visible_board(reader: Reader, phase: Phase) -> Leaderboard:
    """The phase's main board, for those who may see it. Raises `Sealed` or 404."""
    board = phase.main_board
    if board is None or not may_know_of(reader, board):
        raise Http404
    if not may_see_scores(reader, board):
        raise Sealed(board)
    return board


def rows_of(board: Leaderboard) -> list[dict[str, Any]]:
    """Every row: the team, its submission, its values as they are shown, and what it answered for everybody."""
    columns = board.visible_columns
    facts = fact_columns(board.phase)
    return [
        {
            "rank": row.rank, "owner": row.entry.team.name, "submission": row.entry.score.submission_id,
            "scores": {column.key: column.shown(row.entry.values[column.key]) for column in columns if column.key in row.entry.values},
            "fact_sheet_answers": {fact.question.key: row.entry.values[fact.key] for fact in facts if fact.key in row.entry.values},
        }
        for row in all_rows(board)
    ]  # fmt: skip


class PhaseBoard(RobotView):
    """A phase's board with its rows."""

    def get(self, request: Request, pk: int) -> Response:
        phase = get_object_or_404(Phase.objects.visible_to(request.user).select_related("competition"), pk=pk)
        board = visible_board(self.reader, phase)
        return Response(board_shape(board) | {"submissions": rows_of(board)})


class Results(RobotView):
    """The boards of a competition, or of the phase that is asked for, as JSON, as CSV, or as a zip of one CSV a phase."""

    def get(self, request: Request, pk: int, form: str) -> HttpResponse:
        competition = get_object_or_404(Competition.objects.visible_to(request.user), pk=pk)
        asked = request.query_params.get("phase", "")
        phases = competition.phases.filter(pk=int(asked)) if is_number(asked) else competition.phases.all()
        found = {}
        for phase in phases:
            try:
                name = phase.name if phase.name not in found else f"{phase.name} ({phase.slug})"
                found[name] = rows_of(visible_board(self.reader, phase))
            except (Sealed, Http404):
                if asked:
                    raise
        if form == "json":
            return Response(found)
        if form == "zip":
            return HttpResponse(_zipped(found), content_type="application/zip")
        return HttpResponse(_as_csv(found), content_type="text/csv")


def _as_csv(found: Mapping[str, list[dict[str, Any]]]) -> str:
    """The rows of these phases, a line for each value."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["phase", "rank", "owner", "submission", "column", "score"])
    for name, rows in found.items():
        for row in rows:
            writer.writerows(
                [safe_cell(name), row["rank"], safe_cell(row["owner"]), row["submission"], key, value]
                for key, value in row["scores"].items()
            )
    return text.getvalue()


def _zipped(found: Mapping[str, list[dict[str, Any]]]) -> bytes:
    """A CSV for each phase, as it is: a request compresses nothing.

    Its name in the archive is in letters that every system takes, with a number before it.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number, (name, rows) in enumerate(found.items(), start=1):
            archive.writestr(f"{number}-{slugify(name)[:60] or 'phase'}.csv", _as_csv({name: rows}))
    return packed.getvalue()


class BoardConnection(RobotView):
    """Put a submission on its phase's board, or take it off, as far as the board's rule lets the team do that."""

    write_scope = Scope.SUBMIT

    def _board(self, pk: int) -> tuple[Any, Leaderboard]:
        submission = self.submission(pk)
        return submission, get_object_or_404(Leaderboard.objects.filter(phase=submission.phase_id)[:1])

    def post(self, request: Request, pk: int) -> Response:
        submission, board = self._board(pk)
        pick_add(board=board, submission=submission, by=self.person(), now=timezone.now())
        return Response({}, status=201)

    def delete(self, request: Request, pk: int) -> Response:
        submission, board = self._board(pk)
        pick_remove(board=board, submission=submission, by=self.person(), now=timezone.now())
        return Response({})


class UpdateFactSheet(RobotView):
    """Change the answers of a submission's fact sheet; the body is a mapping from key to answer."""

    write_scope = Scope.SUBMIT

    def patch(self, request: Request, pk: int) -> Response:
        submission = self.submission(pk)
        answers = self.form.dict() if isinstance(self.form, QueryDict) else self.form
        fact_sheet_edit(submission=submission, answers=answers, by=self.person(), now=timezone.now())
        return Response(self.submission(pk).fact_sheet)


class ManualMigration(RobotView):
    """Run in a phase what counts in the one before, once, without waiting for its start; for organizers."""

    write_scope = Scope.SUBMIT

    def post(self, request: Request, pk: int) -> Response:
        phase = get_object_or_404(Phase.objects.visible_to(self.person()).select_related("competition"), pk=pk)
        if not organizes(self.person(), phase):
            raise NotAllowed("Only the competition's organizers carry submissions into a phase.")
        return Response({"submissions": phase_migrate(phase=phase, now=timezone.now())})


class UploadTask(RobotView):
    """Make a task of a zip with a `task.yaml`."""

    write_scope = Scope.ORGANIZE

    def post(self, request: Request) -> Response:
        user = self.person()
        file = request.FILES.get("file") if hasattr(request.FILES, "get") else None
        if file is None:
            raise BadForm("Send the zip as the field `file`.")
        now = timezone.now()
        sent = upload_whole(user=user, file_name=file.name, size_bytes=file.size, chunks=file.chunks(), now=now)
        assert sent.file is not None, "it came in one piece"
        job = task_import_begin(owner=user, stored=sent.file, file_name=sent.file_name, now=now)
        over = wait_until_over(job)
        if over.task is not None:
            return Response(task_shape(over.task), status=201)
        if over.state == BundleImport.State.FAILED:
            raise InvalidBundle(report_of(over))
        return Response({"status": "Starting", "status_id": job.pk}, status=202)


class Queues(RobotView):
    """The queues that the asker may use."""

    def get(self, request: Request) -> Response:
        return self.page(
            Queue.objects.usable_by(self.person()),
            lambda one: {"id": one.pk, "name": one.name, "vhost": one.name, "is_public": one.owner_id is None},
        )


class Participants(RobotView):
    """Who takes part in a competition, for its organizers."""

    def get(self, request: Request) -> Response:
        asked = request.query_params.get("competition", "")
        managed = Competition.objects.managed_by(self.person())
        competition = get_object_or_404(managed, pk=int(asked) if is_number(asked) else 0)
        rows = competition.registrations.select_related("user").order_by("pk")
        return Response([{"id": one.pk, "username": one.user.username, "status": one.state} for one in rows])


class UserQuota(RobotView):
    """How much room the asker's files take."""

    def get(self, request: Request) -> Response:
        return Response({"quota": settings.ORGANIZER_STORAGE_BYTES, "storage_used": storage_used(self.person())})


class Organizations(RobotView):
    """There are none: an organizer is a person, a participant a team."""

    def get(self, request: Request) -> Response:
        self.person()
        return Response([])


class Dump(RobotView):
    """Where a competition's bundle is fetched; `keys_instead_of_files` for one with keys."""

    write_scope = Scope.ORGANIZE

    def post(self, request: Request, pk: int) -> Response:
        user = self.person()
        competition = get_object_or_404(Competition.objects.managed_by(user), pk=pk)
        keys = self.word("keys_instead_of_files").lower() in ("true", "1", "on")
        export_begin(competition=competition, by=user, with_files=not keys, now=timezone.now())
        url = address(cast("HttpRequest", request), "codabench:dump-file", competition.pk, int(keys), user.pk)
        return Response({"status": "Success", "url": url}, status=201)


@require_safe
def dump_file(request: HttpRequest, token: str) -> HttpResponseBase:
    """The bundle, for whoever was given its address, as long as who asked for it organizes the competition.

    While a background process still writes it, the answer is 503 with the pause after which to ask again, so that no script
    takes anything else for the zip.
    """
    competition, keys, user = read_address(token, "codabench:dump-file") or (0, 0, 0)
    owner = get_object_or_404(User, pk=user, is_active=True)
    dumped = get_object_or_404(Competition.objects.managed_by(owner), pk=competition)
    export = export_recent(competition=dumped, by=owner, with_files=not keys, now=timezone.now())
    export = wait_until_over(export)
    if export.file is not None:
        return stored_response(request, export.file, file_name=export.file_name)
    detail = EXPORT_FAILED if export.is_over else EXPORT_WAITS
    return JsonResponse({"detail": detail}, status=503, headers={"Retry-After": str(ASK_AGAIN_S)})
