"""Reads the request, a JSON file, and prints the answer."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from competitions.organize.tables.reading import recognised
from competitions.organize.tables.writing import write_files
from scoring.errors import ScoringInputError

WORK: Final[Mapping[str, Callable[..., dict[str, Any]]]] = {"recognise": recognised, "write": write_files}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """What was asked for, or the fault of a file."""
    work = WORK[request.pop("do")]
    try:
        return {"fault": "", **work(**request)}
    except ScoringInputError as error:
        return {"fault": str(error)}


if __name__ == "__main__":
    print(json.dumps(answer(json.loads(Path(sys.argv[1]).read_text()))))
