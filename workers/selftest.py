"""`podium-worker self-test`: runs small hostile programs and says which limits hold on this host."""

import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from workers.agent.context import LABEL_WORKER
from workers.agent.host.facts import toolkit_fault, toolkit_version
from workers.engines import engine_for
from workers.engines.base import GVISOR, Engine, EngineFacts
from workers.engines.spec import Runner, StageSpec
from workers.errors import OutputRefused, SandboxError
from workers.protocol.hosts import HeldLimit
from workers.protocol.jobs import PullPolicy
from workers.protocol.limits import MIB, Limits
from workers.sandbox.collect import list_output
from workers.sandbox.output_volume import OutputVolume, loop_mounts_work
from workers.sandbox.stage import Evidence, StageRun

LIMITS = Limits(
    wall_s=20,
    memory_bytes=128 * MIB,
    cpus=1.0,
    pids=64,
    output_bytes=8 * MIB,
    output_files=64,
    tmp_bytes=8 * MIB,
    log_bytes=64 << 10,
)


@dataclass(frozen=True)
class Seen:
    """The result of a probe: evidence, log, and the code of its output's refusal, if any."""

    evidence: Evidence
    log: str
    refused: str | None
    took_s: float


@dataclass(frozen=True)
class Probe:
    """One limit: a program that attacks it, and how to see that it held."""

    name: str
    source: str
    holds: Callable[[Seen], bool]
    limits: Limits = field(default=LIMITS)
    needs_quota: bool = False
    plain_files: bool = False
    held: HeldLimit | None = None  # the limit of control groups that it tries
    counts: HeldLimit | None = None  # the limit whose control group it reads
    in_gvisor: bool = True  # it means something where gVisor answers system calls


FORKS = """
import os, time
n = 0
try:
    while n < 2000:
        if os.fork() == 0:
            time.sleep(30)
        n += 1
except OSError:
    print('LIMIT', n)
"""
WRITE_EVERYWHERE = """
import os
for folder in ('/', '/usr', '/etc', '/var/tmp', '/app/program'):
    try:
        open(folder + '/x', 'w')
        print('WROTE', folder)
    except OSError:
        print('LIMIT', folder)
"""
REACH_OUT = """
import socket
for address in (('169.254.169.254', 80), ('172.17.0.1', 80), ('1.1.1.1', 53)):
    try:
        socket.create_connection(address, 1)
        print('CONNECTED')
    except OSError as error:
        print('LIMIT', error.errno)
"""
PRIVILEGES = """
import os
status = dict(line.split(':', 1) for line in open('/proc/self/status').read().splitlines())
print('LIMIT', os.getuid(), int(status['CapBnd'], 16), int(status['CapEff'], 16), status['NoNewPrivs'].strip())
"""
SYSTEM_CALLS = """
import ctypes, errno, platform, socket
libc = ctypes.CDLL(None, use_errno=True)
numbers = {'x86_64': (425, 101, 321, 310, 272), 'aarch64': (425, 117, 280, 270, 97)}[platform.machine()]
results = []
for number in numbers:
    libc.syscall(number, 0, 0, 0, 0, 0)
    results.append(ctypes.get_errno() == errno.EPERM)
for family in (38, 40):
    try:
        socket.socket(family, socket.SOCK_SEQPACKET if family == 38 else socket.SOCK_STREAM)
        results.append(False)
    except OSError:
        results.append(True)
print('LIMIT', all(results))
"""
HOG = (
    "x = []\nfor n in range(64):\n    x.append(bytearray(8 << 20))"  # four times what it may, in case nothing stops it
)
SPIN = """
import time
until = time.monotonic() + 1
while time.monotonic() < until:
    pass
print('LIMIT', time.process_time())
"""
FILL = "with open('/app/output/x', 'wb') as f:\n    while True:\n        f.write(bytes(1 << 20)); f.flush()\n"
FILL_TMP = """
try:
    with open('/tmp/x', 'wb', buffering=0) as f:
        for n in range(64):
            if f.write(bytes(1 << 20)) < 1 << 20:
                raise OSError
except OSError:
    print('LIMIT', n)
"""
ODD_FILES = """
import os, stat
for make in (
    lambda: os.symlink('/etc/passwd', '/app/output/a'), lambda: os.mkfifo('/app/output/b'),
    lambda: os.mknod('/app/output/c', stat.S_IFCHR | 0o666, os.makedev(1, 3)), lambda: os.mknod('/app/output/d', stat.S_IFSOCK),
):
    try:
        make()
        print('MADE')
    except OSError:
        print('LIMIT')
"""
HOST_PATHS = """
import os
seen = [place for place in ('/sys/block', '/sys/fs/ext4', '/sys/devices/virtual/block') if os.path.isdir(place) and os.listdir(place)]
print('LIMIT', seen, open('/proc/self/cgroup').read().count('podium'))
"""
FILES = "for n in range(10000):\n    open(f'/app/output/{n}', 'w').close()\n"

