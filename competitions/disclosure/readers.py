"""The reader of a page: a person, or nobody, with the rights that decide what is disclosed to them."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeVar

from django.contrib.auth.models import AnonymousUser
from django.db.models import F
from django.utils import timezone

from accounts.models import User
from competitions.catalog.models import CompetitionOrganizer, Phase, SealedUse

Answer = TypeVar("Answer")


def sealed_right(role: str) -> F:
    """The right to see sealed scores, to annotate competitions joined to a `role`; None without one."""
    return F(f"{role}__can_see_sealed")


@dataclass(frozen=True)
class Reader:
    """The reader of one request: rights are read once, and so is each answer that costs a query."""

    user: User | AnonymousUser
    now: datetime
    known_rights: Mapping[int, bool] | None = None  # as `rights`, where the caller has read them already
    as_member: bool = False  # by a token that may not organize: whatever the person organizes does not count
    answers: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def rights(self) -> Mapping[int, bool]:
        """Numbers of competitions that the person organizes; True with the right to see sealed scores."""
        if self.known_rights is not None:
            return self.known_rights
        if not self.user.is_authenticated or self.as_member:
            return {}
        rows = CompetitionOrganizer.objects.filter(user=self.user)
        return dict(rows.values_list("competition", "can_see_sealed"))

    def organizes(self, phase: Phase) -> bool:
        """An organizer of the phase's competition, or an administrator."""
        return (self.user.is_superuser and not self.as_member) or phase.competition_id in self.rights

    def uses_sealed_right(self, phase: Phase) -> bool:
        """True with the right to see the phase's sealed scores; the use is recorded, once.

        Administrators are no exception: they can give themselves the right, which is recorded too. On trial, a
        competition has only its organizers' scores.
        """
        if phase.competition_id not in self.rights:
            return False
        if not self.rights[phase.competition_id]:
            return phase.competition.is_trial
        self.once(("sealed use", phase.pk), lambda: record_sealed_use(self.user, phase, self.now))
        return True

    def once(self, question: Hashable, answer: Callable[[], Answer]) -> Answer:
        """The answer that was given before in this request, else this one."""
        if question not in self.answers:
            self.answers[question] = answer()
        given: Answer = self.answers[question]
        return given


def reader_for(user: User | AnonymousUser, now: datetime | None = None, *, as_member: bool = False) -> Reader:
    return Reader(user, now or timezone.now(), as_member=as_member)


def record_sealed_use(user: User | AnonymousUser, phase: Phase, now: datetime) -> None:
    """Put on record that sealed scores of the phase were shown to this person."""
    use, created = SealedUse.objects.get_or_create(
        phase=phase, user_id=user.pk or 0, day=now.astimezone(UTC).date(), defaults={"first_at": now, "last_at": now}
    )
    if not created:
        SealedUse.objects.filter(pk=use.pk).update(uses=F("uses") + 1, last_at=now)
