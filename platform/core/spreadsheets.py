"""Text that goes into CSV files, which people open in spreadsheets."""

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def safe_cell(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


class Echo:
    """A file that hands back what is written, so that `csv` can be streamed."""

    def write(self, text: str) -> str:
        return text
