"""Podman behind its socket, by Docker's interface where that keeps every bound, else by its own."""

import contextlib
import math
import os
import tempfile
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from workers.engines.base import ContainerState, EngineFacts, Usage
from workers.engines.cgroup import SLACK_BYTES, Cgroup, group_names
from workers.engines.docker import config
from workers.engines.docker.client import CALL_TIMEOUT_S, KILLED, DockerEngine, engine_errors, filter_digest
from workers.engines.docker.config import PROFILE
from workers.engines.podman.config import LABEL_GROUP, container_specification
from workers.engines.podman.memory import KillWatch
from workers.engines.spec import StageSpec
from workers.errors import SandboxError
from workers.protocol.hosts import HeldLimit

LIBPOD: Final = "v4.0.0/libpod"  # its oldest version that has what is used here; newer ones answer it
HOME_PREFIXES: Final = ("localhost/", "docker.io/library/", "docker.io/")
CONTROLLERS: Final = {"memory": HeldLimit.MEMORY, "pids": HeldLimit.PROCESSES, "cpu": HeldLimit.CPUS}
# Podman without root says so of users that are there, where it looks them up for two containers at once for the first time.
NO_USERS: Final = "keep-id requires additional UIDs or GIDs"
UNKNOWN: Final = Usage(cpu_s=None, memory_bytes=None, memory_peak_bytes=None, oom_kills=None)


