"""Adding webhooks, turning them on and off, and what they are to be told."""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.attempts import Counter, Limit
from accounts.models import User
from competitions.catalog.models import Competition, CompetitionOrganizer
from competitions.catalog.organizers import organizes
from competitions.notifications.models import Kind
from competitions.notifications.services import Notice
from competitions.teams.models import Membership, Registration, Team
from competitions.teams.services import locked_team, require_admitted, require_member
from competitions.webhooks.models import Webhook, WebhookMessage, new_secret
from core.background import jobs
from core.refusals import RefusalKind

MOST_OF_AN_OWNER: Final = 5
KEPT: Final = timedelta(days=30)
TEST: Final = "test"
SENDS: Final = Limit(30, 3600)  # tests and messages sent again, of all webhooks of a team or of the organizers
JOB: Final = "webhook-message"

TOO_MANY_WEBHOOKS: Final = RefusalKind(
    409, "too_many_webhooks", f"There are {MOST_OF_AN_OWNER} webhooks already, which is the limit. Delete one first."
)

NO_ORGANIZER: Final = RefusalKind(
    403, "no_organizer", "You no longer organize “{competition}”. Ask one of its organizers to add the webhook."
)

NOTHING_TO_SEND: Final = RefusalKind(409, "webhook_stopped", "The webhook is turned off. Turn it on first.")
TEST_WAITS: Final = RefusalKind(
    409, "webhook_test_waits", "A test of this webhook still waits to be delivered. Send another one after that."
)
TOO_MANY_SENDS: Final = RefusalKind(
    429,
    "too_many_sends",
    "You have sent {limit} tests and earlier messages within an hour, which is the limit. Try again later.",
    tells=("limit",),
)


def webhooks_for(*, competition: Competition, team: Team | None) -> QuerySet[Webhook]:
    """The webhooks of a team, or of the organizers (None)."""
    return Webhook.objects.filter(competition=competition, team=team)


@transaction.atomic
def webhook_create(
    *, competition: Competition, team: Team | None, by: User, url: str, kinds: Sequence[Kind], now: datetime
) -> Webhook:
    """A new webhook.

    Raises `TOO_MANY_WEBHOOKS`, `NO_ORGANIZER`, or for a team's `NO_TEAM` or why the person is not admitted.
    """
    if team is not None:
        require_member(locked_team(team), by)  # whoever leaves waits, and then it is turned off
    Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)  # two at once count each other
    if team is not None:
        # A denial waits for it, and then turns the webhook off.
        list(Registration.objects.select_for_update(no_key=True).filter(user=by, competition=competition))
        require_admitted(user=by, competition=competition)
    elif not organizes(by, competition.pk):
        raise NO_ORGANIZER(competition=competition)
    if webhooks_for(competition=competition, team=team).count() >= MOST_OF_AN_OWNER:
        raise TOO_MANY_WEBHOOKS()
    return Webhook.objects.create(
        competition=competition, team=team, url=url, kinds=list(kinds), created_by=by, created_at=now
    )


def webhook_stop(*, webhook: Webhook, now: datetime) -> None:
    """Send nothing more; what waits stays."""
    Webhook.objects.filter(pk=webhook.pk, stopped_at=None).update(stopped_at=now)


def webhooks_follow_organizer(
    sender: type[CompetitionOrganizer], instance: CompetitionOrganizer, **kwargs: Any
) -> None:
    """Receiver of `post_delete`: turn off an organizer's webhooks; the others may turn them on again."""
    _turn_off(competition=instance.competition_id, team=None, created_by=instance.user_id)


def webhooks_follow_member(sender: type[Membership], instance: Membership, **kwargs: Any) -> None:
    """Receiver of `post_delete`: turn off what somebody added who is no longer in the team."""
    _turn_off(team=instance.team_id, created_by=instance.user_id)


def webhooks_follow_denial(sender: type[Registration], registration: Registration, **kwargs: Any) -> None:
    """Receiver of `registration_decided`: turn off what a denied member added for their team."""
    if registration.state == Registration.State.DENIED:
        teams = Membership.objects.filter(user=registration.user_id, competition=registration.competition_id)
        _turn_off(team__in=teams.values("team"), created_by=registration.user_id)


def _turn_off(**whose: object) -> None:
    Webhook.objects.filter(stopped_at=None, **whose).update(stopped_at=timezone.now())


@transaction.atomic
def webhook_resume(*, webhook: Webhook, by: User) -> None:
    """Send again, beginning with what waits; it becomes this person's if whoever added it has left.

    Until then it stays theirs, since they chose where it sends, and ends with their part in the team.
    """
    owner = webhook.created_by if _takes_part(webhook) else by
    Webhook.objects.filter(pk=webhook.pk).update(stopped_at=None, paused_until=None, created_by=owner)
    _send_waiting(webhook)


