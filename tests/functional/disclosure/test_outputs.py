"""Hidden outputs, and the page with details: who may have what a run left."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from competitions.catalog.models import Column, Phase
from competitions.resources.storage import store_bytes
from competitions.runs.leases import reports
from competitions.runs.models import RunLog, RunOutput
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind
from competitions.web.details import SIZE_SCRIPT
from tests.answers import read_result
from tests.permissions import PAGES, PermissionSite, body_text, named_patterns, page_url, user_client
from tests.scenario import Scenario, lease
from tests.soak import mostly_in_soak

SCRIPT = b"<script>document.title = 'ran'</script><p>details</p>"


@pytest.fixture
def submission(site: Scenario) -> Submission:
    """A scored submission with everything that a run can leave."""
    submission = site.score(site.submit(), 0.5)
    run = submission.runs.get()
    for name in ("predictions.zip", "ingestion.log", "detailed_results.html", "scoring.zip"):
        RunOutput.objects.create(run=run, attempt=run.attempt, name=name, file=store_bytes(SCRIPT))
    RunLog.objects.create(run=run, attempt=run.attempt, stream="ingestion", seq=0, text="what the program printed")
    return submission


def status(visitor: Client, submission: Submission, name: str) -> int:
    response = visitor.get(f"/submissions/{submission.pk}/outputs/{name}/")
    body_text(response)
    return response.status_code


@pytest.mark.parametrize(
    ("flag", "name", "text"),
    [
        ("hide_output", "ingestion.log", "what the program printed"),
        ("hide_prediction_output", "predictions.zip", "predictions.zip"),
        ("hide_score_output", "detailed_results.html", "Detailed results"),
    ],
)
def test_what_a_phase_hides_is_for_organizers(
    site: Scenario, submission: Submission, flag: str, name: str, text: str
) -> None:
    member, organizer = user_client(site.member()), user_client(site.organizer)
    assert status(member, submission, name) == 200
    assert text in member.get(f"/submissions/{submission.pk}/").content.decode()
    Phase.objects.filter(pk=submission.phase_id).update(**{flag: True})
    assert status(member, submission, name) == 404
    assert text not in member.get(f"/submissions/{submission.pk}/").content.decode()
    assert status(organizer, submission, name) == 200
    assert text in organizer.get(f"/submissions/{submission.pk}/").content.decode()


def test_details_have_an_origin_of_their_own_and_load_nothing(site: Scenario, submission: Submission) -> None:
    member = user_client(site.member())
    page = member.get(f"/submissions/{submission.pk}/").content.decode()
    assert 'sandbox="allow-scripts"' in page
    assert "allow-same-origin" not in page
    response = member.get(f"/submissions/{submission.pk}/details/{submission.runs.get().pk}/")
    assert response.content == SCRIPT + SIZE_SCRIPT
    policy = response["Content-Security-Policy"]
    assert policy.startswith("sandbox allow-scripts; default-src 'none'")
    assert "frame-ancestors 'self'" in policy
    assert "connect-src" not in policy
    assert response["X-Frame-Options"] == "SAMEORIGIN"


def test_details_of_a_sealed_phase_are_sealed(site: Scenario) -> None:
    submission = site.score(site.submit(phase=site.sealed), 0.5)
    run = submission.runs.get()
    RunOutput.objects.create(run=run, attempt=run.attempt, name="detailed_results.html", file=store_bytes(SCRIPT))
    for user in (site.member(), site.organizer):
        visitor = user_client(user)
        assert visitor.get(f"/submissions/{submission.pk}/details/{run.pk}/").status_code == 404
        assert status(visitor, submission, "detailed_results.html") == 404


def test_programs_and_input_data_are_downloads_where_the_organizers_say_so(site: Scenario) -> None:
    task = site.phase.tasks.get()
    member = user_client(site.member())
    base = f"/competitions/{site.competition.slug}"
    assert "scoring_program-" not in member.get(f"{base}/data/").content.decode()
    site.competition.make_programs_available = site.competition.make_input_data_available = True
    site.competition.save()
    for opens_at, input_data in ((site.phase.opens_at, 200), (timezone.now() + timedelta(hours=1), 404)):
        Phase.objects.filter(pk=site.phase.pk).update(opens_at=opens_at)
        page = member.get(f"{base}/data/").content.decode()
        api = [file["name"] for file in member.get(f"/api/v1{base}/files/").json()]
        for name, expected in (("scoring_program", 200), ("input_data", input_data), ("reference_data", 404)):
            response = member.get(f"{base}/files/{site.phase.slug}/{name}-{task.pk}/")
            body_text(response)
            assert (response.status_code, f"{name}-{task.pk}/" in page) == (expected, expected == 200)
            assert (f"{name}-{task.pk}" in api) == (expected == 200)


def test_the_names_of_hidden_columns_are_for_organizers(site: Scenario) -> None:
    Column.objects.create(
        leaderboard=site.phase.leaderboard, key="secretkey", title="Secret title", is_hidden=True, index=1
    )
    submission = site.submit()
    run = site.claim()
    answer = {
        "outcome": "failed",
        "reason": "scoring_error",
        "code": "column_missing",
        "detail": "No value for 'secretkey'.",
    }
    reports.run_complete(**lease(run), result=read_result(answer, columns=["mae", "secretkey"]), now=site.now)
    member, organizer = user_client(site.member()), user_client(site.organizer)

    def texts(reader: Client) -> str:
        api, codabench = f"/api/v1/submissions/{submission.pk}/", f"/api/submissions/{submission.pk}/"
        competition = f"/api/competitions/{site.competition.pk}/"
        urls = (
            f"{api}receipt/",
            api,
            codabench,
            f"{codabench}get_details/",
            competition,
            f"/submissions/{submission.pk}/",
        )
        return "".join(reader.get(url).content.decode() for url in urls)

    assert "secretkey" not in texts(member)
    assert "Secret title" not in texts(member)
    assert "mae" in texts(member)
    assert "secretkey" in texts(organizer)


@pytest.mark.parametrize("letter", mostly_in_soak("ASMT", always="M"))  # who sees most
def test_no_address_names_a_hidden_column_to_who_is_no_organizer(permissions: PermissionSite, letter: str) -> None:
    site, client = permissions.site, permissions.people[letter]
    Column.objects.create(
        leaderboard=site.phase.leaderboard, key="secretkey", title="Secret title", is_hidden=True, index=1
    )
    for _ in Submission.objects.filter(phase=site.phase):
        run = site.claim()
        body = {"outcome": "finished", "scores": {"mae": 0.5, "secretkey": 0.25}}
        reports.run_complete(**lease(run), result=read_result(body, columns=["mae", "secretkey"]), now=site.now)
    patterns, telling_urls, read = dict(named_patterns()), [], 0
    for name, (method, allowed, _) in PAGES.items():
        # What is refused to this person alone is refused in the same words as without the column.
        if method == "get" and (letter in allowed or not allowed):
            url = page_url(permissions, name, patterns[name])
            response = client.get(url)
            text = body_text(response) + str(response.headers)
            read += response.status_code == 200
            telling_urls += [url] if "secretkey" in text or "Secret title" in text else []
    assert read > 30
    assert telling_urls == []


def test_a_smoke_run_names_no_hidden_column(permissions: PermissionSite) -> None:
    """Nothing of its task is hidden, and it is read by the phase's columns."""
    site = permissions.site
    Column.objects.create(leaderboard=site.phase.leaderboard, key="secretkey", title="S", is_hidden=True, index=1)
    submission = site.submit(kind=Kind.CODE)
    run = next(run for run in iter(site.claim, None) if run.submission_id == submission.pk)
    assert run.is_smoke
    answer = {"outcome": "failed", "reason": "scoring_error", "code": "column_missing", "detail": "No 'secretkey'."}
    reports.run_complete(**lease(run), result=read_result(answer, columns=["mae", "secretkey"]), now=site.now)
    member = user_client(site.member())
    for url in (f"/api/v1/submissions/{submission.pk}/", f"/api/v1/submissions/{submission.pk}/receipt/"):
        assert "secretkey" not in member.get(url).content.decode(), url
