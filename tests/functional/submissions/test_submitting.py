"""Making a submission, and the words of every refusal."""

import contextlib
import json
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.test import Client

from accounts.models import User
from competitions.catalog.models import Phase
from competitions.catalog.services import rules_publish
from competitions.resources.models import Upload
from competitions.resources.uploads import UploadExpired, UploadIncomplete, upload_begin
from competitions.runs.models import Run
from competitions.submissions import refusals
from competitions.submissions.file_checks.kinds import choose_kind, zip_names
from competitions.submissions.models import Submission
from competitions.submissions.refusals import IMAGE_MISSING
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import Kind, State
from competitions.teams.refusals import NO_TEAM, NOT_REGISTERED, RULES_CHANGED
from competitions.teams.services import register
from core.refusals import InvalidFile, Refusal
from tests.refusals import refuses
from tests.scenario import CODE, FILE_NAME, ROWS, Scenario, person, prediction_bytes, zip_bytes


def test_an_accepted_submission_is_queued_once_per_task_and_rings_after_the_commit(
    site: Scenario, wakeups: list[str], django_capture_on_commit_callbacks: object
) -> None:
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        submission = site.submit()
        assert wakeups == []
    assert [(run.state, run.attempt) for run in submission.runs.all()] == [(State.QUEUED, 1)]
    assert submission.status == State.QUEUED
    assert submission.is_charged
    assert wakeups == [site.queue.wakeup_queue]


@pytest.mark.parametrize(
    ("content", "name", "code", "words"),
    [
        (prediction_bytes(), FILE_NAME.replace("test-dev", "test-challenge"), "wrong_split", "test-dev"),
        (prediction_bytes(), "predictions.npz", "wrong_file_name", FILE_NAME),
        (prediction_bytes(y=np.ones(ROWS, np.float32)), FILE_NAME, "wrong_key", "y_pred"),
        (prediction_bytes(ROWS + 1), FILE_NAME, "wrong_shape", str(ROWS)),
        (prediction_bytes(y_pred=np.ones(ROWS)), FILE_NAME, "wrong_dtype", "float32"),
        (prediction_bytes()[:100], FILE_NAME, "truncated", "upload the whole file again"),
        (b"smiles,gap\n", FILE_NAME, "not_a_zip", "npz"),
    ],
    ids=["other split", "name", "key", "shape", "dtype", "truncated", "csv"],
)
def test_a_wrong_prediction_file_is_refused_with_what_would_be_right(
    site: Scenario, content: bytes, name: str, code: str, words: str
) -> None:
    with pytest.raises(InvalidFile) as refusal:
        site.submit(content=content, name=name)
    assert refusal.value.code == code
    assert words.lower() in refusal.value.detail.lower()
    assert not Submission.objects.exists()


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (zip_bytes({"../evil.py": "x"}), "zip_path_outside"),
        (zip_bytes({"/etc/evil.py": "x"}), "zip_path_outside"),
        (zip_bytes({}), "zip_empty"),
        (zip_bytes({"predict.py": "print()"}), "no_metadata"),
        (zip_bytes({"metadata.yaml": "command: x"})[:-10], "zip_truncated"),
        (b"not a zip", "not_a_zip"),
    ],
    ids=["parent", "absolute", "empty", "no command", "truncated", "text"],
)
def test_a_code_submission_must_be_a_zip_that_can_be_unpacked_and_run(
    site: Scenario, content: bytes, code: str
) -> None:
    with pytest.raises(InvalidFile) as refusal:
        site.submit(kind=Kind.CODE, content=content, name="code.zip")
    assert refusal.value.code == code
    assert not Submission.objects.exists()


def test_a_phase_takes_what_began_while_it_was_open_and_nothing_else(site: Scenario) -> None:
    assert site.phase.closes_at is not None
    last = site.phase.closes_at - timedelta(microseconds=1)
    assert site.submit(at=last).received_at == last
    with pytest.raises(refusals.PhaseClosed, match="An upload counts if your team began it"):
        site.submit(at=site.phase.closes_at)
    with refuses(refusals.PHASE_NOT_OPEN, match="opens on"):
        site.submit(at=site.phase.opens_at - timedelta(microseconds=1))
    assert Submission.objects.count() == 1


