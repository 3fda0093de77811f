"""Showing a competition to everybody, and taking it back."""

from typing import Final

from django.db import transaction
from django.dispatch import Signal

from competitions.catalog.models import Competition
from competitions.catalog.readiness import competition_warnings
from core.refusals import Conflict

BLOCKING: Final = ("no_rules", "no_phase")  # warnings with which there is nothing to publish

# Sent with `competition`, inside the transaction that publishes it. A receiver that raises a `Refusal` keeps it a draft.
competition_publishing = Signal()


class NotReady(Conflict):
    """`extra["warnings"]` has a sentence for each reason."""

    code = "not_ready"

    def __init__(self, *warnings: str) -> None:
        reasons = f" {warnings[0]}" if len(warnings) == 1 else "".join(f"\n- {warning}" for warning in warnings)
        super().__init__(f"It cannot be published yet:{reasons}", warnings=list(warnings))


@transaction.atomic
def competition_publish(competition: Competition, *, anyway: bool = True) -> None:
    """Publish the competition and end its trial for good: organizers no longer see sealed scores either.

    Raises `NotReady` if it lacks something essential, and unless `anyway` also for anything that cannot work yet; or
    what a receiver of `competition_publishing` refuses.
    """
    warnings = [warning for warning in competition_warnings(competition) if warning.code != "not_published"]
    if reasons := [f"{each.where}: {each.text}" for each in warnings if each.code in BLOCKING or not anyway]:
        raise NotReady(*reasons)
    competition_publishing.send(sender=Competition, competition=competition)
    competition.is_published, competition.is_trial = True, False
    competition.save(update_fields=["is_published", "is_trial"])


def competition_withdraw(competition: Competition) -> None:
    """Show it to its organizers alone; what teams sent in stays, and what runs goes on."""
    competition.is_published = False
    competition.save(update_fields=["is_published"])
