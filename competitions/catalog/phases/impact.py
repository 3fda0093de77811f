"""What a change of a phase that has begun would do to teams: said to the organizer before it is saved.

Apps above this one add their own sentences with `@impact_check`.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from competitions.catalog.models import Phase

Check = Callable[[Phase, Mapping[str, Any], datetime], Iterator[str]]
_checks: list[Check] = []


def impact_check(check: Check) -> Check:
    """Add a check to `phase_impact`. It is given the phase as it is stored, the fields that would change, and the instant."""
    _checks.append(check)
    return check


def phase_impact(phase: Phase, changes: Mapping[str, Any], now: datetime) -> list[str]:
    """Sentences on what these changes would do; empty before the phase opens, and where they do nothing to anybody."""
    if now < phase.opens_at:
        return []
    return [sentence for check in _checks for sentence in check(phase, changes, now)]


Cost = Callable[[Phase], Iterator[str]]
_costs: list[Cost] = []


def phase_cost(cost: Cost) -> Cost:
    """Add to `phase_costs`."""
    _costs.append(cost)
    return cost


def phase_costs(phase: Phase) -> list[str]:
    """Sentences on what the phase costs by itself, beside what teams submit; before it opens, too."""
    return [sentence for cost in _costs for sentence in cost(phase)]


def _utc(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else "never"


@impact_check
def dates_move(phase: Phase, changes: Mapping[str, Any], now: datetime) -> Iterator[str]:
    if "opens_at" in changes:
        yield f"The phase has been open since {_utc(phase.opens_at)}; its start would be {_utc(changes['opens_at'])}."
    if "closes_at" not in changes:
        return
    closes_at = changes["closes_at"]
    yield f"Its end moves from {_utc(phase.closes_at)} to {_utc(closes_at)}. Everybody who still may submit is told."
    if closes_at is not None and closes_at <= now:
        yield "The new end has passed, so the phase closes at once."
    elif phase.closes_at is not None and phase.closes_at <= now:
        yield "The phase has closed and would be open again."


@impact_check
def scores_were_seen(phase: Phase, changes: Mapping[str, Any], now: datetime) -> Iterator[str]:
    if changes.get("visibility") == Phase.Visibility.SEALED:
        yield "Scores that everybody has seen so far would be sealed; whoever kept them still has them."


@impact_check
def what_teams_were_told_changes(phase: Phase, changes: Mapping[str, Any], now: datetime) -> Iterator[str]:
    grace = changes.get("upload_grace_minutes")
    if grace is not None and grace < phase.upload_grace_minutes:
        yield f"The grace for uploads shrinks from {phase.upload_grace_minutes} to {grace} minutes."
    if changes.get("accepts_late") is False:
        yield "Late submissions would no longer be taken."
    if "reveal_at" in changes:
        yield f"The planned reveal moves from {_utc(phase.reveal_at)} to {_utc(changes['reveal_at'])}."
    if "prediction_format" in changes:
        yield "Uploads would be checked against another file format from now on; those that were made stay as they are."
