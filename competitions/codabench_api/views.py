"""Calls of Codabench's clients: services, permissions and quotas are those of the native API.

Bodies are forms, lists are bare, and addresses of files carry their own right. The wire format was read off Codabench's published
example scripts (competition details, example submission, submission details, rerun).
"""

import json
from functools import partial
from typing import NoReturn

from django.db.models import F, Q, QuerySet
from django.http import HttpRequest, HttpResponseBase, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import AnonRateThrottle

from accounts.models import Scope
from accounts.views import open_page
from audit.middleware import client_address
from competitions.api.authentication import sender
from competitions.catalog.models import Competition, Phase, Task
from competitions.codabench_api import shapes
from competitions.codabench_api.base import (
    PAGE_PARAMETERS,
    ActsOnGet,
    BadForm,
    EditorView,
    RepeatsView,
    RobotView,
    ShownView,
    read_uuid,
)
from competitions.codabench_api.files import address, read_address
from competitions.codabench_api.organizers.bulk import RESULTS_ARE_KEPT
from competitions.codabench_api.organizers.editing import NOT_DELETED, competition_change, competition_make
from competitions.codabench_api.people import enrol, may_submit, sign_in, team_to_submit
from competitions.codabench_api.refused import MANAGED_ELSEWHERE
from competitions.disclosure.outputs import DETAILED_RESULTS, may_download
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import details_are_public, may_see_board
from competitions.leaderboards.models import Entry
from competitions.leaderboards.reading.export import submissions_csv
from competitions.resources.downloads import stored_response
from competitions.resources.models import Upload
from competitions.runs.models import RunOutput
from competitions.runs.refusals import MAY_NOT_REPEAT
from competitions.runs.reruns import may_repeat, submission_repeat
from competitions.runs.services import submission_cancel_by
from competitions.submissions.access import open_to_robot, repeats_by, visible_submissions
from competitions.submissions.models import Submission
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import Kind, State
from core.rows import get_or_none
from files.text import is_number

COMPETITION_FILTERS = ("search", "type", "ordering", "participating_in", "has_reward")
ANY_TYPE = "any"
ORDERS = {"recent": "-created_at", "created_when": "created_at", "-created_when": "-created_at", "title": "title"}


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
        address = client_address(self.received) or ""
        token = sign_in(
            username=self.word("username"), password=self.word("password"), address=address, now=timezone.now()
        )
        return Response({"token": token})


class Competitions(EditorView):
    """The competitions that the asker may see, as a bare list; or make one."""

    write_scope = Scope.ORGANIZE
    parameters = (*COMPETITION_FILTERS, "mine", *PAGE_PARAMETERS)

    def get(self, request: Request) -> Response:
        competitions = filter_competitions(self, Competition.objects.visible_to(request.user))
        if self.query_flag("mine"):
            competitions = competitions.filter(organizers=self.person())
        return self.rows(competitions, shapes.competition_row, limit=1000)

    def post(self, request: Request) -> Response:
        """Make a draft of what Codabench's editor sends."""
        return competition_make(self)


class PublicCompetitions(RobotView):
    """Published competitions, in pages."""

    parameters = (*COMPETITION_FILTERS, "organizing", *PAGE_PARAMETERS)

    def get(self, request: Request) -> Response:
        competitions = filter_competitions(self, Competition.objects.filter(is_published=True))
        if self.query_flag("organizing"):
            competitions = competitions.filter(organizers=self.person())
        return self.page(competitions, shapes.competition_row)


def filter_competitions(view: RobotView, competitions: QuerySet[Competition]) -> QuerySet[Competition]:
    """The competitions that the address asks for, in its order. Raises `BadForm`."""
    if text := view.query("search"):
        competitions = competitions.filter(title__icontains=text)
    kind = view.query_choice("type", (*Competition.Type.values, ANY_TYPE))
    if kind and kind != ANY_TYPE:
        competitions = competitions.filter(competition_type=kind)
    if (has_reward := view.query_flag("has_reward")) is not None:
        competitions = competitions.exclude(reward="") if has_reward else competitions.filter(reward="")
    if view.query_flag("participating_in"):
        competitions = competitions.filter(registrations__user=view.person(), registrations__state="approved")
    if order := view.query_choice("ordering", ORDERS):
        competitions = competitions.order_by(ORDERS[order], "pk")
    return competitions.select_related("logo").prefetch_related("organizers")