def test_an_upload_that_began_in_time_counts_although_it_was_sent_in_after_the_end(site: Scenario) -> None:
    assert site.phase.closes_at is not None
    upload = site.upload(prediction_bytes(), at=site.phase.closes_at - timedelta(minutes=1))
    late = site.phase.closes_at + timedelta(minutes=10)
    submission = submission_create(
        NewSubmission(user=site.member(), phase=site.phase, upload=upload, kind=Kind.PREDICTION), now=late
    )
    assert submission.received_at == site.phase.closes_at - timedelta(minutes=1)


def test_a_file_that_was_uploaded_in_time_cannot_be_chosen_after_the_reveal(site: Scenario) -> None:
    assert site.sealed.closes_at is not None
    name = FILE_NAME.replace("test-dev", "test-challenge")
    upload = site.upload(prediction_bytes(), name, at=site.sealed.closes_at - timedelta(minutes=1))
    with pytest.raises(UploadExpired):
        submission_create(
            NewSubmission(user=site.member(), phase=site.sealed, upload=upload, kind=Kind.PREDICTION),
            now=upload.expires_at,
        )
    assert not Submission.objects.exists()


def test_an_unfinished_upload_is_refused_and_kept(site: Scenario) -> None:
    upload = upload_begin(user=site.member(), file_name=FILE_NAME, size_bytes=10, now=site.now)
    with pytest.raises(UploadIncomplete, match="0 of 10 bytes"):
        submission_create(
            NewSubmission(user=site.member(), phase=site.phase, upload=upload, kind=Kind.PREDICTION), now=site.now
        )
    assert upload.folder.exists()


def test_people_without_registration_team_or_current_rules_are_told_the_missing_step(site: Scenario) -> None:
    stranger = person()
    upload = site.upload(prediction_bytes(), user=stranger)

    def submit() -> Submission:
        return submission_create(
            NewSubmission(user=stranger, phase=site.phase, upload=upload, kind=Kind.PREDICTION), now=site.now
        )

    with refuses(NOT_REGISTERED, match="accept its rules"):
        submit()
    register(user=stranger, competition=site.competition, rules_version=1, now=site.now)
    with refuses(NO_TEAM, match="Team page"):
        submit()
    rules_publish(competition=site.competition, text="Be fairer.", now=site.now)
    with refuses(RULES_CHANGED, match="version 2 is in force"):
        submit()
    assert not Submission.objects.exists()


def test_the_phase_says_which_kinds_it_accepts(site: Scenario) -> None:
    site.phase.accepts_code = False
    site.phase.save()
    with pytest.raises(refusals.KindNotAccepted, match="accepts predictions"):
        site.submit(kind=Kind.CODE)


@pytest.mark.parametrize(
    ("later", "accepted"),
    [(timedelta(0), False), (timedelta(hours=12) - timedelta(microseconds=1), False), (timedelta(hours=12), True)],
    ids=["same moment", "last microsecond of the day", "midnight UTC"],
)
def test_the_daily_quota_resets_at_midnight_utc(site: Scenario, later: timedelta, accepted: bool) -> None:
    site.phase.max_submissions_per_day = 1
    site.phase.save()
    site.submit()
    refused = pytest.raises(refusals.QuotaUsed, match="2030-05-02 00:00 UTC")
    with contextlib.nullcontext() if accepted else refused:
        site.submit(at=site.now + later)
    assert (Submission.objects.count() == 2) is accepted


def test_a_week_begins_on_monday_and_the_total_never_resets(site: Scenario) -> None:
    site.phase.max_submissions_per_day, site.phase.max_submissions_per_week, site.phase.max_submissions = None, 1, 2
    site.phase.save()
    site.submit()  # 2030-05-01 is a Wednesday
    with pytest.raises(refusals.QuotaUsed, match="2030-05-06 00:00 UTC"):
        site.submit(at=site.now + timedelta(days=4))
    site.submit(at=site.now + timedelta(days=5))
    with pytest.raises(refusals.QuotaUsed, match="No more can be made in this phase"):
        site.submit(at=site.now + timedelta(days=12))


def test_the_quota_is_the_teams_and_counts_neither_other_teams_nor_other_phases(site: Scenario) -> None:
    site.phase.max_submissions_per_day = 1
    site.phase.save()
    site.submit()
    site.submit(team=site.join())
    site.submit(phase=site.sealed)
    assert Submission.objects.count() == 3


