"""Verdicts on a stage's evidence.

They never follow from an exit code alone where the engine knows better, and never from text.
"""

import signal

from workers.errors import SandboxError
from workers.protocol.limits import Limits
from workers.protocol.results import Outcome, Reason, Verdict
from workers.protocol.stages import StageName
from workers.sandbox import watch
from workers.sandbox.collect import MAX_DEPTH
from workers.sandbox.scores import REFUSAL_EXIT_CODE, Refusal
from workers.sandbox.stage import Evidence

NO_WORKER_CAN = ("image_unknown", "image_unsuitable")  # what the competition names is wrong on every host
CANCELLED = Verdict(outcome=Outcome.CANCELLED, code="cancelled", detail="The run was cancelled.")


def failed(reason: str, code: str, detail: str, *, refused_by: str = "") -> Verdict:
    """A failure."""
    return Verdict(outcome=Outcome.FAILED, reason=Reason(reason), code=code, detail=detail, refused_by=refused_by)


def ingestion_verdict(evidence: Evidence, limits: Limits, refusal: Refusal | None = None) -> Verdict | None:
    """The verdict on participants' code; None when its stage ended well.

    A `refusal` of the ingestion program costs what one of the scoring program does.
    """
    outside = _ended_from_outside(evidence, limits)
    if outside is None and evidence.exit_code == REFUSAL_EXIT_CODE and refusal is not None:
        return failed("output_invalid", refusal.code, refusal.message, refused_by=StageName.INGESTION)
    return outside or _ended_badly(evidence, limits)


def _ended_from_outside(evidence: Evidence, limits: Limits) -> Verdict | None:
    match evidence.killed_by:
        case "time_limit":
            detail = f"The program ran for {evidence.wall_s:.1f} s; the limit is {limits.wall_s:g} s."
            return failed("time_limit", "time_limit", detail)
        case watch.TOO_LARGE:
            grew = f"The output grew beyond its limit of {limits.output_bytes} bytes."
            return failed("disk_limit", "output_full", evidence.outgrown or grew)
        case watch.TOO_MANY_FILES:
            return failed("disk_limit", "too_many_files", evidence.outgrown or _too_many_files(limits))
        case watch.TOO_DEEP:
            deep = f"The output held folders nested deeper than {MAX_DEPTH}."
            return failed("output_invalid", "too_deep", evidence.outgrown or deep)
        case watch.HIDDEN:
            hid = "The program took away the right to read what it wrote, while it ran."
            return failed("output_invalid", "unreadable_output", evidence.outgrown or hid)
        case "cancelled":
            return CANCELLED
    return None


def _ended_badly(evidence: Evidence, limits: Limits) -> Verdict | None:
    if evidence.oom_killed and evidence.exit_code != 0:
        return failed(
            "memory_limit",
            "out_of_memory",
            f"The program needed more memory than its limit of {limits.memory_bytes} bytes.",
        )
    if evidence.output_no_inodes:
        return failed("disk_limit", "too_many_files", _too_many_files(limits))
    if evidence.output_full:
        return failed("disk_limit", "output_full", f"The output filled its limit of {limits.output_bytes} bytes.")
    if evidence.exit_code != 0:
        return failed("program_error", "exit_code", f"The program ended with {exit_words(evidence.exit_code)}.")
    return None


def _too_many_files(limits: Limits) -> str:
    return f"The output holds more files than its limit of {limits.output_files}."


def exit_words(code: int) -> str:
    """An exit code, with the signal it usually stands for; a program may also choose such a code itself."""
    try:
        name = signal.Signals(code - 128).name if code > 128 else ""
    except ValueError:
        name = ""
    return f"exit code {code}, as after the signal {name}" if name else f"exit code {code}"


def scoring_verdict(evidence: Evidence, limits: Limits, refusal: Refusal | None) -> Verdict | None:
    """The verdict on the scoring stage; None when it ended well. Only a refusal is the participant's."""
    if evidence.killed_by == "cancelled":
        return CANCELLED
    if evidence.exit_code == REFUSAL_EXIT_CODE and refusal is not None and evidence.killed_by is None:
        return failed("output_invalid", refusal.code, refusal.message)
    inner = ingestion_verdict(evidence, limits)
    if inner is None:
        return None
    return failed("scoring_error", inner.code, inner.detail.replace("The program", "The scoring program", 1))


def infrastructure(error: SandboxError) -> Verdict:
    """The platform's own failure: retried elsewhere, charged to nobody.

    A demand that no worker can meet is the competition's setup.
    """
    return failed("setup_error" if error.code in NO_WORKER_CAN else "infrastructure", error.code, error.detail)
