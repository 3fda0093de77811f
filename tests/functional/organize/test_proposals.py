"""Proposals in the workspace, and the page that everybody reads once one is applied."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import CompetitionOrganizer, Proposal, Task
from competitions.leaderboards.rescoring import jobs, services
from competitions.leaderboards.rescoring.services import PROPOSAL_JOB
from competitions.notifications.models import Notification
from competitions.runs.leases import reports
from competitions.runs.models import Rescoring
from competitions.submissions.models import Dataset, Submission
from tests.answers import read_result
from tests.background import run_background
from tests.permissions import user_client
from tests.scenario import Scenario, lease, zip_bytes

PROGRAM = zip_bytes({"metadata.yaml": "command: python3 score.py", "score.py": "print('new')"})


class Organizer:
    """An organizer at the pages of one proposal."""

    def __init__(self, site: Scenario) -> None:
        self.site, self.client = site, user_client(site.organizer)

    def url(self, name: str = "proposal", *more: Any) -> str:
        number = [] if name == "proposals" else [1]
        return reverse(f"organize:{name}", args=[self.site.competition.slug, *number, *more])

    def page(self) -> str:
        return self.client.get(self.url()).text

    def act(self, action: str, **values: Any) -> Any:
        run_before = self.client.post(self.url(), {"action": action, **values}, follow=True)
        run_background(at=self.site.now, only=PROPOSAL_JOB)
        return run_before

    @property
    def proposal(self) -> Proposal:
        return Proposal.objects.get(competition=self.site.competition)

    @property
    def confirmation(self) -> str:
        return services.comparison_digest(self.proposal)


@pytest.fixture
def organizer(site: Scenario) -> Organizer:
    """With two scored submissions, and a proposal that was begun."""
    for name, value in (("first", 0.1), ("second", 0.2)):
        site.score(site.submit(team=site.join(name)), value)
    organizer = Organizer(site)
    begun = organizer.client.post(organizer.url("proposals"), {"title": "Right labels", "reason": "Two were swapped."})
    assert begun.status_code == 302
    return organizer


def test_a_proposal_from_its_file_to_what_everybody_reads(organizer: Organizer) -> None:
    site = organizer.site
    task = site.phase.tasks.get()
    joined = Task.objects.create(competition=site.competition, name="Mine", scoring_program=task.scoring_program)
    first = Submission.objects.order_by("pk")[0]
    Dataset.objects.create(submission=first, task=joined, name="Ours", joined_at=site.now)
    assert "still scores" not in organizer.page()
    sent = SimpleUploadedFile("scoring.zip", PROGRAM)
    url = organizer.url("proposal-file", task.pk, "scoring_program")
    assert organizer.client.post(url, {"file": sent}).headers["Location"] == organizer.url()
    page = organizer.page()
    assert "Proposed: scoring.zip" in page
    assert "2 submissions in 2 runs" in page
    assert "still scores 1 dataset" in page
    organizer.act(
        "settings", title="Right labels", reason="Two were swapped.", queue=site.queue.pk, column_sorting="asc"
    )
    organizer.act("start")
    assert "0 of 2 submissions scored" in organizer.page()
    listed = organizer.client.get(reverse("organize:submissions", args=[site.competition.slug])).text
    assert "for proposal 1" not in listed
    organizer.act("comment", text="Look at the second.")
    values = dict(
        zip(Rescoring.objects.order_by("submission_id").values_list("copy", flat=True), (0.5, 0.4), strict=True)
    )
    for _ in values:
        run = site.claim()
        body = {"outcome": "finished", "scores": {"mae": values[run.submission_id]}}
        reports.run_complete(**lease(run), result=read_result(body, columns=["mae"]), now=site.now)
    jobs.proposals_carry_on(now=site.now)
    run_background(at=site.now, only=PROPOSAL_JOB)
    page = organizer.page()
    assert "2 of 2 teams would change their rank: 1 rise, 1 fall." in page
    assert "First would be second; it is first." in page
    assert "Look at the second." in page
    public = reverse("web:change", args=[site.competition.slug, 1])
    assert Client().get(public).status_code == 404
    assert organizer.act("apply", confirmed="of another day").status_code == 409
    organizer.act("apply", confirmed=organizer.confirmation)
    read = Client().get(public).text
    assert "Two were swapped." in read
    assert "First is second; it was first." in read
    assert "Look at the second." not in read
    assert "still scores 1 dataset" in read
    joined.refresh_from_db()
    assert joined.scoring_program_id != site.phase.tasks.get().scoring_program_id
    assert "keep their scores" in Notification.objects.filter(event__startswith="proposal-")[0].text
    assert public in Client().get(reverse("web:changes", args=[site.competition.slug])).text
    assert (
        reverse("web:changes", args=[site.competition.slug])
        in Client().get(reverse("web:overview", args=[site.competition.slug])).text
    )


def test_what_is_wrong_is_said(organizer: Organizer) -> None:
    assert "changes nothing yet" in organizer.act("start").text
    board = organizer.site.phase.leaderboard.pk
    texts = {"title": "T", "reason": "R", "board": board, "column_sorting": "asc"}
    answer = organizer.act("settings", **texts)
    assert (answer.status_code, "Name the score that the column shows" in answer.text) == (422, True)
    other = reverse("organize:proposal", args=[organizer.site.competition.slug, 2])
    assert organizer.client.get(other).status_code == 404
    organizer.act("drop")
    assert (
        "is dropped, so this cannot be changed any more"
        in organizer.act("settings", **texts | {"column_key": "a"}).text
    )


def test_of_a_sealed_board_nothing_is_said_without_the_right(organizer: Organizer) -> None:
    site = organizer.site
    sealed = site.score(site.submit(phase=site.sealed), 0.3)
    for name, value in {"board": site.sealed.leaderboard, "column_key": "mae", "column_sorting": "desc"}.items():
        Proposal.objects.update(**{name: value})
    organizer.act("start")
    assert "so changes on it are not shown before the reveal" in organizer.page()
    assert sealed.team.name not in organizer.page()
    CompetitionOrganizer.objects.update(can_see_sealed=True)
    assert sealed.team.name in organizer.page()
