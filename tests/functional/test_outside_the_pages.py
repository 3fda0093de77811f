"""Answers to search engines, cards of links and refused requests."""

from __future__ import annotations

import json

import pytest
from django.conf import settings
from django.test import Client
from django.test.utils import override_settings
from django.urls import reverse

from competitions.catalog.models import Competition
from tests.permissions import user_client
from tests.scenario import Scenario


def test_the_sitemap_has_the_pages_of_published_competitions_alone(site: Scenario) -> None:
    Competition.objects.create(slug="draft", title="Draft", queue=site.queue)
    text = Client().get("/sitemap.xml").content.decode()
    assert f"/competitions/{site.competition.slug}/leaderboard/</loc>" in text
    assert "draft" not in text
    assert f"Sitemap: {settings.SITE_URL}/sitemap.xml" in Client().get("/robots.txt").content.decode()


def test_a_link_to_a_competition_has_a_card_with_its_title_and_absolute_addresses(site: Scenario) -> None:
    Competition.objects.update(subtitle='Predict "it"', reward="A prize")
    url = reverse("web:overview", args=[site.competition.slug])
    page = Client().get(url).content.decode()
    assert f'<meta property="og:title" content="{site.competition.title}">' in page
    assert '<meta property="og:description" content="Predict &quot;it&quot; Prize: A prize.">' in page
    assert f'<meta property="og:url" content="{settings.SITE_URL}{url}">' in page
    assert f'<meta property="og:image" content="{settings.SITE_URL}/static/podium/icons/card' in page


@override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=100)
def test_a_form_that_is_too_large_is_said_to_be_so_to_people_and_programs(site: Scenario) -> None:
    client = user_client(site.member())
    page = client.post(reverse("web:team-rename", args=[site.competition.slug]), {"name": "x" * 200})
    assert (page.status_code, "Too large" in page.content.decode()) == (413, True)
    body = json.dumps({"key": "x" * 200})
    answer = client.post("/api/v1/submissions/", body, content_type="application/json")
    assert answer.status_code in (400, 413)


@pytest.mark.parametrize(
    "path",
    ["/competitions/SLUG/leaderboard/?q=%00ab", "/api/v1/competitions/?tag=%00", "/competitions/SLUG/images/%00"],
)
def test_an_address_with_a_nul_is_refused(site: Scenario, path: str) -> None:
    answer = Client().get(path.replace("SLUG", site.competition.slug))
    assert answer.status_code == 400
    assert "did not understand this request" in answer.content.decode()
    assert "Content-Security-Policy" in answer.headers


def test_too_many_tries_are_answered_by_a_page_of_the_site(site: Scenario) -> None:
    client, url = Client(), reverse("account_reset_password")
    pages = [client.post(url, {"email": f"nobody{number}@example.net"}) for number in range(30)]
    refused = [page for page in pages if page.status_code == 429]
    assert refused
    assert "Too many tries" in refused[0].content.decode()
