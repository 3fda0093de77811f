"""The HTTP client against a small server that misbehaves in each way that a network does."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.unit.workers.protocol.test_jobs_and_settings import JOB
from workers.agent.runs.execution import RunExecution
from workers.agent.runs.state import RunFolder
from workers.agent.site import client as clients
from workers.agent.site.client import LeaseLost, NotWelcome, SiteClient, SiteError, SiteUnreachable
from workers.agent.site.heartbeat import Heartbeat as HeartbeatThread
from workers.errors import SandboxError
from workers.protocol.calls import Activity, Claim, Heartbeat
from workers.protocol.jobs import parse_job
from workers.protocol.results import Complete, Outcome

CONTENT = b"data" * 1000
DIGEST = hashlib.sha256(CONTENT).hexdigest()
RESULT = Complete(outcome=Outcome.CANCELLED)
Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Answers with the next of the server's prepared answers."""

    protocol_version = "HTTP/1.1"

    def answer(self, status: int, body: bytes = b"", *, said_bytes: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if said_bytes is None else said_bytes))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        received = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        server: Any = self.server
        server.seen.append((self.command, self.path, dict(self.headers), received))
        server.answers.pop(0)(self)

    do_GET = do_POST  # noqa: N815  http.server's names
    do_PUT = do_POST  # noqa: N815

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


class Site:
    """The server and a client for it."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.url = f"http://127.0.0.1:{server.server_port}"
        self.client = SiteClient(self.url, "queue-token")

    def will(self, *answers: Answer) -> None:
        self.server.answers = list(answers)

    @property
    def seen(self) -> list[tuple[str, str, dict[str, str], bytes]]:
        calls: list[tuple[str, str, dict[str, str], bytes]] = self.server.seen
        return calls


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(clients, "FIRST_PAUSE_S", 0.01)
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.seen, server.answers = [], []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    site = Site(server)
    yield site
    site.client.close()
    server.shutdown()
    server.server_close()
    thread.join()


def status(number: int, body: Any = None) -> Answer:
    return lambda handler: handler.answer(number, json.dumps(body).encode() if body is not None else b"")


def content(handler: Handler) -> None:
    handler.answer(200, CONTENT)


def cut_off(handler: Handler) -> None:
    handler.answer(200, CONTENT[:100], said_bytes=len(CONTENT))
    handler.close_connection = True


def lose_answer(handler: Handler) -> None:
    """The request arrives; its answer does not."""
    handler.close_connection = True


def other_content(handler: Handler) -> None:
    handler.answer(200, b"x" * len(CONTENT))


def endless(handler: Handler) -> None:
    handler.answer(200, CONTENT + b"more")


def fetch(site: Site, target: Path, patience_s: float = 5.0) -> None:
    url = f"{site.url}/files/x"
    site.client.download(url, target, sha256=DIGEST, size_bytes=len(CONTENT), patience_s=patience_s)


def test_the_queue_token_goes_with_claims_and_never_with_downloads(site: Site, tmp_path: Path) -> None:
    site.will(status(204), content)
    assert site.client.claim(Claim(free_slots=1)) is None
    fetch(site, tmp_path / "f")
    assert site.seen[0][2]["Authorization"] == "Bearer queue-token"
    assert site.seen[0][1] == "/api/worker/v1/claim"
    assert "Authorization" not in site.seen[1][2]


@pytest.mark.parametrize(
    "trouble", [cut_off, status(500), status(503), status(429)], ids=["cut off", "500", "503", "429"]
)
def test_a_download_is_tried_again_after_trouble_on_the_way(site: Site, tmp_path: Path, trouble: Answer) -> None:
    site.will(trouble, trouble, content)
    fetch(site, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT


@pytest.mark.parametrize("wrong", [other_content, endless], ids=["other bytes", "more bytes"])
def test_a_file_with_the_wrong_digest_is_refused(site: Site, tmp_path: Path, wrong: Answer) -> None:
    site.will(wrong)
    with pytest.raises(SandboxError) as error:
        fetch(site, tmp_path / "f")
    assert error.value.code == "digest_mismatch"


def test_patience_ends(site: Site, tmp_path: Path) -> None:
    site.will(*[status(500)] * 100)
    with pytest.raises(SandboxError) as error:
        fetch(site, tmp_path / "f", patience_s=0.1)
    assert error.value.code == "download_failed"


class Clock:
    """A clock that pauses and the server's answers move on."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept.append(seconds)

    def after(self, seconds: float, answer: Answer) -> Answer:
        def answer_later(handler: Handler) -> None:
            self.now += seconds
            answer(handler)

        return answer_later


