"""Submissions: make, list, follow, cancel, download."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from django.db.models import Prefetch, QuerySet
from django.http import Http404, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.parsers import FormParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope, User
from audit.middleware import keep_fields, mark_organizing
from competitions.api.authentication import sender
from competitions.api.framework import IdCursorPagination, JSONParser
from competitions.api.serializers import submissions as s
from competitions.api.serializers.leaderboards import DatasetOut
from competitions.api.views.base import ApiView, checked
from competitions.catalog.downloads import SMOKE
from competitions.catalog.models import Leaderboard, Phase
from competitions.catalog.organizers import organizes
from competitions.disclosure.outputs import visible_streams
from competitions.disclosure.receipts import disclosed_receipt
from competitions.disclosure.scores import may_know_board
from competitions.environments.choice import NamedEnvironment
from competitions.factsheets.services import fact_sheet_questions
from competitions.leaderboards.picks import pick_add, pick_remove
from competitions.leaderboards.reading.export import submissions_csv
from competitions.leaderboards.reading.results import with_scores
from competitions.leaderboards.reading.slices import run_slices, slices_csv
from competitions.resources.downloads import stored_response
from competitions.resources.models import StoredFile
from competitions.resources.rooms import upload_room
from competitions.resources.uploads import take_upload
from competitions.runs.models import Run
from competitions.runs.queue.positions import queue_positions
from competitions.runs.records.logs import log_text
from competitions.runs.services import submission_cancel_by, submission_start, waiting_start
from competitions.runs.worker_api.offers import Brought, smoke_offer
from competitions.submissions.access import tagged, team_submissions, visible_submissions
from competitions.submissions.annotations import LONGEST_TAG, annotations_edit, fact_sheet_edit, read_annotations
from competitions.submissions.datasets import dataset_withdraw
from competitions.submissions.models import Submission
from competitions.submissions.quota import allowances
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import Kind
from competitions.teams.services import require_registration, require_team
from workers.protocol.plan import FileRole

IDEMPOTENCY = OpenApiParameter(
    "Idempotency-Key", str, OpenApiParameter.HEADER, description="The same key gives the same submission again."
)


LOOKUPS: Final = {"competition": "phase__competition__slug", "phase": "phase_id", "status": "status"}  # of filters


def _rows(user: User, lookups: dict[str, object], *, as_member: bool) -> QuerySet[Submission]:
    """Submissions that this person may see, with what an answer tells beside their own fields."""
    runs = Run.objects.select_related("task", "queue").defer("receipt", "task__description")
    phases = Phase.objects.select_related("competition")  # with their texts, once for all submissions of a page
    return (
        visible_submissions(user, as_member=as_member)
        .filter(**lookups)
        .select_related("team", "submitted_by")
        .prefetch_related(Prefetch("runs", queryset=runs), Prefetch("phase", phases), "phase__leaderboards__columns")
    )


def _given_annotations(values: Mapping[str, Any]) -> dict[str, Any]:
    """The annotations that a client gave; those left out are not among them."""
    return {name: values[name] for name in ("tags", "commit", "link") if name in values}


class SubmissionView(ApiView):
    """Base: the submissions of the asker's teams, and by the scope `organize` of what they organize."""

    serializer_class = s.SubmissionOut

    def submission(self, pk: int) -> Submission:
        submission: Submission = get_object_or_404(_rows(self.person(), {}, as_member=self.as_member), pk=pk)
        return submission

    def shown(self, submissions: Sequence[Submission]) -> list[dict[str, object]]:
        """The submissions as answers tell them."""
        runs = [run for submission in submissions for run in submission.runs.all()]
        context = {"reader": self.reader, "queue_positions": queue_positions(runs, now=self.reader.now)}
        serializer = s.SubmissionOut(context=context)
        return [serializer.to_representation(scored) for scored in with_scores(submissions)]

    def answer(self, submission: Submission, status: int = 200) -> Response:
        return Response(self.shown([submission])[0], status=status)


