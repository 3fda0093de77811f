"""HTML of texts that organizers and participants wrote: Markdown, mixed, or harmless HTML.

Markdown has tables, formulas, footnotes and code.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from files.markup.formulas import mathml
from files.markup.sanitizing import HTML_TAGS, TAGS, Rendering, ShownImage, harmless, no_images

__all__ = ["MARKUP_VERSION", "MAX_CHARACTERS", "Rendering", "ShownImage", "no_images", "render"]
MAX_CHARACTERS: Final = 100_000  # of a text
MARKUP_VERSION: Final = 1  # raised with each change of what a text becomes: stored HTML of another version is made anew


MAX_COLOURED: Final = 20_000
# Those that competitions' pages show. Others stay in one colour: some languages' rules take very long on hostile text.
LANGUAGES: Final = frozenset((
    "bash", "c", "console", "cpp", "diff", "ini", "java", "javascript", "json", "julia", "py", "python", "r", "rust", "sh", "sql",
    "toml", "xml", "yaml", "yml",
))  # fmt: skip
_formatter: Final = HtmlFormatter(nowrap=True, classprefix="hl-")


def highlighted(source: str, language: str, attributes: str) -> str:
    """HTML of the code's inside, coloured by classes; empty for what is then escaped as it is.

    >>> highlighted("x = 1", "python", "")
    '<span class="hl-n">x</span> <span class="hl-o">=</span> <span class="hl-mi">1</span>'
    >>> highlighted("x = 1", "brainfuck", "")
    ''
    """
    if language.lower() not in LANGUAGES or len(source) > MAX_COLOURED:
        return ""
    html: str = highlight(source, get_lexer_by_name(language.lower(), stripnl=False), _formatter)
    return html.rstrip("\n")


def _formula(source: str, options: dict[str, object]) -> str:
    return mathml(source, is_block=bool(options.get("display_mode")))


def _align_by_class(state: StateCore) -> None:
    """Columns of a table are aligned by classes: a style would be against the site's policy."""
    for token in state.tokens:
        style = str(token.attrs.pop("style", "")) if token.type in ("th_open", "td_open") else ""
        if style:
            token.attrs["class"] = style.replace("text-align:", "align-")


def _footnote_block(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return '<section class="footnotes">\n<ol>\n'


def _reader(*, html: bool) -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": html, "linkify": False, "highlight": highlighted})
    reader.enable(["table", "strikethrough"]).use(footnote_plugin)
    # Without spaces and digits at the signs: an amount of dollars is not a formula.
    reader.use(
        dollarmath_plugin,
        allow_space=False,
        allow_digits=False,
        allow_labels=False,
        double_inline=True,
        renderer=_formula,
    )
    reader.core.ruler.push("align_by_class", _align_by_class)
    reader.add_render_rule("footnote_block_open", _footnote_block)
    return reader


_markdown: Final = _reader(html=False)
_mixed: Final = _reader(html=True)


def render(text: str, form: str) -> Rendering:
    """HTML of a text in `markdown`, `mixed` (Markdown with HTML in it) or `html`.

    Of Markdown raw HTML is shown as text, of all only harmless tags and links are left. Headings move down one level, because the
    page has its own title. It takes as long as the text makes it: for texts of any length there is `rendered` in `bounded.py`.
    """
    key = rendering_key(text, form)
    if form == "html":
        return harmless(text, HTML_TAGS, key)
    if form == "mixed":
        return harmless(_mixed.render(text, _names(text)), HTML_TAGS, key)
    return harmless(_markdown.render(text, _names(text)), TAGS, key)


def rendering_key(text: str, form: str) -> str:
    """Digest that sets a rendering apart: the text, its form, and the version of this code."""
    return hashlib.sha256(f"{MARKUP_VERSION}\0{form}\0{text}".encode()).hexdigest()


def _names(text: str) -> dict[str, str]:
    """A name that sets a text's footnotes apart from those of the page's other texts."""
    return {"docId": hashlib.sha256(text.encode()).hexdigest()[:8]}
