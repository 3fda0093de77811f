"""Submissions and runs, for organizers: they show everything, and act through the services."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME, ActionForm
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.models import User
from competitions.catalog.models import Phase
from competitions.catalog.organizer_admin import (
    CompetitionFilter,
    History,
    OrganizerAdmin,
    ReadOnly,
    choices_for,
    managed_competitions,
)
from competitions.compute.models import Queue
from competitions.disclosure.readers import reader_of
from competitions.disclosure.receipts import disclosed_receipt
from competitions.runs.bulk import cost_of, runs_move_to_queue
from competitions.runs.models import Run, RunEvent
from competitions.runs.records.outdated import outdated_submissions
from competitions.runs.services import submission_cancel, submission_rerun
from competitions.submissions.models import Submission
from competitions.submissions.services import (
    submission_disqualify,
    submission_reinstate,
    team_disqualify,
    team_reinstate,
)
from competitions.submissions.states import ORGANIZERS_OWN, Reason, State
from competitions.teams.models import Team
from core.refusals import Refusal
from files.text import is_number


def confirmed_ones(request: HttpRequest, queryset: QuerySet[Submission]) -> QuerySet[Submission]:
    """Those that the page of confirmation named, all in one field: of fields a browser may send a thousand and no more."""
    if "chosen" not in request.POST:
        return queryset
    return queryset.filter(pk__in=[pk for pk in request.POST["chosen"].split(",") if is_number(pk)])


def queues_for(request: HttpRequest) -> QuerySet[Queue]:
    """Those that this organizer may send runs to."""
    choices = choices_for(request, Queue)
    return Queue.objects.all() if choices is None else choices


def actor_of(request: HttpRequest) -> str:
    return f"admin:{request.user.get_username()}"


class ReasonForm(ActionForm):
    """Asks for the reason of a disqualification. The team reads it, and amendments to a commitment publish it."""

    reason = forms.CharField(required=False, max_length=500, label="Public reason (to disqualify)")


RUN_COLUMNS = ["id", "task", "state", "attempt", "worker", "reason", "detail"]


class RunInline(ReadOnly, admin.TabularInline[Run, Submission]):
    model = Run
    competition_path = "submission__phase__competition"
    fields: ClassVar[Any] = RUN_COLUMNS
    extra = 0
    can_delete = False
    show_change_link = True

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        return RUN_COLUMNS


class PhaseFilter(admin.SimpleListFilter):
    """Submissions of one phase of the competition that the list is narrowed to."""

    title, parameter_name = "phase", "phase"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        competitions, chosen = managed_competitions(request), request.GET.get(CompetitionFilter.parameter_name, "")
        if not is_number(chosen) and len(competitions[:2]) > 1:
            return []
        phases = Phase.objects.filter(competition__in=competitions)
        options = phases.filter(competition=int(chosen)) if is_number(chosen) else phases
        return [(str(pk), name) for pk, name in options.values_list("pk", "name")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Submission]) -> QuerySet[Submission]:
        return queryset.filter(phase=int(chosen)) if is_number(chosen := self.value() or "") else queryset


class StandingFilter(admin.SimpleListFilter):
    """What a submission's status does not say: it is late, disqualified, or counts towards no quota."""

    title, parameter_name = "standing", "standing"
    rows: ClassVar[Any] = {
        "late": ("late", Q(is_late=True)),
        "disqualified": ("disqualified", Q(disqualified_at__isnull=False)),
        "free": ("counted towards no quota", Q(is_charged=False)),
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, label) for name, (label, _) in self.rows.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Submission]) -> QuerySet[Submission]:
        return queryset.filter(self.rows[self.value()][1]) if self.value() in self.rows else queryset