def test_the_same_idempotency_key_gives_the_same_submission_again(site: Scenario) -> None:
    first = site.submit(key="abc")
    assert site.submit(key="abc").pk == first.pk
    with refuses(refusals.IDEMPOTENCY_KEY_REUSED):
        site.submit(key="abc", content=prediction_bytes(value=2.0))
    assert Run.objects.count() == 1


def test_every_refusal_has_a_code_a_status_and_a_sentence(site: Scenario) -> None:
    site.phase.max_submissions = 1
    site.phase.save()
    site.submit()
    with pytest.raises(Refusal) as refusal:
        site.submit()
    assert refusal.value.code == "quota_used"
    assert refusal.value.http_status == 429
    assert refusal.value.detail.endswith(".")


@pytest.mark.parametrize(
    ("images", "is_refused"),
    [
        ([["podium/runtime:1"]], True),
        ([["lab/model:2"]], False),
        ([["podium/runtime:1"], ["lab/model:2"]], False),
        ([None], False),
        ([], False),
    ],
    ids=["on no host", "there", "on one of two hosts", "not known", "no worker"],
)
def test_an_image_that_no_worker_has_is_told_at_the_upload(
    site: Scenario, images: list[list[str] | None], is_refused: bool
) -> None:
    site.competition.queue.pull_policy = "never"
    site.competition.queue.save()
    site.phase.docker_image = "lab/model:2"
    site.phase.save()
    for names in images:
        worker = site.worker()
        worker.images = names
        worker.save()
    phase = Phase.objects.get(pk=site.phase.pk)
    with refuses(IMAGE_MISSING, match="lab/model:2") if is_refused else contextlib.nullcontext():
        site.submit(phase=phase)
    assert Submission.objects.count() == (0 if is_refused else 1)


DATASET = {"input_data/x.csv": "1", "reference_data/y.csv": "1"}


@pytest.mark.parametrize(
    ("name", "members", "kind"),
    [
        ("code.zip", {"predict.py": "x"}, Kind.CODE),
        ("code.zip", {"metadata.yaml": "command: ./run"}, Kind.CODE),
        ("results.zip", {"y.csv": "1"}, Kind.PREDICTION),
        ("results.zip", {"code/predict.py": "1"}, Kind.PREDICTION),
        ("y_pred.npz", {"y_pred.npy": "1", "predict.py": "1"}, Kind.PREDICTION),
        ("data.zip", DATASET, Kind.DATASET),
    ],
)
def test_of_several_kinds_a_file_is_what_it_looks_like(
    site: Scenario, tmp_path: Path, name: str, members: dict[str, str | bytes], kind: Kind
) -> None:
    site.phase.accepts_datasets = True
    path = tmp_path / "upload"
    path.write_bytes(zip_bytes(members))
    names = partial(zip_names, path, name)
    assert choose_kind(site.phase, names, name) == kind
    site.phase.accepts_predictions = site.phase.accepts_code = False
    assert choose_kind(site.phase, names, name) == Kind.DATASET, "there is no choice"


def test_a_file_of_a_kind_that_the_phase_does_not_take_has_to_be_named(site: Scenario) -> None:
    Phase.objects.filter(pk=site.phase.pk).update(accepts_datasets=True, accepts_predictions=False)
    phase = Phase.objects.get(pk=site.phase.pk)
    new = NewSubmission(
        user=site.member(), phase=phase, upload=site.upload(b"1,2", "y.csv"), kind=Kind.CODE, kind_is="open"
    )
    with pytest.raises(refusals.WhichKind, match="looks like none of them"):
        submission_create(new, now=site.now)


def send_as_predictions(site: Scenario, upload: Upload, **fields: str) -> Any:
    client = Client(headers={"accept": "application/json"})
    client.force_login(site.member())
    form = {"phase": site.phase.slug, "kind": "prediction", "upload": str(upload.key), **fields}
    return client.post(f"/competitions/{site.competition.slug}/submit/", form)


def test_code_that_is_sent_as_predictions_is_recognised_and_costs_nothing(site: Scenario) -> None:
    Phase.objects.filter(pk=site.phase.pk).update(prediction_format=None)  # any zip of predictions would do
    upload = site.upload(zip_bytes(CODE), "mine.zip")
    refused = send_as_predictions(site, upload)
    answer = refused.json()
    assert (refused.status_code, answer["code"], answer["looks_like"]) == (422, "looks_like_another_kind", "code")
    assert "mine.zip looks like code: it has metadata.yaml at its top level" in answer["detail"]
    assert answer["send_instead"] == "Send as code instead"
    assert not Submission.objects.exists()
    assert send_as_predictions(site, upload, kind="code").status_code == 201
    assert Submission.objects.get().kind == Kind.CODE


