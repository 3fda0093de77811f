"""Short mails, with the transaction they tell of; pages say the same, so a loss costs nothing."""

from django.conf import settings
from django.core.mail import send_mail

from accounts.models import User


def mail_person(*, to: User, subject: str, text: str, path: str) -> bool:
    """Mail a person a text with a link to the page (`path`) where they can act. Robots get no mail."""
    if to.is_robot or not to.email:
        return False
    subject = " ".join(subject.split())  # a title may have lines, a header may not
    return bool(send_mail(subject, f"{text}\n\n{settings.SITE_URL}{path}\n", None, [to.email]))
