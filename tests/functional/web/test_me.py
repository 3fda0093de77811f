"""A person's own page: what concerns them in one place, in few queries, and nothing of anybody else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import time_machine
from django.urls import reverse
from django.utils import timezone

from accounts.models import token_create
from competitions.catalog.models import Leaderboard, Phase
from competitions.leaderboards.models import DailyRank
from competitions.notifications.models import Kind, Notification
from competitions.notifications.services import notify_person
from competitions.teams.models import Invitation
from tests.pages import page_words
from tests.permissions import user_client
from tests.scenario import Scenario, person, scenario

URL = reverse("web:me")


def fill(site: Scenario, number: int) -> None:
    """So many notifications, tokens and runs of the member, and competitions that they are in."""
    member = site.member()
    for place in range(number):
        notify_person(
            user=member, kind=Kind.RUN, competition=site.competition, subject=f"News {place}", text="t", path="/"
        )
        token_create(user=member, name=f"token {place}", scopes=["read"], expires_at=timezone.now() + timedelta(days=9))
        scenario().join(user=member)
    site.submit()


def test_what_concerns_a_person_is_there_and_nothing_of_others(site: Scenario) -> None:
    with time_machine.travel(site.now, tick=False):
        fill(site, 1)
        stranger = person("stranger")
        page = user_client(site.member()).get(URL).content.decode()
        for text in (site.competition.title, site.team.name, "News 0", "token 0", "Running for your team", "closes"):
            assert text in page, text
        other = user_client(stranger).get(URL).content.decode()
        for text in (site.competition.title, site.team.name, "News 0", "token 0"):
            assert text not in other, text
        assert "You take part in none yet." in other


def test_a_card_says_place_score_change_quota_and_the_next_date(site: Scenario) -> None:
    with time_machine.travel(site.now, tick=False):
        Phase.objects.filter(pk=site.phase.pk).update(max_submissions_per_day=3, max_submissions=100)
        other = site.join()
        site.score(site.submit(team=other), 0.1)
        site.score(site.submit(), 0.25)
        site.score(site.submit(team=site.join(is_baseline=True)), 0.2)
        board = Leaderboard.objects.get(phase=site.phase)
        DailyRank.objects.create(leaderboard=board, team=site.team, rank=1)
        site.submit()
        client = user_client(site.member())
        page = page_words(client.get(URL))
        assert "Place 2 of 2 ▼ down 1" in page
        assert "MAE 0.2500" in page
        assert "1 running 1 of 3 submissions left today test-dev closes" in page
        Phase.objects.filter(pk=site.phase.pk).update(visibility="sealed")
        page = page_words(client.get(URL))
        assert "0.2500" not in page, "sealed"
        assert "No place on an open leaderboard yet." in page


def test_an_invitation_waits_there(site: Scenario) -> None:
    guest = person("guest")
    dates = {"created_at": site.now, "expires_at": site.now + timedelta(days=7)}
    Invitation.objects.create(team=site.team, user=guest, invited_by=site.team.captain, **dates)
    with time_machine.travel(site.now, tick=False):
        page = user_client(guest).get(URL).content.decode()
    assert f"<strong>{site.team.name}</strong> invites you" in page


def test_organizers_see_their_drafts_and_members_no_withdrawn_competition(site: Scenario) -> None:
    site.competition.is_published = False
    site.competition.save(update_fields=["is_published"])
    assert "draft" in user_client(site.organizer).get(URL).content.decode()
    assert site.competition.title not in user_client(site.member()).get(URL).content.decode()


def test_it_takes_few_queries_however_much_there_is(site: Scenario, django_assert_max_num_queries: Any) -> None:
    with time_machine.travel(site.now, tick=False):
        fill(site, 1)
        client = user_client(site.member())
        with django_assert_max_num_queries(18) as few:
            client.get(URL)
        fill(site, 4)
        with django_assert_max_num_queries(18) as many:
            client.get(URL)
    assert len(few) == len(many)
    assert Notification.objects.filter(user=site.member()).count() == 5
