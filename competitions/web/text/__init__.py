"""Text that organizers and participants wrote, as HTML of a page: Markdown with tables, formulas, footnotes and code, or harmless HTML."""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from competitions.web.text.code import highlighted
from competitions.web.text.formulas import mathml
from competitions.web.text.sanitizing import HTML_TAGS, TAGS, ImageUrl, ShownImage, harmless, no_images

__all__ = ["ImageUrl", "ShownImage", "html", "markdown", "mixed", "no_images"]


def _formula(source: str, options: dict[str, Any]) -> str:
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
    # Without spaces and digits at the signs: an amount of dollars is no formula.
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


def markdown(text: str, image_url: ImageUrl = no_images) -> SafeString:
    """HTML of a Markdown text: raw HTML is shown as text, then only harmless tags and links are left.

    Headings move down one level, because the page has its own title. `image_url` gives the address on this site of an image that
    the text names; of any other image the text that stands for it is shown, because pages load nothing from elsewhere.
    """
    return harmless(_markdown.render(text, _names(text)), TAGS, image_url)


def mixed(text: str, image_url: ImageUrl = no_images) -> SafeString:
    """HTML of a Markdown text with HTML in it, of which the harmless part is left."""
    return harmless(_mixed.render(text, _names(text)), HTML_TAGS, image_url)


def html(text: str, image_url: ImageUrl = no_images) -> SafeString:
    """The harmless part of a page that was written as HTML."""
    return harmless(text, HTML_TAGS, image_url)


def _names(text: str) -> dict[str, str]:
    """What sets a text's footnotes apart from those of the other texts of a page."""
    return {"docId": hashlib.sha256(text.encode()).hexdigest()[:8]}