class SubmissionList(SubmissionView):
    """Your team's submissions, newest first; or make one."""

    pagination_class = IdCursorPagination
    parser_classes = [JSONParser, MultiPartParser, FormParser]
    takes_files = True

    def body_room(self, request: Request) -> int:  # type: ignore[override]  # what the address names
        """Room for a submission's file. Raises the refusal of an upload."""
        return upload_room(self.received, self.person())

    @extend_schema(
        operation_id="submissions_list",
        parameters=[
            OpenApiParameter("competition", str),
            OpenApiParameter("phase", int),
            OpenApiParameter("status", str),
            OpenApiParameter("tag", str, description="Those of your team with this tag."),
        ],
        responses=s.SubmissionOut(many=True),
    )
    def get(self, request: Request) -> Response:
        """Your team's submissions, newest first."""
        values = checked(s.SubmissionFilter(data=request.query_params))
        lookups = {LOOKUPS[name]: value for name, value in values.items() if name in LOOKUPS}
        rows = _rows(self.person(), lookups | {"rescores": None}, as_member=self.as_member)
        if tag := values.get("tag"):
            rows = tagged(rows.filter(team__memberships__user=self.person()), tag)
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(self.shown(page or []))

    @extend_schema(
        operation_id="submissions_create",
        request=s.SubmissionIn,
        parameters=[IDEMPOTENCY],
        responses={201: s.SubmissionOut},
    )
    def post(self, request: Request) -> Response:
        """Submit: an upload that is complete, to a phase."""
        user, began_at = self.person(), timezone.now()
        values = checked(s.SubmissionIn(data=request.data))
        phase = self.phase(pk=values["phase"])
        submission = submission_create(
            NewSubmission(
                user=user,
                phase=phase,
                upload=take_upload(user, values.get("file"), began_at, key=values.get("upload")),
                kind=Kind(values.get("kind") or next(iter(phase.accepted_kinds), Kind.PREDICTION)),
                kind_is="certain" if "kind" in values else "open",
                description=values["description"],
                annotations=read_annotations(**_given_annotations(values)),
                fact_sheet=values["fact_sheet"],
                is_smoke=values["smoke"],
                environment=NamedEnvironment(values["weights"], values["image"]),
                sender=sender(request),
                idempotency_key=request.headers.get("Idempotency-Key", "")[:100],
            ),
            now=timezone.now(),
        )
        return self.answer(self.submission(submission.pk), status=201)


class SubmissionDetail(SubmissionView):
    """One submission with its runs, verdict and, where they may be seen, scores."""

    @extend_schema(operation_id="submissions_retrieve")
    def get(self, request: Request, pk: int) -> Response:
        return self.answer(self.submission(pk))

    @extend_schema(operation_id="submissions_annotate", request=s.AnnotationsIn, responses=s.SubmissionOut)
    def patch(self, request: Request, pk: int) -> Response:
        """Change tags, commit or link; its team at any time, an organizer only to remove commit and link."""
        submission, user = self.submission(pk), self.person()
        stored = {"tags": submission.tags, "commit": submission.commit, "link": submission.link}
        given = _given_annotations(checked(s.AnnotationsIn(data=request.data)))
        annotations = read_annotations(**stored | given)
        if organizes := self.reader.organizes(submission.phase):
            mark_organizing(self.received)
            keep_fields(self.received, given)
        annotations_edit(submission=submission, annotations=annotations, by=user, organizes=organizes)
        return self.answer(self.submission(pk))


class SubmissionCancel(SubmissionView):
    """Cancel a submission: at once while it waits, within seconds while it runs."""

    @extend_schema(request=None, responses=s.SubmissionOut)
    def post(self, request: Request, pk: int) -> Response:
        submission = self.submission(pk)
        submission_cancel_by(submission=submission, by=self.person(), now=timezone.now())
        return self.answer(self.submission(pk))


class SubmissionStart(SubmissionView):
    """Start a submission that waits for the organizers; for its organizers."""

    write_scope = Scope.ORGANIZE

    @extend_schema(request=None, responses=s.SubmissionOut)
    def post(self, request: Request, pk: int) -> Response:
        submission, user = self.submission(pk), self.person()
        submission_start(submission=submission, by=user, now=timezone.now())
        return self.answer(self.submission(pk))


class SubmissionsStart(ApiView):
    """Start what waits for the organizers, the oldest first, some hundred at a time; for organizers."""

    write_scope = Scope.ORGANIZE
    serializer_class = s.StartedOut

    @extend_schema(request=None, responses=s.StartedOut)
    def post(self, request: Request, slug: str) -> Response:
        competition, actor = self.organized(slug), f"organizer:{self.person().username}"
        started, waiting = waiting_start(competition=competition, actor=actor, now=timezone.now())
        return Response({"started": started, "waiting": waiting})


