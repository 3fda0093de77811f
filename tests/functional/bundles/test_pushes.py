"""Competitions as code: the live one as a folder, what a push changes, and what it must not."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Scope, User, token_create
from audit.models import AuditEntry
from competitions.bundles.pushing.applying import push_read
from competitions.bundles.refusals import COMPETITION_GONE
from competitions.catalog.changes.boards import change_board
from competitions.catalog.models import Column, Competition, CompetitionOrganizer, Leaderboard, Phase, Task
from competitions.leaderboards.models import Entry
from competitions.resources.models import Resource, Upload
from competitions.resources.storage import store_bytes
from competitions.submissions.models import Submission
from core.confirmations import NeedsConfirmation
from tests.background import run_background
from tests.bundle_files import FILES, second
from tests.functional.bundles.test_every_setting import vary
from tests.growing import grow
from tests.refusals import refuses
from tests.rows import rows_by_model
from tests.scenario import NOON, Scenario, person, resource, zip_bytes

pytestmark = pytest.mark.django_db
Folder = dict[str, bytes]


class Site:
    """The API, as one person's program speaks to it."""

    def __init__(self, user: User) -> None:
        _, secret = token_create(user=user, name="t", scopes=list(Scope.values), expires_at=NOON.replace(year=2031))
        self.user, self.client = user, Client(headers={"Authorization": f"Bearer {secret}"})

    def pull(self, slug: str) -> tuple[Folder, str]:
        """The folder and its version."""
        answer = self.client.get(f"/api/v1/competitions/{slug}/document/").json()
        folder = {path: text.encode() for path, text in answer["texts"].items()}
        for file in answer["files"]:
            response: Any = self.client.get(file["url"])
            assert response.status_code == 200, response.content
            folder[file["path"]] = b"".join(response.streaming_content)
            response.close()
        return folder, answer["version"]

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return self.client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")

    def compare(
        self, folder: Folder, *, base: str = "", force: bool = False, files: dict[str, str] | None = None
    ) -> Any:
        """The push once it was compared, as the API shows it."""
        bundle = Upload.objects.create(
            user=self.user,
            file_name="push.zip",
            size_bytes=0,
            began_at=NOON,
            expires_at=NOON,
            file=store_bytes(zip_bytes(dict(folder))),
        )
        body = {"bundle": str(bundle.key), "files": files or {}, "base": base, "force": force}
        sent = self.post("pushes/", body)
        assert sent.status_code == 202, sent.content
        run_background()
        return self.client.get(sent["Location"]).json()

    def push(self, folder: Folder, *, base: str = "", force: bool = False) -> Any:
        """The push once it was applied."""
        compared = self.compare(folder, base=base, force=force)
        assert compared["state"] == "compared", compared["fault"]
        agreed = self.post(f"pushes/{compared['id']}/apply/", {})
        assert agreed.status_code == 202, agreed.content
        run_background()
        return self.client.get(f"/api/v1/pushes/{compared['id']}/").json()


@pytest.fixture
def api(site: Scenario) -> Site:
    return Site(site.organizer)


def changed(folder: Folder, change: Callable[[Any], object]) -> Folder:
    """The folder with its YAML changed."""
    data = yaml.safe_load(folder["competition.yaml"])
    change(data)
    return folder | {"competition.yaml": yaml.safe_dump(data, sort_keys=False).encode()}


def paths(push: Any) -> list[str]:
    return [change["path"] for change in push["changes"]]


def test_a_push_right_after_a_pull_changes_nothing(site: Scenario, api: Site) -> None:
    site.competition.pages.create(title="Données & more", body="A <b>b</b>\r\n\r\n* c", format="markdown")
    site.competition.pages.create(title="Data", body="", tab="data", index=1)
    site.competition.pages.create(title="Data", body="Another of this title", tab="data", index=2)
    folder, version = api.pull(site.competition.slug)
    before = rows_by_model(Competition.objects.get(pk=site.competition.pk))
    push = api.push(folder, base=version)
    assert (push["state"], push["changes"], push["impact"], push["result"]) == ("applied", [], [], version)
    assert rows_by_model(Competition.objects.get(pk=site.competition.pk)) == before
    assert site.competition.rules_versions.count() == 1


