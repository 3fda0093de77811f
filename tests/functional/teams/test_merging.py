"""Two teams become one by consent of both captains: members, submissions, quota and rows of boards."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.urls import reverse

from competitions.catalog.models import Leaderboard, Phase
from competitions.leaderboards.models import Entry
from competitions.leaderboards.picks import pick_add
from competitions.notifications.mails import notifications_mail
from competitions.submissions import refusals as submission_refusals
from competitions.submissions.models import Submission
from competitions.submissions.quota import allowances
from competitions.submissions.services import team_disqualify
from competitions.teams import refusals
from competitions.teams.links import link_make
from competitions.teams.merging import merge_accept, merge_decline, merge_propose, merge_withdraw, merges_are_open
from competitions.teams.models import MergeProposal, Team
from competitions.teams.services import find_team, invitation_accept, invite, team_create, team_leave
from competitions.winners.models import Lane, Place
from core.refusals import RefusalKind
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import Scenario

pytestmark = pytest.mark.django_db


@pytest.fixture
def other(site: Scenario) -> Team:
    return site.join("Other team")


def propose(site: Scenario, other: Team) -> MergeProposal:
    return merge_propose(team=site.team, by=site.team.captain, other_name=other.name, now=site.now)


def merged(site: Scenario, other: Team) -> Team:
    return merge_accept(proposal=propose(site, other), by=other.captain, now=site.now)


def refused(act: Any, kind: RefusalKind) -> str:
    """The refusal's text; and nobody's team has changed by it."""
    before = sorted(Team.objects.values_list("pk", "merged_into", "memberships__user"))
    with refuses(kind) as caught:
        act()
    assert sorted(Team.objects.values_list("pk", "merged_into", "memberships__user")) == before
    return str(caught.value)


def test_members_submissions_and_rows_of_the_board_become_those_of_the_team_that_proposed(
    site: Scenario, other: Team
) -> None:
    site.score(site.submit(), 0.5)
    site.score(site.submit(team=other, key="same"), 0.25)
    site.submit(key="same")
    proposal = propose(site, other)
    notifications_mail(now=site.now)
    assert mail.outbox[-1].to == [other.captain.email]
    team = merge_accept(proposal=proposal, by=other.captain, now=site.now)
    assert team == site.team
    assert find_team(other.captain, site.competition) == site.team
    assert set(Submission.objects.values_list("team", flat=True)) == {site.team.pk}
    assert set(Submission.objects.values_list("runs__team", flat=True)) == {site.team.pk}
    (entry,) = Entry.objects.filter(leaderboard__phase=site.phase)
    assert (entry.team, entry.values["mae"], entry.submissions) == (site.team, 0.25, 2)
    other.refresh_from_db()
    assert other.merged_into == site.team


def test_proposals_of_a_captain_are_told_once_a_day_and_hold_each_time(site: Scenario, other: Team) -> None:
    def propose_on(day: int) -> MergeProposal:
        now = site.now + timedelta(days=day)
        return merge_propose(team=site.team, by=site.team.captain, other_name=other.name, now=now)

    for day in (0, 0, 0, 1):
        merge_withdraw(proposal=propose_on(day), by=site.team.captain, now=site.now)
    third = site.join("Third team")
    merge_propose(team=site.team, by=site.team.captain, other_name=third.name, now=site.now)
    notifications_mail(now=site.now)
    assert sorted(message.to[0] for message in mail.outbox) == sorted([other.captain.email] * 2 + [third.captain.email])
    assert merge_accept(proposal=propose_on(1), by=other.captain, now=site.now) == site.team


def test_the_captain_who_proposed_is_told_the_answer(site: Scenario, other: Team) -> None:
    merge_decline(proposal=propose(site, other), by=other.captain, now=site.now)
    merged(site, other)
    notifications_mail(now=site.now)
    mails = [(message.to, message.subject) for message in mail.outbox if message.to == [site.team.captain.email]]
    captain = [site.team.captain.email]
    assert mails == [(captain, f"{other} does not join {site.team}"), (captain, f"{other} has joined {site.team}")]


def test_an_invitation_to_the_winners_lane_goes_with_the_team_and_a_second_one_does_not(
    site: Scenario, other: Team
) -> None:
    sent = {team.pk: site.score(site.submit(team=team), 0.5) for team in (site.team, other)}
    invited = {"rank": 1, "invited_at": site.now, "due_at": site.now}
    lane = Lane.objects.create(leaderboard=site.phase.leaderboard)
    second = Lane.objects.create(leaderboard=site.sealed.leaderboard)
    Place.objects.create(lane=lane, team=other, submission=sent[other.pk], **invited)
    for team in (site.team, other):
        Place.objects.create(lane=second, team=team, submission=sent[team.pk], **invited)
    merged(site, other)
    assert lane.places.get().team == site.team
    assert set(second.places.values_list("team", flat=True)) == {site.team.pk, other.pk}


def test_used_quota_adds_up(site: Scenario, other: Team) -> None:
    site.submit()
    site.submit(team=other)
    merged(site, other)
    used = {
        allowance.period: allowance.used
        for allowance in allowances(team_id=site.team.pk, phase=site.phase, now=site.now)
    }
    assert set(used.values()) == {2}


def test_teams_that_used_more_together_than_one_may_do_not_merge(site: Scenario, other: Team) -> None:
    site.phase.max_submissions = 1
    site.phase.save()
    site.submit()
    site.submit(team=other)
    text = refused(lambda: merged(site, other), submission_refusals.MERGE_OVER_QUOTA)
    assert "used 2 submissions" in text
    assert "one team may use 1" in text
    assert set(Submission.objects.values_list("team", flat=True)) == {site.team.pk, other.pk}


def test_who_left_a_team_does_not_bring_another_one_into_it(site: Scenario, other: Team) -> None:
    """Each would have a day's limits for themselves, and the team all of their submissions."""
    leaving = other.captain
    site.submit(team=other)
    merged(site, other)
    team_leave(team=site.team, by=leaving)
    again = team_create(user=leaving, competition=site.competition, name="Again", now=site.now)
    merge_decline(proposal=propose(site, again), by=leaving, now=site.now)
    site.submit(team=again)
    assert f"{leaving} has submitted for both" in refused(lambda: merged(site, again), submission_refusals.MERGE_BACK)
    assert set(Submission.objects.values_list("team", flat=True)) == {site.team.pk, again.pk}


