"""Accounts: password reset, second factors, passkeys, other sites' accounts, tokens, and errors."""

from __future__ import annotations

import re
import time

import pytest
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from playwright.sync_api import expect

from tests.browser.conftest import NewVisitor
from tests.browser.seeding.place import PASSWORD
from tests.browser.site import BrowserSite
from tests.browser.visitor import Visitor

NEW_PASSWORD = "another long secret 23"


def test_a_forgotten_password_is_reset_by_mail(new_visitor: NewVisitor, site: BrowserSite) -> None:
    visitor = new_visitor()
    page = visitor.visit("/accounts/login/")
    page.get_by_role("link", name=re.compile("Forgot")).click()
    page.get_by_label("E-mail").fill("pia@example.org")
    visitor.main.get_by_role("button").click()
    expect(visitor.main).to_contain_text("does not send mail")  # it writes it into files
    page.goto(site.link_mailed_to("pia@example.org", "reset"))
    page.get_by_label("New password", exact=True).fill(NEW_PASSWORD)
    page.get_by_label("New password (again)").fill(NEW_PASSWORD)
    visitor.main.get_by_role("button", name="Change password").click()
    expect(visitor.main).to_contain_text("changed")
    visitor.sign_in("pia", NEW_PASSWORD)
    expect(page.locator(".site-nav")).to_contain_text("pia")


def test_a_wrong_password_is_said_and_what_was_typed_stays(new_visitor: NewVisitor) -> None:
    visitor = new_visitor()
    page = visitor.visit("/accounts/login/")
    page.get_by_label("User name or e-mail address").fill("sam")
    page.get_by_label("Password", exact=True).fill("wrong")
    visitor.main.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator(".errorlist")).to_contain_text("The user name, e-mail address or password is not correct.")
    expect(page.get_by_label("User name or e-mail address")).to_have_value("sam")


def current_code(secret: str) -> str:
    """The code that an authenticator app would show now."""
    return str(format_hotp_value(hotp_value(secret, next(iter(yield_hotp_counters_from_time())))))


def confirm(visitor: Visitor) -> None:
    """Give the password once more, which changes of the account ask for."""
    expect(visitor.main).to_contain_text("Confirm that it is you")
    visitor.page.get_by_label("Password").fill(PASSWORD)
    visitor.main.get_by_role("button", name="Confirm").click()


def test_an_authenticator_app_is_enrolled_and_asked_for_at_the_next_sign_in(new_visitor: NewVisitor) -> None:
    visitor = new_visitor("mia")
    page = visitor.visit("/profile/")
    page.get_by_role("link", name="Two-factor").click()
    page.get_by_role("link", name="Activate").click()
    confirm(visitor)
    secret = page.get_by_label("Authenticator secret").input_value()
    expect(page.locator("img.qr")).to_be_visible()
    page.get_by_label("Authenticator code").fill(current_code(secret))
    used_at = time.time()
    visitor.main.get_by_role("button", name="Activate").click()
    expect(page.get_by_label("Unused codes")).to_have_value(re.compile(r"\w+"))
    codes = page.get_by_label("Unused codes").input_value().split()
    assert len(codes) == 10
    page.get_by_role("button", name="Sign out").click()

    page.goto(f"{visitor.url}/accounts/login/")
    page.get_by_label("User name or e-mail address").fill("mia")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    visitor.main.get_by_role("button", name="Sign in", exact=True).click()
    expect(page).to_have_url(re.compile("/accounts/2fa/authenticate/"))
    assert time.time() >= used_at
    page.get_by_label("Code").fill(
        codes[0]
    )  # a code of the app is good for one use, and its half minute may not be over
    visitor.main.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator(".site-nav")).to_contain_text("mia")


