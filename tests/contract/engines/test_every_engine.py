"""The contract of every container engine, `workers.engines.base.Engine`, on the real one."""

from __future__ import annotations

import gc
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.contract.engines.conftest import ENGINES, LIMITS, Stage, empty_registry
from tests.soak import in_soak, mostly_in_soak
from workers.engines import cgroup, engine_for
from workers.engines.docker import client
from workers.engines.faults import is_of_host
from workers.engines.spec import Mount
from workers.errors import SandboxError
from workers.images.base import BASE_IMAGE
from workers.protocol.hosts import HeldLimit
from workers.protocol.images import engine_name
from workers.protocol.jobs import PullPolicy

SLEEP = ("sleep", "60")
MISSING = "podium.invalid/none:1"
# The code of the worker is the same for each.
on_one_engine = pytest.mark.parametrize("connected", mostly_in_soak(ENGINES, always=ENGINES[:1]), indirect=True)


def python(source: str) -> tuple[str, ...]:
    return ("python3", "-c", source)


def test_it_says_who_it_is_and_answers(stage: Stage) -> None:
    stage.engine.ping()
    facts = stage.facts  # Podman starts a handful of programs each time that it is asked
    assert facts.name
    assert facts.version
    assert facts.kernel
    assert facts.user_offset == 0 or facts.user_namespaces


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # the SDK leaves a socket that never connected
def test_an_engine_that_is_not_there_is_unreachable() -> None:
    with pytest.raises(SandboxError) as error:
        engine_for("unix:///podium/no/such.sock")
    assert error.value.code == "engine_unreachable"
    del error
    gc.collect()


def test_an_image_that_is_there_is_described_by_its_digest(stage: Stage) -> None:
    image = stage.engine.find_image(stage.image)
    assert image is not None
    assert image.digest.startswith("sha256:")
    for policy in (PullPolicy.NEVER, PullPolicy.MISSING):
        assert stage.engine.ensure_image(stage.image, policy).digest == image.digest


def test_the_files_of_an_image_are_counted_up_to_a_bound(stage: Stage) -> None:
    counted = [stage.engine.image_entries(stage.image, at_most) for at_most in (10, 10**6)]
    assert counted[0] in (11, None)
    assert counted[1] is None or 500 < counted[1] < 10**6


