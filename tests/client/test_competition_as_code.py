"""`podium competition`: from a template to a published competition and back."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import zipfile
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import connection

from accounts.models import ApiToken, Scope
from competitions.catalog.models import Competition, CompetitionOrganizer
from competitions.resources.models import Upload
from files.bundles import cli
from podium.cli import main
from podium.errors import SiteUnreachable
from podium.folders import Folder
from tests.client.conftest import Proxy, make_token
from tests.images import png_bytes
from tests.scenario import Scenario
from workers.errors import SandboxError


@pytest.fixture
def folder(site: Scenario, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A competition begun from the template for tables, whose organizer is signed in."""
    monkeypatch.setattr("podium.pushing.POLL_S", 0.2)
    monkeypatch.setenv("PODIUM_SITE", url)
    monkeypatch.setenv("PODIUM_TOKEN", make_token(site.organizer))
    site.queue.name = "default"
    site.queue.save()
    assert main(["competition", "init", str(tmp_path / "prices")]) == 0
    return tmp_path / "prices"


def test_a_fault_of_this_machine_is_said_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: Any, **options: Any) -> None:
        raise SandboxError("output_unreadable", "the output: Input/output error")

    monkeypatch.setattr("workers.local.run_locally", run)
    assert main(["competition", "init", str(tmp_path / "learn"), "--template", "code"]) == 0
    assert main(["competition", "run", str(tmp_path / "learn")]) == 2
    assert "podium: output_unreadable: the output: Input/output error [cannot_run]\n" in capsys.readouterr().err


def test_a_token_that_may_organize_is_enough(
    site: Scenario, folder: Path, url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    token = make_token(site.organizer, Scope.ORGANIZE)
    for name in ("PODIUM_SITE", "PODIUM_TOKEN"):
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "stdin", StringIO(f"{token}\n"))
    assert main(["login", url, "--token-stdin"]) == 0
    assert main(["competition", "push", str(folder), "--yes"]) == 0, capsys.readouterr().err
    assert main(["competition", "pull", str(folder), "--yes"]) == 0
    assert main(["competition", "publish", str(folder), "--anyway"]) == 0
    assert main(["list"]) == 3
    assert "with the scope `read`, and this one has `organize`" in capsys.readouterr().err


def test_a_bundle_is_imported_with_a_token_that_may_organize(
    site: Scenario, folder: Path, url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "POLL_S", 0.05)
    netrc = folder.parent / "netrc"  # which requests would send in place of the token
    netrc.write_text(f"machine {urlsplit(url).hostname} login ada password x")
    monkeypatch.setenv("NETRC", str(netrc))
    token_file = folder.parent / "token"
    token_file.write_text(make_token(site.organizer, Scope.ORGANIZE))
    sent = ["bundle", "import", str(folder), "--site", url, "--token-file", str(token_file)]
    assert main(sent) == 0
    assert f"{url}/competitions/prices/" in capsys.readouterr().out


def test_an_import_that_may_not_be_asked_for_ends_with_3_and_is_asked_for_once(
    site: Scenario, folder: Path, proxy: Proxy, capsys: pytest.CaptureFixture[str]
) -> None:
    def revoke(method: str, path: str) -> None:
        if method == "GET" and "/bundles/" in path:
            ApiToken.objects.all().delete()
            connection.close()  # of the proxy's thread

    token_file = folder.parent / "token"
    token_file.write_text(make_token(site.organizer, Scope.ORGANIZE))
    proxy.fault = revoke
    assert main(["bundle", "import", str(folder), "--site", proxy.url, "--token-file", str(token_file)]) == 3
    assert "It was sent, and the site imports it." in capsys.readouterr().err
    assert [method for method, path in proxy.calls if "/bundles/" in path] == ["POST", "GET"]


def change_text(folder: Path, before: str, after: str) -> None:
    path = folder / "competition.yaml"
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))


def content(folder: Path) -> dict[str, bytes]:
    return {name: path.read_bytes() for name, path in Folder(folder).files().items()}


