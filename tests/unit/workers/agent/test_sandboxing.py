"""Users of slots, shares of open files, an image's volumes, and the filter for shared folders."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.unit.workers.limits import limits
from workers.agent.adoption import Adoption
from workers.agent.host.facts import open_files, toolkit_version
from workers.agent.host.slots import Slot
from workers.agent.runs.handling import HeldRuns
from workers.agent.runs.state import RunFolder
from workers.engines.docker.client import read_image
from workers.engines.docker.config import MASKED_PATHS, container_config, seccomp_profile
from workers.engines.images import ImageFacts
from workers.engines.spec import DEFAULT_UID, FIRST_UID, Mount, Runner, StageSpec, slot_uid
from workers.errors import SandboxError
from workers.sandbox.output_volume import OutputVolume

LIMITS = limits(10, memory_bytes=1 << 28, cpus=1.0)
SPEC = StageSpec("n", "i", ("x",), (), Path("/o"), LIMITS, {}, "p")
MOUNTED = {"/app/output", "/app/program", "/tmp"}


def test_slots_and_workers_have_users_of_their_own_below_the_end_of_a_namespace() -> None:
    keys = [f"{number:08x}" for number in range(150)]
    users = {slot_uid(key, slot) for key in keys for slot in range(256)}
    assert len(users) == 150 * 256
    assert min(users) == FIRST_UID > DEFAULT_UID
    assert max(users) < 65_536
    assert Runner(20_001, offset=165_536).host_uid == 185_537
    assert Runner(20_001, offset=165_536).as_user == "20001:20001"


@pytest.mark.parametrize(
    ("file_max", "slots", "pids", "each"),
    [
        (2**63 - 1, 1, 256, 16_384),
        (2_466_183, 1, 256, 2_408),
        (800_000, 8, 256, 1024),
    ],
)
def test_all_runs_together_leave_the_host_open_files(
    tmp_path: Path, file_max: int, slots: int, pids: int, each: int
) -> None:
    (tmp_path / "file-max").write_text(f"{file_max}\n")
    assert open_files(slots, pids, tmp_path / "file-max") == each


@pytest.mark.parametrize(
    ("volumes", "covered"),
    [
        ([], []),
        (["/data", "//data/", "/data/../data"], ["/data"]),
        (["/tmp", "/app/output", "/app/program/"], []),
        (["/app", "/tmp/cache", "/usr/src/app"], ["/app", "/tmp/cache", "/usr/src/app"]),
    ],
)
def test_declared_volumes_become_limited_places(volumes: list[str], covered: list[str]) -> None:
    assert ImageFacts("", volumes=tuple(volumes)).volumes_beside(MOUNTED) == covered


@pytest.mark.parametrize(
    ("volume", "words"),
    [
        ("/", "system folder /"),
        ("/usr/", "system folder /usr"),
        ("/dev/shm/x", "system folder /dev/shm/x"),
        ("/app/output/x", "inside a folder"),
        ("data", "not an absolute path"),
        ("", "not an absolute path"),
    ],
)
def test_a_volume_that_cannot_be_limited_is_refused(volume: str, words: str) -> None:
    with pytest.raises(SandboxError, match=words) as error:
        ImageFacts("", volumes=(volume,)).volumes_beside(MOUNTED)
    assert error.value.code == "image_unsuitable"


def test_an_image_with_many_volumes_is_refused() -> None:
    with pytest.raises(SandboxError, match="declares 17 volumes"):
        ImageFacts("", volumes=tuple(f"/v{number}" for number in range(17))).volumes_beside(MOUNTED)


def test_an_image_is_read_with_and_without_what_it_may_say() -> None:
    full = {
        "Id": "sha256:1",
        "RepoDigests": ["podium/x@sha256:2"],
        "Config": {"Entrypoint": ["a"], "Volumes": {"/b": {}}},
    }
    assert read_image(full) == ImageFacts("sha256:2", ("a",), ("/b",))
    assert read_image({"Id": "sha256:1", "RepoDigests": None, "Config": None}) == ImageFacts("sha256:1")


def test_a_container_is_bounded_in_every_place_that_it_may_write_to() -> None:
    facts = ImageFacts("", volumes=("/data",), has_shell=True, entrypoint=("init",))
    spec = StageSpec(
        "n", "i", ("x",), (Mount(Path("/in"), "/app/program"),), Path("/o"), LIMITS, {}, "p", image_facts=facts
    )
    config = container_config(spec, "/podium/x")
    tmpfs = config["HostConfig"]["Tmpfs"]
    assert set(tmpfs) == {"/tmp", "/data"}
    assert "noexec,nosuid,nodev" in tmpfs["/data"]
    assert f"size={1 << 20}," in tmpfs["/data"]
    assert config["Healthcheck"] == {"Test": ["NONE"]}
    assert config["Cmd"] == ["init", "x"]
    assert {"/sys/fs/ext4", "/sys/devices/virtual/block", "/proc/keys"} <= set(MASKED_PATHS)


def test_the_filter_for_shared_folders_takes_links_and_pipes_away_and_nothing_else() -> None:
    usual, plain = (json.loads(seccomp_profile(plain_files=value)) for value in (False, True))

    def names(profile: dict[str, Any]) -> set[str]:
        return {name for rule in profile["syscalls"] for name in rule["names"]}

    assert names(usual) - names(plain) == {"symlink", "symlinkat"}
    rules = [rule for rule in plain["syscalls"] if rule["names"] in (["mknod"], ["mknodat"])]
    kinds = {(rule["names"][0], argument["index"], argument["valueTwo"]) for rule in rules for argument in rule["args"]}
    assert kinds == {("mknod", 1, 0), ("mknod", 1, stat.S_IFREG), ("mknodat", 2, 0), ("mknodat", 2, stat.S_IFREG)}
    assert all(argument["value"] == 0o170000 for rule in rules for argument in rule["args"])


def test_two_runs_without_gpus_are_adopted_by_the_slots_that_they_were_claimed_for(tmp_path: Path) -> None:
    worker = cast("Any", SimpleNamespace(stopping=None))
    slots = [Slot(worker, 0, "GPU-0"), Slot(worker, 1, None), Slot(worker, 2, None)]
    adoption = Adoption(worker, slots, HeldRuns())

    def chosen(gpu_uuid: str | None, slot: int) -> int:
        folder = RunFolder(tmp_path, "lease")
        folder.state.gpu_uuid, folder.state.slot = gpu_uuid, slot
        return adoption._slot_for(folder).number

    assert [chosen(None, 0), chosen(None, 1), chosen(None, 2), chosen("GPU-0", 0)] == [0, 1, 2, 0]
    assert chosen("GPU-0", 7) == 0
    assert chosen(None, 9) == 1, "the worker has fewer slots than its predecessor"


def test_an_output_that_is_watched_is_counted_without_being_led_out_or_down_for_ever(tmp_path: Path) -> None:
    volume = OutputVolume(tmp_path, "output", size_bytes=1 << 20, files=10, quota=False)
    volume.create()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "large").write_bytes(bytes(4 << 20))
    (volume.path / "link").symlink_to(outside)
    (volume.path / "file").write_bytes(bytes(8192))
    usage = volume.usage()
    assert 8192 <= usage.used_bytes < 1 << 16
    assert not usage.full
    assert not usage.no_inodes
    folder = os.open(volume.path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)
    usage = volume.usage()
    volume.destroy()  # before anything is asserted: pytest cannot clear so deep a folder away
    assert usage.too_deep
    assert not volume.path.exists()


@pytest.mark.parametrize(
    ("program", "words", "version"),
    [
        (
            "nvidia-ctk",
            "NVIDIA Container Toolkit CLI version 1.17.8\ncommit: f202b80a9b9d0db00d9b1d73c0128c8962c55f4d",
            "1.17.8",
        ),
        ("nvidia-container-runtime", "NVIDIA Container Runtime version 1.16.2\nspec: 1.2.0", "1.16.2"),
        ("nvidia-container-cli", "cli-version: 1.17.4\nlib-version: 1.17.4", "1.17.4"),
        ("nvidia-ctk", "no such thing", ""),
        ("other", "version 9.9.9", ""),
    ],
)
def test_the_gpu_toolkits_version_is_what_its_own_program_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, words: str, version: str
) -> None:
    path = tmp_path / program
    path.write_text(f"#!/bin/sh\nprintf '%s' '{words}'\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert toolkit_version() == version


def test_no_label_of_an_image_and_no_variable_that_hooks_obey_reaches_its_container() -> None:
    facts = read_image(
        {
            "Id": "sha256:1",
            "Config": {
                "Labels": {"com.docker.compose.project": "podium", "podium.run": "other"},
                "Env": [
                    "PATH=/bin",
                    "LD_PRELOAD=/evil.so",
                    "LD_LIBRARY_PATH=/a b:$(id)'\"",
                    "NVIDIA_DISABLE_REQUIRE=1",
                    "CUDA_HOME=/cuda",
                    "NVIDIA_VISIBLE_DEVICES=all",
                    "GLIBC_TUNABLES=x",
                    "LD_A-B=1",
                    "LD_AUDIT",
                    "GODEBUG=x",
                ],
            },
        }
    )
    spec = replace(
        SPEC, image_facts=replace(facts, has_shell=True), labels={"podium.run": "mine"}, env={"CUDA_HOME": "/own"}
    )
    config = container_config(spec, "/podium/x")
    assert config["Labels"] == {"com.docker.compose.project": "", "podium.run": "mine"}
    values = dict(entry.partition("=")[::2] for entry in config["Env"])
    assert {name for name, value in values.items() if not value} == {
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "NVIDIA_DISABLE_REQUIRE",
        "GLIBC_TUNABLES",
        "LD_A-B",
        "LD_AUDIT",
        "GODEBUG",
        "http_proxy",
        "https_proxy",
    }
    assert [entry for entry in config["Env"] if entry.startswith("LD_")] == [
        "LD_A-B",
        "LD_AUDIT",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
    ]
    assert values["NVIDIA_VISIBLE_DEVICES"] == "void"
    script = config["Entrypoint"][2]
    shell = subprocess.run(
        ["/bin/sh", "-c", script, "sh", "/usr/bin/env"],
        env={"CUDA_HOME": "/own"},
        capture_output=True,
        text=True,
        check=True,
    )
    given_back = {
        name: value for name, value in (line.partition("=")[::2] for line in shell.stdout.splitlines()) if name != "PWD"
    }
    assert given_back["LD_LIBRARY_PATH"] == "/a b:$(id)'\""
    assert given_back["CUDA_HOME"] == "/own"
    assert not [name for name in given_back if name.startswith("NVIDIA_")]


@pytest.mark.parametrize(
    "config",
    [
        {"Labels": {f"label-{number}": "" for number in range(2000)}},
        {"Labels": {"x" * 70_000: ""}},
        {"Env": ["LD_X=" + "x" * 40_000]},
    ],
    ids=["many labels", "long label", "long variable"],
)
def test_an_image_that_declares_more_than_can_be_taken_from_it_is_refused(config: dict[str, Any]) -> None:
    spec = replace(SPEC, image_facts=replace(read_image({"Id": "sha256:1", "Config": config}), has_shell=True))
    with pytest.raises(SandboxError) as refused:
        container_config(spec, "/podium/x")
    assert refused.value.code == "image_unsuitable"
