"""Words of pages, as somebody reads them."""

from html.parser import HTMLParser
from typing import Any


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.words.extend(data.split())


def page_words(response: Any) -> str:
    """The text of a page without its markup, one space between words."""
    parser = _Words()
    parser.feed(response.content.decode())
    return " ".join(parser.words)
