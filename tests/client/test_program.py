"""The program `podium` against a site: every verb, the exit statuses, and what it keeps."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from django.urls import reverse
from django.utils import timezone

from accounts.models import Scope, User
from accounts.views import TokenForm
from competitions.catalog.models import Phase
from competitions.factsheets.models import Question
from competitions.notifications.models import Kind as Told
from competitions.notifications.services import notify_person
from competitions.resources.models import Resource, Upload
from competitions.submissions.models import Submission
from competitions.submissions.states import State
from competitions.teams.models import Team
from competitions.teams.services import register
from podium import cli
from podium import models as answers
from podium.cli import app, main
from podium.commands import running, submissions
from podium.commands.code import _show_run
from podium.errors import Refused
from podium.output import say
from podium.profiles import profiles
from podium.rehearsal import Verdict
from tests.client.conftest import killed_at_the_end, make_token
from tests.scenario import FILE_NAME, FORMAT, Scenario, person, prediction_bytes, resource, zip_bytes


@pytest.fixture
def signed_in(site: Scenario, url: str, newcomer: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO(make_token(newcomer) + "\n"))
    assert main(["login", url, "--name", "here", "--token-stdin"]) == 0


def checked(number: int) -> Submission:
    """The submission once its file has been looked at, which goes on beside."""
    until = time.monotonic() + 120
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
    assert main(["leaderboard", slug, "--csv", "--json"]) == 2
    assert "Give one of them" in json.loads(capsys.readouterr().out)["error"]["message"]
    assert main(["logs", str(number)]) == 0
    assert main(["team", "show", slug]) == 0


def test_waiting_ends_with_the_scores_or_with_the_verdict(
    site: Scenario, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "answer.zip"
    path.write_bytes(zip_bytes({"answer.txt": "1"}))
    environment = os.environ | {"PODIUM_SITE": url, "PODIUM_TOKEN": make_token(site.member()), "PYTHONPATH": "client"}
    calling = "import sys; from podium.cli import main; sys.exit(main(sys.argv[1:]))"
    argv = [sys.executable, "-c", calling, "submit", site.competition.slug, str(path), "--wait"]
    program = subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with killed_at_the_end(program) as process:
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


WRONG = [
    (["show", "nowhere"], ""),
    (["submit", "SLUG", "no-such-file.npz"], "There is no file"),
    (["status", "999999"], ""),
    (["submissions", "SLUG", "--status", "bogus"], "bogus"),
    (["--profile-of-nobody"], "No such option"),
    (["list", "--profile", "nobody"], "there are: here"),
]


def test_wrong_use_and_input_end_with_2(site: Scenario, signed_in: None, capsys: pytest.CaptureFixture[str]) -> None:
    for verb, words in WRONG:
        capsys.readouterr()
        assert main([site.competition.slug if word == "SLUG" else word for word in verb]) == 2, verb
        assert words in capsys.readouterr().err, verb


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
    news: dict[str, Any] = {"subject": "News of today", "text": "Read.", "path": "/"}
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


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"podium {version('podium-client')}\n"


def test_a_token_as_the_site_offers_it_can_join_and_submit(
    site: Scenario, url: str, newcomer: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PODIUM_SITE", url)
    monkeypatch.setenv("PODIUM_TOKEN", make_token(newcomer, *TokenForm.base_fields["scopes"].initial))
    assert main(["join", site.competition.slug, "--accept-rules", "--team", "Offered"]) == 0
    path = tmp_path / "answer.zip"
    path.write_bytes(zip_bytes({"answer.txt": "1"}))
    assert main(["submit", site.competition.slug, str(path)]) == 0
    assert Submission.objects.get().team.name == "Offered"


def every_verb(group: Any, *words: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from every_verb(command, *words, name)
        else:
            yield " ".join([*words, name]), command


def test_every_verb_takes_json(capsys: pytest.CaptureFixture[str]) -> None:
    verbs = dict(every_verb(typer.main.get_command(app)))
    lacking = {verb for verb, command in verbs.items() if not any("--json" in option.opts for option in command.params)}
    assert "join" in verbs
    assert lacking == {"score", "bundle", "verify"}, "these hand on what follows them"
    for verb in ("score describe", "bundle check", "bundle new", "bundle import", "verify"):
        with contextlib.suppress(SystemExit):
            main([*verb.split(), "--help"])
        assert "--json" in capsys.readouterr().out, verb


ERRORS = [
    ("show nowhere", 2, "not_found"),
    ("show", 2, "wrong_use"),
    ("submit SLUG nowhere.zip", 2, "no_file"),
    ("leave", 2, "wrong_use"),
    ("team leave SLUG", 2, "wrong_use"),
    ("score", 2, "wrong_use"),
    ("score check table", 2, "wrong_use"),
    ("bundle", 2, "wrong_use"),
    ("bundle check", 2, "wrong_use"),
    ("bundle import a.zip --sit http://localhost", 2, "wrong_use"),
    ("verify", 2, "wrong_use"),
    ("image describe a b", 2, "wrong_use"),
    ("status 1 --wait", 2, "not_found"),
    ("download SLUG --to /dev/null/folder", 1, "file_error"),
    ("score describe nowhere", 2, "unknown_name"),
    ("bundle new . --template table", 1, "refused"),
    ("image describe ghcr.io/lab/model:1", 1, "unknown_image"),
    ("verify nowhere.json", 2, "no_manifest"),
]


def test_with_json_an_error_is_json_too(site: Scenario, signed_in: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["join", site.competition.slug, "--accept-rules"]) == 0
    for verb, status, code in ERRORS:
        capsys.readouterr()
        assert main([*verb.replace("SLUG", site.competition.slug).split(), "--json"]) == status, verb
        shown = capsys.readouterr()
        error = json.loads(shown.out)["error"]
        assert (error["code"], error["exit_status"], shown.err) == (code, status, ""), verb
        assert len(error["message"]) > 10, verb


def test_a_token_that_cannot_be_sent_is_refused_and_not_repeated(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PODIUM_SITE", url)
    token_file = tmp_path / "token"
    assert main(["bundle", "new", str(tmp_path / "new")]) == 0
    send = ["bundle", "import", str(tmp_path / "new"), "--site", url, "--token-file", str(token_file)]
    for token in ("one\ntwo", "one two", "schlüssel€", "\ufffd"):
        monkeypatch.setenv("PODIUM_TOKEN", token)
        token_file.write_bytes(b"\xff" if token == "\ufffd" else token.encode())
        for verb in (["list"], send):
            capsys.readouterr()
            assert main([*verb, "--json"]) == 2, token
            shown = capsys.readouterr()
            assert json.loads(shown.out)["error"]["code"] == "wrong_token", token
            assert token not in shown.out + shown.err


def test_verbs_that_do_something_answer_in_json(
    site: Scenario, url: str, newcomer: User, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slug = site.competition.slug

    def ask(*verb: str) -> Any:
        assert main([*verb, "--json"]) == 0, capsys.readouterr()
        return json.loads(capsys.readouterr().out)

    monkeypatch.setattr(sys, "stdin", StringIO(make_token(newcomer) + "\n"))
    assert ask("login", url, "--name", "here", "--token-stdin")["username"] == newcomer.username
    assert ask("sites") == [{"name": "here", "site": url}]
    joined = ask("join", slug, "--accept-rules", "--team", "Late Models")
    assert (joined["registration"]["state"], joined["team"]["name"]) == ("approved", "Late Models")
    other = person()
    register(user=other, competition=site.competition, rules_version=1, now=timezone.now())
    invitation = ask("team", "invite", slug, other.username)
    assert invitation["state"] == "open"
    assert ask("team", "leave", slug, "--yes") == {"competition": slug}
    assert ask("team", "create", slug, "Again")["name"] == "Again"
    assert ask("logout", "here") == {"name": "here"}


def press_ctrl_c_until_it_ends(process: subprocess.Popen[bytes]) -> None:
    """End the program as a person would.

    A signal that arrives after Python's last look for one, before it reads the terminal, is seen with the next signal only.
    """
    for _ in range(6):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
            return
    raise AssertionError("the program goes on after six times Ctrl-C")


def test_ctrl_c_at_a_question_ends_without_a_traceback(site: Scenario, url: str) -> None:
    environment = os.environ | {"PODIUM_SITE": url, "PODIUM_TOKEN": make_token(site.member()), "PYTHONPATH": "client"}
    program = "import sys; from podium_program import main; sys.exit(main())"
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-c", program, "team", "leave", site.competition.slug]
    with killed_at_the_end(subprocess.Popen(argv, env=environment, stdin=theirs, stderr=subprocess.PIPE)) as process:
        assert process.stderr is not None
        shown = b""
        while not shown.endswith(b"[y/N]:"):
            byte = process.stderr.read(1)
            assert byte, shown
            shown += byte
        press_ctrl_c_until_it_ends(process)
        shown += process.stderr.read()
    os.close(ours)
    os.close(theirs)
    assert (process.returncode, b"Traceback" in shown) == (130, False)
    assert Team.objects.filter(pk=site.team.pk).exists()


def test_the_phase_follows_from_the_files_official_name(
    site: Scenario, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    second = Phase.objects.get(pk=site.phase.pk)
    second.pk, second.slug, second.name, second.index = None, "later", "later", 5
    second.prediction_format = FORMAT | {"split": "test-challenge"}
    second.save()
    second.tasks.set(site.phase.tasks.all())
    Phase.objects.filter(pk=site.phase.pk).update(prediction_format=FORMAT)
    monkeypatch.setenv("PODIUM_SITE", url)
    monkeypatch.setenv("PODIUM_TOKEN", make_token(site.member()))
    path = tmp_path / FILE_NAME.replace("test-dev", "test-challenge")
    path.write_bytes(prediction_bytes())
    assert main(["submit", site.competition.slug, str(path)]) == 0
    assert Submission.objects.get().phase == second
    assert "Sent to the phase later, as prediction." in capsys.readouterr().err
    assert main(["check", site.competition.slug, str(path)]) == 0
    unnamed = path.rename(tmp_path / "mine.npz")
    assert main(["submit", site.competition.slug, str(unnamed)]) == 2
    assert "has 2 open phases; name one of: test-dev, later" in capsys.readouterr().err


def test_the_fact_sheet_is_answered_and_what_is_missing_is_said_before_anything_is_sent(
    site: Scenario, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for key, kind in (("code_url", Question.Kind.URL), ("parameters", Question.Kind.NUMBER)):
        Question.objects.create(competition=site.competition, key=key, title=f"Your {key}", kind=kind, is_required=True)
    monkeypatch.setenv("PODIUM_SITE", url)
    monkeypatch.setenv("PODIUM_TOKEN", make_token(site.member()))
    path, sheet = tmp_path / "answer.zip", tmp_path / "sheet.yaml"
    path.write_bytes(zip_bytes({"answer.txt": "1"}))
    sheet.write_text("parameters: 12\ncode_url:\n")
    submit = ["submit", site.competition.slug, str(path), "--fact-sheet", str(sheet)]
    assert main(submit) == 2
    assert "these are missing: code_url: Your code_url." in capsys.readouterr().err
    assert not Upload.objects.exists()
    assert main([*submit, "--answer", "code_url=https://example.org/code"]) == 0
    assert Submission.objects.get().fact_sheet == {"parameters": 12, "code_url": "https://example.org/code"}
    sheet.write_text("[1, 2]")
    assert main(submit) == 2
    assert "holds no answers by key" in capsys.readouterr().err


STEERING = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b1A"  # writes to the clipboard, clears the screen, goes up
HARMLESS = "\ufffd]52;c;ZXZpbA==\ufffd\ufffd[2J\ufffd1A"


def test_a_log_does_not_steer_the_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    log = answers.Log(run="a", stream="scoring", text=f"one\t{STEERING}\r\ntwo\rover it\n\nthree")
    monkeypatch.setattr(submissions, "client", lambda profile: SimpleNamespace(logs=lambda *_, **__: [log]))
    assert main(["logs", "1"]) == 0
    assert capsys.readouterr().out == f"one\t{HARMLESS}\ntwo\nover it\n\nthree"
    assert main(["logs", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["text"] == log.text


def test_a_log_is_followed_to_its_end_over_a_new_attempt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = "loading\nepoch 1\nepoch 2\nepo", "loading\nloss 0.5"

    def site() -> SimpleNamespace:
        """A site whose run is tried again after the first look, and has ended at the third."""
        looks = iter([(False, first), (False, second + "9"), (True, second)])
        now = {"text": ""}

        def submission(number: int) -> SimpleNamespace:
            is_final, now["text"] = next(looks)
            return SimpleNamespace(is_final=is_final)

        def logs(number: int, *, printed: Mapping[tuple[str, str], int] | None = None) -> list[answers.Log]:
            have = (printed or {}).get(("a", "ingestion"), 0)
            offset = have if have <= len(now["text"]) else 0
            return [answers.Log(run="a", stream="ingestion", text=now["text"][offset:], offset=offset)]

        return SimpleNamespace(submission=submission, logs=logs)

    monkeypatch.setattr(submissions, "POLL_S", 0)
    monkeypatch.setattr(submissions, "client", lambda profile: site())
    assert main(["logs", "1", "--follow"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "loading\nepoch 1\nepoch 2\nloading\nloss 0.5", "what may be written over waits"
    assert shown.err == "--- ingestion: a new attempt\n"
    assert main(["logs", "1", "--follow", "--json"]) == 0
    (log,) = json.loads(capsys.readouterr().out)
    assert log["text"] == second, "only once it has ended"


def test_a_refusal_does_not_steer_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise Refused(f"{STEERING}\nSecond line.", code=STEERING)

    monkeypatch.setattr(cli, "app", refuse)
    assert main(["list"]) == 1
    assert capsys.readouterr().err == f"podium: {HARMLESS}\nSecond line. [{HARMLESS}]\n"


def test_a_verdict_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    refused = answers.Verdict(reason="x", blame="you", detail=STEERING, advice=STEERING)
    submission = answers.Submission.model_construct(
        id=1, status="scored", runs=[], scores={STEERING: STEERING}, verdict=refused
    )
    submissions.show(submission, as_json=False)
    running.show(Verdict("failed", "x", "y", STEERING, logs={"scoring": STEERING}, notes=(STEERING,)))
    result = SimpleNamespace(notes=[STEERING], outcome="failed", reason="x", code="y", detail=STEERING, stages=[])
    _show_run("main", SimpleNamespace(result=result, logs={"scoring": STEERING}))  # type: ignore[arg-type]
    say(STEERING)
    printed = capsys.readouterr()
    assert (printed.out.count(HARMLESS), printed.err.count(HARMLESS)) == (6, 5)
    assert not set("\x1b\x07\x9b") & set(printed.out + printed.err)
