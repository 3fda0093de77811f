"""Phases that take tables: what a request sees, what the check finds, and whose fault it is."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from competitions.catalog.models import Phase, validate_prediction_format
from competitions.resources.models import Resource
from competitions.resources.storage import store_bytes
from competitions.runs.planning import plan_for
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind, Reason, State
from competitions.winners.comparison import CannotCompare, compare, read_predictions
from core.background.bounded import Bounds, Call, ChildFailed, OverBounds, run_bounded
from core.refusals import InvalidFile
from scoring.cli import main
from tests.permissions import body_text, user_client
from tests.scenario import Scenario, resource, zip_bytes
from workers.protocol.planning import RESULT

TABLE = {"id_column": "id", "columns": [{"name": "price", "minimum": 0}]}
SAMPLE = "id,price\n1,0\n2,0\n"
RIGHT = "id,price\n2,1.5\n1,0.5\n"
BOUNDS = Bounds(wall_s=30, cpu_s=20, memory_bytes=2**31)


@pytest.fixture
def tables(site: Scenario) -> Scenario:
    sample = resource(site.organizer, Resource.Kind.SAMPLE_SUBMISSION, SAMPLE.encode())
    Resource.objects.filter(pk=sample.pk).update(file_name="sample_submission.csv")
    Phase.objects.filter(pk=site.phase.pk).update(prediction_format={"table": TABLE}, sample_submission=sample)
    site.phase.refresh_from_db()
    return site


def sent(site: Scenario, text: str | bytes, name: str = "predictions.csv") -> Submission:
    content = text if isinstance(text, bytes) else text.encode()
    return site.submit(content=content, name=name, kind=Kind.PREDICTION)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (RIGHT, "predictions.csv"),
        (gzip.compress(RIGHT.encode()), "predictions.csv.gz"),
        (zip_bytes({"predictions.csv": RIGHT}), "predictions.zip"),
        ('{"id": 1, "price": 2}\n{"id": 2, "price": 3}\n', "predictions.jsonl"),
        (RIGHT.encode("utf-16"), "predictions.csv"),
    ],
    ids=["csv", "gzip", "zip", "json lines", "UTF-16"],
)
def test_a_right_table_is_queued_as_it_is(tables: Scenario, content: str | bytes, name: str) -> None:
    submission = sent(tables, content, name)
    assert (submission.status, submission.file_name) == (State.QUEUED, name)
    mounts = plan_for(submission, tables.phase.tasks.get()).stages[-1].mounts
    assert [mount.unpack for mount in mounts if mount.target == RESULT] == [False]  # type: ignore[union-attr]  # a file


@pytest.mark.parametrize(
    ("content", "code", "explanation"),
    [
        ("id,price\n1,2\n", "missing_ids", "1 id is missing: 2"),
        ("id,price\n1,2\n2,x\n", "wrong_type", "'x' is not a number in line 3"),
        ("id,price\n1,-2\n2,3\n", "out_of_range", "the smallest allowed is 0"),
        ("id,cost\n1,-2\n2,3\n", "missing_column", "'price' is missing"),
    ],
)
def test_a_wrong_table_is_refused_before_it_is_queued(
    tables: Scenario, content: str, code: str, explanation: str
) -> None:
    submission = sent(tables, content)
    run = submission.runs.get()
    assert (submission.status, submission.reason, submission.is_charged, run.code) == (
        State.FAILED,
        Reason.FILE_INVALID,
        False,
        code,
    )
    assert explanation in run.detail


@pytest.mark.parametrize(
    ("content", "name", "code"),
    [
        (b"PAR1", "predictions.csv", "unknown_format"),
        (RIGHT, "predictions.exe", "wrong_file_name"),
        (zip_bytes({"model.py": "print()"}), "predictions.zip", "wrong_file_name"),
    ],
)
def test_what_a_request_can_see_is_refused_at_once(
    tables: Scenario, content: str | bytes, name: str, code: str
) -> None:
    with pytest.raises(InvalidFile) as refused:
        sent(tables, content, name)
    assert refused.value.code == code
    assert not Submission.objects.exists()


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"PK\x03\x04", "p.xlsx", "it is a spreadsheet; in Excel, choose Save As and then CSV UTF-8"),
        (b"\xd0\xcf\x11\xe0 old", "p.csv", "it is a spreadsheet; in Excel, choose Save As and then CSV UTF-8"),
        (
            "id,price\n1,2\n2,\xe9\n".encode("latin-1"),
            "p.csv",
            "line 3: it is not UTF-8 text (it holds the byte 0xE9, which is “é”",
        ),
        ("id,price\n", "p.csv", "it has a header ('id', 'price') and no row below it"),
        (
            'id,price\n1,"1,234.5"\n2,0\n',
            "p.csv",
            "in line 2 (id '1'); give a number in every row, with a decimal point",
        ),
        (
            "id,price\n1,2\n1,3\n2,1\n2,2\n",
            "p.csv",
            "1 is in lines 2 and 3; 2 is in lines 4 and 5; give each id once",
        ),
    ],
    ids=["workbook", "old workbook", "Latin-1", "header alone", "thousands", "repeated ids"],
)
def test_site_and_client_say_the_same_of_a_wrong_file(
    tables: Scenario, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | bytes, name: str, words: str
) -> None:
    sample, schema, path = tmp_path / "sample.csv", tmp_path / "schema.json", tmp_path / name
    sample.write_text(SAMPLE)
    schema.write_text(json.dumps(TABLE))
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main(["check", "table", str(path), "--sample", str(sample), "--schema", str(schema), "--json"]) == 2
    of_client = json.loads(capsys.readouterr().out)["error"]["message"]
    assert words in of_client
    try:
        of_site = sent(tables, content, name).runs.get().detail
    except InvalidFile as refusal:
        of_site = refusal.detail
    assert of_site == of_client


def test_a_damaged_sample_submission_is_the_organizers_fault(tables: Scenario) -> None:
    Resource.objects.update(file_name="sample.parquet")
    submission = sent(tables, RIGHT)
    assert (submission.status, submission.reason, submission.is_charged) == (State.FAILED, Reason.SETUP_ERROR, False)
    assert submission.runs.get().code == "bad_reference"


def test_an_empty_list_leads_to_the_next_step(tables: Scenario) -> None:
    client, url = user_client(tables.member()), reverse("web:submissions", args=[tables.competition.slug])
    page = body_text(client.get(url, {"phase": tables.phase.slug}))
    sample = reverse("web:download", args=[tables.competition.slug, tables.phase.slug, "sample_submission"])
    assert "You have not submitted anything yet." in page
    assert f'href="{sample}"' in page
    assert body_text(client.get(sample)) == SAMPLE
    assert 'class="filters"' not in page, "there is nothing to filter"
    Phase.objects.filter(pk=tables.phase.pk).update(closes_at=tables.now - timedelta(days=1))
    closed = body_text(client.get(url, {"phase": tables.phase.slug}))
    assert "You have not submitted anything yet." in closed
    assert f'href="{sample}"' not in closed
    assert 'class="filters"' in body_text(client.get(url, {"show": "failed"}))


def test_without_a_sample_any_ids_are_taken(tables: Scenario) -> None:
    Phase.objects.update(sample_submission=None)
    assert sent(tables, "id,price\n7,1\n").status == State.QUEUED


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"table": {"id_column": "id"}}, "the table: columns is missing; add it."),
        ({"table": TABLE, "rows": 3}, 'or "table" alone'),
        ({"table": {**TABLE, "columns": [{"name": "p", "type": "date"}]}}, "its type is 'date'"),
    ],
)
def test_a_wrong_description_of_a_table_is_refused(value: dict[str, Any], message: str) -> None:
    validate_prediction_format({"table": TABLE})
    with pytest.raises(ValidationError, match=message):
        validate_prediction_format(value)


def test_a_call_in_a_new_interpreter_answers_fails_or_is_ended() -> None:
    def run(function: str, bounds: Bounds = BOUNDS, **arguments: Any) -> Any:
        return run_bounded(Call(function, arguments), bounds, is_wanted=lambda: True, every_s=0.1)

    assert run("json:loads", s="[1]") == [1]
    with pytest.raises(ChildFailed):
        run("no_such_module:f")
    with pytest.raises(OverBounds, match="time"):
        run("subprocess:call", Bounds(wall_s=1.0, cpu_s=1, memory_bytes=2**30), args=["sleep", "60"])
    with pytest.raises(OverBounds, match="memory"):
        run("os:abort")


@pytest.mark.django_db
def test_tables_of_a_winner_are_compared_by_id() -> None:
    schema = {"table": {"id_column": "id", "columns": [{"name": "price"}, {"name": "kind", "type": "text"}]}}
    sent = read_predictions(store_bytes(b"id,price,kind\n1,1.5,a\n2,2.5,b\n"), "predictions.csv", schema)
    output = zip_bytes({"run.log": "done", "submission.csv": "id,price,kind\n2,2.5,b\n1,2.0,a\n"})
    reproduction = read_predictions(store_bytes(output), "predictions.zip", schema)
    assert asdict(compare(reproduction, sent)) == {
        "rows": 2,
        "equal_share": 0.5,
        "mae": 0.25,
        "has_words": False,
        "largest": 0.5,
        "notes": [],
    }
    with pytest.raises(CannotCompare, match="left no table"):
        read_predictions(store_bytes(zip_bytes({"run.log": "done"})), "predictions.zip", schema)