class CompetitionView(EditorView):
    """One competition with its phases and their tasks; or change it."""

    write_scope = Scope.ORGANIZE

    def patch(self, request: Request, pk: int) -> Response:
        competition = get_object_or_404(Competition.objects.managed_by(self.person()), pk=pk)
        competition_change(competition, self.form, self.person())
        return Response(shapes.competition_shape(competition, request.user))

    put = patch

    def delete(self, request: Request, pk: int) -> Response:
        get_object_or_404(Competition.objects.managed_by(self.person()), pk=pk)
        raise NOT_DELETED()

    def get(self, request: Request, pk: int) -> Response:
        competition = get_object_or_404(Competition.objects.visible_to(request.user), pk=pk)
        return Response(shapes.competition_shape(competition, request.user, as_member=self.as_member))


class Register(RobotView):
    """Accept the rules in force and take part."""

    write_scope = Scope.TEAM

    def post(self, request: Request, pk: int) -> Response:
        competition = get_object_or_404(Competition.objects.visible_to(request.user), pk=pk)
        registration = enrol(user=self.person(), competition=competition, now=timezone.now())
        return Response({"participant_status": registration.state}, status=201)


class CanMakeSubmission(RobotView):
    """Say if the asker may submit to a phase now, or why not; enrols a service account where it may."""

    def get(self, request: Request, pk: int) -> Response:
        phase = get_object_or_404(Phase.objects.visible_to(request.user).select_related("competition"), pk=pk)
        reason = may_submit(user=self.person(), phase=phase, now=timezone.now())
        return Response({"can": reason is None, "reason": reason})


class ProblemRenderer(JSONRenderer):
    """Refusals as JSON where `format=csv` was asked for, which is streamed by itself."""

    format = "csv"


SUBMISSION_FLAGS = ("is_public", "is_soft_deleted", "show_is_soft_deleted")


class Submissions(RobotView):
    """The asker's submissions, as a bare list unless a page or `format=csv` is asked for; or make one."""

    renderer_classes = (JSONRenderer, ProblemRenderer)
    parameters = ("phase", "phase__competition", "status", "search", "format", *SUBMISSION_FLAGS, *PAGE_PARAMETERS)

    def get(self, request: Request) -> HttpResponseBase:
        submissions = self.submissions().filter(rescores=None).order_by("-pk")
        flags = {name: self.query_flag(name) for name in SUBMISSION_FLAGS}
        if flags["is_public"] or flags["is_soft_deleted"]:
            submissions = submissions.none()  # no submission is ever either
        if (phase := self.query_number("phase")) is not None:
            submissions = submissions.filter(phase=phase)
        if (competition := self.query_number("phase__competition")) is not None:
            submissions = submissions.filter(phase__competition=competition)
        if word := self.query("status"):
            submissions = submissions.filter(status__in=states_called(word))
        if text := self.query("search"):
            submissions = submissions.filter(
                Q(file_name__icontains=text)
                | Q(description__icontains=text)
                | Q(submitted_by__username__icontains=text)
            )
        if self.query_choice("format", ("json", "csv")) == "csv":
            return self._csv(submissions)
        return self.rows(submissions, lambda submission: shapes.submission_shape(submission, self.reader))

    def _csv(self, submissions: QuerySet[Submission]) -> HttpResponseBase:
        """All of them; what organizers of several competitions see is asked for by phase or competition."""
        plain = Submission.objects.filter(pk__in=submissions.order_by().values("pk"))
        phases = Phase.objects.filter(pk__in=plain.values("phase")).select_related("competition").order_by("pk")
        return submissions_csv(plain, list(phases), self.reader, name="submissions")

    def post(self, request: Request) -> Response:
        user = self.person()
        phase, sent = self._phase(), self._upload()
        team_to_submit(user=user, competition=phase.competition, now=timezone.now())
        submission = submission_create(
            NewSubmission(
                user=user,
                phase=phase,
                upload=sent,
                kind=_kind(phase),
                tasks=self._tasks(phase),
                description=self.word("description"),
                fact_sheet=self._answers(),
                sender=sender(self.request),
            ),
            now=timezone.now(),
        )
        return Response(shapes.made_shape(self.submission(submission.pk), self.reader, str(sent.key)), status=201)

    def _phase(self) -> Phase:
        number = self.word("phase")
        phases = Phase.objects.visible_to(self.request.user).select_related("competition__queue")
        phase = phases.filter(pk=int(number)).first() if is_number(number) else None
        if phase is None:
            raise BadForm(
                f"The field `phase` must be the number of a phase that you see, as /api/competitions/<id>/ lists them, not {number[:40]!r}."
            )
        return phase

    def _upload(self) -> Upload:
        data = self.word("data")
        sent = Upload.objects.filter(key=key, user=self.person()).first() if (key := read_uuid(data)) else None
        if sent is None:
            raise BadForm(
                f"The field `data` must be the key of an upload of yours, not {data[:40]!r}. POST /api/datasets/ gives a key, and an "
                "address to PUT the zip to."
            )
        return sent

    def _tasks(self, phase: Phase) -> list[Task]:
        """The tasks that were named, by number; none means all."""
        data = self.form
        named = data.getlist("tasks") if isinstance(data, QueryDict) else data.get("tasks") or []
        if not isinstance(named, list):
            raise BadForm(f"The field `tasks` must be a list of numbers, not {str(named)[:40]!r}.")
        numbers = {str(number) for number in named}
        chosen = [task for task in phase.tasks.all() if str(task.pk) in numbers]
        if len(chosen) < len(numbers):
            raise BadForm(f"The tasks {sorted(numbers)} are not all of this phase.")
        return chosen

    def _answers(self) -> object:
        answers = self.form.get("fact_sheet_answers")
        if not isinstance(answers, str):
            return answers
        try:
            return json.loads(answers) if answers.strip() else None
        except (ValueError, RecursionError) as error:
            raise BadForm("fact_sheet_answers must be JSON: a mapping from key to answer.") from error


