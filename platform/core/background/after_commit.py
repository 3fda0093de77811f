"""Work to do after a commit: messages, wake-ups, mails."""

from collections.abc import Callable
from typing import Any

from django.db import transaction


def after_commit(work: Callable[..., Any], *arguments: Any) -> None:
    """Call `work` when the transaction is committed, at once where there is none.

    What was committed stands: Django logs what goes wrong then, and the request goes on to its answer.
    """

    def robust() -> None:  # Django asks for the name of what failed, and a `partial` has none
        work(*arguments)

    transaction.on_commit(robust, robust=True)
