"""The end of an account: boards, receipts and posts stay without the person.

The row of the user stays, as submissions, decisions and receipts point at it; nothing in it says any more who that was.
"""

import secrets
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Final

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import F, Q
from django.dispatch import Signal

from accounts.models import Block, Profile, ProfileReport, User
from accounts.outbox import mail_person
from competitions.bundles.models import BundleExport, BundleImport, CompetitionPush
from competitions.catalog.models import Competition, CompetitionOrganizer
from competitions.discussions.models import Post, PostImage, PostRevision, Subscription, Topic, Writer
from competitions.leaderboards.services import boards_follow_person
from competitions.notifications.models import Notification, NotificationPreference
from competitions.people.models import AccountDeletion, Certificate, DataExport
from competitions.resources.models import Upload
from competitions.resources.orphans import forget_exports
from competitions.teams.models import (
    Invitation,
    InvitationLink,
    Membership,
    MergeProposal,
    OfferState,
    Registration,
    Team,
)
from competitions.teams.services import member_remove
from core.reconciler import run_guarded
from core.refusals import RefusalKind

WAITING_TIME: Final = timedelta(days=7)
DELETED_AT_ONCE: Final = 50
LOOKED_AT_ONCE: Final = 500  # with those that are held up
PATH: Final = "/profile/delete/"

HAND_OVER_FIRST: Final = RefusalKind(409, "hand_over_first", "Your account cannot be deleted yet. {detail}")

ALREADY_DELETED: Final = RefusalKind(409, "already_deleted", "The account is deleted already.")
OWN_WISH: Final = (
    "Your account is deleted on {due_at:%Y-%m-%d %H:%M} UTC, as you asked. Until then you can cancel this. "
    "If it was not you, cancel it and change your password."
)
WISH_OF_ADMINISTRATOR: Final = (
    "Your account is deleted on {due_at:%Y-%m-%d %H:%M} UTC, as an administrator of the site began it for you. "
    "Until then you can cancel this, and export your data."
)

# Sent with `user`, in the transaction that ends the account: apps above remove what is the person's alone.
account_ending = Signal()


def obstacles(user: User) -> list[str]:
    """Sentences on what the person has to hand over first, by name."""
    return list(_obstacles(user))


def _obstacles(user: User) -> Iterator[str]:
    others = CompetitionOrganizer.objects.exclude(user=user).filter(user__is_active=True)
    alone = Competition.objects.filter(organizers=user).exclude(pk__in=others.values("competition"))
    for title, is_trial in alone.order_by("pk").values_list("title", "is_trial"):
        otherwise = ", or discard its draft" if is_trial else ""
        yield f"You are the only organizer of “{title}”: add another one in its settings{otherwise}."
    fellows = Membership.objects.exclude(user=user).filter(team__captain=user)
    for team in Team.objects.filter(pk__in=fellows.values("team")).select_related("competition").order_by("pk"):
        yield f"You are the captain of “{team}” in “{team.competition}”: make another member captain."
    administrators = User.objects.filter(is_superuser=True, is_active=True)
    if user.is_superuser and not administrators.exclude(pk=user.pk).exists():
        yield "You are the only administrator of this site: make somebody else one."


@transaction.atomic
def deletion_ask(*, user: User, now: datetime, is_own_wish: bool = True) -> AccountDeletion:
    """Have the account deleted after a week; asked again, the first wish counts.

    `is_own_wish`: else an administrator begins it. Raises `HAND_OVER_FIRST` or `ALREADY_DELETED`.
    """
    user = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if user.deleted_at is not None:
        raise ALREADY_DELETED()
    if sentences := obstacles(user):
        raise HAND_OVER_FIRST(detail=" ".join(sentences))
    defaults = {"asked_at": now, "due_at": now + WAITING_TIME}
    deletion, is_new = AccountDeletion.objects.get_or_create(user=user, defaults=defaults)
    if is_new:
        mail_person(
            to=user,
            subject="Your account is going to be deleted",
            text=(OWN_WISH if is_own_wish else WISH_OF_ADMINISTRATOR).format(due_at=deletion.due_at),
            path=PATH,
        )
    return deletion


def deletion_withdraw(*, user: User) -> bool:
    """Take the wish back; False if there was none."""
    return bool(AccountDeletion.objects.filter(user=user).delete()[0])


def deletions_perform(*, now: datetime) -> int:
    """For the reconciler: delete the accounts that are due; returns how many. A failure holds up no other."""
    # Those that are held up may be any number: they come behind all others, and take turns.
    rows = AccountDeletion.objects.filter(due_at__lte=now).order_by(F("held_up_at").asc(nulls_first=True), "due_at")
    due = list(rows.values_list("user", flat=True)[:LOOKED_AT_ONCE])
    ended = filter(None, (run_guarded("account_deleted", partial(account_delete, pk), now=now) for pk in due))
    return sum(islice(ended, DELETED_AT_ONCE))


