"""Reports on bundles: faults that stop an import, and notes on the rest. No Django."""

from dataclasses import asdict, dataclass, field
from typing import Any

from files.refusals import Refusal

YAML_NAME = "competition.yaml"
Where = tuple[str | int, ...]
MAX_SHOWN = 200  # of the faults of one bundle; a list that nobody reads to its end helps nobody


def dotted(where: Where) -> str:
    """A YAML path for people: `phases[1].start`.

    >>> dotted(("phases", 1, "start"))
    'phases[1].start'
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where).lstrip(".")


@dataclass(frozen=True)
class Note:
    """One remark on one place of a bundle. `line` counts from 1; None where there is no line to point at."""

    message: str
    path: str = ""
    line: int | None = None
    file: str = YAML_NAME

    def __str__(self) -> str:
        place = [self.file, f"line {self.line}" if self.line else "", self.path]
        return f"{', '.join(part for part in place if part)}: {self.message}"


@dataclass
class Report:
    """The report on a bundle: `faults` stop the import, all else is for the organizer to read."""

    shape: str = ""
    title: str = ""
    faults: list[Note] = field(default_factory=list)
    warnings: list[Note] = field(default_factory=list)
    mapped: list[Note] = field(default_factory=list)
    ignored: list[Note] = field(default_factory=list)
    created: list[str] = field(default_factory=list)

    @property
    def is_importable(self) -> bool:
        return not self.faults

    def as_json(self) -> dict[str, object]:
        return {"ok": self.is_importable} | asdict(self)

    def lines(self) -> list[str]:
        """The whole report as text, faults first."""
        sections: list[tuple[str, list[Any]]] = [
            ("Faults: it cannot be imported", self.faults),
            ("Look at these", self.warnings),
            ("Mapped", self.mapped),
            ("Ignored", self.ignored),
            ("Created", self.created),
        ]
        return [line for title, items in sections if items for line in (f"{title}:", *(f"- {item}" for item in items))]


class InvalidBundle(Refusal):
    """`extra["faults"]` lists every fault with file, path and line; nothing was created."""

    code, http_status = "invalid_bundle", 422

    def __init__(self, report: Report) -> None:
        self.report = report
        shown = [f"- {fault}" for fault in report.faults[:MAX_SHOWN]]
        if len(report.faults) > MAX_SHOWN:
            shown.append(f"- and {len(report.faults) - MAX_SHOWN} more")
        super().__init__(
            "The bundle cannot be imported:\n" + "\n".join(shown),
            faults=[asdict(fault) for fault in report.faults[:MAX_SHOWN]],
        )


def invalid(message: str, **place: Any) -> InvalidBundle:
    """A refusal for one fault that leaves nothing else to look at."""
    return InvalidBundle(Report(faults=[Note(message, **place)]))
