"""People sign in, service accounts do not; and whose address it is that attempts are counted by."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.models import SocialAccount, SocialLogin
from django.conf import settings as site_settings
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.core import mail
from django.core.cache import cache
from django.core.management import call_command
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone
from rest_framework.settings import api_settings
from rest_framework.throttling import AnonRateThrottle

from accounts.models import MOST_TOKENS, ApiToken, User
from accounts.sign_in import ConnectedAccountAdapter
from tests.pages import page_words
from tests.permissions import user_client
from tests.scenario import Scenario, person

PRINT_SETTINGS = """
import json
from config import settings
print(json.dumps([settings.REST_FRAMEWORK["NUM_PROXIES"], settings.ALLAUTH_TRUSTED_PROXY_COUNT]))
"""


@pytest.fixture(autouse=True)
def nothing_counted(db: None) -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def sign_in(user: User, password: str = "x", *, client: Client | None = None, address: str = "") -> Any:
    form = {"login": user.username, "password": password}
    headers = {"X-Forwarded-For": address} if address else {}
    return (client or Client()).post(reverse("account_login"), form, headers=headers)


def verified(**fields: Any) -> User:
    user = person(**fields)
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user


def test_a_person_signs_in_with_a_password() -> None:
    client = Client()
    assert sign_in(verified(), client=client).status_code == 302
    assert client.get(reverse("accounts:profile")).status_code == 200
    assert client.post(reverse("accounts:profile"), {"first_name": "A" * 999}).status_code == 422


@pytest.mark.parametrize("path", ["/accounts/github/login/", "/accounts/github/login/callback/"])
def test_signing_in_with_a_site_that_is_not_set_up_is_not_there(path: str) -> None:
    assert Client().get(path).status_code == 404


def test_a_robot_is_told_that_it_has_no_password_to_sign_in_with() -> None:
    client = Client()
    answer = sign_in(verified(is_robot=True), client=client)
    assert "signs in with API tokens alone" in answer.content.decode()
    assert client.get(reverse("accounts:profile")).status_code == 302


def test_a_wrong_password_does_not_tell_that_the_account_is_a_robots() -> None:
    answer = sign_in(verified(is_robot=True), "wrong")
    assert answer.status_code == 200
    assert "API tokens alone" not in answer.content.decode()


def test_the_session_of_an_account_that_becomes_a_robots_ends() -> None:
    client, user = Client(), verified()
    client.force_login(user)
    assert client.get(reverse("accounts:profile")).status_code == 200
    User.objects.filter(pk=user.pk).update(is_robot=True)
    assert client.get(reverse("accounts:profile")).status_code == 302


def test_an_administrator_made_at_the_command_line_signs_in_without_mail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "a long enough secret")
    call_command("createsuperuser", interactive=False, username="root1", email="root1@example.org")
    client = Client()
    assert sign_in(User(username="root1"), "a long enough secret", client=client).status_code == 302
    assert client.get("/admin/").status_code == 200
    assert mail.outbox == []


def test_an_administrator_takes_an_address_as_confirmed() -> None:
    client, known = Client(), person()
    assert sign_in(known, client=client)["Location"] == reverse("account_email_verification_sent")
    administrator = Client()
    administrator.force_login(person(is_staff=True, is_superuser=True))
    chosen = {"action": "confirm_addresses", ACTION_CHECKBOX_NAME: [str(known.pk)]}
    administrator.post(reverse("admin:accounts_user_changelist"), chosen)
    assert sign_in(known, client=client)["Location"] == "/"
    assert EmailAddress.objects.filter(user=known, verified=True).count() == 1


def test_a_corrected_address_takes_the_place_of_the_wrong_one_and_nobody_elses_is_taken() -> None:
    known, other = verified(name="ada"), person("bob")  # the list is in the order of names, and so is the action
    User.objects.filter(pk=known.pk).update(email="right@example.org")
    User.objects.filter(pk=other.pk).update(email="Right@example.org")
    administrator = Client()
    administrator.force_login(person(is_staff=True, is_superuser=True))
    chosen = {"action": "confirm_addresses", ACTION_CHECKBOX_NAME: [str(known.pk), str(other.pk)]}
    page = administrator.post(reverse("admin:accounts_user_changelist"), chosen, follow=True).content.decode()
    assert f"{known} can sign in now.".capitalize() in page
    assert "Another account has confirmed the address Right@example.org" in page
    assert EmailAddress.objects.get(user=known, primary=True).email == "right@example.org"
    assert not EmailAddress.objects.filter(user=other).exists()


def profile_status(client: Client) -> int:
    return client.get(reverse("accounts:profile")).status_code


def test_a_session_ends_when_it_expires_when_it_is_deleted_and_when_the_password_changes() -> None:
    clients, user = [Client() for _ in range(4)], verified()
    for client in clients:
        client.force_login(user)
    expired, deleted, live, old = clients
    Session.objects.filter(pk=expired.session.session_key).update(expire_date=timezone.now())
    Session.objects.filter(pk=deleted.session.session_key).delete()
    assert [profile_status(client) for client in (expired, deleted, live, old)] == [302, 302, 200, 200]
    user.set_password("another long secret")
    user.save()
    assert profile_status(old) == 302


def test_an_account_that_is_deactivated_or_deleted_has_no_session_left() -> None:
    clients = []
    for act in (lambda user: User.objects.filter(pk=user.pk).update(is_active=False), User.delete):
        client, user = Client(), verified()
        client.force_login(user)
        assert profile_status(client) == 200
        act(user)
        clients.append(client)
    assert [profile_status(client) for client in clients] == [302, 302]


def make_tokens(*users: User) -> Any:
    client = Client()
    client.force_login(person(is_staff=True, is_superuser=True))
    chosen = {"action": "make_robot_tokens", ACTION_CHECKBOX_NAME: [str(user.pk) for user in users]}
    return client.post(reverse("admin:accounts_user_changelist"), chosen, follow=True).content.decode()


def test_an_administrator_makes_the_token_of_a_robot() -> None:
    robot = person(is_robot=True)
    match = re.search(r"shown only now: (podium_[\w-]+)", make_tokens(robot))
    assert match
    call = Client().get(reverse("api:submissions"), headers={"Authorization": f"Bearer {match[1]}"})
    assert call.status_code == 200
    assert robot.api_tokens.count() == 1


def test_an_administrator_makes_no_token_that_stands_for_a_person() -> None:
    someone = person()
    assert "is a person" in make_tokens(someone)
    assert not someone.api_tokens.exists()


@pytest.mark.parametrize(("behind_proxy", "counts"), [("true", [1, 1]), ("false", [0, 0])])
def test_one_proxy_is_believed_where_there_is_one(tmp_path: Path, behind_proxy: str, counts: list[int]) -> None:
    environment = os.environ | {"PODIUM_BEHIND_PROXY": behind_proxy, "PODIUM_DATA_DIR": str(tmp_path)}
    root = Path(site_settings.BASE_DIR)
    environment |= {"PYTHONPATH": os.pathsep.join([str(root / "platform"), str(root)])}
    ran = subprocess.run(
        [sys.executable, "-c", PRINT_SETTINGS], env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(ran.stdout) == counts


def call_as(addresses: list[str], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    monkeypatch.setattr(AnonRateThrottle, "THROTTLE_RATES", {"anon": "3/min"})
    url = reverse("api:competitions")
    return [Client().get(url, headers={"X-Forwarded-For": address}).status_code for address in addresses]


def test_no_invented_address_escapes_the_limit_of_the_api(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call_as([f"10.0.0.{number}" for number in range(4)], monkeypatch) == [200, 200, 200, 429]


def test_behind_a_proxy_each_visitor_has_a_limit_of_their_own(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_settings, "NUM_PROXIES", 1)
    assert call_as([f"10.0.0.{number}" for number in range(4)], monkeypatch) == [200] * 4
    cache.clear()
    assert call_as([f"192.0.2.{number}, 10.0.0.1" for number in range(4)], monkeypatch) == [200, 200, 200, 429]


def test_behind_a_proxy_one_visitor_does_not_use_up_the_sign_ins_of_all(site: Scenario, settings: Any) -> None:
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    codes = [sign_in(User(username=f"nobody{number}"), address=f"10.0.0.{number}").status_code for number in range(40)]
    assert set(codes) == {200}


@pytest.mark.parametrize("is_confirmed_there", [True, False])
@pytest.mark.parametrize("which", ["first address", "another address"])
def test_an_account_elsewhere_with_a_known_address_opens_none_here(
    rf: RequestFactory, is_confirmed_there: bool, which: str
) -> None:
    known = verified()
    EmailAddress.objects.create(user=known, email="second@example.org", verified=True)
    email = known.email.upper() if which == "first address" else "second@example.org"
    request = rf.get("/")
    request.session = SessionStore()
    request._messages = FallbackStorage(request)  # type: ignore[attr-defined]  # as its middleware does
    login = SocialLogin(
        user=User(email=email),
        account=SocialAccount(provider="openid_connect", uid="1"),
        email_addresses=[EmailAddress(email=email, verified=is_confirmed_there)],
    )
    with pytest.raises(ImmediateHttpResponse) as led_back:
        ConnectedAccountAdapter().pre_social_login(request, login)
    assert led_back.value.response["Location"] == reverse("account_login")


def test_whoever_could_not_sign_in_elsewhere_is_told_so_without_signing_in() -> None:
    assert Client().get(reverse("socialaccount_login_error")).status_code == 401


def test_a_token_asks_for_the_password_again_and_is_made_then() -> None:
    user = verified()
    client = user_client(user)
    form = {"name": "cluster", "scopes": ["read"], "days": "7"}
    first = client.post("/profile/tokens/", form)
    assert (first.status_code, first["Location"]) == (302, "/accounts/reauthenticate/?next=%2Fprofile%2Ftokens%2F")
    wrong = client.post(first["Location"], {"password": "wrong", "next": "/profile/tokens/"})
    assert not ApiToken.objects.exists()
    assert b"Confirm that it is you" in wrong.content
    page = client.post(first["Location"], {"password": "x", "next": "/profile/tokens/"})
    assert ApiToken.objects.get().hint in page.content.decode(), "nothing has to be filled in again"
    assert page["Cache-Control"] == "no-store"
    assert [(message.to, message.subject) for message in mail.outbox] == [([user.email], "A new API token: cluster")]
    assert client.post("/profile/tokens/", form).status_code == 200, "the answer holds for some minutes"
    later = timezone.now() + timedelta(days=1)
    ApiToken.objects.bulk_create(
        ApiToken(user=user, name=str(number), digest=str(number), scopes=["read"], expires_at=later)
        for number in range(MOST_TOKENS - 2)
    )
    full = client.post("/profile/tokens/", form)
    assert (full.status_code, "has 50 API tokens, which is the limit" in full.content.decode()) == (409, True)
    ApiToken.objects.filter(name="1").update(expires_at=timezone.now())
    assert client.post("/profile/tokens/", form).status_code == 200


def test_another_address_takes_the_password_and_the_former_one_hears_of_it() -> None:
    user = verified()
    former, email = user.email, "other@example.org"
    client = user_client(user)
    form = {"action_add": "", "email": email}
    assert client.post("/accounts/email/", form)["Location"].startswith("/accounts/reauthenticate/")
    assert not EmailAddress.objects.filter(email=email).exists()
    client.post("/accounts/reauthenticate/", {"password": "x"})
    client.post("/accounts/email/", form)
    EmailAddress.objects.filter(email=email).update(verified=True)
    client.post("/accounts/email/", {"action_primary": "", "email": email})
    notices = [message for message in mail.outbox if message.to == [former]]
    assert [email in message.body and "change your password" in message.body for message in notices] == [True]


@pytest.mark.parametrize("text", ["Ada\u202e evol", "Ada\u200b", "see https://example.org/x", "www.example.org"])
def test_a_name_hides_nothing_and_holds_no_link(text: str) -> None:
    client = user_client(verified())
    for path, field in (("/profile/", "first_name"), ("/profile/", "affiliation"), ("/profile/public/", "name")):
        page = client.post(path, {field: text}).content.decode()
        assert "visible characters only" in page or "holds no link" in page or "without control characters" in page
    for path, form in (
        ("/profile/", {"first_name": "The", "last_name": "Organizers"}),
        ("/profile/public/", {"name": "The  organizers"}),
    ):
        assert "taken for the site" in client.post(path, form).content.decode(), path
    for name in (text, "The organizers"):  # as another site gives it
        user = ConnectedAccountAdapter().populate_user(HttpRequest(), SocialLogin(user=User()), {"name": name})
        assert user.get_full_name() == ""


@pytest.mark.parametrize(
    "text", ["\u0639\u0644\u06cc\u200c\u0631\u0636\u0627", "Ada\u00a0Berg", "J.R.R. O'Neill-Łuk", "李 明"]
)
def test_names_of_people_everywhere_are_taken(text: str) -> None:
    user = verified()
    assert user_client(user).post("/profile/", {"first_name": text}).status_code == 302
    user.refresh_from_db()
    assert user.first_name == text


def test_the_pages_of_accounts_are_in_sentence_case() -> None:
    shown = {name: page_words(Client().get(reverse(name))) for name in ("account_login", "account_signup")}
    assert "User name or e-mail address" in shown["account_login"]
    assert "Remember me" in shown["account_login"]
    assert "User name" in shown["account_signup"]
    assert "E-mail address" in shown["account_signup"]
    refused = Client().post(reverse("account_signup"), {"username": "ada", "email": "nothing"}).content.decode()
    (wrong,) = re.findall(r"<input[^>]* autofocus[^>]*>", refused)
    assert 'name="email"' in wrong, "the cursor stands in the first field that is wrong"
    assert 'aria-invalid="true"' in wrong
    reset = page_words(Client().get(reverse("account_reset_password")))
    assert "Reset my password" in reset
    assert "contact us" not in reset
    client = user_client(verified())
    change, confirm = (
        page_words(client.get(url))
        for url in (reverse("account_change_password"), reverse("account_confirm_email", args=["wrong"]))
    )
    assert all(label in change for label in ("Current password", "New password (again)", "Change password"))
    assert "Confirm e-mail address This link has expired" in confirm
    again = client.get(reverse("account_reauthenticate"), follow=True).content.decode()
    assert "placeholder" not in again, "the label says it"
    assert "Enter your password" not in again
    assert "Forgot your password?" in again
    pages = (*shown.values(), reset, change, confirm)
    assert not [word for word in ("Sign In", "Sign Up", "Signup", "New Password") if word in " ".join(pages)]