PROBES = (
    Probe(
        "processes",
        FORKS,
        lambda seen: "LIMIT" in seen.log and int(seen.log.split()[-1]) < 64,
        held=HeldLimit.PROCESSES,
    ),
    Probe("memory", HOG, lambda seen: seen.evidence.oom_killed, held=HeldLimit.MEMORY),
    Probe(
        "cores",
        SPIN,
        lambda seen: "LIMIT" in seen.log and float(seen.log.split()[-1]) < 0.75,
        LIMITS.model_copy(update={"cpus": 0.5}),
        held=HeldLimit.CPUS,
    ),
    Probe(
        "wall clock",
        "import time\ntime.sleep(60)",
        lambda seen: seen.evidence.killed_by == "time_limit" and seen.took_s < 4,
        LIMITS.model_copy(update={"wall_s": 1}),
    ),
    Probe("output size", FILL, lambda seen: seen.evidence.output_full, needs_quota=True),
    Probe("number of output files", FILES, lambda seen: seen.evidence.output_no_inodes, needs_quota=True),
    Probe("temporary files", FILL_TMP, lambda seen: "LIMIT" in seen.log),
    Probe(
        "read-only file system", WRITE_EVERYWHERE, lambda seen: "WROTE" not in seen.log and seen.log.count("LIMIT") == 5
    ),
    Probe("no network", REACH_OUT, lambda seen: "CONNECTED" not in seen.log and seen.log.count("LIMIT") == 3),
    Probe("no privileges", PRIVILEGES, lambda seen: f"LIMIT {Runner().uid} 0 0 1" in seen.log),
    Probe("system calls", SYSTEM_CALLS, lambda seen: "LIMIT True" in seen.log, in_gvisor=False),
    Probe(
        "links in the output",
        "import os\nos.symlink('/etc/passwd', '/app/output/x')",
        lambda seen: seen.refused == "link_in_output",
    ),
    Probe(
        "links and pipes beside a scoring program",
        ODD_FILES,
        lambda seen: "MADE" not in seen.log and seen.log.count("LIMIT") == 4,
        plain_files=True,
        in_gvisor=False,
    ),
    Probe("paths of the host", HOST_PATHS, lambda seen: "LIMIT [] 0" in seen.log),
    Probe(
        "metering",
        "x = sum(n * n for n in range(5_000_000))",
        lambda seen: (seen.evidence.usage.cpu_s or 0) > 0.05 and (seen.evidence.usage.memory_peak_bytes or 0) > MIB,
        counts=HeldLimit.MEMORY,
    ),
)


@dataclass(frozen=True)
class Tester:
    """Runs probes on one engine. `quota`: outputs are bounded by file systems of fixed size."""

    engine: Engine
    facts: EngineFacts
    folder: Path
    image: str
    quota: bool
    runtime: str = ""

    @property
    def probes(self) -> tuple[Probe, ...]:
        """The probes that mean something here.

        The others try what the engine says that it does not hold, or what gVisor answers by itself.
        """
        in_gvisor = self.runtime == GVISOR
        return tuple(
            probe
            for probe in PROBES
            if not {probe.held, probe.counts} & {*self.facts.unheld} and (probe.in_gvisor or not in_gvisor)
        )

    def run(self, probe: Probe, *, gpu_uuid: str | None = None) -> Seen:
        """Run one probe's program to its end and clean up. Raises `SandboxError` when the engine fails."""
        stage = self._stage(probe, gpu_uuid)
        try:
            stage.prepare()
            started = time.monotonic()
            evidence = stage.execute()
            took_s = time.monotonic() - started
            refused = None
            try:
                list_output(stage.volume.path, max_files=10**9, max_bytes=10**15)
            except OutputRefused as error:
                refused = error.code
            log = self.folder / "log"
            stage.write_log(log)
            return Seen(evidence, log.read_text(errors="replace"), refused, took_s)
        finally:
            stage.destroy()

    def _stage(self, probe: Probe, gpu_uuid: str | None) -> StageRun:
        unique = uuid.uuid4().hex
        limits = probe.limits
        runner = Runner(offset=self.facts.user_offset)
        volume = OutputVolume(
            self.folder,
            unique,
            size_bytes=limits.output_bytes,
            files=limits.output_files,
            quota=self.quota,
            owner=runner.host_uid,
        )
        spec = StageSpec(
            name=f"podium-self-test-{unique}",
            image=self.image,
            argv=("python3", "-c", probe.source),
            mounts=(),
            output=volume.path,
            limits=limits,
            labels={LABEL_WORKER: "self-test"},
            group=unique,
            gpu_uuid=gpu_uuid,
            runner=runner,
            plain_files=probe.plain_files,
            runtime=self.runtime,
            image_facts=self.engine.ensure_image(self.image, PullPolicy.NEVER),
        )
        return StageRun("self-test", self.engine, spec, volume)


