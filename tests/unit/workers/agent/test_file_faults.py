"""A file that cannot be used is charged to whoever uploaded it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.workers.protocol.test_jobs_and_settings import FILE, changed
from workers.agent.runs.archive import ArchiveRefused, unpack
from workers.agent.runs.staging import Stager, Unrunnable, archive_verdict
from workers.protocol.jobs import Stage, parse_job

SUBMISSION = "/app/ingested_program"


def mount(target: str, **more: Any) -> dict[str, Any]:
    return {"target": target, "file": FILE, "unpack": True, **more}


def stages(*beside: str) -> dict[str, Stage]:
    """A job's stages: ingestion with these mounts beside /app/program, scoring with all it can have."""

    def change(job: dict[str, Any]) -> None:
        program = mount("/app/program")
        job["stages"][0]["mounts"] = [program, *(mount(target) for target in beside)]
        job["stages"][1]["mounts"] = [program, mount("/app/input/ref", secret=True), mount("/app/input/res")]

    return {stage.name: stage for stage in parse_job(changed(change)).stages}


@pytest.fixture
def broken(tmp_path: Path) -> ArchiveRefused:
    """The error of unpacking a file that is not a zip."""
    (tmp_path / "broken.zip").write_bytes(b"no zip")
    with pytest.raises(ArchiveRefused) as refused:
        unpack(tmp_path / "broken.zip", tmp_path / "unpacked")
    return refused.value


@pytest.mark.parametrize(
    ("stage", "beside", "target", "reason", "code"),
    [
        ("ingestion", (), "/app/program", "program_error", "bad_archive"),
        ("ingestion", (SUBMISSION,), SUBMISSION, "program_error", "bad_archive"),
        ("ingestion", (SUBMISSION,), "/app/program", "scoring_error", "ingestion_program_bad_archive"),
        ("ingestion", ("/app/input_data",), "/app/input_data", "scoring_error", "input_data_bad_archive"),
        ("scoring", (), "/app/program", "scoring_error", "bad_archive"),
        ("scoring", (), "/app/input/ref", "scoring_error", "bad_archive"),
        ("scoring", (), "/app/input/res", "output_invalid", "bad_archive"),
    ],
)
def test_a_broken_archive_is_the_fault_of_whoever_uploaded_it(
    broken: ArchiveRefused, stage: str, beside: tuple[str, ...], target: str, reason: str, code: str
) -> None:
    verdict = archive_verdict(stages(*beside)[stage], target, broken)
    assert (verdict.outcome, verdict.reason, verdict.code) == ("failed", reason, code)
    assert broken.detail in verdict.detail


@pytest.mark.parametrize(
    ("stage", "beside", "reason", "code"),
    [
        ("ingestion", (), "program_error", "no_metadata"),
        ("ingestion", (SUBMISSION,), "scoring_error", "ingestion_program_no_metadata"),
        ("scoring", (), "scoring_error", "no_metadata"),
    ],
)
def test_a_program_without_a_command_is_the_fault_of_whoever_wrote_it(
    tmp_path: Path, stage: str, beside: tuple[str, ...], reason: str, code: str
) -> None:
    with pytest.raises(Unrunnable) as unrunnable:
        Stager._command(stages(*beside)[stage], {"/app/program": tmp_path}, [])
    assert (unrunnable.value.verdict.reason, unrunnable.value.verdict.code) == (reason, code)


def test_the_organizers_program_is_named_to_the_organizer(broken: ArchiveRefused) -> None:
    verdict = archive_verdict(stages(SUBMISSION)["ingestion"], "/app/program", broken)
    assert verdict.detail.startswith("The organizer's ingestion program: ")
