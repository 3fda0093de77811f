"""A form that is refused comes back on its page, with what was wrong and what was entered."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from competitions.bundles.models import BundleImport
from competitions.catalog.models import Phase
from competitions.compute.models import Queue
from competitions.factsheets.models import Question
from competitions.factsheets.services import save_question
from competitions.web.refusals import KEY
from tests.permissions import user_client
from tests.scenario import Scenario, person


def send(client: Client, page: str, url: str, **fields: Any) -> str:
    """Send a form of that page; returns the page that is shown then."""
    answer = client.post(url, fields, headers={"Referer": f"http://testserver{page}"}, follow=True)
    assert answer.status_code == 200
    assert answer.request["PATH_INFO"] == page.partition("?")[0], "it stays on its page"
    return answer.content.decode()


def input_value(page: str, name: str) -> str:
    match = re.search(rf'<input [^>]*name="{name}"[^>]*>', page)
    assert match is not None
    value = re.search(r'value="([^"]*)"', match[0])
    return value[1] if value else ""


def test_an_invitation_of_nobody_keeps_the_page_and_the_name(site: Scenario) -> None:
    member, page = user_client(site.member()), reverse("web:team", args=[site.competition.slug])
    shown = send(member, page, reverse("web:team-invite", args=[site.competition.slug]), person='no "body"')
    assert '<p class="message error" role="alert">Nobody with the user name' in shown
    assert input_value(shown, "person") == "no &quot;body&quot;"
    assert site.team.name in shown
    assert input_value(member.get(page).content.decode(), "person") == "", "only once"


def test_the_other_forms_of_the_page_keep_their_own_values(site: Scenario) -> None:
    site.join("Taken")
    member, page = user_client(site.member()), reverse("web:team", args=[site.competition.slug])
    shown = send(member, page, reverse("web:team-rename", args=[site.competition.slug]), name="Taken")
    assert (input_value(shown, "name"), input_value(shown, "person"), input_value(shown, "other")) == ("Taken", "", "")
    site.team.refresh_from_db()
    assert site.team.name != "Taken"


def test_what_was_entered_is_shown_on_no_other_page(site: Scenario) -> None:
    site.competition.organizers.add(site.member())
    member, slug = user_client(site.member()), site.competition.slug
    page, other = (reverse(name, args=[slug]) for name in ("web:team", "organize:settings"))
    form, headers = {"person": "nobody-at-all"}, {"Referer": f"http://testserver{page}"}
    member.post(reverse("web:team-invite", args=[slug]), form, headers=headers)
    assert input_value(member.get(other).content.decode(), "person") == ""
    assert input_value(member.get(page).content.decode(), "person") == "nobody-at-all"


@pytest.mark.parametrize("referer", ["", "https://else.where/", "http://testserver.else.where/"])
def test_a_form_from_nowhere_gets_a_page_of_its_own(site: Scenario, referer: str) -> None:
    url = reverse("web:team-invite", args=[site.competition.slug])
    answer = user_client(site.member()).post(url, {"person": "nobody"}, headers={"Referer": referer} if referer else {})
    assert answer.status_code == 404
    assert "That didn" in answer.content.decode()


def test_an_upload_that_is_refused_keeps_description_and_answers(site: Scenario) -> None:
    save_question(Question(competition=site.competition, key="method", title="Method", kind="text", is_required=False))
    Phase.objects.filter(pk=site.phase.pk).update(accepts_code=True)
    page = f"{reverse('web:submissions', args=[site.competition.slug])}?phase={site.phase.slug}"
    shown = send(
        user_client(site.member()),
        page,
        reverse("web:submit", args=[site.competition.slug]),
        phase=site.phase.slug,
        kind="code",
        description="Seed 17",
        **{"answer.method": "GIN"},
        file=SimpleUploadedFile("x.zip", b"no zip"),
    )
    assert 'role="alert"' in shown
    assert (input_value(shown, "description"), input_value(shown, "answer.method")) == ("Seed 17", "GIN")
    assert re.search(r'value="code" checked', shown)


def test_a_fact_sheet_that_is_refused_keeps_the_answers(site: Scenario) -> None:
    submission = site.submit()
    save_question(Question(competition=site.competition, key="size", title="Size", kind="number", is_required=True))
    page = reverse("web:submission-fact-sheet", args=[submission.pk])
    shown = send(user_client(site.member()), page, page, **{"answer.size": "many"})
    assert input_value(shown, "answer.size") == "many"
    submission.refresh_from_db()
    assert submission.fact_sheet != {"size": "many"}


def test_a_bundle_without_a_file_keeps_the_queue(site: Scenario) -> None:
    page = reverse("web:bundles")
    shown = send(user_client(site.organizer), page, reverse("web:bundle-send"), queue=str(site.queue.pk))
    assert "No file was chosen" in shown
    assert f'<option value="{site.queue.pk}" selected>' in shown


def test_a_link_to_what_comes_first_is_kept(site: Scenario) -> None:
    stranger = user_client(person())
    page = reverse("web:overview", args=[site.competition.slug])
    shown = send(stranger, page, reverse("web:team-create", args=[site.competition.slug]), name="New")
    assert re.search(r'role="alert">.*<a href="[^"]*rules/">Go there</a>', shown, re.DOTALL)


def test_a_long_text_is_not_put_into_the_session(site: Scenario) -> None:
    member, page = user_client(site.member()), reverse("web:team", args=[site.competition.slug])
    shown = send(member, page, reverse("web:team-invite", args=[site.competition.slug]), person="x" * 30_000)
    assert input_value(shown, "person") == ""


def test_a_password_is_never_kept(site: Scenario) -> None:
    member, slug = user_client(site.member()), site.competition.slug
    page = f"http://testserver{reverse('web:team', args=[slug])}"
    fields = {"person": "nobody-at-all", "password": "secret", "old_password": "secret"}
    member.post(reverse("web:team-invite", args=[slug]), fields, headers={"Referer": page})
    assert member.session[KEY]["values"] == {"person": "nobody-at-all"}


def test_htmx_gets_a_refusal_as_a_toast_and_no_page(site: Scenario) -> None:
    client = user_client(site.member())
    url = reverse("web:team-rename", args=[site.competition.slug])
    site.join("Taken")
    answer = client.post(url, {"name": "Taken"}, headers={"HX-Request": "true"})
    toast = json.loads(answer["HX-Trigger"])["toast"]
    assert (answer.status_code, answer.content, toast["tag"]) == (409, b"", "error")
    assert "Taken" in toast["text"]


# --- values that no page of the site offers: a refusal that names the field, and nothing is done


@pytest.mark.parametrize(
    ("path", "values", "explanation"),
    [
        ("submissions/", {"action": "explode", "chosen": ["1"]}, "What to do: Select a valid choice"),
        ("teams/", {"chosen": ["1"]}, "What to do: This field is required"),
        ("registrations/", {"action": "deny", "chosen": ["one", "²"], "reason": "x"}, "No registration was chosen"),
        (
            "teams/",
            {"action": "disqualify", "chosen": ["1"], "reason": "x" * 501},
            "Reason: Ensure this value has at most 500",
        ),
        ("settings/", {"section": "nowhere"}, "Section: Select a valid choice"),
        ("settings/organizers/", {"action": "promote", "organizer": "root"}, "Action: Select a valid choice"),
        ("settings/visibility/", {"action": "sell"}, "Action: Select a valid choice"),
        ("images/delete/", {}, "The image"),
    ],
)
def test_what_the_workspace_does_not_offer_is_refused_by_its_field(
    site: Scenario, path: str, values: dict[str, Any], explanation: str
) -> None:
    answer = user_client(site.organizer).post(f"/host/competitions/{site.competition.slug}/{path}", values)
    assert answer.status_code == 422
    assert explanation in answer.content.decode()


def test_a_bundle_for_a_queue_that_one_may_not_use_is_refused_and_not_sent_elsewhere(site: Scenario) -> None:
    others = Queue.objects.create(name="others", owner=person())
    file = SimpleUploadedFile("a.zip", b"PK")
    answer = user_client(site.organizer).post(reverse("web:bundle-send"), {"file": file, "queue": others.pk})
    assert answer.status_code == 422
    assert "Queue: Select a valid choice" in answer.content.decode()
    assert not BundleImport.objects.exists()


@pytest.mark.parametrize(("page", "field"), [("pages/new/", "body"), ("rules/", "text")])
def test_a_preview_is_shown_whatever_else_the_form_holds(site: Scenario, page: str, field: str) -> None:
    client, headers = user_client(site.organizer), {"HX-Request": "true"}
    url = f"/host/competitions/{site.competition.slug}/{page}"
    for values in ({field: "**bold**", "format": "runes"}, {field: "**bold**", "text": "**bold**", "body": "**bold**"}):
        answer = client.post(url, {"preview": "yes"} | values, headers=headers)
        assert answer.status_code == 200
        assert "<strong>bold</strong>" in answer.content.decode()
    answer = client.post(url, {"preview": "yes", field: "no\0text"}, headers=headers)
    assert answer.status_code == 200, "what no text may hold shows nothing, and fails nowhere"
