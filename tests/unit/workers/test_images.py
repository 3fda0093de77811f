"""Making images: digests of what goes in, package sources of the host."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.workers.limits import limits
from workers.engines.docker.config import container_config
from workers.engines.spec import StageSpec
from workers.images.base import host_sources
from workers.images.engine import ImageError, run
from workers.images.runtime_image import RECIPE, context_digest

DEB822 = """Types: deb
# a comment
URIs: http://mirror.example.org/debian
Suites: bookworm bookworm-updates trixie
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb-src
URIs: http://mirror.example.org/debian
Suites: bookworm
Components: main

Types: deb
URIs: http://other.example.org/tools
Suites: bookworm-tools
Components: stable
"""


def test_only_the_hosts_own_debian_mirrors_of_this_release_are_used(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d" / "debian.sources").write_text(DEB822)
    (tmp_path / "sources.list").write_text(
        "# deb http://a bookworm main\ndeb [arch=amd64] http://b/debian bookworm main\ndeb http://c vendor main\n"
    )
    signed = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
    assert host_sources(tmp_path) == [
        "deb [arch=amd64] http://b/debian bookworm main",
        f"deb {signed} http://mirror.example.org/debian bookworm main",
        f"deb {signed} http://mirror.example.org/debian bookworm-updates main",
    ]


def test_a_digest_follows_names_and_contents_and_not_times_or_caches(tmp_path: Path) -> None:
    package = tmp_path / "scoring"
    (package / "__pycache__").mkdir(parents=True)
    (package / "a.py").write_text("1")
    first = context_digest([RECIPE / "Dockerfile"], package)
    (package / "__pycache__" / "a.pyc").write_text("cache")
    (package / "a.py").touch()
    assert context_digest([RECIPE / "Dockerfile"], package) == first
    (package / "a.py").write_text("2")
    second = context_digest([RECIPE / "Dockerfile"], package)
    (package / "a.py").rename(package / "b.py")
    assert len({first, second, context_digest([RECIPE / "Dockerfile"], package)}) == 3


def test_a_failed_command_says_what_it_said() -> None:
    with pytest.raises(ImageError, match="status 3:\nfull disk"):
        run("sh", "-c", "echo full disk >&2; exit 3")
    with pytest.raises(ImageError, match="not installed"):
        run("no-such-program")
    with pytest.raises(ImageError, match="within"):
        run("sleep", "5", timeout_s=0.05)


def test_a_container_gets_every_limit_and_nothing_of_the_workers_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://user:password@proxy")
    given = limits(10, memory_bytes=1 << 27, cpus=1.5)
    spec = StageSpec("n", "i", ("x",), (), Path("/o"), given, {"podium.run": "r"}, "/podium/x")
    config = container_config(spec, "/podium/x")
    host = config["HostConfig"]
    assert config["User"] == "10001:10001"
    assert (host["NetworkMode"], host["CapDrop"], host["ReadonlyRootfs"], host["Init"]) == ("none", ["ALL"], True, True)
    assert (host["Memory"], host["MemorySwap"], host["PidsLimit"], host["NanoCpus"]) == (
        1 << 27,
        1 << 27,
        64,
        1_500_000_000,
    )
    assert "no-new-privileges" in host["SecurityOpt"]
    assert {variable for variable in config["Env"] if "proxy" in variable.lower()} == {"http_proxy=", "https_proxy="}
    assert "NVIDIA_VISIBLE_DEVICES=void" in config["Env"]
    assert host["DeviceRequests"] == []


def test_a_gpu_is_asked_for_by_its_uuid() -> None:
    given = limits(10, memory_bytes=1 << 27, cpus=1.0)
    spec = StageSpec("n", "i", ("x",), (), Path("/o"), given, {}, "/podium/x", gpu_uuid="GPU-7")
    config = container_config(spec, "/podium/x")
    assert config["HostConfig"]["DeviceRequests"][0]["DeviceIDs"] == ["GPU-7"]
    assert "NVIDIA_VISIBLE_DEVICES=void" not in config["Env"]
