"""Data in the workspace: a new version lists what to score again, and is used once confirmed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Phase, Task
from competitions.resources.models import Resource
from competitions.resources.storage import open_stored
from tests.permissions import user_client
from tests.scenario import Scenario, scenario, zip_bytes

LABELS = zip_bytes({"labels.csv": "id,y\n1,2\n"})


@pytest.fixture
def organizer(site: Scenario) -> Client:
    return user_client(site.organizer)


def file_url(site: Scenario, row: Task | Phase, name: str) -> str:
    owner = "task" if isinstance(row, Task) else "phase"
    return reverse("organize:file", args=[site.competition.slug, owner, row.pk, name])


def upload(client: Client, url: str, content: bytes = LABELS, name: str = "new.zip") -> Any:
    return client.post(
        url, {"file": SimpleUploadedFile(name, content)}, follow=True, headers={"Referer": f"http://testserver{url}"}
    )


def confirm(client: Client, page: Any, url: str) -> Any:
    fields = dict(re.findall(r'name="(upload|confirmed)" value="([^"]+)"', page.content.decode()))
    return client.post(url, fields, follow=True, headers={"Referer": f"http://testserver{url}"})


def only_task(site: Scenario) -> Task:
    return site.phase.tasks.get()


def test_a_new_version_says_what_was_scored_with_the_one_before(site: Scenario, organizer: Client) -> None:
    scored = site.score(site.submit(), 0.5)
    url, before = file_url(site, only_task(site), "reference_data"), only_task(site).reference_data
    page = upload(organizer, url)
    assert "1 submission was scored with the present version" in page.content.decode()
    assert only_task(site).reference_data == before
    done = confirm(organizer, page, url).content.decode()
    after = only_task(site).reference_data
    assert after is not None
    assert (after.replaces, after.file_name, after.owner) == (before, "new.zip", site.organizer)
    with open_stored(after.file) as file:
        assert file.read() == LABELS
    assert f'name="chosen" value="{scored.pk}"' in done
    assert "1 submission ran with earlier versions" in done


def test_what_was_confirmed_is_for_the_version_and_the_scores_of_then(site: Scenario, organizer: Client) -> None:
    url, before = file_url(site, only_task(site), "scoring_program"), only_task(site).scoring_program
    page = upload(organizer, url)
    site.score(site.submit(), 0.5)
    assert "Something changed since you read what the new file does" in confirm(organizer, page, url).content.decode()
    assert only_task(site).scoring_program == before


def test_a_file_that_several_tasks_have_is_replaced_in_this_competition_alone(
    site: Scenario, organizer: Client
) -> None:
    elsewhere, program = scenario(), only_task(site).scoring_program
    Task.objects.filter(competition=site.competition).update(scoring_program=program)
    Task.objects.filter(competition=elsewhere.competition).update(scoring_program=program)
    url = file_url(site, only_task(site), "scoring_program")
    page = upload(organizer, url)
    assert "It takes the place of the same file in Task test-challenge, too." in page.content.decode()
    confirm(organizer, page, url)
    assert only_task(site).scoring_program == site.sealed.tasks.get().scoring_program != program
    assert only_task(elsewhere).scoring_program == program


def test_an_empty_place_gets_its_first_file(site: Scenario, organizer: Client) -> None:
    url = file_url(site, site.phase, "starting_kit")
    confirm(organizer, upload(organizer, url, b"Read me", "README.md"), url)
    kit = Phase.objects.get(pk=site.phase.pk).starting_kit
    assert kit is not None
    assert (kit.kind, kit.file_name) == (Resource.Kind.STARTING_KIT, "README.md")
    listed = organizer.get(reverse("organize:data", args=[site.competition.slug])).content.decode()
    assert ("README.md" in listed, kit.file_id in listed) == (True, True)


@pytest.mark.parametrize(
    ("name", "content", "file_name", "words"),
    [
        ("reference_data", b"no zip", "labels.zip", "is not a zip archive"),
        ("sample_submission", b"x", "sample.pdf", "is not a file of the kind that is needed here"),
    ],
)
def test_what_cannot_stand_there_is_refused(
    site: Scenario, organizer: Client, name: str, content: bytes, file_name: str, words: str
) -> None:
    table = {"table": {"id_column": "id", "columns": [{"name": "y"}]}}
    Phase.objects.filter(pk=site.phase.pk).update(prediction_format=table)
    row = site.phase if name == "sample_submission" else only_task(site)
    assert words in upload(organizer, file_url(site, row, name), content, file_name).content.decode()


def test_neither_files_of_others_nor_uploads_of_others_are_reached(site: Scenario, organizer: Client) -> None:
    elsewhere = scenario()
    assert organizer.get(file_url(site, only_task(elsewhere), "reference_data")).status_code == 404
    strangers = elsewhere.upload(LABELS, "labels.zip", user=elsewhere.organizer)
    url = file_url(site, only_task(site), "reference_data")
    assert organizer.get(f"{url}?upload={strangers.key}").status_code == 404
    assert organizer.post(url, {"upload": str(strangers.key)}).status_code == 404
