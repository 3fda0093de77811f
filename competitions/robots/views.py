"""The calls of Codabench's robots: the same services, permissions and quotas as the native API, in other words.

Bodies are forms, lists are bare, and addresses of files carry their own right. The wire format was read off Codabench's published
example scripts (competition details, example submission, submission details, rerun).
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast
from uuid import UUID

from django.db.models import QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods
from rest_framework.parsers import FormParser, MultiPartParser
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import AnonRateThrottle

from accounts.models import ApiToken, Scope
from competitions.api.parsers import JSONParser
from competitions.api.permissions import HasScope
from competitions.api.views.base import ApiView
from competitions.bundles.imports import import_begin, import_perform
from competitions.bundles.models import BundleImport
from competitions.catalog.models import Competition, Phase, Task
from competitions.catalog.rights import organizes
from competitions.refusals import NotAllowed, Refusal
from competitions.resources.models import Upload
from competitions.resources.storage import CHUNK_BYTES, open_stored
from competitions.resources.uploads import upload_append, upload_begin, upload_resize
from competitions.robots import shapes
from competitions.robots.enrolment import enrol, may_submit
from competitions.robots.files import address, read_address
from competitions.robots.sign_in import sign_in
from competitions.submissions.access import submissions_of
from competitions.submissions.copies import submission_repeat
from competitions.submissions.models import RunOutput, Submission
from competitions.submissions.services import submission_cancel, submission_create
from competitions.submissions.states import Kind

PAGE_PARAMETERS = ("page", "page_size", "limit")
TASKS_A_PAGE = 50


class RobotView(ApiView):
    """Base: forms as well as JSON."""

    parser_classes = [FormParser, MultiPartParser, JSONParser]
    permission_classes = [AllowAny, HasScope]

    def word(self, name: str, default: str = "") -> str:
        """A field of the form as text."""
        return str(self.form.get(name, default) or default)

    @property
    def form(self) -> Any:
        """The body's fields: a `QueryDict` of a form, or the mapping of a JSON body. Raises `BadForm` for anything else."""
        data = self.request.data
        if not isinstance(data, Mapping | QueryDict):
            raise BadForm("Send the fields as a form.")
        return data

    def submissions(self) -> QuerySet[Submission]:
        return (
            submissions_of(self.person())
            .select_related("phase__competition", "team", "submitted_by")
            .prefetch_related("runs__task", "scores__entry", "phase__leaderboards__columns")
        )

    def submission(self, pk: int) -> Submission:
        return get_object_or_404(self.submissions(), pk=pk)


class BadForm(Refusal):
    code, http_status = "invalid", 400


class SignInThrottle(AnonRateThrottle):
    """Passwords are guessed slowly."""

    scope = "sign_in"
    rate = "30/min"


class SignIn(RobotView):
    """POST user name and password, get a token."""

    authentication_classes = []
    throttle_classes = [SignInThrottle]
    write_scope = Scope.READ

    def post(self, request: Request) -> Response:
        token = sign_in(username=self.word("username"), password=self.word("password"), now=timezone.now())
        return Response({"token": token})


class Competitions(RobotView):
    """The competitions that the asker may see, as a bare list."""

    def get(self, request: Request) -> Response:
        found = Competition.objects.visible_to(request.user).select_related("logo").prefetch_related("organizers")
        return Response([shapes.competition_row(one) for one in found[:1000]])


class PublicCompetitions(RobotView):
    """Published competitions, in pages."""

    def get(self, request: Request) -> Response:
        found = Competition.objects.filter(is_published=True).prefetch_related("organizers")
        rows = [shapes.competition_row(one) for one in found[:1000]]
        return Response({"count": len(rows), "next": None, "previous": None, "results": rows})


class CompetitionView(RobotView):
    """One competition with its phases and their tasks."""

    def get(self, request: Request, pk: int) -> Response:
        found = get_object_or_404(Competition.objects.visible_to(request.user), pk=pk)
        return Response(shapes.competition_shape(found, request.user))


class Register(RobotView):
    """Accept the rules in force and take part."""

    write_scope = Scope.TEAM

    def post(self, request: Request, pk: int) -> Response:
        competition = get_object_or_404(Competition.objects.visible_to(request.user), pk=pk)
        registration = enrol(user=self.person(), competition=competition, now=timezone.now())
        return Response({"participant_status": registration.state}, status=201)


