"""A container in the engine's own JSON: its mounts, limits and all that is taken away from it."""

import json
import stat
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from workers.engines.base import GVISOR
from workers.engines.spec import OUTPUT_TARGET, WORKING_DIR, Mount, StageSpec
from workers.protocol.limits import MIB, Limits

PROFILE = Path(__file__).with_name("seccomp.json")
MAKES_LINKS = ("symlink", "symlinkat")
MAKES_NODES = {"mknod": 1, "mknodat": 2}  # with the place of `mode` among the arguments
REGULAR = (0, stat.S_IFREG)


@cache
def seccomp_profile(*, plain_files: bool = False) -> str:
    """The profile as the engine takes it in `security_opt`.

    Refused beyond what engines refuse themselves: ptrace and process_vm_* (reading another process's memory), io_uring
    and vsock, alg and other socket families (kernel attack surface that crosses containers), new namespaces, keyrings,
    bpf, perf, userfaultfd, 32-bit system calls. Allowed sockets: unix, inet, inet6, netlink.

    With `plain_files` symbolic links, pipes with a name and devices cannot be made either: for participants' code beside a scoring
    program that reads the same folder. io_uring and `open_by_handle_at`, which could go round that, are refused in any case.
    """
    text = PROFILE.read_text()
    return json.dumps(_plain_files_alone(json.loads(text))) if plain_files else text


