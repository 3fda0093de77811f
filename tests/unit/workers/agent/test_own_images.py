"""Images of teams on a host: what is removed while a run asks for it, and what a killed worker leaves."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.unit.environments.archives import docker_files, tar_bytes
from workers.agent.allocation import NO_ALLOCATION
from workers.agent.config import ConfigError
from workers.agent.environments.images import OwnImages
from workers.agent.host import facts as host_facts
from workers.agent.host.facts import missing_inodes
from workers.agent.runs.staging import Stager
from workers.agent.service import Service
from workers.engines.images import ImageFacts
from workers.errors import SandboxError

IMAGE = "sha256:1"
SOON_S = 0.2  # long enough for a thread that nothing holds up


class Images:
    """An engine that has images and nothing else; `removing` is called before one goes."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.entries: int | None = None
        self.brought = 0
        self.removing: Any = lambda: None

    def find_image(self, image: str) -> ImageFacts | None:
        return ImageFacts(digest=image, size_bytes=1000) if image in self.names else None

    def image_entries(self, image: str, at_most: int) -> int | None:
        return self.entries

    def remove_image(self, image: str) -> None:
        self.removing()
        self.names.discard(image)

    def bring(self) -> None:
        self.brought += 1
        self.names.add(IMAGE)


def images_in(folder: Path, engine: Any, *, max_age_s: float = -1) -> OwnImages:
    return OwnImages(folder, engine, max_bytes=1500, max_age_s=max_age_s)


def test_a_run_that_asks_for_an_image_while_it_is_removed_gets_it_anew(tmp_path: Path) -> None:
    engine = Images()
    images = images_in(tmp_path, engine)
    images.acquire(IMAGE, engine.bring)
    images.release(IMAGE)
    run = threading.Thread(target=images.acquire, args=(IMAGE, engine.bring))

    def ask() -> None:
        run.start()
        run.join(SOON_S)

    engine.removing = ask
    assert images.trim() == 1
    run.join(10)
    assert engine.names == {IMAGE}
    assert engine.brought == 2
    assert images.trim() == 0, "the run has it"
    images.release(IMAGE)
    assert (len(images._bringing), len(images._in_use)) == (0, 0)


def test_an_image_that_is_being_brought_holds_up_no_removal(tmp_path: Path) -> None:
    engine = Images()
    images = images_in(tmp_path, engine)
    images.acquire(IMAGE, engine.bring)
    images.release(IMAGE)
    engine.names.clear()
    is_bringing, may_end = threading.Event(), threading.Event()

    def bring() -> None:
        is_bringing.set()
        may_end.wait(10)
        engine.bring()

    run = threading.Thread(target=images.acquire, args=(IMAGE, bring))
    run.start()
    assert is_bringing.wait(10)
    assert images.trim() == 0
    may_end.set()
    run.join(10)
    assert engine.names == {IMAGE}


def test_an_archive_with_another_image_than_was_checked_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Images()
    worker: Any = SimpleNamespace(
        own_images=images_in(tmp_path, engine), cache=SimpleNamespace(make_room=lambda size: None)
    )
    monkeypatch.setattr(Stager, "_fetch", lambda self, file, path: path.write_bytes(tar_bytes(docker_files())))
    stager = Stager(worker, cast("Any", None), cast("Any", None), lambda digest: None, lambda: False, {})
    own: Any = SimpleNamespace(archive=SimpleNamespace(size_bytes=1), image_id=IMAGE)
    with pytest.raises(SandboxError, match=f"not {IMAGE}") as changed:
        stager._load(own)
    assert (changed.value.code, engine.names) == ("image_changed", set())


@pytest.mark.parametrize("max_age_s", [-1, 3600], ids=["too old", "young"])
def test_what_no_run_needs_goes_by_age(tmp_path: Path, max_age_s: float) -> None:
    engine = Images()
    images = images_in(tmp_path, engine, max_age_s=max_age_s)
    images.acquire(IMAGE, engine.bring)
    assert images.trim() == 0
    images.release(IMAGE)
    assert images.trim() == (1 if max_age_s < 0 else 0)


def test_an_archive_that_a_killed_worker_left_is_removed_and_records_stay(tmp_path: Path) -> None:
    engine = Images()
    images = images_in(tmp_path, engine, max_age_s=3600)
    images.acquire(IMAGE, engine.bring)
    with images.arriving() as path:
        path.write_bytes(b"half")
        left = path.with_name(f"arriving-{'0' * 32}.tar")
        left.write_bytes(b"half")
    assert not path.exists()
    images.remove_arrivals()
    assert [file.suffix for file in tmp_path.iterdir()] == [".json"]


def test_a_worker_that_starts_removes_such_archives_before_it_registers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "images").mkdir()
    left = tmp_path / "images" / "arriving-1.tar"
    left.write_bytes(b"half")
    images = OwnImages(tmp_path / "images", Images(), max_bytes=0, max_age_s=0)  # type: ignore[arg-type]  # the part that it asks
    worker: Any = SimpleNamespace(
        stopping=threading.Event(),
        slots=1,
        host=SimpleNamespace(model_copy=lambda update: None),
        own_images=images,
        cache=SimpleNamespace(),
        data_dir=tmp_path,
        allocation=NO_ALLOCATION,
    )
    config: Any = SimpleNamespace(self_test="never", self_test_image="", until_idle_s=0)

    def end_here(*_: Any, **__: Any) -> None:
        raise ConfigError("far enough")

    monkeypatch.setattr("workers.agent.service.enrol", end_here)
    service = Service(config, worker, ())
    with pytest.raises(ConfigError):
        service.run()
    assert not left.exists()
    assert service._lock is not None
    service._lock.close()


@pytest.mark.parametrize(
    ("entries", "max_bytes", "is_taken"),
    [
        (None, 1000, True),
        (None, 999, False),
        (10, 10 * 4096, True),
        (10, 10 * 4096 - 1, False),
        (300_000, 1 << 40, True),
        (300_001, 1 << 40, False),
        (300_001, 0, True),
    ],
)
def test_an_image_is_charged_for_each_of_its_files_and_folders(
    tmp_path: Path, entries: int | None, max_bytes: int, is_taken: bool
) -> None:
    engine = Images()
    engine.entries = entries
    images = OwnImages(tmp_path, cast("Any", engine), max_bytes=1 << 40, max_age_s=1000)
    if is_taken:
        images.acquire(IMAGE, engine.bring, max_bytes=max_bytes)
        return
    with pytest.raises(SandboxError) as refused:
        images.acquire(IMAGE, engine.bring, max_bytes=max_bytes)
    assert refused.value.code == "image_too_large"
    assert engine.names == set()


def test_images_go_while_the_engines_disk_can_take_too_few_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Images()
    images = OwnImages(
        tmp_path / "images", cast("Any", engine), max_bytes=1 << 40, max_age_s=1000, engine_root=str(tmp_path)
    )
    images.acquire(IMAGE, engine.bring)
    images.release(IMAGE)
    facts = os.statvfs(tmp_path)
    assert images.trim() == 0
    monkeypatch.setattr(host_facts, "RESERVE", facts.f_files)
    monkeypatch.setattr(host_facts, "SHARE", 1.0)
    assert missing_inodes(tmp_path) > 0
    assert images.trim() == 1
    assert missing_inodes(tmp_path / "not there") == 0
