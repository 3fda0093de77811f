"""Container engines of a test run beside the machine's own: Podman, and a Docker that has gVisor.

`PODIUM_TEST_ENGINE` chooses the one on which the hostile suite runs: docker (as usual), podman, gvisor, or podman-rootless, for which
all of pytest runs as a user without rights (`scripts/without_root.sh`).
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import services
from workers.engines import engine_for
from workers.engines.base import GVISOR, Engine, EngineFacts
from workers.protocol.hosts import HeldLimit

VARIABLE = "PODIUM_TEST_ENGINE"
IN_GVISOR = os.environ.get(VARIABLE) == "gvisor"
not_in_gvisor = pytest.mark.skipif(IN_GVISOR, reason="gVisor answers by itself what the host's kernel is asked here")
with_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="this needs root: an engine of its own, or programs as users of their own"
)
IMAGE = "podium/test-python:1"
# Engines of their own have to be handed it: Python, its libraries, a shell, and nothing else of the runtime image.
DOCKERFILE = """
FROM {runtime} AS full
USER 0
WORKDIR /
RUN mkdir -p /small/usr/bin /small/tmp && chmod 1777 /small/tmp && ln -s usr/bin /small/bin \\
 && cp -L /usr/bin/python3 /usr/bin/env /usr/bin/sh /usr/bin/sleep /usr/bin/true /small/usr/bin \\
 && cp -a --parents usr/lib/python3.11 etc/passwd etc/group /small \\
 && ldd /small/usr/bin/* /usr/lib/python3.11/lib-dynload/*.so \\
 | grep -v : | grep -o '/[^ ]*[.]so[^ ]*' | sort -u | xargs cp --parents -Lt /small
FROM scratch
COPY --from=full /small /
"""


@dataclass(frozen=True)
class TestedEngine:
    """An engine, the runtime that containers are asked to have there, and an image with Python."""

    __test__ = False  # not a class of tests

    name: str
    url: str
    runtime: str
    image: str

    def connect(self) -> Engine:
        """A connection of its own."""
        return engine_for(self.url)


def skip_unless_held(facts: EngineFacts, *limits: HeldLimit) -> None:
    """Skip a test of limits of which the engine says that its host holds nobody to them."""
    unheld = {*limits} & {*facts.unheld}
    if unheld:
        pytest.skip(f"{facts.name} says that here nobody is held to: {', '.join(sorted(unheld))}")


def chosen(real: services.Services) -> TestedEngine:
    """The engine that `PODIUM_TEST_ENGINE` names, with the whole runtime image; started if need be."""
    return start(os.environ.get(VARIABLE) or "docker", real, real.runtime_image())


def start(name: str, real: services.Services, image: str = IMAGE) -> TestedEngine:
    """An engine of this name, with an image; started if need be."""
    runtime_image = real.runtime_image()
    if name == "docker":
        return TestedEngine(name, "", "", runtime_image)
    if name not in STARTS:
        raise services.ServiceError(f"{VARIABLE} must be docker or one of {', '.join(STARTS)}, not {name!r}")
    url = str(real.once(name, lambda: STARTS[name](real.folder))["url"])
    real.once(f"{image} on {name}", lambda: _hand_over(image, url, runtime_image))
    return TestedEngine(name, url, GVISOR if name == "gvisor" else "", image)


def start_podman(folder: Path) -> dict[str, Any]:
    """Podman as the user who runs the tests, with a store of its own."""
    program = _program("podman")
    data = Path(tempfile.mkdtemp(prefix="podman-"))
    (data / "storage.conf").write_text(
        f'[storage]\ndriver = "overlay"\ngraphroot = "{data}/store"\nrunroot = "{data}/run"\n'
    )
    # As Docker does by itself: registries of this machine need no certificate.
    (data / "registries.conf").write_text('[[registry]]\nlocation = "127.0.0.1"\ninsecure = true\n')
    # Else containers of the tests' own would ask for more open files than this machine may allow.
    (data / "containers.conf").write_text('[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n')
    environment = {
        "CONTAINERS_CONF": str(data / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(data / "storage.conf"),
        "CONTAINERS_REGISTRIES_CONF": str(data / "registries.conf"),
    }
    if os.geteuid() != 0:  # of the user's own store, else, it would take over what it finds
        environment |= {"HOME": str(data), "XDG_RUNTIME_DIR": str(data)}
    url = f"unix://{data}/podman.sock"
    command = [program, "--cgroup-manager=cgroupfs", *_runtime_of_podman(), "system", "service", "--time=0", url]
    started = _spawn("podman", command, url, folder, data, environment)
    if os.geteuid() == 0:
        return started
    # Files of images belong to further users there, which are Podman's alone to remove. A process of its own holds the name space.
    variables = [f"{name}={value}" for name, value in environment.items()]
    remove = 'paused=$(cat "$0/libpod/tmp/pause.pid"); podman unshare rm -rf "$0"; kill $paused'
    return started | {"remove": ["env", *variables, "sh", "-c", remove, str(data)]}


def start_rootless_podman(folder: Path) -> dict[str, Any]:
    """Podman without root: the tests' own user must have none."""
    if os.geteuid() == 0:
        raise services.ServiceError(
            "podman-rootless is for a user without rights: put scripts/without_root.sh before it"
        )
    _program("newuidmap")
    return start_podman(folder)


def _runtime_of_podman() -> list[str]:
    """`runc`, where the usual `crun` does not start: on hosts with cgroup v1 beside v2."""
    if Path("/sys/fs/cgroup/cgroup.controllers").exists():
        return []
    return [f"--runtime={_program('runc')}"]


def start_gvisor(folder: Path) -> dict[str, Any]:
    """A Docker Engine of its own that has gVisor among its runtimes."""
    runsc = _program("runsc")
    data = Path(tempfile.mkdtemp(prefix="gvisor-"))
    settings = {"runtimes": {GVISOR: {"path": runsc, "runtimeArgs": ["--network=none"]}}}
    (data / "daemon.json").write_text(json.dumps(settings))
    url = f"unix://{data}/docker.sock"
    # Without a network of its own it would remove the bridge of the machine's Docker.
    command = [
        "unshare",
        "--net",
        _program("dockerd"),
        f"--config-file={data}/daemon.json",
        f"--data-root={data}/store",
        f"--exec-root={data}/run",
        f"--pidfile={data}/pid",
        f"--host={url}",
        "--bridge=none",
        "--iptables=false",
    ]
    return _spawn("dockerd", command, url, folder, data, {})


STARTS = {"podman": start_podman, "podman-rootless": start_rootless_podman, "gvisor": start_gvisor}


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise services.ServiceError(f"No {name} is on the path; `make system` installs one.")
    return path


def _spawn(
    program: str,
    command: list[str],
    url: str,
    folder: Path,
    data: Path,
    environment: dict[str, str],
) -> dict[str, Any]:
    log = folder / f"{data.name}.log"
    # What Podman starts leaves a file named `oom` where it was started, for each container that runs out of memory.
    pid = services.spawn(["env", f"--chdir={data}", *command], log, environment)
    services.wait_until(lambda: _answers(url), pid, what=program, log=log)
    return {"url": url, "pid": pid, "program": program, "data": str(data)}


def _answers(url: str) -> bool:
    """True once the engine is well; the SDK would leave a socket of each question that came too early."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        try:
            connection.connect(url.removeprefix("unix://"))
            connection.sendall(b"GET /_ping HTTP/1.0\r\nHost: engine\r\n\r\n")
            return b" 200 " in connection.recv(100)
        except OSError:
            return False


def _hand_over(image: str, url: str, runtime_image: str) -> dict[str, Any]:
    """Load an image of the machine's own Docker; the small one is made first."""
    if image == IMAGE:
        build = ["docker", "build", "-q", "--network=none", "-t", IMAGE, "-"]
        source = DOCKERFILE.format(runtime=runtime_image).encode()
        subprocess.run(build, input=source, check=True, capture_output=True)
    hand_over(image, url)
    return {}


def hand_over(image: str, url: str) -> None:
    """Load an image of the machine's own Docker into another engine."""
    saved = subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE)
    assert saved.stdout is not None
    engine_for(url).load_image(iter(lambda: saved.stdout.read(1 << 20), b""))  # type: ignore[union-attr]  # asserted above
    saved.stdout.close()
    if saved.wait():
        raise services.ServiceError(f"`docker save {image}` failed")