def look(site: Scenario, names: object, *, by: User | None = None, **fields: str) -> Any:
    """The answer to the page about a zip with these names, before a byte of it is sent."""
    client = Client(headers={"accept": "application/json"})
    client.force_login(by or site.member())
    form = {
        "phase": site.phase.slug,
        "kind": "prediction",
        "file_name": "mine.zip",
        "names": json.dumps(names),
        **fields,
    }
    return client.post(f"/competitions/{site.competition.slug}/submit/look/", form)


def test_the_page_hears_what_a_zip_would_be_refused_for_before_it_is_sent(site: Scenario) -> None:
    Phase.objects.filter(pk=site.phase.pk).update(prediction_format=None)
    answer = look(site, list(CODE))
    refused = send_as_predictions(site, site.upload(zip_bytes(CODE), "mine.zip"))
    assert (answer.status_code, answer.json()) == (422, refused.json()), "the words are those of the upload"
    assert look(site, ["predict.py", "metadata.yaml"], kind="code").json() == {"kind": "code"}
    assert look(site, ["y.csv"]).json() == {"kind": "prediction"}
    assert look(site, ["predict.py", "metadata.yaml"], kind_is_sure="on").json() == {"kind": "prediction"}
    no_command = look(site, ["code/predict.py"], kind="code")
    assert (no_command.status_code, no_command.json()["code"]) == (422, "no_metadata")
    for names in ({"a": 1}, [1], "a"):
        assert look(site, names).status_code == 422
    client = Client(headers={"accept": "application/json"})
    client.force_login(site.member())
    deep = {"phase": site.phase.slug, "kind": "prediction", "file_name": "mine.zip", "names": "[" * 30_000}
    assert client.post(f"/competitions/{site.competition.slug}/submit/look/", deep).status_code == 422
    assert look(site, ["y.csv"], by=person()).status_code == 403, "who has not registered is told nothing of the phase"
    assert not Submission.objects.exists()


@pytest.mark.parametrize(
    ("name", "members", "words"),
    [
        ("mine.zip", list(CODE), "put exactly one table into it"),
        ("mine.zip", ["predict.py"], "'predict.py': this is not a table"),
        ("mine.zip", ["prices.xlsx"], "choose Save As and then CSV UTF-8"),
        ("prices.xlsx", [], "choose Save As and then CSV UTF-8"),
        ("prices.txt", [], "this is not a table"),
        ("prices.csv", [], ""),
        ("prices.zip", ["prices.csv.gz", "__MACOSX/._prices.csv"], ""),
    ],
)
def test_where_a_table_is_taken_another_file_is_refused_before_and_after_the_upload_alike(
    site: Scenario, name: str, members: list[str], words: str
) -> None:
    table = {"table": {"id_column": "id", "columns": [{"name": "price"}]}}
    Phase.objects.filter(pk=site.phase.pk).update(prediction_format=table, accepts_code=False)
    answer = look(site, members, file_name=name)
    if not words:
        assert answer.json() == {"kind": "prediction"}
        return
    assert (answer.status_code, words in answer.json()["detail"]) == (422, True), answer.json()
    if members:
        upload = site.upload(zip_bytes(dict.fromkeys(members, "x")), name)
        assert send_as_predictions(site, upload).json()["detail"] == answer.json()["detail"]


def test_an_official_file_with_another_name_is_refused_before_it_is_sent(site: Scenario) -> None:
    official = {"dataset": "lsc-pcqm4mv2", "split": "test-dev"}
    Phase.objects.filter(pk=site.phase.pk).update(prediction_format=official)
    answer = look(site, [], file_name="mine.npz")
    assert (answer.status_code, answer.json()["code"]) == (422, "wrong_file_name")
    assert look(site, [], file_name="y_pred_pcqm4m-v2_test-dev.npz").json() == {"kind": "prediction"}


def test_whoever_is_sure_sends_it_all_the_same(site: Scenario) -> None:
    Phase.objects.filter(pk=site.phase.pk).update(prediction_format=None)
    answer = send_as_predictions(site, site.upload(zip_bytes(CODE), "mine.zip"), kind_is_sure="on")
    assert answer.status_code == 201
    assert Submission.objects.get().kind == Kind.PREDICTION