class SubmissionsCsv(ApiView):
    """All submissions to a competition as CSV, for organizers; `phase` is the slug of one."""

    read_scope = Scope.ORGANIZE

    @extend_schema(parameters=[OpenApiParameter("phase", str)], responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        phases = self.chosen_phases(request, slug)
        submissions = Submission.objects.filter(phase__in=phases, rescores=None)
        return submissions_csv(submissions, phases, self.reader, name=f"{slug}-submissions")

    def chosen_phases(self, request: Request, slug: str) -> list[Phase]:
        """The phases of a competition that the asker organizes, or the one that the address names."""
        phases = list(self.organized(slug).phases.select_related("competition"))
        if (chosen := request.query_params.get("phase")) is not None:
            phases = [phase for phase in phases if phase.slug == chosen]
            if not phases:
                raise Http404
        return phases


class TeamSubmissionsCsv(ApiView):
    """Your team's submissions to a competition as CSV, with meters and the scores that you may see."""

    @extend_schema(
        operation_id="team_submissions_csv",
        parameters=[OpenApiParameter("phase", str, description="The slug of one."), OpenApiParameter("tag", str)],
        responses={(200, "text/csv"): OpenApiTypes.STR},
    )
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        competition = self.competition(slug)
        team = require_team(user=self.person(), competition=competition)
        chosen, tag = request.query_params.get("phase"), request.query_params.get("tag", "")
        visible = Phase.objects.visible_to(self.person()).filter(competition=competition).select_related("competition")
        phases = [phase for phase in visible.order_by("index") if chosen in (None, phase.slug)]
        if not phases:
            raise Http404
        own = team_submissions(team.pk).filter(phase__in=phases)
        return submissions_csv(
            tagged(own, tag[:LONGEST_TAG]) if tag else own, phases, self.reader, name=f"{slug}-own-submissions"
        )


class SlicesCsv(SubmissionsCsv):
    """Scores by slice of a competition's submissions as CSV, for organizers; `phase` is the slug of one."""

    @extend_schema(parameters=[OpenApiParameter("phase", str)], responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        phases = self.chosen_phases(request, slug)
        return slices_csv(
            Submission.objects.filter(phase__in=phases, rescores=None), phases, self.reader, name=f"{slug}-slices"
        )


class SubmissionWithdraw(SubmissionView):
    """Take a dataset of your team off a board that grows, for good; until the phase closes."""

    @extend_schema(request=None, responses=DatasetOut)
    def post(self, request: Request, pk: int) -> Response:
        dataset = dataset_withdraw(submission=self.submission(pk), by=self.person(), now=timezone.now())
        return Response(DatasetOut(dataset).data)


class SubmissionBoard(SubmissionView):
    """Choose a submission for a board of its phase, or take the choice back."""

    def act(self, act: Callable[..., Any], pk: int, board_key: str) -> Response:
        submission = self.submission(pk)
        board = get_object_or_404(Leaderboard.objects.select_related("phase"), phase=submission.phase_id, key=board_key)
        if not may_know_board(self.reader, board):
            raise Http404
        act(board=board, submission=submission, by=self.person(), now=timezone.now())
        return self.answer(self.submission(pk))

    @extend_schema(request=None, responses=s.SubmissionOut)
    def put(self, request: Request, pk: int, board_key: str) -> Response:
        """Choose a submission for a board of its phase."""
        return self.act(pick_add, pk, board_key)

    @extend_schema(request=None, responses={200: s.SubmissionOut})
    def delete(self, request: Request, pk: int, board_key: str) -> Response:
        """Take the choice of a submission for a board back."""
        return self.act(pick_remove, pk, board_key)


class SubmissionFactSheet(SubmissionView):
    """Replace a submission's fact sheet until the phase's deadline; the former answers are kept."""

    @extend_schema(request=s.FactSheetIn, responses=s.SubmissionOut)
    def put(self, request: Request, pk: int) -> Response:
        submission, user = self.submission(pk), self.person()
        values = checked(s.FactSheetIn(data=request.data))
        fact_sheet_edit(submission=submission, answers=values["fact_sheet"], by=user, now=timezone.now())
        return self.answer(self.submission(pk))


class FactSheet(ApiView):
    """The questions of a phase's fact sheet."""

    serializer_class = s.FactQuestionOut

    @extend_schema(responses=s.FactQuestionOut(many=True))
    def get(self, request: Request, slug: str, phase_slug: str) -> Response:
        phase = self.phase(competition__slug=slug, slug=phase_slug)
        return Response(s.FactQuestionOut(fact_sheet_questions(phase), many=True).data)


class SubmissionLogs(SubmissionView):
    """The logs of a submission's runs. The scoring program's log is for organizers."""

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "printed",
                str,
                many=True,
                description="`RUN:STREAM:CHARACTERS` of a log that you have so far: then only what follows comes. "
                "A log that is shorter, as that of a new attempt, comes whole.",
            )
        ],
        responses=s.LogOut(many=True),
    )
    def get(self, request: Request, pk: int) -> Response:
        submission = self.submission(pk)
        filters = s.LogsFilter(data=request.query_params)
        filters.is_valid(raise_exception=True)
        offsets = filters.offsets()
        logs = []
        for run in submission.runs.all():
            for stream in visible_streams(self.reader, submission.phase, is_smoke=run.is_smoke):
                text, offset = log_text(run, stream), offsets.get((str(run.pk), stream), 0)
                offset = offset if offset <= len(text) else 0
                logs.append({"run": run.pk, "stream": stream, "offset": offset, "text": text[offset:]})
        return Response(s.LogOut(logs, many=True).data)


