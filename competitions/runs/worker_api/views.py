"""HTTP side of the worker protocol (`docs/worker-protocol.md`): it reads, asks services, answers.

Plain Django views: a compute worker is not a user, so nothing of users' authentication applies here.
"""

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, TypedDict
from uuid import UUID

import structlog
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from competitions.compute.models import ComputeWorker, Queue, queue_by_token
from competitions.disclosure.outputs import DETAILED_RESULTS
from competitions.resources.downloads import read_file_token, stored_response
from competitions.resources.models import StoredFile
from competitions.resources.orphans import discard_files
from competitions.resources.storage import CHUNK_BYTES, digest_and_size, spooled, store_path
from competitions.runs import dispatch
from competitions.runs.leases import interrupts, reports, retries
from competitions.runs.leases.reports import InvalidResult, read_result
from competitions.runs.models import Run, RunOutput
from competitions.runs.queue.demand import Room
from competitions.runs.records.logs import append_logs
from competitions.runs.refusals import LeaseLost
from competitions.runs.rescoring import attach_proposed
from competitions.runs.worker_api import jobs
from competitions.submissions.states import HELD, State
from core.refusals import Refusal, RefusalKind, refusal_response
from core.rows import get_or_none
from core.serving.receiving import announced_bytes, takes_body
from workers.protocol.calls import Action, Claim, Heartbeat, HeartbeatAnswer, Register, Registered, Release
from workers.protocol.messages import PROTOCOL_VERSION, M, Message, MessageInvalid, read_message
from workers.protocol.planning import DETAILED_BYTES
from workers.protocol.results import Complete

log = structlog.get_logger(__name__)
BODY_LIMIT_BYTES = 4 * 1024 * 1024
OUTPUT_NAMES = (
    "predictions.zip",
    "ingestion.zip",
    "scoring.zip",
    "scoring-replicates.npz",
    "scoring-losses.npz",
    "scoring-slices.json",
    "detailed_results.html",
    "submission.log",
    "ingestion.log",
    "scoring.log",
)

View = Callable[..., HttpResponseBase]

UNAUTHORIZED: Final = RefusalKind(401, "unauthorized", "{detail}")

QUARANTINED: Final = RefusalKind(
    403,
    "worker_quarantined",
    "Runs of several teams in a row failed on this worker. It is quarantined until an administrator releases it.",
)

SELF_TEST_REQUIRED: Final = RefusalKind(
    403,
    "self_test_required",
    "This site gives no runs to a worker on whose host the limits were not tested, or do not work. Start it with --self-test once.",
)

ROLE_REQUIRED: Final = RefusalKind(
    403,
    "role_required",
    "On this queue scoring is kept on workers of its own. Start this worker with --role ingestion or --role scoring.",
)

PROTOCOL_UNSUPPORTED: Final = RefusalKind(
    426, "protocol_unsupported", "This site speaks protocol {site}, the worker {worker}. Upgrade the worker."
)

DIGEST_MISMATCH: Final = RefusalKind(
    422, "digest_mismatch", "The body's SHA-256 is {actual}, announced was {announced}. Send it again."
)

OUTPUT_TOO_LARGE: Final = RefusalKind(
    413, "output_too_large", "The output is larger than the {limit_bytes:,} bytes that the phase allows."
)


def worker_view(method: str, room: Callable[..., int | None] = lambda request, **named: None) -> Callable[[View], View]:
    """A view of the protocol: one method, no CSRF (no cookies are used), refusals as problem details.

    `room` answers how many bytes may come, and raises the refusal of a token that is not valid, before anything is read.
    """

    def decorate(view: View) -> View:
        @login_not_required
        @csrf_exempt
        @takes_body(room)
        @require_http_methods([method])
        @functools.wraps(view)
        def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            structlog.contextvars.clear_contextvars()  # the thread served another request before
            try:
                return view(request, *args, **kwargs)
            except Refusal as error:
                log.info("worker_refused", path=request.path, code=error.code, detail=error.detail)
                return refusal_response(error)

        return wrapped

    return decorate


