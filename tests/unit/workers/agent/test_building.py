"""Environments from locked requirements: blame for containers that cannot start, slow mirrors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.workers.agent.test_whose_fault import OF_THE_HOST, OF_THE_IMAGE
from workers.agent.environments import building
from workers.agent.environments.building import BuildContext, Order, build_environment
from workers.agent.environments.wheels import EnvironmentRefused, Interpreter
from workers.engines.images import ImageFacts
from workers.engines.spec import Runner
from workers.errors import SandboxError
from workers.protocol.files.locks import Locked, read_lock
from workers.protocol.files.markers import Python

LIMIT_S = 900.0
LOCK = f"small==1.0 --hash=sha256:{'0' * 64}\n".encode()


def order(*, is_image_of_team: bool = True) -> Order:
    return Order(
        requirements=LOCK,
        image="image",
        image_facts=ImageFacts(digest="sha256:1"),
        mirror="http://mirror/simple/",
        wall_s=LIMIT_S,
        max_bytes=1 << 20,
        is_image_of_team=is_image_of_team,
    )


def site_in(folder: Path, prepare: Callable[[Any], str]) -> BuildContext:
    engine: Any = SimpleNamespace(prepare=prepare, remove=lambda name: None, release=lambda group: False)
    return BuildContext(
        engine=engine,
        folder=folder / "run",
        name="podium-x",
        group="x",
        labels={},
        runner=Runner(1000),
        runtime="",
        quota=False,
        cores="",
        stop=lambda: False,
        installer=folder / "installer",
    )


def refused(folder: Path, words: str, *, is_image_of_team: bool) -> tuple[type[Exception], str]:
    """The error of a build whose first container the engine refuses with these words."""

    def prepare(spec: Any) -> str:
        raise SandboxError("engine_error", words)

    with pytest.raises((SandboxError, EnvironmentRefused)) as error:
        build_environment(order(is_image_of_team=is_image_of_team), site_in(folder, prepare), folder / "made" / "tree")
    assert isinstance(error.value, SandboxError | EnvironmentRefused)
    return type(error.value), error.value.code


def test_a_teams_image_that_cannot_be_started_is_its_failure_also_while_packages_are_installed(tmp_path: Path) -> None:
    words = OF_THE_IMAGE["app is a file"]
    assert refused(tmp_path, words, is_image_of_team=True) == (EnvironmentRefused, "image_not_startable")


@pytest.mark.parametrize(
    ("words", "is_image_of_team"),
    [(OF_THE_HOST["full disk"], True), (OF_THE_IMAGE["app is a file"], False)],
    ids=["full disk", "image of the competition"],
)
def test_a_container_that_cannot_be_started_is_not_always_the_teams_failure(
    tmp_path: Path, words: str, is_image_of_team: bool
) -> None:
    assert refused(tmp_path, words, is_image_of_team=is_image_of_team) == (SandboxError, "engine_error")


@pytest.mark.parametrize(
    ("fetching_s", "expected_s"), [(10.0, 890.0), (899.0, 450.0), (2000.0, 450.0)], ids=["fast", "slow", "too slow"]
)
def test_a_slow_mirror_takes_no_more_than_half_of_the_time_from_the_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fetching_s: float, expected_s: float
) -> None:
    clock = SimpleNamespace(now=0.0)
    grant: list[float] = []

    def fetch(*_: Any, **__: Any) -> list[tuple[Locked, str]]:
        clock.now += fetching_s
        return [(read_lock(LOCK)[0], "0" * 64)]

    monkeypatch.setattr(building, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(building, "_ask_python", lambda *_: Interpreter([], Python(11)))
    monkeypatch.setattr(building, "fetch_wheels", fetch)
    monkeypatch.setattr(building, "_install", lambda *_, wall_s: grant.append(wall_s))
    assert build_environment(order(), site_in(tmp_path, lambda spec: ""), tmp_path / "made" / "tree") == 1
    assert grant == [expected_s]


def test_a_worker_whose_python_has_no_installer_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "TOOLS", ("pip", "no-such-package"))
    with pytest.raises(SandboxError, match="has no no-such-package; install podium") as error:
        building.installer_name()
    assert error.value.code == "worker_incomplete"
