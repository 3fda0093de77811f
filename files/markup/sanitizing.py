"""The harmless part of HTML: tags and attributes that neither run, load, nor look like the site."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Final
from urllib.parse import urlsplit

import nh3

from files.markup import formulas

TAGS: Final = formulas.TAGS | {
    "a", "blockquote", "br", "code", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "img", "li", "ol", "p", "pre", "s", "section", "span",
    "strong", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
# What pages that were written as HTML use besides.
HTML_TAGS: Final = TAGS | {
    "b", "caption", "center", "dd", "del", "details", "div", "dl", "dt", "figcaption", "figure", "i", "ins", "kbd", "mark", "samp",
    "small", "sub", "summary", "tfoot", "u", "var",
}  # fmt: skip
_ATTRIBUTES: Final = dict.fromkeys(formulas.TAGS, formulas.ATTRIBUTES) | {
    "a": {"href", "title", "id", "class"},
    "img": {"src", "alt", "title"},
    "code": {"class"},
    "li": {"id"},
    "ol": {"start"},
    "section": {"class"},
    "span": {"class"},
    "sup": {"class"},
    "td": {"class"},
    "th": {"class"},
}
# Classes and ids of our own making alone: those of the site would make a text look like the site's own words.
_CLASS: Final = re.compile(
    r"hl-[\w-]+|align-(left|center|right)|footnote-(ref|backref)|footnotes|language-[\w+-]+|formula-unread"
)
_ID: Final = re.compile(r"fn(ref)?-[0-9a-f]{8}-\d+(:\d+)?")
_VIDEO_HOSTS: Final = frozenset(("youtube.com", "www.youtube.com", "youtu.be", "vimeo.com"))
_LINK_ALONE: Final = re.compile(r'<p><a href="([^"]+)"')

SMALL_WIDTH: Final = 720  # of the second image, for phones
TEXT_WIDTH: Final = "(max-width: 46rem) 100vw, 44rem"  # how wide a text is shown


@dataclass(frozen=True)
class ShownImage:
    """An image of this site: its address, a smaller one's for phones, and its size where known."""

    url: str
    small_url: str = ""
    width: int | None = None
    height: int | None = None

    @property
    def attributes(self) -> str:
        """So that the page keeps its place while the image is loaded, and phones load the small one."""
        size = f' width="{self.width}" height="{self.height}"' if self.width and self.height else ""
        if not (self.small_url and self.width):
            return size
        return f'{size} srcset="{self.small_url} {SMALL_WIDTH}w, {self.url} {self.width}w" sizes="{TEXT_WIDTH}"'


ImageUrl = Callable[[str], ShownImage | None]


def no_images(source: str) -> ShownImage | None:
    """Show no images, in texts that belong to no competition."""
    return None


@dataclass(frozen=True)
class Rendering:
    """HTML of a text with a mark for each image, and the images' addresses in the text.

    Which images a page can show changes with what is uploaded; the text's HTML does not.
    """

    html: str
    sources: tuple[str, ...]
    key: str

    def shown(self, image_url: ImageUrl) -> str:
        """The HTML with the images that there are; of any other the text that stands for it is shown."""

        def filled(match: re.Match[str]) -> str:
            image = image_url(self.sources[int(match[1])]) if int(match[1]) < len(self.sources) else None
            return f' src="{escape(image.url)}"{image.attributes}' if image else ""

        return re.sub(rf' src="{_mark(self.key)}([0-9]{{1,6}})"', filled, self.html)


def _mark(key: str) -> str:
    return f"image-{key[:16]}-"


def harmless(source: str, tags: set[str], key: str) -> Rendering:
    """The part of `source` that is made of these tags, with headings one level lower."""

    sources: list[str] = []

    def kept(tag: str, name: str, value: str) -> str | None:
        if (tag, name) == ("img", "src"):
            sources.append(value)
            return f"{_mark(key)}{len(sources) - 1}"
        if name in ("class", "id"):
            return value if (_CLASS if name == "class" else _ID).fullmatch(value) else None
        return value

    html = nh3.clean(
        source,
        tags=tags,
        attributes=_ATTRIBUTES,
        attribute_filter=kept,
        set_tag_attribute_values={"img": {"loading": "lazy"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    for level in range(5, 0, -1):
        html = html.replace(f"<h{level}>", f"<h{level + 1}>").replace(f"</h{level}>", f"</h{level + 1}>")
    html = html.replace("<pre>", '<pre tabindex="0">')  # it scrolls sideways, by keyboard too
    return Rendering(_LINK_ALONE.sub(_marked_video, html), tuple(sources), key)


def _marked_video(match: re.Match[str]) -> str:
    """A link to a video that begins a paragraph is shown as one: pages embed nothing of other sites."""
    try:
        host = urlsplit(match[1]).hostname
    except ValueError:  # an address that is none
        host = None
    if host not in _VIDEO_HOSTS:
        return match[0]
    return match[0].replace("<a ", '<a class="video" ', 1)
