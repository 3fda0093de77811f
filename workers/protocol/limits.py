"""The limits of one stage, as the site asks for them; the worker decides what its host can grant."""

from typing import Annotated, Any, Final

from pydantic import Field, model_validator

from workers.protocol.messages import Message

MIB: Final = 1 << 20
GIB: Final = 1 << 30
BELOW: Final = 2**62

Amount = Annotated[int, Field(strict=True, gt=0, lt=BELOW)]


class Limits(Message):
    """Bounds of one container. `wall_s` in seconds, `cpus` in cores, the rest in bytes or counts.

    0 or null means the default, which for memory and cores is what the host has.
    """

    wall_s: Annotated[float, Field(strict=True, gt=0, lt=BELOW)] = 3600.0
    memory_bytes: Annotated[int, Field(strict=True, ge=0, lt=BELOW)] = 0
    cpus: Annotated[float, Field(strict=True, ge=0, lt=BELOW)] = 0.0
    pids: Amount = 256
    output_bytes: Amount = 1 * GIB
    output_files: Amount = 1000
    tmp_bytes: Amount = 256 * MIB
    log_bytes: Amount = 1 * MIB

    @model_validator(mode="before")
    @classmethod
    def _leave_out_nothing(cls, body: Any) -> Any:
        return {key: value for key, value in body.items() if value} if isinstance(body, dict) else body
