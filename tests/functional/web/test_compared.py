"""Two submissions side by side: scores, facts and receipts, and nothing that the reader may not know."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Phase
from competitions.submissions.models import Submission
from tests.pages import page_words
from tests.permissions import user_client
from tests.scenario import Scenario


def address(site: Scenario, submission: Submission, other: object = "") -> str:
    url = reverse("web:submission-compare", args=[site.competition.slug, submission.pk])
    return f"{url}?with={other}" if other else url


def test_the_one_before_is_compared_by_score_file_and_receipt(site: Scenario) -> None:
    client = user_client(site.member())
    first = site.score(site.submit(), 0.25)
    alone = page_words(client.get(address(site, first)))
    assert "Your team has no other submission to test-dev yet." in alone
    second = site.score(site.submit(), 0.3)
    Submission.objects.filter(pk=second.pk).update(description="deeper")
    words = page_words(client.get(address(site, second)))
    assert f"#{first.pk} #{second.pk} Difference MAE (lower is better) 0.2500 0.3000 +0.0500" in words
    assert "Description \N{EN DASH} deeper" in words
    assert "Commit" not in words, "neither has one"
    assert "lease_id" not in words
    assert client.get(address(site, second, first.pk)).status_code == 200
    assert "Compare with another" in page_words(client.get(reverse("web:submission", args=[second.pk])))


def test_a_failed_one_is_not_what_a_comparison_begins_with(site: Scenario) -> None:
    client = user_client(site.member())
    scored = site.score(site.submit(), 0.25)
    broken = site.answer(site.submit(), {"outcome": "failed", "reason": "output_invalid"})
    newest = site.score(site.submit(), 0.3)
    assert f"#{scored.pk} #{newest.pk} Difference" in page_words(client.get(address(site, newest)))
    assert f"#{newest.pk} #{scored.pk} Difference" in page_words(client.get(address(site, scored)))
    assert f"#{scored.pk} #{broken.pk}" in page_words(client.get(address(site, broken)))


def test_a_sealed_score_and_what_follows_from_it_are_not_compared(site: Scenario) -> None:
    first, second = (site.score(site.submit(), value) for value in (0.25, 0.3))
    Phase.objects.filter(pk=site.phase.pk).update(visibility="sealed")
    words = page_words(user_client(site.member()).get(address(site, second, first.pk)))
    assert "0.0500" not in words
    assert "0.2500" not in words


def test_others_submissions_and_other_phases_do_not_exist_there(site: Scenario) -> None:
    own, other = site.submit(), site.submit(team=site.join())
    elsewhere = site.submit(phase=site.sealed)
    client = user_client(site.member())
    for wrong in (other.pk, elsewhere.pk, own.pk, 10**30, "x"):
        assert client.get(address(site, own, wrong)).status_code == 404
    assert client.get(address(site, other)).status_code == 404
    assert Client().get(address(site, own)).status_code == 302


def test_a_disqualified_one_is_shown_as_such(site: Scenario) -> None:
    submission = site.score(site.submit(), 0.25)
    Submission.objects.filter(pk=submission.pk).update(disqualified_at=site.now, disqualified_reason="Labels copied.")
    client = user_client(site.member())
    for page in (
        reverse("web:submission", args=[submission.pk]),
        f"/competitions/{site.competition.slug}/submissions/",
    ):
        text = client.get(page).text
        assert 'data-status="failed" data-status-of' in text
        assert 'data-status="finished" data-status-of' not in text
