"""Mails on their way: a request writes a row, a background process speaks to the mail server.

Short ones go with the transaction that they tell of; pages say the same, so a loss costs nothing.

A mail server that is away or slow holds up no page, and what it did not take is tried again for a day. A process that is killed
between the delivery and its record delivers once more.
"""

from collections.abc import Sequence
from datetime import timedelta
from smtplib import SMTPException
from typing import Any, Final

import structlog
from django.conf import settings
from django.core.mail import EmailMessage, EmailMultiAlternatives, get_connection, send_mail
from django.core.mail.backends.base import BaseEmailBackend
from django.utils import timezone

from accounts.models import OutgoingMail, User
from core.background import jobs
from core.background.rows import claim

log = structlog.get_logger(__name__)
MAIL_JOB: Final = "mail"
GIVEN_UP_AFTER: Final = timedelta(days=1)
FIRST_PAUSE_S: Final = 30
LONGEST_PAUSE_S: Final = 3600
FIELDS: Final = ("subject", "body", "from_email", "to", "cc", "bcc", "reply_to")


def mail_person(*, to: User, subject: str, text: str, path: str) -> bool:
    """Mail a person a text with a link to the page (`path`) where they can act. Service accounts get none."""
    if to.is_robot or not to.email:
        return False
    subject = " ".join(subject.split())  # a title may have lines, a header may not
    return bool(send_mail(subject, f"{text}\n\n{settings.SITE_URL}{path}\n", None, [to.email]))


class OutboxBackend(BaseEmailBackend):
    """Django's way to send mail, for which a mail is sent once its row is there."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        for message in email_messages:
            row = OutgoingMail.objects.create(document=_document(message), created_at=timezone.now())
            jobs.send_after_commit(MAIL_JOB, row.pk)
        return len(email_messages)


def _document(message: EmailMessage) -> dict[str, object]:
    """A mail as JSON. The site sends no attachments."""
    if message.attachments:
        raise ValueError("mails with attachments are not kept in the outbox")
    alternatives = getattr(message, "alternatives", [])
    return {
        **{name: getattr(message, name) for name in FIELDS},
        "headers": dict(message.extra_headers),
        "subtype": message.content_subtype,
        "alternatives": [[str(content), str(mimetype)] for content, mimetype in alternatives],
    }


def _message(document: dict[str, Any]) -> EmailMultiAlternatives:
    message = EmailMultiAlternatives(
        **{name: document[name] for name in FIELDS}, headers=document["headers"], alternatives=document["alternatives"]
    )
    message.content_subtype = document["subtype"]
    return message


def waiting_mails() -> Any:
    """Mails that the mail server has not taken yet; sent ones are removed, as their links are secrets."""
    return OutgoingMail.objects.all()


def mail_deliver(pk: int) -> None:
    """Give one mail to the mail server; if it is refused, try again later."""
    if claim(waiting_mails(), pk, lease_s=settings.BACKGROUND_LEASE_S + settings.EMAIL_TIMEOUT) is None:
        return
    mail = OutgoingMail.objects.get(pk=pk)
    message = _message(mail.document)
    try:
        message.message()
    except ValueError as error:  # an address that cannot be written, which waiting does not fix
        log.error("mail_not_formed", subject=mail.document["subject"], error=str(error))
        mail.delete()
        return
    try:
        get_connection(settings.EMAIL_DELIVERY_BACKEND).send_messages([message])
    except (SMTPException, OSError, ValueError) as error:  # the last: settings, as a password in other letters
        _put_off(mail, error)
        return
    mail.delete()


MAIL = jobs.Job(MAIL_JOB, waiting=waiting_mails, perform=mail_deliver)


def _put_off(mail: OutgoingMail, error: Exception) -> None:
    """Wait longer after each failure; a day later there is no point in it any more."""
    now, subject = timezone.now(), mail.document["subject"]
    if mail.created_at <= now - GIVEN_UP_AFTER:
        log.error("mail_given_up", subject=subject, error=str(error))
        mail.delete()
        return
    pause_s = min(FIRST_PAUSE_S * 2 ** min(mail.attempts - 1, 10), LONGEST_PAUSE_S)
    log.warning("mail_not_sent", subject=subject, error=str(error), again_in_s=pause_s)
    OutgoingMail.objects.filter(pk=mail.pk).update(claimed_until=now + timedelta(seconds=pause_s))