class SubmissionAdmin(ReadOnly, OrganizerAdmin):
    """Every submission of the organizer's competitions; boards add the column with scores, and register it."""

    competition_path = "phase__competition"
    list_display = ["id", "state", "team", "phase", "kind", "received_at", "page"]
    list_filter = [PhaseFilter, "status", "reason", "kind", StandingFilter]
    list_select_related = ["team", "phase__competition"]
    search_fields = ["team__name", "file_name", "submitted_by__username"]
    inlines = [RunInline]
    action_form = ReasonForm
    actions = ["rerun", "cancel", "move", "disqualify", "disqualify_team", "reinstate", "reinstate_team"]
    show_full_result_count = False

    def view_on_site(self, obj: Submission) -> str:
        return reverse("web:submission", args=[obj.pk])

    @admin.display(description="State", ordering="status")
    def state(self, submission: Submission) -> str:
        """The status with why it failed, and what else keeps it from counting."""
        parts = [submission.get_status_display(), submission.get_reason_display() if submission.reason else ""]
        parts += ["late" if submission.is_late else "", "disqualified" if submission.disqualified_at else ""]
        return ", ".join(part for part in parts if part)

    @admin.display(description="Page and file")
    def page(self, submission: Submission) -> SafeString:
        page = reverse("web:submission", args=[submission.pk])
        download = reverse("api:submission-download", args=[submission.pk])
        return format_html('<a href="{}">page</a> <a href="{}">download</a>', page, download)

    def _each(
        self, request: HttpRequest, queryset: QuerySet[Submission], word: str, act: Callable[[Submission], Any]
    ) -> None:
        done = 0
        for submission in queryset:
            try:
                done += bool(act(submission) is not False)
            except Refusal as refusal:
                self.message_user(request, f"#{submission.pk}: {refusal.detail}", messages.WARNING)
        self.message_user(request, f"{done} of {queryset.count()} {word}.")

    def get_urls(self) -> list[URLPattern]:
        """One more page: what ran with versions that have been replaced since, to run it again."""
        page = path("outdated/", self.admin_site.admin_view(self.outdated), name="submissions_submission_outdated")
        return [page, *super().get_urls()]

    def outdated(self, request: HttpRequest) -> HttpResponse:
        """Run again what ran with old versions, of the tasks or phases in the address: count and cost first."""
        asked = {
            name: [pk for pk in request.GET.get(name, "").split(",") if is_number(pk)] for name in ("task", "phase")
        }
        runs = Run.objects.filter(Q(task__in=asked["task"]) | Q(submission__phase__in=asked["phase"]))
        mine = self.get_queryset(request)
        submissions = mine.filter(pk__in=outdated_submissions(runs.filter(submission__in=mine.values("pk"))))
        if not submissions.exists():
            self.message_user(request, "Nothing of yours ran with programs or data that have been replaced since.")
        elif page := self._asks_first(
            request, submissions, "rerun", "Run again with the new versions", names_them=False
        ):
            return page
        else:
            self._run_again(request, submissions)
        return redirect("admin:submissions_submission_changelist")

    def _asks_first(
        self, request: HttpRequest, queryset: QuerySet[Submission], action: str, words: str, *, names_them: bool = True
    ) -> TemplateResponse | None:
        """The page that shows what a bulk action would concern and cost; None once the person has confirmed.

        `names_them`: the answer names every submission; else the page's own address says which.
        """
        if request.POST.get("confirmed") == "yes":
            return None
        context = admin.site.each_context(request) | {
            "title": words,
            "action": action,
            "opts": self.model._meta,
            "cost": cost_of(queryset),
            "queryset": queryset[:20],
            "selected": list(queryset.values_list("pk", flat=True)) if names_them else [],
            "checkbox_name": ACTION_CHECKBOX_NAME,
            "queues": queues_for(request) if action == "move" else None,
        }
        return TemplateResponse(request, "admin/submissions/confirm.html", context)

    @admin.action(description="Move what waits to another queue", permissions=["change"])
    def move(self, request: HttpRequest, queryset: QuerySet[Submission]) -> TemplateResponse | None:
        asked = self._asks_first(request, queryset, "move", "Move what waits to another queue")
        if asked is not None:
            return asked
        queue = queues_for(request).filter(name=request.POST.get("queue", "")).first()
        if queue is None:
            self.message_user(request, "Choose one of the queues that you may use. Nothing was moved.", messages.ERROR)
            return None
        chosen = confirmed_ones(request, queryset)
        moved = runs_move_to_queue(submissions=chosen, queue=queue, actor=actor_of(request), now=timezone.now())
        self.message_user(request, f"{moved} waiting runs were moved to {queue}; what runs stays where it is.")
        return None

    @admin.action(description="Run again (each task is a new attempt)", permissions=["change"])
    def rerun(self, request: HttpRequest, queryset: QuerySet[Submission]) -> TemplateResponse | None:
        asked = self._asks_first(request, queryset, "rerun", "Run again")
        if asked is not None:
            return asked
        self._run_again(request, confirmed_ones(request, queryset))
        return None

    def _run_again(self, request: HttpRequest, queryset: QuerySet[Submission]) -> None:
        actor, now = actor_of(request), timezone.now()
        self._each(
            request,
            queryset,
            "queued again",
            lambda submission: submission_rerun(submission=submission, actor=actor, now=now),
        )

    @admin.action(description="Cancel", permissions=["change"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Submission]) -> TemplateResponse | None:
        asked = self._asks_first(request, queryset, "cancel", "Cancel")
        if asked is not None:
            return asked
        actor, now, queryset = actor_of(request), timezone.now(), confirmed_ones(request, queryset)
        self._each(
            request,
            queryset,
            "cancelled",
            lambda submission: submission_cancel(submission=submission, actor=actor, now=now),
        )
        return None

    @admin.action(description="Disqualify (give a reason)", permissions=["change"])
    def disqualify(self, request: HttpRequest, queryset: QuerySet[Submission]) -> None:
        now = timezone.now()
        if reason := self._public_reason(request):
            disqualify = partial(submission_disqualify, reason=reason, now=now)
            self._each(request, queryset, "disqualified", lambda submission: disqualify(submission=submission))

    @admin.action(description="Disqualify the whole team (give a reason)", permissions=["change"])
    def disqualify_team(self, request: HttpRequest, queryset: QuerySet[Submission]) -> None:
        now = timezone.now()
        if reason := self._public_reason(request):
            teams = Team.objects.filter(pk__in=queryset.values("team"))
            done = [team.name for team in teams if team_disqualify(team=team, reason=reason, now=now)]
            self.message_user(request, f"Disqualified: {', '.join(done) or 'no team; they were already'}.")

    def _public_reason(self, request: HttpRequest) -> str:
        reason = request.POST.get("reason", "").strip()
        if not reason:
            self.message_user(request, "Give the reason beside the action; it is public.", messages.ERROR)
        return reason

    @admin.action(description="Undo a disqualification", permissions=["change"])
    def reinstate(self, request: HttpRequest, queryset: QuerySet[Submission]) -> None:
        now = timezone.now()
        self._each(
            request, queryset, "reinstated", lambda submission: submission_reinstate(submission=submission, now=now)
        )

    @admin.action(description="Undo the disqualification of the team", permissions=["change"])
    def reinstate_team(self, request: HttpRequest, queryset: QuerySet[Submission]) -> None:
        now = timezone.now()
        teams = Team.objects.filter(pk__in=queryset.values("team"))
        done = [team.name for team in teams if team_reinstate(team=team, now=now)]
        self.message_user(request, f"Reinstated: {', '.join(done) or 'no team; none was disqualified as a team'}.")