def states_called(word: str) -> list[State]:
    """The states that Codabench has this word for. Raises `BadForm`."""
    states = [state for state, name in shapes.STATUS.items() if name == word]
    if not states:
        known = ", ".join(dict.fromkeys(shapes.STATUS.values()))
        raise BadForm(f"There is no status {word[:40]!r}; there are {known}.")
    return states


def _kind(phase: Phase) -> Kind:
    """The kind of a client's submission, which an upload does not say: the first that the phase takes."""
    kinds = phase.accepted_kinds
    return Kind(kinds[0]) if kinds else Kind.PREDICTION


class SubmissionView(ShownView):
    """One submission; results are kept as they are."""

    write_scope = Scope.SUBMIT

    def refuse(self, pk: int) -> NoReturn:
        self.submission(pk)
        raise RESULTS_ARE_KEPT()

    def get(self, request: Request, pk: int) -> Response:
        own = get_or_none(self.submissions().filter(pk=pk))
        if own is not None:
            return Response(shapes.submission_shape(own, self.reader))
        repeat = get_object_or_404(self.loaded(repeats_by(self.person())), pk=pk)
        return Response(shapes.repeat_shape(repeat, self.reader))


class SubmissionDetails(RobotView):
    """Files and logs of a submission."""

    def get(self, request: Request, pk: int) -> Response:
        submission = self.submission(pk)
        return Response(shapes.details_shape(submission, self.reader, self.received))


class DetailResult(RobotView):
    """The address of a submission's detailed results, for those who may see them."""

    def get(self, request: Request, pk: int) -> Response:
        seen = Submission.objects.filter(phase__in=Phase.objects.visible_to(request.user))
        submission = get_object_or_404(seen.select_related("phase__competition"), pk=pk)
        if visible_submissions(request.user, as_member=self.as_member).filter(pk=pk).exists():
            may_see = may_download(self.reader, submission.phase, DETAILED_RESULTS)
        else:
            may_see = _details_are_open(submission, self.reader)
        newest = RunOutput.objects.filter(name=DETAILED_RESULTS, attempt=F("run__attempt"))
        page = (
            newest.filter(run__submission=submission, run__is_smoke=False, run__fills_board=False)
            .order_by("pk")
            .first()
        )
        if page is None or not may_see:
            return Response({"error_msg": "There are no detailed results, or you may not see them."}, status=404)
        return Response(address(self.received, "codabench:output", page.pk))


