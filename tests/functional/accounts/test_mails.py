"""No request speaks to a mail server: mails are rows until a background process has delivered them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core import mail
from django.core.mail import EmailMultiAlternatives
from django.core.mail.backends.base import BaseEmailBackend
from django.test import Client
from django.urls import reverse

from accounts.models import OutgoingMail
from accounts.outbox import MAIL, OutboxBackend, mail_deliver
from core.background import jobs
from tests.background import run_background
from tests.scenario import Scenario

LOCAL = "django.core.mail.backends.locmem.EmailBackend"


@pytest.fixture(autouse=True)
def _outbox(site: Scenario, settings: Any) -> None:
    """As on a real site, but for the mail server."""
    settings.EMAIL_BACKEND, settings.EMAIL_DELIVERY_BACKEND = "accounts.outbox.OutboxBackend", LOCAL


def sign_up() -> None:
    fields = {
        "username": "newcomer",
        "email": "new@example.org",
        "password1": "a long pass phrase",
        "password2": "a long pass phrase",
    }
    assert Client().post(reverse("account_signup"), fields).status_code == 302


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("alice@example.org", "A user name has no @."),
        ("alice smith", "there is a blank in place 6"),
        ("\u0430lice", "only letters (a to z), digits and . _ + -; there is “\u0430” in place 1"),  # Cyrillic
        ("al/ice", "there is “/” in place 3"),
        ("ali\u200bce", "there is the character U+200B (zero width space) in place 4"),
    ],
)
def test_a_character_that_no_user_name_has_is_named(name: str, words: str) -> None:
    fields = {"username": name, "email": "m@example.org", "password1": "a long pass phrase"}
    page = Client().post(reverse("account_signup"), fields | {"password2": fields["password1"]})
    assert words in page.content.decode()
    assert not OutgoingMail.objects.exists()


def test_signing_up_writes_a_row_and_the_background_process_sends_the_mail() -> None:
    sign_up()
    assert mail.outbox == []
    assert OutgoingMail.objects.count() == 1
    run_background()
    assert [message.to for message in mail.outbox] == [["new@example.org"]]
    assert "/accounts/confirm-email/" in mail.outbox[0].body
    assert not OutgoingMail.objects.exists(), "links in mails are secrets, and not kept"


def test_a_mail_arrives_as_it_was_written() -> None:
    message = EmailMultiAlternatives(
        "S", "text", "a@example.org", ["b@example.org"], headers={"X-Podium": "1"}, cc=["c@example.org"]
    )
    message.attach_alternative("<p>text</p>", "text/html")
    OutboxBackend().send_messages([message])
    run_background()
    (sent,) = mail.outbox
    assert isinstance(sent, EmailMultiAlternatives)
    assert (sent.subject, sent.body, sent.from_email, sent.to, sent.cc) == (
        "S",
        "text",
        "a@example.org",
        ["b@example.org"],
        ["c@example.org"],
    )
    assert (sent.extra_headers, [tuple(alternative) for alternative in sent.alternatives]) == (
        {"X-Podium": "1"},
        [("<p>text</p>", "text/html")],
    )


def test_what_the_mail_server_refuses_is_tried_again_and_given_up_after_a_day(site: Scenario, settings: Any) -> None:
    settings.EMAIL_DELIVERY_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9  # nobody listens there
    with time_machine.travel(site.now, tick=False) as clock:
        sign_up()
        row = OutgoingMail.objects.get()
        mail_deliver(row.pk)
        mail_deliver(row.pk)
        assert OutgoingMail.objects.get().attempts == 1, "not before its pause is over"
        clock.move_to(site.now + timedelta(minutes=1))
        assert jobs.resend(now=site.now + timedelta(minutes=1)) == 1
        settings.EMAIL_DELIVERY_BACKEND = LOCAL
        mail_deliver(row.pk)
        assert len(mail.outbox) == 1
        settings.EMAIL_DELIVERY_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        OutboxBackend().send_messages([EmailMultiAlternatives("S", "t", "a@example.org", ["b@example.org"])])
        clock.move_to(site.now + timedelta(days=2))
        run_background()
    assert not MAIL.waiting().exists()


def test_a_mail_whose_address_cannot_be_written_goes() -> None:
    EmailMultiAlternatives("News", "Text", to=[f"a@{'ü' * 62}.com"]).send()
    run_background()
    assert mail.outbox == []
    assert not OutgoingMail.objects.exists()


def test_a_mail_waits_while_the_password_of_the_mail_server_is_wrong(settings: Any) -> None:
    settings.EMAIL_DELIVERY_BACKEND = f"{__name__}.WrongPassword"
    EmailMultiAlternatives("News", "Text", to=["a@example.org"]).send()
    mail_deliver(OutgoingMail.objects.get().pk)
    assert OutgoingMail.objects.count() == 1


class WrongPassword(BaseEmailBackend):
    """As smtplib where the password has letters that are not ASCII."""

    def send_messages(self, email_messages: Any) -> int:
        "pässword".encode("ascii")
        return 1


def test_links_in_mails_lead_to_the_sites_own_address(settings: Any) -> None:
    settings.SITE_URL, settings.ALLOWED_HOSTS = "https://podium.example.org", ["web"]
    fields = {
        "username": "n",
        "email": "n@example.org",
        "password1": "a long pass phrase",
        "password2": "a long pass phrase",
    }
    assert Client(headers={"Host": "web"}).post(reverse("account_signup"), fields).status_code == 302
    run_background()
    assert "https://podium.example.org/accounts/confirm-email/" in mail.outbox[0].body
    assert "//web" not in mail.outbox[0].body


@pytest.mark.parametrize("page", ["account_email_verification_sent", "account_reset_password_done"])
def test_an_embedded_site_says_where_its_mails_are_and_another_tells_nobody_its_folders(
    settings: Any, page: str
) -> None:
    settings.EMAIL_DELIVERY_BACKEND, folder = (
        settings.EMAIL_CONFIG["EMAIL_BACKEND"],
        settings.EMAIL_CONFIG["EMAIL_FILE_PATH"],
    )
    assert folder in Client().get(reverse(page)).content.decode()
    settings.EMBEDDED = False
    shown = Client().get(reverse(page)).content.decode()
    assert "does not send mail" in shown
    assert folder not in shown