def user_namespaces_words(facts: EngineFacts) -> str:
    """One line on whether users inside containers are others outside."""
    if facts.rootless:
        return "User namespaces: yes, the engine runs without root; the user of a container is the worker's own user on this host"
    if facts.user_namespaces:
        return (
            f"User namespaces: yes, user 0 of a container is user {facts.user_offset} of this host. All containers share the inotify "
            f"instances of one user: set fs.inotify.max_user_instances to 1048576"
        )
    return "User namespaces: no (userns-remap in daemon.json); each slot has a user of its own, without rights"


def self_test(*, image: str, data_dir: Path | None, engine: str | None) -> int:
    """Run all probes, one line each on standard output; 1 when a limit does not hold.

    Raises `SandboxError` where the engine or the image is not there.
    """
    connection = engine_for(engine or "")
    facts = connection.facts()
    if connection.find_image(image) is None:
        raise SandboxError(
            "image_missing", f"{image} is not on this host; make it with `python -m workers.images ensure`"
        )
    print(f"{facts.name} {facts.version}, cgroup {facts.cgroup_version} ({facts.cgroup_driver}), kernel {facts.kernel}")
    print(user_namespaces_words(facts))
    toolkit = toolkit_version()
    print(f"NVIDIA container toolkit: {toolkit or 'none seen'}")
    with tempfile.TemporaryDirectory(prefix="podium-self-test-", dir=data_dir) as name:
        folder = Path(name)
        # Without root the engine itself, as another user of its name space, must find what lies in it.
        folder.chmod(0o711 if facts.rootless else 0o700)
        tester = Tester(connection, facts, folder, image, loop_mounts_work(folder))
        tried, failed = _try_all(tester)
        if GVISOR in facts.runtimes:
            print(f"In gVisor ({GVISOR}):")
            in_gvisor = _try_all(replace(tester, runtime=GVISOR))
            tried, failed = tried + in_gvisor[0], failed + in_gvisor[1]
    fault = toolkit_fault(toolkit)
    if fault:
        print(f"  FAILS  {fault}: an image could run a program of its own as root of this host when it is given a GPU")
    print(f"{tried - failed} of {tried} limits hold." + (" DO NOT run submissions here." if failed or fault else ""))
    if facts.unheld:
        print(
            f"The engine holds nobody to: {', '.join(facts.unheld)}. A worker here gets no run that needs it; see docs/engines.md."
        )
    return 1 if failed or fault or facts.unheld else 0


def _try_all(tester: Tester) -> tuple[int, int]:
    """Print a line for each limit; returns how many were tried, and how many of them do not hold."""
    for limit in tester.facts.unheld:
        print(f"  UNHELD {limit}")
    held = [_report(result, quota=tester.quota) for result in examine(tester)]
    return len(held), held.count(False)


@dataclass(frozen=True)
class Result:
    """The result for one limit."""

    probe: Probe
    seen: Seen
    holds: bool

    @property
    def name(self) -> str:
        """The limit's name."""
        return self.probe.name


def examine(tester: Tester) -> Iterator[Result]:
    """Try every limit in turn. Raises `SandboxError` when the engine fails."""
    for probe in tester.probes:
        seen = tester.run(probe)
        yield Result(probe, seen, probe.holds(seen))


def _report(result: Result, *, quota: bool) -> bool:
    without = quota or not result.probe.needs_quota
    note = "" if without else "  (no loop file systems here: watched, not bounded; run as root)"
    print(f"  {'holds ' if result.holds else 'FAILS '} {result.name}{note}")
    if not result.holds:
        print(f"          {result.seen.log.strip()[-300:]!r} {result.seen.evidence}", file=sys.stderr)
    return result.holds
