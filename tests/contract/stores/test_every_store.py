"""The contract of every store of objects."""

from __future__ import annotations

import hashlib
import io
import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from competitions.resources.stores.base import Attachment, ObjectMissing, ObjectStore, StoreFull, WrongDigest
from tests.contract.stores.conftest import Subject

CONTENT = bytes(range(256)) * 64
DIGEST = hashlib.sha256(CONTENT).hexdigest()
ABSENT = hashlib.sha256(b"never stored").hexdigest()


class Breaking(io.BytesIO):
    """A stream that breaks off in the middle."""

    def __init__(self, stop: Callable[[], Any]) -> None:
        super().__init__(CONTENT)
        self._stop = stop

    def read(self, size: int | None = -1) -> bytes:
        if self.tell():
            self._stop()
        return super().read(1000)


def whole(store: ObjectStore, digest: str = DIGEST) -> bytes:
    with store.open(digest) as file:
        return file.read()


def digests(store: ObjectStore) -> list[str]:
    return sorted(each.digest for each in store.objects())


def refuse() -> None:
    raise ConnectionResetError("the sender is gone")


@pytest.mark.parametrize("kind", ["stream", "path", "path that may be linked"])
def test_what_is_put_can_be_read(store: ObjectStore, tmp_path: Path, kind: str) -> None:
    source = tmp_path / "source"
    source.write_bytes(CONTENT)
    store.put(DIGEST, io.BytesIO(CONTENT) if kind == "stream" else source, may_link="linked" in kind)
    assert (whole(store), store.size(DIGEST), store.exists(DIGEST)) == (CONTENT, len(CONTENT), True)
    assert source.read_bytes() == CONTENT, "the source is left where it is"


def test_an_empty_object_is_one(store: ObjectStore) -> None:
    empty = hashlib.sha256().hexdigest()
    store.put(empty, io.BytesIO())
    assert (whole(store, empty), store.size(empty)) == (b"", 0)


def test_put_twice_it_is_one_object(store: ObjectStore) -> None:
    for _ in range(2):
        store.put(DIGEST, io.BytesIO(CONTENT))
    assert digests(store) == [DIGEST]


