"""The results of a competition that is over, and certificates of participation."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from competitions.catalog.models import Competition, Leaderboard, Phase
from competitions.catalog.services import phase_reveal
from competitions.people.certificates import make_certificate
from competitions.people.deleting import account_delete, deletion_ask
from competitions.people.documents import DOCUMENTS
from competitions.people.models import AccountDeletion, Certificate
from competitions.submissions.models import Submission
from competitions.submissions.services import submission_disqualify
from core.refusals import Refusal
from tests.permissions import user_client
from tests.scenario import Scenario, person
from tests.shared_rows import shared


@shared
def over(common_site: Scenario) -> Scenario:
    """A competition that is over: two teams with scores on both boards, the sealed one revealed."""
    site = common_site
    other = site.join("Runners-up")
    for phase in site.phases.values():
        site.score(site.submit(phase=phase), 0.1)
        site.score(site.submit(phase=phase, team=other), 0.2)
    site.score(site.submit(team=site.join("Known", is_baseline=True)), 0.3)
    ended = timezone.now() - timedelta(days=1)
    Phase.objects.filter(competition=site.competition).update(opens_at=ended - timedelta(days=9), closes_at=ended)
    phase_reveal(phase=Phase.objects.get(pk=site.sealed.pk), now=timezone.now())
    Competition.objects.filter(pk=site.competition.pk).update(gives_certificates=True, host="A group & friends")
    return site


def page(site: Scenario, client: Client | None = None) -> str:
    return (client or Client()).get(reverse("web:results", args=[site.competition.slug])).text


def make(site: Scenario, client: Client, name: str = "Ada Example") -> str:
    """Make the certificate in the browser; its address."""
    answer = client.post(reverse("web:certificate-make", args=[site.competition.slug]), {"name": name})
    assert answer.status_code == 302, answer.text
    return str(answer.headers["Location"])


def test_the_results_are_the_final_boards_with_bibtex(over: Scenario) -> None:
    text = page(over)
    assert (text.count('<table class="board final-board">'), text.count("Runners-up")) == (2, 2)
    assert f"@misc{{{over.competition.slug}-results" in text
    assert "A group   friends" in text, "no letter that TeX reads"
    assert "Your certificate" not in text
    assert "medal-1" in text
    overview = Client().get(reverse("web:overview", args=[over.competition.slug])).text
    assert "The competition is over." in overview
    assert re.search(r'<a class="button primary" href="[^"]*/results/">See the results</a>', overview), (
        "nothing to join"
    )
    markdown = Client().get(f"/competitions/{over.competition.slug}/results.md").text
    assert "| 2 | Runners-up | 0.2000 |" in markdown


@pytest.mark.parametrize("why", ["open", "sealed", "unscored"])
def test_as_long_as_something_is_open_sealed_or_unscored_there_are_no_results(over: Scenario, why: str) -> None:
    if why == "open":
        Phase.objects.filter(pk=over.phase.pk).update(closes_at=None)
    elif why == "sealed":
        Phase.objects.filter(pk=over.sealed.pk).update(revealed_at=None)
    else:
        Submission.objects.filter(pk=Submission.objects.earliest("pk").pk).update(status="queued")
    text = page(over, user_client(over.member()))
    assert "There are no final results yet." in text
    assert "Runners-up" not in text
    refused = user_client(over.member()).post(
        reverse("web:certificate-make", args=[over.competition.slug]), {"name": "A"}
    )
    assert (refused.status_code, "is not over" in refused.text) == (409, True)


def test_a_hidden_board_holds_nothing_up_and_is_not_shown(over: Scenario) -> None:
    Leaderboard.objects.filter(phase=over.sealed).update(is_hidden=True)
    Phase.objects.filter(pk=over.sealed.pk).update(revealed_at=None)
    assert page(over).count('<table class="board final-board">') == 1


def test_a_member_makes_a_certificate_that_its_address_proves(over: Scenario) -> None:
    client = user_client(over.member())
    assert "Make the certificate" in page(over, client)
    address = make(over, client, "Ada <b>Example</b>")
    shown = Client().get(address)
    assert shown.headers["X-Robots-Tag"] == "noindex"
    assert "Ada &lt;b&gt;Example" in shown.text
    assert shown.text.count("rank 1 of 2") == 2
    assert make(over, client, "Ada Example") == address, "another name, the same address"
    assert "Ada Example" in Client().get(address).text
    assert "Open your certificate" in page(over, client)


def test_a_refused_certificate_reads_the_phases_once(over: Scenario) -> None:
    contest = Competition.objects.get(pk=over.competition.pk)
    with CaptureQueriesContext(connection) as queries, pytest.raises(Refusal) as refusal:
        make_certificate(user=person(), competition=contest, name="A", now=timezone.now())
    assert refusal.value.code == "not_ranked"
    assert sum('FROM "catalog_phase"' in query["sql"] for query in queries) == 1


def test_a_certificate_follows_the_boards_and_says_when_it_holds_no_longer(over: Scenario) -> None:
    address = make(over, user_client(over.member()))
    for submission in Submission.objects.filter(team=over.team):
        submission_disqualify(submission=submission, reason="Copied labels.", now=over.now)
    answer = Client().get(address)
    assert (answer.status_code, "is no longer valid" in answer.text, "Ada Example" in answer.text) == (410, True, False)
    Competition.objects.filter(pk=over.competition.pk).update(gives_certificates=False)
    assert Client().get(address).status_code == 410
    Competition.objects.filter(pk=over.competition.pk).update(is_published=False)
    assert Client().get(address).status_code == 404


def test_only_members_of_ranked_teams_make_one_and_only_where_it_is_on(over: Scenario) -> None:
    idle = person()
    url = reverse("web:certificate-make", args=[over.competition.slug])
    for user in (idle, over.organizer):
        refused = user_client(user).post(url, {"name": "A"})
        assert (refused.status_code, "nothing to certify" in refused.text) == (409, True)
    client = user_client(over.member())
    for name in ("", "a\nb", "a" * 101):
        assert client.post(url, {"name": name}).status_code == 422
    Competition.objects.filter(pk=over.competition.pk).update(gives_certificates=False)
    assert "does not issue certificates" in client.post(url, {"name": "A"}).text
    assert not Certificate.objects.exists()


def test_the_admin_leads_no_staff_to_certificates(over: Scenario) -> None:
    """The address of one shows its person's name."""
    make(over, user_client(over.member()))
    address = f"/admin/r/{ContentType.objects.get_for_model(Certificate).pk}/{Certificate.objects.get().pk}/"
    assert user_client(person(is_staff=True)).get(address).status_code == 404


def test_it_is_in_ones_data_and_goes_with_the_account(over: Scenario) -> None:
    user = over.member()
    address = make(over, user_client(user))
    rows = list(DOCUMENTS["certificates"](user, over.now))
    assert json.dumps([row["url"] for row in rows], default=str).endswith(f'{address}"]')
    deletion_ask(user=user, now=over.now)
    AccountDeletion.objects.update(due_at=over.now)
    assert account_delete(user.pk, now=over.now) == 1
    assert Client().get(address).status_code == 404
