"""The right to host competitions, and requests for it."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.urls import reverse

from accounts.models import User
from accounts.outbox import mail_person
from competitions.catalog.organizers import HostsOnly, may_host
from competitions.notifications.services import notify_account
from competitions.organize.models import CompetitionDraft, HostRequest, OrganizerInvitation
from competitions.organize.refusals import REQUEST_OPEN, REQUESTS_CLOSED


def require_staff(user: User) -> None:
    """Raise `HostsOnly` unless this person is a host: only people chosen by administrators have queues."""
    if not user.is_staff:
        raise HostsOnly


def may_ask(user: User) -> bool:
    """True where this person may ask to host, by the site's policy."""
    return settings.HOSTS == "on_request" and not user.is_robot and not may_host(user)


@transaction.atomic
def host_request(*, user: User, purpose: str, now: datetime) -> HostRequest:
    """Ask to host, and tell the administrators. Raises `REQUESTS_CLOSED` or `REQUEST_OPEN`."""
    if not may_ask(user):
        raise REQUESTS_CLOSED()
    User.objects.select_for_update(no_key=True).get(pk=user.pk)  # two requests at once take turns
    if HostRequest.objects.filter(user=user, state=HostRequest.State.OPEN).exists():
        raise REQUEST_OPEN()
    open_request = HostRequest.objects.create(user=user, purpose=purpose, created_at=now)
    for administrator in User.objects.filter(is_superuser=True, is_active=True):
        mail_person(
            to=administrator,
            subject=f"{user} asks to host competitions",
            text=f"{user} ({user.email}) asks to host competitions: {purpose}\n\nGrant or decline it here:",
            path=reverse("admin:organize_hostrequest_changelist"),
        )
    return open_request


@transaction.atomic
def host_request_decide(*, request: HostRequest, grant: bool, by: User, now: datetime) -> bool:
    """Make the person an organizer, or decline; they get a mail. False when it was decided before."""
    state = HostRequest.State.GRANTED if grant else HostRequest.State.DECLINED
    waiting = HostRequest.objects.filter(pk=request.pk, state=HostRequest.State.OPEN)
    if not waiting.update(state=state, decided_by=by, decided_at=now):
        return False
    if grant:
        User.objects.filter(pk=request.user_id).update(is_staff=True)
    text = (
        "You may host competitions now."
        if grant
        else "An administrator has declined your request to host competitions."
    )
    subject, path = f"Hosting competitions: {state.label}", reverse("organize:start")
    mail_person(to=request.user, subject=subject, text=text, path=path)
    notify_account(user=request.user, subject=subject, text=text, path=path, event=f"host-request-{request.pk}")
    return True


def host_forget(sender: type[User], user: User, **kwargs: Any) -> None:
    """Receiver of `account_ending`: drafts, requests and invitations go; competitions stay with others."""
    OrganizerInvitation.objects.filter(Q(user=user) | Q(invited_by=user)).delete()
    CompetitionDraft.objects.filter(owner=user).delete()
    HostRequest.objects.filter(user=user).delete()
