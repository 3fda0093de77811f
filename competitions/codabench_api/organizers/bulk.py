"""Codabench's calls on many submissions, and those that Podium refuses as it deletes nothing."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope, User
from competitions.bundles.models import BundleImport
from competitions.catalog.models import Competition, Phase
from competitions.catalog.organizers import organizes
from competitions.codabench_api.base import ActsOnGet, BadForm, RepeatsView, RobotView
from competitions.codabench_api.files import address
from competitions.runs.refusals import MAY_NOT_REPEAT, StillRunning
from competitions.runs.reruns import may_repeat, submission_repeat
from competitions.runs.services import submission_start
from competitions.submissions.models import Submission
from core.refusals import RefusalKind
from files.text import is_number

MOST_AT_ONCE = 500

TOO_MANY_AT_ONCE: Final = RefusalKind(
    409,
    "too_many",
    "These are {count:,} submissions, and at most {limit} are taken at once. Name fewer of them as `pks`, or "
    "tick them under Submissions in the workspace, which shows the cost first.",
)

RESULTS_ARE_KEPT: Final = RefusalKind(
    409,
    "results_are_kept",
    "Submissions are not deleted: results stay reproducible. Cancel one that has not ended; its organizers can disqualify one, "
    "and a team takes one off a board where the board's rule lets it (DELETE submission_leaderboard_connection).",
)

NOT_MADE_PUBLIC: Final = RefusalKind(
    409,
    "not_made_public",
    "Submissions are not made public. What everybody may read is on the leaderboard: its row, public answers of the fact sheet "
    "(PATCH update_fact_sheet; a link to code is one), and detailed results where the competition shows them.",
)


@transaction.atomic
def repeat_submissions(submissions: Iterable[Submission], by: User) -> list[int]:
    """Run each ended submission again as a new one that costs no quota; returns the new numbers.

    All or none, where one is refused.
    """
    numbers = []
    for submission in submissions:
        try:
            numbers.append(submission_repeat(submission=submission, by=by, now=timezone.now()).pk)
        except StillRunning:
            continue
    return numbers


class RerunPhase(ActsOnGet):
    """Run everything of a phase again that was sent in by its teams and has ended; for its organizers."""

    write_scope = Scope.ORGANIZE

    def post(self, request: Request, pk: int) -> Response:
        user = self.person()
        phase = get_object_or_404(Phase.objects.visible_to(user).select_related("competition"), pk=pk)
        if not organizes(user, phase.competition_id):
            raise MAY_NOT_REPEAT()
        sent = self.submissions().filter(phase=phase, rerun_of=None, is_verification=False, is_smoke=False)
        sent = sent.filter(disqualified_at=None)
        if (count := sent.count()) > MOST_AT_ONCE:
            raise TOO_MANY_AT_ONCE(count=count, limit=MOST_AT_ONCE)
        numbers = repeat_submissions(sent.order_by("pk"), user)
        return Response({"count": len(numbers), "submissions": numbers})


class NamedSubmissions(RobotView):
    """Base of calls that name submissions: a bare JSON list, or the field `pks`, once for each."""

    def named(self) -> QuerySet[Submission]:
        """The named submissions. Raises `BadForm`, or 404 if the asker does not see one of them."""
        numbers = self._numbers()
        if len(numbers) > MOST_AT_ONCE:
            raise TOO_MANY_AT_ONCE(count=len(numbers), limit=MOST_AT_ONCE)
        named = self.submissions().filter(pk__in=numbers).order_by("pk")
        if named.count() < len(numbers):
            raise Http404
        return named

    def _numbers(self) -> set[int]:
        data: Any = self.request.data
        if isinstance(data, Mapping):
            data = data.getlist("pks") if hasattr(data, "getlist") else data.get("pks")
        if not isinstance(data, list) or not data or not all(_is_pk(number) for number in data):
            raise BadForm("Name the submissions by number: the field `pks` once for each, or a JSON list.")
        return {int(number) for number in data}


def _is_pk(value: object) -> bool:
    return not isinstance(value, bool) and is_number(str(value))


class RerunMany(RepeatsView, NamedSubmissions):
    """Run those named submissions that have ended again; none where one of them may not be repeated."""

    def post(self, request: Request) -> Response:
        user, named = self.person(), self.named()
        if not all(may_repeat(user, submission) for submission in named):
            raise MAY_NOT_REPEAT()
        numbers = repeat_submissions(named, user)
        return Response({"count": len(numbers), "submissions": numbers})


class RunSubmission(RobotView):
    """Start a submission that waits for its organizers, in competitions without `auto_run_submissions`."""

    write_scope = Scope.ORGANIZE

    def post(self, request: Request, pk: int) -> Response:
        submission, user = self.submission(pk), self.person()
        submission_start(submission=submission, by=user, now=timezone.now())
        return Response({"id": submission.pk})


class DownloadMany(NamedSubmissions):
    """Names and addresses of the named submissions' own files, as far as the asker may have them."""

    write_scope = Scope.READ  # nothing is changed

    def post(self, request: Request) -> Response:
        self.person()
        return Response(
            [
                {"name": f"{sent.pk}_{sent.file_name}", "url": address(self.received, "codabench:file", sent.pk)}
                for sent in self.named()
            ]
        )


class KeptView(RobotView):
    """Base of calls that would delete or publish a submission: refused to everybody who may see it."""

    refusal: RefusalKind = RESULTS_ARE_KEPT

    def post(self, request: Request, pk: int) -> Response:
        self.submission(pk)
        raise self.refusal()

    get = delete = post


class DeleteMany(RobotView):
    def post(self, request: Request) -> Response:
        self.person()
        raise RESULTS_ARE_KEPT()

    delete = post


class CompetitionFiles(RobotView):
    """The bundle that a competition was made from, and links to dumps of it now; for organizers."""

    read_scope = Scope.ORGANIZE  # labels are in the files

    def get(self, request: Request, pk: int) -> Response:
        user = self.person()
        competition = get_object_or_404(Competition.objects.managed_by(user), pk=pk)
        sent = BundleImport.objects.filter(competition=competition, kind=BundleImport.Kind.COMPETITION).first()
        dumps = [
            {"name": name, "url": address(self.received, "codabench:dump-file", competition.pk, keys, user.pk)}
            for keys, name in enumerate((f"{competition.slug}.zip", f"{competition.slug}-keys.zip"))
        ]
        return Response({"bundle": {"key": str(sent.pk), "name": sent.file_name} if sent else None, "dumps": dumps})