def test_every_setting_is_changed_by_a_push_and_changed_back(site: Scenario, api: Site) -> None:
    slug = site.competition.slug
    site.competition.phases.exclude(pk=site.phase.pk).delete()
    site.competition.tasks.exclude(phases=site.phase).delete()
    plain, _ = api.pull(slug)
    plain_rows = rows_by_model(Competition.objects.get(slug=slug))
    vary(site)
    varied, version = api.pull(slug)
    varied_rows = rows_by_model(Competition.objects.get(slug=slug))
    assert api.compare(varied, base=version)["changes"] == []
    assert api.push(plain, base=version)["state"] == "applied"
    rows = rows_by_model(Competition.objects.get(slug=slug))
    assert {**rows, "Task": rows["Task"][:1]} == plain_rows, "a task that is no longer named stays"
    assert api.push(varied)["state"] == "applied"
    assert rows_by_model(Competition.objects.get(slug=slug)) == varied_rows


def test_a_board_that_grows_and_a_task_of_others_come_back_as_they_were(site: Scenario, api: Site) -> None:
    grow(site)
    site.sealed.delete()
    program = site.phase.tasks.get().scoring_program
    foreign = Task.objects.create(owner=person(is_staff=True), name="Theirs", scoring_program=program)
    site.phase.tasks.add(foreign)
    folder, version = api.pull(site.competition.slug)
    assert str(foreign.key) in folder["competition.yaml"].decode()
    push = api.compare(folder, base=version)
    assert (push["state"], push["changes"]) == ("compared", []), push["fault"]


def test_pages_that_are_called_alike_have_files_of_their_own(site: Scenario, api: Site) -> None:
    titles = ["Data 2", "Data", "Data!", "Terms", "Data?", "Data 3"]
    for index, title in enumerate(titles):
        site.competition.pages.create(title=title, body=f"The page {title}", index=index)
    folder, version = api.pull(site.competition.slug)
    pages = [
        content.decode() for path, content in folder.items() if path.startswith("pages/") and path != "pages/terms.md"
    ]
    assert sorted(pages) == sorted(f"The page {title}" for title in titles)
    assert api.compare(folder, base=version)["changes"] == []


def test_a_download_without_a_suffix_is_pulled_as_it_is(site: Scenario, api: Site) -> None:
    kit = resource(site.organizer, Resource.Kind.STARTING_KIT, b"all:\n")
    Resource.objects.filter(pk=kit.pk).update(file_name="The Makefile")
    Phase.objects.filter(pk=site.phase.pk).update(starting_kit=kit)
    folder, version = api.pull(site.competition.slug)
    assert folder["phases/test-dev/starting_kit"] == b"all:\n"
    push = api.compare(folder, base=version)
    assert (push["state"], push["changes"]) == ("compared", []), push["fault"]


def test_what_a_push_changes_is_said_before_and_done_after_a_yes(site: Scenario, api: Site) -> None:
    site.score(site.submit(), 0.25)
    folder, version = api.pull(site.competition.slug)

    def change(data: Any) -> None:
        phase = data["phases"][0]
        phase["max_submissions_per_day"] = 1
        phase["podium"]["leaderboards"] = [data["leaderboards"][0] | {"title": "Ranking"}]
        data["pages"].append({"title": "News", "file": "pages/news.md"})
        data["description"] = "A line"

    task = next(path for path in folder if path.endswith("test-dev/scoring_program.zip"))
    new = changed(folder, change) | {
        "pages/news.md": b"# New",
        "pages/terms.md": b"Be fair.\nBe quick.\n",
        task: zip_bytes({"metadata.yaml": "command: python new.py"}),
    }
    compared = api.compare(new, base=version)
    assert paths(compared) == [
        "pages.News",
        "phases.test-dev.boards.main.title",
        "phases.test-dev.max_submissions_per_day",
        "rules",
        "subtitle",
        "tasks.Task test-dev.scoring_program",
    ]
    assert [line for change in compared["changes"] for line in change["lines"]] == [
        "@@ -1 +1,2 @@",
        " Be fair.",
        "+Be quick.",
    ]
    impact = "\n".join(compared["impact"])
    for words in (
        "quota per team shrinks",
        "1 submission ran with the former files",
        "that is 1 so far",
    ):
        assert words in impact
    assert not site.competition.pages.exists(), "nothing is changed before the yes"
    applied = api.push(new, base=version)
    board = Leaderboard.objects.get(phase=site.phase)
    assert (applied["state"], board.title, board.entries.count()) == ("applied", "Ranking", 1)
    assert api.pull(site.competition.slug)[1] == applied["result"]
    assert api.post(f"pushes/{applied['id']}/apply/", {}).json()["code"] == "not_compared"
    assert AuditEntry.objects.filter(view="api:push-apply", actor=site.organizer).exists()


