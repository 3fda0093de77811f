"""Accounts that are going to be deleted, for administrators, who can begin that as well."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from accounts.admin import UserAdmin
from accounts.models import User
from competitions.people.deleting import WAITING_TIME, deletion_ask, deletion_withdraw
from competitions.people.models import AccountDeletion
from core.guarded_admin import ReadOnlyAdmin
from core.refusals import Refusal


@admin.action(description=f"Delete the account in {WAITING_TIME.days} days, as its person can on their page")
def begin_deletion(model_admin: UserAdmin, request: HttpRequest, queryset: QuerySet[User]) -> None:
    """Begin the end of accounts; who has to hand over first is named with what."""
    if not request.user.is_superuser:
        model_admin.message_user(request, "Administrators alone delete accounts.", messages.ERROR)
        return
    for user in queryset:
        try:
            deletion = deletion_ask(user=user, now=timezone.now(), is_own_wish=user.pk == request.user.pk)
        except Refusal as refusal:
            model_admin.message_user(
                request, f"Not begun for {user.username}, who would read: {refusal.detail}", messages.ERROR
            )
            continue
        model_admin.log_change(request, user, f"Began the deletion of the account, due {deletion.due_at:%Y-%m-%d}.")
        text = f"The account {user.username} is deleted on {deletion.due_at:%Y-%m-%d}; its owner can cancel this until then."
        model_admin.message_user(request, text)


UserAdmin.actions = [*UserAdmin.actions, begin_deletion]


@admin.register(AccountDeletion)
class AccountDeletionAdmin(ReadOnlyAdmin):
    """Accounts that wait for their deletion; their people, and administrators, take it back."""

    list_display = ["user", "asked_at", "due_at", "held_up_at"]
    list_select_related = ["user"]
    actions = ["withdraw"]

    @admin.action(description="Keep the account after all", permissions=["decide"])
    def withdraw(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for deletion in queryset.select_related("user"):
            if deletion_withdraw(user=deletion.user):
                self.log_change(request, deletion.user, "Took the deletion of the account back.")
                self.message_user(request, f"{deletion.user} stays.")
