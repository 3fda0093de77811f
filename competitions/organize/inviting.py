"""Invitations to organize a competition: nobody is made an organizer unasked."""

from datetime import datetime
from typing import Any, Final

from allauth.account.models import EmailAddress
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse

from accounts.models import User
from accounts.outbox import mail_person
from accounts.people.blocks import blocked_by, hearing
from accounts.people.lookup import named_by
from accounts.second_factor import lacks_second_factor
from competitions.catalog.models import Competition, CompetitionOrganizer
from competitions.catalog.organizers import ALREADY_ORGANIZES, UNKNOWN_ACCOUNT, organizer_add
from competitions.notifications.services import notify_account
from competitions.organize.models import OrganizerInvitation
from competitions.organize.refusals import ALREADY_ASKED, NO_LONGER_ASKED, TOO_MANY_ASKED

MOST_OPEN: Final = 20
SECOND_FACTOR_FIRST: Final = (
    "Once you accept, you set up an authenticator app or a passkey: organizers sign in with a second factor here."
)


@transaction.atomic
def organizer_invite(
    *, competition: Competition, person: str, by: User, now: datetime
) -> OrganizerInvitation | CompetitionOrganizer:
    """Ask somebody to organize the competition, too.

    Administrators add people at once, and everybody adds service accounts so by name, as these answer nothing.
    An e-mail address gets the same answer whether somebody has it or not. They are told of a person's invitations once a day.
    Raises `UNKNOWN_ACCOUNT` for a name, `ALREADY_ORGANIZES`, `ALREADY_ASKED` or `TOO_MANY_ASKED`.
    """
    name = person.strip()
    user = User.objects.filter(named_by(name), is_active=True).first()
    if by.is_superuser or (user is not None and user.is_robot and "@" not in name):
        return organizer_add(competition=competition, person=name, by=by)
    if user is None and not _is_address(name):
        raise UNKNOWN_ACCOUNT(name=name)
    Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)  # two at once count each other
    if user is not None and CompetitionOrganizer.objects.filter(competition=competition, user=user).exists():
        raise ALREADY_ORGANIZES(who=name)
    open_rows = competition.organizer_invitations.all()
    if open_rows.filter(named_as__iexact=name).exists():
        raise ALREADY_ASKED(who=name)
    if open_rows.count() >= MOST_OPEN:
        raise TOO_MANY_ASKED(limit=MOST_OPEN)
    invitation = OrganizerInvitation.objects.create(
        competition=competition, user=user, named_as=name, invited_by=by, invited_at=now
    )
    if user is not None and hearing(User.objects.filter(pk=user.pk), by.pk).exists():
        _tell(user, competition, by, now)
    return invitation


def _is_address(name: str) -> bool:
    try:
        validate_email(name)
    except ValidationError:
        return False
    return True


def _tell(user: User, competition: Competition, by: User, now: datetime) -> None:
    subject = f"{by} asks you to organize {competition}"
    text = f"{by} asks you to organize “{competition}” with them. Accept or decline on the page of hosting."
    if lacks_second_factor(user, organizes=True):
        text = f"{text} {SECOND_FACTOR_FIRST}"
    path = reverse("organize:start")
    # by person, not by competition: a host can make another one
    event = f"organizer-invitation-{by.pk}-{user.pk}-{now:%Y-%m-%d}"
    if notify_account(user=user, subject=subject, text=text, path=path, event=event):
        mail_person(to=user, subject=subject, text=text, path=path)


def invitations_to(user: User) -> QuerySet[OrganizerInvitation]:
    """The invitations that wait for this person, also those from before they confirmed their address."""
    own = Q(user=user)
    if EmailAddress.objects.filter(user=user, email__iexact=user.email, verified=True).exists():
        own |= Q(user=None, named_as__iexact=user.email)
    rows = OrganizerInvitation.objects.filter(own).exclude(invited_by__in=blocked_by(user))
    return rows.select_related("competition", "invited_by")


@transaction.atomic
def invitation_accept(*, invitation: OrganizerInvitation, by: User) -> Competition:
    """Organize the competition from now on. Raises `NO_LONGER_ASKED`, also once who invited was removed."""
    # As `organizer_remove`, after which the invitation is gone.
    competition = Competition.objects.select_for_update(of=("self",), no_key=True).get(pk=invitation.competition_id)
    waiting = invitations_to(by).filter(competition=competition)
    if not waiting.filter(pk=invitation.pk).exists():
        raise NO_LONGER_ASKED()
    OrganizerInvitation.objects.filter(pk__in=list(waiting.values_list("pk", flat=True))).delete()
    CompetitionOrganizer.objects.get_or_create(competition=competition, user=by)
    mail_person(
        to=invitation.invited_by,
        subject=f"{by} organizes {competition} now",
        text=f"{by} accepted your invitation to organize “{competition}”.",
        path=reverse("organize:settings", args=[competition.slug]),
    )
    return competition


def invitations_follow_organizer(
    sender: type[CompetitionOrganizer], instance: CompetitionOrganizer, **kwargs: Any
) -> None:
    """Receiver of `post_delete`: who is no organizer any more makes nobody one."""
    OrganizerInvitation.objects.filter(competition=instance.competition_id, invited_by=instance.user_id).delete()
