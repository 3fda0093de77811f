"""A free run learns nothing of its team's run on hidden data in the same slot before."""

from __future__ import annotations

from typing import Any

from tests.hostile.programs.answer import ANSWER
from tests.integration.workers.harness import SCORER, SECRET, Bench
from tests.integration.workers.mirrors import index_pages, lock_line, serving, wheel_bytes

MARK = "seen-on-hidden-data-0815"
PLACES = (
    "/tmp",
    "/dev/shm",
    "/dev/mqueue",
    "/var/tmp",
    "/run",
    "/app",
    "/app/output",
    "/app/program",
    "/app/environment",
    "/app/weights",
    "/app/input_data",
    "/app/environment/__pycache__",
)
LEAVE = f"""
import ctypes, os, socket
MARK = {MARK!r}
libc = ctypes.CDLL(None, use_errno=True)
left = []
for place in {PLACES!r}:
    for act in (
        lambda: open(place + '/' + MARK, 'w').write(MARK),
        lambda: os.utime(place, (815, 815)),
        lambda: os.setxattr(place, 'user.mark', MARK.encode()),
        lambda: os.chmod(place, 0o1777),
    ):
        try:
            act()
            left.append(place)
        except OSError:
            pass
segment = libc.shmget(815, 4096, 0o1666)
queue = libc.msgget(815, 0o1666)
listener = socket.socket(socket.AF_UNIX)
listener.bind('\\0' + MARK)
listener.listen()
if os.fork() == 0:
    os.setsid()
    import time
    time.sleep(3600)
print('LEFT', len(left))
"""
LOOK = f"""
import ctypes, os, socket
MARK = {MARK!r}
libc = ctypes.CDLL(None, use_errno=True)
found = []
for place in {PLACES!r}:
    if os.path.exists(place + '/' + MARK):
        found.append(place)
    try:
        facts = os.stat(place)
        found += [place + ' time'] if 815 in (int(facts.st_mtime), int(facts.st_atime)) else []
        found += [place + ' attribute'] if 'user.mark' in os.listxattr(place) else []
    except OSError:
        pass
found += ['segment'] if libc.shmget(815, 0, 0) >= 0 else []
found += ['queue'] if libc.msgget(815, 0) >= 0 else []
try:
    socket.socket(socket.AF_UNIX).connect('\\0' + MARK)
    found.append('socket')
except OSError:
    pass
processes = [int(name) for name in os.listdir('/proc') if name.isdigit()]
found += ['process'] if len(processes) > 2 else []
print('FOUND', found)
"""


def job_with_packages(bench: Bench, source: str, lock: str, mirror: str) -> dict[str, Any]:
    """Code with packages, weights and input data, which all runs on this worker share by their digests."""
    first = bench.stage(
        "ingestion", [bench.program("/app/program", source), bench.mount("/app/input_data", {"x.txt": "1"})]
    )
    requirements = bench.file(lock.encode(), "requirements.txt")
    first["mounts"] += [
        {"target": "/app/weights", "file": bench.file(b"weights", "w.bin"), "unpack": False},
        {
            "target": "/app/environment",
            "requirements": requirements,
            "mirror": f"{mirror}/simple/",
            "wall_s": 120.0,
            "max_bytes": 16 << 20,
        },
    ]
    labels = bench.mount("/app/input/ref", {"labels.txt": SECRET}, secret=True)
    result = {"target": "/app/input/res", "stage_output": "ingestion"}
    return bench.job([first, bench.stage("scoring", [bench.program("/app/program", SCORER), labels, result])])


def test_what_a_program_leaves_behind_a_free_run_in_its_slot_does_not_find(bench: Bench) -> None:
    name, wheel = wheel_bytes("small", "5.5")
    lock = lock_line("small", wheel, "5.5")
    with serving(index_pages({name: wheel})) as address:
        hidden = bench.run(job_with_packages(bench, LEAVE + ANSWER, lock, address))
        free = bench.run(job_with_packages(bench, LOOK + ANSWER, lock, address))
        control = bench.run(job_with_packages(bench, LEAVE + LOOK + ANSWER, lock, address))
    assert int(hidden.log.split("LEFT ")[1].split()[0]) >= 3, "it could leave something in its own places"
    assert "FOUND []" in free.log, free.log
    assert "/tmp" in control.log.split("FOUND ")[1], "the search finds what is there"
    for kind in ("segment", "queue", "socket", "process"):
        assert kind in control.log.split("FOUND ")[1], control.log
    assert free.result["scores"] == {"score": 0.5}
