"""Images are known by their headers; too large ones are refused before anything decodes them."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.refusals import InvalidFile
from files.images import MAX_BYTES, ImageFacts, TooManyPixels, check_image, image_facts, image_name
from tests.images import gif_bytes, jpeg_head, png_bytes, webp_bytes


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (png_bytes(3, 2), ImageFacts("image/png", 3, 2)),
        (jpeg_head(640, 480), ImageFacts("image/jpeg", 640, 480)),
        (gif_bytes(5, 4), ImageFacts("image/gif", 5, 4)),
        (gif_bytes(5, 4, frame=(600, 500)), ImageFacts("image/gif", 600, 500)),
        (webp_bytes(300, 200), ImageFacts("image/webp", 300, 200)),
        (webp_bytes(300, 200, lossless=True), ImageFacts("image/webp", 300, 200)),
        (webp_bytes(300, 200, frames=2), ImageFacts("image/webp", 300, 200)),
    ],
    ids=["png", "jpeg", "gif", "gif with a larger frame", "webp, lossy", "webp, lossless", "webp, extended"],
)
def test_type_and_size_are_read_from_the_headers(content: bytes, facts: ImageFacts) -> None:
    assert image_facts(content) == facts


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no image",
        b"<!doctype html>",
        b"BM" + b"\0" * 60,
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"\x89PNG\r\n\x1a\n",
        png_bytes()[:20],
        b"\xff\xd8\xff",
        b"GIF89a\1\0\1\0\0\0\0",
        b"RIFF\0\0\0\0WEBPXXXX" + b"\0" * 20,
        webp_bytes(300, 200)[:40],
        png_bytes(announced=(0, 5)),
    ],
)
def test_anything_else_is_no_image(content: bytes) -> None:
    assert image_facts(content) is None


@given(
    st.sampled_from([png_bytes(), gif_bytes(2, 2), jpeg_head(2, 2), webp_bytes(2, 2, lossless=True)]),
    st.binary(max_size=80),
    st.integers(0, 60),
)
def test_no_damage_to_an_image_makes_reading_it_fail(content: bytes, noise: bytes, at: int) -> None:
    for damaged in (content[:at] + noise + content[at + len(noise) :], content[:at], noise):
        with contextlib.suppress(TooManyPixels):
            image_facts(damaged)


@pytest.mark.parametrize(
    "content", [b"\xff\xd8\xff" + b"\xff" * 3_000_000, b"GIF89a" + b"\0" * 7 + b"\x21\xf9\0" * 1_000_000]
)
def test_headers_that_do_not_end_are_given_up(content: bytes) -> None:
    assert image_facts(content) is None


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (png_bytes(announced=(50_000, 20_000)), "image_too_many_pixels", "more than 40,000,000 pixels"),
        (png_bytes(announced=(10_000, 4_001)), "image_too_many_pixels", "Scale it down"),
        (gif_bytes(1, 1, frame=(65_000, 65_000)), "image_too_many_pixels", "Scale it down"),
        (b"<svg/>", "not_an_image", "is not a PNG, JPEG, GIF or WebP image"),
        (png_bytes() + b"\0" * MAX_BYTES, "image_too_large", "Save it smaller"),
    ],
)
def test_what_a_page_cannot_show_is_refused_in_words(tmp_path: Path, content: bytes, code: str, words: str) -> None:
    path = tmp_path / "x.png"
    path.write_bytes(content)
    with pytest.raises(InvalidFile, match=words) as refused:
        check_image(path, what="The file 'x.png'")
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("plot.png", "plot.png"),
        ("./a%20b.png", "a b.png"),
        ("../plots/loss.png", "plots/loss.png"),
        ("/plot.png", "plot.png"),
        ("plot.png?v=1#top", "plot.png"),
        ("größe.png", "größe.png"),
        ("https://else.where/x.png", None),
        ("//else.where/x.png", None),
        ("data:image/png;base64,AAAA", None),
        ("javascript:alert(1)", None),
        ("a/../../x.png", None),
        ("", None),
        ("http://[", None),
    ],
)
def test_the_address_of_an_image_in_a_text_is_its_name_or_leads_elsewhere(source: str, name: str | None) -> None:
    assert image_name(source) == name