def test_an_api_token_is_shown_once_and_can_be_revoked(new_visitor: NewVisitor) -> None:
    visitor = new_visitor("uwe")
    page = visitor.visit("/profile/")
    page.get_by_label("Name", exact=True).fill("cluster")
    page.get_by_role("button", name="Create token").click()
    confirm(visitor)
    token = page.locator("section.notice pre").inner_text()
    headers = {"Authorization": f"Bearer {token}"}
    assert visitor.context.request.get(f"{visitor.url}/api/v1/submissions/", headers=headers).status == 200
    page.goto(f"{visitor.url}/profile/")
    expect(visitor.main).not_to_contain_text(token)
    page.get_by_role("row", name=re.compile("cluster")).get_by_text("Revoke", exact=False).first.click()
    page.get_by_role("button", name="Revoke “cluster”").click()
    expect(page.locator(".message")).to_contain_text("no longer works")
    assert visitor.context.request.get(f"{visitor.url}/api/v1/submissions/", headers=headers).status == 401


def through_the_university(visitor: Visitor, name: str, button: str = "Sign in with Example University") -> None:
    """Press the button here, then be this person there."""
    visitor.page.get_by_role("button", name=button).click()
    visitor.page.get_by_role("button", name=name, exact=True).click()


@pytest.fixture
def visitor(new_visitor: NewVisitor) -> Visitor:
    """A visitor who also sees the identity provider's pages; what is wrong with those is not ours."""
    visitor = new_visitor()
    visitor.expect_on_console("/oauth2/authorize|error=access_denied")
    return visitor


def test_an_account_elsewhere_is_enough_to_sign_up_and_in(visitor: Visitor) -> None:
    for _ in range(2):
        visitor.visit("/accounts/login/")
        through_the_university(visitor, "nina")
        expect(visitor.page.locator(".site-nav")).to_contain_text("nina")
        visitor.page.get_by_role("button", name="Sign out").click()


def test_an_equal_address_opens_no_account_before_the_two_are_connected(visitor: Visitor) -> None:
    page = visitor.visit("/accounts/login/")
    through_the_university(visitor, "samuel")
    expect(visitor.main).to_contain_text("There is an account with your e-mail address already")
    expect(page.locator(".site-nav")).to_contain_text("Sign in")
    visitor.sign_in("sam")
    page.goto(f"{visitor.url}/profile/")
    page.get_by_role("link", name="Account connections").click()
    through_the_university(visitor, "samuel", "Connect Example University")
    confirm(visitor)
    expect(visitor.main).to_contain_text("Example University")
    page.get_by_role("button", name="Sign out").click()
    visitor.visit("/accounts/login/")
    through_the_university(visitor, "samuel")
    expect(page.locator(".site-nav")).to_contain_text("sam")


def test_who_decides_otherwise_at_the_other_site_is_led_back(visitor: Visitor) -> None:
    visitor.visit("/accounts/login/")
    through_the_university(visitor, "Deny")
    expect(visitor.main).to_contain_text("Nothing was changed here")
    expect(visitor.main.get_by_role("link", name="Sign in")).to_be_visible()


def test_a_passkey_signs_in_without_a_password(new_visitor: NewVisitor) -> None:
    visitor = new_visitor()
    visitor.url = visitor.url.replace("127.0.0.1", "localhost")  # a passkey belongs to a name
    devices = visitor.context.new_cdp_session(visitor.page)
    devices.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
    devices.send(
        "WebAuthn.addVirtualAuthenticator",
        {"options": options | {"isUserVerified": True, "automaticPresenceSimulation": True}},
    )
    page = visitor.sign_in("quin")
    page.goto(f"{visitor.url}/accounts/2fa/webauthn/add/")
    confirm(visitor)
    page.get_by_label("Name").fill("laptop")
    page.get_by_label("Passwordless").check()
    page.get_by_role("button", name="Add").click()
    expect(visitor.main).to_contain_text("codes")
    page.get_by_role("button", name="Sign out").click()
    visitor.visit("/accounts/login/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.locator(".site-nav")).to_contain_text("quin")
