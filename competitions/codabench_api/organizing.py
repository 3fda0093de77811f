"""Codabench's calls on fact sheets, tasks, queues, participants, quota and dumps."""

from typing import Final, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.http import require_safe
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope, User
from competitions.bundles.codabench_gaps import codabench_gaps
from competitions.bundles.exports import export_begin, export_recent
from competitions.bundles.imports import task_import_begin
from competitions.bundles.models import BundleImport
from competitions.bundles.reading.faults import InvalidBundle
from competitions.catalog.models import Competition, Phase
from competitions.catalog.rights import organizes
from competitions.codabench_api.base import BadForm, RobotView
from competitions.codabench_api.files import address, read_address
from competitions.codabench_api.shapes import task_shape
from competitions.codabench_api.uploads import report_of
from competitions.codabench_api.waiting import wait_until_over
from competitions.compute.models import Queue
from competitions.leaderboards.auto_migration import phase_migrate
from competitions.resources.downloads import stored_response
from competitions.resources.uploads import upload_whole
from competitions.resources.versions import storage_used
from competitions.submissions.fact_sheets import fact_sheet_edit
from core.numbers import is_number
from core.refusals import NotAllowed

ASK_AGAIN_S: Final = 5
EXPORT_WAITS: Final = "The bundle is still being written. Ask again in a few seconds."
EXPORT_FAILED: Final = (
    "The bundle could not be written by a fault of this site. Ask again in a minute, or tell the administrators."
)


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
        return Response({"status": "Success", "url": url, "warnings": codabench_gaps(competition)}, status=201)


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
