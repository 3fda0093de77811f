"""Formulas, footnotes, tables, code and videos in texts: drawn without script, and harmless."""

from __future__ import annotations

import random

import pytest

from files.markup import no_images, render
from files.markup.formulas import MAX_CHARACTERS
from tests.unit.web.test_sanitizing import ACTIVE, markdown

PARTS = (
    r"\frac", r"\sqrt", "{", "}", "[", "]", "^", "_", "&", r"\\\\", r"\begin{matrix}", r"\end{matrix}", r"\left(", r"\right)", r"\text{",
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", r"\href{javascript:alert(1)}", r"\color", r"\mathbb",
    "x", "1", r"\sum", r"\limits",
)  # fmt: skip


def test_a_formula_becomes_mathml() -> None:
    inline, block = markdown(r"The $\frac{1}{n}$ is."), markdown("$$x^2$$")
    assert "<mfrac><mrow><mn>1</mn></mrow><mrow><mi>n</mi></mrow></mfrac>" in inline
    assert '<math display="block"><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math>' in block


@pytest.mark.parametrize("text", ["It costs $5,000 and $3.", "US$ 5 or $ 6", "\\$x\\$", "`$x$`"])
def test_amounts_of_dollars_and_code_are_no_formulas(text: str) -> None:
    assert "<math" not in markdown(text)


@pytest.mark.parametrize("source", [r"\frac{1}{", "x" * (MAX_CHARACTERS + 1), r"\left( x"])
def test_a_formula_that_cannot_be_read_is_shown_as_it_was_written(source: str) -> None:
    assert f'<code class="formula-unread">{source}</code>' in markdown(f"${source}$")


def test_no_formula_brings_anything_active() -> None:
    chance = random.Random(1)
    for _ in range(500):
        source = "".join(chance.choices(PARTS, k=chance.randint(1, 20)))
        shown = markdown(f"$${source}$$").replace("<math", "<formula").replace("</math", "</formula")
        assert not ACTIVE.search(shown), source


@pytest.mark.parametrize("form", ["markdown", "mixed", "html"])
def test_styles_classes_and_ids_of_the_site_cannot_be_used(form: str) -> None:
    text = '<p class="button" id="main" style="position:fixed">x</p><span class="badge">y</span><a id="main" class="button" href="/x">z</a>'
    shown = render(text, form).shown(no_images)
    for part in ('class="button"', 'id="main"', 'style="', 'class="badge"'):
        assert f"<p {part}" not in shown
        assert f"<span {part}" not in shown
        assert f"<a {part}" not in shown


def test_columns_are_aligned_by_classes() -> None:
    shown = markdown("| a | b |\n|:-:|--:|\n| 1 | 2 |")
    assert '<td class="align-center">1</td>\n<td class="align-right">2</td>' in shown
    assert "style" not in shown


def test_code_is_coloured_and_escaped_and_other_languages_are_left_as_they_are() -> None:
    shown = markdown("```python\nif a < 1: pass\n```\n\n```brainfuck\n+<b>\n```")
    assert '<span class="hl-k">if</span>' in shown
    assert '<span class="hl-o">&lt;</span>' in shown
    assert "+&lt;b&gt;" in shown


def test_footnotes_of_two_texts_of_one_page_do_not_meet() -> None:
    first, second = markdown("One.[^1]\n\n[^1]: A note."), markdown("Two.[^1]\n\n[^1]: A note.")
    (target,) = {part.split('"')[0] for part in first.split('href="#fn-')[1:]}
    assert f'<li id="fn-{target}">' in first
    assert target not in second


def test_a_link_to_a_video_is_shown_as_one_and_never_embedded() -> None:
    shown = markdown("[The talk](https://www.youtube.com/watch?v=1)\n\n[A page](https://example.org/)")
    assert '<a class="video" href="https://www.youtube.com/watch?v=1"' in shown
    assert shown.count("video") == 1
    assert "<iframe" not in shown
    assert "//[x" in render('<p><a href="//[x">no address</a></p>', "html").html, (
        "an address that nobody can read stays"
    )
