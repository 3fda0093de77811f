"""Limits on wrong passwords, for the sign-in page and for tokens by password together.

allauth's own limits lack the rule that matters here: its `login_failed` counts by address and by the login as it was typed, on
its pages alone. So whoever guesses wrong locks an account for its owner, and has twice the tries by user name and by e-mail
address. Here an account is counted together with an address, however it is named. An account that is being guessed from many
addresses leaves each of them fewer tries; who comes from an address of their own always has one. `allauth.core.ratelimit`
counts for others, but cannot take back what was right, and its authors mean to withdraw it.
"""

import hashlib
import time
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Final

from django.core.cache import cache

from accounts.models import User
from core.refusals import Refusal
from files.text import quantity

IPV6_PREFIX: Final = 64  # what one household or one rented server has


@dataclass(frozen=True)
class Limit:
    """A number of attempts within a period."""

    amount: int
    period_s: int


PER_ADDRESS: Final = Limit(10, 60)  # whatever the account
PER_ACCOUNT_AND_ADDRESS: Final = Limit(5, 300)
WHILE_GUESSED: Final = Limit(1, 300)  # in its place, for an account that is over the next
PER_ACCOUNT: Final = Limit(20, 3600)


class TooManyAttempts(Refusal):
    code, http_status = "too_many_attempts", 429

    def __init__(self, wait_s: int) -> None:
        minutes = -(-wait_s // 60)
        super().__init__(
            f"Too many wrong passwords came from your network address. Try again in {quantity(minutes, 'minute')}.",
            retry_after_s=wait_s,
        )


@dataclass(frozen=True)
class Counter:
    """Wrong passwords of one kind within the running period."""

    what: str
    limit: Limit

    @property
    def _key(self) -> str:
        digest = hashlib.sha256(self.what.encode()).hexdigest()
        return f"sign-in:{self.limit.period_s}:{int(time.time()) // self.limit.period_s}:{digest}"

    def count(self) -> int:
        """The number counted so far."""
        return int(cache.get(self._key, 0))

    def add(self, number: int) -> int:
        """Count so many more; returns how many there are."""
        key, kept_s = self._key, 2 * self.limit.period_s
        cache.add(key, 0, kept_s)
        try:
            count = cache.incr(key, number)
        except ValueError:  # Redis went away or came back between the two calls: counts begin anew
            count = max(number, 0)
            cache.set(key, count, kept_s)
        cache.touch(key, kept_s)  # not every cache's `incr` keeps the time
        return count


@dataclass(frozen=True)
class Attempt:
    """One password, counted as wrong before it is checked, so that many at once do not slip through."""

    counters: tuple[Counter, ...]

    def was_right(self) -> None:
        """Count it no longer. Earlier ones stay: who has an account of their own could else go on for ever."""
        for counter in self.counters:
            counter.add(-1)


def attempt_begin(*, login: str, address: str) -> Attempt:
    """Count an attempt to sign in by this user name or e-mail address. Raises `TooManyAttempts`."""
    account, network = _account(login), _network(address)
    guessed = Counter(f"account {account}", PER_ACCOUNT)
    is_guessed = guessed.count() >= guessed.limit.amount
    here = Counter(f"address {network}", PER_ADDRESS)
    both = Counter(f"{account} from {network}", PER_ACCOUNT_AND_ADDRESS)
    allowed = {here: here.limit.amount, both: (WHILE_GUESSED if is_guessed else both.limit).amount}
    over = [counter for counter, amount in allowed.items() if counter.add(1) > amount]
    if over:
        wait_s = max(counter.limit.period_s - int(time.time()) % counter.limit.period_s for counter in over)
        raise TooManyAttempts(wait_s)
    guessed.add(1)
    return Attempt((here, both, guessed))


def _account(login: str) -> str:
    """A key for an account however it is named; unknown names count too, so that limits reveal nothing."""
    name = "email" if "@" in login else "username"  # also an address that is not confirmed yet
    owner = User.objects.filter(**{f"{name}__iexact": login}).order_by("pk")
    known = owner.values_list("pk", flat=True).first()
    return f"#{known}" if known is not None else login.lower()


def _network(address: str) -> str:
    """The address, or the network that somebody with one address of IPv6 has in whole."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:  # else all of IPv4 would be one network
        parsed = parsed.ipv4_mapped
    return str(IPv6Network((parsed, IPV6_PREFIX), strict=False)) if isinstance(parsed, IPv6Address) else str(parsed)
