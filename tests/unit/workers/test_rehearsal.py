"""A smoke run at home: the site's job with files of this disk, and what is different here."""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

from workers.local import LocalRun
from workers.protocol.jobs import StagedFile
from workers.protocol.messages import read_message
from workers.protocol.results import Complete
from workers.protocol.smoke import WholeTime
from workers.rehearsal import Brought, local_job, offered_files, offered_mirror, other_image, project_run, read_offer

SHA = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("program", "labels")}
HERE, THERE = "sha256:" + "a" * 64, "sha256:" + "b" * 64


def mount(target: str, url: str, sha256: str, **fields: Any) -> dict[str, Any]:
    return {
        "target": target,
        "file": {"url": url, "sha256": sha256, "size_bytes": 1, "name": "f.zip"},
        "unpack": True,
    } | fields


OFFER = {
    "needs_command": True,
    "time_limit_s": 60.0,
    "scale": 10,
    "image_digest": THERE,
    "calibrations": [{"loads": 1, "cpu": {"interpreter_s": 1.0, "digest_s": 4.0}}],
    "job": {
        "run_id": "r",
        "attempt": 1,
        "lease_id": "l",
        "token": "none",
        "lease_s": 90,
        "heartbeat_s": 15,
        "columns": ["mae"],
        "stages": [
            {
                "name": "ingestion",
                "step": 1,
                "image": "podium/runtime:1",
                "pull": "missing",
                "limits": {"wall_s": 30.0, "cpus": 1.0},
                "mounts": [mount("/app/program", "submission:", "0" * 64)],
            },
            {
                "name": "scoring",
                "step": 2,
                "image": "podium/runtime:1",
                "pull": "missing",
                "limits": {"wall_s": 30.0},
                "mounts": [
                    mount("/app/program", "/files/program", SHA["program"]),
                    mount("/app/input/ref", "/files/labels", SHA["labels"], secret=True),
                    {"target": "/app/input/res", "stage_output": "ingestion"},
                ],
            },
        ],
    },
}


def ended(**fields: Any) -> LocalRun:
    stage = {"name": "ingestion", "wall_s": 2.0, "image_digest": HERE} | fields
    body = {"lease_id": "l", "attempt": 1, "outcome": "finished", "scores": {"mae": 1.0}, "stages": [stage]}
    return LocalRun(read_message(Complete, body))


def test_what_is_fetched_are_the_files_of_the_site(tmp_path: Path) -> None:
    assert {file.url for file in offered_files(read_offer(OFFER)).values()} == {"/files/program", "/files/labels"}


def test_the_job_is_the_site_s_with_files_of_this_disk(tmp_path: Path) -> None:
    sent = tmp_path / "code.zip"
    sent.write_bytes(b"code")
    offer = read_offer(OFFER)
    job = local_job(offer.job, Brought(sent), {sha256: tmp_path / sha256 for sha256 in SHA.values()})
    files = [
        stage_mount.file for stage in job.stages for stage_mount in stage.mounts if isinstance(stage_mount, StagedFile)
    ]
    assert [file.url for file in files] == [str(sent), *(str(tmp_path / sha256) for sha256 in SHA.values())]
    assert files[0].sha256 == hashlib.sha256(b"code").hexdigest()
    assert [stage.limits for stage in job.stages] == [stage.limits for stage in offer.job.stages]


def with_environment() -> dict[str, Any]:
    """The offer with all that code may be brought with."""
    offer = copy.deepcopy(OFFER)
    first = offer["job"]["stages"][0]  # type: ignore[index]
    file = {"sha256": "0" * 64, "size_bytes": 0, "name": "weights"}
    first["mounts"] += [
        {"target": "/app/weights", "file": file | {"url": "weights:"}},
        {
            "target": "/app/environment",
            "requirements": file | {"url": "requirements:", "name": "requirements.txt"},
            "mirror": "https://mirror.example.org/simple/",
            "wall_s": 60.0,
            "max_bytes": 1024,
        },
    ]
    own = {"archive": file | {"url": "image:", "name": "image.tar"}, "image_id": HERE}
    first |= {"image": HERE, "own_image": own, "is_image_of_team": True}
    return offer


def test_what_is_brought_takes_the_places_that_the_site_planned(tmp_path: Path) -> None:
    paths = {name: tmp_path / name for name in ("code.zip", "a\\b.npz", "image.tar", "requirements.txt")}
    for name, path in paths.items():
        path.write_text(name)
    code, weights, image, lock = paths.values()
    offer = read_offer(with_environment())
    assert set(offered_files(offer)) == set(SHA.values()), "nothing that is brought is fetched"
    files = {sha256: tmp_path / sha256 for sha256 in SHA.values()}
    brought = Brought(code, weights, image, lock, mirror="https://index.example.org/simple/")
    first, scoring = local_job(offer.job, brought, files).stages
    mounts: dict[str, Any] = {mount.target: mount for mount in first.mounts}
    assert mounts["/app/program"].file.url == str(code)
    assert (mounts["/app/weights"].file.url, mounts["/app/weights"].file.name) == (str(weights), "a_b.npz")
    assert mounts["/app/environment"].mirror == "https://index.example.org/simple/"
    assert mounts["/app/environment"].requirements.sha256 == hashlib.sha256(b"requirements.txt").hexdigest()
    assert first.own_image is not None
    assert first.own_image.archive.url == str(image)
    assert (scoring.own_image, scoring.image) == (None, "podium/runtime:1")
    assert offered_mirror(offer) == "https://mirror.example.org/simple/"


def test_without_a_lock_nothing_is_installed_where_the_phase_would(tmp_path: Path) -> None:
    code = tmp_path / "code.zip"
    code.write_bytes(b"code")
    offer = read_offer(with_environment())
    job = local_job(offer.job, Brought(code, code, code), {sha256: tmp_path / sha256 for sha256 in SHA.values()})
    assert [mount.target for mount in job.stages[0].mounts] == ["/app/program", "/app/weights"]


def test_another_build_of_the_image_is_told() -> None:
    offer = read_offer(OFFER)
    assert other_image(offer, ended()) == HERE
    assert other_image(offer, ended(image_digest=THERE)) == ""
    assert other_image(read_offer(OFFER | {"image_digest": ""}), ended()) == "", "the site does not know"


def test_what_it_takes_at_the_site_needs_both_measured(tmp_path: Path) -> None:
    offer = read_offer(OFFER)
    assert project_run(offer, ended(), tmp_path) is None
    (tmp_path / "calibration.json").write_text(json.dumps({"loads": 1, "cpu": {"interpreter_s": 2.0, "digest_s": 2.0}}))
    projected = project_run(offer, ended(), tmp_path)
    assert projected is not None
    assert projected.whole is not None
    assert (projected.smoke_s.low, projected.smoke_s.high) == (1.0, 4.0)
    assert projected.whole == WholeTime(1.0, 40.0)
    assert projected.limit_s == 60.0
