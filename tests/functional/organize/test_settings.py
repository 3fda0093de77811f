"""Settings in the organizer's workspace: short forms, organizers, who sees the competition, deletion."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from html import unescape
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from accounts.models import Block, User
from audit.models import AuditEntry
from competitions.catalog.models import Competition, CompetitionOrganizer, Series, Task
from competitions.catalog.publishing import publish_due
from competitions.leaderboards.sealing import commit_closed_boards
from competitions.organize.inviting import invitation_accept, invitations_to
from competitions.organize.models import OrganizerInvitation
from competitions.organize.refusals import NO_LONGER_ASKED
from competitions.teams.merging import merge_accept, merge_propose
from competitions.teams.models import Team
from tests.background import run_background
from tests.images import png_bytes
from tests.pages import page_words
from tests.permissions import body_text, user_client
from tests.refusals import refuses
from tests.scenario import Scenario, person


@pytest.fixture
def organizer(site: Scenario) -> Client:
    return user_client(site.organizer)


def address(site: Scenario, page: str = "") -> str:
    return f"/host/competitions/{site.competition.slug}/settings/{page}"


def seen_by(site: Scenario, client: Client, section: str) -> str:
    """The note in a section's form of the values that it shows."""
    text = client.get(address(site)).content.decode()
    part = text[text.index(f'value="{section}"') :]
    match = re.search(r'name="seen" value="([^"]*)"', part)
    assert match
    return unescape(match[1])


def about(site: Scenario, **values: str) -> dict[str, str]:
    stored = Competition.objects.get(pk=site.competition.pk)
    return {"section": "about", "title": stored.title, "host": stored.host} | values


def saved(site: Scenario, client: Client, data: dict[str, Any], page: str = "") -> str:
    url = address(site, page)
    return client.post(
        url, data, follow=True, headers={"Referer": f"http://testserver{address(site)}"}
    ).content.decode()


def stored(site: Scenario) -> Competition:
    return Competition.objects.get(pk=site.competition.pk)


def test_a_section_is_saved_with_its_tags_and_the_change_is_on_record(site: Scenario, organizer: Client) -> None:
    text = saved(site, organizer, about(site, title="Renamed", reward="100", tags="Graphs,  Drug DISCOVERY, graphs"))
    assert "About: saved" in text
    assert (stored(site).title, stored(site).reward, stored(site).tags) == (
        "Renamed",
        "100",
        ["graphs", "drug discovery"],
    )
    entry = AuditEntry.objects.latest("pk")
    assert (entry.view, entry.fields["title"]) == ("organize:settings", "Renamed")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"title": ""}, "This field is required"),
        ({"contact_email": "nobody"}, "Enter a valid email address"),
        ({"tags": ",".join("abcdefghi")}, "at most 8"),
        ({"tags": "x" * 31}, "at most 30 visible characters"),
    ],
    ids=["no title", "no address", "nine tags", "a long tag"],
)
def test_what_is_wrong_is_said_at_its_field_and_nothing_is_saved(
    site: Scenario, organizer: Client, values: dict[str, str], words: str
) -> None:
    text = saved(site, organizer, about(site, host="Somebody else") | values)
    assert words in text
    assert 'value="Somebody else"' in text, "what was typed stays"
    assert stored(site).host == site.competition.host


def test_who_saves_second_is_told_what_changed_and_nothing_of_either_is_lost(site: Scenario, organizer: Client) -> None:
    seen = seen_by(site, organizer, "about")
    saved(site, organizer, about(site, title="By the first"))
    own_form = {"section": "about", "title": site.competition.title, "host": "By the second", "seen": seen}
    text = saved(site, organizer, own_form)
    assert "Somebody else has changed this meanwhile: Title, now “By the first”" in text
    assert 'value="By the first"' in text
    assert 'value="By the second"' in text
    assert stored(site).title == "By the first"
    again = re.search(r'name="seen" value="([^"]*)"', text)
    assert again
    saved(site, organizer, own_form | {"title": "By the first", "seen": unescape(again[1])})
    assert (stored(site).title, stored(site).host) == ("By the first", "By the second")


