"""Short mails to people, sent after the commit. The page says the same, so a mail server that is away loses nothing."""

from functools import partial
from smtplib import SMTPException

import structlog
from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction

from accounts.models import User

log = structlog.get_logger(__name__)


def mail_after_commit(*, to: User, subject: str, text: str, path: str) -> None:
    """Tell a person something, with a link to the page (`path`) where they can act on it. Robots get no mail."""
    if to.is_robot or not to.email:
        return
    body = f"{text}\n\n{settings.SITE_URL}{path}\n"
    transaction.on_commit(partial(_send, subject, body, to.email))


def _send(subject: str, body: str, address: str) -> None:
    try:
        send_mail(subject, body, None, [address])
    except (SMTPException, OSError) as error:
        log.error("mail_not_sent", subject=subject, error=str(error))
