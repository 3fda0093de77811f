"""The test of a host before its worker registers: hostile programs show that the limits hold.

It is made once for each state of the host.
"""

import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import structlog

from workers import __version__
from workers.agent.context import Worker
from workers.agent.host.facts import toolkit_fault
from workers.agent.runs.state import write_durably
from workers.engines.base import GVISOR
from workers.errors import SandboxError
from workers.protocol.hosts import Host, Isolation, SelfTest
from workers.protocol.messages import read_message
from workers.selftest import Tester, examine

log = structlog.get_logger(__name__)
FILE_NAME = "self-test.json"


class LimitsDoNotHold(SandboxError):
    """This host must not run submissions; the message names the limits."""

    def __init__(self, failed: Sequence[str]) -> None:
        super().__init__(
            "limits_do_not_hold",
            f"on this host these limits do not hold: {', '.join(failed)}. It does not register; `podium-worker self-test` says more.",
        )


def enrol(worker: Worker, *, when: str, image: str) -> SelfTest:
    """The record that is sent when registering; empty when nothing was tried.

    `when` is `once` (again after a change of kernel, engine, image, seccomp profile or worker), `always` or `never`.
    Raises `LimitsDoNotHold`.
    """
    if when == "never":
        return SelfTest()
    image_facts = worker.engine.find_image(image)
    if image_facts is None:
        log.warning("self_test_not_run", detail=f"the image {image} is not on this host")
        return SelfTest()
    record = _valid_record(worker, image_facts.digest) if when == "once" else None
    record = record or _test_limits(worker, image, image_facts.digest)
    if record.fails:
        raise LimitsDoNotHold(record.fails)
    return record


def _state_of_host(worker: Worker, image_digest: str) -> str:
    facts = (worker.facts, worker.runtime, image_digest, worker.quota, worker.host.gpu_toolkit, __version__)
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _valid_record(worker: Worker, image_digest: str) -> SelfTest | None:
    try:
        record = read_message(SelfTest, json.loads((worker.data_dir / FILE_NAME).read_text()))
    except (OSError, ValueError):
        return None
    same = record.state == _state_of_host(worker, image_digest) and not (
        record.fails or record.unheld or record.sandbox_fails
    )
    return record if same else None


def tested_host(worker: Worker, record: SelfTest) -> Host:
    """The description of the host, with what the test of its limits has shown."""
    unheld = dict.fromkeys((*worker.facts.unheld, *record.unheld))
    isolations = worker.isolations
    if record.sandbox_fails and worker.runtime != GVISOR:
        log.warning(
            "sandbox_not_offered", detail=f"in gVisor these limits do not hold: {', '.join(record.sandbox_fails)}"
        )
        isolations = (Isolation.STANDARD,)
    if unheld:
        log.warning("limits_unheld", detail=", ".join(unheld))
    return worker.host.model_copy(update={"unheld": tuple(unheld), "isolations": isolations})


def _sandbox_faults(tester: Tester) -> tuple[str, ...]:
    """Limits that do not hold in gVisor, where the engine has it; `start` where nothing starts."""
    try:
        return tuple(result.name for result in examine(replace(tester, runtime=GVISOR)) if not result.holds)
    except SandboxError as error:
        log.warning("sandbox_not_tried", detail=str(error)[:500])
        return ("start",)


def _test_limits(worker: Worker, image: str, image_digest: str) -> SelfTest:
    with tempfile.TemporaryDirectory(prefix="self-test-", dir=worker.data_dir) as name:
        folder = Path(name)
        folder.chmod(0o711 if worker.facts.rootless else 0o700)
        tester = Tester(worker.engine, worker.facts, folder, image, quota=worker.quota, runtime=worker.runtime)
        results = list(examine(tester))
        tries_gvisor = Isolation.SANDBOXED in worker.isolations and worker.runtime != GVISOR
        sandbox_fails = _sandbox_faults(tester) if tries_gvisor else ()
    unheld = {result.probe.held for result in results if not result.holds} - {None}
    toolkit = toolkit_fault(worker.host.gpu_toolkit)
    record = SelfTest(
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        holds=tuple(result.name for result in results if result.holds),
        fails=(
            *(result.name for result in results if not result.holds and result.probe.held is None),
            *([toolkit] if toolkit else []),
        ),
        unheld=tuple(sorted(str(limit) for limit in unheld)),
        sandbox_fails=sandbox_fails,
        state=_state_of_host(worker, image_digest),
    )
    write_durably(worker.data_dir / FILE_NAME, record.model_dump_json())
    log.info("self_test_done", count=len(results), detail=", ".join(record.fails) or "all limits hold")
    return record
