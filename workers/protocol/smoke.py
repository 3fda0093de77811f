"""The smoke run as site, worker and a participant's machine know it."""

from __future__ import annotations

from typing import Final

SMOKE_WALL_S: Final = 300  # at most, of each container; less where the phase gives less
