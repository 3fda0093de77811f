"""Mails of notifications, at once or once a day, each with a link that stops them (RFC 8058)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.text import Truncator

from accounts.models import User
from competitions.catalog.models import Competition
from competitions.notifications.models import Delivery, Kind, Notification, NotificationPreference
from competitions.notifications.services import details, preferences_set
from core.reconciler import run_guarded

DIGEST_HOUR: Final = 6  # UTC
MOST_A_ROUND: Final = 500  # the reconciler has other things to do; the next round goes on
MOST_IN_A_DIGEST: Final = 50
DETAIL_CHARS: Final = 600  # of one notification in a digest, which lists many
SALT: Final = "notifications.opt_out"


@dataclass(frozen=True)
class OptOut:
    """The mails that a signed link stops: those of a kind in one competition, or the digest (no kind)."""

    user_id: int
    kind: Kind | None = None
    competition_id: int | None = None

    @property
    def token(self) -> str:
        return signing.dumps([self.user_id, self.kind or "", self.competition_id], salt=SALT)


def read_opt_out(token: str) -> OptOut:
    """Raises `BadSignature` for what this site did not sign."""
    user_id, kind, competition_id = signing.loads(token, salt=SALT)
    return OptOut(user_id, Kind(kind) if kind else None, competition_id)


@transaction.atomic
def opt_out(*, mails: OptOut) -> bool:
    """Stop these mails; the inbox goes on. False when the person or the competition is gone."""
    user = User.objects.filter(pk=mails.user_id).first()
    if user is None:
        return False
    if mails.kind is None:
        chosen = NotificationPreference.objects.filter(user=user, delivery=Delivery.DIGEST)
        chosen.update(delivery=Delivery.NONE)
        waiting = Notification.objects.filter(user=user, delivery=Delivery.DIGEST, mailed_at=None)
        waiting.update(delivery=Delivery.NONE)
        return True
    competition = Competition.objects.filter(pk=mails.competition_id or 0).first()
    if competition is None:
        return False
    preferences_set(user=user, competition=competition, chosen={mails.kind: Delivery.NONE})
    return True


def notifications_mail(*, now: datetime) -> int:
    """For the reconciler: mail what is to be mailed at once; returns how many mails."""
    due = Notification.objects.filter(delivery=Delivery.AT_ONCE, mailed_at=None).order_by("created_at")
    numbers = due.values_list("pk", flat=True)[:MOST_A_ROUND]
    return sum(run_guarded("notifications_mailed", partial(_mail, due.filter(pk=pk)), now=now) for pk in list(numbers))


def digests_mail(*, now: datetime) -> int:
    """For the reconciler: mail yesterday's unread notifications as digests; returns how many mails."""
    due = Notification.objects.filter(
        delivery=Delivery.DIGEST, mailed_at=None, read_at=None, created_at__lt=_digest_at(now)
    )
    people = due.order_by().values_list("user", flat=True).distinct()[:MOST_A_ROUND]
    return sum(run_guarded("digests_mailed", partial(_mail, due.filter(user=pk)), now=now) for pk in list(people))


def _digest_at(now: datetime) -> datetime:
    """The last instant at which digests were due."""
    today = now.replace(hour=DIGEST_HOUR, minute=0, second=0, microsecond=0)
    return today if today <= now else today - timedelta(days=1)


@transaction.atomic
def _mail(due: QuerySet[Notification], *, now: datetime) -> int:
    """Mail these to one person, once: rows are locked and marked in one transaction with the mail."""
    rows = list(due.select_for_update(of=("self",)).select_related("user", "competition").order_by("pk"))
    Notification.objects.filter(pk__in=[row.pk for row in rows]).update(mailed_at=now)
    if not rows or not rows[0].user.is_active or not rows[0].user.email:
        return 0
    is_digest = rows[0].delivery == Delivery.DIGEST
    more = details(rows[:MOST_IN_A_DIGEST], rows[0].user, now)
    return (_digest(rows, more) if is_digest else _single(rows[0], more)).send()


def _single(row: Notification, more: Mapping[int, str]) -> EmailMessage:
    why = f"You get this mail for “{row.get_kind_display()}” in {row.competition}."
    body = "\n\n".join(part for part in (row.text, more.get(row.pk), f"{settings.SITE_URL}{row.path}") if part)
    return _message(row.user, row.subject, body, why, OptOut(row.user_id, Kind(row.kind), row.competition_id))


def _digest(rows: list[Notification], more: Mapping[int, str]) -> EmailMessage:
    blocks = [_block(row, more.get(row.pk, "")) for row in rows[:MOST_IN_A_DIGEST]]
    if len(rows) > MOST_IN_A_DIGEST:
        blocks.append(f"And {len(rows) - MOST_IN_A_DIGEST} more in your inbox.")
    subject = f"{settings.BRAND.name}: {len(rows)} new notification{'s' if len(rows) > 1 else ''}"
    return _message(rows[0].user, subject, "\n\n".join(blocks), "This is your daily digest.", OptOut(rows[0].user_id))


def _block(row: Notification, detail: str) -> str:
    shown = Truncator(detail).chars(DETAIL_CHARS)
    lines = f"{row.competition}: {row.subject}", shown, f"{settings.SITE_URL}{row.path}"
    return "\n".join(line for line in lines if line)


def _message(to: User, subject: str, body: str, why: str, mails: OptOut) -> EmailMessage:
    stop = settings.SITE_URL + reverse("web:notifications-stop", args=[mails.token])
    choices = settings.SITE_URL + reverse("web:notification-preferences")
    foot = f"-- \n{why}\nStop these mails: {stop}\nChoose what is mailed: {choices}\n"
    headers = {"List-Unsubscribe": f"<{stop}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    return EmailMessage(subject, f"{body}\n\n{foot}", to=[to.email], headers=headers)
