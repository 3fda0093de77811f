"""What goes into a run's receipt: enough to run it again and to say what differs."""

from typing import Any, Final

from competitions.runs.models import Run, RunLog
from competitions.runs.vocabulary import SCORING_STAGE
from competitions.runs.worker_api.jobs import column_keys


def receipt_of_inputs(run: Run) -> dict[str, Any]:
    """Digests of everything the run is given, as they are when it is handed out, with its image and limits."""
    task, phase = run.task, run.submission.phase
    programs = {
        "submission": run.submission.file,
        "ingestion_program": task.ingestion_program and task.ingestion_program.file,
        "input_data": task.input_data and task.input_data.file,
        "scoring_program": task.scoring_program.file,
        "reference_data": task.reference_data and task.reference_data.file,
    }
    return {
        "inputs": {name: f"sha256:{stored.sha256}" for name, stored in programs.items() if stored},
        "columns": column_keys(phase),  # what the scores must be, also when the board changes meanwhile
        "image": phase.image_name,
        "attempt": run.attempt,
        "lease_id": str(run.lease_id),
        "budget": {
            "time_limit_s": phase.time_limit_s,
            "gpus": run.gpus,
            "cpus": phase.cpus,
            "memory_bytes": phase.memory_bytes,
            "output_bytes": phase.output_bytes,
            "scoring_time_limit_s": phase.scoring_time_limit_s,
        },
    }


# What a receipt says of a file by its digest, and what lets teams have the file itself; None: they never get it.
MADE_AVAILABLE: Final = {
    "ingestion_program": "make_programs_available", "scoring_program": "make_programs_available",
    "input_data": "make_input_data_available", "reference_data": None,
}  # fmt: skip


def receipt_for(run: Run, *, streams: list[str], organizes: bool) -> dict[str, Any]:
    """The receipt for somebody who may read these logs.

    What follows from a score goes with the scoring program's log: its remarks, digests of its log and output, and while the
    phase holds sealed scores what its container used, which tells how many digits it wrote. Guesses of labels, of a score with
    few possible values, or of an output can be checked by a digest; so nobody gets one of a file that they may not have.
    """
    shown = dict(run.receipt)
    if "ingestion" in shown:
        shown["ingestion"] = _guarded(run, shown["ingestion"], streams)
    if not organizes:
        shown["inputs"] = _available(run, shown.get("inputs", {}))
    return _guarded(run, shown, streams)


def _available(run: Run, inputs: dict[str, str]) -> dict[str, str]:
    """Digests of what the team sent in, and of what the competition lets it download."""
    competition = run.submission.phase.competition
    flags = {name: flag is not None and bool(getattr(competition, flag)) for name, flag in MADE_AVAILABLE.items()}
    return {name: digest for name, digest in inputs.items() if flags.get(name, True)}


def _guarded(run: Run, part: dict[str, Any], streams: list[str]) -> dict[str, Any]:
    """A part of the receipt without what these logs' reader may not know."""
    if RunLog.Stream.SCORING in streams:
        return part
    shown = {name: value for name, value in part.items() if name != "notes"}
    if "outputs" in shown:
        shown["outputs"] = {
            name: digest
            for name, digest in shown["outputs"].items()
            if not name.startswith("scoring") and RunLog.Stream.INGESTION in streams
        }
    if not run.submission.phase.holds_sealed_scores:
        return shown
    shown.pop("timings", None)
    if "stages" in shown:
        shown["stages"] = [_sealed_stage(stage) for stage in shown["stages"]]
    return shown


def _sealed_stage(stage: dict[str, Any]) -> dict[str, Any]:
    """Of the scoring container what it was, and nothing of what it used or how it ended."""
    if stage.get("name") != SCORING_STAGE:
        return stage
    return {name: stage[name] for name in ("name", "image", "image_digest") if name in stage}