def test_from_a_template_to_a_published_competition_and_back(
    site: Scenario, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["competition", "check", str(folder)]) == 0
    os.utime(folder / "competition.yaml", (0, 0))  # before 1980, which a zip cannot say
    assert main(["competition", "push", str(folder)]) == 2, "nobody can be asked here"
    shown = capsys.readouterr()
    assert "+ phases.main" in shown.out
    assert "--yes" in shown.err
    assert not Competition.objects.filter(slug="prices").exists()
    assert main(["competition", "push", str(folder), "--yes"]) == 0
    draft = Competition.objects.get(slug="prices")
    assert (draft.title, draft.is_published) == ("Predict the prices", False)
    capsys.readouterr()
    assert main(["competition", "push", str(folder)]) == 0
    assert "Nothing differs from prices" in capsys.readouterr().out
    assert main(["competition", "publish", str(folder)]) == 1, "no worker yet"
    assert "No compute worker has registered" in capsys.readouterr().err
    planned = ["competition", "publish", str(folder), "--anyway", "--at", "2030-01-01T09:00+01:00"]
    assert main(planned) == 0
    assert "It will be published at 2030-01-01T08:00:00Z: " in capsys.readouterr().err
    assert main([*planned, "--take-back"]) == 2, "one of the two"
    draft.refresh_from_db()
    assert (draft.publish_at, draft.is_published) == (datetime(2030, 1, 1, 8, tzinfo=UTC), False)
    assert main(["competition", "publish", str(folder), "--take-back"]) == 0
    draft.refresh_from_db()
    assert draft.publish_at is None
    assert main(["competition", "publish", str(folder), "--anyway"]) == 0
    assert main(["competition", "pull", str(folder), "--yes"]) == 0
    pulled = content(folder)
    assert "scoring_program/score_table.py" in pulled
    assert "phases/main/public_data/train.csv" in pulled
    capsys.readouterr()
    assert main(["competition", "push", str(folder)]) == 0
    assert "Nothing differs" in capsys.readouterr().out
    assert main(["competition", "pull", str(tmp_path / "other"), "--slug", "prices"]) == 0
    assert content(tmp_path / "other") == pulled
    assert "*" in (folder / ".podium" / ".gitignore").read_text()


def test_files_with_the_same_content_are_pulled_to_each_of_their_places(folder: Path, tmp_path: Path) -> None:
    public_data = folder / "phases/main/public_data"
    shutil.copytree(public_data, folder / "phases/main/starting_kit")
    named = "    public_data: phases/main/public_data\n"
    change_text(folder, named, f"{named}    starting_kit: phases/main/starting_kit\n")
    change_text(folder, "version: 2\n", "version: 2\nimage: logo.png\n")
    change_text(folder, "\npodium:\n", "\npodium:\n  images: [{name: chart.png, file: chart.png}]\n")
    for name in ("logo.png", "chart.png"):
        (folder / name).write_bytes(png_bytes())
    assert main(["competition", "push", str(folder), "--yes"]) == 0
    assert main(["competition", "pull", str(tmp_path / "other"), "--slug", "prices"]) == 0
    pulled = content(tmp_path / "other")
    for path in public_data.iterdir():
        places = [f"phases/main/{name}/{path.name}" for name in ("public_data", "starting_kit")]
        assert [pulled[place] for place in places] == [path.read_bytes()] * 2
    assert pulled["logo.webp"] == pulled["images/chart.png"]


def test_a_pull_replaces_what_differs_alone_and_leaves_no_part_of_a_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = folder / "scoring_program" / "score_table.py"
    program.chmod(0o755)
    assert main(["competition", "push", str(folder), "--yes"]) == 0
    assert main(["competition", "pull", str(folder), "--yes"]) == 0
    assert program.stat().st_mode & 0o111, "a program that can be run is as it was"
    capsys.readouterr()
    assert main(["competition", "pull", str(folder)]) == 0, "nothing is to be replaced"
    assert main(["competition", "push", str(folder)]) == 0
    assert "Nothing differs" in capsys.readouterr().out
    pulled = content(folder)
    (folder / "scoring_program" / "tried.py").write_text("print()")

    def interrupt(path: Path, **options: Any) -> None:
        for file in sorted(path.rglob("*.py")):
            file.unlink()
            raise KeyboardInterrupt

    with monkeypatch.context() as broken_off:
        broken_off.setattr("podium.pushing.shutil.rmtree", interrupt)
        assert main(["competition", "pull", str(folder), "--yes"]) != 0
    assert content(folder) == pulled
    (folder / "scoring_program" / "tried.py").write_text("print()")
    assert main(["competition", "pull", str(folder), "--yes"]) == 0
    assert content(folder) == pulled
    shutil.rmtree(folder / "scoring_program")
    (folder / "scoring_program").write_text("a file")
    assert main(["competition", "pull", str(folder), "--yes"]) == 0
    assert content(folder) == pulled


