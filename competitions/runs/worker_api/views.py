"""The worker protocol's HTTP side (`docs/worker-protocol.md`): it reads, asks the services, and answers.

Plain Django views: a compute worker is no user, so nothing of users' authentication applies here.
"""

import functools
import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from competitions.catalog.models import Phase
from competitions.compute.models import ComputeWorker, Queue, queue_by_token
from competitions.resources.downloads import stored_response
from competitions.resources.models import StoredFile
from competitions.resources.signing import read_file_token
from competitions.resources.storage import CHUNK_BYTES, spooled, store_path
from competitions.runs import dispatch
from competitions.runs.logs import append_logs
from competitions.runs.models import Run, RunOutput
from competitions.runs.refusals import LeaseLost
from competitions.runs.worker_api import jobs
from competitions.runs.worker_api.results import (
    InvalidResult,
    clean_numbers,
    mapping,
    read_host,
    read_meters,
    read_result,
)
from competitions.submissions.states import HELD, State
from core.refusals import Refusal
from core.text import printable

log = structlog.get_logger(__name__)
PROTOCOL = 1
BODY_LIMIT_BYTES = 4 * 1024 * 1024
OUTPUT_NAMES = (
    "predictions.zip", "ingestion.zip", "scoring.zip", "detailed_results.html", "submission.log", "ingestion.log", "scoring.log",
)  # fmt: skip

NOBODY = UUID(int=0)

View = Callable[..., HttpResponseBase]


class Unauthorized(Refusal):
    code, http_status = "unauthorized", 401


class Quarantined(Refusal):
    code, http_status = "worker_quarantined", 403


class SelfTestRequired(Refusal):
    code, http_status = "self_test_required", 403


class RoleRequired(Refusal):
    code, http_status = "role_required", 403


class ProtocolUnsupported(Refusal):
    code, http_status = "protocol_unsupported", 426


class DigestMismatch(Refusal):
    code, http_status = "digest_mismatch", 422


class OutputTooLarge(Refusal):
    code, http_status = "output_too_large", 413


def problem(error: Refusal) -> JsonResponse:
    """RFC 9457 problem details of a refusal."""
    body = {"title": error.stable_code.replace("_", " "), "status": error.http_status, "code": error.stable_code}
    body |= {"detail": error.detail} | error.extra
    return JsonResponse(body, status=error.http_status, content_type="application/problem+json")


def worker_view(method: str) -> Callable[[View], View]:
    """A view of the protocol: one method, no CSRF (no cookies are used), refusals as problem details."""

    def decorate(view: View) -> View:
        @csrf_exempt
        @require_http_methods([method])
        @functools.wraps(view)
        def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            structlog.contextvars.clear_contextvars()  # the thread served another request before
            try:
                return view(request, *args, **kwargs)
            except Refusal as error:
                log.info("worker_refused", path=request.path, code=error.stable_code, detail=error.detail)
                return problem(error)

        return wrapped

    return decorate


def bearer(request: HttpRequest) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def queue_of(request: HttpRequest) -> Queue:
    queue = queue_by_token(bearer(request))
    if queue is None:
        raise Unauthorized(
            "This queue token is unknown or was replaced. Put the current one into the worker's token file."
        )
    return queue


def lease_of(request: HttpRequest, run_id: UUID) -> dict[str, Any]:
    """The lease that a run token stands for, as arguments of the services. It must be a token of this very run."""
    grant = jobs.read_run_token(bearer(request))
    if grant is None or grant[0] != str(run_id):
        raise Unauthorized("This token is not valid for this run.")
    structlog.contextvars.bind_contextvars(
        submission=grant[3], run=grant[0], attempt=grant[1]
    )  # on every line from here
    return {"run_id": grant[0], "attempt": grant[1], "lease_id": grant[2]}


def body_of(request: HttpRequest) -> dict[str, Any]:
    if int(request.headers.get("Content-Length") or 0) > BODY_LIMIT_BYTES:
        raise InvalidResult(f"The body is larger than {BODY_LIMIT_BYTES:,} bytes.")
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError) as error:
        raise InvalidResult("The body must be JSON.") from error
    if not isinstance(body, dict):
        raise InvalidResult("The body must be a JSON object.")
    return body


def integer(body: dict[str, Any], key: str, low: int, high: int) -> int:
    value = body.get(key, low)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidResult(f"{key!r} must be a whole number from {low} to {high}, not {value!r}.")
    return value


