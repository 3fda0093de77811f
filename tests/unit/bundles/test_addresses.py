"""Addresses that are made of names, without Django and as Django makes them."""

from __future__ import annotations

import pytest
from django.utils.text import slugify
from hypothesis import given
from hypothesis import strategies as st

from files.bundles.addresses import make_slug


@given(st.text())
def test_a_slug_is_that_of_django(text: str) -> None:
    assert make_slug(text) == slugify(text)


@pytest.mark.parametrize(
    "text", ["Final  Round_2", "-_x_-", "\u017fharp \u212aelvin", "\u0424\u0438\u043d\u0430\u043b", "\x1c a\x85b"]
)
def test_a_slug_of_unusual_characters_is_that_of_django(text: str) -> None:
    assert make_slug(text) == slugify(text)