def test_a_push_says_what_a_column_does_to_ranks_as_the_form_does(site: Scenario, api: Site) -> None:
    site.score(site.submit(), 0.25)
    site.score(site.submit(team=site.join("Second")), 0.5)
    folder, version = api.pull(site.competition.slug)

    def other_way_round(data: Any) -> None:
        for board in data["leaderboards"]:
            board["columns"][0]["sorting"] = "desc"

    compared = api.compare(changed(folder, other_way_round), base=version)
    named = f"{site.phase.name}, {site.phase.leaderboard.title}"
    assert f"{named}: 2 of 2 teams change their rank." in compared["impact"]
    assert f"{named}: First is Second; it was {site.team.name}." in compared["impact"]
    assert Column.objects.filter(leaderboard__phase=site.phase).get().sorting == "asc"
    api.push(changed(folder, other_way_round), base=version)
    ranked = Entry.objects.filter(leaderboard__phase=site.phase).order_by(*Entry.IN_ORDER)
    assert [entry.team.name for entry in ranked] == ["Second", site.team.name]


def test_a_push_says_that_a_changed_key_empties_the_board_and_what_the_scoring_program_must_write(
    site: Scenario, api: Site
) -> None:
    """The words are those of the form in the browser."""
    site.score(site.submit(), 0.5)
    folder, version = api.pull(site.competition.slug)

    def rename(data: Any) -> None:
        board = data["leaderboards"][0]
        for phase in data["phases"]:
            phase["podium"]["leaderboards"] = [dict(board)]
        columns = data["phases"][0]["podium"]["leaderboards"][0]["columns"] = [dict(board["columns"][0])]
        columns[0]["key"] = "rmse"

    push = api.compare(changed(folder, rename), base=version)
    named = f"{site.phase.name}, {site.phase.leaderboard.title}"
    sentences = [
        "The column “MAE” leaves the board. Its scores stay recorded.",
        "1 of 1 team changes its rank.",
        "1 of them leave the board.",
        f"First is nobody; it was {site.team}.",
        "No submission has a score 'rmse', so the column “MAE” stays empty until the scoring program writes it.",
    ]
    assert push["impact"] == [f"{named}: {sentence}" for sentence in sentences], push["fault"]
    board = site.phase.leaderboard
    column = board.columns.get()
    column.pk, column.key = None, "rmse"
    with pytest.raises(NeedsConfirmation) as refusal:
        change_board(board, [column], now=site.now)
    assert refusal.value.extra["impact"] == sentences


def test_a_push_of_an_unknown_address_makes_a_draft_and_the_next_one_changes_it(api: Site, tmp_path: Path) -> None:
    files = {name: content if isinstance(content, bytes) else content.encode() for name, content in FILES.items()}
    folder = files | {"competition.yaml": yaml.safe_dump(second() | {"podium": {"slug": "as-code"}}).encode()}
    first = api.push(folder)
    draft = Competition.objects.get(slug="as-code")
    assert (first["state"], first["version"], draft.is_published) == ("applied", "", False)
    again = api.push(changed(folder, lambda data: data.update(reward="A cup")))
    assert (paths(again), again["is_stale"]) == (["reward"], False), (
        "a folder without a version goes on from the last push"
    )
    assert Competition.objects.filter(title="Small").count() == 1
    nameless = api.compare(changed(folder, lambda data: data.pop("podium")))
    assert (nameless["state"], "podium.slug" in nameless["fault"]) == ("failed", True)


def test_changes_that_others_made_since_are_kept_unless_the_push_is_forced(site: Scenario, api: Site) -> None:
    folder, version = api.pull(site.competition.slug)
    Competition.objects.filter(pk=site.competition.pk).update(reward="Made in the browser")
    compared = api.compare(folder, base=version)
    assert (compared["is_stale"], paths(compared)) == (True, ["reward"])
    assert api.post(f"pushes/{compared['id']}/apply/", {}).json()["code"] == "changed_since"
    late = api.compare(folder, base=api.pull(site.competition.slug)[1])
    api.post(f"pushes/{late['id']}/apply/", {})
    Competition.objects.filter(pk=site.competition.pk).update(reward="Changed between the yes and the deed")
    run_background()
    assert api.client.get(f"/api/v1/pushes/{late['id']}/").json()["state"] == "failed"
    assert Competition.objects.get(pk=site.competition.pk).reward.startswith("Changed between")
    assert api.push(folder, base=version, force=True)["state"] == "applied"
    assert Competition.objects.get(pk=site.competition.pk).reward == ""