@worker_view("POST")
def register(request: HttpRequest) -> HttpResponse:
    queue = queue_of(request)
    body = body_of(request)
    if body.get("protocol") != PROTOCOL:
        raise ProtocolUnsupported(
            f"This site speaks protocol {PROTOCOL}, the worker {body.get('protocol')!r}. Upgrade the worker."
        )
    name = str(body.get("name") or "")[:100]
    if not name.isprintable() or not name:
        raise InvalidResult("'name' must be printable text.")
    now = timezone.now()
    described = {
        "instance": printable(str(body.get("instance") or ""))[:64],
        "version": printable(str(body.get("version") or ""))[:50],
        "slots": integer(body, "slots", 1, 1000),
        "host": read_host(body),
        "last_seen_at": now,
        "role": _role(body),
        "self_test": clean_numbers(mapping(body, "self_test")),
        "calibration": clean_numbers(mapping(body, "calibration")),
    }
    worker, _ = ComputeWorker.objects.update_or_create(
        queue=queue, name=name, defaults=described, create_defaults=described | {"registered_at": now}
    )
    return JsonResponse(
        {
            "worker_id": str(worker.key),
            "queue": queue.name,
            "bell": queue.bell,
            "poll_s": settings.WORKER_POLL_S,
            "lease_s": settings.LEASE_S,
            "heartbeat_s": settings.HEARTBEAT_S,
        }
    )


def _role(body: dict[str, Any]) -> str:
    role = body.get("role", ComputeWorker.Role.BOTH)
    if role not in ComputeWorker.Role.values:
        raise InvalidResult(f"'role' is {str(role)[:40]!r}; it must be one of {', '.join(ComputeWorker.Role.values)}.")
    return str(role)


@worker_view("POST")
def claim(request: HttpRequest) -> HttpResponse:
    queue = queue_of(request)
    body = body_of(request)
    worker = queue.workers.filter(key=_uuid(body.get("worker_id")) or NOBODY).first()
    if worker is None:
        raise Unauthorized("This worker is not registered on the token's queue. Register first.")
    now = timezone.now()
    _report(worker, clean_numbers(body.get("slot_faults")), now)
    _require_welcome(worker)
    if integer(body, "free_slots", 0, 1000) == 0:
        return HttpResponse(status=204)
    claim_id = printable(str(body.get("claim_id") or ""))[:64]
    run = dispatch.run_claim(worker=worker, free_gpus=integer(body, "free_gpus", 0, 1000), now=now, claim_id=claim_id)
    if run is None:
        return HttpResponse(status=204)
    named = {"submission": run.submission_id, "run": str(run.pk), "attempt": run.attempt}
    log.info("run_claimed", worker=worker.name, queue=queue.name, address=request.META.get("REMOTE_ADDR"), **named)
    return JsonResponse(jobs.job_for(run))


def _require_welcome(worker: ComputeWorker) -> None:
    """Raise the refusal of a worker that may not claim on this queue."""
    if worker.quarantined_at is not None:
        raise Quarantined(
            "This worker failed several runs in a row and is quarantined until an administrator releases it."
        )
    tested = worker.self_test
    if settings.REQUIRE_SELF_TEST and (tested.get("fails") or not tested.get("holds")):
        raise SelfTestRequired(
            "This site gives no runs to a worker on whose host the limits were not tried or do not hold. "
            "Start it with --self-test once."
        )
    if worker.queue.separate_scoring and worker.role == ComputeWorker.Role.BOTH:
        raise RoleRequired(
            "On this queue scoring is kept on workers of its own. Start this worker with --role ingestion or --role scoring."
        )


def _report(worker: ComputeWorker, slot_faults: Any, now: datetime) -> None:
    """The worker lives; slots that it took out of service are kept for its page, and logged when they change."""
    faults = slot_faults if isinstance(slot_faults, list) else []
    if faults != worker.slot_faults:
        log.warning("slots_out_of_service" if faults else "slots_in_service", worker=worker.name, faults=faults)
    ComputeWorker.objects.filter(pk=worker.pk).update(last_seen_at=now, slot_faults=faults)


def _uuid(value: Any) -> UUID | None:
    try:
        return UUID(str(value))
    except ValueError:
        return None


@worker_view("POST")
def heartbeat(request: HttpRequest, run_id: UUID) -> HttpResponse:
    lease = lease_of(request, run_id)
    body = body_of(request)
    state = body.get("state")
    if state not in HELD:
        raise InvalidResult(f"'state' is {state!r}; it must be one of {', '.join(HELD)}.")
    meters: dict[str, Any] = read_meters(body.get("meters") or {})
    progress = clean_numbers(body.get("progress"))
    with transaction.atomic():
        run = dispatch.run_heartbeat(
            **lease,
            state=State(state),
            meters=meters | ({"progress": progress} if progress else {}),
            now=timezone.now(),
        )
        append_logs(run, body.get("logs") or [])
    ComputeWorker.objects.filter(pk=run.worker_id or 0).update(last_seen_at=timezone.now())
    action = "cancel" if run.cancel_requested_at else "continue"
    expires = run.lease_expires_at.isoformat() if run.lease_expires_at else None
    return JsonResponse({"action": action, "drain": False, "lease_expires_at": expires, "files": _renewed(run)})


