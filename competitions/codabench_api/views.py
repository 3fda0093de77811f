"""The calls of Codabench's robots: the same services, permissions and quotas as the native API, in other words.

Bodies are forms, lists are bare, and addresses of files carry their own right. The wire format was read off Codabench's published
example scripts (competition details, example submission, submission details, rerun).
"""

import json
from typing import cast

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.http import require_safe
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import AnonRateThrottle

from accounts.models import ApiToken, Scope
from audit.middleware import address_of
from competitions.catalog.models import Competition, Phase, Task
from competitions.catalog.rights import organizes
from competitions.codabench_api import shapes
from competitions.codabench_api.base import PAGE_PARAMETERS, BadForm, RobotView, read_uuid
from competitions.codabench_api.enrolment import enrol, may_submit
from competitions.codabench_api.files import read_address
from competitions.codabench_api.sign_in import sign_in
from competitions.resources.downloads import stored_response
from competitions.resources.models import Upload
from competitions.runs.models import RunOutput
from competitions.runs.reruns import submission_repeat
from competitions.runs.services import submission_cancel
from competitions.submissions.models import Submission
from competitions.submissions.services import submission_create
from competitions.submissions.states import Kind
from core.numbers import is_number
from core.refusals import NotAllowed


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
        address = address_of(cast("HttpRequest", request)) or ""
        token = sign_in(
            username=self.word("username"), password=self.word("password"), address=address, now=timezone.now()
        )
        return Response({"token": token})


class Competitions(RobotView):
    """The competitions that the asker may see, as a bare list."""

    def get(self, request: Request) -> Response:
        found = Competition.objects.visible_to(request.user).select_related("logo").prefetch_related("organizers")
        return Response([shapes.competition_row(one) for one in found[:1000]])


class PublicCompetitions(RobotView):
    """Published competitions, in pages."""

    def get(self, request: Request) -> Response:
        found = Competition.objects.filter(is_published=True).select_related("logo").prefetch_related("organizers")
        return self.page(found, shapes.competition_row)


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


class Submissions(RobotView):
    """The asker's submissions, as a bare list unless a page is asked for; or make one."""

    write_scope = Scope.SUBMIT

    def get(self, request: Request) -> Response:
        found = self.submissions().order_by("-pk")
        phase = request.query_params.get("phase", "")
        if phase:
            found = found.filter(phase=int(phase) if is_number(phase) else None)
        if any(name in request.query_params for name in PAGE_PARAMETERS):
            return self.page(found, lambda one: shapes.submission_shape(one, self.reader))
        return Response([shapes.submission_shape(one, self.reader) for one in found[:5000]])

    def post(self, request: Request) -> Response:
        user = self.person()
        phase, sent = self._phase(), self._upload()
        may_submit(
            user=user, phase=phase, now=timezone.now()
        )  # for a team of one; the service says what else is missing
        made = submission_create(
            user=user, phase=phase, upload=sent, kind=_kind(phase), now=timezone.now(), tasks=self._tasks(phase),
            description=self.word("description"), fact_sheet=self._answers(),
        )  # fmt: skip
        return Response(shapes.made_shape(self.submission(made.pk), self.reader, str(sent.key)), status=201)

    def _phase(self) -> Phase:
        said = self.word("phase")
        phases = Phase.objects.visible_to(self.request.user).select_related("competition__queue")
        phase = phases.filter(pk=int(said)).first() if is_number(said) else None
        if phase is None:
            raise BadForm(
                f"The field `phase` must be the number of a phase that you see, as /api/competitions/<id>/ lists them, not {said[:40]!r}."
            )
        return phase

    def _upload(self) -> Upload:
        said = self.word("data")
        sent = Upload.objects.filter(key=key, user=self.person()).first() if (key := read_uuid(said)) else None
        if sent is None:
            raise BadForm(
                f"The field `data` must be the key of an upload of yours, not {said[:40]!r}. POST /api/datasets/ gives a key, and an "
                "address to PUT the zip to."
            )
        return sent

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


class SubmissionView(RobotView):
    def get(self, request: Request, pk: int) -> Response:
        return Response(shapes.submission_shape(self.submission(pk), self.reader))


class SubmissionDetails(RobotView):
    """Files and logs of a submission."""

    def get(self, request: Request, pk: int) -> Response:
        found = self.submission(pk)
        return Response(shapes.details_shape(found, self.reader, cast("HttpRequest", request)))


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
        wanted = read_uuid(key)
        task = Task.objects.usable_by(user).filter(key=wanted).first() if wanted else None
        if key and task is None:
            return Response({"error_msg": f"There is no task with the key {key[:40]} that you may use."}, status=404)
        made = submission_repeat(submission=submission, by=user, now=timezone.now(), task=task)
        return Response({"id": made.pk}, status=201)


class Tasks(RobotView):
    """The tasks that the asker may use, in pages."""

    def get(self, request: Request) -> Response:
        found = Task.objects.usable_by(self.person()).select_related(*shapes.TASK_PARTS)
        return self.page(found.order_by("pk"), shapes.task_shape)


@require_safe
def file(request: HttpRequest, token: str) -> HttpResponseBase:
    """A submission's own file, for whoever was given its address."""
    what = read_address(token, "codabench:file")
    submission = get_object_or_404(Submission, pk=what[0] if what else 0)
    return stored_response(request, submission.file, file_name=submission.file_name)


@require_safe
def output(request: HttpRequest, token: str) -> HttpResponseBase:
    """A file or log of a run, for whoever was given its address; what is sealed meanwhile was never given."""
    what = read_address(token, "codabench:output")
    kept = get_object_or_404(RunOutput.objects.select_related("file"), pk=what[0] if what else 0)
    return stored_response(request, kept.file, file_name=kept.name)
