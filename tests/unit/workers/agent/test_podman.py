"""A container in Podman's words, and what Podman says differently."""

from __future__ import annotations

import contextlib
import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.workers.limits import limits
from workers.engines.base import EngineFacts
from workers.engines.cgroup import Cgroup
from workers.engines.podman.client import PodmanEngine, is_podman
from workers.engines.podman.config import LABEL_GROUP, container_specification
from workers.engines.podman.memory import KillWatch
from workers.engines.spec import Mount, StageSpec
from workers.errors import SandboxError
from workers.protocol.hosts import HeldLimit

SPEC = StageSpec(
    "podium-x",
    "lab/image:1",
    ("python3", "main.py"),
    (Mount(Path("/in"), "/app/program"),),
    Path("/out"),
    limits(10, memory_bytes=1 << 28, cpus=1.5),
    {"podium.run": "1"},
    "group1",
    cpuset="0,1",
)
RECORDED = Path(__file__).parents[3] / "data" / "cgroups" / "linux-6.1"  # its README says where
FACTS = EngineFacts("Podman", "4.3.1", "v1", "cgroupfs", "debian 12", "6.1", "overlay")


def specification(spec: StageSpec = SPEC, **changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "image_id": "abc",
        "profile": Path("/profile.json"),
        "cgroup_parent": "/podium/group1",
        "memory_bytes": 1 << 28,
        "rootless": False,
    }
    return container_specification(spec, **(given | changes))


def test_a_container_is_bounded_and_has_nothing_that_it_does_not_need() -> None:
    body = specification()
    resources = body["resource_limits"]
    assert resources["memory"] == {"limit": 1 << 28, "swap": 1 << 28}
    assert resources["cpu"] == {"quota": 150_000, "period": 100_000, "cpus": "0,1"}
    assert resources["pids"]["limit"] == SPEC.limits.pids
    assert body["cap_drop"] == ["ALL"]
    assert body["netns"] == {"nsmode": "none"}
    assert (body["read_only_filesystem"], body["no_new_privileges"], body["httpproxy"]) == (True, True, False)
    assert {limit["type"] for limit in body["r_limits"]} >= {"NOFILE", "NPROC", "FSIZE"}
    assert body["labels"][LABEL_GROUP] == "group1"
    assert "userns" not in body
    json.dumps(body)


def test_what_a_host_cannot_hold_is_not_asked_for() -> None:
    body = specification(unheld=tuple(HeldLimit), cgroup_parent="", rootless=True)
    assert body["resource_limits"] == {}
    assert "cgroup_parent" not in body
    assert body["userns"]["value"] == f"uid={SPEC.runner.uid},gid={SPEC.runner.uid}"


def test_a_gpu_is_one_device_by_its_uuid() -> None:
    assert specification()["devices"] == []
    assert specification(replace(SPEC, gpu_uuid="GPU-1"))["devices"] == [{"path": "nvidia.com/gpu=GPU-1"}]


def test_mounts_add_no_flags_that_would_make_podman_mount_twice() -> None:
    binds = {mount["destination"]: mount["options"] for mount in specification()["mounts"] if mount["type"] == "bind"}
    assert binds["/app/output"] == ["bind", "rw", "rprivate", "suid", "dev", "exec"]
    assert "ro" in binds["/app/program"]


def test_podman_is_told_from_docker_by_its_components() -> None:
    assert is_podman({"Components": [{"Name": "Podman Engine"}, {"Name": "Conmon"}]})
    assert not is_podman({"Components": [{"Name": "Engine"}]})
    assert not is_podman({})


def engine(info: dict[str, Any]) -> PodmanEngine:
    podman = object.__new__(PodmanEngine)
    podman._facts, podman._base, podman._kills = None, "", KillWatch()
    podman._creating = threading.Lock()
    podman._ask = lambda path: info  # type: ignore[method-assign]
    return podman


INFO: dict[str, Any] = {
    "host": {
        "security": {"rootless": True, "seccompEnabled": True},
        "cgroupControllers": ["memory", "pids"],
        "cgroupVersion": "v2",
        "cgroupManager": "cgroupfs",
        "distribution": {"distribution": "debian", "version": "12"},
        "kernel": "6.1",
        "ociRuntime": {"name": "/usr/bin/crun"},
        "idMappings": {"uidmap": [{"container_id": 0, "host_id": 1000, "size": 1}]},
    },
    "store": {"graphDriverName": "overlay", "graphRoot": "/home/lab/.local/share/containers/storage"},
    "version": {"Version": "4.3.1"},
}


