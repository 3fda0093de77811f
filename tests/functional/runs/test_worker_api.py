"""Anything sent to the worker API is refused with a reason, changing nothing, or accepted."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import token_create
from competitions.catalog.models import Column
from competitions.compute.models import ComputeWorker
from competitions.resources.models import StoredFile
from competitions.resources.orphans import remove_unneeded
from competitions.runs.leases import reports
from competitions.runs.leases.retries import expire_leases
from competitions.runs.models import Run, RunOutput
from competitions.runs.records.logs import CUT_NOTICE, append_logs, log_text
from competitions.runs.worker_api import jobs
from competitions.submissions.states import Kind, State
from tests.answers import log_piece
from tests.scenario import Scenario
from tests.shared_rows import shared


class Worker:
    """A client that speaks the protocol and has a run."""

    def __init__(self, site: Scenario) -> None:
        self.site, self.client = site, Client()
        self.made = site.submit(kind=Kind.CODE)
        self.run = site.claim()

    def call(self, name: str, body: Any, *, token: str | None = None) -> Any:
        arguments = [self.run.pk] if name not in ("register", "claim") else []
        secret = token if token is not None else reports.run_token(self.run) if arguments else self.site.token
        headers = {"Authorization": f"Bearer {secret}"}
        url = reverse(f"worker-{name}", args=arguments)
        return self.client.post(url, body, content_type="application/json", headers=headers)

    def put(self, name: str, content: bytes, *, digest: str | None = None) -> Any:
        headers = {
            "Authorization": f"Bearer {reports.run_token(self.run)}",
            "X-Content-SHA256": digest if digest is not None else hashlib.sha256(content).hexdigest(),
        }
        url = reverse("worker-output", args=[self.run.pk, name])
        return self.client.put(url, content, content_type="application/octet-stream", headers=headers)


@shared
def worker_with_run(common_site: Scenario) -> Worker:
    return Worker(common_site)


@pytest.fixture
def worker(site: Scenario, worker_with_run: Worker) -> Worker:
    return worker_with_run


REGISTER = {"protocol": 1, "name": "w", "instance": "i", "version": "1", "slots": 1, "host": {}}
BEAT: dict[str, Any] = {"state": "ingesting", "meters": {}, "logs": []}
FINISHED: dict[str, Any] = {"outcome": "finished", "scores": {"mae": 0.5}}


BODIES: list[tuple[str, Any, int]] = [
    ("register", REGISTER | {"host": []}, 422),
    ("register", REGISTER | {"host": "big"}, 422),
    ("register", REGISTER | {"host": {"gpus": 3}}, 422),
    ("register", REGISTER | {"host": {"gpus": [1]}}, 422),
    ("register", REGISTER | {"name": ""}, 422),
    ("register", REGISTER | {"name": "a\u0000b"}, 422),
    ("register", REGISTER | {"name": "x" * 100}, 200),
    ("register", REGISTER | {"name": "x" * 101}, 422),
    ("register", REGISTER | {"name": "x" * 100 + "\n"}, 422),
    ("register", REGISTER | {"name": "  "}, 422),
    ("register", REGISTER | {"name": "gpu-box-1 "}, 422),
    ("register", REGISTER | {"name": "a\u202eb"}, 422),
    ("register", REGISTER | {"slots": "many"}, 422),
    ("register", REGISTER | {"slots": True}, 422),
    ("register", REGISTER | {"protocol": 99}, 426),
    ("register", REGISTER | {"role": "boss"}, 422),
    ("register", REGISTER | {"role": ["both"]}, 422),
    ("register", REGISTER | {"self_test": "all fine"}, 422),
    ("register", REGISTER | {"calibration": [1]}, 422),
    ("register", [], 422),
    ("claim", {"worker_id": 5}, 401),
    ("heartbeat", BEAT | {"state": "finished"}, 422),
    ("heartbeat", BEAT | {"state": []}, 422),
    ("heartbeat", BEAT | {"meters": []}, 200),  # as good as none
    ("heartbeat", BEAT | {"meters": [1]}, 422),
    ("heartbeat", BEAT | {"meters": "fast"}, 422),
    ("heartbeat", BEAT | {"logs": "text"}, 422),
    ("heartbeat", BEAT | {"logs": [{"stream": "ingestion", "seq": -1, "text": "x"}]}, 422),
    ("heartbeat", BEAT | {"logs": [{"stream": "secrets", "seq": 0, "text": "x"}]}, 422),
    ("heartbeat", BEAT | {"logs": [{"stream": "ingestion", "seq": 0, "text": "x" * 64_001}]}, 422),
    ("heartbeat", BEAT | {"logs": [{"stream": "ingestion", "seq": n, "text": "x"} for n in range(65)]}, 422),
    ("complete", {}, 422),
    ("complete", {"outcome": "ingested"}, 422),
    ("complete", {"outcome": "failed", "reason": "bad mood"}, 422),
    ("complete", {"outcome": "failed", "reason": "file_invalid"}, 422),  # the site finds that out before
    ("complete", FINISHED | {"scores": {"mae": 10**400}}, 422),
    ("complete", FINISHED | {"scores": {"rmse": 1.0}}, 422),
    ("complete", FINISHED | {"host": 5}, 422),
    ("complete", FINISHED | {"timings": [1]}, 422),
    ("complete", FINISHED | {"outputs": [1]}, 422),
    ("complete", FINISHED | {"outputs": {"predictions.zip": {"sha256": "0" * 64}}}, 422),
    ("complete", FINISHED | {"stages": [{"name": "ingestion"}] * 9}, 422),
]


def test_a_body_of_the_wrong_shape_is_refused_with_a_reason(worker: Worker) -> None:
    for call, body, status in BODIES:
        with transaction.atomic():
            answer = worker.call(call, body)
            assert answer.status_code == status, (call, body, answer.content)
            if status != 200:
                assert len(answer.json()["detail"]) > 10, (call, body)
                worker.run.refresh_from_db()
                assert worker.run.state == State.LEASED, (call, body)
            transaction.set_rollback(True)


@pytest.mark.parametrize("body", ["", "{", "[" * 100_000, "null", '"text"', '{"a": NaN}'])
def test_a_body_that_is_no_json_object_is_refused(worker: Worker, body: str) -> None:
    assert worker.call("complete", body).status_code == 422


@pytest.mark.parametrize("field", ["instance", "version"])
@pytest.mark.parametrize("text", ["a\u0000b", "a\ud800b", "x" * 500])
def test_texts_that_a_database_refuses_are_made_printable(worker: Worker, field: str, text: str) -> None:
    assert worker.call("register", REGISTER | {field: text}).status_code == 200


def test_meters_that_are_no_numbers_are_left_out_and_pages_go_on(worker: Worker) -> None:
    beat = BEAT | {"meters": {"wall_s": "abc", "cpu_s": -1, "memory_bytes": 10**400, "output_bytes": 5, "other": 1}}
    assert worker.call("heartbeat", beat).status_code == 200
    worker.run.refresh_from_db()
    assert worker.run.meters == {"output_bytes": 5}
    stages = [{"name": "ingestion", "wall_s": "abc", "cpu_s": [1]}]
    assert worker.call("complete", FINISHED | {"stages": stages}).status_code == 200
    worker.client.force_login(worker.site.member())
    for name in ("web:submission", "web:submission-live"):
        assert worker.client.get(reverse(name, args=[worker.made.pk])).status_code == 200


def test_a_token_of_another_run_or_none_says_nothing_about_this_one(worker: Worker) -> None:
    other = Worker(worker.site)
    for token in (reports.run_token(other.run), worker.site.token, "", "forged"):
        assert worker.call("complete", FINISHED, token=token).status_code == 401
    worker.run.refresh_from_db()
    assert worker.run.state == State.LEASED


def test_a_replaced_queue_token_ends_at_once(worker: Worker) -> None:
    from competitions.compute.models import issue_token

    old, worker.site.token = worker.site.token, issue_token(worker.site.queue)
    assert worker.call("register", REGISTER, token=old).status_code == 401
    assert worker.call("register", REGISTER).status_code == 200


def test_an_output_counts_when_it_has_the_digest_that_is_announced(worker: Worker) -> None:
    refused = worker.put("predictions.zip", b"PK", digest="0" * 64)
    assert (refused.status_code, refused.json()["code"]) == (422, "digest_mismatch")
    assert worker.put("other.zip", b"PK").status_code == 422
    output = worker.put("predictions.zip", b"PK").json()
    outputs = {"predictions.zip": {"sha256": output["sha256"]}}
    assert worker.call("complete", FINISHED | {"outputs": outputs}).json() == {"state": "finished"}
    assert worker.put("predictions.zip", b"later").status_code == 409
    assert RunOutput.objects.get().file_id == output["sha256"]


def test_a_file_is_served_while_its_lease_lives(worker: Worker) -> None:
    url = jobs.job_for(worker.run).model_dump()["stages"][0]["mounts"][0]["file"]["url"]
    served = worker.client.get(url)
    assert served.status_code == 200
    assert b"".join(served.streaming_content)  # type: ignore[attr-defined]
    served.close()
    worker.call("complete", FINISHED)
    assert worker.client.get(url).status_code == 401


def test_scores_are_those_of_the_columns_at_the_claim_whatever_the_board_has_become(worker: Worker) -> None:
    Column.objects.create(leaderboard=worker.site.phase.leaderboard, key="rmse", title="RMSE", index=1)
    assert worker.call("complete", FINISHED).status_code == 200
    assert Run.objects.get(pk=worker.run.pk).scores == {"mae": 0.5}


def test_a_live_log_is_cut_once_and_for_good(worker: Worker, settings: Any) -> None:
    settings.LOG_LIMIT_BYTES = 100
    for seq in range(10):
        append_logs(worker.run, [log_piece(stream="ingestion", seq=seq, text="x" * 40)])
    text = log_text(worker.run, "ingestion")
    assert text.count(CUT_NOTICE) == 1
    assert text.endswith(CUT_NOTICE)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("phase=²", 400),
        ("phase=" + "9" * 23, 400),
        ("phase=0", 400),
        ("status=%00", 400),
        ("status=done", 400),
        ("competition=%00", 400),
        ("cursor=cD1hYmM=", 404),
        ("page_size=²", 200),
        ("status=finished", 200),
    ],
)
def test_the_list_of_submissions_refuses_what_it_cannot_look_for(worker: Worker, query: str, status: int) -> None:
    worker.client.force_login(worker.site.member())
    assert worker.client.get(f"{reverse('api:submissions')}?{query}").status_code == status


@pytest.mark.parametrize(
    "cursor",
    [
        "W1tbW1tb",
        "WzEsICIyMDMwLTAxLTAxIiwgMWU5OTld",
        "WzFlOTk5LCAiMjAzMC0wMS0wMSIsIDFd",
        "WzEsICIwMDAxLTAxLTAxVDAwOjAwOjAwKzE0OjAwIiwgMV0",
        "WzEsICIyMDMwLTAxLTAxIiwgMV0%0A",
        "%F0%9F%98%80",
        "A" * 5000,
    ],
)
def test_a_boards_cursor_from_elsewhere_is_refused_on_page_and_api(worker: Worker, cursor: str) -> None:
    site = worker.site
    urls = [
        f"{reverse('api:leaderboard', args=[site.competition.slug, site.phase.slug])}?cursor={cursor}",
        f"{reverse('web:leaderboard', args=[site.competition.slug])}?phase={site.phase.slug}&cursor={cursor}",
    ]
    for url in urls:
        assert worker.client.get(url).status_code == 400


def test_deep_json_odd_digits_and_unprintable_texts_never_break_the_site(worker: Worker) -> None:
    site, client = worker.site, worker.client
    client.force_login(site.member())
    deep = client.post(reverse("api:uploads"), "[" * 100_000, content_type="application/json")
    assert (deep.status_code, deep.json()["code"]) == (400, "parse_error")
    slug = site.competition.slug
    assert client.get(f"{reverse('web:submissions', args=[slug])}?before=²").status_code == 200
    assert client.post(reverse("web:join", args=[slug]), {"rules_version": "²"}).status_code == 422
    submission = site.submit(key="k\u0000\ud800")
    assert submission.idempotency_key == "k  "


def test_a_person_with_the_longest_name_can_cancel(site: Scenario) -> None:
    submission = site.submit()
    user = site.member()
    user.username = "n" * 150
    user.save()
    _, secret = token_create(user=user, name="t", scopes=["submit"], expires_at=site.now.replace(year=2031))
    url = reverse("api:submission-cancel", args=[submission.pk])
    assert Client().post(url, headers={"Authorization": f"Bearer {secret}"}).json()["status"] == "cancelled"


def test_an_answer_of_an_old_attempt_is_refused_on_every_call_and_changes_nothing(worker: Worker) -> None:
    token = reports.run_token(worker.run)
    expire_leases(now=worker.site.now + timedelta(hours=1))
    before = Run.objects.values().get(pk=worker.run.pk)
    for call, body in {"heartbeat": BEAT, "complete": FINISHED, "release": {}}.items():
        answer = worker.call(call, body, token=token)
        assert (answer.status_code, answer.json()["code"]) == (409, "lease_lost"), call
    assert worker.put("predictions.zip", b"late").json()["code"] == "lease_lost"
    assert Run.objects.values().get(pk=worker.run.pk) == before
    assert not RunOutput.objects.exists()


def test_a_heartbeat_that_comes_after_the_result_tells_of_no_other_attempt(worker: Worker) -> None:
    token = reports.run_token(worker.run)
    assert worker.call("complete", FINISHED, token=token).status_code == 200
    for call, body in {"heartbeat": BEAT, "release": {}}.items():
        answer = worker.call(call, body, token=token)
        assert (answer.status_code, answer.json()["code"]) == (409, "attempt_answered"), call
    assert worker.call("complete", FINISHED, token=token).json() == {"state": "finished"}, (
        "the same answer, the same reply"
    )


@pytest.mark.parametrize("call", ["heartbeat", "complete", "release"])
@pytest.mark.parametrize(
    "other", [{"lease_id": "00000000-0000-0000-0000-000000000000"}, {"attempt": 2}, {"lease_id": "x" * 600}]
)
def test_a_message_about_another_attempt_than_its_tokens_is_refused(
    worker: Worker, call: str, other: dict[str, Any]
) -> None:
    before = Run.objects.values().get(pk=worker.run.pk)
    body = BEAT if call == "heartbeat" else FINISHED if call == "complete" else {}
    answer = worker.call(call, body | other)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_result")
    assert next(iter(other)) in answer.json()["detail"]
    assert Run.objects.values().get(pk=worker.run.pk) == before
    own = {"lease_id": str(worker.run.lease_id), "attempt": worker.run.attempt}
    assert worker.call(call, body | own).status_code == 200


def test_faults_of_slots_are_kept_as_far_as_they_can_be_shown(worker: Worker) -> None:
    row = ComputeWorker.objects.get()
    for slot_faults, expected in (
        ("nonsense", []),
        ([{"slot": 0, "detail": "a\0b" + "x" * 1000}], [{"slot": 0, "detail": "a b" + "x" * 497}]),
        ([], []),
    ):
        body = {"worker_id": str(row.key), "free_slots": 0, "slot_faults": slot_faults}
        assert worker.call("claim", body).status_code == 204
        row.refresh_from_db()
        assert row.slot_faults == expected


def test_an_output_larger_than_the_phase_allows_is_refused_while_it_arrives(worker: Worker) -> None:
    worker.run.submission.phase.output_bytes = 0
    worker.run.submission.phase.save()
    answer = worker.put("predictions.zip", bytes(17 << 20))
    assert (answer.status_code, answer.json()["code"]) == (413, "output_too_large")
    assert worker.put("detailed_results.html", bytes((32 << 20) + 1)).status_code == 413, "a page is read in one piece"
    assert not RunOutput.objects.exists()


def test_an_output_that_is_sent_again_takes_the_place_of_the_former_one_on_disk_too(worker: Worker) -> None:
    for number in range(3):
        assert worker.put("scoring.zip", b"%d" % number).status_code == 200
    remove_unneeded(now=timezone.now())
    assert StoredFile.objects.get(size_bytes=1) == RunOutput.objects.get().file


@pytest.mark.parametrize("call", ["heartbeat", "complete", "release"])
def test_a_run_that_was_deleted_meanwhile_is_a_lost_lease_for_its_worker(worker: Worker, call: str) -> None:
    worker.made.delete()
    refused = worker.call(call, BEAT | FINISHED)
    assert (refused.status_code, refused.json()["code"]) == (409, "lease_lost")


def test_a_claim_says_which_images_are_on_the_host(worker: Worker) -> None:
    row = ComputeWorker.objects.get()
    for images, expected in ((["podium/runtime:1"], ["podium/runtime:1"]), ([], []), (None, None)):
        assert worker.call("claim", {"worker_id": str(row.key), "free_slots": 0, "images": images}).status_code == 204
        row.refresh_from_db()
        assert row.images == expected
    assert worker.call("claim", {"worker_id": str(row.key), "free_slots": 0}).status_code == 204
