"""Fixtures of the compute worker's tests on the real engine."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tests.integration.workers.harness import BASE, TEAM_IMAGE, Bench, make_worker


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory, runtime_image: str) -> Bench:
    """Runs jobs in real containers."""
    files: Path = tmp_path_factory.mktemp("files")
    return Bench(make_worker(tmp_path_factory.mktemp("worker") / "data", runtime_image), files, runtime_image)


@pytest.fixture(scope="session", autouse=True)
def _static_folder() -> None:
    """The site's server warns when it has no folder for static files, and warnings are errors."""
    from django.conf import settings

    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)


@pytest.fixture(scope="session")
def archive(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A `docker save` archive of an image no longer on the host: Debian, one more file, user root."""
    docker = bench.docker
    container = docker.create_container(BASE, command="true", user="root")["Id"]
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as packed:
        member = tarfile.TarInfo("opt/model.txt")
        member.size = 5
        packed.addfile(member, io.BytesIO(b"42.5\n"))
    docker.put_archive(container, "/", content.getvalue())
    repository, _, tag = TEAM_IMAGE.partition(":")
    docker.commit(container, repository=repository, tag=tag)
    path = tmp_path_factory.mktemp("archive") / "image.tar"
    with path.open("wb") as sink:
        for chunk in docker.get_image(TEAM_IMAGE):
            sink.write(chunk)
    docker.remove_container(container)
    docker.remove_image(TEAM_IMAGE)
    return path
