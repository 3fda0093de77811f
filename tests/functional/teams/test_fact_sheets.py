"""Fact sheets: questions, refusals on every path, readers of answers, and columns on boards."""

from __future__ import annotations

import csv
import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Column, Leaderboard
from competitions.factsheets.models import Question
from competitions.factsheets.services import (
    FactSheetInvalid,
    delete_question,
    fact_sheet_questions,
    read_fact_sheet,
    save_question,
)
from competitions.leaderboards.reading import board as reading
from competitions.leaderboards.reading.export import csv_lines
from competitions.leaderboards.services import board_rebuild
from competitions.runs.leases import reports
from competitions.submissions.annotations import FACT_SHEET_CLOSED, NOT_YOUR_FACT_SHEET, fact_sheet_edit
from competitions.submissions.models import Submission
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import Kind
from tests.admin_forms import save_form
from tests.answers import read_result
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import FILE_NAME, Scenario, lease, prediction_bytes
from tests.shared_rows import shared

ANSWERS = {
    "method": "GIN",
    "params": "61000000",
    "external": "none",
    "code": "https://example.org/code",
    "honest": "true",
}


def ask(site: Scenario, key: str, kind: str = "text", **fields: Any) -> Question:
    question = Question(competition=site.competition, key=key, title=key.title(), kind=kind, **fields)
    return save_question(question)


def faults_in(refusal: FactSheetInvalid) -> list[str]:
    faults = refusal.extra["faults"]
    assert isinstance(faults, dict)
    return list(faults)


@shared
def inquiry(common_site: Scenario) -> Scenario:
    site = common_site
    ask(site, "method", is_required=True, is_public=True, is_on_board=True)
    ask(site, "params", "number", is_required=True, is_public=True, is_on_board=True)
    ask(site, "external", "select", choices=["none", "ImageNet"])
    ask(site, "code", "url", is_public=True, is_on_board=True)
    ask(site, "honest", "checkbox", is_required=True)
    return site


def sent(site: Scenario, answers: object = ANSWERS, **arguments: Any) -> Submission:
    upload = site.upload(prediction_bytes(), user=arguments.get("user"))
    described: dict[str, Any] = {
        "user": site.member(),
        "phase": site.phase,
        "kind": Kind.PREDICTION,
    } | arguments
    now = described.pop("now", site.now)
    return submission_create(NewSubmission(upload=upload, fact_sheet=answers, **described), now=now)


def test_a_key_may_have_single_blanks_as_on_codabench(site: Scenario) -> None:
    ask(site, "method family", "select", choices=["graph", "tree"], is_public=True, is_on_board=True)
    page = user_client(site.member()).get(reverse("web:submissions", args=[site.competition.slug])).content.decode()
    assert 'id="answer-method-family" name="answer.method family"' in page
    assert 'for="answer-method-family"' in page
    assert sent(site, {"method family": "tree"}).fact_sheet == {"method family": "tree"}
    with pytest.raises(ValidationError, match="single blanks"):
        ask(site, "two  blanks")


def test_choices_that_are_truths_or_numbers_are_answered_as_such(site: Scenario) -> None:
    ask(site, "pretrained", "select", choices=["True", "False"])
    ask(site, "folds", "select", choices=["5", "10"])
    assert sent(site, {"pretrained": True, "folds": 10}).fact_sheet == {"pretrained": "True", "folds": "10"}


def test_answers_are_kept_in_their_types_with_who_gave_them(inquiry: Scenario) -> None:
    submission = sent(inquiry)
    assert submission.fact_sheet == {
        "method": "GIN",
        "params": 61_000_000,
        "external": "none",
        "code": "https://example.org/code",
        "honest": True,
    }
    (revision,) = submission.fact_sheet_revisions.all()
    assert (revision.answers, revision.changed_by) == (submission.fact_sheet, inquiry.member())


