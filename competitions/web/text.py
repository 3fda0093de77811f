"""Text that organizers and participants wrote, made safe for a page."""

from collections.abc import Callable
from typing import Final

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

_markdown: Final = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
_mixed: Final = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable(["table", "strikethrough"])
_TAGS: Final = {
    "a", "blockquote", "br", "code", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "img", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES: Final = {"a": {"href", "title"}, "img": {"src", "alt", "title"}, "code": {"class"}, "ol": {"start"}}


# What pages that were written as HTML use besides; none of it can run, load or look like a part of the site.
_HTML_TAGS: Final = _TAGS | {
    "b", "caption", "center", "dd", "del", "details", "div", "dl", "dt", "figcaption", "figure", "i", "ins", "kbd", "mark", "samp",
    "section", "small", "span", "sub", "summary", "sup", "tfoot", "u", "var",
}  # fmt: skip


ImageUrl = Callable[[str], str | None]


def no_images(source: str) -> str | None:
    """For texts that belong to no competition."""
    return None


def markdown(text: str, image_url: ImageUrl = no_images) -> SafeString:
    """HTML of a Markdown text: raw HTML is shown as text, then only harmless tags and links are left.

    Headings move down one level, because the page has its own title. `image_url` gives the address on this site of an image that
    the text names; of any other image the text that stands for it is shown, because pages load nothing from elsewhere.
    """
    return _harmless(_markdown.render(text), _TAGS, image_url)


def mixed(text: str, image_url: ImageUrl = no_images) -> SafeString:
    """HTML of a Markdown text with HTML in it, of which the harmless part is left."""
    return _harmless(_mixed.render(text), _HTML_TAGS, image_url)


def html(text: str, image_url: ImageUrl = no_images) -> SafeString:
    """The harmless part of a page that was written as HTML."""
    return _harmless(text, _HTML_TAGS, image_url)


def _harmless(source: str, tags: set[str], image_url: ImageUrl) -> SafeString:
    html = nh3.clean(
        source,
        tags=tags,
        attributes=_ATTRIBUTES,
        attribute_filter=lambda tag, name, value: image_url(value) if (tag, name) == ("img", "src") else value,
        set_tag_attribute_values={"img": {"loading": "lazy"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    for level in range(5, 0, -1):
        html = html.replace(f"<h{level}>", f"<h{level + 1}>").replace(f"</h{level}>", f"</h{level + 1}>")
    html = html.replace("<pre>", '<pre tabindex="0">')  # it scrolls sideways, by keyboard too
    return mark_safe(html)  # nh3 has just made it so