class CanMakeSubmission(RobotView):
    """Whether the asker may submit to a phase now, and why not. A program's account is enrolled where everybody may be."""

    def get(self, request: Request, pk: int) -> Response:
        phase = get_object_or_404(Phase.objects.visible_to(request.user).select_related("competition"), pk=pk)
        reason = may_submit(user=self.person(), phase=phase, now=timezone.now())
        return Response({"can": reason is None, "reason": reason})


class Datasets(RobotView):
    """Announce an upload; the answer says where to put it."""

    write_scope = Scope.SUBMIT
    KINDS = ("submission", "competition_bundle")

    def post(self, request: Request) -> Response:
        kind = self.word("type", "submission")
        if kind not in self.KINDS:
            raise BadForm(f"The type {kind!r} is not uploaded here; there are {' and '.join(self.KINDS)}.")
        name = self.word("request_sassy_file_name") or f"{kind}.zip"
        size = self.word("file_size")
        announced = int(float(size)) if size.replace(".", "", 1).isdigit() else 0
        upload = upload_begin(user=self.person(), file_name=name, size_bytes=announced or 1, now=timezone.now())
        made = {"key": str(upload.key), "sassy_url": address(cast("HttpRequest", request), "robots:upload", upload.pk)}
        return Response(made, status=201)


@csrf_exempt
@require_http_methods(["PUT"])
def upload(request: HttpRequest, token: str) -> HttpResponse:
    """Take the bytes. The address is the right to send them, so there is no header to ask for; the answer is exactly 200."""
    what = read_address(token, "robots:upload")
    found = Upload.objects.select_related("user").filter(pk=what[0]).first() if what else None
    if found is None:
        return JsonResponse(
            {"detail": "This address is not valid, or its time is over. Ask for another one."}, status=404
        )
    try:
        resized = upload_resize(upload=found, size_bytes=int(request.headers.get("Content-Length") or 0))
        upload_append(key=resized.key, user=resized.user, offset=0, chunks=_chunks(request), now=timezone.now())
    except Refusal as refusal:
        return JsonResponse({"detail": refusal.detail, "code": refusal.stable_code}, status=refusal.http_status)
    return HttpResponse(status=200)


def _chunks(request: HttpRequest) -> Iterator[bytes]:
    while chunk := request.read(CHUNK_BYTES):
        yield chunk


class Submissions(RobotView):
    """The asker's submissions, as a bare list unless a page is asked for; or make one."""

    write_scope = Scope.SUBMIT

    def get(self, request: Request) -> Response:
        found = self.submissions().order_by("-pk")
        phase = request.query_params.get("phase", "")
        if phase:
            found = found.filter(phase=int(phase) if phase.isdigit() else None)
        rows = [shapes.submission_shape(one, request.user) for one in found[:5000]]
        if any(name in request.query_params for name in PAGE_PARAMETERS):
            return Response({"count": len(rows), "next": None, "previous": None, "results": rows})
        return Response(rows)

    def post(self, request: Request) -> Response:
        user, phase_id = self.person(), self.word("phase")
        phases = Phase.objects.visible_to(user).select_related("competition__queue")
        phase = get_object_or_404(phases, pk=int(phase_id) if phase_id.isdigit() else 0)
        sent = get_object_or_404(Upload, key=_uuid(self.word("data")), user=user)
        may_submit(
            user=user, phase=phase, now=timezone.now()
        )  # for a team of one; the service says what else is missing
        made = submission_create(
            user=user, phase=phase, upload=sent, kind=_kind(phase), now=timezone.now(), tasks=self._tasks(phase),
            description=self.word("description"), fact_sheet=self._answers(),
        )  # fmt: skip
        shape = shapes.submission_shape(self.submission(made.pk), user)
        return Response(shape | {"status": "Submitting", "data": str(sent.key)}, status=201)

    def _tasks(self, phase: Phase) -> list[Task]:
        """The tasks that were named, by number; none means all."""
        data = self.form
        named = data.getlist("tasks") if hasattr(data, "getlist") else data.get("tasks") or []
        wanted = {str(one) for one in named}
        chosen = [task for task in phase.tasks.all() if str(task.pk) in wanted]
        if len(chosen) < len(wanted):
            raise BadForm(f"The tasks {sorted(wanted)} are not all of this phase.")
        return chosen

    def _answers(self) -> object:
        said = self.form.get("fact_sheet_answers")
        if not isinstance(said, str):
            return said
        try:
            return json.loads(said)
        except ValueError as error:
            raise BadForm("fact_sheet_answers must be JSON: a mapping from key to answer.") from error


