"""The receipt of a run."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from competitions.catalog.models import Phase
from competitions.disclosure.outputs import (
    NEVER_SENT,
    SCORING_STAGE,
    LogStream,
    RunKind,
    may_download,
    visible_streams,
)
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import hidden_keys

# What a receipt says of a file by its digest, and what lets teams have the file itself; None: they never get it.
MADE_AVAILABLE: Final = {
    "ingestion_program": "make_programs_available",
    "scoring_program": "make_programs_available",
    "input_data": "make_input_data_available",
    "reference_data": None,
}
OF_THE_CONTAINER: Final = ("name", "image", "image_digest")  # what it was, and nothing of what it used or how it ended


def disclosed_receipt(
    reader: Reader, phase: Phase, receipt: Mapping[str, Any], *, run: RunKind | None = None
) -> dict[str, Any]:
    """The receipt of a run as this reader may have it; without `run`, of an ordinary one.

    What follows from a score goes with the scoring program's log: its remarks, digests of its log and output, and while the
    phase holds sealed scores what its container used, which tells how many digits it wrote. Guesses of labels, of a score with
    few possible values, or of an output can be checked by a digest; so nobody gets one of a file that they may not have. Of a smoke
    run everything is public but the names of columns that are hidden.
    """
    streams, shown = visible_streams(reader, phase), dict(receipt)
    if "outputs" in shown:
        shown["outputs"] = {name: digest for name, digest in shown["outputs"].items() if name not in NEVER_SENT}
    is_organizer = reader.organizes(phase)
    if "columns" in shown and not is_organizer:
        hidden = hidden_keys(phase)
        shown["columns"] = [key for key in shown["columns"] if key not in hidden]
    if run is not None and run.is_smoke:
        return shown

    def may_have(name: str) -> bool:
        return LogStream.INGESTION in streams and may_download(reader, phase, name, run=run)

    if "ingestion" in shown:
        shown["ingestion"] = _disclosed_part(phase, shown["ingestion"], streams, may_have)
    if not is_organizer:
        shown["inputs"] = _available(phase, shown.get("inputs", {}))
    return _disclosed_part(phase, shown, streams, may_have)


def _available(phase: Phase, inputs: Mapping[str, str]) -> dict[str, str]:
    """Digests of what the team sent in, and of what the competition lets it download."""
    flags = {name: flag is not None and bool(getattr(phase.competition, flag)) for name, flag in MADE_AVAILABLE.items()}
    return {name: digest for name, digest in inputs.items() if flags.get(name, True)}


def _disclosed_part(
    phase: Phase, part: dict[str, Any], streams: Collection[LogStream], may_have: Callable[[str], bool]
) -> dict[str, Any]:
    """A part of the receipt without what the reader of these logs may not know."""
    if LogStream.SCORING in streams:
        return part
    shown = {name: value for name, value in part.items() if name != "notes"}
    if "outputs" in shown:
        shown["outputs"] = {name: digest for name, digest in shown["outputs"].items() if may_have(name)}
    if not phase.holds_sealed_scores:
        return shown
    shown.pop("timings", None)
    if "stages" in shown:
        shown["stages"] = [_sealed_stage(stage) for stage in shown["stages"]]
    return shown


def _sealed_stage(stage: dict[str, object]) -> dict[str, object]:
    if stage.get("name") != SCORING_STAGE:
        return stage
    return {name: stage[name] for name in OF_THE_CONTAINER if name in stage}