def _plain_files_alone(profile: dict[str, Any]) -> dict[str, Any]:
    refused = {*MAKES_LINKS, *MAKES_NODES}
    for rule in profile["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name not in refused]
    profile["syscalls"] += [_regular_only(*item, kind) for item in MAKES_NODES.items() for kind in REGULAR]
    return profile


def _regular_only(name: str, index: int, kind: int) -> dict[str, Any]:
    mode = {"index": index, "value": stat.S_IFMT(0o177777), "valueTwo": kind, "op": "SCMP_CMP_MASKED_EQ"}
    return {"names": [name], "action": "SCMP_ACT_ALLOW", "args": [mode]}


# The engine drops the older of two such files: what a flood writes before the worker begins to read must fit, or its first lines are gone.
MIN_LOG_FILE_BYTES = 64 * MIB
TMP_INODES_PER_MIB = 256
SPARE_PROCESSES = 64
# gVisor has threads of the host for itself and several for each of a program's, and ends where it gets no more.
SENTRY_PROCESSES = 4
SENTRY_SPARE = 256
MAX_PENDING_SIGNALS = 4096  # with user namespaces those of all containers count for one user of the host
MIN_SHM_BYTES = 64 * MIB
# Both streams into one pipe: through two, the engine would guess which of two lines came first. The program is never read by the shell.
ONE_STREAM = 'exec "$@" 2>&1'
# What engines hide, newer ones included, and what tells of the host and of the runs beside: its disks with the paths of their files.
MASKED_PATHS = (
    "/proc/acpi", "/proc/asound", "/proc/diskstats", "/proc/fs", "/proc/interrupts", "/proc/kcore", "/proc/key-users", "/proc/keys",
    "/proc/latency_stats", "/proc/partitions", "/proc/sched_debug", "/proc/scsi", "/proc/swaps", "/proc/timer_list",
    "/proc/timer_stats", "/sys/block", "/sys/class/bdi", "/sys/class/block", "/sys/dev/block", "/sys/devices/virtual/bdi",
    "/sys/devices/virtual/block", "/sys/devices/virtual/powercap", "/sys/firmware", "/sys/fs/bcachefs", "/sys/fs/btrfs",
    "/sys/fs/ext4", "/sys/fs/f2fs", "/sys/fs/fuse", "/sys/fs/xfs", "/sys/kernel/debug", "/sys/kernel/security", "/sys/module/loop",
)  # fmt: skip


def container_config(spec: StageSpec, cgroup_parent: str) -> dict[str, Any]:
    """The body of the engine's `POST /containers/create`."""
    environment = {**base_environment(spec), **spec.env}
    image = spec.image_facts
    script = f"{image.exports(environment)}{ONE_STREAM}"
    return {
        "Image": spec.image,
        "Entrypoint": ["/bin/sh", "-c", script, "sh"] if image.has_shell else None,  # None: the image's own
        "Cmd": [*(image.entrypoint if image.has_shell else ()), *spec.argv],
        "User": spec.runner.as_user,
        "Healthcheck": {"Test": ["NONE"]},  # an image's own would run beside the program
        "StopSignal": "SIGKILL",
        "WorkingDir": WORKING_DIR,
        "Hostname": "runner",
        "Env": [*(f"{key}={value}" for key, value in environment.items()), *withheld(spec, environment)],
        "Labels": {**image.emptied_labels(), **spec.labels},
        "NetworkDisabled": not spec.network,
        "Tty": False,
        "OpenStdin": False,
        "HostConfig": host_config(spec, cgroup_parent),
    }


def base_environment(spec: StageSpec) -> dict[str, str]:
    """The environment of a container, with nothing of the worker's own.

    Tokens, and proxies with passwords, live in the worker's.
    """
    threads = str(max(1, int(spec.limits.cpus)))
    gpu = {} if spec.gpu_uuid else {"NVIDIA_VISIBLE_DEVICES": "void"}  # a CUDA image asks for all GPUs by default
    # Its user has a number and no name in the image: what asks for a name finds it here.
    return {
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "USER": "runner",
        "LOGNAME": "runner",
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": threads,
        "http_proxy": "",
        "https_proxy": "",
        **gpu,
    }


def withheld(spec: StageSpec, environment: Mapping[str, str]) -> list[str]:
    """Names of the image's variables that no hook may see.

    A name without a value makes the engine take the variable out of the environment.
    """
    names = {variable.partition("=")[0] for variable in spec.image_facts.hook_variables}
    return sorted(names - environment.keys())


def host_config(spec: StageSpec, cgroup_parent: str) -> dict[str, Any]:
    """The engine's `HostConfig`: bounds and hardening."""
    limits = spec.limits
    return {
        "NetworkMode": "bridge" if spec.network else "none",
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges", f"seccomp={seccomp_profile(plain_files=spec.plain_files)}"],
        "MaskedPaths": list(MASKED_PATHS),
        "ReadonlyRootfs": True,
        "Init": True,  # reaps orphans; a program that ignores signals dies with it
        "IpcMode": "private",
        "CgroupnsMode": "private",  # else its group's path names the lease
        "PidsLimit": limits.pids if spec.runtime != GVISOR else SENTRY_PROCESSES * limits.pids + SENTRY_SPARE,
        "Memory": limits.memory_bytes,
        "MemorySwap": limits.memory_bytes,  # no swap
        "NanoCpus": int(limits.cpus * 1e9),
        "CpusetCpus": spec.cpuset,
        "Runtime": spec.runtime,
        "OomScoreAdj": 500,  # when the host runs short, the kernel takes a submission before the worker
        "ShmSize": max(MIN_SHM_BYTES, limits.memory_bytes // 2),
        "Tmpfs": {"/tmp": tmpfs_options(limits, "exec")} | covered_volumes(spec),
        "Ulimits": [{"Name": name, "Soft": value, "Hard": value} for name, value in ulimits(spec).items()],
        "Mounts": [_bind(mount) for mount in (*spec.mounts, Mount(spec.output, OUTPUT_TARGET, writable=True))],
        "CgroupParent": cgroup_parent,
        "LogConfig": _log_config(limits),
        "DeviceRequests": _gpu(spec.gpu_uuid),
        "AutoRemove": False,
        "RestartPolicy": {"Name": "no"},
    }


def tmpfs_options(limits: Limits, execution: str) -> str:
    """Mount options of a bounded place in memory; `execution` is `exec` or `noexec`."""
    # Files in /tmp may be executed: Triton, Numba and torch.compile load what they have built. It is private and bounded.
    inodes = max(1024, limits.tmp_bytes // MIB * TMP_INODES_PER_MIB)
    return f"rw,{execution},nosuid,nodev,mode=1777,size={limits.tmp_bytes},nr_inodes={inodes}"


def covered_volumes(spec: StageSpec) -> dict[str, str]:
    """Bounded memory for the volumes that the image declares.

    The engine would give each a place on the host's disk without an end.
    """
    mounted = {OUTPUT_TARGET, "/tmp", *(mount.target for mount in spec.mounts)}
    options = tmpfs_options(spec.limits, "noexec")
    return dict.fromkeys(spec.image_facts.volumes_beside(mounted), options)


def ulimits(spec: StageSpec) -> dict[str, int]:
    """The limits of each process, by the engine's names for them."""
    limits = spec.limits
    # A little more than the largest place that a file could lie in: what is too large for that place ends there with
    # "no space left", and a hole of 1 TB ends at once.
    file_size = max(limits.output_bytes, limits.tmp_bytes) * 21 // 20 + 8 * MIB
    # Counted for the user, who may have two containers of one run; the control group counts each container. gVisor counts each by itself,
    # and its group has to hold gVisor's own threads, too.
    processes = limits.pids if spec.runtime == GVISOR else 2 * limits.pids + SPARE_PROCESSES
    return {
        "core": 0,
        "nofile": spec.open_files,
        "fsize": file_size,
        "nproc": processes,
        "sigpending": MAX_PENDING_SIGNALS,
    }


def _bind(mount: Mount) -> dict[str, Any]:
    # Bind mounts of the engine cannot be nosuid; no-new-privileges takes such bits their effect, and copies on this host have none.
    return {
        "Type": "bind",
        "Source": str(mount.source),
        "Target": mount.target,
        "ReadOnly": not mount.writable,
        "BindOptions": {"Propagation": "rprivate"},
    }


def _log_config(limits: Limits) -> dict[str, Any]:
    size = max(MIN_LOG_FILE_BYTES, limits.log_bytes)
    return {"Type": "local", "Config": {"max-size": str(size), "max-file": "2", "compress": "false"}}


def _gpu(uuid: str | None) -> list[dict[str, Any]]:
    if uuid is None:
        return []
    return [{"Driver": "nvidia", "DeviceIDs": [uuid], "Capabilities": [["gpu", "compute", "utility"]]}]
