"""Faults of this host that readers of files meet, and that no file brings about."""

import errno
from typing import Final

# Numbers of the errors that damaged files lead to: a place before the begin, and what gzip and bz2 raise, which have none.
OF_FILES: Final = (errno.EINVAL, None)


def raise_host_fault(error: BaseException) -> None:
    """Raise the fault of this host behind an error, such as a disk that fails; else do nothing."""
    for fault in (error, error.__context__):  # zipfile makes a BadZipFile of some
        if isinstance(fault, OSError) and fault.errno not in OF_FILES:
            raise fault
