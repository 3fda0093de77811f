"""Reading a job, the settings and the host: what is wrong is named."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workers.agent.config import (
    ConfigError,
    checked_choice,
    checked_name,
    checked_number,
    checked_site,
    from_environment,
    read_token,
)
from workers.cli import config_from, parser, run_command
from workers.protocol.jobs import StagedFile, parse_job
from workers.protocol.limits import Limits
from workers.protocol.messages import MessageInvalid, read_message
from workers.sandbox.limits import grant, host_cores, host_memory_bytes

SHA = "a" * 64
FILE = {"url": "http://site/x", "sha256": SHA, "size_bytes": 1, "name": "x.zip"}
SCORING = {
    "name": "scoring",
    "image": "podium/runtime:1",
    "pull": "missing",
    "command_from": "/app/program",
    "command": None,
    "mounts": [{"target": "/app/program", "file": FILE, "unpack": True}],
    "limits": {"wall_s": 10},
    "network": False,
}
INGESTION = {**SCORING, "name": "ingestion"}
JOB = {
    "run_id": "r-1",
    "attempt": 1,
    "lease_id": "l-1",
    "token": "t",
    "lease_s": 90,
    "heartbeat_s": 15,
    "gpus": 0,
    "stages": [INGESTION, SCORING],
    "columns": ["mae"],
}


def changed(change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    job: dict[str, Any] = copy.deepcopy(JOB)
    change(job)
    return job


def test_a_job_is_read_whole() -> None:
    job = parse_job(JOB)
    assert [stage.name for stage in job.stages] == ["ingestion", "scoring"]
    mount = job.stages[0].mounts[0]
    assert isinstance(mount, StagedFile)
    assert mount.unpack
    assert job.columns == ("mae",)


def secret_in_ingestion(job: dict[str, Any]) -> None:
    job["stages"][0]["mounts"][0]["secret"] = True


def labels_in_ingestion(job: dict[str, Any]) -> None:
    job["stages"][0]["mounts"].append({"target": "/app/input/ref", "file": FILE, "unpack": True})


WRONG: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no run": (lambda job: job.pop("run_id"), "run_id"),
    "a run id that is a path": (lambda job: job.update(run_id="../x"), "run_id"),
    "a lease id with a slash": (lambda job: job.update(lease_id="a/b"), "lease_id"),
    "no stages": (lambda job: job.update(stages=[]), "stages"),
    "stages in the wrong order": (lambda job: job["stages"].reverse(), "stages"),
    "two GPUs": (lambda job: job.update(gpus=2), "gpus"),
    "an unknown stage": (lambda job: job["stages"][0].update(name="training"), "stages[0].name"),
    "an image that is an option": (lambda job: job["stages"][0].update(image="--privileged"), "stages[0].image"),
    "a mount elsewhere": (lambda job: job["stages"][0]["mounts"][0].update(target="/etc"), "mounts[0].target"),
    "a digest that is none": (lambda job: job["stages"][0]["mounts"][0]["file"].update(sha256="x"), "sha256"),
    "a file name with a slash": (lambda job: job["stages"][0]["mounts"][0]["file"].update(name="a/b"), "name"),
    "a secret for participants' code": (secret_in_ingestion, "must not be given to the ingestion stage"),
    "labels for participants' code": (labels_in_ingestion, "must not be given to the ingestion stage"),
    "a command that is a text": (lambda job: job["stages"][0].update(command="rm -rf /"), "command"),
    "a negative limit": (lambda job: job["stages"][0]["limits"].update(pids=-1), "limits.pids"),
    "the same mount twice": (lambda job: job["stages"][0]["mounts"].append(job["stages"][0]["mounts"][0]), "twice"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_job_that_cannot_be_right_is_refused_with_the_field(name: str) -> None:
    change, field = WRONG[name]
    with pytest.raises(MessageInvalid) as invalid:
        parse_job(changed(change))
    assert field in str(invalid.value)


def test_limits_beyond_the_host_are_cut_to_the_host_and_zero_means_the_default() -> None:
    limits = grant(read_message(Limits, {"cpus": 10_000, "memory_bytes": 1 << 60, "pids": 0, "wall_s": 5}))
    assert limits.cpus == host_cores()
    assert limits.memory_bytes == host_memory_bytes()
    assert limits.pids == 256
    assert limits.wall_s == 5


def test_the_command_line_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    monkeypatch.setenv("PODIUM_WORKER_SITE", "https://env.example.org")
    monkeypatch.setenv("PODIUM_WORKER_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("PODIUM_WORKER_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("PODIUM_WORKER_SLOTS", "3")
    monkeypatch.setenv("PODIUM_WORKER_ALLOW_NETWORK", "true")
    config = config_from(parser().parse_args(["run", "--site", "https://line.example.org", "--name", "w"]))
    assert (config.site, config.token, config.slots, config.name) == ("https://line.example.org", "secret", 3, "w")
    assert config.allow_network
    assert not config.require_quota


def test_wrong_settings_end_the_start_with_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(parser().parse_args(["run", "--data-dir", str(tmp_path), "--site", "example.org"])) == 2
    assert "--site (or PODIUM_WORKER_SITE)" in capsys.readouterr().err
    assert run_command(parser().parse_args(["run", "--data-dir", str(tmp_path), "--site", "http://x"])) == 2
    assert "is plain HTTP, over which anybody on the way reads the queue token" in capsys.readouterr().err
    away = [
        "run",
        "--data-dir",
        str(tmp_path),
        "--site",
        "http://x",
        "--allow-http",
        "--token-file",
        str(tmp_path / "none"),
    ]
    assert run_command(parser().parse_args(away)) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_each_setting_says_what_would_be_right(tmp_path: Path) -> None:
    (tmp_path / "two").write_text("a b")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "letters").write_text("clé€")
    for call, words in (
        (lambda: checked_site(None), "https://"),
        (lambda: checked_site("https://[::1"), "such as https://podium.example.org"),
        (lambda: checked_name("no spaces"), "letters"),
        (lambda: checked_choice("role", "boss", ("both", "scoring")), "both, scoring"),
        (lambda: checked_number("slots", "many", 1, low=0, high=9), "from 0 to 9"),
        (lambda: checked_number("slots", "10", 1, low=0, high=9), "from 0 to 9"),
        (lambda: read_token(str(tmp_path / "two")), "one token"),
        (lambda: read_token(str(tmp_path / "bytes")), "one token"),
        (lambda: read_token(str(tmp_path / "letters")), "one token"),
        (lambda: read_token(None), "--token-file"),
    ):
        with pytest.raises(ConfigError, match=words):
            call()
    assert from_environment("data-dir", {"PODIUM_WORKER_DATA_DIR": "/x"}) == "/x"