def _takes_part(webhook: Webhook) -> bool:
    """True while whoever added it is one of the team, or of the organizers, and has an account."""
    user = webhook.created_by
    if user is None or not user.is_active:
        return False
    if webhook.team_id is not None:
        return Membership.objects.filter(team=webhook.team_id, user=user).exists()
    return CompetitionOrganizer.objects.filter(competition=webhook.competition_id, user=user).exists()


def secret_replace(*, webhook: Webhook) -> str:
    """A new signing key; the old one ends at once."""
    webhook.secret = new_secret()
    webhook.save(update_fields=["secret"])
    return webhook.signing_key


@transaction.atomic
def webhook_test(*, webhook: Webhook, now: datetime) -> WebhookMessage:
    """Have a message sent that says it is a test.

    Raises `NOTHING_TO_SEND`, `TEST_WAITS` or `TOO_MANY_SENDS`.
    """
    if webhook.stopped_at is not None:
        raise NOTHING_TO_SEND()
    Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)  # two at once see each other's test
    if webhook.messages.filter(state=WebhookMessage.State.WAITING, event__startswith=f"{TEST}-").exists():
        raise TEST_WAITS()
    _require_send(webhook)
    text = "This is a test of the webhook."
    body = _body(TEST, webhook.competition, now, subject="Test", text=text, path="/")
    return _message(webhook, f"{TEST}-{uuid.uuid4()}", body, now)


@transaction.atomic
def message_resend(*, message: WebhookMessage, now: datetime) -> bool:
    """Send a message again that was settled. False when it waits anyway. Raises `TOO_MANY_SENDS`."""
    settled = WebhookMessage.objects.filter(pk=message.pk).exclude(state=WebhookMessage.State.WAITING)
    changed = settled.update(state=WebhookMessage.State.WAITING, settled_at=None, tries=0, attempts=0, due_at=now)
    if changed:
        _require_send(message.webhook)
        jobs.send_after_commit(JOB, message.pk)
    return bool(changed)


def _require_send(webhook: Webhook) -> None:
    """Count by owner, so that a new webhook does not begin anew. Raises `TOO_MANY_SENDS`."""
    if Counter(f"webhooks of {webhook.competition_id}, team {webhook.team_id}", SENDS).add(1) > SENDS.amount:
        raise TOO_MANY_SENDS(limit=SENDS.amount)


def notice_forward(sender: type[Notice], notice: Notice, now: datetime, **kwargs: Any) -> None:
    """Receiver of `notice_sent`: a message for each webhook of organizers and teams told that gets it.

    None for those of deactivated accounts, until another member turns them off and on.
    """
    teams = Membership.objects.filter(competition=notice.competition, user__in=notice.people.order_by().values("pk"))
    whose = Q(team=None) | Q(team__in=teams.order_by().values("team"))
    hooks = Webhook.objects.filter(whose, competition=notice.competition, stopped_at=None)
    hooks = hooks.exclude(created_by__is_active=False)
    body = _body(notice.kind, notice.competition, now, subject=notice.subject, text=notice.text, path=notice.path)
    for webhook in hooks:
        if webhook.gets(notice.kind):
            _message(webhook, notice.event, body, now)


def event_drop(sender: type[Notice], event: str, **kwargs: Any) -> None:
    """Receiver of `notice_withdrawn`: what was taken back is sent no more."""
    WebhookMessage.objects.filter(event=event, state=WebhookMessage.State.WAITING).delete()


def webhooks_follow_merge(sender: type[Team], team: Team, absorbed: Team, **kwargs: Any) -> None:
    """Receiver of `teams_merged`: keep the webhooks of both teams, even beyond the limit of one team."""
    Webhook.objects.filter(team=absorbed).update(team=team)


def _body(
    kind: str, competition: Competition, now: datetime, *, subject: str, text: str, path: str
) -> dict[str, object]:
    """The message: the notification as in the inbox, without scores, so nothing sealed leaks."""
    return {
        "type": kind,
        "timestamp": now.isoformat(),
        "data": {
            "competition": competition.slug,
            "subject": subject,
            "text": text,
            "url": f"{settings.SITE_URL}{path}",
        },
    }


def _message(webhook: Webhook, event: str, body: dict[str, object], now: datetime) -> WebhookMessage:
    message, is_new = WebhookMessage.objects.get_or_create(
        webhook=webhook, event=event, defaults={"body": body, "due_at": now, "created_at": now}
    )
    if is_new:
        jobs.send_after_commit(JOB, message.pk)
    return message


def _send_waiting(webhook: Webhook) -> None:
    waiting = webhook.messages.filter(state=WebhookMessage.State.WAITING)
    for pk in waiting.order_by("pk").values_list("pk", flat=True)[:100]:  # the reconciler sends the others
        jobs.send_after_commit(JOB, pk)


def messages_expire(*, now: datetime) -> int:
    """For the reconciler: forget what was said more than thirty days ago; returns how much."""
    return WebhookMessage.objects.filter(created_at__lte=now - KEPT).delete()[0]
