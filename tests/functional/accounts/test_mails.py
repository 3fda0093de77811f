"""No request speaks to a mail server: mails are rows until a background process has delivered them."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import allauth
import pytest
import time_machine
from allauth.account.models import EmailAddress
from allauth.core.context import request_context
from django.conf import settings
from django.core import mail
from django.core.mail import EmailMultiAlternatives
from django.core.mail.backends.base import BaseEmailBackend
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.models import OutgoingMail, User
from accounts.outbox import MAIL, OutboxBackend, mail_deliver
from core.background import jobs
from core.templatetags.design import sentence_case
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
    assert mail.outbox[0].subject == "Confirm your e-mail address"
    assert mail.outbox[0].body.startswith("Welcome, newcomer! Confirm your e-mail address")
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


ALLAUTH: Final = Path(allauth.__file__).parent / "templates"
NOT_SENT: Final = {"login_code", "password_reset_code"}  # codes in place of links and passwords are turned off
MAILS: Final = sorted(
    str(path.relative_to(ALLAUTH)).removesuffix("_subject.txt") for path in ALLAUTH.glob("*/email/*_subject.txt")
)


@pytest.mark.parametrize("name", [name for name in MAILS if Path(name).name not in NOT_SENT])
def test_each_mail_about_an_account_is_in_this_sites_words(name: str) -> None:
    for part in ("subject", "message"):
        assert (settings.BASE_DIR / "platform/templates" / f"{name}_{part}.txt").is_file()
    subject = render_to_string(f"{name}_subject.txt", {"provider": "GitHub"}).strip()
    assert subject == sentence_case(subject)


@pytest.mark.parametrize(
    ("email", "subject", "words"),
    [
        (
            "ann@example.org",
            "Choose a new password",
            "Somebody, perhaps you, asked for a new password for your account “ann”",
        ),
        (
            "nobody@example.org",
            "No account has this e-mail address",
            "the account of nobody@example.org. No account here",
        ),
    ],
)
def test_a_forgotten_password_gets_a_mail_that_says_what_to_do(email: str, subject: str, words: str) -> None:
    User.objects.create_user("ann", "ann@example.org", "a long pass phrase")
    assert Client().post(reverse("account_reset_password"), {"email": email}).status_code == 302
    run_background()
    assert [message.subject for message in mail.outbox] == [subject]
    assert words in mail.outbox[0].body


def test_whoever_adds_an_address_of_somebody_else_writes_nothing_into_their_mail() -> None:
    person = User.objects.create_user(
        "ann", "ann@example.org", "a long pass phrase", first_name="Win a prize at x.example"
    )
    with request_context(RequestFactory().get("/")):
        EmailAddress.objects.create(user=person, email="victim@example.org").send_confirmation()
    run_background()
    assert "The account “ann” wants to use this e-mail address." in mail.outbox[-1].body
    assert "prize" not in mail.outbox[-1].body


def test_a_changed_password_is_told_with_when_and_from_where() -> None:
    person = User.objects.create_user("ann", "ann@example.org", "a long pass phrase")
    client = Client(headers={"User-Agent": "Firefox"})
    client.force_login(person, backend="accounts.sign_in.PeopleBackend")
    fields = {
        "oldpassword": "a long pass phrase",
        "password1": "quite another phrase",
        "password2": "quite another phrase",
    }
    assert client.post(reverse("account_change_password"), fields).status_code == 302
    run_background()
    assert mail.outbox[-1].subject == "Your password was changed"
    assert re.search(
        r"\n\nWhen: \d{4}-\d\d-\d\d \d\d:\d\d UTC\nFrom: 127\.0\.0\.1 \(Firefox\)\n", str(mail.outbox[-1].body)
    )


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
    assert mail.outbox[0].body.rstrip().endswith("Podium, https://podium.example.org")


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
