"""Submissions and runs, for organizers: they show everything, and act through the services."""

import json
from collections.abc import Callable
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.models import User
from competitions.catalog.organizer_admin import OrganizerAdmin, OwnCompetitions, ReadOnly
from competitions.refusals import Refusal
from competitions.submissions.access import log_streams
from competitions.submissions.models import Run, RunEvent, Submission
from competitions.submissions.receipts import receipt_for
from competitions.submissions.services import (
    submission_cancel,
    submission_disqualify,
    submission_reinstate,
    submission_rerun,
)


def actor_of(request: HttpRequest) -> str:
    return f"admin:{request.user.get_username()}"


class ReasonForm(ActionForm):
    """Asks for the reason that the team reads when its submission is disqualified."""

    reason = forms.CharField(required=False, max_length=500, label="Reason (to disqualify)")


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


@admin.register(Submission)
class SubmissionAdmin(ReadOnly, OrganizerAdmin):
    """Every submission of the organizer's competitions. Scores stay on the leaderboard, whose rule on sealing holds."""

    competition_path = "phase__competition"
    list_display = [
        "id", "status", "team", "phase", "kind", "page", "reason", "is_charged", "created_at", "disqualified_at",
    ]  # fmt: skip
    list_filter = ["status", "reason", "kind"]
    list_select_related = ["team", "phase__competition"]
    search_fields = ["team__name", "file_name", "submitted_by__username"]
    inlines = [RunInline]
    action_form = ReasonForm
    actions = ["rerun", "cancel", "disqualify", "reinstate"]
    show_full_result_count = False

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

    @admin.action(description="Run again (each task is a new attempt)", permissions=["change"])
    def rerun(self, request: HttpRequest, queryset: QuerySet[Submission]) -> None:
        actor, now = actor_of(request), timezone.now()
        self._each(
            request, queryset, "queued again", lambda one: submission_rerun(submission=one, actor=actor, now=now)
        )

    @admin.action(description="Cancel", permissions=["change"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Submission]) -> None:
        actor, now = actor_of(request), timezone.now()
        self._each(request, queryset, "cancelled", lambda one: submission_cancel(submission=one, actor=actor, now=now))

    @admin.action(description="Disqualify (give a reason)", permissions=["change"])
    def disqualify(self, request: HttpRequest, queryset: QuerySet[Submission]) -> None:
        reason, now = request.POST.get("reason", "").strip(), timezone.now()
        if not reason:
            self.message_user(request, "Give the reason beside the action; the team reads it.", messages.ERROR)
            return
        self._each(
            request, queryset, "disqualified", lambda one: submission_disqualify(submission=one, reason=reason, now=now)
        )

    @admin.action(description="Undo a disqualification", permissions=["change"])
    def reinstate(self, request: HttpRequest, queryset: QuerySet[Submission]) -> None:
        self._each(request, queryset, "reinstated", lambda one: submission_reinstate(submission=one))


class RunEventInline(OwnCompetitions, admin.TabularInline[RunEvent, Run]):
    model = RunEvent
    competition_path = "run__submission__phase__competition"
    fields: ClassVar[Any] = ["at", "attempt", "source", "target", "actor", "note"]
    readonly_fields: ClassVar[Any] = fields
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


# Scores of a run are left out here: one rule on visibility, and it lives in the leaderboards app.
RUN_FIELDS = [
    "id", "submission", "task", "team", "queue", "state", "attempt", "worker", "queued_at", "started_at", "finished_at",
    "lease_expires_at", "cancel_requested_at", "reason", "code", "detail", "meters", "shown_receipt",
]  # fmt: skip


@admin.register(Run)
class RunAdmin(ReadOnly, OrganizerAdmin):
    competition_path = "submission__phase__competition"
    list_display = ["id", "submission", "task", "state", "attempt", "worker", "queued_at", "lease_expires_at"]
    list_filter = ["state"]
    list_select_related = ["submission", "task", "worker__queue"]
    fields: ClassVar[Any] = RUN_FIELDS
    inlines = [RunEventInline]
    show_full_result_count = False

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Run | None:
        run: Run | None = super().get_object(request, object_id, from_field)
        if run is not None:  # the organizer's own view of it: see `receipt_for`
            user = request.user
            assert isinstance(user, User), "the admin lets nobody else in"
            run.receipt = receipt_for(run, streams=log_streams(user, run.submission.phase))
        return run

    @admin.display(description="Receipt")
    def shown_receipt(self, run: Run) -> str:
        return json.dumps(run.receipt, indent=2, ensure_ascii=False)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        return RUN_FIELDS