def test_only_the_captains_decide(site: Scenario, other: Team) -> None:
    member = site.join("Third").captain
    refused(lambda: merge_propose(team=site.team, by=member, other_name=other.name, now=site.now), refusals.NOT_CAPTAIN)
    proposal = propose(site, other)
    refused(lambda: merge_accept(proposal=proposal, by=site.team.captain, now=site.now), refusals.NOT_CAPTAIN)
    refused(lambda: merge_decline(proposal=proposal, by=member, now=site.now), refusals.NOT_CAPTAIN)
    refused(lambda: merge_withdraw(proposal=proposal, by=other.captain, now=site.now), refusals.NOT_CAPTAIN)


def test_a_proposal_is_answered_once(site: Scenario, other: Team) -> None:
    proposal = propose(site, other)
    refused(lambda: propose(site, other), refusals.ALREADY_PROPOSED)
    merge_decline(proposal=proposal, by=other.captain, now=site.now)
    refused(lambda: merge_accept(proposal=proposal, by=other.captain, now=site.now), refusals.PROPOSAL_OVER)
    again = propose(site, other)
    merge_withdraw(proposal=again, by=site.team.captain, now=site.now)
    refused(lambda: merge_accept(proposal=again, by=other.captain, now=site.now), refusals.PROPOSAL_OVER)


def test_nobody_merges_after_the_deadline(site: Scenario, other: Team) -> None:
    proposal = propose(site, other)
    site.competition.merges_close_at = site.now + timedelta(hours=1)
    site.competition.save()
    late = site.now + timedelta(hours=1)
    text = refused(lambda: merge_accept(proposal=proposal, by=other.captain, now=late), refusals.MERGES_CLOSED)
    assert f"{late:%Y-%m-%d %H:%M} UTC" in text
    proposal.refresh_from_db()
    assert proposal.state == MergeProposal.State.OPEN, "the refusal used the proposal up"


