"""Organizers' texts reach the page as harmless HTML, whatever they hold."""

import re

import pytest

from competitions.web.templatetags.podium import has_heading
from files.markup import ShownImage, no_images, render
from files.markup.sanitizing import ImageUrl

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt:alert(1))",
    "[click](data:text/html;base64,PHNjcmlwdD4=)",
    "![x](javascript:alert(1))",
    "<a href='javascript:alert(1)' onclick='alert(1)'>x</a>",
    "<iframe src='https://evil.example'></iframe>",
    "<style>body{display:none}</style>",
    "<svg onload=alert(1)>",
    "`</code><script>alert(1)</script>`",
    "[x]: javascript:alert(1)\n\n[x]",
    '[a](https://ok.example "\\" onmouseover=alert(1)")',
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
]
ACTIVE = re.compile(
    r"<(script|iframe|style|svg|math|object|embed|form)\b|<[^>]*\son\w+\s*=|(href|src)=\"(?!https?:|mailto:)",
    re.IGNORECASE,
)


def markdown(text: str, image_url: ImageUrl = no_images) -> str:
    return render(text, "markdown").shown(image_url)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_active_is_left_of_a_hostile_text(text: str) -> None:
    html = re.sub(r'title="[^"]*"', "", markdown(text))
    assert not ACTIVE.search(html), html


def test_the_check_itself_finds_active_html() -> None:
    for html in ("<script>", '<img src="x">', '<p onclick="x">', '<a href="javascript:x">'):
        assert ACTIVE.search(html)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*a* **b** `c`", "<p><em>a</em> <strong>b</strong> <code>c</code></p>"),
        ("# Title", "<h2>Title</h2>"),
        ("###### Deep", "<h6>Deep</h6>"),
        ("~~gone~~", "<p><s>gone</s></p>"),
        ("a < b & c", "<p>a &lt; b &amp; c</p>"),
        ("<b>raw</b>", "<p>&lt;b&gt;raw&lt;/b&gt;</p>"),
        ("- one\n- two", "<ul>\n<li>one</li>\n<li>two</li>\n</ul>"),
        ("3. third", '<ol start="3">\n<li>third</li>\n</ol>'),
        ("", ""),
    ],
)
def test_ordinary_markdown_becomes_html(text: str, html: str) -> None:
    assert markdown(text).strip() == html


def test_links_leave_without_telling_where_from() -> None:
    html = markdown("[site](https://ok.example/a?b=1&c=2) <mail@ok.example>")
    assert '<a href="https://ok.example/a?b=1&amp;c=2" rel="noopener noreferrer nofollow">site</a>' in html
    assert 'href="mailto:mail@ok.example"' in html


def attributes_of_image(text: str) -> set[str]:
    """Of the one image that the text becomes; their order is the sanitizer's."""
    match = re.fullmatch(r"<p><img ([^>]*)></p>\s*", markdown(text, {"p.png": ShownImage("/here/p.png")}.get))
    assert match is not None
    return set(re.findall(r'\w+="[^"]*"', match[1]))


def test_an_image_of_the_competition_gets_its_address_here_and_nothing_else() -> None:
    expected = {'src="/here/p.png"', 'alt="a plot"', 'title="title"', 'loading="lazy"'}
    assert attributes_of_image('![a plot](p.png "title")') == expected


@pytest.mark.parametrize(
    "source", ["https://else.where/p.png", "//else.where/p.png", "unknown.png", "data:image/png;base64,AA"]
)
def test_of_any_other_image_the_text_that_stands_for_it_is_left(source: str) -> None:
    assert attributes_of_image(f"![a plot]({source})") == {'alt="a plot"', 'loading="lazy"'}


def test_tables_and_wide_code_can_be_read_and_scrolled() -> None:
    assert "<th>a</th>" in markdown("| a | b |\n| --- | --- |\n| 1 | 2 |")
    assert '<pre tabindex="0"><code class="language-python">' in markdown("```python\nx = 1\n```")


@pytest.mark.parametrize(
    ("body", "expected"), [("# Yes", True), ("\n  # Yes", True), ("## Smaller", False), ("No", False)]
)
def test_a_text_with_a_title_of_its_own_is_recognized(body: str, expected: bool) -> None:
    assert has_heading(body) is expected


def test_the_images_of_a_text_are_found_in_markdown_and_html() -> None:
    text = '![a](one.png) and ![b]( <two.png> "title")\n<p><img alt="c" src=three.png><IMG SRC=\'four.png\'></p> [no](five.png)'
    assert list(render(text, "mixed").sources) == ["one.png", "two.png", "three.png", "four.png"]
    assert render(text, "markdown").sources == ("one.png", "two.png"), "what is not shown is not an image"
