"""The program `podium` against a site: every verb, the exit statuses, and what it keeps."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models import Scope, User
from competitions.catalog.models import Phase
from competitions.notifications.models import Kind as Told
from competitions.notifications.services import notify_person
from competitions.resources.models import Resource
from competitions.submissions.models import Submission
from competitions.submissions.states import State
from competitions.teams.models import Team
from podium.cli import main
from podium.profiles import profiles
from tests.client.conftest import make_token
from tests.scenario import Scenario, resource, zip_bytes


@pytest.fixture
def signed_in(site: Scenario, url: str, newcomer: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO(make_token(newcomer) + "\n"))
    assert main(["login", url, "--name", "here", "--token-stdin"]) == 0


def checked(number: int) -> Submission:
    """The submission once its file has been looked at, which goes on beside."""
    until = time.monotonic() + 30
    while (submission := Submission.objects.get(pk=number)).status == State.CHECKING:
        assert time.monotonic() < until, "its file is not checked"
        time.sleep(0.05)
    return submission


def test_from_signing_in_to_the_leaderboard(
    site: Scenario, signed_in: None, no_profiles: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slug = site.competition.slug
    assert stat.S_IMODE(no_profiles.stat().st_mode) == 0o600
    assert main(["list"]) == 0
    assert slug in capsys.readouterr().out
    assert main(["show", slug]) == 0
    assert "test-dev" in capsys.readouterr().out
    assert main(["join", slug]) == 2, "nobody can be asked here"
    assert "--accept-rules" in capsys.readouterr().err
    assert main(["join", slug, "--accept-rules", "--team", "Late Models"]) == 0
    assert main(["download", slug, "--to", str(tmp_path / "data")]) == 0
    assert Path(capsys.readouterr().out.strip()).is_file()
    path = tmp_path / "answer.zip"
    path.write_bytes(zip_bytes({"answer.txt": "1"}))
    assert main(["submit", slug, str(path), "-m", "first"]) == 0
    number = int(capsys.readouterr().out.splitlines()[0])
    sent = checked(number)
    site.now = timezone.now()
    site.score(sent, 0.25)
    assert main(["status", str(number), "--wait"]) == 0
    assert "mae\t0.25" in capsys.readouterr().out
    assert main(["submissions", slug, "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["id"], listed["description"]) == (number, "first")
    assert main(["leaderboard", slug]) == 0
    assert "1\tLate Models\t0.25" in capsys.readouterr().out
    assert main(["leaderboard", slug, "--csv"]) == 0
    assert "Late Models" in capsys.readouterr().out
    assert main(["logs", str(number)]) == 0
    assert main(["team", "show", slug]) == 0


def test_waiting_ends_with_the_scores_or_with_the_verdict(
    site: Scenario, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "answer.zip"
    path.write_bytes(zip_bytes({"answer.txt": "1"}))
    environment = os.environ | {"PODIUM_SITE": url, "PODIUM_TOKEN": make_token(site.member()), "PYTHONPATH": "client"}
    program = "import sys; from podium.cli import main; sys.exit(main(sys.argv[1:]))"
    argv = [sys.executable, "-c", program, "submit", site.competition.slug, str(path), "--wait"]
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        assert first.strip().isdigit(), process.stderr.read()
        sent = checked(int(first))
        site.now = timezone.now()
        failed = {
            "outcome": "failed",
            "reason": "time_limit",
            "code": "time_limit",
            "detail": "It ran for 9 s; the limit is 8 s.",
        }
        site.answer(sent, failed)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "It ran for 9 s" in out
    assert "Make it faster" in out


@pytest.mark.parametrize(
    ("verb", "status", "words"),
    [
        (["show", "nowhere"], 2, ""),
        (["submit", "SLUG", "no-such-file.npz"], 2, "There is no file"),
        (["status", "999999"], 2, ""),
        (["submissions", "SLUG", "--status", "bogus"], 2, "bogus"),
        (["--profile-of-nobody"], 2, "No such option"),
        (["list", "--profile", "nobody"], 2, "there are: here"),
    ],
)
def test_wrong_use_and_input_end_with_2(
    site: Scenario, signed_in: None, capsys: pytest.CaptureFixture[str], verb: list[str], status: int, words: str
) -> None:
    assert main([site.competition.slug if word == "SLUG" else word for word in verb]) == status
    assert words in capsys.readouterr().err


def test_a_refusal_ends_with_1_and_the_site_s_own_sentence(
    site: Scenario, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PODIUM_SITE", url)
    monkeypatch.setenv("PODIUM_TOKEN", make_token(site.member()))
    Phase.objects.filter(pk=site.phase.pk).update(max_submissions_per_day=1)
    path = tmp_path / "answer.zip"
    path.write_bytes(zip_bytes({"answer.txt": "1"}))
    assert main(["submit", site.competition.slug, str(path)]) == 0
    assert main(["submit", site.competition.slug, str(path)]) == 1
    assert "[quota_used]" in capsys.readouterr().err


def test_who_is_not_signed_in_or_lacks_the_right_ends_with_3(
    site: Scenario, url: str, newcomer: User, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list"]) == 3
    assert "podium login" in capsys.readouterr().err
    monkeypatch.setenv("PODIUM_SITE", url)
    monkeypatch.setenv("PODIUM_TOKEN", make_token(newcomer, Scope.READ))
    assert main(["team", "create", site.competition.slug, "X"]) == 3
    assert not Team.objects.filter(name="X").exists()
    monkeypatch.setenv("PODIUM_TOKEN", "podium_wrong")
    assert main(["team", "show", site.competition.slug]) == 3


def test_a_token_that_the_site_does_not_know_is_not_kept(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO("podium_wrong\n"))
    assert main(["login", url, "--token-stdin"]) == 3
    assert profiles() == []


def test_whoami_says_whose_token_counted_and_where_it_is_from(
    site: Scenario,
    signed_in: None,
    newcomer: User,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["whoami"]) == 0
    shown = capsys.readouterr().out
    assert f"account\t{newcomer.username}" in shown
    assert "token from\tthe profile here" in shown
    monkeypatch.setenv("PODIUM_TOKEN", make_token(site.member(), Scope.SUBMIT))
    assert main(["whoami", "--profile", "here", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["username"], answer["origin"]) == (site.member().username, "PODIUM_TOKEN")
    assert (answer["site"], answer["token"]["scopes"]) == (url, ["submit"])


def test_without_a_terminal_the_page_for_tokens_is_named_and_is_there(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO(""))
    assert main(["login", url]) == 2
    assert f"{url}{reverse('accounts:profile')}" in capsys.readouterr().err


def test_sites_are_forgotten(signed_in: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sites"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("here\t")
    assert main(["logout", "here"]) == 0
    assert main(["logout", "here"]) == 2


def test_a_table_is_checked_against_the_phases_columns_and_sample(
    site: Scenario, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = resource(site.organizer, Resource.Kind.SAMPLE_SUBMISSION, b"id,price\n1,0\n2,0\n")
    Resource.objects.filter(pk=sample.pk).update(file_name="sample.csv")
    table = {"id_column": "id", "columns": [{"name": "price", "minimum": 0}]}
    Phase.objects.filter(pk=site.phase.pk).update(prediction_format={"table": table}, sample_submission=sample)
    monkeypatch.setenv("PODIUM_SITE", url)
    monkeypatch.setenv("PODIUM_TOKEN", make_token(site.member()))
    path = tmp_path / "mine.csv"
    for text, status, message in (
        ("id,price\n2,1\n1,3\n", 0, "mine.csv is valid: 2 rows of id, price"),
        ("id,price\n2,1\n1,-3\n", 2, "out_of_range: 'price': it is -3.0 in line 3 (id 1); the smallest allowed is 0."),
        ("id,price\n2,1\n", 2, "missing_ids: 'id': 1 id is missing: 1"),
    ):
        path.write_text(text)
        assert main(["check", site.competition.slug, str(path)]) == status
        assert message in "".join(capsys.readouterr())


def test_what_one_was_told_is_listed_and_marked_as_read(
    site: Scenario, signed_in: None, newcomer: User, capsys: pytest.CaptureFixture[str]
) -> None:
    news = {"subject": "News of today", "text": "Read.", "path": "/"}
    notify_person(user=newcomer, competition=site.competition, kind=Told.ANNOUNCEMENT, **news)
    capsys.readouterr()
    assert main(["notifications", "--unread", "--mark-read"]) == 0
    assert "News of today" in capsys.readouterr().out
    assert main(["notifications", "--json"]) == 0
    assert [
        (notification["subject"], notification["is_read"]) for notification in json.loads(capsys.readouterr().out)
    ] == [("News of today", True)]
    assert main(["notifications", "--unread"]) == 0
    assert "News of today" not in capsys.readouterr().out
