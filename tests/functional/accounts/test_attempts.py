"""Password guesses are limited on the sign-in page and in the API, and nobody locks others out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from allauth.account.models import EmailAddress
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from accounts.attempts import PER_ACCOUNT, TooManyAttempts, attempt_begin
from accounts.models import User
from tests.scenario import person

NOON = datetime(2030, 5, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def clock(db: None) -> Iterator[time_machine.Traveller]:
    cache.clear()
    with time_machine.travel(NOON, tick=False) as moment:
        yield moment
    cache.clear()


@pytest.fixture
def ada() -> User:
    user = person("ada")
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user


def by_page(login: str, password: str, address: str) -> bool:
    """True if the sign-in page let somebody in."""
    form = {"login": login, "password": password}
    return bool(Client(REMOTE_ADDR=address).post(reverse("account_login"), form).status_code == 302)


def by_api(login: str, password: str, address: str) -> Any:
    return Client(REMOTE_ADDR=address).post("/api/api-token-auth/", {"username": login, "password": password})


def test_who_guesses_wrong_locks_nobody_else_out(ada: User) -> None:
    for _ in range(6):
        assert not by_page("ada", "wrong", "192.0.2.1")
    assert not by_page("ada", "x", "192.0.2.1"), "from there it is over for now, right or wrong"
    assert by_page("ada", "x", "192.0.2.2")


def test_page_and_api_and_all_names_of_an_account_are_counted_together(ada: User) -> None:
    names = ["ada", "ADA", "ada@example.org", "ada", "Ada@Example.org"]
    assert not any(by_page(name, "wrong", "192.0.2.1") for name in names)
    refused = by_api("ada", "x", "192.0.2.1")
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_attempts")
    assert "Try again in 5 minutes" in refused.json()["detail"]
    assert by_api("ada", "x", "192.0.2.2").status_code == 200


def guess(address: str, login: str = "ada") -> bool:
    """True if one more wrong password is looked at."""
    try:
        attempt_begin(login=login, address=address)
    except TooManyAttempts:
        return False
    return True


def test_an_account_that_is_guessed_from_many_addresses_leaves_each_of_them_one_try(
    ada: User, clock: time_machine.Traveller
) -> None:
    tried = sum(guess(f"192.0.2.{number}") for number in range(PER_ACCOUNT.amount // 4) for _ in range(9))
    assert tried == PER_ACCOUNT.amount + 1, "five each, then one"
    late = [guess(f"198.51.100.{number}") for number in range(10) for _ in range(9)]
    assert sum(late) == 10
    assert by_page("ada", "x", "203.0.113.1"), "its owner comes from an address of their own"
    assert guess("192.0.2.1", "somebody else")
    clock.shift(timedelta(hours=1))
    assert [guess("203.0.113.9") for _ in range(6)] == [True] * 5 + [False]


def test_one_address_guesses_at_many_accounts_only_so_often(ada: User, clock: time_machine.Traveller) -> None:
    assert sum(guess("192.0.2.1", f"name{number}") for number in range(30)) == 10
    assert guess("192.0.2.2", "name")
    clock.shift(timedelta(minutes=1))
    assert guess("192.0.2.1", "name")


def test_right_passwords_are_not_counted(ada: User) -> None:
    assert all(by_page("ada", "x", "192.0.2.1") for _ in range(9))
    assert all(by_api("ada", "x", "192.0.2.1").status_code == 200 for _ in range(9))


def test_an_own_account_does_not_buy_further_guesses(ada: User) -> None:
    person("eve")
    EmailAddress.objects.create(user=User.objects.get(username="eve"), email="eve@example.org", verified=True)
    tried = 0
    for _ in range(9):
        tried += guess("192.0.2.1")
        by_page("eve", "x", "192.0.2.1")
    assert tried == 5


def test_a_network_of_ipv6_counts_as_one_address() -> None:
    assert sum(guess(f"2001:db8:1:1::{number:x}") for number in range(9)) == 5
    assert guess("2001:db8:1:2::1")


def test_an_address_of_ipv4_is_the_same_one_when_it_is_written_as_ipv6() -> None:
    tried = [guess(f"{prefix}192.0.2.1") for prefix in ("::ffff:", "") for _ in range(5)]
    assert tried == [True] * 5 + [False] * 5
    assert guess("::ffff:192.0.2.2")


def test_counts_of_names_that_nobody_has_are_kept_too() -> None:
    assert sum(guess("192.0.2.1", "nobody") for _ in range(9)) == 5


def test_counts_begin_anew_when_redis_goes_away_between_two_calls(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_gone(key: str, delta: int = 1) -> int:
        raise ValueError(f"Key {key!r} not found")

    with monkeypatch.context() as patched:
        patched.setattr(cache, "incr", is_gone)
        attempt_begin(login=ada.username, address="192.0.2.7")
    for _ in range(4):
        attempt_begin(login=ada.username, address="192.0.2.7")
    with pytest.raises(TooManyAttempts):
        attempt_begin(login=ada.username, address="192.0.2.7")