@transaction.atomic
def account_delete(pk: int, *, now: datetime) -> int:
    """Delete one account; 0 where that was taken back, or where its person has to hand over first."""
    user = User.objects.select_for_update(no_key=True).get(pk=pk)
    deletion = AccountDeletion.objects.select_for_update().filter(user=user, due_at__lte=now).first()
    if deletion is None:
        return 0
    # Before boards, and before it is decided: nobody joins a team meanwhile whose captain is about to go.
    list(Team.objects.select_for_update(of=("self",), no_key=True).filter(memberships__user=user).order_by("pk"))
    # As `organizer_remove`: of two organizers who go at once, the second is the only one.
    organized = Competition.objects.select_for_update(of=("self",), no_key=True).filter(organizers=user)
    list(organized.order_by("pk"))
    if sentences := obstacles(user):
        _hold_up(deletion, sentences, now)
        return 0
    deletion.delete()
    mail_person(
        to=user,
        subject="Your account is deleted",
        text="Your account has been deleted, as announced.",
        path="/",
    )
    boards_follow_person(Profile, user)  # now, while their teams still lead to the boards that name them
    _remove_from_discussions(user)
    _remove_from_teams(user)
    _remove_files(user, now)
    account_ending.send(sender=User, user=user)
    _remove_access(user)
    _anonymise(user, now)
    return 1


def _hold_up(deletion: AccountDeletion, sentences: list[str], now: datetime) -> None:
    is_told, deletion.held_up_at = deletion.held_up_at is not None, now
    deletion.save(update_fields=["held_up_at"])
    if is_told:
        return
    text = " ".join(["Your account cannot be deleted yet.", *sentences, "It is deleted as soon as that is done."])
    mail_person(to=deletion.user, subject="Your account is not deleted yet", text=text, path=PATH)


def _remove_from_discussions(user: User) -> None:
    """Posts stay, as their topics would make no sense without them. Locks: the writer, topics, posts."""
    for own in (Subscription, Writer, Notification, NotificationPreference):
        own._default_manager.filter(user=user).delete()
    for model in (Topic, Post, PostImage):
        model._default_manager.filter(author=user).update(author=None)
    PostRevision.objects.filter(replaced_by=user).update(replaced_by=None)


def _remove_from_teams(user: User) -> None:
    for team in list(Team.objects.filter(memberships__user=user).order_by("pk")):
        member_remove(team=team, user=user)
    Invitation.objects.filter(user=user).delete()
    Invitation.objects.filter(invited_by=user, state=OfferState.OPEN).update(state=OfferState.WITHDRAWN)
    MergeProposal.objects.filter(proposed_by=user, state=OfferState.OPEN).update(state=OfferState.WITHDRAWN)
    InvitationLink.objects.filter(made_by=user).delete()
    Registration.objects.filter(user=user).delete()
    CompetitionOrganizer.objects.filter(user=user).delete()


def _remove_files(user: User, now: datetime) -> None:
    """Files of the person alone; what was submitted is the team's and stays, as receipts name it."""
    forget_exports(DataExport.objects.filter(user=user), now=now)
    Upload.objects.filter(user=user).update(expires_at=now)  # the step that removes old ones removes their parts
    for model in (BundleExport, BundleImport, CompetitionPush):
        model._default_manager.filter(owner=user).delete()


def _remove_access(user: User) -> None:
    """Sessions end by themselves: the account is not active, and its password is another."""
    user.api_tokens.all().delete()
    Block.objects.filter(Q(by=user) | Q(person=user)).delete()
    ProfileReport.objects.filter(reporter=user).delete()
    for model in (EmailAddress, Authenticator, SocialAccount, Profile, Certificate):
        model._default_manager.filter(user=user).delete()
    user.groups.clear()
    user.user_permissions.clear()


def _anonymise(user: User, now: datetime) -> None:
    user.username = f"deleted-{secrets.token_hex(6)}"
    user.email = f"{user.username}@deleted.invalid"
    user.first_name = user.last_name = user.affiliation = ""
    user.is_active = user.is_staff = user.is_superuser = False
    user.last_login, user.deleted_at = None, now
    user.set_unusable_password()
    user.save()
    entries = LogEntry.objects.filter(content_type=ContentType.objects.get_for_model(User), object_id=str(user.pk))
    entries.update(object_repr="Deleted account")
