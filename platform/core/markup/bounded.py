"""Render texts within bounds: short ones here, long ones once each in a process of their own."""

import threading
from functools import lru_cache
from typing import Final

import structlog
from django.conf import settings
from django.utils.html import escape

from core.background.bounded import Bounds, Call, ChildFailed, OverBounds, run_bounded
from files.markup import MAX_CHARACTERS, Rendering, render, rendering_key

log = structlog.get_logger(__name__)
HERE_CHARACTERS: Final = 4000  # the worst text of this length takes some 50 ms
BOUNDS: Final = {"wall_s": 20, "cpu_s": 5}
AT_ONCE: Final = 2  # in one process of the site
WAITS_S: Final = 3  # a thread of the web server, when the places are taken
KEPT: Final = 16  # long texts that no row keeps, such as a series' description
TOO_COSTLY: Final = "This text takes too long to be laid out, so it is shown as it was written."
BUSY: Final = "This text is being laid out. Load the page again in a moment."
_places: Final = threading.BoundedSemaphore(AT_ONCE)


def rendered(text: str, form: str) -> Rendering:
    """Render a text as HTML; one that is too long or too costly is shown as written.

    Without a key, another try may succeed.
    """
    if len(text) <= HERE_CHARACTERS:
        return render(text, form)
    if len(text) > MAX_CHARACTERS:
        return as_written(text, TOO_COSTLY, rendering_key(text, form))
    try:
        return _in_a_process(text, form)
    except _Busy:
        return as_written(text, BUSY, "")


def as_written(text: str, why: str, key: str) -> Rendering:
    """The text itself, as far as a page may be long."""
    shown = escape(text[:MAX_CHARACTERS])
    return Rendering(f'<p class="muted">{why}</p>\n<pre tabindex="0">{shown}</pre>', (), key)


class _Busy(Exception):
    """This machine has other things to do: another try is worth it."""


@lru_cache(maxsize=KEPT)
def _in_a_process(text: str, form: str) -> Rendering:
    """Raises `_Busy`."""
    bounds = Bounds(**BOUNDS, memory_bytes=settings.CHECK_MEMORY_BYTES)
    work = Call("core.markup.bounded:answer", {"text": text, "form": form})
    if not _places.acquire(timeout=WAITS_S):
        raise _Busy
    try:
        answer = run_bounded(work, bounds, is_wanted=lambda: True, every_s=1)
    except (OverBounds, ChildFailed, OSError) as error:
        log.warning("text_not_laid_out", error=str(error), characters=len(text))
        if isinstance(error, OSError) or (isinstance(error, OverBounds) and error.what == "time"):
            raise _Busy from error
        return as_written(text, TOO_COSTLY, rendering_key(text, form))
    finally:
        _places.release()
    return Rendering(answer["html"], tuple(answer["sources"]), answer["key"])


def answer(text: str, form: str) -> dict[str, str | list[str]]:
    """The rendering as JSON holds it; runs in the process."""
    laid_out = render(text, form)
    return {"html": laid_out.html, "sources": list(laid_out.sources), "key": laid_out.key}
