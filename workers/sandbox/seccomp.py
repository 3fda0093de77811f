"""The system-call filter that travels with the worker: deny by default, for any engine version."""

from __future__ import annotations

from functools import cache
from pathlib import Path

PROFILE = Path(__file__).with_name("seccomp.json")


@cache
def seccomp_profile() -> str:
    """The profile as the engine takes it in `security_opt`.

    Refused beyond what engines refuse themselves: ptrace and process_vm_* (reading another process's memory), io_uring
    and vsock, alg and other socket families (kernel attack surface that crosses containers), new namespaces, keyrings,
    bpf, perf, userfaultfd, 32-bit system calls. Allowed sockets: unix, inet, inet6, netlink.
    """
    return PROFILE.read_text()
