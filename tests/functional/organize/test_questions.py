"""Questions in the workspace: added, changed once it was read what that does to answers, and deleted."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from competitions.factsheets.models import Question
from competitions.submissions.models import Submission
from competitions.teams.models import Registration, RegistrationQuestion
from tests.admin_forms import form_fields
from tests.permissions import user_client
from tests.scenario import Scenario, scenario


@pytest.fixture
def organizer(site: Scenario) -> Client:
    return user_client(site.organizer)


def new(site: Scenario, kind: str) -> str:
    return reverse("organize:question-new", args=[site.competition.slug, kind])


def page(site: Scenario, kind: str, question: RegistrationQuestion | Question) -> str:
    return reverse("organize:question", args=[site.competition.slug, kind, question.pk])


def test_a_new_question_gets_its_key_of_its_words_and_the_last_place(site: Scenario, organizer: Client) -> None:
    Question.objects.create(competition=site.competition, key="code_url", title="Code", index=4)
    form = form_fields(organizer.get(new(site, "fact-sheet"))) | {"title": "Number of parameters?", "kind": "number"}
    assert organizer.post(new(site, "fact-sheet"), form).status_code == 302
    question = Question.objects.get(title="Number of parameters?")
    assert (question.key, question.index, question.kind, question.phase) == ("number_of_parameters", 5, "number", None)
    listed = organizer.get(reverse("organize:questions", args=[site.competition.slug])).content.decode()
    assert listed.index("code_url") < listed.index("number_of_parameters")


def test_choices_are_written_one_a_line_and_fewer_than_two_are_refused(site: Scenario, organizer: Client) -> None:
    url = new(site, "registration")
    form = form_fields(organizer.get(url)) | {"title": "Where do you work?", "kind": "select", "choices": "academia"}
    refused = organizer.post(url, form | {"confirmed": organizer.post(url, form).context["form"].confirmation})
    assert refused.status_code == 422
    assert "Give at least two different texts" in refused.content.decode()
    form |= {"choices": "academia\r\nindustry\r\n"}
    confirm_page = organizer.post(url, form)
    assert organizer.post(url, form | {"confirmed": confirm_page.context["form"].confirmation}).status_code == 302
    assert RegistrationQuestion.objects.get().choices == ["academia", "industry"]


def test_those_who_registered_are_said_not_to_be_asked(site: Scenario, organizer: Client) -> None:
    assert Registration.objects.filter(competition=site.competition).count() == 1
    form = form_fields(organizer.get(new(site, "registration"))) | {"title": "Real name"}
    confirm_page = organizer.post(new(site, "registration"), form)
    assert (
        "1 person has registered already: they see it when they next accept a version of the rules."
        in confirm_page.content.decode()
    )
    assert not RegistrationQuestion.objects.exists()


def test_answers_are_opened_only_once_that_is_confirmed(site: Scenario, organizer: Client) -> None:
    question = Question.objects.create(competition=site.competition, key="code", title="Code", kind="url")
    Submission.objects.filter(pk=site.submit().pk).update(fact_sheet={"code": "https://example.org/"})
    form = form_fields(organizer.get(page(site, "fact-sheet", question))) | {"is_public": "on"}
    confirm_page = organizer.post(page(site, "fact-sheet", question), form)
    assert "Everybody reads the answers of 1 submission from now on." in confirm_page.content.decode()
    question.refresh_from_db()
    assert not question.is_public
    confirmed = form | {"confirmed": confirm_page.context["form"].confirmation}
    assert organizer.post(page(site, "fact-sheet", question), confirmed).status_code == 302
    question.refresh_from_db()
    assert question.is_public


def test_a_key_that_is_taken_is_said_at_its_field(site: Scenario, organizer: Client) -> None:
    Question.objects.create(competition=site.competition, key="code", title="Code")
    form = form_fields(organizer.get(new(site, "fact-sheet"))) | {"title": "Other", "key": "code"}
    refused = organizer.post(new(site, "fact-sheet"), form)
    assert refused.status_code == 422
    assert "There is a question with this key already." in refused.content.decode()


def test_a_question_is_deleted_once_what_that_does_was_read(site: Scenario, organizer: Client) -> None:
    question = Question.objects.create(
        competition=site.competition, key="code", title="Code", is_public=True, is_on_board=True
    )
    url = reverse("organize:question-delete", args=[site.competition.slug, "fact-sheet", question.pk])
    confirm_page = organizer.get(url)
    assert "Its column leaves the boards." in confirm_page.content.decode()
    Submission.objects.filter(pk=site.submit().pk).update(fact_sheet={"code": "x"})
    late = organizer.post(url, form_fields(confirm_page))
    assert late.status_code == 409
    assert organizer.post(url, form_fields(organizer.get(url))).status_code == 302
    assert not Question.objects.exists()
    assert Submission.objects.get().fact_sheet == {"code": "x"}


def test_a_question_of_another_competition_does_not_exist(site: Scenario, organizer: Client) -> None:
    elsewhere = scenario()
    question = Question.objects.create(competition=elsewhere.competition, key="code", title="Code")
    assert organizer.get(page(site, "fact-sheet", question)).status_code == 404
    assert organizer.get(new(site, "exam")).status_code == 404
