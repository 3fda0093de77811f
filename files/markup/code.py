"""Code in pages, coloured by classes: the site's policy allows no styles in pages."""

from typing import Final

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

MAX_CHARACTERS: Final = 20_000
# Those that competitions' pages show. Others stay in one colour: some languages' rules take very long on hostile text.
LANGUAGES: Final = frozenset((
    "bash", "c", "console", "cpp", "diff", "ini", "java", "javascript", "json", "julia", "py", "python", "r", "rust", "sh", "sql",
    "toml", "xml", "yaml", "yml",
))  # fmt: skip
_formatter: Final = HtmlFormatter(nowrap=True, classprefix="hl-")


def highlighted(source: str, language: str, attributes: str) -> str:
    """HTML of the code's inside; empty for what is not coloured, which is then escaped as it is.

    >>> highlighted("x = 1", "python", "")
    '<span class="hl-n">x</span> <span class="hl-o">=</span> <span class="hl-mi">1</span>'
    >>> highlighted("x = 1", "brainfuck", "")
    ''
    """
    if language.lower() not in LANGUAGES or len(source) > MAX_CHARACTERS:
        return ""
    html: str = highlight(source, get_lexer_by_name(language.lower(), stripnl=False), _formatter)
    return html.rstrip("\n")