@on_one_engine
def test_they_are_counted_also_by_a_worker_that_sees_no_folder_of_the_engine(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container of its own. The engine hands out the whole image each time, so it is a small one."""
    image = BASE_IMAGE if stage.tested.name == "docker" else stage.image
    seen = stage.engine.image_entries(image, 10**6)
    monkeypatch.setattr(client, "layer_folders", lambda facts: [])
    counted = [stage.engine.image_entries(image, at_most) for at_most in (10, 10**6)]
    assert counted[0] == 11
    assert counted[1] is not None
    assert seen is None or abs(counted[1] - seen) < seen / 10


def test_an_image_is_listed_by_its_name(stage: Stage) -> None:
    names = stage.engine.image_names()
    assert engine_name(stage.image) in names
    assert MISSING not in names


def test_an_image_that_is_missing_is_not_there_and_not_pulled_where_that_is_not_wanted(stage: Stage) -> None:
    assert stage.engine.find_image(MISSING) is None
    with pytest.raises(SandboxError) as error:
        stage.engine.ensure_image(MISSING, PullPolicy.NEVER)
    assert error.value.code == "image_missing"


@pytest.mark.parametrize("policy", [PullPolicy.MISSING, PullPolicy.ALWAYS])
def test_an_image_that_no_registry_has_is_named_with_its_reason(stage: Stage, policy: PullPolicy) -> None:
    with pytest.raises(SandboxError, match=r"podium\.invalid") as error:
        stage.engine.ensure_image(MISSING, policy)
    assert error.value.code == "image_pull_failed"


def test_an_image_that_its_registry_does_not_know_is_told_from_a_registry_that_is_away(stage: Stage) -> None:
    with empty_registry() as address, pytest.raises(SandboxError, match="manifest unknown") as error:
        stage.engine.ensure_image(f"{address}/lab/none:1", PullPolicy.MISSING)
    assert error.value.code == "image_unknown"


def test_a_container_that_is_prepared_has_not_started(stage: Stage) -> None:
    state = stage.engine.observe(stage.engine.prepare(stage.spec(*SLEEP)))
    assert state.never_started
    assert not state.ended


def test_preparing_twice_under_one_name_gives_the_same_container(stage: Stage) -> None:
    spec = stage.spec(*SLEEP)
    assert stage.engine.prepare(spec) == stage.engine.prepare(spec)


def test_a_container_that_runs_is_observed_as_started_and_not_ended(stage: Stage) -> None:
    state = stage.engine.observe(stage.started(*SLEEP))
    assert (state.never_started, state.ended, state.finished_at) == (False, False, None)


@pytest.mark.parametrize("code", [pytest.param(0, marks=in_soak), pytest.param(3, marks=in_soak), 255])
def test_an_end_is_waited_for_and_its_exit_code_and_times_are_known(stage: Stage, code: int) -> None:
    state = stage.ended(*python(f"raise SystemExit({code})"))
    assert (state.ended, state.exit_code, state.oom_killed) == (True, code, False)
    assert state.started_at is not None
    assert state.finished_at is not None
    assert abs(datetime.now(UTC) - state.finished_at) < timedelta(minutes=1)


def test_a_kill_ends_all_of_it_and_may_come_twice(stage: Stage) -> None:
    container = stage.started(
        *python("import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)")
    )
    stage.engine.kill(container)
    stage.engine.wait(container)
    stage.engine.kill(container)
    state = stage.engine.observe(container)
    assert (state.ended, state.exit_code) == (True, 137)


def test_a_kill_is_told_from_an_end_of_its_own(stage: Stage) -> None:
    killed, alone = stage.started(*SLEEP), stage.started("true")
    since = stage.engine.observe(killed).started_at
    assert since is not None
    stage.engine.kill(killed)
    for container in (killed, alone):
        stage.engine.wait(container)
    assert stage.engine.was_signalled(killed, since)
    assert not stage.engine.was_signalled(alone, since)


def test_several_threads_may_wait_for_one_container(stage: Stage) -> None:
    container = stage.started(*SLEEP)
    waiting = [threading.Thread(target=stage.engine.wait, args=(container,)) for _ in range(3)]
    for thread in waiting:
        thread.start()
    stage.engine.kill(container)
    for thread in waiting:
        thread.join(20)
    assert not any(thread.is_alive() for thread in waiting)


def test_a_gpu_that_the_host_does_not_have_is_the_hosts_fault(stage: Stage) -> None:
    with pytest.raises(SandboxError) as error:
        stage.started("true", gpu_uuid="GPU-11111111-2222-3333-4444-555555555555")
    assert error.value.code == "engine_error"
    assert is_of_host(error.value.detail), error.value.detail


def test_memory_beyond_the_limit_ends_the_program_and_is_said(stage: Stage) -> None:
    stage.needs(HeldLimit.MEMORY)
    state = stage.ended(*python("x = []\nwhile True:\n    x.append(bytearray(8 << 20))"))
    assert state.exit_code != 0
    assert stage.engine.was_out_of_memory(stage.specs[-1], state)
    not_said_with_the_end = replace(state, oom_killed=False)
    assert stage.engine.was_out_of_memory(stage.specs[-1], not_said_with_the_end)


@pytest.mark.parametrize("files", [0, 2 * LIMITS.memory_bytes // LIMITS.output_bytes])
def test_the_exit_code_of_a_kill_says_nothing_of_memory_even_where_written_files_filled_it(
    stage: Stage, files: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counters = tmp_path / "vmstat"  # else programs of other tests count, which run out of memory at the same time
    counters.write_text("oom_kill 7\n")
    monkeypatch.setattr(cgroup, "HOST_COUNTERS", counters)
    writing = f"for n in range({files}):\n    with open(f'/app/output/{{n}}', 'wb') as file:\n        file.write(bytes(4 << 20))"
    state = stage.ended(*python(f"import os\n{writing}\nos._exit(137)"))
    assert (state.exit_code, stage.engine.was_out_of_memory(stage.specs[-1], state)) == (137, False)


def test_both_streams_are_collected_in_the_order_in_which_they_were_written(stage: Stage) -> None:
    source = "import sys\nfor n in range(50):\n    print(n, file=(sys.stdout, sys.stderr)[n % 2], flush=True)"
    container = stage.ended(*python(source)).id
    assert stage.text(container).split() == [str(number) for number in range(50)]


def test_what_is_written_is_seen_while_it_runs_and_a_reader_may_go(stage: Stage) -> None:
    stream = stage.engine.collect(stage.started("sh", "-c", "echo begun; sleep 60"), follow=True)
    assert next(stream).strip() == b"begun"
    stream.close()


def test_the_end_of_a_long_log_can_be_collected_alone(stage: Stage) -> None:
    # Each line in one piece: of one that a program writes in two, Podman's end of a log may leave out the line break.
    container = stage.ended(*python("import os\nfor n in range(1000):\n    os.write(1, b'%d\\n' % n)")).id
    tail = b"".join(stage.engine.collect(container, follow=False, tail=5))
    assert tail.split() == [b"995", b"996", b"997", b"998", b"999"]


def test_what_a_container_used_is_known_after_its_end_and_until_it_is_released(stage: Stage) -> None:
    stage.needs(HeldLimit.MEMORY)
    spec = stage.spec(*python("x = bytearray(16 << 20)\nfor n in range(3_000_000):\n    pass"))
    container = stage.engine.prepare(spec)
    stage.engine.start(container)
    stage.engine.wait(container)
    stage.engine.remove(container)
    used = stage.engine.usage(spec.group)
    assert (used.cpu_s or 0) > 0.01
    assert (used.memory_peak_bytes or 0) > 8 << 20
    assert spec.group in stage.engine.groups(stage.key)
    assert stage.engine.release(spec.group)
    assert stage.engine.usage(spec.group).cpu_s is None
    assert list(stage.engine.groups(stage.key)) == []
    assert not stage.engine.release(spec.group), "there is nothing left to forget"


def test_nothing_is_forgotten_under_a_container_that_runs(stage: Stage) -> None:
    stage.needs(HeldLimit.MEMORY)
    container = stage.started(*SLEEP)
    assert not stage.engine.release(stage.specs[0].group)
    assert not stage.engine.observe(container).ended
    assert stage.engine.usage(stage.specs[0].group).cpu_s is not None


def test_a_successor_adopts_a_container_by_its_name(stage: Stage) -> None:
    container = stage.started(*SLEEP)
    state = stage.tested.connect().adopt(stage.specs[0].name)
    assert (state.id, state.labels["podium.contract"]) == (container, stage.key)


def test_a_container_that_is_gone_is_missing_and_removing_it_again_is_no_error(stage: Stage) -> None:
    container = stage.started(*SLEEP)
    stage.engine.remove(container)
    stage.engine.remove(container)
    for ask in (stage.engine.observe, stage.engine.adopt):
        with pytest.raises(SandboxError) as error:
            ask(container)
        assert error.value.code == "container_missing"


def test_containers_are_listed_by_all_of_these_labels_whether_they_run_or_not(stage: Stage) -> None:
    first, second = stage.started(*SLEEP), stage.engine.prepare(stage.spec(*SLEEP))
    assert set(stage.engine.list({"podium.contract": stage.key})) == {first, second}
    assert list(stage.engine.list({"podium.contract": stage.key, "podium.number": "1"})) == [second]
    assert list(stage.engine.list({"podium.contract": "nobody's"})) == []


def test_a_program_sees_its_mounts_as_they_are_allowed_and_writes_nowhere_else(stage: Stage) -> None:
    for name in ("read", "write"):
        (stage.folder / name).mkdir()
        (stage.folder / name / "x").write_text(name)
        (stage.folder / name).chmod(0o777)
    mounts = (Mount(stage.folder / "read", "/app/program"), Mount(stage.folder / "write", "/app/shared", writable=True))
    source = """
for place in ('/app/program', '/app/shared', '/app/output', '/tmp', '/', '/etc', '/usr'):
    try:
        open(place + '/y', 'w').close()
        print(place)
    except OSError:
        pass
print(open('/app/program/x').read(), open('/app/shared/x').read())
"""
    container = stage.ended(*python(source), mounts=mounts).id
    assert stage.text(container).split() == ["/app/shared", "/app/output", "/tmp", "read", "write"]
    assert (stage.specs[0].output / "y").exists()


def test_a_program_is_its_runner_with_no_rights_and_no_network(stage: Stage) -> None:
    source = """
import os, socket
status = dict(line.split(':', 1) for line in open('/proc/self/status').read().splitlines())
print(os.getuid(), int(status['CapBnd'], 16), status['NoNewPrivs'].strip(), len(socket.if_nameindex()))
"""
    container = stage.ended(*python(source)).id
    runner = stage.specs[0].runner
    assert stage.text(container).split() == [str(runner.uid), "0", "1", "1"]


def test_a_program_has_few_processes(stage: Stage) -> None:
    stage.needs(HeldLimit.PROCESSES)
    source = """
import os, time
children = 0
try:
    while children < 200:
        if os.fork() == 0:
            time.sleep(30)
        children += 1
except OSError:
    print(children < 32)
"""
    container = stage.ended(*python(source)).id
    assert stage.text(container).split() == ["True"]


def test_the_limit_of_open_files_is_that_which_was_asked_for(stage: Stage) -> None:
    source = "import resource\nprint(resource.getrlimit(resource.RLIMIT_NOFILE)[1])"
    container = stage.ended(*python(source), open_files=1024).id
    assert stage.text(container).split() == ["1024"]


def test_cores_are_those_that_were_asked_for(stage: Stage) -> None:
    stage.needs(HeldLimit.CPUS)
    container = stage.ended(*python("import os\nprint(os.sched_getaffinity(0))"), cpuset="0").id
    assert stage.text(container).split() == ["{0}"]


def test_plain_files_alone_are_made_where_that_is_asked_for(stage: Stage) -> None:
    if not stage.facts.filters_calls(""):
        pytest.fail("an engine that filters no calls must refuse `plain_files` instead")
    source = """
import os
for make in (lambda: os.symlink('a', '/tmp/l'), lambda: os.mkfifo('/tmp/f'), lambda: open('/tmp/x', 'w').close()):
    try:
        make()
        print('MADE')
    except OSError:
        print('REFUSED')
"""
    container = stage.ended(*python(source), plain_files=True).id
    assert stage.text(container).split() == ["REFUSED", "REFUSED", "MADE"]
