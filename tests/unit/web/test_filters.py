"""Numbers and moments as people read them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from competitions.catalog.models import Column
from competitions.submissions.states import State
from competitions.web.templatetags import podium

AT = datetime(2030, 5, 1, 12, 30, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "—"), (0, "0.0 s"), (0.04, "0.0 s"), (1.44, "1.4 s"), (9.99, "10.0 s"), (10, "10 s"), (59.4, "59 s"),
        (59.6, "1 min"), (60, "1 min"), (61, "1 min 1 s"), (200, "3 min 20 s"), (3599, "59 min 59 s"), (3600, "1 h"),
        (7500, "2 h 5 min"), (14_400, "4 h"), (14_459, "4 h"), (100_000, "27 h 46 min"),
    ],
)  # fmt: skip
def test_durations(seconds: float | None, text: str) -> None:
    assert podium.duration(seconds) == text


@pytest.mark.parametrize(
    ("bytes_", "text"),
    [
        (None, "—"),
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (100 * 1024, "100 KiB"),
        (1024**2, "1.0 MiB"),
        (64 * 1024**3, "64.0 GiB"),
        (5 * 1024**4, "5.0 TiB"),
        (5000 * 1024**4, "5000 TiB"),
    ],
)
def test_sizes(bytes_: float | None, text: str) -> None:
    assert podium.size(bytes_) == text


def test_an_instant_is_written_in_utc_whatever_zone_it_comes_in() -> None:
    elsewhere = AT.astimezone(timezone(timedelta(hours=-7)))
    expected = '<time datetime="2030-05-01T12:30:59+00:00" data-instant>2030-05-01 12:30&nbsp;UTC</time>'
    assert podium.instant(AT) == podium.instant(elsewhere) == expected


def test_a_relative_moment_is_an_instant_until_the_script_has_run() -> None:
    assert podium.ago(AT) == '<time datetime="2030-05-01T12:30:59+00:00" data-ago>2030-05-01 12:30&nbsp;UTC</time>'


def test_no_moment_is_a_dash() -> None:
    assert podium.instant(None) == podium.ago(None) == "—"


def test_every_status_has_a_sign_of_its_own_or_shares_it_with_its_neighbour() -> None:
    signs = [podium.status_icon(state) for state in State]
    assert "?" not in signs
    assert len(set(signs)) == len(signs) - 1  # starting and preparing look the same


@pytest.mark.parametrize(
    ("values", "text"), [({"mae": 0.12345}, "0.123"), ({"mae": 1.0}, "1.000"), ({}, "-"), ({"other": 1.0}, "-")]
)
def test_a_value_is_shown_at_its_columns_precision(values: dict[str, float], text: str) -> None:
    assert podium.shown(values, Column(key="mae", precision=3)) == text


def test_receipts_are_laid_out_and_keep_their_letters() -> None:
    assert podium.pretty({"team": "Éva", "n": [1]}) == '{\n  "team": "Éva",\n  "n": [\n    1\n  ]\n}'
