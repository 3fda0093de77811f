"""Drafts: whose they are, what they keep, what they refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import LazySettings
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.models import User
from competitions.organize import drafts, hosts
from competitions.organize.models import CompetitionDraft, DraftFile, HostRequest
from competitions.organize.refusals import DraftChangedElsewhere, HostsOnly, RequestOpen, RequestsClosed, TooManyDrafts
from tests.admin_forms import fields_of
from tests.background import run_background
from tests.permissions import client_of
from tests.scenario import Scenario, person

Start = CompetitionDraft.Start
SOLUTION = "id,price,area,Usage\n" + "".join(f"{row},{row * 1.5},{row % 3},{'Public' if row % 3 else 'Private'}\n" for row in range(30))


@pytest.fixture
def host(site: Scenario) -> User:
    return site.organizer


@pytest.fixture
def draft(site: Scenario, host: User) -> CompetitionDraft:
    return drafts.draft_begin(owner=host, start=Start.TABLE, now=site.now)


def attach(
    site: Scenario, draft: CompetitionDraft, content: str, *, role: str = "solution", name: str = "solution.csv"
) -> str:
    """Upload a file as a browser without script does, have it read, and return what the page says then."""
    client, step = client_of(draft.owner), f"/host/{draft.key}/steps/data/"
    sent = {"file": SimpleUploadedFile(name, content.encode())}
    said = client.post(f"/host/{draft.key}/files/{role}/", sent, follow=True, headers={"Referer": f"http://testserver{step}"})
    run_background(at=site.now)
    return str(said.content.decode() + client.get(step).content.decode())


def answer(draft: CompetitionDraft, step: str, go: str = "next", **values: Any) -> Any:
    """Open a step, change these fields and send it."""
    client, url = client_of(draft.owner), f"/host/{draft.key}/steps/{step}/"
    return client.post(url, fields_of(client.get(url)) | values | {"go": go})


def page(draft: CompetitionDraft, path: str) -> str:
    return client_of(draft.owner).get(f"/host/{draft.key}/{path}").content.decode()


def test_a_solution_is_read_in_the_background_and_its_columns_are_proposed(site: Scenario, draft: CompetitionDraft) -> None:
    assert "30 rows" in attach(site, draft, SOLUTION)
    file = draft.files.get()
    assert (file.state, file.preview["rows"], file.preview["id_column"], file.preview["usage_column"]) == ("finished", 30, "id", "Usage")
    fields = fields_of(client_of(draft.owner).get(f"/host/{draft.key}/steps/columns/"))
    assert (fields["id_column"], fields["targets"]) == (["id"], ["price", "area"])


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        ("", "solution.csv", "is empty"),
        ("id,price\n", "solution.csv", "It cannot be used"),
        ("PK not a zip", "solution.zip", "It cannot be used"),
        ("id\n1\n", "solution.exe", "is not a file of the kind"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_table_is_refused_with_its_reason(
    site: Scenario, draft: CompetitionDraft, content: str, name: str, words: str
) -> None:
    assert words in attach(site, draft, content, name=name)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"id_column": "area"}, "“area” is no id: 3 different ids in 30 rows"),
        ({"targets": ["id"]}, "“id” is the id"),
        ({"targets": []}, "This field is required"),
    ],
)  # fmt: skip
def test_columns_that_cannot_be_scored_are_refused(
    site: Scenario, draft: CompetitionDraft, changed: dict[str, Any], words: str
) -> None:
    attach(site, draft, SOLUTION)
    refused = answer(draft, "columns", **changed)
    assert refused.status_code == 422
    assert words in refused.content.decode()
    draft.refresh_from_db()
    assert "columns" not in draft.answers


def test_test_data_that_tell_the_answers_are_refused(site: Scenario, draft: CompetitionDraft) -> None:
    attach(site, draft, SOLUTION)
    attach(site, draft, "id,price\n1,2\n", role="test", name="test.csv")
    assert "The test data hold price" in answer(draft, "columns", targets=["price"]).content.decode()


def test_back_keeps_what_was_typed_right_or_wrong(site: Scenario, draft: CompetitionDraft) -> None:
    went = answer(draft, "schedule", go="back", max_team_size="many")
    assert went["Location"].endswith("/steps/about/")
    assert 'value="many"' in page(draft, "steps/schedule/")


def test_two_tabs_at_once_lose_nothing(site: Scenario, draft: CompetitionDraft) -> None:
    client, url = client_of(draft.owner), f"/host/{draft.key}/steps/about/"
    first, second = fields_of(client.get(url)), fields_of(client.get(url))
    assert client.post(url, first | {"title": "Prices", "go": "next"}).status_code == 302
    refused = client.post(url, second | {"title": "Costs", "go": "next"})
    assert (refused.status_code, 'value="Costs"' in refused.content.decode()) == (409, True)
    assert "changed in another tab" in refused.content.decode()
    assert client.post(url, fields_of(refused) | {"go": "next"}).status_code == 302
    draft.refresh_from_db()
    assert draft.title == "Costs"


def test_a_version_that_is_old_is_refused_and_nothing_is_written(site: Scenario, draft: CompetitionDraft) -> None:
    drafts.draft_answer(draft=draft, step="about", answers={"title": ["A"]}, version=1, now=site.now)
    with pytest.raises(DraftChangedElsewhere):
        drafts.draft_answer(draft=draft, step="about", answers={"title": ["B"]}, version=1, now=site.now)
    draft.refresh_from_db()
    assert (draft.title, draft.version) == ("A", 2)


def test_the_draft_of_somebody_else_does_not_exist(site: Scenario, draft: CompetitionDraft) -> None:
    attach(site, draft, SOLUTION)
    stranger = client_of(person(is_staff=True, is_superuser=True))
    for path in ("", "steps/data/", "trial/", "trial/status/", "review/", "files/solution/status/"):
        assert stranger.get(f"/host/{draft.key}/{path}").status_code == 404, path
    for path in ("steps/data/", "steps/data/preview/", "files/solution/", "files/solution/remove/", "trial/build/", "review/publish/", "discard/"):
        assert stranger.post(f"/host/{draft.key}/{path}").status_code == 404, path
    assert DraftFile.objects.count() == 1


def test_pages_that_nobody_changed_follow_the_answers(site: Scenario, draft: CompetitionDraft) -> None:
    answer(draft, "about", title="Prices", subtitle="What houses cost")
    answer(draft, "pages", rules_text="Be fair.")
    draft.refresh_from_db()
    assert set(draft.answers["pages"]) == {"rules_text"}
    answer(draft, "about", subtitle="What flats cost")
    shown = page(draft, "steps/pages/")
    assert "What flats cost" in shown
    assert "Be fair." in shown


def test_a_draft_that_is_thrown_away_takes_its_files_with_it(site: Scenario, draft: CompetitionDraft) -> None:
    attach(site, draft, SOLUTION)
    stored = draft.files.get().file
    client_of(draft.owner).post(f"/host/{draft.key}/discard/")
    assert not CompetitionDraft.objects.exists()
    assert not DraftFile.objects.exists()
    draft.owner.uploads.all().delete()
    stored.refresh_from_db()
    assert stored.pk


def test_one_person_has_no_more_drafts_than_the_limit(
    site: Scenario, host: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "MAX_DRAFTS", 1)
    drafts.draft_begin(owner=host, start=Start.CODE, now=site.now)
    with pytest.raises(TooManyDrafts):
        drafts.draft_begin(owner=host, start=Start.CODE, now=site.now)


@pytest.mark.parametrize(
    ("policy", "may_begin", "may_ask"), [("everybody", True, False), ("on_request", False, True), ("staff", False, False)]
)
def test_who_hosts_is_the_sites_policy(
    site: Scenario, settings: LazySettings, policy: str, may_begin: bool, may_ask: bool
) -> None:
    settings.HOSTS = policy
    guest = person()
    shown = client_of(guest).get("/host/").content.decode()
    assert ("Begin with a table" in shown, "Ask to host" in shown) == (may_begin, may_ask)
    if not may_begin:
        with pytest.raises(HostsOnly):
            drafts.draft_begin(owner=guest, start=Start.TABLE, now=site.now)
    if not may_ask:
        with pytest.raises(RequestsClosed):
            hosts.host_request(user=guest, purpose="A course", now=site.now)


def test_who_asks_to_host_is_told_of_the_decision_and_then_may(site: Scenario, django_capture_on_commit_callbacks: Any) -> None:
    guest, root = person(), person(is_staff=True, is_superuser=True)
    client: Client = client_of(guest)
    with django_capture_on_commit_callbacks(execute=True):
        client.post("/host/ask/", {"purpose": "A course on statistics"})
    asked = HostRequest.objects.get()
    assert [one.to for one in mail.outbox] == [[root.email]]
    with pytest.raises(RequestOpen):
        hosts.host_request(user=guest, purpose="The same again", now=site.now)
    with django_capture_on_commit_callbacks(execute=True):
        assert hosts.host_request_decide(request=asked, grant=True, by=root, now=site.now)
    assert not hosts.host_request_decide(request=asked, grant=False, by=root, now=site.now)
    assert mail.outbox[-1].to == [guest.email]
    guest.refresh_from_db()
    assert guest.is_staff
    assert "Begin with a table" in client.get("/host/").content.decode()


def test_organizers_see_requests_and_administrators_alone_decide(site: Scenario) -> None:
    hosts.host_request(user=person(), purpose="A course", now=site.now)
    form = {"action": "grant", "_selected_action": [str(HostRequest.objects.get().pk)]}
    for user, state in ((site.organizer, "open"), (person(is_staff=True, is_superuser=True), "granted")):
        client_of(user).post("/admin/organize/hostrequest/", form)
        assert HostRequest.objects.get().state == state


def test_answers_are_plain_values(site: Scenario, draft: CompetitionDraft) -> None:
    answer(draft, "about", title="Prices")
    draft.refresh_from_db()
    assert json.dumps(draft.answers["about"])