def test_a_note_of_brackets_thousands_deep_is_taken_for_none(site: Scenario, organizer: Client) -> None:
    saved(site, organizer, about(site, title="Other", seen="[" * 200_000))
    assert stored(site).title == "Other"


def test_a_date_that_nobody_touched_keeps_its_seconds(site: Scenario, organizer: Client) -> None:
    closes_at = site.now.replace(second=30)
    Competition.objects.update(registration_closes_at=closes_at)
    values = {"section": "entry", "registration_policy": "approval", "max_team_size": "3"}
    saved(site, organizer, values | {"registration_closes_at": f"{closes_at:%Y-%m-%dT%H:%M}"})
    assert (stored(site).registration_closes_at, stored(site).max_team_size) == (closes_at, 3)
    later = values | {"registration_closes_at": "2031-01-01T00:00"}
    confirm_page = organizer.post(address(site), later)
    assert "Registration closes at 2031-01-01 00:00 UTC; it was" in confirm_page.content.decode()
    assert stored(site).registration_closes_at == closes_at
    (form,) = (form for name, _, form in confirm_page.context["sections"] if name == "entry")
    saved(site, organizer, later | {"confirmed": form.confirmation})
    assert f"{stored(site).registration_closes_at:%Y-%m-%d %H:%M:%S}" == "2031-01-01 00:00:00"


def test_pictures_are_shown_and_can_be_cleared_but_only_images_are_taken(site: Scenario, organizer: Client) -> None:
    wrong = SimpleUploadedFile("cover.png", b"not a picture")
    assert "errorlist" in saved(site, organizer, {"section": "pictures", "cover_file": wrong})
    cover = SimpleUploadedFile("cover.png", png_bytes())
    assert "is shown in a few seconds" in saved(site, organizer, {"section": "pictures", "cover_file": cover})
    run_background()
    url = f"/competitions/{site.competition.slug}/cover/"
    assert "WEBP" in body_text(Client().get(url))
    assert url in Client().get("/").content.decode()
    saved(site, organizer, {"section": "pictures", "cover_file-clear": "on"})
    assert stored(site).cover is None


def test_organizers_come_by_name_or_address_and_the_last_one_stays(site: Scenario, organizer: Client) -> None:
    guest = person("quiet")
    for wrong, words in [
        ("nobody", "There is no account"),
        (site.organizer.username, "organizes this competition already"),
    ]:
        assert words in saved(site, organizer, {"action": "add", "person": wrong}, "organizers/")
    for name in ("NOBODY@example.org", guest.email.upper()):
        page = saved(site, organizer, {"action": "add", "person": name}, "organizers/")
        assert page.count(name) == 3, "the answer, a row and its button, whoever has the address"
        assert f"{name} was asked" in page
    assert guest.username not in organizer.get(address(site)).content.decode()
    assert "has not answered yet" in saved(site, organizer, {"action": "add", "person": guest.email}, "organizers/")
    client = user_client(guest)
    assert client.get(address(site)).status_code == 404, "nobody is made an organizer unasked"
    assert answered(guest, "decline") == "/host/"
    saved(site, organizer, {"action": "add", "person": guest.username}, "organizers/")
    assert [message.to for message in mail.outbox] == [[guest.email]], "they are told once a day"
    assert answered(guest, "accept") == f"/host/competitions/{site.competition.slug}/"
    assert client.get(address(site)).status_code == 200
    assert not invitations_to(guest).exists()
    saved(site, user_client(guest), {"action": "remove", "organizer": site.organizer.username}, "organizers/")
    assert organizer.get(address(site)).status_code == 404
    CompetitionOrganizer.objects.create(competition=site.competition, user=person(is_active=False))
    assert "at least one organizer" in saved(
        site, user_client(guest), {"action": "remove", "organizer": guest.username}, "organizers/"
    ), "who may not sign in does not count"


def answered(guest: User, answer: str) -> str:
    """Answer the only invitation; returns the address that this leads to."""
    client = user_client(guest)
    (url,) = re.findall(r'action="(/host/invitations/\d+/)"', client.get("/host/").content.decode())
    run_background()
    return str(client.post(url, {"answer": answer}).headers["Location"])


