"""Questions at registration, its deadline, and the series that a competition is a track of."""

from __future__ import annotations

import csv
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Series
from competitions.catalog.services import rules_publish
from competitions.organize.workspace.registrations import registrations_csv
from competitions.teams import refusals
from competitions.teams.models import Registration, RegistrationQuestion
from competitions.teams.services import register
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import Scenario, person, scenario

pytestmark = pytest.mark.django_db
ANSWERS = {"name": "A Chemist", "field": "academia", "honour": True}


@pytest.fixture
def asking(site: Scenario) -> Scenario:
    kinds = RegistrationQuestion.Kind
    for index, (key, title, kind, choices) in enumerate(
        [
            ("name", "Real name", kinds.TEXT, []),
            ("field", "Where do you work?", kinds.SELECT, ["academia", "industry"]),
            ("honour", "I will not label the test set by hand", kinds.CHECKBOX, []),
        ]
    ):
        question = RegistrationQuestion(
            competition=site.competition,
            key=key,
            title=title,
            kind=kind,
            choices=choices,
            index=index,
            is_required=True,
        )
        question.full_clean()
        question.save()
    return site


def test_answers_are_kept_with_the_registration(asking: Scenario) -> None:
    registration = register(
        user=person(), competition=asking.competition, rules_version=1, now=asking.now, answers=ANSWERS
    )
    assert registration.answers == ANSWERS


@pytest.mark.parametrize(
    ("answers", "title"),
    [
        ({**ANSWERS, "name": " "}, "Real name"),
        ({**ANSWERS, "field": "circus"}, "field: 'circus' is not one of academia, industry"),
        ({**ANSWERS, "honour": False}, "I will not label the test set by hand"),
        ({}, "Real name"),
    ],
)
def test_an_answer_that_is_missing_or_wrong_is_named_and_nobody_is_registered(
    asking: Scenario, answers: dict[str, Any], title: str
) -> None:
    who = person()
    with pytest.raises(refusals.RegistrationInvalid, match=title):
        register(user=who, competition=asking.competition, rules_version=1, now=asking.now, answers=answers)
    assert not Registration.objects.filter(user=who).exists()


def test_an_answer_to_no_question_is_named(asking: Scenario) -> None:
    with pytest.raises(
        refusals.RegistrationInvalid, match="shoe_size: nobody asks this; the keys are name, field, honour"
    ):
        register(
            user=person(),
            competition=asking.competition,
            rules_version=1,
            now=asking.now,
            answers={**ANSWERS, "shoe_size": "43"},
        )


def test_answers_need_not_be_said_again_when_the_rules_change(asking: Scenario) -> None:
    who = person()
    register(user=who, competition=asking.competition, rules_version=1, now=asking.now, answers=ANSWERS)
    asking.competition.registration_questions.get(key="name").delete()
    rules_publish(competition=asking.competition, text="Other rules", now=asking.now)
    again = register(user=who, competition=asking.competition, rules_version=2, now=asking.now)
    assert again.answers == {"field": "academia", "honour": True}
    assert again.rules_version.number == 2


def test_a_form_that_is_refused_comes_back_with_what_was_typed(asking: Scenario) -> None:
    client = user_client(person())
    url = reverse("web:join", args=[asking.competition.slug])
    refused = client.post(url, {"rules_version": 1, "answer.name": "A Chemist", "answer.honour": "true"})
    page = refused.content.decode()
    assert refused.status_code == 422
    assert 'value="A Chemist"' in page
    assert "“Where do you work?” needs an answer." in page
    assert (
        client.post(
            url, {"rules_version": 1, **{f"answer.{key}": answer for key, answer in ANSWERS.items()}}
        ).status_code
        == 302
    )
    assert Registration.objects.get(answers__name="A Chemist").answers == ANSWERS


def test_a_robot_reads_the_questions_and_answers_them(asking: Scenario) -> None:
    client = user_client(person())
    questions = client.get(reverse("api:competition", args=[asking.competition.slug])).json()["registration_questions"]
    assert [(question["key"], question["kind"], question["is_required"]) for question in questions] == [
        ("name", "text", True),
        ("field", "select", True),
        ("honour", "checkbox", True),
    ]
    url = reverse("api:registration", args=[asking.competition.slug])
    refused = client.post(url, {"rules_version": 1}, content_type="application/json")
    assert refused.status_code == 422
    assert set(refused.json()["faults"]) == set(ANSWERS)
    response = client.post(url, {"rules_version": 1, "answers": ANSWERS}, content_type="application/json")
    assert response.json()["answers"] == ANSWERS


@pytest.mark.parametrize(
    ("kind", "choices"), [("select", []), ("select", ["one"]), ("select", "ab"), ("select", ["a", "a"])]
)
def test_a_question_that_cannot_be_answered_is_refused(site: Scenario, kind: str, choices: Any) -> None:
    question = RegistrationQuestion(competition=site.competition, key="k", title="T", kind=kind, choices=choices)
    with pytest.raises(ValidationError, match="two different texts"):
        question.full_clean()


def test_organizers_download_answers_that_no_spreadsheet_takes_for_a_formula(asking: Scenario) -> None:
    register(
        user=person(),
        competition=asking.competition,
        rules_version=1,
        now=asking.now,
        answers={**ANSWERS, "name": "=1+1"},
    )
    text = registrations_csv(Registration.objects.filter(answers__name="=1+1")).content.decode()
    (row,) = csv.DictReader(text.splitlines())
    assert row["name"] == "'=1+1"
    assert row["field"] == "academia"


def test_registration_closes_for_new_people_alone(site: Scenario) -> None:
    site.competition.registration_closes_at = site.now
    site.competition.save()
    with refuses(refusals.REGISTRATION_CLOSED, match="closed at"):
        register(user=person(), competition=site.competition, rules_version=1, now=site.now)
    rules_publish(competition=site.competition, text="Other rules", now=site.now)
    again = register(
        user=site.member(), competition=site.competition, rules_version=2, now=site.now + timedelta(days=1)
    )
    assert again.state == Registration.State.APPROVED


def test_one_person_has_one_team_in_each_track_of_a_series(site: Scenario) -> None:
    series = Series.objects.create(slug="lsc", title="Large-scale challenge")
    track = scenario(now=site.now)
    for track_site in (site, track):
        track_site.competition.series = series
        track_site.competition.save()
    user = site.member()
    assert track.join("Second track", user=user).captain == user
    page = Client().get(reverse("web:series", args=["lsc"])).content.decode()
    assert site.competition.title in page
    assert track.competition.title in page
    assert (
        "Large-scale challenge" in Client().get(reverse("web:overview", args=[site.competition.slug])).content.decode()
    )