@pytest.mark.parametrize(
    ("change", "key", "explanation"),
    [
        ({"method": ""}, "method", "needs an answer"),
        ({"method": 7}, "method", "must be text"),
        ({"method": "x" * 2001}, "method", "2,000 are allowed"),
        ({"params": "many"}, "params", "not a finite number"),
        ({"params": "nan"}, "params", "not a finite number"),
        ({"params": "1e999"}, "params", "not a finite number"),
        ({"params": True}, "params", "not a finite number"),
        ({"params": [1]}, "params", "not a finite number"),
        ({"external": "JFT"}, "external", "not one of none, ImageNet"),
        ({"code": "javascript:alert(1)"}, "code", "not a web address"),
        ({"code": "example.org"}, "code", "not a web address"),
        ({"honest": "false"}, "honest", "needs a yes"),
        ({"honest": "maybe"}, "honest", "neither true nor false"),
        ({"colour": "red"}, "colour", "nobody asks this"),
    ],
)
def test_a_wrong_answer_is_refused_by_name_and_nothing_is_made(
    inquiry: Scenario, change: dict[str, Any], key: str, explanation: str
) -> None:
    with pytest.raises(FactSheetInvalid, match=explanation) as caught:
        sent(inquiry, ANSWERS | change)
    assert faults_in(caught.value) == [key]
    assert not Submission.objects.exists()


def test_all_faults_are_named_at_once(inquiry: Scenario) -> None:
    with pytest.raises(FactSheetInvalid) as caught:
        sent(inquiry, {"params": "x"})
    assert set(faults_in(caught.value)) == {"method", "params", "honest"}


@pytest.mark.parametrize("answers", ["text", ["list"], 3])
def test_a_fact_sheet_that_is_no_mapping_is_refused(inquiry: Scenario, answers: object) -> None:
    with pytest.raises(FactSheetInvalid, match="mapping"):
        sent(inquiry, answers)


def test_the_api_asks_and_refuses_and_keeps(inquiry: Scenario) -> None:
    client = user_client(inquiry.member())
    sheet = client.get(reverse("api:fact-sheet", args=[inquiry.competition.slug, inquiry.phase.slug])).json()
    assert [(question["key"], question["type"], question["is_required"]) for question in sheet][:2] == [
        ("method", "text", True),
        ("params", "number", True),
    ]
    url = reverse("api:submissions")

    def post(answers: object) -> Any:
        body = {"phase": inquiry.phase.pk, "kind": "prediction", "fact_sheet": json.dumps(answers)}
        return client.post(url, body | {"file": SimpleUploadedFile(FILE_NAME, prediction_bytes())})

    refused = post({"method": "GIN"})
    assert (refused.status_code, refused.json()["code"]) == (422, "fact_sheet_invalid")
    assert set(refused.json()["faults"]) == {"params", "honest"}
    assert post(ANSWERS).json()["fact_sheet"]["params"] == 61_000_000


def test_the_page_asks_and_refuses_and_keeps(inquiry: Scenario) -> None:
    client = user_client(inquiry.member())
    page = client.get(reverse("web:submissions", args=[inquiry.competition.slug])).content.decode()
    assert 'name="answer.params"' in page
    url = reverse("web:submit", args=[inquiry.competition.slug])
    for answers, count in (({"method": "GIN"}, 0), (ANSWERS, 1)):
        form = {"phase": inquiry.phase.slug, "kind": "prediction"} | {
            f"answer.{key}": value for key, value in answers.items()
        }
        client.post(url, form | {"file": SimpleUploadedFile(FILE_NAME, prediction_bytes())})
        assert Submission.objects.count() == count


def test_a_phases_own_question_stands_for_the_one_of_the_competition(inquiry: Scenario) -> None:
    ask(inquiry, "method", phase=inquiry.sealed, is_required=False)
    ask(inquiry, "runtime", "number", phase=inquiry.sealed)
    by_phase = {
        phase.slug: {question.key: question.is_required for question in fact_sheet_questions(phase)}
        for phase in inquiry.phases.values()
    }
    assert by_phase["test-dev"]["method"]
    assert not by_phase["test-challenge"]["method"]
    assert "runtime" in by_phase["test-challenge"]
    assert "runtime" not in by_phase["test-dev"]


def test_the_team_edits_until_the_deadline_and_history_stays(inquiry: Scenario) -> None:
    submission, client = sent(inquiry), user_client(inquiry.member())
    url = reverse("api:submission-fact-sheet", args=[submission.pk])
    changed = client.put(url, {"fact_sheet": ANSWERS | {"method": "Transformer"}}, content_type="application/json")
    assert changed.json()["fact_sheet"]["method"] == "Transformer"
    page = client.get(reverse("web:submission-fact-sheet", args=[submission.pk])).content.decode()
    assert "GIN" in page
    assert "Transformer" in page
    form = {f"answer.{key}": value for key, value in ANSWERS.items()}
    assert client.post(reverse("web:submission-fact-sheet", args=[submission.pk]), form).status_code == 302
    assert submission.fact_sheet_revisions.count() == 3
    closes_at = inquiry.phase.closes_at
    assert closes_at is not None
    edit: dict[str, Any] = {"submission": submission, "answers": ANSWERS | {"method": "late"}, "by": inquiry.member()}
    with refuses(FACT_SHEET_CLOSED, match="2030-05-31 12:00 UTC"):
        fact_sheet_edit(now=closes_at, **edit)
    assert not fact_sheet_edit(now=inquiry.now, **edit | {"answers": ANSWERS})
    assert submission.fact_sheet_revisions.count() == 3