def test_an_invitation_ends_when_it_is_taken_back_and_with_the_rights_of_who_sent_it(
    site: Scenario, organizer: Client
) -> None:
    first, second, late = person(), person(), person()
    for guest in (first, second):
        saved(site, organizer, {"action": "add", "person": guest.username}, "organizers/")
    invitation = invitations_to(first).get()
    saved(site, organizer, {"action": "take_back", "invitation": invitation.pk}, "organizers/")
    with refuses(NO_LONGER_ASKED):
        invitation_accept(invitation=invitation, by=first)
    User.objects.filter(pk=late.pk).update(email="late@example.org")
    saved(site, organizer, {"action": "add", "person": "new@example.org"}, "organizers/")
    User.objects.filter(pk=late.pk).update(email="new@example.org")
    late.refresh_from_db()
    assert not invitations_to(late).exists(), "anybody can sign up with anybody's address"
    EmailAddress.objects.create(user=late, email="new@example.org", verified=True)
    assert invitations_to(late).exists()
    Block.objects.create(by=second, person=site.organizer, created_at=site.now)
    assert not invitations_to(second).exists()
    blocking, heard = person(), len(mail.outbox)
    Block.objects.create(by=blocking, person=site.organizer, created_at=site.now)
    assert "was asked" in saved(site, organizer, {"action": "add", "person": blocking.username}, "organizers/")
    run_background()
    assert blocking.email not in [to for message in mail.outbox[heard:] for to in message.to], (
        "who blocks hears nothing"
    )
    administrator = user_client(person(is_staff=True, is_superuser=True))
    saved(site, administrator, {"action": "add", "person": second.username}, "organizers/")
    assert user_client(second).get(address(site)).status_code == 200, "administrators ask nobody"
    saved(site, administrator, {"action": "remove", "organizer": site.organizer.username}, "organizers/")
    assert not OrganizerInvitation.objects.exists()


def test_address_series_and_what_is_open_to_teams_are_settings(site: Scenario, organizer: Client) -> None:
    series = Series.objects.create(slug="lsc", title="Large-scale challenge", owner=site.organizer)
    foreign = Series.objects.create(slug="foreign", title="Of somebody else")
    page = organizer.get(address(site)).content.decode()
    assert f'<option value="{series.pk}">' in page
    assert f'<option value="{foreign.pk}">' not in page
    moved = {"section": "address", "slug": "moved", "competition_type": "benchmark", "series": str(series.pk)}
    confirm_page = organizer.post(address(site), moved)
    assert "All addresses of the competition change" in confirm_page.content.decode()
    (form,) = (form for name, _, form in confirm_page.context["sections"] if name == "address")
    answer = organizer.post(address(site), moved | {"confirmed": form.confirmation})
    assert answer.headers["Location"] == "/host/competitions/moved/settings/"
    assert (stored(site).slug, stored(site).series, stored(site).competition_type) == ("moved", series, "benchmark")
    opened = {"section": "files", "make_programs_available": "on"}
    confirm_page = organizer.post("/host/competitions/moved/settings/", opened)
    assert "may download the ingestion and scoring programs" in confirm_page.content.decode()
    assert not stored(site).make_programs_available


def test_only_administrators_let_organizers_see_sealed_scores(site: Scenario, organizer: Client) -> None:
    show = {"action": "show_sealed", "organizer": site.organizer.username}
    assert "Only an administrator" in saved(site, organizer, show, "organizers/")
    saved(site, user_client(person(is_staff=True, is_superuser=True)), show, "organizers/")
    assert CompetitionOrganizer.objects.get(user=site.organizer).can_see_sealed


def test_a_competition_is_withdrawn_published_and_deleted_while_nobody_submitted(
    site: Scenario, organizer: Client
) -> None:
    page, delete = "visibility/", {"action": "delete", "confirm": site.competition.slug}
    assert "Withdraw it first" in saved(site, organizer, delete, page)
    saved(site, organizer, {"action": "withdraw"}, page)
    assert Client().get(f"/competitions/{site.competition.slug}/").status_code == 404
    saved(site, organizer, {"action": "publish"}, page)
    assert stored(site).is_published
    saved(site, organizer, {"action": "withdraw"}, page)
    assert "Nothing was deleted" in saved(site, organizer, {"action": "delete", "confirm": "x"}, page)
    saved(site, organizer, delete, page)
    assert not Competition.objects.filter(pk=site.competition.pk).exists()
    assert not Team.objects.exists()


