"""The conduct of a competition: answers to reviewers, made from its settings."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Competition, Leaderboard
from tests.permissions import user_client
from tests.scenario import Scenario


def test_the_page_answers_reviewers_from_the_settings(site: Scenario) -> None:
    url = reverse("web:conduct", args=[site.competition.slug])
    page = Client().get(url).text
    assert "test-challenge: scores are sealed until the reveal" in page
    assert "test-dev: everybody sees scores as they come." in page
    assert page.count("The organizers have said nothing on this.") == 2
    answers = {"data_licence": "CC BY 4.0", "conflicts_of_interest": "Organizers take no prize.\n<b>Really</b>"}
    Competition.objects.filter(pk=site.competition.pk).update(**answers)
    page = Client().get(url).text
    assert "CC BY 4.0" in page
    assert "Organizers take no prize.<br>&lt;b&gt;Really" in page
    assert url in Client().get(reverse("web:rules", args=[site.competition.slug])).text


def test_it_names_no_board_that_its_reader_may_not_know(site: Scenario) -> None:
    Leaderboard.objects.filter(phase=site.phase).update(is_hidden=True, title="Private board")
    url = reverse("web:conduct", args=[site.competition.slug])
    assert "Private board" not in Client().get(url).text
    assert "test-dev, Private board: organizers alone see it." in user_client(site.organizer).get(url).text


def test_it_comes_as_latex_with_everything_escaped(site: Scenario) -> None:
    Competition.objects.filter(pk=site.competition.pk).update(title=r"100 % \input{x}", data_licence="A & B_C")
    answer = Client().get(reverse("web:conduct-file", args=[site.competition.slug]))
    assert answer.headers["Content-Type"] == "application/x-tex; charset=utf-8"
    assert r"\section*{How 100 \% \textbackslash{}input\{x\} is run}" in answer.text
    assert r"A \& B\_C" in answer.text
