"""A new solution of a running table competition: compared, then proposed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Phase, Proposal, ProposedFile, Task
from competitions.organize.models import NewSolution
from competitions.organize.refusals import FILE_CHANGED_ELSEWHERE
from competitions.organize.solutions import SOLUTION, solution_upload, solution_use
from competitions.resources.models import Resource
from competitions.resources.storage import open_stored, store_bytes
from competitions.submissions.models import Submission
from scoring.tables.schema import Column, TableSchema
from scoring.tables.table_reference import ChosenMetric, TableReference
from tests.background import run_background
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import Scenario, resource, zip_bytes

SCHEMA = TableSchema("id", (Column("price"),))
RULE = TableReference("id", ("price",), (ChosenMetric("mae"),), SCHEMA)
OLD = "id,price\n1,10\n2,20\n3,30\n"
NEW = "id,price\n1,10\n2,25\n3,30\n"


def reference_data(site: Scenario, solution: str) -> Resource:
    packed = zip_bytes({"metric.json": json.dumps(RULE.as_json()), "solution.csv": solution})
    return resource(site.organizer, Resource.Kind.REFERENCE_DATA, packed)


@dataclass
class Correction:
    """The organizer of a running table competition."""

    site: Scenario
    task: Task

    @cached_property
    def client(self) -> Client:
        return user_client(self.site.organizer)

    @property
    def url(self) -> str:
        return reverse("organize:new-solution", args=[self.site.competition.slug, self.task.pk])

    def page(self) -> str:
        return self.client.get(self.url).content.decode()

    def send(self, text: str, name: str = "solution.csv") -> str:
        """Upload a solution and have it compared; returns what the page said at once and says then."""
        sent = SimpleUploadedFile(name, text.encode())
        headers = {"Referer": f"http://testserver{self.url}"}
        answer = self.client.post(self.url, {"file": sent}, follow=True, headers=headers).content.decode()
        run_background(at=self.site.now, only=SOLUTION.name)
        return answer + self.page()

    def confirm(self, page: str) -> Any:
        confirmed = re.findall(r'name="confirmed" value="([^"]+)"', page)
        return self.client.post(self.url, {"confirmed": confirmed[-1] if confirmed else ""}, follow=True)

    @property
    def solution(self) -> NewSolution:
        return NewSolution.objects.get(task=self.task)


@pytest.fixture
def correction(site: Scenario) -> Correction:
    task = site.phase.tasks.get()
    task.reference_data = reference_data(site, OLD)
    task.save()
    Phase.objects.filter(pk=site.phase.pk).update(prediction_format={"table": SCHEMA.as_json()})
    for phase in site.phases.values():
        phase.refresh_from_db()
    return Correction(site, task)


def predictions(site: Scenario, *prices: float) -> Submission:
    """A submission of a team of its own."""
    team = site.join()
    content = "id,price\n" + "".join(f"{row},{price}\n" for row, price in enumerate(prices, start=1))
    return site.submit(team=team, content=content.encode(), name="p.csv")


def test_what_differs_is_said_before_anything_changes(correction: Correction) -> None:
    site, before = correction.site, correction.task.reference_data
    site.score(predictions(site, 10, 20, 30), 0.0)
    page = correction.send(NEW)
    assert "It is compared with the solution in force" in page
    assert "1 row differs of 3 (price in 1): the ids 2." in page
    assert "It begins a proposal" in page
    correction.task.refresh_from_db()
    assert correction.task.reference_data == before


def test_it_begins_a_proposal_which_scores_with_it(correction: Correction) -> None:
    site = correction.site
    site.score(predictions(site, 10, 20, 30), 0.0)
    done = correction.confirm(correction.send(NEW)).content.decode()
    assert f"Corrected solution of {correction.task.name}" in done
    proposed = ProposedFile.objects.get(proposal__competition=site.competition)
    assert (proposed.task, proposed.slot) == (correction.task, "reference_data")
    with open_stored(proposed.resource.file) as file:
        assert b"solution.parquet" in file.read()
    correction.task.refresh_from_db()
    assert correction.task.reference_data == proposed.replaces, "nothing changes before the proposal is applied"
    assert not NewSolution.objects.exists()


def test_where_nothing_was_scored_it_is_in_force_at_once(correction: Correction) -> None:
    before = correction.task.reference_data
    assert "The new solution is in force." in correction.confirm(correction.send(NEW)).content.decode()
    correction.task.refresh_from_db()
    assert correction.task.reference_data is not None
    assert correction.task.reference_data.replaces == before
    assert not Proposal.objects.exists()


def test_the_page_asks_until_the_comparison_is_over_and_then_loads_itself_again(correction: Correction) -> None:
    site, status = correction.site, f"{correction.url}status/"
    upload = site.upload(NEW.encode(), "s.csv", user=site.organizer)
    solution_upload(task=correction.task, upload=upload, by=site.organizer, now=site.now)
    waiting = correction.client.get(status)
    assert (f'hx-get="{status}"' in waiting.content.decode(), "HX-Refresh" in waiting.headers) == (True, False)
    run_background(at=site.now, only=SOLUTION.name)
    ready = correction.client.get(status)
    assert ("hx-get" in ready.content.decode(), ready.headers["HX-Refresh"]) == (False, "true")


def test_what_was_confirmed_is_for_the_data_and_the_scores_of_then(correction: Correction) -> None:
    site, page = correction.site, correction.send(NEW)
    site.score(predictions(site, 10, 20, 30), 0.0)
    assert "Something changed since you read what the new file does" in correction.confirm(page).content.decode()
    page = correction.page()
    assert correction.task.reference_data is not None
    Resource.objects.filter(pk=correction.task.reference_data.pk).update(file=store_bytes(b"another version"))
    assert "Something changed since you read what the new file does" in correction.confirm(page).content.decode()
    assert correction.solution.state == "ready"


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        (OLD, "solution.csv", "it says the same as the present one in every row"),
        ("id,price\n1,10\n9,20\n", "solution.csv", "the present solution does not have the id 9"),
        (NEW, "solution.xlsx", "it is a spreadsheet; in Excel, choose Save As"),
        (NEW, "solution.docx", "is not a file of the kind that is needed here"),
    ],
)
def test_a_file_that_cannot_take_its_place_is_refused(correction: Correction, text: str, name: str, words: str) -> None:
    assert words in correction.send(text, name)
    correction.confirm(correction.page())
    assert not Resource.objects.filter(replaces=correction.task.reference_data).exists()


def test_another_file_takes_the_place_of_one_that_nobody_confirmed(correction: Correction) -> None:
    site = correction.site
    correction.send(NEW)
    assert "2 rows differ of 3" in correction.send("id,price\n1,1\n2,2\n3,30\n")
    correction.client.post(correction.url, {"leave": "yes"})
    assert not NewSolution.objects.exists()
    correction.send(NEW)
    with refuses(FILE_CHANGED_ELSEWHERE):
        solution_use(competition=site.competition, task=correction.task, by=site.organizer, confirmed="", now=site.now)


def test_the_data_page_leads_there_only_where_tables_are_scored(correction: Correction) -> None:
    data = reverse("organize:data", args=[correction.site.competition.slug])
    assert correction.url in correction.client.get(data).content.decode()
    Phase.objects.update(prediction_format=None)
    assert correction.url not in correction.client.get(data).content.decode()
    assert correction.client.get(correction.url).status_code == 404


def test_a_comparison_that_breaks_off_again_and_again_is_given_up(correction: Correction) -> None:
    site = correction.site
    upload = site.upload(NEW.encode(), "s.csv", user=site.organizer)
    solution = solution_upload(task=correction.task, upload=upload, by=site.organizer, now=site.now)
    NewSolution.objects.filter(pk=solution.pk).update(attempts=3)
    run_background(at=site.now, only=SOLUTION.name)
    assert "because of an error on our side" in correction.page()