def test_phases_that_are_called_alike_or_in_other_letters_stay_once_they_have_submissions(
    site: Scenario, api: Site
) -> None:
    files = {name: content if isinstance(content, bytes) else content.encode() for name, content in FILES.items()}
    names = ["\u041e\u0442\u0431\u043e\u0440", "\u0424\u0438\u043d\u0430\u043b", "Round", "Round"]
    phases: list[dict[str, Any]] = [
        {"name": name, "start": f"2027-0{number}-01", "end": f"2027-0{number}-20", "tasks": [0]}
        for number, name in enumerate(names, start=1)
    ]
    alike = second() | {"podium": {"slug": "as-code"}, "phases": phases}
    refused = api.compare(files | {"competition.yaml": yaml.safe_dump(alike, sort_keys=False).encode()})
    lines = yaml.safe_dump(alike, sort_keys=False).splitlines()
    first, last = (number for number, line in enumerate(lines, start=1) if line.endswith("name: Round"))
    assert refused["state"] == "failed"
    assert f"line {last}" in refused["fault"]
    assert f"the phase on line {first} is called 'Round', too" in refused["fault"]
    for described, slug in zip(phases[2:], ("round", "round-2"), strict=True):
        described["podium"] = {"slug": slug}
    data = second() | {"podium": {"slug": "as-code"}, "phases": phases}
    folder = files | {"competition.yaml": yaml.safe_dump(data).encode()}
    api.push(folder)
    rows = Competition.objects.get(slug="as-code").phases.order_by("index")
    assert [phase.slug for phase in rows] == ["phase", "phase-2", "round", "round-2"]
    for phase in rows:
        Submission.objects.filter(pk=site.submit().pk).update(phase=phase)
    push = api.compare(folder)
    assert (push["state"], push["changes"]) == ("compared", []), push["fault"]


BREAKING: dict[str, Callable[[Any], object]] = {
    "The phase 'test-dev' has submissions, so it stays": lambda data: data["phases"].pop(0),
    "The phase 'test-challenge' has sealed scores": lambda data: data["phases"][1]["podium"].update(
        visibility="public"
    ),
    "'test-challenge' has sealed scores": lambda data: data["phases"][1]["podium"].update(preset="pcqm4mv2-test-dev"),
    "'main' of the phase 'test-dev' has scores": lambda data: data["leaderboards"][0].update(key="other"),
    "sealed scores in the column 'mae'": lambda data: data["leaderboards"][0]["columns"][0].update(key="rmse"),
    "the bundle has no 'gone.md'": lambda data: data.update(terms="gone.md"),
}


def test_what_would_break_a_running_contest_is_refused_by_name(site: Scenario, api: Site) -> None:
    site.score(site.submit(), 0.25)
    site.score(site.submit(phase=site.sealed), 0.5)
    folder, version = api.pull(site.competition.slug)
    before = rows_by_model(Competition.objects.get(pk=site.competition.pk))
    for words, change in BREAKING.items():
        push = api.compare(changed(folder, change), base=version)
        assert (push["state"], words in push["fault"]) == ("failed", True), (words, push["fault"])
        assert rows_by_model(Competition.objects.get(pk=site.competition.pk)) == before