def _kind(phase: Phase) -> Kind:
    """What a robot's submission is, where the upload itself does not say it: the first kind that the phase takes."""
    kinds = phase.accepted_kinds
    return Kind(kinds[0]) if kinds else Kind.PREDICTION


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise Http404 from error


class BundleCompleted(RobotView):
    """The bundle has been sent: make the competition of it. The answer says where to ask what became of it."""

    write_scope = Scope.ORGANIZE

    def put(self, request: Request, key: UUID) -> Response:
        user, now = self.person(), timezone.now()
        sent = get_object_or_404(Upload.objects.select_related("file"), key=key, user=user, file__isnull=False)
        assert sent.file is not None, "asked for"
        job = import_begin(owner=user, stored=sent.file, file_name=sent.file_name, now=now)
        import_perform(job=job, now=now)
        return Response({"status_id": job.pk})


class CreationStatus(RobotView):
    """What became of a bundle."""

    def get(self, request: Request, pk: int) -> Response:
        job = get_object_or_404(BundleImport, pk=pk, owner=self.person())
        words = {BundleImport.State.FINISHED: "Finished", BundleImport.State.FAILED: "Failed"}
        faults = [f"line {fault['line']}, {fault['path']}: {fault['message']}" for fault in job.report.get("faults", [])]
        return Response({
            "status": words.get(BundleImport.State(job.state), "Starting"), "details": "\n".join(faults) or job.step or None,
            "resulting_competition": job.competition_id,
        })  # fmt: skip


class SubmissionView(RobotView):
    def get(self, request: Request, pk: int) -> Response:
        return Response(shapes.submission_shape(self.submission(pk), request.user))


class SubmissionDetails(RobotView):
    """Files and logs of a submission."""

    def get(self, request: Request, pk: int) -> Response:
        found = self.submission(pk)
        return Response(shapes.details_shape(found, request.user, cast("HttpRequest", request)))


class Cancel(RobotView):
    """Cancel a submission. Codabench's robots say it with GET; a token alone carries it, never a browser's session."""

    write_scope = Scope.SUBMIT

    def get(self, request: Request, pk: int) -> Response:
        if not isinstance(request.auth, ApiToken) or Scope.SUBMIT not in request.auth.scopes:
            raise NotAllowed("Send POST, or an API token with the scope `submit`.")
        return self.post(request, pk)

    def post(self, request: Request, pk: int) -> Response:
        submission_cancel(submission=self.submission(pk), actor=f"user:{self.person().username}", now=timezone.now())
        return Response({"canceled": True})


class Rerun(RobotView):
    """Run a submission again as a new one, on one task where the address says which; for its organizers."""

    write_scope = Scope.SUBMIT

    def post(self, request: Request, pk: int) -> Response:
        user, submission = self.person(), self.submission(pk)
        if not organizes(user, submission.phase):
            raise NotAllowed("Only the competition's organizers run submissions again.")
        key = request.query_params.get("task_key", "")
        task = Task.objects.usable_by(user).filter(key=_uuid(key)).first() if key else None
        if key and task is None:
            return Response({"error_msg": f"There is no task with the key {key} that you may use."}, status=404)
        made = submission_repeat(submission=submission, by=user, now=timezone.now(), task=task)
        return Response({"id": made.pk}, status=201)


class Tasks(RobotView):
    """The tasks that the asker may use, in pages."""

    def get(self, request: Request) -> Response:
        found = Task.objects.usable_by(self.person()).select_related(
            "owner", "scoring_program", "ingestion_program", "input_data", "reference_data"
        )
        asked = request.query_params.get("page", "1")
        page = max(1, int(asked)) if asked.isdigit() else 1
        rows = list(found[(page - 1) * TASKS_A_PAGE : page * TASKS_A_PAGE])
        return Response(
            {
                "count": found.count(),
                "next": None,
                "previous": None,
                "results": [shapes.task_shape(one) for one in rows],
            }
        )


@require_GET
def file(request: HttpRequest, token: str) -> FileResponse:
    """A submission's own file, for whoever was given its address."""
    what = read_address(token, "robots:file")
    submission = get_object_or_404(Submission, pk=what[0] if what else 0)
    return FileResponse(open_stored(submission.file), as_attachment=True, filename=submission.file_name)


@require_GET
def output(request: HttpRequest, token: str) -> FileResponse:
    """A file or log of a run, for whoever was given its address; what is sealed meanwhile was never given."""
    what = read_address(token, "robots:output")
    kept = get_object_or_404(RunOutput.objects.select_related("file"), pk=what[0] if what else 0)
    return FileResponse(open_stored(kept.file), as_attachment=True, filename=kept.name)