def test_many_may_put_the_same_object_at_once(store: ObjectStore) -> None:
    begin, failures = threading.Barrier(8), list[BaseException]()

    def put() -> None:
        begin.wait()
        try:
            store.put(DIGEST, io.BytesIO(CONTENT))
            assert whole(store) == CONTENT
        except BaseException as error:  # noqa: BLE001  # told to the test
            failures.append(error)

    threads = [threading.Thread(target=put) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (failures, digests(store), whole(store)) == ([], [DIGEST], CONTENT)


def test_nobody_sees_an_object_before_it_is_whole(store: ObjectStore) -> None:
    seen: list[bool] = []
    store.put(DIGEST, Breaking(lambda: seen.append(store.exists(DIGEST) or bool(digests(store)))))
    assert not any(seen)
    assert whole(store) == CONTENT


def test_a_stream_that_breaks_off_leaves_nothing(store: ObjectStore) -> None:
    with pytest.raises(ConnectionResetError):
        store.put(DIGEST, Breaking(refuse))
    assert not store.exists(DIGEST)
    assert digests(store) == []
    store.put(DIGEST, io.BytesIO(CONTENT))
    assert whole(store) == CONTENT


def test_a_writer_that_is_killed_leaves_no_object_and_its_rest_can_be_removed(store: ObjectStore) -> None:
    child = os.fork()
    if child == 0:
        store.put(DIGEST, Breaking(lambda: os._exit(0)))
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "it was killed in the middle"
    assert not store.exists(DIGEST)
    assert digests(store) == []
    assert store.remove_unfinished(before=datetime.now(UTC) - timedelta(hours=1)) == 0, "somebody may be writing it"
    store.remove_unfinished(before=datetime.now(UTC) + timedelta(hours=1))
    assert store.remove_unfinished(before=datetime.now(UTC) + timedelta(hours=1)) == 0, "nothing is left of it"


def test_bytes_of_another_digest_are_refused(store: ObjectStore) -> None:
    with pytest.raises(WrongDigest, match=ABSENT):
        store.put(ABSENT, io.BytesIO(CONTENT))
    assert digests(store) == []


def test_a_full_store_says_so_and_keeps_what_it_has(subject: Subject) -> None:
    subject.store.put(DIGEST, io.BytesIO(CONTENT))
    subject.fill()
    with pytest.raises(StoreFull, match="no room left"):
        subject.store.put(hashlib.sha256(b"x").hexdigest(), io.BytesIO(b"x"))
    assert digests(subject.store) == [DIGEST]
    assert whole(subject.store) == CONTENT


@pytest.mark.parametrize(
    ("start", "length"), [(0, None), (0, 10), (1000, 24), (len(CONTENT) - 5, 100), (len(CONTENT), None), (17, 0)]
)
def test_a_range_is_read(store: ObjectStore, start: int, length: int | None) -> None:
    store.put(DIGEST, io.BytesIO(CONTENT))
    expected = CONTENT[start:] if length is None else CONTENT[start : start + length]
    with store.open(DIGEST, start=start, length=length) as file:
        assert file.read() == expected
    with store.open(DIGEST, start=start, length=length) as file:
        assert b"".join(iter(lambda: file.read(7), b"")) == expected


def test_what_is_absent_is_told_from_what_is_there(store: ObjectStore) -> None:
    assert not store.exists(ABSENT)
    for ask in (store.size, store.open):
        with pytest.raises(ObjectMissing, match=ABSENT):
            ask(ABSENT)


def test_what_is_deleted_is_gone_and_may_come_again(store: ObjectStore) -> None:
    store.put(DIGEST, io.BytesIO(CONTENT))
    store.delete(DIGEST)
    assert (store.exists(DIGEST), digests(store)) == (False, [])
    store.put(DIGEST, io.BytesIO(CONTENT))
    assert whole(store) == CONTENT


def test_what_is_absent_may_be_deleted(store: ObjectStore) -> None:
    store.delete(ABSENT)


def test_a_reader_keeps_what_it_opened(store: ObjectStore) -> None:
    store.put(DIGEST, io.BytesIO(CONTENT))
    with store.open(DIGEST) as file:
        store.delete(DIGEST)
        assert file.read() == CONTENT


def test_all_objects_are_listed_with_size_and_time(store: ObjectStore) -> None:
    contents = {hashlib.sha256(each).hexdigest(): each for each in (b"a", b"bb", b"ccc")}
    began = datetime.now(UTC) - timedelta(seconds=2)  # file systems round
    for digest, content in contents.items():
        store.put(digest, io.BytesIO(content))
    listed = {each.digest: each for each in store.objects()}
    assert {digest: each.size_bytes for digest, each in listed.items()} == {
        digest: len(content) for digest, content in contents.items()
    }
    assert all(began <= each.modified_at <= datetime.now(UTC) for each in listed.values())


@pytest.mark.parametrize("name", ["", "../../etc/passwd", DIGEST.upper(), DIGEST[:-1], DIGEST + "0", f"{DIGEST}\n"])
def test_only_a_digest_names_an_object(store: ObjectStore, name: str) -> None:
    for use in (store.exists, store.size, store.open, store.delete):
        with pytest.raises(ValueError, match="not a SHA-256"):
            use(name)
    with pytest.raises(ValueError, match="not a SHA-256"):
        store.put(name, io.BytesIO(CONTENT))


def test_a_local_path_holds_the_bytes_where_there_is_one(store: ObjectStore) -> None:
    store.put(DIGEST, io.BytesIO(CONTENT))
    path = store.local_path(DIGEST)
    assert path is None or path.read_bytes() == CONTENT


def test_what_a_store_cannot_tell_is_none(store: ObjectStore) -> None:
    store.put(DIGEST, io.BytesIO(CONTENT))
    room = store.capacity()
    assert room is None or 0 <= room.free_bytes <= room.total_bytes
    url = store.signed_url(DIGEST, Attachment("application/zip", "a.zip"), valid_for=timedelta(minutes=1))
    assert url is None or url.startswith("https://")
    location = store.front_location(DIGEST)
    assert location is None or location.startswith("/")
    assert store.is_writable()
