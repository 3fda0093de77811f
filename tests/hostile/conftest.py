"""Fixtures of the compute worker's tests on the real engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines import TestedEngine, chosen
from tests.integration.workers.harness import Bench, make_worker
from tests.services import Services


@pytest.fixture(scope="session")
def tested(real: Services) -> TestedEngine:
    """The engine that `PODIUM_TEST_ENGINE` names."""
    return chosen(real)


@pytest.fixture(scope="session")
def runtime_image(tested: TestedEngine) -> str:
    """The image that programs run in, on the engine that is tested."""
    return tested.image


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory, tested: TestedEngine) -> Bench:
    """Runs jobs in real containers."""
    files: Path = tmp_path_factory.mktemp("files")
    folder = tmp_path_factory.mktemp("worker") / "data"
    worker = make_worker(folder, tested.image, engine_url=tested.url, runtime=tested.runtime)
    return Bench(worker, files, tested.image)