class SubmissionSlices(SubmissionView):
    """Scores by slice, for organizers, and for the team when the phase shows them; else none."""

    pagination_class = None

    @extend_schema(responses=s.SlicesOut(many=True))
    def get(self, request: Request, pk: int) -> Response:
        submission = self.submission(pk)
        tables = [
            {
                "run": run.pk,
                "task": run.task.name,
                "score": table.column.key,
                "title": table.column.title,
                "slicing": table.name,
                "slices": table.rows,
            }
            for run in submission.runs.prefetch_related("outputs__file")
            for table in run_slices(self.reader, submission, run, list(run.outputs.all())).tables
        ]
        return Response(s.SlicesOut(tables, many=True).data)


class SubmissionReceipt(SubmissionView):
    """Everything to run the submission again: digests, image, limits, hardware, times."""

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, pk: int) -> Response:
        submission = self.submission(pk)
        runs = [
            {
                "run": str(run.pk),
                "task": run.task.name,
                "receipt": disclosed_receipt(self.reader, submission.phase, run.receipt, run=run),
            }
            for run in submission.runs.all()
        ]
        return Response({"submission": submission.pk, "sha256": submission.file_id, "runs": runs})


class SubmissionDownload(SubmissionView):
    """The file as it was sent in."""

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, pk: int) -> HttpResponseBase:
        submission = self.submission(pk)
        return stored_response(self.received, submission.file, file_name=submission.file_name)


class PhaseSmoke(ApiView):
    """The phase's smoke run as `podium run` runs it, for registered people and organizers."""

    @extend_schema(
        parameters=[
            OpenApiParameter("weights_bytes", int, description="Size of the weights that are brought."),
            OpenApiParameter(
                "image", str, description="An archive's own digest `sha256:…`, or `registry/repository@sha256:…`."
            ),
            OpenApiParameter("image_bytes", int, description="Size of the archive."),
        ],
        responses=OpenApiTypes.OBJECT,
    )
    def get(self, request: Request, slug: str, phase_slug: str) -> Response:
        values = checked(s.SmokeFilter(data=request.query_params))
        user, phase = self.person(), self.phase(competition__slug=slug, slug=phase_slug)
        if not organizes(user, phase.competition_id):
            require_registration(user=user, competition=phase.competition)

        def address(role: FileRole, stored: StoredFile) -> str:
            named = {"slug": slug, "phase_slug": phase_slug, "name": f"{SMOKE}{role}"}
            return reverse("api:file", kwargs=named)

        return Response(smoke_offer(phase, address, Brought(**values)).model_dump(mode="json"))


class Limits(ApiView):
    """The submissions that your team has left in a phase, and the time when it gets more."""

    serializer_class = s.AllowanceOut

    @extend_schema(responses=s.AllowanceOut(many=True))
    def get(self, request: Request, slug: str, phase_slug: str) -> Response:
        phase = self.phase(competition__slug=slug, slug=phase_slug)
        team = require_team(user=self.person(), competition=phase.competition)
        return Response(s.AllowanceOut(allowances(team_id=team.pk, phase=phase, now=timezone.now()), many=True).data)