def test_what_teams_sent_in_is_never_deleted(site: Scenario, organizer: Client) -> None:
    site.submit()
    saved(site, organizer, {"action": "withdraw"}, "visibility/")
    text = saved(site, organizer, {"action": "delete", "confirm": site.competition.slug}, "visibility/")
    assert "Somebody has submitted" in text
    assert stored(site) == site.competition


def test_a_competition_with_merged_teams_and_checks_can_be_deleted(site: Scenario, organizer: Client) -> None:
    other = site.join()
    merge = merge_propose(team=site.team, by=site.team.captain, other_name=other.name, now=site.now)
    merge_accept(proposal=merge, by=other.captain, now=site.now)
    task = site.phase.tasks.get()
    Task.objects.create(
        competition=site.competition,
        name="Permuted",
        scoring_program=task.scoring_program,
        checks=task,
        check_kind="permuted",
    )
    saved(site, organizer, {"action": "withdraw"}, "visibility/")
    saved(site, organizer, {"action": "delete", "confirm": site.competition.slug}, "visibility/")
    assert not Competition.objects.filter(pk=site.competition.pk).exists()


def test_a_board_that_was_committed_to_in_public_is_not_deleted(site: Scenario, organizer: Client) -> None:
    site.sealed.closes_at = site.now - timedelta(days=1)
    site.sealed.save()
    assert commit_closed_boards(now=site.now)
    saved(site, organizer, {"action": "withdraw"}, "visibility/")
    text = saved(site, organizer, {"action": "delete", "confirm": site.competition.slug}, "visibility/")
    assert "stays on record: published digest" in text
    assert stored(site).phases.count() == 2


def test_what_nobody_could_join_is_not_published(site: Scenario, organizer: Client) -> None:
    saved(site, organizer, {"action": "withdraw"}, "visibility/")
    for phase in site.phases.values():
        phase.delete()
    assert "cannot be published yet" in saved(site, organizer, {"action": "publish"}, "visibility/")
    assert not stored(site).is_published


def test_a_draft_is_published_by_itself_as_planned_unless_something_new_is_in_the_way(site: Scenario) -> None:
    competition, organizer = site.competition, user_client(site.organizer)
    Competition.objects.filter(pk=competition.pk).update(is_published=False)
    url, at = f"/host/competitions/{competition.slug}/settings/visibility/", timezone.now() + timedelta(hours=2)

    def plan(instant: datetime) -> Any:
        return organizer.post(url, {"action": "plan", "at": f"{instant:%Y-%m-%dT%H:%M}"})

    def planned() -> datetime | None:
        competition.refresh_from_db()
        return competition.publish_at

    assert plan(timezone.now() - timedelta(hours=1)).status_code == 422
    assert plan(at).status_code == 302
    assert planned() == at.replace(second=0, microsecond=0)
    assert f"{at:%Y-%m-%d %H:%M}" in organizer.get(f"/host/competitions/{competition.slug}/settings/").content.decode()
    organizer.post(url, {"action": "cancel-plan"})
    assert planned() is None
    assert (publish_due(now=at + timedelta(hours=1)), mail.outbox) == (0, [])

    plan(at)
    assert (publish_due(now=timezone.now()), competition.is_published) == (0, False), "it is too early"
    phase, tasks = site.phase, list(site.phase.tasks.all())
    phase.tasks.clear()
    assert publish_due(now=at) == 0
    assert planned() is None
    assert "The phase has no task" in mail.outbox[-1].body
    assert "It was not published as planned" in page_words(
        organizer.get(f"/host/competitions/{competition.slug}/settings/")
    )

    phase.tasks.set(tasks)
    plan(at)
    assert (publish_due(now=at), publish_due(now=at)) == (1, 0)
    assert planned() is None
    assert (competition.is_published, competition.publish_fault) == (True, "")
    assert [message.to for message in mail.outbox] == [[site.organizer.email]] * 2
    assert plan(at).status_code == 409
