"""Descriptions of a run's stages: evidence for the site, and metadata for Codabench's scorers."""

from workers.engines.spec import StageSpec
from workers.protocol.results import StageRecord
from workers.protocol.stages import StageName
from workers.sandbox.collect import Listing
from workers.sandbox.stage import Evidence


def stage_record(evidence: Evidence, spec: StageSpec, *, image_digest: str, listing: Listing | None) -> StageRecord:
    """One stage of the result; `listing` is its checked output, None where that broke a rule."""
    return StageRecord(
        name=StageName(evidence.name),
        image=spec.image,
        image_digest=image_digest,
        exit_code=evidence.exit_code,
        oom_killed=evidence.oom_killed,
        killed_by=evidence.killed_by,
        started_at=evidence.started_at.isoformat(),
        finished_at=evidence.finished_at.isoformat(),
        wall_s=round(evidence.wall_s, 3),
        cpu_s=evidence.usage.cpu_s,
        memory_peak_bytes=evidence.usage.memory_peak_bytes,
        output_bytes=listing.total_bytes if listing else evidence.output_bytes,
        output_files=len(listing.files) if listing else None,
        bytes_written=evidence.bytes_written,
        limits=spec.limits,
        **evidence.gpu,
    )


def endings(program: Evidence | None, ingestion: Evidence | None) -> dict[str, float | int | None]:
    """The four keys of the `metadata` file, as Codabench writes them: how the programs before ended."""
    return {
        "exitCode": program.exit_code if program else None,
        "elapsedTime": round(program.wall_s, 3) if program else None,
        "ingestionExitCode": ingestion.exit_code if ingestion else None,
        "ingestionElapsedTime": round(ingestion.wall_s, 3) if ingestion else None,
    }