def _renewed(run: Run) -> dict[str, str]:
    """New URLs while files are still being fetched; later nobody needs them."""
    return jobs.file_urls(run) if run.state in (State.LEASED, State.PREPARING) else {}


@worker_view("GET")
def file(request: HttpRequest, token: str) -> HttpResponseBase:
    grant = read_file_token(token, max_age_s=settings.LEASE_S * 10)
    stored = grant and StoredFile.objects.filter(sha256=grant.sha256).first()
    if not grant or not stored or not Run.objects.filter(lease_id=grant.lease_id, state__in=HELD).exists():
        raise Unauthorized("This file URL has expired or its run is over.")
    return stored_response(request, stored)


def _read_body(request: HttpRequest, limit_bytes: int) -> Iterator[bytes]:
    received = 0
    while chunk := request.read(CHUNK_BYTES):
        received += len(chunk)
        if received > limit_bytes:
            raise OutputTooLarge(f"The output is larger than the {limit_bytes:,} bytes that the phase allows.")
        yield chunk


@worker_view("PUT")
def output(request: HttpRequest, run_id: UUID, name: str) -> HttpResponse:
    lease = lease_of(request, run_id)
    if name not in OUTPUT_NAMES:
        raise InvalidResult(f"There is no output {name!r}; known are {', '.join(OUTPUT_NAMES)}.")
    held = Run.objects.filter(pk=run_id, lease_id=lease["lease_id"], state__in=HELD)
    allowed_bytes = held.values_list("submission__phase__output_bytes", flat=True).first()
    if allowed_bytes is None:
        raise LeaseLost
    # A zip of incompressible files is a little larger than the files; logs have a bound of their own.
    limit_bytes = allowed_bytes + 16 * 1024 * 1024
    with spooled(_read_body(request, limit_bytes)) as path:
        announced = request.headers.get("X-Content-SHA256", "")
        with path.open("rb") as spool:
            actual = hashlib.file_digest(spool, "sha256").hexdigest()
        if announced != actual:
            raise DigestMismatch(
                f"The body's SHA-256 is {actual}, announced was {announced or 'nothing'}. Send it again."
            )
        stored = store_path(path, link=True)
    with transaction.atomic():
        dispatch.require_lease(**lease)
        RunOutput.objects.bulk_create(
            [RunOutput(run_id=run_id, attempt=lease["attempt"], name=name, file=stored)],
            update_conflicts=True, unique_fields=["run", "attempt", "name"], update_fields=["file"],
        )  # fmt: skip
    return JsonResponse({"sha256": stored.sha256, "size_bytes": stored.size_bytes})


@worker_view("POST")
def complete(request: HttpRequest, run_id: UUID) -> HttpResponse:
    lease = lease_of(request, run_id)
    body = body_of(request)
    result = read_result(body, columns=_columns_asked(run_id))
    _require_outputs(run_id, lease["attempt"], mapping(body, "outputs"))
    state = dispatch.run_complete(**lease, result=result, now=timezone.now())
    return JsonResponse({"state": state})


def _columns_asked(run_id: UUID) -> list[str]:
    """The board's columns as they were when the run was handed out. Raises `LeaseLost` when the run was deleted."""
    if (found := Run.objects.filter(pk=run_id).values_list("receipt__columns").first()) is None:
        raise LeaseLost
    known: list[str] | None = found[0]
    return known or jobs.column_keys(Phase.objects.get(submissions__runs=run_id))


def _require_outputs(run_id: UUID, attempt: int, announced: dict[str, Any]) -> None:
    """Every output that the answer names has arrived with the digest that it names."""
    arrived = dict(RunOutput.objects.filter(run=run_id, attempt=attempt).values_list("name", "file_id"))
    for name, described in announced.items():
        digest = described.get("sha256") if isinstance(described, dict) else None
        if arrived.get(name) != digest:
            raise InvalidResult(
                f"The output {name[:60]!r} has not arrived with the digest {str(digest)[:64]}. Send it first."
            )


@worker_view("POST")
def release(request: HttpRequest, run_id: UUID) -> HttpResponse:
    lease = lease_of(request, run_id)
    return JsonResponse({"state": dispatch.run_release(**lease, note="", now=timezone.now())})
