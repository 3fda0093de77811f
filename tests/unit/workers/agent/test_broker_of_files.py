"""The broker that is a folder: whole messages, each to one reader, oldest first."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path
from queue import Empty
from typing import Any

import pytest

from workers.agent.site.wakeups import connection_to

MESSAGES = 400
PATIENCE_S = 30.0


def channel(folder: Path) -> Any:
    return connection_to(f"filesystem://{folder}").channel()


def publish(folder: Path, start: int) -> None:
    sender = channel(folder)
    for number in range(start, start + MESSAGES):
        sender._put("q", {"number": number})
        time.sleep(0.001)  # a reader that is quicker than the writer comes upon each message as it appears


def read(folder: Path, taken: multiprocessing.Queue[int]) -> None:
    reader, ends_at = channel(folder), time.monotonic() + PATIENCE_S
    while time.monotonic() < ends_at:
        try:
            number = reader._get("q")["number"]
        except Empty:
            continue
        taken.put(number)
        if number < 0:
            return


def test_quick_readers_take_each_message_once_and_whole(tmp_path: Path) -> None:
    taken: multiprocessing.Queue[int] = multiprocessing.Queue()
    writers = [multiprocessing.Process(target=publish, args=(tmp_path, start)) for start in (0, MESSAGES)]
    readers = [multiprocessing.Process(target=read, args=(tmp_path, taken)) for _ in range(2)]
    for process in writers + readers:
        process.start()
    for writer in writers:
        writer.join(PATIENCE_S)
    for _ in readers:
        channel(tmp_path)._put("q", {"number": -1})
    numbers = [taken.get(timeout=PATIENCE_S) for _ in range(2 * MESSAGES + 2)]
    for reader in readers:
        reader.join(PATIENCE_S)
    assert [process.exitcode for process in writers + readers] == [0, 0, 0, 0]
    assert sorted(numbers) == [-1, -1, *range(2 * MESSAGES)]
    assert list((tmp_path / "messages").iterdir()) == []


def test_messages_come_oldest_first_and_to_their_own_queue(tmp_path: Path) -> None:
    queues = channel(tmp_path)
    for queue, text in (("compute.q", "first"), ("q", "another queue's"), ("compute.q", "second")):
        queues._put(queue, {"text": text})
    assert [queues._get("compute.q")["text"] for _ in range(2)] == ["first", "second"]
    with pytest.raises(Empty):
        queues._get("compute.q")
    assert queues._get("q")["text"] == "another queue's"


def test_an_emptied_queue_leaves_the_others(tmp_path: Path) -> None:
    queues = channel(tmp_path)
    for queue in ("compute.q", "compute.q", "q"):
        queues._put(queue, {})
    assert queues.queue_purge("compute.q") == 2
    assert [queues._size(queue) for queue in ("compute.q", "q")] == [0, 1]
