"""Codabench's calls on fact sheets, tasks, queues, participants, quota and dumps."""

from typing import Final, NoReturn

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope, User
from accounts.views import open_page
from competitions.bundles.codabench_gaps import codabench_gaps, codabench_refusals
from competitions.bundles.exports import export_begin, export_recent
from competitions.bundles.imports import task_import_begin
from competitions.catalog.models import Competition, Phase
from competitions.catalog.organizers import organizes, require_host
from competitions.catalog.publishing import competition_publish, competition_withdraw
from competitions.codabench_api.base import PAGE_PARAMETERS, BadForm, RobotView, ShownView
from competitions.codabench_api.files import address, read_address
from competitions.codabench_api.refused import MANAGED_ELSEWHERE
from competitions.codabench_api.shapes import load_phases, phase_shape, task_shape
from competitions.codabench_api.uploads import import_answer, wait_until_over
from competitions.compute.models import Queue
from competitions.leaderboards.auto_migration import phase_migrate
from competitions.resources.downloads import stored_response
from competitions.resources.rooms import upload_room
from competitions.resources.uploads import take_upload
from competitions.resources.versions import storage_used
from competitions.submissions.annotations import fact_sheet_edit
from competitions.teams.models import Registration
from competitions.teams.services import registration_decide
from core.refusals import NotAllowed

ASK_AGAIN_S: Final = 5
EXPORT_WAITS: Final = "The bundle is still being written. Ask again in a few seconds."
EXPORT_FAILED: Final = (
    "The bundle could not be written: an error of this site. Ask again in a minute, or tell the administrators."
)


class UpdateFactSheet(RobotView):
    """Change the answers of a submission's fact sheet; the body is a mapping from key to answer."""

    def patch(self, request: Request, pk: int) -> Response:
        submission = self.submission(pk)
        answers = self.form.dict() if isinstance(self.form, QueryDict) else self.form
        fact_sheet_edit(submission=submission, answers=answers, by=self.person(), now=timezone.now())
        return Response(self.submission(pk).fact_sheet)


class ManualMigration(RobotView):
    """Run in a phase what counts in the one before, once, without waiting for its start; for organizers."""

    write_scope = Scope.ORGANIZE

    def post(self, request: Request, pk: int) -> Response:
        phase = get_object_or_404(Phase.objects.visible_to(self.person()).select_related("competition"), pk=pk)
        if not organizes(self.person(), phase.competition_id):
            raise NotAllowed("Only the competition's organizers carry submissions into a phase.")
        return Response({"submissions": phase_migrate(phase=phase, now=timezone.now())})


class UploadTask(RobotView):
    """Make a task of a zip with a `task.yaml`."""

    write_scope = Scope.ORGANIZE
    takes_files = True

    def body_room(self, request: Request) -> int:  # type: ignore[override]  # what the address names
        """Room for a task's zip, for hosts. Raises `HostsOnly` or the refusal of an upload."""
        require_host(self.person())
        return upload_room(self.received, self.person())

    def post(self, request: Request) -> Response:
        user = self.person()
        require_host(user)
        file = request.FILES.get("file") if hasattr(request.FILES, "get") else None
        if file is None:
            raise BadForm("Send the zip as the field `file`.")
        now = timezone.now()
        sent = take_upload(user, file, now)
        assert sent.file is not None, "it came in one piece"
        job = task_import_begin(owner=user, stored=sent.file, file_name=sent.file_name, now=now)
        return import_answer(job, lambda over: task_shape(over.task) if over.task is not None else None)


class Queues(RobotView):
    """The queues that the asker may use."""

    write_scope = Scope.ORGANIZE
    parameters = ("search", "public", *PAGE_PARAMETERS)

    def get(self, request: Request) -> Response:
        queues = Queue.objects.usable_by(self.person()).filter(name__icontains=self.query("search"))
        if self.query_flag("public") is False:
            queues = queues.exclude(owner=None)
        return self.page(queues, queue_shape)

    def post(self, request: Request) -> Response:
        self.person()
        raise MANAGED_ELSEWHERE(what="Queues are made, changed and deleted", where="/host/queues/")


class QueueView(ShownView):
    """One queue that the asker may use."""

    def get(self, request: Request, pk: int) -> Response:
        return Response(queue_shape(get_object_or_404(Queue.objects.usable_by(self.person()), pk=pk)))

    def refuse(self, pk: int) -> NoReturn:
        self.get(self.request, pk)
        raise MANAGED_ELSEWHERE(what="Queues are made, changed and deleted", where="/host/queues/")


def queue_shape(queue: Queue) -> dict[str, object]:
    return {"id": queue.pk, "name": queue.name, "vhost": queue.name, "is_public": queue.owner_id is None}


class Participants(RobotView):
    """Participants of the competitions that the asker organizes, or of one of them."""

    read_scope = Scope.ORGANIZE
    # No addresses: they are not shown here, and a filter would tell them.
    parameters = ("competition", "status", "search", "user__username", "user__is_bot", *PAGE_PARAMETERS)

    def get(self, request: Request) -> Response:
        managed = Competition.objects.managed_by(self.person())
        number = self.query_number("competition")
        if number is not None:
            managed = managed.filter(pk=get_object_or_404(managed, pk=number).pk)
        rows = Registration.objects.filter(competition__in=managed).select_related("user").order_by("pk")
        if state := self.query_choice("status", Registration.State.values):
            rows = rows.filter(state=state)
        if (is_bot := self.query_flag("user__is_bot")) is not None:
            rows = rows.filter(user__is_robot=is_bot)
        lookups = {"search": "user__username__icontains", "user__username": "user__username"}
        rows = rows.filter(**{lookup: self.query(name) for name, lookup in lookups.items() if self.query(name)})
        return self.rows(rows, participant_shape)


