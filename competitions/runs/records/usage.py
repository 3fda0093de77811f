"""What stages used over their time, as workers send it: each line whole, in place of the one before."""

from collections.abc import Iterable

from competitions.disclosure.streams import LogStream
from competitions.runs.models import Run, RunUsage
from workers.protocol.usage import StageUsage


def keep_usage(run: Run, lines: Iterable[StageUsage]) -> None:
    """Keep the lines of this attempt's stages. Safe to call twice."""
    rows = {
        line.name: RunUsage(
            run=run,
            attempt=run.attempt,
            stage=LogStream(line.name),
            line=line.model_dump(mode="json", exclude={"name"}),
        )
        for line in lines
    }
    RunUsage.objects.bulk_create(
        rows.values(), update_conflicts=True, unique_fields=["run", "attempt", "stage"], update_fields=["line"]
    )