def test_only_the_team_itself_answers(inquiry: Scenario) -> None:
    submission = sent(inquiry)
    for who in (inquiry.organizer, inquiry.member(inquiry.join("Other"))):
        with refuses(NOT_YOUR_FACT_SHEET):
            fact_sheet_edit(submission=submission, answers=ANSWERS, by=who, now=inquiry.now)


def test_public_answers_stand_on_board_api_and_export_and_others_do_not(inquiry: Scenario) -> None:
    inquiry.score(sent(inquiry), 0.5)
    board: Leaderboard = inquiry.phase.leaderboard
    page = Client().get(reverse("web:leaderboard", args=[inquiry.competition.slug])).content.decode()
    answer = Client().get(reverse("api:leaderboard", args=[inquiry.competition.slug, inquiry.phase.slug])).json()
    (line,) = csv.DictReader(csv_lines(board))
    assert "61,000,000" in page
    assert 'href="https://example.org/code"' in page
    assert "Honest" not in page
    assert answer["rows"][0]["scores"]["fact:params"] == line["fact:params"] == "61,000,000"
    assert "fact:external" not in answer["rows"][0]["scores"]
    assert "fact:external" not in line


def test_an_answer_in_the_export_is_no_formula_and_a_number_stays_one(inquiry: Scenario) -> None:
    inquiry.score(sent(inquiry, ANSWERS | {"method": "=HYPERLINK(0)", "params": "-1"}), 0.5)
    (row,) = csv.DictReader("".join(csv_lines(inquiry.phase.leaderboard)).splitlines())
    assert (row["fact:method"], row["fact:params"]) == ("'=HYPERLINK(0)", "-1")


def test_a_rows_own_page_shows_what_is_public_and_nothing_else(inquiry: Scenario) -> None:
    Question.objects.filter(key="params").update(is_on_board=False)
    inquiry.score(sent(inquiry), 0.5)
    entry = inquiry.phase.leaderboard.entries.get()
    page = Client().get(reverse("web:entry", args=[entry.pk])).content.decode()
    assert "61,000,000" in page
    assert "0.5000" in page
    assert "External" not in page
    assert (
        "61,000,000" not in Client().get(reverse("web:leaderboard", args=[inquiry.competition.slug])).content.decode()
    )


def test_a_board_is_sorted_by_a_number_of_the_fact_sheet(inquiry: Scenario) -> None:
    for name, params in (("Large", "9e9"), ("Small", "1e3")):
        user = inquiry.member(inquiry.join(name))
        inquiry.score(sent(inquiry, ANSWERS | {"params": params}, user=user), 0.5)
    page = reading.board_page(inquiry.phase.leaderboard, sort="fact:params")
    assert [row.entry.team.name for row in page.rows] == ["Small", "Large"]


def test_an_edited_answer_and_a_changed_question_show_on_the_board(inquiry: Scenario) -> None:
    submission = inquiry.score(sent(inquiry), 0.5)
    fact_sheet_edit(
        submission=submission, answers=ANSWERS | {"method": "Transformer"}, by=inquiry.member(), now=inquiry.now
    )
    board: Leaderboard = inquiry.phase.leaderboard
    assert board.entries.get().values["fact:method"] == "Transformer"
    question = Question.objects.get(key="method")
    url = reverse("organize:question", args=[inquiry.competition.slug, "fact-sheet", question.pk])
    assert save_form(user_client(inquiry.organizer), url, is_on_board=None).status_code == 302
    assert "fact:method" not in board.entries.get().values
    waiting = sent(inquiry)
    question.kind, question.is_on_board = "number", True
    save_question(question)
    inquiry.score(waiting, 0.4)
    other = inquiry.member(inquiry.join())
    inquiry.score(sent(inquiry, ANSWERS | {"method": "7"}, user=other), 0.5)
    rows = reading.board_page(board, sort="fact:method").rows
    assert [row.entry.values.get("fact:method") for row in rows] == [7, None], "a word is no number"


