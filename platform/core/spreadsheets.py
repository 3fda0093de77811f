"""Text that goes into CSV files, which people open in spreadsheets."""

from collections.abc import Iterator

from django.http import StreamingHttpResponse

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def safe_cell(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


class Echo:
    """A file that hands back what is written, so that `csv` can be streamed."""

    def write(self, text: str) -> str:
        return text


def csv_download(lines: Iterator[str], name: str) -> StreamingHttpResponse:
    """These lines as a download, written while they are read; `name` is without its ending."""
    return StreamingHttpResponse(
        lines,
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}.csv"'},
    )
