"""A code competition with a public mini split, and submissions at each stage of a smoke run."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from accounts.models import User
from competitions.catalog.models import Phase, Task
from competitions.compute.models import Queue
from competitions.submissions.models import Submission
from tests.browser.seeding import place as places

PROGRAM = {
    "name": "ingestion",
    "wall_s": 1.9,
    "cpu_s": 1.7,
    "memory_peak_bytes": 148_000_000,
    "output_bytes": 640,
    "image_digest": "sha256:" + "cd" * 32,
    "exit_code": 0,
}
CRASHED = {
    "outcome": "failed",
    "reason": "program_error",
    "code": "exit_code",
    "stages": [PROGRAM],
    "detail": "The program ended with exit code 1.",
}
SCORED = {"outcome": "finished", "scores": {"mae": 0.31, "rmse": 0.4, "hits": 0.6}, "stages": [PROGRAM]}


def smoke_runs(organizer: User, now: datetime) -> None:
    """On a queue of its own, which no worker serves; "sana" is in the one team."""
    place = places.competition("mini", "Code with a mini split", organizer, Queue.objects.create(name="mini"), now)
    phase = place.phases["test-dev"] = places.phase(
        place, "test-dev", "public", 0, {"name": "Development", "accepts_predictions": True}
    )
    _mini_split(place, phase)
    member = places.person("sana", "Sana Smoke")
    place.join(member, "Try it first")
    _sent(place, member, "Passed, then scored", SCORED, SCORED, hours_ago=5)
    _sent(place, member, "Crashed", CRASHED, hours_ago=4)
    _sent(place, member, "Passed, then waits", SCORED, hours_ago=3)


def _mini_split(place: places.Place, phase: Phase) -> None:
    mini = places.task(place, "mini")
    Task.objects.filter(pk=mini.pk).update(name="Mini split", is_public_split=True)
    hidden = phase.tasks.get()
    for part in ("reference_data", "input_data"):  # the same bytes would not be public
        resource = getattr(mini, part)
        resource.file = seeding_file(part)
        resource.save()
    assert hidden.pk != mini.pk
    phase.smoke_task, phase.smoke_scale = Task.objects.get(pk=mini.pk), 10
    phase.clean()
    phase.save()


def seeding_file(part: str) -> Any:
    """Bytes that no other task has."""
    from competitions.resources.storage import store_bytes
    from tests.scenario import zip_bytes

    return store_bytes(zip_bytes({"rows.txt": f"public {part}"}))


def _sent(place: places.Place, user: User, note: str, *answers: dict[str, Any], hours_ago: float) -> Submission:
    submission = place.submit(user, code="print(1)", note=note, hours_ago=hours_ago)
    for number, answer in enumerate(answers):
        submission = place.answer(submission, after_s=20 + 60 * number, **answer)
    return submission
