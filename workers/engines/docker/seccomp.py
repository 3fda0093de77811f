"""The system-call filter that travels with the worker: deny by default, for any engine version."""

import json
import stat
from functools import cache
from pathlib import Path
from typing import Any

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
