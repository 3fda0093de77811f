"""Texts for people: logs as on a terminal, sizes with units, titles, outdated forms, tasks' owners."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from competitions.catalog.form_fields.sizes import size_read, size_written
from competitions.catalog.models import GIB, MIB, Competition, Phase, Task
from competitions.runs.records.logs import append_logs, log_text, readable
from competitions.submissions.states import Kind
from tests.admin_forms import form_errors, save_form
from tests.answers import log_piece, read_result
from tests.permissions import user_client
from tests.scenario import Scenario, person


def test_a_log_is_read_as_on_a_terminal_wherever_its_pieces_end(site: Scenario) -> None:
    site.submit(kind=Kind.CODE)
    run = site.claim()
    written = "\x1b[1;32mINFO\x1b[0m start\r\n\x1b]0;title\x07 0%|   |\r 50%|# |\r100%|##|\r\ndone\x00\n"
    pairs = [written[at : at + 2] for at in range(0, len(written), 2)]
    append_logs(run, [log_piece(stream="ingestion", seq=seq, text=text) for seq, text in enumerate(pairs)])
    assert log_text(run, "ingestion") == "INFO start\n100%|##|\ndone\ufffd\n"


@pytest.mark.parametrize("text", ["\x1b[", "\x1b", "\x1b]0;no end", "\r", "\x07", "a\x1b[31mb\rc\x1b"])
def test_no_control_character_of_a_log_reaches_a_reader(text: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", readable(text))


@pytest.mark.parametrize(
    ("text", "size"),
    [("16 GiB", 16 * GIB), ("1.5gib", 3 * GIB // 2), ("500 MB", 500_000_000), ("4096", 4096), ("1,024 KiB", MIB)],
)
def test_a_size_is_read_with_its_unit_and_written_as_the_same_number(text: str, size: int) -> None:
    assert size_read(text) == size
    assert size_read(size_written(size)) == size


@pytest.mark.parametrize("text", ["", "much", "4 apples", "-1 GiB", "1e3", "GiB", "9999999 TiB", "4 GiB 3"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        size_read(text)


def test_the_budget_of_a_phase_is_written_with_units(site: Scenario) -> None:
    organizer, url = user_client(site.organizer), reverse("admin:catalog_phase_change", args=[site.phase.pk])
    assert save_form(organizer, url, memory_bytes=["2 GiB"]).status_code == 302
    assert Phase.objects.get(pk=site.phase.pk).memory_bytes == 2 * GIB
    assert 'value="2 GiB"' in organizer.get(url).content.decode()
    assert (
        "Write a size such as 16 GiB" in form_errors(save_form(organizer, url, memory_bytes=["two"]))["memory_bytes"][0]
    )


def test_a_phase_offers_the_tasks_it_can_have_new_or_not(site: Scenario) -> None:
    other = Competition.objects.create(slug="other", title="Another benchmark", queue=site.queue)
    task = Task.objects.filter(phases=site.phase).get()
    for name, is_public in (("Hidden labels of another", False), ("Shared by another", True)):
        Task.objects.create(competition=other, name=name, scoring_program=task.scoring_program, is_public=is_public)
    root = user_client(person(is_staff=True, is_superuser=True))
    new = f"{reverse('admin:catalog_phase_add')}?competition={site.competition.pk}"
    for url in (new, reverse("admin:catalog_phase_change", args=[site.phase.pk])):
        page = root.get(url).content.decode()
        assert "Hidden labels of another" not in page
        assert "Shared by another (Another benchmark)" in page
        assert f">{task.name}</option>" in page


def test_a_form_that_is_out_of_date_says_so_and_changes_nothing(site: Scenario) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(site.member())
    name = site.team.name
    answer = strict.post(reverse("web:team-rename", args=[site.competition.slug]), {"name": "Another name"})
    assert answer.status_code == 403
    assert "This page is out of date" in answer.content.decode()
    site.team.refresh_from_db()
    assert site.team.name == name


def test_each_tab_of_a_competition_has_a_title_of_its_own(site: Scenario) -> None:
    member, titles = user_client(site.member()), set()
    for name in ("overview", "data", "rules", "leaderboard", "history", "team", "submissions"):
        page = member.get(reverse(f"web:{name}", args=[site.competition.slug])).content.decode()
        match = re.search("<title>(.*)</title>", page)
        assert match is not None
        assert site.competition.title in match[1]
        titles.add(match[1])
    assert len(titles) == 7


def test_a_refusal_without_script_leads_back_to_the_phase_it_was_about(site: Scenario) -> None:
    url = reverse("web:submit", args=[site.competition.slug])
    answer = user_client(site.member()).post(url, {"phase": site.sealed.slug, "kind": "prediction"})
    assert answer.headers["Location"].endswith(f"?phase={site.sealed.slug}")


@pytest.mark.parametrize(("length", "expected"), [(1000, "x" * 1000), (2000, "x" * 999 + "…")])
def test_an_error_of_two_thousand_letters_says_that_it_is_cut(length: int, expected: str) -> None:
    body = {"outcome": "failed", "reason": "program_error", "detail": "x" * length}
    assert read_result(body, columns=[]).detail == expected


def test_of_several_tasks_each_says_how_it_is(site: Scenario) -> None:
    task = Task.objects.filter(phases=site.phase).get()
    second = Task.objects.create(competition=site.competition, name="second", scoring_program=task.scoring_program)
    site.phase.tasks.add(second)
    submission = site.submit(kind=Kind.CODE, at=site.now - timedelta(minutes=1))
    page = user_client(site.member()).get(reverse("web:submission", args=[submission.pk])).content.decode()
    assert page.count('class="badge" data-status="queued"') == 3, "its own and one for each task"