def test_boards_are_made_again_for_the_questions_that_concern_them_alone(inquiry: Scenario) -> None:
    def versions() -> list[int]:
        return list(Leaderboard.objects.order_by("pk").values_list("version", flat=True))

    before = versions()
    honest = Question.objects.get(key="honest")
    honest.title = "Are you honest?"
    save_question(honest)
    ask(inquiry, "other")
    delete_question(honest)
    assert versions() == before
    own = ask(inquiry, "method", phase=inquiry.sealed)
    assert versions() != before, "on that phase's board it takes the place of one that is shown"
    before, own.key = versions(), "own_method"
    save_question(own)
    assert versions() != before, "and gives it back"
    before = versions()
    delete_question(Question.objects.get(key="code"))
    assert versions() != before


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "select", "choices": ["one"]},
        {"kind": "select", "choices": "text"},
        {"kind": "text", "compared_with": "mae"},
        {"key": "a/b"},
        {"is_on_board": True},
    ],
)
def test_a_question_that_cannot_work_is_refused(site: Scenario, fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ask(site, **({"key": "k"} | fields))


def test_the_database_refuses_a_second_question_of_a_key(inquiry: Scenario) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Question.objects.create(competition=inquiry.competition, key="method", title="again")


def test_a_reported_score_is_compared_with_the_one_found_where_it_may_be_seen(site: Scenario) -> None:
    ask(site, "reported", "number", compared_with="mae")
    submission = site.score(sent(site, {"reported": "0.08"}), 0.0853)
    page = user_client(site.member()).get(reverse("web:submission", args=[submission.pk])).content.decode()
    assert "reported 0.0800, found here 0.0853, difference \N{MINUS SIGN}0.0053" in page
    upload = site.upload(prediction_bytes(), FILE_NAME.replace("test-dev", "test-challenge"))
    sealed = submission_create(
        NewSubmission(
            user=site.member(), phase=site.sealed, upload=upload, kind=Kind.PREDICTION, fact_sheet={"reported": 0.08}
        ),
        now=site.now,
    )
    site.score(sealed, 0.0853)
    page = user_client(site.member()).get(reverse("web:submission", args=[sealed.pk])).content.decode()
    assert "difference" not in page


@pytest.mark.parametrize(
    ("reported", "shown"),
    [
        (0.08530, "reported 0.0853, found here 0.0853, difference +0.0000"),
        (0.08539, "reported 0.0854, found here 0.0853, difference +0.0001"),
    ],
)
@pytest.mark.parametrize("score", [0.08526, 0.0853, 0.08534])
def test_the_difference_tells_no_digits_that_the_score_is_shown_without(
    site: Scenario, score: float, reported: float, shown: str
) -> None:
    ask(site, "reported", "number", compared_with="mae")
    submission = site.score(sent(site, {"reported": reported}), score)
    page = user_client(site.member()).get(reverse("web:submission", args=[submission.pk])).content.decode()
    assert shown in page


def test_results_over_seeds_are_one_entry_with_mean_and_deviation(site: Scenario) -> None:
    board: Leaderboard = site.phase.leaderboard
    board.columns.all().delete()
    Column.objects.create(leaderboard=board, key="acc", title="Acc", spread_key="acc_std", is_primary=True)
    Column.objects.create(leaderboard=board, key="acc_std", title="Deviation", is_hidden=True, index=1)
    submission = site.submit()
    scores = {"acc": 0.7174, "acc_std": 0.0029}
    body = {"outcome": "finished", "scores": scores}
    reports.run_complete(**lease(site.claim()), result=read_result(body, columns=list(scores)), now=site.now)
    board_rebuild(board)
    page = Client().get(reverse("web:leaderboard", args=[site.competition.slug])).content.decode()
    assert "0.7174 ± 0.0029" in page
    own = user_client(site.member()).get(reverse("api:submission", args=[submission.pk])).json()
    assert own["scores"] == {"acc": "0.7174 ± 0.0029"}


def test_no_question_takes_no_answer_and_asks_for_none(site: Scenario) -> None:
    assert read_fact_sheet(fact_sheet_questions(site.phase), {}) == {}
    assert sent(site, None, now=site.now + timedelta(seconds=1)).fact_sheet == {}
    assert (
        'name="answer.'
        not in user_client(site.member()).get(reverse("web:submissions", args=[site.competition.slug])).content.decode()
    )
