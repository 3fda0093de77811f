"""A container in Podman's own JSON.

Podman's interface for Docker's clients leaves bounds out: the runtime, the masked paths, the text of a filter for system calls.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from workers.engines.docker.config import (
    MASKED_PATHS,
    MIN_SHM_BYTES,
    ONE_STREAM,
    base_environment,
    covered_volumes,
    tmpfs_options,
    ulimits,
    withheld,
)
from workers.engines.images import ImageFacts
from workers.engines.spec import OUTPUT_TARGET, WORKING_DIR, Mount, StageSpec
from workers.protocol.hosts import HeldLimit
from workers.protocol.limits import MIB

CPU_PERIOD_US = 100_000
KILL = 9
# Of the one file that there is: beyond it Podman begins the file anew, and the oldest lines are gone.
LOG_BYTES = 128 * MIB
LABEL_GROUP = "podium.group"
SHELL = ("/bin/sh", "-c")


def container_specification(
    spec: StageSpec,
    *,
    image_id: str,
    profile: Path,
    cgroup_parent: str,
    memory_bytes: int,
    rootless: bool,
    unheld: Collection[HeldLimit] = (),
) -> dict[str, Any]:
    """The body of Podman's `POST /libpod/containers/create`.

    `profile` is the file of the filter for system calls, `memory_bytes` the container's own limit. What is `unheld` is not asked for:
    the container would not start.
    """
    environment = {**base_environment(spec), **spec.env}
    image = spec.image_facts
    return {
        "name": spec.name,
        "image": image_id,
        **_command(spec, image, environment),
        "user": spec.runner.as_user,
        "healthconfig": {"Test": ["NONE"]},  # an image's own would run beside the program
        "stop_signal": KILL,
        "work_dir": WORKING_DIR,
        "create_working_dir": True,
        "hostname": "runner",
        "env": environment,
        "unsetenv": withheld(spec, environment),
        "httpproxy": False,  # else the service's own, with their passwords
        "labels": {**image.emptied_labels(), **spec.labels, LABEL_GROUP: spec.group},
        "init": True,  # reaps orphans; a program that ignores signals dies with it
        "systemd": "false",  # an image with an init system of its own would be given folders to write to
        "oci_runtime": spec.runtime,
        "restart_policy": "no",
        "log_configuration": {"driver": "k8s-file", "size": LOG_BYTES},
        "devices": [] if spec.gpu_uuid is None else [{"path": f"nvidia.com/gpu={spec.gpu_uuid}"}],
        **_namespaces(spec, rootless=rootless),
        **_hardening(profile),
        **_places(spec),
        **_bounds(spec, memory_bytes, unheld),
        **_cgroup(cgroup_parent),
    }


def _command(spec: StageSpec, image: ImageFacts, environment: dict[str, str]) -> dict[str, Any]:
    if not image.has_shell:
        return {"command": list(spec.argv)}
    script = f"{image.exports(environment)}{ONE_STREAM}"
    return {"entrypoint": [*SHELL, script, "sh"], "command": [*image.entrypoint, *spec.argv]}


def _namespaces(spec: StageSpec, *, rootless: bool) -> dict[str, Any]:
    private = {"nsmode": "private"}
    network = "slirp4netns" if rootless else "bridge"
    spaces: dict[str, Any] = {
        "netns": {"nsmode": network if spec.network else "none"},
        "ipcns": private,
        "pidns": private,
        "utsns": private,
        "cgroupns": private,  # else its group's path names the lease
    }
    if rootless:  # files of the container's user belong to the worker's, who could not read or remove them otherwise
        uid = spec.runner.uid
        spaces["userns"] = {"nsmode": "keep-id", "value": f"uid={uid},gid={uid}"}
    return spaces


def _hardening(profile: Path) -> dict[str, Any]:
    return {
        "cap_drop": ["ALL"],
        "no_new_privileges": True,
        "seccomp_profile_path": str(profile),
        "mask": list(MASKED_PATHS),
        "read_only_filesystem": True,
        "oom_score_adj": 500,  # when the host runs short, the kernel takes a submission before the worker
    }


def _places(spec: StageSpec) -> dict[str, Any]:
    volumes = {"/tmp": tmpfs_options(spec.limits, "exec"), **covered_volumes(spec)}
    binds = (*spec.mounts, Mount(spec.output, OUTPUT_TARGET, writable=True))
    return {
        "image_volume_mode": "ignore",  # each is covered by a place in memory
        "shm_size": max(MIN_SHM_BYTES, spec.limits.memory_bytes // 2),
        "mounts": [
            *(_tmpfs(place, options) for place, options in sorted(volumes.items())),
            *(_bind(mount) for mount in binds),
        ],
    }


def _tmpfs(place: str, options: str) -> dict[str, Any]:
    # Podman refuses a number of files here. Each costs kernel memory, which counts for the container's limit.
    known = [option for option in options.split(",") if not option.startswith("nr_inodes=")]
    return {"type": "tmpfs", "source": "tmpfs", "destination": place, "options": [*known, "notmpcopyup"]}


def _bind(mount: Mount) -> dict[str, Any]:
    # With `suid` and `dev` Podman adds no flags of its own: with them it would mount a second time, and lose `nosymfollow`. The flags that
    # the folder's own file system has stay in force.
    access = "rw" if mount.writable else "ro"
    options = ["bind", access, "rprivate", "suid", "dev", "exec"]
    return {"type": "bind", "source": str(mount.source), "destination": mount.target, "options": options}


def _bounds(spec: StageSpec, memory_bytes: int, unheld: Collection[HeldLimit]) -> dict[str, Any]:
    limits = spec.limits
    resources: dict[str, Any] = {}
    if HeldLimit.MEMORY not in unheld:
        resources["memory"] = {"limit": memory_bytes, "swap": memory_bytes}  # no swap
    if HeldLimit.PROCESSES not in unheld:
        resources["pids"] = {"limit": limits.pids}
    if HeldLimit.CPUS not in unheld:
        resources["cpu"] = {"quota": int(limits.cpus * CPU_PERIOD_US), "period": CPU_PERIOD_US, "cpus": spec.cpuset}
    return {
        "resource_limits": resources,
        "r_limits": [{"type": name.upper(), "hard": value, "soft": value} for name, value in ulimits(spec).items()],
    }


def _cgroup(parent: str) -> dict[str, Any]:
    if not parent:
        return {}  # Podman makes none where it may make none; to forbid them is more than runc understands
    # What Podman runs beside a container is not the container's use.
    return {"cgroup_parent": parent, "cgroups_mode": "no-conmon"}
