"""A stage's command, read from the program's `metadata.yaml` or `metadata`: an argv, never a shell."""

import os
import re
import shlex
from pathlib import Path

from workers.errors import DataRefused, reading
from workers.protocol.files.plain_yaml import MAX_METADATA_BYTES, METADATA_NAMES, NotPlainYaml, read_plain_yaml

MAX_WORDS = 256

_COMMON = {
    "$program": "/app/program",
    "$ingestion_program": "/app/program",
    "$ingested_program": "/app/ingested_program",
    "$submission_program": "/app/ingested_program",
    "$input_data": "/app/input_data",
    "$output": "/app/output",
    "$hidden": "/app/input/ref",
    "$tmp": "/app/output",
    "$shared": "/app/shared",
}
PLACEHOLDERS = {
    "submission": {**_COMMON, "$input": "/app/input_data", "$predictions": "/app/output"},
    "ingestion": {**_COMMON, "$input": "/app/input_data", "$predictions": "/app/output"},
    "beside scoring": {**_COMMON, "$input": "/app/input_data", "$predictions": "/app/input/res"},
    "scoring": {**_COMMON, "$input": "/app/input", "$predictions": "/app/input/res"},
}


class CommandMissing(DataRefused):
    """The program does not say how to run it; `code` and a sentence for whoever wrote it."""


@reading(lambda words: CommandMissing("bad_metadata", f"The program's metadata file cannot be read: {words}."))
def read_command(program: Path, stage: str) -> tuple[str, ...]:
    """The argv of `stage` from the metadata file in the folder `program`.

    Raises `CommandMissing` (`no_metadata`, `bad_metadata`, `no_command`, `bad_command`).
    """
    name, text = _metadata(program)
    try:
        metadata = read_plain_yaml(text)
    except NotPlainYaml as error:
        raise CommandMissing("bad_metadata", f"{name} is not readable YAML: {error}.") from error
    command = metadata.get("command") if isinstance(metadata, dict) else None
    if not isinstance(command, str) or not command.strip():
        raise CommandMissing("no_command", f"{name} has no line `command: ...` that says how to run the program.")
    return expand(_split(command, name), stage)


def _metadata(program: Path) -> tuple[str, str]:
    for name in METADATA_NAMES:
        path = program / name
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            continue
        with os.fdopen(descriptor, "rb") as stream:
            return name, stream.read(MAX_METADATA_BYTES).decode("utf-8-sig", errors="replace")
    raise CommandMissing(
        "no_metadata", "The program has no metadata.yaml (or metadata) with a `command` at its top level."
    )


def _split(command: str, name: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise CommandMissing("bad_command", f"{name}: the command cannot be split into words: {error}.") from error
    if not 0 < len(words) <= MAX_WORDS or any("\0" in word for word in words):
        raise CommandMissing("bad_command", f"{name}: the command must have between 1 and {MAX_WORDS} words.")
    return words


def expand(words: list[str], stage: str) -> tuple[str, ...]:
    """Replace the placeholders in each word; a longer name wins over a shorter one that it begins with."""
    values = PLACEHOLDERS[stage]
    pattern = re.compile("|".join(re.escape(name) for name in sorted(values, key=len, reverse=True)))
    return tuple(pattern.sub(lambda match: values[match.group()], word) for word in words)