def bearer(request: HttpRequest) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def token_queue(request: HttpRequest) -> Queue:
    queue = queue_by_token(bearer(request))
    if queue is None:
        raise UNAUTHORIZED(
            detail="This queue token is unknown or was replaced. Put the current one into the worker's token file."
        )
    return queue


class Lease(TypedDict):
    """A lease that a run token stands for, as arguments of the services."""

    run_id: str
    attempt: int
    lease_id: str


def token_lease(request: HttpRequest, run_id: UUID) -> Lease:
    """The lease that the request's token stands for. It must be a token of this very run."""
    grant = reports.read_run_token(bearer(request))
    if grant is None or grant[0] != str(run_id):
        raise UNAUTHORIZED(detail="This token is not valid for this run.")
    # On every line from here.
    structlog.contextvars.bind_contextvars(submission=grant[3], run=grant[0], attempt=grant[1])
    return {"run_id": grant[0], "attempt": grant[1], "lease_id": grant[2]}


def require_same_lease(lease: Lease, message: Heartbeat | Complete | Release) -> None:
    """Raise `InvalidResult` for a message about another attempt than the one whose token it shows."""
    shown = {"lease_id": lease["lease_id"], "attempt": lease["attempt"]}
    for name, expected in shown.items():
        value = getattr(message, name)
        if value not in ("", None, expected):
            raise InvalidResult(f"'{name}' is {ascii(value)[:80]}, and the token is that of {expected}.")


def message_room(token_holder: Callable[..., object]) -> Callable[..., int]:
    """The room of a message, once the holder of its token is known, for `worker_view`."""

    def room(request: HttpRequest, **named: Any) -> int:
        token_holder(request, **named)
        if announced_bytes(request) > BODY_LIMIT_BYTES:
            raise InvalidResult(f"The body is larger than {BODY_LIMIT_BYTES:,} bytes.")
        return BODY_LIMIT_BYTES

    return room


def _room_of_output(request: HttpRequest, run_id: UUID, name: str) -> int:
    limit_bytes = _output_limit(token_lease(request, run_id), name)
    if announced_bytes(request) > limit_bytes:
        raise OUTPUT_TOO_LARGE(limit_bytes=limit_bytes)
    return limit_bytes


def json_body(request: HttpRequest) -> Any:
    """The body, which is no larger than its room."""
    try:
        return json.loads(request.body)
    except (ValueError, RecursionError) as error:
        raise InvalidResult("The body must be JSON.") from error


def body_message(request: HttpRequest, model: type[M]) -> M:
    """The body as this message. Raises `InvalidResult`."""
    return message_from(model, json_body(request))


def message_from(model: type[M], body: object) -> M:
    """JSON as this message. Raises `InvalidResult` naming the field that is wrong."""
    try:
        return read_message(model, body)
    except MessageInvalid as error:
        raise InvalidResult(str(error)) from error


def as_json(message: Message) -> dict[str, object]:
    """A part of a message as it is kept: what was not said is not there."""
    return message.model_dump(mode="json", exclude_unset=True)


@worker_view("POST", message_room(token_queue))
def register(request: HttpRequest) -> HttpResponse:
    queue = token_queue(request)
    body = json_body(request)
    protocol = body.get("protocol") if isinstance(body, dict) else None
    if isinstance(body, dict) and protocol != PROTOCOL_VERSION:
        raise PROTOCOL_UNSUPPORTED(site=PROTOCOL_VERSION, worker=str(protocol)[:40])
    message = message_from(Register, body)
    now = timezone.now()
    described: dict[str, object] = {
        name: getattr(message, name) for name in ("instance", "version", "slots", "role", "job")
    }
    described |= {name: as_json(getattr(message, name)) for name in ("host", "self_test", "calibration")}
    described["last_seen_at"] = now
    worker, _ = ComputeWorker.objects.update_or_create(
        queue=queue, name=message.name, defaults=described, create_defaults=described | {"registered_at": now}
    )
    answer = Registered(
        worker_id=str(worker.key),
        queue=queue.name,
        wakeup_queue=queue.wakeup_queue,
        poll_s=settings.WORKER_POLL_S,
        lease_s=settings.LEASE_S,
        heartbeat_s=settings.HEARTBEAT_S,
    )
    return JsonResponse(as_json(answer))


