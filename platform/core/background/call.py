"""The child of `run_bounded`: `python -m core.background.call FD module:function LIMITS`.

No Django, no database: the function reads and writes files, and answers with what JSON can hold.
"""

import importlib
import json
import os
import sys

from core.background.bounded import Bounds, bind


def main(descriptor: int, function: str) -> None:
    """Call the function and write its answer to the descriptor, as a forked child would."""
    module, name = function.split(":")
    try:
        answer = {"answer": getattr(importlib.import_module(module), name)(**json.load(sys.stdin))}
    except MemoryError:
        answer = {"over": "memory"}
    with os.fdopen(descriptor, "w") as writer:
        json.dump(answer, writer)


if __name__ == "__main__":
    wall_s, cpu_s, memory_bytes, mapped_bytes = sys.argv[3:]
    bind(Bounds(float(wall_s), int(cpu_s), int(memory_bytes)), int(mapped_bytes))
    main(int(sys.argv[1]), sys.argv[2])
