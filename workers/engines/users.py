"""The users of containers' programs: one for each slot.

So no two runs share a limit that the kernel keeps per user.
"""

from dataclasses import dataclass

DEFAULT_UID = 10001
FIRST_UID = 20_000
UIDS_PER_WORKER = 256  # as many as a worker may have slots
WORKERS = 150  # the last user lies below 65,536, where the user namespace of an engine ends


@dataclass(frozen=True)
class Runner:
    """A user as its container sees it, and as the host does.

    An engine with user namespaces moves all users by `offset`.
    """

    uid: int = DEFAULT_UID
    offset: int = 0

    @property
    def host_uid(self) -> int:
        """The owner of the files on the host."""
        return self.offset + self.uid

    @property
    def as_user(self) -> str:
        """The engine's `User`."""
        return f"{self.uid}:{self.uid}"


DEFAULT_RUNNER = Runner()


def slot_uid(worker_key: str, slot: int) -> int:
    """The user of one slot.

    Inotify instances, pipes, message queues, pending signals and processes are counted per user. Two workers of one host get ranges of
    their own, unless their keys happen to fall together (1 in 150).

    >>> slot_uid("00000000", 0), slot_uid("00000000", 3)
    (20000, 20003)
    """
    return FIRST_UID + int(worker_key, 16) % WORKERS * UIDS_PER_WORKER + slot % UIDS_PER_WORKER
