"""Text that people and databases can take."""


def printable(text: str) -> str:
    """The text with blanks for what cannot be shown; NUL and lone surrogates, which a database refuses, are among it."""
    return "".join(char if char.isprintable() else " " for char in text)