class RunEventInline(History, admin.TabularInline[RunEvent, Run]):
    model = RunEvent
    competition_path = "run__submission__phase__competition"
    fields: ClassVar[Any] = ["at", "attempt", "source", "target", "actor", "note"]
    readonly_fields: ClassVar[Any] = fields


# Scores of a run are left out here: pages show them, and ask disclosure.
RUN_FIELDS = [
    "id", "submission", "task", "team", "queue", "state", "attempt", "worker", "queued_at", "started_at", "finished_at",
    "lease_expires_at", "cancel_requested_at", "reason", "code", "detail", "meters", "shown_receipt",
]  # fmt: skip


class NeedsAPerson(admin.SimpleListFilter):
    """Runs that are held: nothing happens to them until somebody has looked and runs them again."""

    title = "held for a person"
    parameter_name = "held"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("platform", "after faults of the platform"),
            ("organizer", "after a fault of the scoring program or the setup"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> QuerySet[Run]:
        reasons = {"platform": (Reason.INFRASTRUCTURE,), "organizer": ORGANIZERS_OWN}.get(self.value() or "")
        return queryset if reasons is None else queryset.filter(state=State.FAILED, reason__in=reasons)


@admin.register(Run)
class RunAdmin(ReadOnly, OrganizerAdmin):
    competition_path = "submission__phase__competition"
    list_display = ["short_id", "state", "why", "submission", "task", "attempt", "worker", "queued_at"]
    list_filter = ["state", NeedsAPerson]
    list_select_related = ["submission", "task", "worker__queue"]
    fields: ClassVar[Any] = RUN_FIELDS
    inlines = [RunEventInline]
    show_full_result_count = False

    @admin.display(description="run")
    def short_id(self, run: Run) -> str:
        return str(run.pk)[:8]

    @admin.display(description="reason", ordering="reason")
    def why(self, run: Run) -> str:
        return ": ".join(part for part in (run.get_reason_display() if run.reason else "", run.code) if part)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Run | None:
        run: Run | None = super().get_object(request, object_id, from_field)
        if run is not None:  # the organizer's own view of it: see `disclosed_receipt`
            user = request.user
            assert isinstance(user, User), "the admin lets nobody else in"
            run.receipt = disclosed_receipt(reader_of(user), run.submission.phase, run.receipt, is_smoke=run.is_smoke)
        return run

    @admin.display(description="Receipt")
    def shown_receipt(self, run: Run) -> str:
        return json.dumps(run.receipt, indent=2, ensure_ascii=False)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        return RUN_FIELDS