def _details_are_open(submission: Submission, reader: Reader) -> bool:
    """The submission counts on a board that the reader sees, with details for everybody."""
    board = submission.phase.main_board
    if board is None or not may_see_board(reader, board) or not details_are_public(board):
        return False
    return Entry.objects.filter(leaderboard=board, score__submission=submission).exists()


class Cancel(ActsOnGet):
    """Cancel a submission."""

    def post(self, request: Request, pk: int) -> Response:
        submission_cancel_by(submission=self.submission(pk), by=self.person(), now=timezone.now())
        return Response({"canceled": True})


class Rerun(RepeatsView):
    """Run a submission again as a new one, on one task if named."""

    parameters = ("task_key",)

    def post(self, request: Request, pk: int) -> Response:
        user = self.person()
        submission = get_or_none(self.submissions().filter(pk=pk)) or get_object_or_404(open_to_robot(user), pk=pk)
        if not may_repeat(user, submission):
            raise MAY_NOT_REPEAT()
        key = self.query("task_key")
        uuid = read_uuid(key)
        usable = Q(pk__in=Task.objects.usable_by(user)) | Q(pk__in=submission.phase.tasks.all())
        task = Task.objects.filter(usable, key=uuid).first() if uuid else None
        if key and task is None:
            return Response({"error_msg": f"There is no task with the key {key[:40]} that you may use."}, status=404)
        rerun = submission_repeat(submission=submission, by=user, now=timezone.now(), task=task)
        return Response({"id": rerun.pk}, status=201)


def _usable_tasks(view: RobotView) -> QuerySet[Task]:
    """Tasks that the asker may use as an organizer; none by a token that may not organize."""
    user = view.person()
    return Task.objects.none() if view.as_member else Task.objects.usable_by(user).select_related(*shapes.TASK_PARTS)


class Tasks(RobotView):
    """The tasks that the asker may use, in pages."""

    write_scope = Scope.ORGANIZE

    def post(self, request: Request) -> Response:
        self.person()
        raise MANAGED_ELSEWHERE(
            what="Send a task as a zip (POST /api/tasks/upload_task/), or make it",
            where=f"{reverse('organize:start')}competitions/SLUG/data/",
        )

    parameters = ("search", "public", *PAGE_PARAMETERS)

    def get(self, request: Request) -> Response:
        user = self.person()
        tasks = _usable_tasks(self).prefetch_related("shared_with")
        if self.query_flag("public") is False:
            shared = Q(pk__in=user.shared_tasks.values("pk"))
            tasks = tasks.filter(shared | Q(pk__in=Task.objects.readable_by(user).values("pk")))
        if text := self.query("search"):
            tasks = tasks.filter(name__icontains=text)
        return self.page(tasks.order_by("pk"), partial(shapes.task_shape, owner=user))


class TaskView(ShownView):
    """One task that the asker may use."""

    def task(self, pk: int) -> Task:
        return get_object_or_404(_usable_tasks(self), pk=pk)

    def refuse(self, pk: int) -> NoReturn:
        raise MANAGED_ELSEWHERE(what="Tasks are changed", where=reverse("api:task", args=[self.task(pk).key]))

    def get(self, request: Request, pk: int) -> Response:
        return Response(shapes.task_shape(self.task(pk), owner=self.person()))


@open_page
def file(request: HttpRequest, token: str) -> HttpResponseBase:
    """A submission's own file, for whoever was given its address."""
    what = read_address(token, "codabench:file")
    submission = get_object_or_404(Submission, pk=what[0] if what else 0)
    return stored_response(request, submission.file, file_name=submission.file_name)


@open_page
def output(request: HttpRequest, token: str) -> HttpResponseBase:
    """A file or log of a run, for whoever was given its address; what is sealed meanwhile was never given."""
    what = read_address(token, "codabench:output")
    output = get_object_or_404(RunOutput.objects.select_related("file"), pk=what[0] if what else 0)
    return stored_response(request, output.file, file_name=output.name)
