"""Publishing by a program: what cannot work yet is said first."""

from competitions.catalog.models import Competition
from competitions.catalog.publishing import NotReady, competition_publish
from competitions.catalog.readiness import competition_warnings


def publish_checked(competition: Competition, *, anyway: bool) -> None:
    """Publish it; one that is published stays so.

    Raises `NotReady` for whatever cannot work yet unless it shall be published `anyway`, and what `competition_publish` raises.
    """
    if competition.is_published:
        return
    warnings = [
        f"{warning.where}: {warning.text}"
        for warning in competition_warnings(competition)
        if warning.code != "not_published"
    ]
    if warnings and not anyway:
        raise NotReady(*warnings)
    competition_publish(competition)
