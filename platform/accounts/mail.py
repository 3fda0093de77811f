"""Short mails, sent after the commit; pages say the same, so a lost mail loses nothing."""

from collections.abc import Iterable
from smtplib import SMTPException

import structlog
from django.conf import settings
from django.core.mail import get_connection, send_mail
from django.core.mail.backends.base import BaseEmailBackend

from accounts.models import User
from core.background.after_commit import after_commit

log = structlog.get_logger(__name__)


def mail_after_commit(*, to: User, subject: str, text: str, path: str) -> None:
    """Mail a person a text with a link to the page (`path`) where they can act. Robots get no mail."""
    if to.is_robot or not to.email:
        return
    body = f"{text}\n\n{settings.SITE_URL}{path}\n"
    after_commit(_send, subject, body, to.email)


def mail_to_all(*, people: Iterable[User], subject: str, text: str, path: str) -> int:
    """Mail the same to many people over one connection; returns how many. Call it outside transactions."""
    body = f"{text}\n\n{settings.SITE_URL}{path}\n"
    addresses = [person.email for person in people if person.email and not person.is_robot]
    try:
        with get_connection() as connection:
            return sum(_send(subject, body, address, connection) for address in addresses)
    except (SMTPException, OSError) as error:
        log.error("mail_not_sent", subject=subject, error=str(error))
        return 0


def _send(subject: str, body: str, address: str, connection: BaseEmailBackend | None = None) -> bool:
    subject = " ".join(subject.split())  # a title may have lines, a header may not
    try:
        return bool(send_mail(subject, body, None, [address], connection=connection))
    except (SMTPException, OSError) as error:
        log.error("mail_not_sent", subject=subject, error=str(error))
        return False
