"""Queues that nobody woke: for the reconciler."""

from datetime import datetime
from itertools import takewhile

from django.db.models import Exists, OuterRef

from competitions.compute.models import Queue
from competitions.compute.wakeups import wake
from competitions.runs.models import Run
from competitions.submissions.states import State


def wake_waiting_queues(*, now: datetime) -> int:
    """Wake the workers of every queue with waiting runs, in case a wake-up was lost.

    Stops at the first wake-up that the broker refuses: each would wait for its time-out and hold up the round.
    """
    waiting = Run.objects.filter(queue=OuterRef("pk"), state=State.QUEUED, not_before__lte=now)
    queues = Queue.objects.filter(Exists(waiting), is_paused=False)
    return sum(1 for _ in takewhile(lambda queue: wake(queue.wakeup_queue), queues))
