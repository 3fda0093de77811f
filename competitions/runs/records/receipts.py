"""A run's receipt: enough to run it again and to say what differs."""

from collections.abc import Iterable

from competitions.catalog.sealed_keys import ScoreColumn
from competitions.runs.models import Run
from competitions.runs.worker_api.jobs import column_keys


def receipt_of_inputs(run: Run, columns: Iterable[ScoreColumn]) -> dict[str, object]:
    """Digests, image and limits of everything that the run is given, as of hand-out.

    `columns` are the phase's now: the scores must be for them, even if the board changes meanwhile.
    """
    task, phase = run.task, run.submission.phase
    programs = {
        "submission": run.submission.file,
        "ingestion_program": task.ingestion_program and task.ingestion_program.file,
        "input_data": task.input_data and task.input_data.file,
        "scoring_program": task.scoring_program.file,
        "reference_data": task.reference_data and task.reference_data.file,
        "weights": run.submission.weights and run.submission.weights.file,
        "image_archive": run.submission.image and run.submission.image.file,
        "requirements": run.submission.requirements,
    }
    return {
        "inputs": {name: f"sha256:{stored.sha256}" for name, stored in programs.items() if stored},
        "columns": column_keys(columns),
        "image": phase.image_name,
        **submission_environment(run),
        "seed": run.submission.seed,
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


def submission_environment(run: Run) -> dict[str, object]:
    """The team's weights, image and packages by name and digest; empty where it brought none."""
    submission, environment = run.submission, {}
    if submission.weights is not None:
        environment["weights"] = submission.weights.reference
    if submission.image is not None:
        environment |= {"image": submission.image.reference, "image_id": submission.image.image_id}
    if submission.image_reference:
        environment["image"] = submission.image_reference
    if submission.requirements is not None:
        environment["package_mirror"] = run.queue.package_mirror
    return {"environment": environment} if environment else {}
