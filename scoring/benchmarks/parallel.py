"""Threads for the few metrics that gain from a second core: numpy releases the interpreter."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

SMALLEST: Final = 1 << 20
"""Fewer elements than this are done sooner than a second thread is started."""


def threads() -> int:
    """Number of threads: this process's cores, at most 8, or ``SCORING_THREADS`` where it is set.

    >>> 1 <= threads()
    True
    """
    setting = os.environ.get("SCORING_THREADS", "")
    if setting.isdecimal() and int(setting) > 0:
        return int(setting)
    own_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(8, own_cores)


def map_in_order(work: Callable[[Item], Result], items: Iterable[Item], elements: int) -> list[Result]:
    """``[work(item) for item in items]``, on several cores from `SMALLEST` elements on.

    The results come in the order of the items, so sums over them do not depend on the number of threads.

    >>> map_in_order(abs, [-2, 3], elements=2)
    [2, 3]
    """
    count = threads() if elements >= SMALLEST else 1
    if count == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(max_workers=count) as pool:
        return list(pool.map(work, items))
