"""The program `podium`: every command with its arguments and options, read from the program."""

import re
from collections.abc import Iterator
from typing import Any, Final

import typer

import podium.cli
from scripts.docs.markdown import cell, fence, page, table
from scripts.docs.sources import DocsInvalid

STATUSES: Final = (podium.cli.__doc__ or "").split("\n\n")[1]
INTRODUCTION: Final = """\
Every command, from the program itself: `podium COMMAND --help` says the same. [The client](/client.md) says how to install it and how
commands go together."""
# Typer's commands and parameters; it keeps their classes to itself.
Command = Any
Parameter = Any


def commands(command: Command, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Command]]:
    """Each command that does something, with the words that call it."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield words, command
        return
    for name, part in inner.items():
        if not part.hidden:
            yield from commands(part, (*words, name))


def program_page() -> str:
    """The page. Raises `DocsInvalid` for a command, argument or option without a text."""
    every = list(commands(typer.main.get_command(podium.cli.app)))
    faults = [fault for words, command in every for fault in _faults(words, command)]
    if faults:
        raise DocsInvalid("\n".join(faults))
    return page(
        "The program podium", INTRODUCTION, cell(STATUSES), *(_section(words, command) for words, command in every)
    )


def _faults(words: tuple[str, ...], command: Command) -> Iterator[str]:
    name = f"podium {' '.join(words)}"
    if not (command.help or "").strip():
        yield f"{name}: the command has no docstring, so nobody learns what it does."
    for parameter in _shown(command):
        if not (parameter.help or "").strip():
            yield f"{name}: {parameter.name} has no help text."


def _shown(command: Command) -> list[Parameter]:
    return [parameter for parameter in command.params if parameter.name != "help" and not parameter.hidden]


def _section(words: tuple[str, ...], command: Command) -> str:
    name = f"podium {' '.join(words)}"
    context = command.context_class(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    records = [parameter.get_help_record(context) for parameter in _shown(command)]
    rows = [(f"`{cell(names)}`", cell(_escaped(text))) for names, text in records]
    parts = [f"## {name}", _escaped(command.help), fence(usage, "sh"), table(("argument or option", "meaning"), rows)]
    return "\n\n".join(part for part in parts if part)


def _escaped(text: str) -> str:
    """Text that is neither HTML nor a link."""
    return re.sub(r"[<\[\]*]", lambda sign: f"\\{sign[0]}", text)