@worker_view("POST", message_room(token_queue))
def claim(request: HttpRequest) -> HttpResponse:
    queue = token_queue(request)
    message = body_message(request, Claim)
    worker = get_or_none(queue.workers.filter(key=_uuid(message.worker_id)))
    if worker is None:
        raise UNAUTHORIZED(detail="This worker is not registered on the token's queue. Register first.")
    now = timezone.now()
    _report(worker, [as_json(fault) for fault in message.slot_faults], message.images, now)
    _require_welcome(worker)
    if message.free_slots == 0:
        return HttpResponse(status=204)
    room = Room(message.seconds_left, message.memory_bytes)
    run = dispatch.run_claim(worker=worker, free_gpus=message.free_gpus, now=now, claim_id=message.claim_id, room=room)
    if run is None:
        return HttpResponse(status=204)
    address = request.META.get("REMOTE_ADDR")
    log.info("run_claimed", worker=worker.name, queue=queue.name, address=address, **retries.log_fields(run))
    return JsonResponse(jobs.job_for(run).model_dump(mode="json"))


def _require_welcome(worker: ComputeWorker) -> None:
    """Raise the refusal of a worker that may not claim on this queue."""
    if worker.quarantined_at is not None:
        raise QUARANTINED()
    tested = worker.self_test
    if settings.REQUIRE_SELF_TEST and (tested.get("fails") or not tested.get("holds")):
        raise SELF_TEST_REQUIRED()
    if worker.queue.separate_scoring and worker.role == ComputeWorker.Role.BOTH:
        raise ROLE_REQUIRED()


def _report(
    worker: ComputeWorker, faults: list[dict[str, object]], images: Sequence[str] | None, now: datetime
) -> None:
    """Record that the worker is alive, its images, and the slots that it took out of service.

    A change of those slots is logged.
    """
    if faults != worker.slot_faults:
        log.warning("slots_out_of_service" if faults else "slots_in_service", worker=worker.name, faults=faults)
    ComputeWorker.objects.filter(pk=worker.pk).update(last_seen_at=now, slot_faults=faults, images=images)


def _uuid(value: str) -> UUID:
    """The key; nobody's for a text that is none."""
    try:
        return UUID(value)
    except ValueError:
        return UUID(int=0)


@worker_view("POST", message_room(token_lease))
def heartbeat(request: HttpRequest, run_id: UUID) -> HttpResponse:
    lease = token_lease(request, run_id)
    beat = body_message(request, Heartbeat)
    require_same_lease(lease, beat)
    meters: dict[str, object] = {**beat.meters.known()}
    if beat.progress:
        meters["progress"] = as_json(beat.progress)
    with transaction.atomic():
        run = reports.run_heartbeat(**lease, state=State(beat.state), meters=meters, now=timezone.now())
        append_logs(run, beat.logs)
        reports.keep_usage(run, beat.usage)
    ComputeWorker.objects.filter(pk=run.worker_id or 0).update(last_seen_at=timezone.now())
    answer = HeartbeatAnswer(
        action=Action.CANCEL if run.cancel_requested_at else Action.CONTINUE,
        lease_expires_at=run.lease_expires_at.isoformat() if run.lease_expires_at else None,
        files=_renewed(run),
    )
    return JsonResponse(answer.model_dump(mode="json"))


def _renewed(run: Run) -> dict[str, str]:
    """New URLs while files are still being fetched; later nobody needs them."""
    if run.state not in (State.LEASED, State.PREPARING):
        return {}
    attach_proposed(run)
    return jobs.file_urls(run)