class ParticipantView(RobotView):
    """One who takes part: approved or denied by an organizer."""

    read_scope = write_scope = Scope.ORGANIZE

    def _registration(self, pk: int) -> Registration:
        managed = Competition.objects.managed_by(self.person())
        rows = Registration.objects.filter(competition__in=managed).select_related("user", "competition")
        return get_object_or_404(rows, pk=pk)

    def get(self, request: Request, pk: int) -> Response:
        return Response(participant_shape(self._registration(pk)))

    def patch(self, request: Request, pk: int) -> Response:
        registration, status = self._registration(pk), self.word("status")
        if status not in ("approved", "denied"):
            raise BadForm(f"`status` must be approved or denied, not {status[:40]!r}.")
        registration_decide(
            registration=registration, approve=status == "approved", by=self.person(), now=timezone.now()
        )
        return Response(participant_shape(self._registration(pk)))

    put = patch


def participant_shape(registration: Registration) -> dict[str, object]:
    user = registration.user
    return {
        "id": registration.pk,
        "username": user.username,
        "is_bot": user.is_robot,
        "status": registration.state,
        "competition": registration.competition_id,
    }


class TogglePublish(RobotView):
    """Publish a draft, or make a published competition a draft again; for its organizers."""

    write_scope = Scope.ORGANIZE

    def post(self, request: Request, pk: int) -> Response:
        competition = get_object_or_404(Competition.objects.managed_by(self.person()), pk=pk)
        if not competition.is_published:
            competition_publish(competition)
        else:
            competition_withdraw(competition)
        return Response({"published": competition.is_published})


class MyProfile(RobotView):
    """The person behind the token or the session."""

    def get(self, request: Request) -> Response:
        user = self.person()
        return Response(
            {
                "id": user.pk,
                "pk": user.pk,
                "username": user.username,
                "name": user.get_full_name(),
                "email": user.email,
                "is_bot": user.is_robot,
                "is_staff": user.is_staff,
                "is_superuser": user.is_superuser,
                "organizations": [],
            }
        )


class Phases(RobotView):
    """The phases that the asker sees, or those of one competition."""

    write_scope = Scope.ORGANIZE
    parameters = ("competition", *PAGE_PARAMETERS)

    def get(self, request: Request) -> Response:
        phases = _phases(self)
        if (competition := self.query_number("competition")) is not None:
            phases = phases.filter(competition=competition)
        return self.rows(phases.order_by("pk"), lambda phase: phase_shape(phase, timezone.now()), limit=500)

    def post(self, request: Request) -> Response:
        self.person()
        raise MANAGED_ELSEWHERE(
            what="Phases are made, changed and deleted", where=f"{reverse('organize:start')}competitions/SLUG/phases/"
        )


class PhaseView(ShownView):
    """One phase that the asker sees."""

    def get(self, request: Request, pk: int) -> Response:
        return Response(phase_shape(get_object_or_404(_phases(self), pk=pk), timezone.now()))

    def refuse(self, pk: int) -> NoReturn:
        phase = get_object_or_404(_phases(self), pk=pk)
        where = reverse("api:phase", args=[phase.competition.slug, phase.slug])
        raise MANAGED_ELSEWHERE(what="Phases are changed", where=where)


def _phases(view: RobotView) -> QuerySet[Phase]:
    return load_phases(Phase.objects.visible_to(view.request.user))


class UserQuota(RobotView):
    """The space that the asker's files take."""

    def get(self, request: Request) -> Response:
        return Response({"quota": settings.ORGANIZER_STORAGE_BYTES, "storage_used": storage_used(self.person())})


class Organizations(RobotView):
    """There are none: an organizer is a person, a participant a team."""

    def get(self, request: Request) -> Response:
        self.person()
        return Response([])


class Dump(RobotView):
    """Export a competition's bundle and say its address; `keys_instead_of_files` for one with keys."""

    write_scope = Scope.ORGANIZE

    def post(self, request: Request, pk: int) -> Response:
        user = self.person()
        competition = get_object_or_404(Competition.objects.managed_by(user), pk=pk)
        keys = self.word("keys_instead_of_files").lower() in ("true", "1", "on")
        export_begin(competition=competition, by=user, with_files=not keys, now=timezone.now())
        url = address(self.received, "codabench:dump-file", competition.pk, int(keys), user.pk)
        refusals = codabench_refusals(competition, with_files=not keys, by=user)
        warnings = [*(f"Codabench refuses this bundle: {reason}" for reason in refusals), *codabench_gaps(competition)]
        return Response({"status": "Success", "url": url, "warnings": warnings}, status=201)


@open_page
def dump_file(request: HttpRequest, token: str) -> HttpResponseBase:
    """The bundle, for anyone with its address, while the person who exported it is an organizer.

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
