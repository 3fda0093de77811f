"""Showing a competition to everybody, at once or at an instant, and taking it back."""

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Final

from django.db import transaction
from django.dispatch import Signal

from accounts.outbox import mail_person
from competitions.catalog.models import Competition
from competitions.catalog.readiness import ReadinessWarning, competition_warnings
from core.reconciler import run_guarded
from core.refusals import Conflict, Refusal, RefusalKind

MOST_AT_ONCE: Final = 100  # in one step of the reconciler
NOT_IN_FUTURE: Final = RefusalKind(
    422, "not_in_future", "{at:%Y-%m-%d %H:%M} UTC has passed. Choose a later time, or publish it now."
)
PUBLISHED_ALREADY: Final = RefusalKind(
    409, "published_already", "The competition is published, so there is nothing to plan."
)
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
    _require_ready(competition_warnings(competition), anyway=anyway)
    competition_publishing.send(sender=Competition, competition=competition)
    competition.is_published, competition.is_trial = True, False
    competition.publish_at, competition.publish_fault = None, ""
    competition.save(update_fields=["is_published", "is_trial", "publish_at", "publish_fault"])


def _require_ready(warnings: Iterable[ReadinessWarning], *, anyway: bool) -> None:
    """Raise `NotReady` for warnings that keep it from being published."""
    relevant = (each for each in warnings if each.code != "not_published" and (each.code in BLOCKING or not anyway))
    if reasons := [f"{each.where}: {each.text}" for each in relevant]:
        raise NotReady(*reasons)


def competition_withdraw(competition: Competition) -> None:
    """Show it to its organizers alone; what teams sent in stays, and what runs goes on."""
    competition.is_published = False
    competition.save(update_fields=["is_published"])


@transaction.atomic
def publication_plan(competition: Competition, *, at: datetime, now: datetime, anyway: bool = True) -> None:
    """Have the competition published by itself at an instant, in place of one that was planned before.

    Warnings that stand now do not keep it from that; new ones do. Raises `NOT_IN_FUTURE`, `PUBLISHED_ALREADY` or `NotReady`, the last
    unless `anyway` for each warning that stands.
    """
    locked = Competition.objects.select_for_update(no_key=True, of=("self",)).get(pk=competition.pk)
    if locked.is_published:
        raise PUBLISHED_ALREADY()
    if at <= now:
        raise NOT_IN_FUTURE(at=at)
    warnings = competition_warnings(locked)
    _require_ready(warnings, anyway=anyway)
    locked.publish_at, locked.publish_fault = at, ""
    locked.publish_despite = [_mark(each) for each in warnings]
    locked.save(update_fields=["publish_at", "publish_despite", "publish_fault"])


def publication_cancel(competition: Competition) -> None:
    """Take a planned publication back, and forget why one failed."""
    Competition.objects.filter(pk=competition.pk).update(publish_at=None, publish_fault="")


def _mark(warning: ReadinessWarning) -> str:
    """A name for a warning that stays the same when a number in its text changes."""
    return f"{warning.code}: {warning.where}"


def publish_due(*, now: datetime) -> int:
    """Publish what is planned for now, as a step of the reconciler; tell the organizers either way."""
    due = Competition.objects.filter(publish_at__lte=now, is_published=False).order_by("publish_at")
    planned = list(due.values_list("pk", flat=True)[:MOST_AT_ONCE])
    return sum(run_guarded("competitions_published", partial(_publish_planned, pk), now=now) for pk in planned)


@transaction.atomic
def _publish_planned(pk: int, *, now: datetime) -> bool:
    """Publish one, or note why not; False where the plan was taken back or carried out meanwhile."""
    rows = Competition.objects.select_for_update(no_key=True, of=("self",))
    competition = rows.filter(pk=pk, publish_at__lte=now, is_published=False).first()
    if competition is None:
        return False
    try:
        with transaction.atomic():
            _require_nothing_new(competition)
            competition_publish(competition)
    except Refusal as refusal:
        Competition.objects.filter(pk=pk).update(publish_at=None, publish_fault=refusal.detail)
        text = f"“{competition}” was to be published now, and is still a draft. {refusal.detail}"
        _tell(competition, f"{competition} was not published", f"{text}\n\nFix that, then publish it or plan it again.")
        return False
    _tell(
        competition, f"{competition} is published", f"“{competition}” is published, as planned. Everybody sees it now."
    )
    return True


def _require_nothing_new(competition: Competition) -> None:
    """Raise `NotReady` for warnings that did not stand when the publication was planned."""
    new = [each for each in competition_warnings(competition) if _mark(each) not in competition.publish_despite]
    if new:
        raise NotReady(*(f"{each.where}: {each.text}" for each in new))


def _tell(competition: Competition, subject: str, text: str) -> None:
    for organizer in competition.organizers.filter(is_active=True):
        mail_person(to=organizer, subject=subject, text=text, path=f"/host/competitions/{competition.slug}/settings/")