def test_a_change_in_the_browser_is_not_taken_back_by_accident(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["competition", "push", str(folder), "--yes"]) == 0
    Competition.objects.filter(slug="prices").update(reward="A cup")
    change_text(folder, "max_submissions_per_day: 5", "max_submissions_per_day: 3")
    capsys.readouterr()
    assert main(["competition", "push", str(folder), "--yes"]) == 1
    shown = capsys.readouterr()
    assert "~ phases.main.max_submissions_per_day: 5 -> 3" in shown.out
    assert "- reward" in shown.out
    assert "podium competition pull" in shown.err
    assert main(["competition", "pull", str(folder)]) == 2, "it would replace what was changed here"
    assert "Replace competition.yaml" in capsys.readouterr().err
    assert main(["competition", "push", str(folder), "--yes", "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["is_stale"] is True
    assert Competition.objects.get(slug="prices").reward == ""


def test_without_podium_itself_the_site_checks_the_folder_and_changes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "files.bundles.cli", None)
    assert main(["competition", "check", str(folder)]) == 0
    shown = capsys.readouterr()
    assert "+ title: Predict the prices" in shown.out
    assert "are not installed here" in shown.err
    change_text(folder, "tasks: [0]", "tasks: [7]")
    assert main(["competition", "check", str(folder)]) == 1
    assert "there is no task with the index 7" in capsys.readouterr().err
    assert not Competition.objects.filter(slug="prices").exists()
    assert main(["competition", "init", str(folder.parent / "more")]) == 2
    assert "which is not installed" in capsys.readouterr().err


def test_an_export_says_why_codabench_would_refuse_it(
    site: Scenario, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site.competition.pages.create(title="Soon", body="")
    capsys.readouterr()
    assert main(["competition", "export", site.competition.slug, "--to", str(tmp_path / "out"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert "The page “Soon” is empty; write it, or delete it." in answer["codabench_refusals"]
    assert zipfile.is_zipfile(answer["file"])
    assert main(["competition", "export", site.competition.slug, "--to", str(tmp_path / "out"), "--keys"]) == 0
    assert "Codabench would refuse it: Programs and data are named by their keys" in capsys.readouterr().err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        f"{site.competition.slug}-keys.zip",
        f"{site.competition.slug}.zip",
    ]


def test_an_export_that_breaks_off_leaves_no_part_and_says_so(
    site: Scenario,
    folder: Path,
    proxy: Proxy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PODIUM_SITE", proxy.url)
    proxy.fault = lambda method, path: "cut" if path.endswith("/file/") else None
    capsys.readouterr()
    assert main(["competition", "export", site.competition.slug, "--to", str(tmp_path / "out"), "--json"]) == 4
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], error["exit_status"]) == ("unreachable", 4)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_checkout_without_a_memory_goes_on_from_the_last_push(folder: Path) -> None:
    assert main(["competition", "push", str(folder), "--yes"]) == 0
    (folder / ".podium" / "state.json").unlink()
    change_text(folder, "Mean error", "Mean absolute error")
    assert main(["competition", "push", str(folder), "--yes"]) == 0
    (folder / ".podium" / "state.json").unlink()
    Competition.objects.filter(slug="prices").update(reward="A cup")
    change_text(folder, "Mean absolute error", "Mean error")
    assert main(["competition", "push", str(folder), "--yes"]) == 1


def test_files_are_sent_once_and_go_on_where_another_push_broke_off(
    site: Scenario, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f"{number},{number},1,{number}\n" for number in range(30_000))
    (folder / "phases/main/public_data/train.csv").write_text(f"id,size,rooms,price\n{rows}")

    def broken(*arguments: Any) -> None:
        raise SiteUnreachable("the connection broke")

    with monkeypatch.context() as broken_off:
        broken_off.setattr("podium.uploads._send_part", broken)
        assert main(["competition", "push", str(folder), "--yes"]) != 0
    assert main(["competition", "push", str(folder), "--yes"]) == 0
    for name in ("folder.zip", "train.csv"):
        assert Upload.objects.filter(file_name=name).count() == 1, "the second push went on with the upload"
    change_text(folder, "Mean error", "Mean absolute error")
    assert main(["competition", "push", str(folder), "--yes"]) == 0
    assert Upload.objects.filter(file_name="train.csv").count() == 1, "what the site has is not sent again"


def test_who_does_not_organize_it_gets_nothing(
    site: Scenario, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["competition", "push", str(folder), "--yes"]) == 0
    monkeypatch.setenv("PODIUM_TOKEN", make_token(site.member()))
    assert main(["competition", "pull", str(tmp_path / "stolen"), "--slug", "prices"]) == 2
    assert main(["competition", "push", str(folder), "--yes", "--force"]) == 3
    assert "does not host competitions yet" in capsys.readouterr().err
    assert CompetitionOrganizer.objects.filter(competition__slug="prices").count() == 1


def test_the_commands_of_the_page_are_those_of_the_program() -> None:
    page = (Path(__file__).parents[2] / "docs/competition-as-code.md").read_text()
    commands = set(re.findall(r"podium (competition [^#\n;`]+)", page))
    assert len(commands) > 8
    for command in commands:
        if "`" not in command and command.split()[1] in ("init", "check", "run", "push", "pull", "publish"):
            assert main([*command.split(), "--help"]) == 0, command


def test_a_folder_that_cannot_be_read_says_why(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "competition.yaml"
    for text, words in (("title: [", "cannot be read"), ("title: X\n", "`phases` is missing")):
        path.write_text(text)
        assert main(["competition", "push", str(folder), "--yes"]) in (1, 2)
        assert words in capsys.readouterr().err
    path.unlink()
    assert main(["competition", "push", str(folder), "--yes"]) == 2
    assert "There is no competition.yaml" in capsys.readouterr().err
