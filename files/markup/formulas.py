"""Formulas in LaTeX's notation as MathML, which browsers draw without a script."""

from html import escape, unescape
from typing import Final
from xml.etree.ElementTree import tostring

import structlog
from latex2mathml.converter import convert_to_element

log = structlog.get_logger(__name__)
MAX_CHARACTERS: Final = 2000  # of one formula; converting so many takes a few milliseconds

TAGS: Final = {
    "math", "menclose", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded", "mphantom", "mroot", "mrow", "mspace", "msqrt",
    "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover",
}  # fmt: skip
ATTRIBUTES: Final = {
    "accent", "accentunder", "columnalign", "columnlines", "columnspacing", "depth", "display", "displaystyle", "fence", "form", "height",
    "largeop", "linethickness", "lspace", "mathcolor", "mathvariant", "maxsize", "minsize", "movablelimits", "notation", "rowlines",
    "rowspacing", "rspace", "scriptlevel", "separator", "stretchy", "symmetric", "width",
}  # fmt: skip


def mathml(source: str, *, is_block: bool) -> str:
    """The formula as MathML, not yet sanitized; one that cannot be read, as it was written.

    >>> "<mi>x</mi>" in mathml("x^2", is_block=False)
    True
    >>> mathml(r"\\frac{1}{", is_block=False)
    '<code class="formula-unread">\\\\frac{1}{</code>'
    """
    try:
        if len(source) <= MAX_CHARACTERS:
            return _written(source, "block" if is_block else "inline")
        log.info("formula_not_read", reason="it is too long")
    except Exception as error:  # noqa: BLE001  # its parser raises what it runs into, IndexError and StopIteration included
        log.info("formula_not_read", reason=repr(error))
    return f'<code class="formula-unread">{escape(source)}</code>'


def _written(source: str, display: str) -> str:
    """The formula as MathML.

    The library holds signs as entities and leaves the content of `\\text` as it is: both become plain text, escaped on writing.
    """
    formula = convert_to_element(source, display=display)
    for element in formula.iter():
        element.text = element.text and unescape(element.text)
    return tostring(formula, encoding="unicode", method="html")