@pytest.mark.parametrize(
    ("sealed_closed", "public_closes", "may_merge"),
    [(False, True, True), (True, False, False), (False, False, True), (True, True, False)],
    ids=["a public phase", "a sealed phase", "none", "the last phase"],
)
def test_merges_end_when_a_sealed_phase_or_the_last_one_closes(
    site: Scenario, other: Team, sealed_closed: bool, public_closes: bool, may_merge: bool
) -> None:
    """Whatever the deadline for merges says: the results of that phase are to stand."""
    later = site.now + timedelta(days=1)
    for phase, is_closed in ((site.sealed, sealed_closed), (site.phase, public_closes)):
        phase.closes_at = later if is_closed else later + timedelta(days=9)
        phase.save()
    site.competition.merges_close_at = later + timedelta(days=90)
    site.competition.save()
    assert merges_are_open(site.competition, later) == may_merge
    assert merges_are_open(site.competition, later - timedelta(microseconds=1))
    proposal = propose(site, other)
    if may_merge:
        assert merge_accept(proposal=proposal, by=other.captain, now=later) == site.team
    else:
        text = refused(lambda: merge_accept(proposal=proposal, by=other.captain, now=later), refusals.RESULTS_STAND)
        assert "results stand" in text


@pytest.mark.usefixtures("noon")
@pytest.mark.parametrize("way", ["invite", "accept", "link"])
@pytest.mark.parametrize("has_submitted", [True, False])
def test_nobody_joins_a_team_whose_results_stand(site: Scenario, other: Team, way: str, has_submitted: bool) -> None:
    friend, captain = other.captain, site.team.captain
    Team.objects.filter(pk=other.pk).update(is_personal=True)
    if has_submitted:
        site.submit(at=site.now - timedelta(days=1))
    invitation = invite(team=site.team, by=captain, person=friend.username, now=site.now) if way == "accept" else None
    Phase.objects.filter(pk=site.sealed.pk).update(closes_at=site.now)

    def join() -> object:
        if invitation is not None:
            return invitation_accept(invitation=invitation, by=friend, now=site.now)
        if way == "invite":
            return invite(team=site.team, by=captain, person=friend.username, now=site.now)
        return link_make(team=site.team, by=captain, max_uses=1, days=1, now=site.now)

    page = user_client(captain).get(reverse("web:team", args=[site.competition.slug])).content.decode()
    assert ("Invite somebody" in page) != has_submitted
    if has_submitted:
        assert "stand with the members that it had" in refused(join, refusals.MEMBERS_STAND)
    else:
        join()


def test_a_merged_team_is_within_the_size_limit_counting_open_invitations(site: Scenario, other: Team) -> None:
    third = site.join("Third")
    site.competition.max_team_size = 2
    site.competition.save()
    proposal = propose(site, other)
    Team.objects.get(pk=third.pk).memberships.all().delete()
    invite(team=site.team, by=site.team.captain, person=third.captain.username, now=site.now)
    text = refused(lambda: merge_accept(proposal=proposal, by=other.captain, now=site.now), refusals.TEAM_FULL)
    assert "more than 2 members" in text


@pytest.mark.parametrize("name", ["Nobody", "", "The team itself"])
def test_a_name_that_is_no_other_team_is_said(site: Scenario, name: str) -> None:
    name = site.team.name if name == "The team itself" else name
    refused(
        lambda: merge_propose(team=site.team, by=site.team.captain, other_name=name, now=site.now),
        refusals.UNKNOWN_TEAM,
    )


def test_a_baseline_merges_with_nobody(site: Scenario) -> None:
    baseline = site.join("Baseline", is_baseline=True)
    refused(lambda: propose(site, baseline), refusals.BASELINES_DO_NOT_MERGE)


