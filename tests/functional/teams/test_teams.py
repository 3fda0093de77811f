"""Taking part in a competition: people, their teams, and the version of the rules that they accepted."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from django.core.mail import EmailMessage
from django.db import IntegrityError, transaction
from django.urls import reverse

from accounts.models import User
from competitions.catalog.models import Competition
from competitions.catalog.organizers import UNKNOWN_ACCOUNT, organizer_add
from competitions.catalog.services import rules_publish
from competitions.environments.models import EnvironmentFile
from competitions.environments.services import own_environment_file_remove
from competitions.leaderboards.picks import pick_add
from competitions.notifications.mails import notifications_mail
from competitions.notifications.models import Kind, Notification
from competitions.runs.services import submission_cancel_by
from competitions.submissions.annotations import annotations_edit, fact_sheet_edit, read_annotations
from competitions.submissions.models import Submission
from competitions.submissions.services import team_disqualify, team_reinstate
from competitions.teams import refusals, services
from competitions.teams.links import link_accept, link_make
from competitions.teams.merging import merge_accept, merge_propose
from competitions.teams.models import Invitation, Membership, Registration, Team
from competitions.webhooks.services import webhook_create
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import Scenario, person


def registered(site: Scenario) -> User:
    user = person()
    services.register(user=user, competition=site.competition, rules_version=1, now=site.now)
    return user


def invited(site: Scenario) -> tuple[Invitation, User]:
    user = registered(site)
    return services.invite(team=site.team, by=site.team.captain, person=user.username, now=site.now), user


def test_registration_accepts_a_version_of_the_rules(site: Scenario) -> None:
    user = person()
    with refuses(refusals.RULES_VERSION_UNKNOWN, match="version 1 is in force"):
        services.register(user=user, competition=site.competition, rules_version=0, now=site.now)
    registration = services.register(user=user, competition=site.competition, rules_version=1, now=site.now)
    assert (registration.state, registration.rules_version.number) == (Registration.State.APPROVED, 1)


def test_changed_rules_must_be_accepted_again_and_equal_text_is_no_change(site: Scenario) -> None:
    assert rules_publish(competition=site.competition, text="Be fair.", now=site.now).number == 1
    assert rules_publish(competition=site.competition, text="Be fairer.", now=site.now).number == 2
    user = site.member()
    with refuses(refusals.RULES_CHANGED):
        services.require_registration(user=user, competition=site.competition)
    services.register(user=user, competition=site.competition, rules_version=2, now=site.now)
    assert services.require_registration(user=user, competition=site.competition).rules_version.number == 2


def test_an_organizer_approves_or_denies_where_the_policy_says_so(site: Scenario) -> None:
    Competition.objects.update(registration_policy=Competition.RegistrationPolicy.APPROVAL)
    site.competition.refresh_from_db()
    user = person()
    registration = services.register(user=user, competition=site.competition, rules_version=1, now=site.now)
    with refuses(refusals.REGISTRATION_PENDING):
        services.team_create(user=user, competition=site.competition, name="Too early", now=site.now)
    assert services.registration_decide(registration=registration, approve=True, by=site.organizer, now=site.now)
    assert not services.registration_decide(registration=registration, approve=True, by=site.organizer, now=site.now)
    services.team_create(user=user, competition=site.competition, name="In time", now=site.now)
    services.registration_decide(registration=registration, approve=False, by=site.organizer, now=site.now)
    with pytest.raises(refusals.RegistrationDenied):
        services.register(user=user, competition=site.competition, rules_version=1, now=site.now)


def test_one_person_has_one_team_in_a_competition(site: Scenario) -> None:
    with refuses(refusals.ALREADY_IN_TEAM):
        services.team_create(user=site.member(), competition=site.competition, name="Second", now=site.now)
    other = site.join()
    with pytest.raises(IntegrityError), transaction.atomic():
        Membership.objects.create(team=other, user=site.member(), competition=site.competition, joined_at=site.now)


@pytest.mark.parametrize("name", ["", "x", " ", "y" * 61, "a\u202eb"])
def test_a_team_name_is_short_and_visible(site: Scenario, name: str) -> None:
    with pytest.raises(refusals.TeamNameInvalid):
        services.team_create(user=registered(site), competition=site.competition, name=name, now=site.now)


def test_a_character_that_no_team_name_has_is_named(site: Scenario) -> None:
    with pytest.raises(refusals.TeamNameInvalid, match=r"there is the character U\+00AD \(soft hyphen\) in place 3"):
        site.join(name="be\u00adst")
    with pytest.raises(refusals.TeamNameInvalid, match="this one has 61"):
        site.join(name="n" * 61)
    with pytest.raises(refusals.TeamNameInvalid, match="taken for the site's own people"):
        site.join(name="The  Organizers")


def test_team_names_are_unique_whatever_their_case(site: Scenario) -> None:
    with pytest.raises(refusals.TeamNameTaken):
        services.team_create(
            user=registered(site), competition=site.competition, name=site.team.name.upper(), now=site.now
        )


def test_nobody_joins_without_accepting(site: Scenario) -> None:
    invitation, user = invited(site)
    assert services.find_team(user, site.competition) is None
    services.invitation_accept(invitation=invitation, by=user, now=site.now)
    assert services.find_team(user, site.competition) == site.team


def test_a_declined_withdrawn_or_expired_invitation_is_over(site: Scenario) -> None:
    for end in ("decline", "withdraw", "expire"):
        invitation, user = invited(site)
        now = site.now
        if end == "decline":
            services.invitation_decline(invitation=invitation, by=user)
        elif end == "withdraw":
            services.invitation_withdraw(invitation=invitation, by=site.team.captain)
        else:
            now = invitation.expires_at
        with refuses(refusals.INVITATION_OVER):
            services.invitation_accept(invitation=invitation, by=user, now=now)
        assert services.find_team(user, site.competition) is None


def test_an_invitation_is_for_one_person(site: Scenario) -> None:
    invitation, _ = invited(site)
    with pytest.raises(Invitation.DoesNotExist):
        services.invitation_accept(invitation=invitation, by=registered(site), now=site.now)


def test_open_invitations_take_up_room_until_they_expire(site: Scenario) -> None:
    invited(site)
    invited(site)
    with refuses(refusals.TEAM_FULL, match="3"):
        invited(site)
    later = site.now + timedelta(days=services.INVITATION_DAYS)
    services.invite(team=site.team, by=site.team.captain, person=registered(site).email, now=later)


def test_who_is_invited_must_be_registered_and_free(site: Scenario) -> None:
    with refuses(refusals.UNKNOWN_PERSON, match="register first"):
        services.invite(team=site.team, by=site.team.captain, person=person().username, now=site.now)
    taken = site.member(site.join())
    with refuses(refusals.IN_ANOTHER_TEAM):
        services.invite(team=site.team, by=site.team.captain, person=taken.username, now=site.now)
    _, user = invited(site)
    with refuses(refusals.ALREADY_INVITED):
        services.invite(team=site.team, by=site.team.captain, person=user.username, now=site.now)


def test_an_address_tells_neither_whose_it_is_nor_their_team(site: Scenario) -> None:
    member = site.member(site.join("Known to few"))
    free, client = registered(site), user_client(site.team.captain)
    team = reverse("web:team", args=[site.competition.slug])

    def said(address: str) -> str:
        page = client.post(reverse("web:team-invite", args=[site.competition.slug]), {"person": address}, follow=True)
        return page.content.decode() + client.get(team).content.decode()

    for user in (member, free, free):  # of another team, free, and invited already
        text = said(user.email).replace(user.email, "")
        assert user.username not in text
        assert "Known to few" not in text


def test_only_the_captain_invites_renames_and_hands_over(site: Scenario) -> None:
    invitation, user = invited(site)
    services.invitation_accept(invitation=invitation, by=user, now=site.now)
    with refuses(refusals.NOT_CAPTAIN):
        services.team_rename(team=site.team, by=user, name="Mine now")
    with refuses(refusals.NOT_CAPTAIN):
        services.captain_hand_over(team=site.team, by=user, to=user)
    services.captain_hand_over(team=site.team, by=site.team.captain, to=user)
    shown = Team.objects.get(pk=site.team.pk)
    Team.objects.filter(pk=site.team.pk).update(is_baseline=True)  # by an administrator, meanwhile
    services.team_rename(team=shown, by=user, name="Mine now")
    renamed = Team.objects.get(pk=site.team.pk)
    assert (renamed.name, renamed.is_baseline) == ("Mine now", True)


def test_who_was_denied_does_nothing_more_in_the_name_of_the_team(site: Scenario) -> None:
    Competition.objects.update(max_team_size=9)
    invitation, mate = invited(site)
    services.invitation_accept(invitation=invitation, by=mate, now=site.now)
    captain, now = site.team.captain, site.now
    (later, guest), other = invited(site), site.join("Others")
    proposal = merge_propose(team=site.team, by=captain, other_name="Others", now=now)
    link = link_make(team=site.team, by=captain, max_uses=1, days=1, now=now)
    weights = EnvironmentFile.objects.create(
        team=site.team,
        kind="weights",
        name="w",
        version=1,
        file_name="w",
        size_bytes=7,
        uploaded_by=mate,
        created_at=now,
        last_used_at=now,
    )
    own, theirs = site.submit(), site.submit()
    Submission.objects.filter(pk=theirs.pk).update(submitted_by=mate)
    theirs.refresh_from_db()
    registration = Registration.objects.get(user=captain)
    services.registration_decide(registration=registration, approve=False, by=site.organizer, now=now, reason="spam")
    acts: list[Callable[[], object]] = [
        lambda: services.team_rename(team=site.team, by=captain, name="Spam"),
        lambda: services.invite(team=site.team, by=captain, person="x", now=now),
        lambda: link_make(team=site.team, by=captain, max_uses=1, days=1, now=now),
        lambda: annotations_edit(
            submission=own, annotations=read_annotations(link="https://spam.example/"), by=captain
        ),
        lambda: fact_sheet_edit(submission=own, answers={}, by=captain, now=now),
        lambda: pick_add(board=site.phase.leaderboards.get(), submission=own, by=captain, now=now),
        lambda: submission_cancel_by(submission=theirs, by=captain, now=now),
        lambda: webhook_create(
            competition=site.competition, team=site.team, by=captain, url="https://x.example/", kinds=[], now=now
        ),
        lambda: own_environment_file_remove(file=weights, by=captain),
    ]
    for act in acts:
        with pytest.raises(refusals.RegistrationDenied):
            act()
    with refuses(refusals.CAPTAIN_DENIED, match="Another captain can invite you"):
        services.invitation_accept(invitation=later, by=guest, now=now)
    with refuses(refusals.CAPTAIN_DENIED):
        link_accept(link=link, by=guest, now=now)
    with refuses(refusals.CAPTAIN_DENIED):
        merge_accept(proposal=proposal, by=other.captain, now=now)
    submission_cancel_by(submission=own, by=captain, now=now)
    services.captain_hand_over(team=site.team, by=captain, to=mate)
    services.invitation_accept(invitation=later, by=guest, now=now)
    services.team_rename(team=Team.objects.get(pk=site.team.pk), by=mate, name="Without spam")
    submission_cancel_by(submission=theirs, by=mate, now=now)


def test_a_captain_hands_over_before_leaving_and_the_last_member_takes_the_empty_team_along(site: Scenario) -> None:
    captain = site.team.captain
    invitation, user = invited(site)
    services.invitation_accept(invitation=invitation, by=user, now=site.now)
    with refuses(refusals.CAPTAIN_MUST_HAND_OVER):
        services.team_leave(team=site.team, by=captain)
    services.captain_hand_over(team=site.team, by=captain, to=user)
    services.team_leave(team=site.team, by=captain)
    team = site.team
    services.team_leave(team=team, by=user)
    assert not Team.objects.filter(pk=team.pk).exists()
    with refuses(refusals.NO_TEAM):
        services.team_leave(team=team, by=user)


@pytest.mark.parametrize("what", ["a submission", "an image", "another team"])
def test_the_last_member_stays_in_a_team_of_which_something_is_on_record(site: Scenario, what: str) -> None:
    captain = site.team.captain
    if what == "a submission":
        site.submit()
    elif what == "an image":
        EnvironmentFile.objects.create(
            team=site.team,
            kind=EnvironmentFile.Kind.IMAGE,
            name="mine",
            version=1,
            file_name="mine.tar",
            size_bytes=1,
            uploaded_by=captain,
            created_at=site.now,
            last_used_at=site.now,
            state=EnvironmentFile.State.REMOVED,
        )
    else:
        Team.objects.filter(pk=site.join("Absorbed").pk).update(merged_into=site.team)
    with refuses(refusals.TEAM_STAYS):
        services.team_leave(team=site.team, by=captain)
    assert site.team.members.get() == captain
    response = user_client(captain).post(reverse("web:team-leave", args=[site.competition.slug]), follow=True)
    assert "so you cannot leave it" in response.content.decode()


def test_nobody_leaves_or_joins_a_team_that_is_disqualified(site: Scenario) -> None:
    invitation, user = invited(site)
    alone = services.personal_team(user=registered(site), competition=site.competition, now=site.now)
    second = services.invite(team=site.team, by=site.team.captain, person=alone.captain.username, now=site.now)
    for team in (site.team, alone):
        team_disqualify(team=team, reason="Shared code", now=site.now)
    with refuses(refusals.TEAM_DISQUALIFIED):
        services.invitation_accept(invitation=invitation, by=user, now=site.now)
    with refuses(refusals.TEAM_DISQUALIFIED):
        services.team_leave(team=site.team, by=site.team.captain)
    team_reinstate(team=site.team, reason="The code was public", now=site.now)
    with refuses(refusals.TEAM_DISQUALIFIED, match=alone.name):
        services.invitation_accept(invitation=second, by=alone.captain, now=site.now)
    assert Team.objects.filter(pk=alone.pk).exists()
    assert services.invitation_accept(invitation=invitation, by=user, now=site.now) == site.team


def test_an_address_means_the_account_whose_address_it_is(site: Scenario) -> None:
    impostor = person("alice@example.org")
    User.objects.filter(pk=impostor.pk).update(email="impostor@example.org")
    services.register(user=impostor, competition=site.competition, rules_version=1, now=site.now)
    with refuses(refusals.UNKNOWN_PERSON):
        services.invite(team=site.team, by=site.team.captain, person="alice@example.org", now=site.now)
    with refuses(UNKNOWN_ACCOUNT):
        organizer_add(competition=site.competition, person="alice@example.org", by=site.organizer)
    alice = person("alice")
    unconfirmed = EmailAddress.objects.create(user=alice, email="Alice@example.org", verified=False)
    with refuses(UNKNOWN_ACCOUNT):
        organizer_add(competition=site.competition, person="alice@example.org", by=site.organizer)
    EmailAddress.objects.filter(pk=unconfirmed.pk).update(verified=True)
    EmailAddress.objects.create(user=alice, email="alice@example.net", verified=False)
    assert organizer_add(competition=site.competition, person="alice@example.org", by=site.organizer).user == alice


def test_invitations_of_a_captain_are_told_once_a_day_and_hold_each_time(
    site: Scenario, mailoutbox: list[EmailMessage]
) -> None:
    user, other, captain = registered(site), registered(site), registered(site)

    def invite(days: int = 0) -> Invitation:
        team = services.team_create(user=captain, competition=site.competition, name="Fleeting", now=site.now)
        sent = services.invite(team=team, by=captain, person=user.username, now=site.now + timedelta(days=days))
        assert sent.is_live(site.now)
        return sent

    def readers() -> list[str]:
        return sorted(Notification.objects.filter(kind=Kind.INVITATION).values_list("user__username", flat=True))

    for _ in range(3):
        services.invitation_withdraw(invitation=(sent := invite()), by=captain)
        services.team_leave(team=sent.team, by=captain)  # it was new, and is deleted
    notifications_mail(now=site.now)
    assert [message.to for message in mailoutbox] == [[user.email]]
    services.invitation_decline(invitation=invite(), by=user)
    services.team_leave(team=Team.objects.get(name="Fleeting"), by=captain)
    invite(days=1)
    assert readers() == [user.username] * 2, "on another day they are told again"
    services.invite(team=site.team, by=site.team.captain, person=user.username, now=site.now)
    services.invite(team=site.team, by=site.team.captain, person=other.username, now=site.now)
    assert readers() == sorted([user.username] * 3 + [other.username]), "of each team, and each of the invited"


def test_decisions_and_invitations_are_told_by_mail(site: Scenario, mailoutbox: list[EmailMessage]) -> None:
    registration = services.find_registration(registered(site), site.competition)
    assert registration is not None
    services.registration_decide(registration=registration, approve=False, by=site.organizer, now=site.now)
    invited(site)
    assert mailoutbox == [], "no request mails"
    notifications_mail(now=site.now)
    denied, invitation = mailoutbox
    assert denied.to == [registration.user.email]
    assert "denied" in denied.subject
    assert f"/competitions/{site.competition.slug}/team/" in str(invitation.body)


def test_who_waited_for_approval_is_in_when_the_competition_opens_to_all(site: Scenario) -> None:
    Competition.objects.update(registration_policy=Competition.RegistrationPolicy.APPROVAL)
    site.competition.refresh_from_db()
    user = registered(site)
    with refuses(refusals.REGISTRATION_PENDING):
        services.require_registration(user=user, competition=site.competition)
    Competition.objects.update(registration_policy=Competition.RegistrationPolicy.OPEN)
    site.competition.refresh_from_db()
    services.register(user=user, competition=site.competition, rules_version=1, now=site.now)
    state = services.require_registration(user=user, competition=site.competition).state
    assert state == Registration.State.APPROVED