def test_a_file_is_taken_by_its_digest_from_those_alone_who_may_read_it(site: Scenario, api: Site) -> None:
    folder, version = api.pull(site.competition.slug)
    labels = site.phase.tasks.get().reference_data
    assert labels is not None
    path = next(
        path for path, content in folder.items() if content == zip_bytes({"labels.txt": "hidden labels of test-dev"})
    )
    rest = {name: content for name, content in folder.items() if name != path}
    assert api.compare(rest, base=version, files={path: labels.file_id})["changes"] == []
    stranger = Site(person(is_staff=True))
    bundle = Upload.objects.create(
        user=stranger.user,
        file_name="x.zip",
        size_bytes=0,
        began_at=NOON,
        expires_at=NOON,
        file=store_bytes(zip_bytes(dict(rest))),
    )
    sent = stranger.post("pushes/", {"bundle": str(bundle.key), "files": {path: labels.file_id}})
    assert (sent.status_code, sent.json()["missing"]) == (422, [labels.file_id])
    User.objects.filter(pk=stranger.user.pk).update(is_staff=False)
    refused = stranger.post("pushes/", {"bundle": str(bundle.key)})
    assert refused.json()["code"] == "hosts_only", "who hosts nothing makes the site unpack nothing"
    document = f"/api/v1/competitions/{site.competition.slug}/document/"
    assert stranger.client.get(document).status_code == 404
    (address,) = {file["url"] for file in api.client.get(document).json()["files"] if file["sha256"] == labels.file_id}
    other = person(is_staff=True)
    CompetitionOrganizer.objects.create(competition=site.competition, user=other)
    for client, path, status in (
        (stranger.client, address, 404),
        (Site(other).client, address, 404),
        (api.client, address.partition("?")[0], 404),
        (api.client, address, 200),
    ):
        with CaptureQueriesContext(connection) as queries:
            response = client.get(path)
        response.close()
        assert response.status_code == status
        assert len(queries) < 12, "the folder is not made anew for each file"
    _, secret = token_create(user=site.organizer, name="r", scopes=[Scope.READ], expires_at=NOON.replace(year=2031))
    reading = Client(headers={"Authorization": f"Bearer {secret}"})
    assert reading.get(f"/api/v1/competitions/{site.competition.slug}/document/").status_code == 403
    outside = api.compare(rest, base=version, files={"../labels.zip": labels.file_id})
    assert "leads outside" in outside["fault"]


def test_what_happens_while_the_files_of_a_push_are_stored_is_not_written_back(
    site: Scenario, api: Site, tmp_path: Path
) -> None:
    for name, content in api.pull(site.competition.slug)[0].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    with (tmp_path / "competition.yaml").open("a") as file:
        file.write("reward: A cup\n")
    with push_read(tmp_path, owner=site.organizer, now=NOON, progress=print) as push:
        Competition.objects.filter(pk=site.competition.pk).update(is_published=False)
        push.apply(NOON, lambda outcome: None)
        CompetitionOrganizer.objects.all().delete()
        with refuses(COMPETITION_GONE):
            push.apply(NOON, lambda outcome: None)
    competition = Competition.objects.get(pk=site.competition.pk)
    assert (competition.reward, competition.is_published) == ("A cup", False)


def test_publishing_says_first_what_cannot_work(site: Scenario, api: Site) -> None:
    Competition.objects.filter(pk=site.competition.pk).update(is_published=False)
    refused = api.post(f"competitions/{site.competition.slug}/publish/", {})
    assert (refused.status_code, refused.json()["code"]) == (409, "not_ready")
    assert any("No compute worker" in warning for warning in refused.json()["warnings"])
    assert api.post(f"competitions/{site.competition.slug}/publish/", {"anyway": True}).status_code == 200
    assert Competition.objects.get(pk=site.competition.pk).is_published


def test_a_program_plans_the_publication_moves_it_and_takes_it_back(site: Scenario, api: Site) -> None:
    Competition.objects.filter(pk=site.competition.pk).update(is_published=False)
    path, soon = f"competitions/{site.competition.slug}/publish/", timezone.now() + timedelta(days=1)
    refusals: list[tuple[dict[str, Any], int, str]] = [
        ({"at": soon.isoformat()}, 409, "not_ready"),
        ({"at": "2020-01-01T00:00Z", "anyway": True}, 422, "not_in_future"),
    ]
    refusals += [({"at": text}, 400, "invalid") for text in ("soon", "9999-12-31T23:59:59-14:00")]
    for body, status, code in refusals:
        refused = api.post(path, body)
        assert (refused.status_code, refused.json()["code"]) == (status, code)
    planned = api.post(path, {"at": soon.isoformat(), "anyway": True}).json()
    assert (planned["is_published"], planned["url"]) == (False, f"/competitions/{site.competition.slug}/")
    later = f"{soon:%Y-%m-%dT%H:%M}"
    assert api.post(path, {"at": later, "anyway": True}).json()["publish_at"] == f"{later}:00Z", (
        "without an offset in UTC"
    )
    assert api.client.delete(f"/api/v1/{path}").status_code == 204
    competition = Competition.objects.get(pk=site.competition.pk)
    assert (competition.publish_at, competition.is_published) == (None, False)
    assert api.post(path, {"anyway": True}).json()["is_published"]
    assert api.post(path, {"at": soon.isoformat(), "anyway": True}).json()["code"] == "published_already"