@pytest.mark.parametrize("which", ["proposes", "is taken in"])
def test_a_disqualified_team_merges_with_nobody(site: Scenario, other: Team, which: str) -> None:
    proposal = propose(site, other)
    team_disqualify(team=site.team if which == "proposes" else other, reason="Shared code", now=site.now)
    refused(lambda: merge_accept(proposal=proposal, by=other.captain, now=site.now), refusals.TEAM_DISQUALIFIED)
    merge_withdraw(proposal=proposal, by=site.team.captain, now=site.now)
    refused(lambda: propose(site, other), refusals.TEAM_DISQUALIFIED)


def test_two_people_who_took_part_alone_are_a_team_like_others(site: Scenario) -> None:
    Team.objects.update(is_personal=True)
    other = site.join("Other team")
    Team.objects.filter(pk=other.pk).update(is_personal=True)
    team = merged(site, other)
    assert not Team.objects.get(pk=team.pk).is_personal
    with refuses(refusals.ALREADY_IN_TEAM):
        team_create(user=other.captain, competition=site.competition, name="Mine alone", now=site.now)


def test_a_leave_that_waited_for_the_merge_leaves_the_absorbed_team_on_record(site: Scenario, other: Team) -> None:
    merged(site, other)
    with refuses(refusals.NO_TEAM):
        team_leave(team=other, by=other.captain)
    assert Team.objects.filter(pk=other.pk).exists()


def test_what_waited_for_the_absorbed_team_is_over(site: Scenario, other: Team) -> None:
    third = site.join("Third")
    late = merge_propose(team=third, by=third.captain, other_name=other.name, now=site.now)
    guest = site.join("Fourth").captain
    guest.memberships.all().delete()
    invitation = invite(team=other, by=other.captain, person=guest.username, now=site.now)
    merged(site, other)
    refused(lambda: merge_accept(proposal=late, by=other.captain, now=site.now), refusals.PROPOSAL_OVER)
    with refuses(refusals.INVITATION_OVER):
        invitation_accept(invitation=invitation, by=guest, now=site.now)
    refused(lambda: propose(site, other), refusals.UNKNOWN_TEAM)


def test_the_way_in_the_browser(site: Scenario, other: Team) -> None:
    ours, theirs = user_client(site.member()), user_client(site.member(other))
    team_page = reverse("web:team", args=[site.competition.slug])
    ours.post(reverse("web:team-merge", args=[site.competition.slug]), {"other": other.name.upper()})
    proposal = MergeProposal.objects.get()
    assert "Proposed merges" in ours.get(team_page).content.decode()
    accept = reverse("web:merge-accept", args=[proposal.key])
    assert accept in theirs.get(team_page).content.decode()
    answer = theirs.post(accept, follow=True).content.decode()
    assert f"The teams are one: “{site.team.name}”." in answer


def test_the_way_of_a_robot(site: Scenario, other: Team) -> None:
    ours, theirs = user_client(site.member()), user_client(site.member(other))
    url = reverse("api:team-merges", args=[site.competition.slug])
    response = ours.post(url, {"team": other.name}, content_type="application/json")
    assert response.status_code == 201
    assert [proposal["key"] for proposal in theirs.get(url).json()] == [response.json()["key"]]
    done = theirs.post(reverse("api:merge-accept", args=[response.json()["key"]]))
    assert done.json()["state"] == "accepted"


def test_choices_of_both_teams_stay_as_far_as_the_limit_allows(site: Scenario, other: Team) -> None:
    board = Leaderboard.objects.get(phase=site.phase)
    board.rule, board.max_selected = Leaderboard.Rule.SELECTED, 2
    board.save()
    ours = [site.score(site.submit(), value) for value in (0.5, 0.75)]
    theirs = [site.score(site.submit(team=other), value) for value in (0.25, 0.3)]
    pick_add(board=board, submission=ours[0], by=site.team.captain, now=site.now)
    for minute, submission in enumerate(theirs):
        pick_add(board=board, submission=submission, by=other.captain, now=site.now + timedelta(minutes=minute))
    merged(site, other)
    assert set(board.picks.values_list("submission", "team")) == {
        (ours[0].pk, site.team.pk),
        (theirs[0].pk, site.team.pk),
    }
    (entry,) = board.entries.all()
    assert entry.score.submission == theirs[0]
