"""Phase forms ask what people can answer; lists and forms of the admin keep their competition."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Competition, CompetitionOrganizer, Phase
from tests.admin_forms import form_fields, save_form
from tests.permissions import user_client
from tests.scenario import Scenario, person, scenario

ADD = "/admin/catalog/phase/add/"
UNNAMED = re.compile(r"<(?:input|select|textarea)\b[^>]*>")


def page_html(client: Client, url: str, **query: Any) -> str:
    return client.get(url, query, follow=True).content.decode()


@pytest.fixture
def second(site: Scenario) -> Competition:
    """Another competition of the same organizer, with a phase of its own."""
    competition = Competition.objects.create(slug="second", title="The second one", queue=site.queue)
    CompetitionOrganizer.objects.create(competition=competition, user=site.organizer)
    Phase.objects.create(competition=competition, name="Elsewhere", slug="elsewhere", opens_at=site.now)
    return competition


def test_a_new_phase_is_asked_for_its_competition_first(site: Scenario, second: Competition) -> None:
    organizer = user_client(site.organizer)
    page = page_html(organizer, ADD)
    assert "Which competition is it for?" in page
    links = [unescape(link) for link in re.findall(r'href="([^"]*add/\?[^"]*)"', page)]
    assert links == [f"{ADD}?competition={competition.pk}" for competition in (site.competition, second)]
    assert save_form(organizer, links[1], name=["Next"]).status_code == 302
    assert Phase.objects.get(slug="next").competition == second


def test_who_organizes_one_competition_is_not_asked(site: Scenario) -> None:
    answer = user_client(site.organizer).get(f"{ADD}?_popup=1")
    assert answer.headers["Location"] == f"{ADD}?_popup=1&competition={site.competition.pk}"


def test_the_competition_of_others_is_not_taken_from_an_address(site: Scenario, second: Competition) -> None:
    foreign = scenario().competition
    assert "Which competition is it for?" in page_html(user_client(site.organizer), ADD, competition=foreign.pk)


def test_a_phase_is_added_from_the_form_as_it_is_offered(site: Scenario) -> None:
    url = f"{ADD}?competition={site.competition.pk}"
    values = {"name": ["Last"], "opens_at": ["2030-05-01T00:00"], "closes_at": [""], "prediction_format_kind": ["any"]}
    task = site.phase.tasks.get()
    answer = save_form(user_client(site.organizer), url, **values, tasks=[str(task.pk)])
    assert answer.status_code == 302
    phase = Phase.objects.get(slug="last")
    assert (phase.competition, list(phase.tasks.all()), phase.prediction_format) == (site.competition, [task], None)
    assert phase.main_board is not None, "like that of the phase before"


def test_a_format_is_fields_and_none_is_any_zip(site: Scenario) -> None:
    Phase.objects.update(prediction_format=None)
    organizer = user_client(site.organizer)
    for url in (
        f"{ADD}?competition={site.competition.pk}",
        reverse("admin:catalog_phase_change", args=[site.phase.pk]),
    ):
        page = organizer.get(url)
        assert form_fields(page)["prediction_format_kind"] == ["any"]
        assert "null" not in page.content.decode()


def test_a_new_phase_is_not_asked_to_confirm_and_shows_nothing_of_later(site: Scenario) -> None:
    page = page_html(user_client(site.organizer), ADD, competition=site.competition.pk)
    for text in ("Save again to confirm it", "Revealed at", "What filling it costs"):
        assert text not in page


@pytest.mark.parametrize("name", ["admin", "phase", "settings", "board", "task"])
def test_every_field_of_a_form_has_a_name(site: Scenario, name: str) -> None:
    slug = site.competition.slug
    urls = {
        "admin": reverse("admin:catalog_phase_change", args=[site.phase.pk]),
        "phase": reverse("organize:phase", args=[slug, site.phase.pk]),
        "settings": reverse("organize:settings", args=[slug]),
        "board": reverse("organize:board", args=[slug, site.phase.leaderboard.pk]),
        "task": reverse("organize:task", args=[slug, site.phase.tasks.get().pk]),
    }
    page = page_html(user_client(site.organizer), urls[name])
    page = re.sub(r'<label class="check"><input[^>]*>', "", page)  # named by the label around it
    labelled = set(re.findall(r'<label[^>]* for="([^"]+)"', page))
    fields = [tag for tag in UNNAMED.findall(page) if not re.search(r'type="(hidden|submit|button)"|__prefix__', tag)]
    unnamed = [
        tag for tag in fields if "aria-label" not in tag and not set(re.findall(r'\bid="([^"]+)"', tag)) & labelled
    ]
    assert len(fields) > 5
    assert not [tag for tag in unnamed if 'id="id_' in tag]


def test_a_list_can_be_narrowed_to_a_competition_and_its_add_button_keeps_it(
    site: Scenario, second: Competition
) -> None:
    organizer, url = user_client(site.organizer), reverse("admin:catalog_phase_changelist")
    assert "Elsewhere" in page_html(organizer, url)
    narrowed = page_html(organizer, url, competition=second.pk)
    assert "Elsewhere" in narrowed
    assert "test-dev</a>" not in narrowed
    match = re.search(r'href="([^"]+_changelist_filters=[^"]+)" class="addlink"', narrowed)
    assert match is not None
    assert save_form(organizer, unescape(match[1]), name=["Next"]).status_code == 302
    assert Phase.objects.get(slug="next").competition == second


def test_links_of_the_checklist_lead_to_the_competition(site: Scenario, second: Competition) -> None:
    site.phase.leaderboards.all().delete()
    organizer = user_client(site.organizer)
    page = page_html(organizer, reverse("web:overview", args=[site.competition.slug]))
    links = [unescape(link) for link in re.findall(r'href="([^"]+)">Change it', page)]
    assert f"/host/competitions/{site.competition.slug}/boards/" in links
    own = (f"competition={site.competition.pk}", f"/{site.competition.pk}/", f"/{site.competition.slug}/")
    assert all(any(part in link for part in own) for link in links)
    assert all(organizer.get(link).status_code == 200 for link in links)
    second.phases.all().delete()
    page = page_html(organizer, reverse("web:overview", args=["second"]))
    assert 'href="/host/competitions/second/phases/new/"' in page
    host = person()
    CompetitionOrganizer.objects.create(competition=second, user=host)
    page = page_html(user_client(host), reverse("web:overview", args=["second"]))
    assert ("/admin/" in page, 'href="/host/competitions/second/phases/new/">Change it' in page) == (False, True)


def test_lists_of_all_teams_submissions_are_of_one_competition(site: Scenario, second: Competition) -> None:
    scored = site.score(site.submit(), 0.5)
    organizer = user_client(site.organizer)
    page = page_html(organizer, reverse("web:submissions", args=[site.competition.slug]))
    link = reverse("organize:submissions", args=[site.competition.slug])
    assert f'href="{link}">your workspace</a>' in page
    assert f"#{scored.pk}</a>" in page_html(organizer, link)
    assert f"#{scored.pk}</a>" not in page_html(organizer, reverse("organize:submissions", args=["second"]))


def test_the_list_of_submissions_takes_the_same_queries_with_many_rows(
    site: Scenario, django_assert_max_num_queries: Any
) -> None:
    for phase in site.phases.values():
        phase.max_submissions_per_day = None
        phase.save()
    for number in range(12):
        submission = site.submit(phase=site.sealed if number % 3 else site.phase)
        if number < 6:
            site.score(submission, 0.5 + number)
    organizer = user_client(site.organizer)
    with django_assert_max_num_queries(22):
        organizer.get(reverse("organize:submissions", args=[site.competition.slug]))
