"""What a new interpreter runs for `run_bounded`: `python -m core.background.call FD module:function`, the arguments on standard input.

No Django, no database: the function reads and writes files, and answers with what JSON can hold.
"""

import importlib
import json
import os
import sys


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
    main(int(sys.argv[1]), sys.argv[2])