def test_an_engine_without_root_says_which_limits_it_cannot_hold_and_where_its_groups_lie() -> None:
    podman = engine(INFO)
    facts = podman.facts()
    assert facts.unheld == (HeldLimit.CPUS,)
    assert (facts.rootless, facts.runtimes) == (True, ("crun",))
    assert podman.cgroup("g").parent == "/user.slice/user-1000.slice/user@1000.service/podium/g"


@pytest.mark.parametrize(("refusals", "is_made"), [(1, True), (2, False)])
def test_users_that_podman_did_not_find_are_looked_up_once_more(refusals: int, is_made: bool) -> None:
    words = "keep-id requires additional UIDs or GIDs defined in /etc/subuid and /etc/subgid to function correctly"
    podman = engine(INFO)
    podman.api = SimpleNamespace(inspect_image=lambda image: {"Id": "sha256:abc"})  # type: ignore[assignment]  # all that is asked
    answers = iter([(500, {"message": words})] * refusals + [(201, {"Id": "made"})])
    podman._post = lambda path, body: next(answers)  # type: ignore[method-assign]
    with contextlib.nullcontext() if is_made else pytest.raises(SandboxError, match="keep-id"):
        assert podman._create(SPEC) == "made"


def test_one_whose_user_was_delegated_nothing_holds_nobody_to_anything() -> None:
    podman = engine({**INFO, "host": {**INFO["host"], "cgroupControllers": [], "cgroupVersion": "v1"}})
    assert podman.facts().unheld == tuple(HeldLimit)
    assert podman.usage("g").memory_peak_bytes is None
    assert list(podman.groups("g")) == []


def test_the_counters_of_a_recorded_host_with_cgroup_v2_tell_of_a_kill_after_the_containers_group_is_gone() -> None:
    used = Cgroup("run1", version="v2", driver="cgroupfs", root=RECORDED).read()
    assert used.oom_kills == 1
    assert used.cpu_s == 1.092489
    assert (used.memory_bytes, used.memory_peak_bytes) == (20480, 33_562_624)


def test_the_counters_that_a_user_without_root_has_lie_below_its_own_service() -> None:
    base = "user.slice/user-1000.slice/user@1000.service"
    used = Cgroup(
        "run1", version="v2", driver="cgroupfs", root=RECORDED.parent / "linux-6.1-rootless", base=base
    ).read()
    assert used.oom_kills == 1
    assert used.cpu_s == 1.796836
    assert (used.memory_bytes, used.memory_peak_bytes) == (40960, 67_117_056)
    local = RECORDED.parent / "linux-6.1-rootless" / base / "podium/run1/memory.events.local"
    assert "oom_kill 0" in local.read_text(), "what the container's own group counted is in the sum alone"


def test_a_group_of_cgroup_v2_in_which_nothing_was_killed_says_so(tmp_path: Path) -> None:
    shutil.copytree(RECORDED, tmp_path, dirs_exist_ok=True)
    events = tmp_path / "podium/run1/memory.events"
    events.write_text(events.read_text().replace("oom_kill 1", "oom_kill 0"))
    assert Cgroup("run1", version="v2", driver="cgroupfs", root=tmp_path).read().oom_kills == 0


def test_a_worker_that_may_not_write_to_control_groups_says_so(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("not a folder")
    cgroup = Cgroup("g", version="v1", driver="cgroupfs", root=tmp_path)
    with pytest.raises(SandboxError, match="the worker itself limits the memory"):
        KillWatch(tmp_path).begin(cgroup, 1 << 20)


def test_kills_that_nobody_watched_are_unknown_and_a_met_limit_is_what_is_left_of_them(tmp_path: Path) -> None:
    watch, cgroup = KillWatch(tmp_path), Cgroup("g", version="v1", driver="cgroupfs", root=tmp_path)
    assert watch.has_killed(cgroup) is None
    assert not watch.has_met_limit(cgroup)
    counter = tmp_path / "memory" / cgroup.path / "memory.failcnt"
    counter.parent.mkdir(parents=True)
    counter.write_text("3\n")
    assert watch.has_met_limit(cgroup)
