"""Organizers of a competition: their rights, no rows that could drift; adding and removing them."""

from typing import Final

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.urls import reverse

from accounts.models import User
from accounts.outbox import mail_person
from accounts.people.lookup import named_by
from competitions.catalog.models import Competition, CompetitionOrganizer
from core.refusals import NotAllowed, RefusalKind


def organizes(user: User | AnonymousUser, competition_id: int) -> bool:
    """An organizer of the competition with this number, or an administrator."""
    return Competition.objects.managed_by(user).filter(pk=competition_id).exists()


def may_host(user: User | AnonymousUser) -> bool:
    """True for organizers (staff); on an open site for everybody except service accounts."""
    if not isinstance(user, User) or not user.is_active:
        return False
    return user.is_staff or (settings.HOSTS == "everybody" and not user.is_robot)


class HostsOnly(NotAllowed):
    code = "hosts_only"
    step_label = "Ask to host"

    def __init__(self) -> None:
        super().__init__(
            "Your account does not host competitions yet. Ask for it on the page “Host a competition”.",
            next_step=reverse("organize:start"),
        )


def require_host(user: User) -> None:
    """Raise `HostsOnly` unless this person may host: to be asked before a file of theirs is stored."""
    if not may_host(user):
        raise HostsOnly


UNKNOWN_ACCOUNT: Final = RefusalKind(
    404,
    "unknown_account",
    "There is no account with the user name or e-mail address “{name}”. Ask the person to sign up.",
)

ALREADY_ORGANIZES: Final = RefusalKind(409, "already_organizes", "{who} organizes this competition already.")

LAST_ORGANIZER: Final = RefusalKind(
    409, "last_organizer", "A competition has at least one organizer. Add another one first, then remove this one."
)

OWNS_THE_QUEUE: Final = RefusalKind(
    409,
    "owns_the_queue",
    "The competition runs on the queue {queue}, whose workers belong to {organizer.user}. Choose another queue first, "
    "then remove this organizer.",
)

ADMINISTRATORS_ONLY: Final = RefusalKind(
    403, "administrators_only", "Only an administrator of the site lets organizers see sealed scores. Ask one of them."
)


@transaction.atomic
def organizer_add(*, competition: Competition, person: str, by: User) -> CompetitionOrganizer:
    """Add an organizer by name or address, and mail them. Raises `UNKNOWN_ACCOUNT`, `ALREADY_ORGANIZES`."""
    name = person.strip()
    user = User.objects.filter(named_by(name), is_active=True).first()
    if user is None:
        raise UNKNOWN_ACCOUNT(name=name)
    organizer, created = CompetitionOrganizer.objects.get_or_create(competition=competition, user=user)
    if not created:
        raise ALREADY_ORGANIZES(who=str(user))
    mail_person(
        to=user,
        subject=f"You organize {competition} now",
        text=f"{by} made you an organizer of “{competition}”.",
        path=f"/host/competitions/{competition.slug}/",
    )
    return organizer


@transaction.atomic
def organizer_remove(*, organizer: CompetitionOrganizer) -> None:
    """Let an organizer go. Raises `LAST_ORGANIZER`, or `OWNS_THE_QUEUE`: workers of theirs would read on."""
    competition = (
        Competition.objects.select_for_update(of=("self",), no_key=True)
        .select_related("queue")
        .get(pk=organizer.competition_id)
    )
    if competition.queue.owner_id == organizer.user_id:
        raise OWNS_THE_QUEUE(organizer=organizer, queue=competition.queue.name)
    others = CompetitionOrganizer.objects.filter(competition=organizer.competition_id, user__is_active=True)
    if not others.exclude(pk=organizer.pk).exists():
        raise LAST_ORGANIZER()
    organizer.delete()


def organizer_set_sealed_right(*, organizer: CompetitionOrganizer, sees: bool, by: User) -> None:
    """Give or take the right to see sealed scores. Raises `ADMINISTRATORS_ONLY`."""
    if not by.is_superuser:
        raise ADMINISTRATORS_ONLY()
    organizer.can_see_sealed = sees
    organizer.save(update_fields=["can_see_sealed"])