@pytest.fixture
def clock(site: Site, monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(clients, "time", clock)
    return clock


def test_a_transfer_that_breaks_after_more_than_the_patience_is_tried_again(
    site: Site, tmp_path: Path, clock: Clock
) -> None:
    site.will(clock.after(700, cut_off), clock.after(700, cut_off), clock.after(700, content))
    fetch(site, tmp_path / "f", patience_s=600)
    assert (tmp_path / "f").read_bytes() == CONTENT
    site.will(clock.after(700, status(502)), status(503), clock.after(700, status(200, {})))
    site.client.upload("r", "t", "predictions.zip", tmp_path / "f", DIGEST, patience_s=600)
    assert [body for method, _, _, body in site.seen if method == "PUT"] == [CONTENT] * 3


def test_the_patience_starts_anew_after_a_transfer_that_lasted(site: Site, tmp_path: Path, clock: Clock) -> None:
    away = [clock.after(55, status(503))] * 8
    site.will(*away, clock.after(300, cut_off), *away, content)
    fetch(site, tmp_path / "f", patience_s=600)
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_a_transfer_that_always_breaks_comes_to_an_end(site: Site, tmp_path: Path, clock: Clock) -> None:
    site.will(*[clock.after(700, cut_off)] * 100)
    with pytest.raises(SandboxError) as error:
        fetch(site, tmp_path / "f", patience_s=600)
    assert error.value.code == "download_failed"
    assert len(site.seen) == 1 + clients.LASTING_TRIES


@pytest.mark.parametrize(("answer_s", "number"), [(50, 503), (60.5, 504)], ids=["the site", "a gateway"])
def test_a_site_that_is_away_is_given_up_after_the_patience(
    site: Site, tmp_path: Path, clock: Clock, answer_s: float, number: int
) -> None:
    site.will(*[clock.after(answer_s, status(number))] * 100)
    with pytest.raises(SandboxError):
        fetch(site, tmp_path / "f", patience_s=600)
    assert 580 < clock.now < 670


def test_an_expired_address_is_a_refusal_and_is_not_tried_again(site: Site, tmp_path: Path) -> None:
    site.will(status(403, {"code": "expired", "detail": "too late"}))
    with pytest.raises(SiteError, match="too late"):
        fetch(site, tmp_path / "f")
    assert len(site.seen) == 1


@pytest.mark.parametrize(
    ("number", "code", "expected"),
    [
        (401, "unauthorized", NotWelcome),
        (403, "worker_quarantined", NotWelcome),
        (426, "protocol_unsupported", NotWelcome),
        (409, "lease_lost", LeaseLost),
        (409, "conflict", SiteError),
        (422, "invalid_result", SiteError),
    ],
)
def test_refusals_are_told_apart_by_what_the_worker_has_to_do(
    site: Site, number: int, code: str, expected: type[SiteError]
) -> None:
    site.will(status(number, {"code": code, "detail": "why"}))
    with pytest.raises(SiteError) as error:
        site.client.complete("r", "run-token", RESULT, patience_s=5)
    assert type(error.value) is expected
    assert (error.value.code, error.value.detail) == (code, "why")
    assert site.seen[0][2]["Authorization"] == "Bearer run-token"


def test_a_proxys_404_while_the_site_behind_it_is_away_ends_no_run(site: Site) -> None:
    site.will(status(404))
    with pytest.raises(clients.SiteUnreachable, match="not as a Podium site does"):
        site.client.heartbeat("r", "run-token", Heartbeat(state=Activity.SCORING))
    site.will(
        status(404), lambda handler: handler.answer(404, b"404 page not found\n"), status(200, {"state": "finished"})
    )
    assert site.client.complete("r", "run-token", RESULT, patience_s=5) == {"state": "finished"}


def test_a_result_is_sent_until_it_is_taken(site: Site) -> None:
    site.will(status(502), status(500), status(200, {"state": "finished"}))
    assert site.client.complete("r", "t", RESULT, patience_s=5) == {"state": "finished"}
    assert [json.loads(body) for _, _, _, body in site.seen] == [RESULT.model_dump(mode="json", exclude_unset=True)] * 3


def test_an_upload_carries_its_digest_and_starts_from_its_first_byte_each_time(site: Site, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(CONTENT)
    site.will(status(500), status(200, {}))
    site.client.upload("r", "t", "ingestion.log", tmp_path / "f", DIGEST, patience_s=5)
    assert [(method, path, body) for method, path, _, body in site.seen] == [
        ("PUT", "/api/worker/v1/runs/r/outputs/ingestion.log", CONTENT)
    ] * 2
    assert site.seen[0][2]["X-Content-SHA256"] == DIGEST


def test_calls_in_step_with_the_loss_of_answers_get_through(site: Site) -> None:
    """Claims and heartbeats alternate, and so do losses: without a second try each heartbeat is lost."""
    answers = {"claim": status(204), "heartbeat": status(200, {"action": "continue"})}
    for _ in range(5):
        site.will(lose_answer, answers["heartbeat"])
        site.client.heartbeat("r", "run-token", Heartbeat(state=Activity.SCORING))
        site.will(lose_answer, answers["claim"])
        assert site.client.claim(Claim(claim_id="c")) is None
    bodies = [body for _, path, _, body in site.seen if path.endswith("claim")]
    assert len(bodies) == 10
    assert len(set(bodies)) == 1, "the same claim, so that no run is handed out to nobody"


def test_a_connection_that_the_site_has_just_closed_costs_no_call(site: Site) -> None:
    site.will(status(204), lose_answer, status(204))
    assert site.client.claim(Claim()) is None
    assert site.client.claim(Claim()) is None, "a new connection took it"


def test_a_site_that_stays_away_is_given_up_soon_so_that_the_loop_goes_on(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "BRIEF_PATIENCE_S", 2.0)  # a busy machine takes a part of a second for the first loss
    site.will(*[lose_answer] * 100)
    with pytest.raises(SiteUnreachable):
        site.client.claim(Claim())
    assert 2 <= len(site.seen) < 100


def test_loops_do_not_keep_step() -> None:
    pauses = [clients.jitter(2.0) for _ in range(50)]
    assert len(set(pauses)) > 40
    assert all(1.5 <= pause <= 2.0 for pause in pauses), "never longer than was promised"


def test_a_site_that_is_not_there_is_unreachable_and_names_no_token() -> None:
    client = SiteClient("http://127.0.0.1:1", "queue-token")
    with pytest.raises(SiteUnreachable) as error:
        client.claim(Claim())
    assert "queue-token" not in str(error.value)


def test_an_answer_that_is_no_json_is_trouble_and_not_a_job(site: Site) -> None:
    site.will(lambda handler: handler.answer(200, b"<html>"))
    with pytest.raises(SiteUnreachable, match="Podium site"):
        site.client.claim(Claim())


def test_an_answer_of_another_shape_is_trouble_that_names_the_field(site: Site) -> None:
    site.will(status(200, {"action": "dance"}))
    with pytest.raises(SiteUnreachable, match="'action' must be 'continue' or 'cancel'"):
        site.client.heartbeat("r", "run-token", Heartbeat(state=Activity.SCORING))


def test_a_redirect_is_not_followed_with_the_token(site: Site) -> None:
    def redirect(handler: Handler) -> None:
        handler.send_response(302)
        handler.send_header("Location", f"{site.url}/elsewhere")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    site.will(redirect)
    with pytest.raises(SiteError):
        site.client.claim(Claim())
    assert len(site.seen) == 1


def test_a_lost_answer_is_asked_for_again_soon_also_after_many_losses(site: Site, clock: Clock) -> None:
    site.will(*[lose_answer] * 12, status(200, {"state": "finished"}))
    site.client.complete("r", "token", RESULT, patience_s=60)
    assert len(clock.slept) == 12
    assert max(clock.slept) <= clients.LONGEST_PAUSE_AFTER_A_LOSS_S


def test_a_site_that_is_down_is_asked_less_and_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    client = SiteClient("http://127.0.0.1:9", "t")
    clock = Clock()
    monkeypatch.setattr(clients, "time", clock)
    with pytest.raises(SiteUnreachable):
        client.complete("r", "token", RESULT, patience_s=600)
    assert max(clock.slept[:8]) > 5


@pytest.mark.parametrize(("code", "is_lost"), [("attempt_answered", False), ("lease_lost", True)])
def test_a_heartbeat_that_comes_after_the_result_tells_of_no_stolen_lease(
    site: Site, tmp_path: Path, code: str, is_lost: bool
) -> None:
    job = parse_job(JOB)
    worker: Any = SimpleNamespace(client=site.client, data_dir=tmp_path, pool=None)
    execution = RunExecution(worker, job, RunFolder(tmp_path, "lease"))
    heartbeat = HeartbeatThread(worker, execution)
    site.will(status(409, {"code": code, "detail": "told"}))
    with capture_logs() as lines:
        assert not heartbeat.beat()
    assert ([line["event"] for line in lines], heartbeat.lost.is_set()) == (
        ["heartbeat_refused"] if is_lost else [],
        is_lost,
    )
    assert execution.cancel_reason == ("lease_lost" if is_lost else None)
