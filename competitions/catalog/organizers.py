"""The organizers of a competition: they add and remove each other; an administrator gives the right to see sealed scores."""

from dataclasses import dataclass

from django.db import transaction

from accounts.lookup import named_by
from accounts.mail import mail_after_commit
from accounts.models import User
from competitions.catalog.models import Competition, CompetitionOrganizer
from core.refusals import Conflict, NotAllowed, Refusal


class UnknownAccount(Refusal):
    code, http_status = "unknown_account", 404

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no account with the user name or e-mail address “{name}”. Ask the person to sign up."
        )


class AlreadyOrganizes(Conflict):
    code = "already_organizes"

    def __init__(self, who: str) -> None:
        super().__init__(f"{who} organizes this competition already.")


class LastOrganizer(Conflict):
    code = "last_organizer"

    def __init__(self) -> None:
        super().__init__("A competition has at least one organizer. Add another one first, then remove this one.")


class OwnsTheQueue(Conflict):
    code = "owns_the_queue"

    def __init__(self, organizer: CompetitionOrganizer, queue: str) -> None:
        super().__init__(
            f"The competition runs on the queue {queue}, whose workers belong to {organizer.user}. Choose another queue first, "
            "then remove this organizer."
        )


class AdministratorsOnly(NotAllowed):
    code = "administrators_only"

    def __init__(self) -> None:
        super().__init__("Only an administrator of the site lets organizers see sealed scores. Ask one of them.")


@transaction.atomic
def organizer_add(*, competition: Competition, person: str, by: User) -> CompetitionOrganizer:
    """Take in somebody by user name or e-mail address, and tell them by mail. Raises `UnknownAccount` or `AlreadyOrganizes`."""
    name = person.strip()
    user = User.objects.filter(named_by(name), is_active=True).first()
    if user is None:
        raise UnknownAccount(name)
    organizer, created = CompetitionOrganizer.objects.get_or_create(competition=competition, user=user)
    if not created:
        raise AlreadyOrganizes(str(user))
    mail_after_commit(
        to=user,
        subject=f"You organize {competition} now",
        text=f"{by} made you an organizer of “{competition}”.",
        path=f"/host/competitions/{competition.slug}/",
    )
    return organizer


@transaction.atomic
def organizer_remove(*, organizer: CompetitionOrganizer) -> None:
    """Let an organizer go. Raises `LastOrganizer`, or `OwnsTheQueue`: workers of theirs would read on."""
    competition = (
        Competition.objects.select_for_update(of=("self",)).select_related("queue").get(pk=organizer.competition_id)
    )
    if competition.queue.owner_id == organizer.user_id:
        raise OwnsTheQueue(organizer, competition.queue.name)
    others = CompetitionOrganizer.objects.filter(competition=organizer.competition_id).exclude(pk=organizer.pk)
    if not others.exists():
        raise LastOrganizer
    organizer.delete()


@dataclass(frozen=True)
class OrganizerRights:
    """An organizer with the right that an administrator gives."""

    user: User
    sees_sealed: bool


def organizers_of(competition: Competition) -> list[OrganizerRights]:
    """In the order in which they came."""
    rows = CompetitionOrganizer.objects.filter(competition=competition).select_related("user").order_by("pk")
    return [OrganizerRights(row.user, row.can_see_sealed) for row in rows]


def organizer_sees_sealed(*, organizer: CompetitionOrganizer, sees: bool, by: User) -> None:
    """Give or take the right to see sealed scores. Raises `AdministratorsOnly`."""
    if not by.is_superuser:
        raise AdministratorsOnly
    organizer.can_see_sealed = sees
    organizer.save(update_fields=["can_see_sealed"])