class PodmanEngine(DockerEngine):
    """Podman, with or without root. Safe to share between threads."""

    def __init__(self, base_url: str | None = None) -> None:
        super().__init__(base_url)
        self._kills = KillWatch()
        self._base = ""
        self._creating = threading.Lock()

    def facts(self) -> EngineFacts:
        """Ask the engine about itself."""
        info = self._ask("info")
        host, security = info["host"], info["host"]["security"]
        rootless = bool(security["rootless"])
        controllers = {str(name) for name in host.get("cgroupControllers") or ()}
        self._base = _delegated(host) if rootless else ""
        self._facts = EngineFacts(
            name="Podman",
            version=str(info["version"]["Version"]),
            cgroup_version=str(host["cgroupVersion"]),
            cgroup_driver=str(host["cgroupManager"]),
            operating_system=f"{host['distribution']['distribution']} {host['distribution']['version']}",
            kernel=str(host["kernel"]),
            storage_driver=str(info["store"]["graphDriverName"]),
            user_namespaces=rootless,
            runtimes=(Path(str(host["ociRuntime"]["name"])).name,),
            filter_digest=filter_digest() if security["seccompEnabled"] else "",
            root=str(info["store"]["graphRoot"]),
            rootless=rootless,
            unheld=tuple(limit for name, limit in CONTROLLERS.items() if name not in controllers),
        )
        return self._facts

    def image_names(self) -> tuple[str, ...]:
        """See `Engine`. Podman names a registry in each; here as Docker lists them."""
        return tuple(sorted({_plain_name(name) for name in super().image_names()}))

    def start(self, container: str) -> None:
        """Start it; returns when its first process runs."""
        self._watch_memory(container)
        super().start(container)

    def adopt(self, name: str) -> ContainerState:
        """See `Engine`."""
        state = self.observe(name)
        if not state.ended and not state.never_started:
            self._watch_memory(name)
        return state

    def kill(self, container: str) -> None:
        """SIGKILL to all of it; no error when it has ended already."""
        try:
            super().kill(container)
        except SandboxError as error:
            # Podman calls that a failure of its own, in a status that it has for all of them.
            if error.code != "engine_error" or not self.observe(container).ended:
                raise

    def event_span(self, since: datetime) -> dict[str, Any]:
        """See `DockerEngine`. Podman understands whole seconds alone, and no container is started twice."""
        return {"since": int(since.timestamp()), "until": math.ceil(time.time()) + 1}

    def release(self, group: str) -> bool:
        """See `Engine`."""
        self._kills.end(self.cgroup(group))
        return super().release(group)

    def groups(self, key: str) -> Collection[str]:
        """See `Engine`."""
        return group_names(key, self._base) if self._has_groups else ()

    def usage(self, group: str) -> Usage:
        """See `Engine`."""
        return super().usage(group) if self._has_groups else UNKNOWN

    def cgroup(self, group: str) -> Cgroup:
        """The control group of this name."""
        facts = self._facts or self.facts()
        return Cgroup(group, version=facts.cgroup_version, driver=facts.cgroup_driver, base=self._base)

    def was_out_of_memory(self, spec: StageSpec, state: ContainerState) -> bool:
        """See `Engine`. Podman's own word is amended by the kernel's."""
        if state.oom_killed or not self._has_groups:
            return state.oom_killed
        cgroup = self.cgroup(spec.group)
        if cgroup.version != "v1":
            return bool(cgroup.read().oom_kills)
        killed = self._kills.has_killed(cgroup)
        if killed is None:  # it ended under a predecessor of this process
            return state.exit_code == KILLED and self._kills.has_met_limit(cgroup)
        return killed

    @property
    def _has_groups(self) -> bool:
        facts = self._facts or self.facts()
        return HeldLimit.MEMORY not in facts.unheld

    def _watch_memory(self, container: str) -> None:
        facts = self._facts or self.facts()
        if facts.cgroup_version != "v1" or not self._has_groups:
            return
        with engine_errors("inspecting the container"):
            described = self.api.inspect_container(container)
        group = (described["Config"].get("Labels") or {}).get(LABEL_GROUP)
        if group:
            self._kills.begin(self.cgroup(group), int(described["HostConfig"]["Memory"]) - SLACK_BYTES)

    def _create(self, spec: StageSpec) -> str:
        facts = self._facts or self.facts()
        with engine_errors(f"looking for the image {spec.image}"):
            image = self.api.inspect_image(spec.image)  # type: ignore[no-untyped-call]  # absent in the stubs
        slack = SLACK_BYTES if facts.cgroup_version == "v1" else 0
        with _profile(plain_files=spec.plain_files) as profile:
            body = container_specification(
                spec,
                image_id=str(image["Id"]).removeprefix("sha256:"),
                profile=profile,
                cgroup_parent=self.cgroup(spec.group).parent if self._has_groups else "",
                memory_bytes=spec.limits.memory_bytes + slack,
                rootless=facts.rootless,
                unheld=facts.unheld,
            )
            with self._creating:
                status, answer = self._post("containers/create", body)
                if status != 201 and facts.rootless and NO_USERS in str(answer.get("message")):
                    status, answer = self._post("containers/create", body)
        if status == 201:
            return str(answer["Id"])
        words = str(answer.get("message") or f"status {status}")
        if status == 409 or "name is already in use" in words:
            return self.observe(spec.name).id
        raise SandboxError("engine_error", f"creating the container {spec.name}: {words}")

    def _post(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        with engine_errors(f"asking Podman for {path}"):
            answer = self.api.post(f"{self.api.base_url}/{LIBPOD}/{path}", json=body, timeout=CALL_TIMEOUT_S)
            return answer.status_code, answer.json()

    def _ask(self, path: str) -> dict[str, Any]:
        with engine_errors(f"asking Podman for {path}"):
            answer = self.api.get(f"{self.api.base_url}/{LIBPOD}/{path}", timeout=CALL_TIMEOUT_S)
            answer.raise_for_status()
            facts: dict[str, Any] = answer.json()
            return facts


def is_podman(version: dict[str, Any]) -> bool:
    """True for Podman's answer to the question for an engine's version."""
    return any(part.get("Name") == "Podman Engine" for part in version.get("Components") or ())


def _plain_name(name: str) -> str:
    return next((name.removeprefix(prefix) for prefix in HOME_PREFIXES if name.startswith(prefix)), name)


def _delegated(host: dict[str, Any]) -> str:
    """The group below which a user's own may be made, by systemd's layout; empty where nobody can tell."""
    mappings = (host.get("idMappings") or {}).get("uidmap") or ()
    uid = next((mapping["host_id"] for mapping in mappings if mapping["container_id"] == 0), None)
    return "" if uid is None else f"user.slice/user-{uid}.slice/user@{uid}.service"


@contextmanager
def _profile(*, plain_files: bool) -> Iterator[Path]:
    """A file of the filter for system calls, for as long as Podman reads it."""
    if not plain_files:
        yield PROFILE
        return
    descriptor, name = tempfile.mkstemp(prefix="podium-seccomp-", suffix=".json")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(config.seccomp_profile(plain_files=True))
        yield Path(name)
    finally:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