@worker_view("GET")
def file(request: HttpRequest, token: str) -> HttpResponseBase:
    grant = read_file_token(token, max_age_s=settings.LEASE_S * 10)
    stored = grant and StoredFile.objects.filter(sha256=grant[0]).first()
    if not grant or not stored or not Run.objects.filter(lease_id=grant[1], state__in=HELD).exists():
        raise UNAUTHORIZED(detail="This file URL has expired or its run is over.")
    return stored_response(request, stored)


def _read_body(request: HttpRequest, limit_bytes: int) -> Iterator[bytes]:
    received = 0
    while chunk := request.read(CHUNK_BYTES):
        received += len(chunk)
        if received > limit_bytes:
            raise OUTPUT_TOO_LARGE(limit_bytes=limit_bytes)
        yield chunk


def _output_limit(lease: Lease, name: str) -> int:
    """The most bytes that an output of this name may have. Raises `InvalidResult` or `LeaseLost`."""
    if name not in OUTPUT_NAMES:
        raise InvalidResult(f"There is no output {name!r}; known are {', '.join(OUTPUT_NAMES)}.")
    held = Run.objects.filter(pk=lease["run_id"], lease_id=lease["lease_id"], state__in=HELD)
    allowed_bytes: int | None = held.values_list("submission__phase__output_bytes", flat=True).first()
    if allowed_bytes is None:
        raise LeaseLost
    # A zip of incompressible files is a little larger than the files; logs have a bound of their own.
    allowed_bytes += 16 * 1024 * 1024
    return min(allowed_bytes, DETAILED_BYTES) if name == DETAILED_RESULTS else allowed_bytes


@worker_view("PUT", _room_of_output)
def output(request: HttpRequest, run_id: UUID, name: str) -> HttpResponse:
    lease = token_lease(request, run_id)
    with spooled(_read_body(request, _output_limit(lease, name))) as path:
        announced = request.headers.get("X-Content-SHA256", "")
        actual, _ = digest_and_size(path)
        if announced != actual:
            raise DIGEST_MISMATCH(actual=actual, announced=announced or "nothing")
        stored = store_path(path, link=True, sha256=actual)
    with transaction.atomic():
        reports.require_lease(**lease)
        former = RunOutput.objects.filter(run=run_id, attempt=lease["attempt"], name=name).exclude(file=stored)
        replaced = list(former.values_list("file", flat=True))
        RunOutput.objects.bulk_create(
            [RunOutput(run_id=run_id, attempt=lease["attempt"], name=name, file=stored)],
            update_conflicts=True,
            unique_fields=["run", "attempt", "name"],
            update_fields=["file"],
        )
        discard_files(replaced, now=timezone.now())
    return JsonResponse({"sha256": stored.sha256, "size_bytes": stored.size_bytes})


@worker_view("POST", message_room(token_lease))
def complete(request: HttpRequest, run_id: UUID) -> HttpResponse:
    lease = token_lease(request, run_id)
    answer = body_message(request, Complete)
    require_same_lease(lease, answer)
    result = read_result(answer, columns=_columns_at_claim(run_id))
    outputs = {name: output.sha256 for name, output in answer.outputs.items()}
    state = reports.run_complete(**lease, result=result, outputs=outputs, now=timezone.now())
    return JsonResponse({"state": state})


def _columns_at_claim(run_id: UUID) -> list[str]:
    """Keys of the board's columns at hand-out. Raises `LeaseLost` if the run was deleted."""
    if (row := Run.objects.filter(pk=run_id).values_list("receipt__columns").first()) is None:
        raise LeaseLost
    columns: list[str] | None = row[0]  # None once the run was reopened: this lease holds it no more
    return columns or []


@worker_view("POST", message_room(token_lease))
def release(request: HttpRequest, run_id: UUID) -> HttpResponse:
    lease = token_lease(request, run_id)
    message = body_message(request, Release)
    require_same_lease(lease, message)
    if message.interrupted:
        return JsonResponse(
            {"state": interrupts.run_interrupt(**lease, detail=message.interrupted, now=timezone.now())}
        )
    return JsonResponse({"state": reports.run_release(**lease, note="", now=timezone.now())})
