"""Deliver messages, signed as in Standard Webhooks 1.0, with growing pauses for up to two days."""

import base64
import hashlib
import hmac
import json
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from competitions.webhooks.models import Webhook, WebhookMessage
from competitions.webhooks.services import JOB
from competitions.webhooks.targets import NotReached, TargetRefused, post
from core.background.jobs import Job
from core.background.rows import Claim, claim

log = structlog.get_logger(__name__)
# After the first try, the second, and so on. With the last one it is given up, and the webhook is turned off.
PAUSES: Final = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 360, 720, 1440))
LEASE_S: Final = 60.0  # a try takes less
GONE: Final = 410  # the receiver wants no more


def waiting_messages() -> QuerySet[WebhookMessage]:
    """Messages that are due or being delivered, without those of webhooks that just failed."""
    now = timezone.now()
    ready = Q(webhook__paused_until=None) | Q(webhook__paused_until__lte=now)
    return _due(now).filter(ready, webhook__stopped_at=None)


def _due(now: datetime) -> QuerySet[WebhookMessage]:
    """Messages that are due, without joining webhooks: a claim compares the row's columns again.

    It has to, after waiting for another claim.
    """
    return WebhookMessage.objects.filter(state=WebhookMessage.State.WAITING, due_at__lte=now)


def message_deliver(pk: int) -> None:
    """Try once. Nothing when it was delivered, is not due, or another process tries."""
    now = timezone.now()
    if not waiting_messages().filter(pk=pk).exists():
        return
    claimed = claim(_due(now), pk, lease_s=LEASE_S)
    message = WebhookMessage.objects.select_related("webhook").filter(pk=pk).first()
    if claimed is None or message is None:
        return
    try:
        status = post(message.webhook.url, *signed(message, timezone.now()))
        is_accepted, answer = 200 <= status < 300, f"HTTP {status}"
    except (TargetRefused, NotReached) as error:
        status, is_accepted, answer = 0, False, str(error)
    _settle(message, claimed, is_accepted=is_accepted, is_gone=status == GONE, answer=answer)


def signed(message: WebhookMessage, now: datetime) -> tuple[bytes, dict[str, str]]:
    """The body and its headers: `webhook-signature` is the HMAC-SHA256 of id, time and body, in base64."""
    body = json.dumps(message.body, separators=(",", ":")).encode()
    stamp = str(int(now.timestamp()))
    content = b".".join([str(message.key).encode(), stamp.encode(), body])
    key = base64.b64decode(message.webhook.secret)
    digest = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return body, {
        "content-type": "application/json",
        "user-agent": "Podium-Webhook",
        "webhook-id": str(message.key),
        "webhook-timestamp": stamp,
        "webhook-signature": f"v1,{digest}",
    }


@transaction.atomic
def _settle(message: WebhookMessage, claimed: Claim, *, is_accepted: bool, is_gone: bool, answer: str) -> None:
    """Record the try's result. A failure pauses the webhook, so that a slow target delays no others."""
    now, tries = timezone.now(), message.tries + 1
    is_over = is_accepted or is_gone or tries > len(PAUSES)
    changes: dict[str, object] = {"tries": tries, "answer": answer[:300]}
    if is_over:
        changes["state"] = WebhookMessage.State.DELIVERED if is_accepted else WebhookMessage.State.FAILED
        changes["settled_at"] = now
    else:
        changes["due_at"] = now + PAUSES[tries - 1]
    if not claimed.release(**changes):
        log.warning("webhook_taken_over", message=message.pk)
        return
    hook = Webhook.objects.filter(pk=message.webhook_id)
    if is_accepted:
        hook.exclude(paused_until=None).update(paused_until=None)
    elif is_over:
        hook.filter(stopped_at=None).update(stopped_at=now)
    else:
        hook.update(paused_until=now + PAUSES[tries - 1])


DELIVERY: Final = Job(JOB, waiting=waiting_messages, perform=message_deliver)
