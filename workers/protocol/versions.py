"""Which versions of the protocol there are. Every change of a message that an older side would misread is a new one."""

from __future__ import annotations

from typing import Final

PROTOCOL_VERSION: Final = 2
SPOKEN_BY_THE_SITE: Final = (1, 2)  # version 1 said `bell` for the wake-up queue
