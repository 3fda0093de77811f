"""What one stage's container is: its mounts, limits and all that is taken away from it, as the engine's own JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workers.sandbox.limits import MIB, Limits
from workers.sandbox.seccomp import seccomp_profile

USER = "10001:10001"
OUTPUT_TARGET = "/app/output"
WORKING_DIR = "/app/program"
MAX_OPEN_FILES = 16384
# The engine drops the older of two such files: what a flood writes before the worker begins to read must fit, or its first lines are gone.
MIN_LOG_FILE_BYTES = 64 * MIB
TMP_INODES_PER_MIB = 256
MIN_SHM_BYTES = 64 * MIB


@dataclass(frozen=True)
class Mount:
    """A folder of the host, shown at `target` in the container; read-only, unless it is the run's own."""

    source: Path
    target: str
    writable: bool = False


@dataclass(frozen=True)
class StageSpec:
    """Everything that decides one container. `labels` are how a restarted worker finds it again."""

    name: str
    image: str
    argv: tuple[str, ...]
    mounts: tuple[Mount, ...]
    output: Path
    limits: Limits
    labels: Mapping[str, str]
    cgroup_parent: str
    gpu_uuid: str | None = None
    runtime: str = ""  # empty: the engine's own
    cpuset: str = ""  # cores, as in `0,1`; empty: any
    network: bool = False
    env: Mapping[str, str] = field(default_factory=dict)


def container_config(spec: StageSpec) -> dict[str, Any]:
    """The body of the engine's `POST /containers/create`."""
    environment = {**base_environment(spec), **spec.env}
    return {
        "Image": spec.image,
        "Cmd": list(spec.argv),
        "User": USER,
        "WorkingDir": WORKING_DIR,
        "Hostname": "runner",
        "Env": [f"{key}={value}" for key, value in environment.items()],
        "Labels": dict(spec.labels),
        "NetworkDisabled": not spec.network,
        "Tty": False,
        "OpenStdin": False,
        "HostConfig": host_config(spec),
    }


def base_environment(spec: StageSpec) -> dict[str, str]:
    """Nothing of the worker's own environment: that is where tokens and proxies with passwords live."""
    threads = str(max(1, int(spec.limits.cpus)))
    gpu = {} if spec.gpu_uuid else {"NVIDIA_VISIBLE_DEVICES": "void"}  # a CUDA image asks for all GPUs by default
    return {"HOME": "/tmp", "TMPDIR": "/tmp", "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": threads,
            "http_proxy": "", "https_proxy": "", **gpu}  # fmt: skip


def host_config(spec: StageSpec) -> dict[str, Any]:
    """The engine's `HostConfig`: bounds and hardening."""
    limits = spec.limits
    return {
        "NetworkMode": "bridge" if spec.network else "none",
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges", f"seccomp={seccomp_profile()}"],
        "ReadonlyRootfs": True,
        "Init": True,  # reaps orphans; a program that ignores signals dies with it
        "IpcMode": "private",
        "PidsLimit": limits.pids,
        "Memory": limits.memory_bytes,
        "MemorySwap": limits.memory_bytes,  # no swap
        "NanoCpus": int(limits.cpus * 1e9),
        "CpusetCpus": spec.cpuset,
        "Runtime": spec.runtime,
        "OomScoreAdj": 500,  # when the host runs short, the kernel takes a submission before the worker
        "ShmSize": max(MIN_SHM_BYTES, limits.memory_bytes // 2),
        "Tmpfs": {"/tmp": _tmpfs_options(limits)},
        "Ulimits": _ulimits(limits),
        "Mounts": [_bind(mount) for mount in spec.mounts] + [_output(spec.output)],
        "CgroupParent": spec.cgroup_parent,
        "LogConfig": _log_config(limits),
        "DeviceRequests": _gpu(spec.gpu_uuid),
        "AutoRemove": False,
        "RestartPolicy": {"Name": "no"},
    }


def _tmpfs_options(limits: Limits) -> str:
    # Files here may be executed: Triton, Numba and torch.compile load what they have built. It is private and bounded.
    inodes = max(1024, limits.tmp_bytes // MIB * TMP_INODES_PER_MIB)
    return f"rw,exec,nosuid,nodev,mode=1777,size={limits.tmp_bytes},nr_inodes={inodes}"


def _ulimits(limits: Limits) -> list[dict[str, Any]]:
    # A little more than the largest place that a file could lie in: what is too large for that place ends there with
    # "no space left", and a hole of 1 TB ends at once.
    file_size = max(limits.output_bytes, limits.tmp_bytes) * 21 // 20 + 8 * MIB
    values = {"core": 0, "nofile": MAX_OPEN_FILES, "fsize": file_size}
    return [{"Name": name, "Soft": value, "Hard": value} for name, value in values.items()]


def _bind(mount: Mount) -> dict[str, Any]:
    return {"Type": "bind", "Source": str(mount.source), "Target": mount.target, "ReadOnly": not mount.writable,
            "BindOptions": {"Propagation": "rprivate"}}  # fmt: skip


def _output(path: Path) -> dict[str, Any]:
    return {"Type": "bind", "Source": str(path), "Target": OUTPUT_TARGET, "ReadOnly": False,
            "BindOptions": {"Propagation": "rprivate"}}  # fmt: skip


def _log_config(limits: Limits) -> dict[str, Any]:
    size = max(MIN_LOG_FILE_BYTES, limits.log_bytes)
    return {"Type": "local", "Config": {"max-size": str(size), "max-file": "2", "compress": "false"}}


def _gpu(uuid: str | None) -> list[dict[str, Any]]:
    if uuid is None:
        return []
    return [{"Driver": "nvidia", "DeviceIDs": [uuid], "Capabilities": [["gpu", "compute", "utility"]]}]
