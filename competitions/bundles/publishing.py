"""Publishing by a program: what cannot work yet is said first."""

from competitions.catalog.models import Competition
from competitions.catalog.publishing import competition_publish
from competitions.catalog.readiness import competition_warnings
from core.refusals import Conflict


class NotReadyYet(Conflict):
    """`extra["warnings"]` has a sentence for each."""

    code = "not_ready"

    def __init__(self, warnings: list[str]) -> None:
        super().__init__(
            "Some things cannot work yet:\n" + "\n".join(f"- {warning}" for warning in warnings), warnings=warnings
        )


def publish_checked(competition: Competition, *, anyway: bool) -> None:
    """Publish it; one that is published stays so.

    Raises `NotReadyYet` unless it shall be published `anyway`, and what `competition_publish` raises.
    """
    if competition.is_published:
        return
    warnings = [
        f"{warning.where}: {warning.text}"
        for warning in competition_warnings(competition)
        if warning.code != "not_published"
    ]
    if warnings and not anyway:
        raise NotReadyYet(warnings)
    competition_publish(competition)
