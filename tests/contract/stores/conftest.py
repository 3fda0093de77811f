"""The stores that are held to the contract, each with a way to fill it up."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from competitions.resources.stores.base import ObjectStore
from competitions.resources.stores.disk import DiskStore
from tests.stores import MemoryStore


@dataclass
class Subject:
    """A store under test. `fill` leaves no room in it."""

    store: ObjectStore
    fill: Callable[[], None]


@pytest.fixture(params=["disk", "memory"])
def subject(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Subject:
    if request.param == "memory":
        memory = MemoryStore()
        return Subject(memory, memory.fill)
    return Subject(DiskStore(tmp_path / "objects"), lambda: monkeypatch.setattr(os, "fsync", _no_room))


@pytest.fixture
def store(subject: Subject) -> ObjectStore:
    return subject.store


def _no_room(descriptor: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
