"""Example graph networks in real containers: separate weights; own PyTorch image in `make soak`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from examples.pcqm4mv2_small import bundle
from tests.integration.workers.harness import MIB, Bench, Outcome, make_worker
from tests.soak import in_soak
from workers.agent.environments.images import OwnImages
from workers.protocol.files.image_archive import ArchiveLimits, check_archive

FOLDER = bundle.HERE / "environments"
BUDGET = {"wall_s": 120, "memory_bytes": 4096 * MIB, "cpus": 2.0, "pids": 256, "tmp_bytes": 512 * MIB}
CONSTANT_EV = 0.9  # the training median for every molecule comes to 1.08 eV


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, runtime_image: str) -> Bench:
    data = tmp_path_factory.mktemp("worker") / "data"
    return Bench(make_worker(data, runtime_image), tmp_path_factory.mktemp("files"), runtime_image)


@pytest.fixture(scope="module")
def competition(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundle.build_bundle(tmp_path_factory.mktemp("bundle"), now=datetime.now(UTC))


def content(folder: Path) -> dict[str, str | bytes]:
    """The files of a folder by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def team_code(kind: str, more: dict[str, bytes]) -> dict[str, str | bytes]:
    """The files of a team's zip: the program of one kind, and the module that reads molecules."""
    files = {path.name: path.read_bytes() for path in (FOLDER / kind).glob("*.py")}
    return {"molecules.py": (FOLDER / "molecules.py").read_bytes(), **files, **more}


def scored(
    bench: Bench, competition: Path, code: dict[str, str | bytes], *, own: dict[str, Any], mounts: list[dict[str, Any]]
) -> Outcome:
    """Run code as the competition does: its ingestion program, then its scoring program."""
    first = bench.stage(
        "ingestion",
        [
            bench.mount("/app/program", content(competition / "ingestion_program")),
            bench.mount("/app/ingested_program", code),
            bench.mount("/app/input_data", content(competition / "input_data_test-dev")),
            *mounts,
        ],
        **BUDGET,
    )
    labels = bench.mount("/app/input/ref", content(competition / "reference_data_test-dev"), secret=True)
    scorer = bench.mount("/app/program", content(competition / "scoring_program"))
    last = bench.stage("scoring", [scorer, labels, {"target": "/app/input/res", "stage_output": "ingestion"}], **BUDGET)
    return bench.run(bench.job([first | own, last], columns=("mae",)) | {"text_files": []})


def train_weights(bench: Bench, train: bytes) -> bytes:
    """Train as a team would at home: with the same packages, which the runtime image has."""
    command = b"command: python3 $program/train.py $program/train.csv.gz $output/w.npz"
    program = team_code("weights", {"train.csv.gz": train, "metadata.yaml": command})
    first = bench.stage("ingestion", [bench.mount("/app/program", program)], **BUDGET)
    outcome = bench.run(bench.job([first], columns=()) | {"text_files": []})
    with zipfile.ZipFile(BytesIO(outcome.outbox["predictions.zip"])) as archive:
        return archive.read("w.npz")


def test_a_network_with_weights_apart_from_its_code_is_scored(bench: Bench, competition: Path) -> None:
    weights = train_weights(bench, (competition / "public_data" / "train.csv.gz").read_bytes())
    mount = {"target": "/app/weights", "file": bench.file(weights, "weights.npz"), "unpack": False}
    outcome = scored(bench, competition, team_code("weights", {}), own={}, mounts=[mount])
    assert outcome.result["outcome"] == "finished", outcome.result
    assert 0.2 < outcome.result["scores"]["mae"] < 0.4


@pytest.mark.timeout(1200)
@in_soak  # builds an image of 2 GB
def test_a_network_in_pytorch_runs_in_the_image_that_its_team_built(
    bench: Bench, competition: Path, tmp_path: Path
) -> None:
    shutil.copy(FOLDER / "image" / "Dockerfile", tmp_path)
    for command in (
        [sys.executable, "-m", "pip", "install", "-q", "--target", str(tmp_path / "site-packages"), "torch==2.13.0"],
        ["docker", "build", "-q", "-t", "podium/example-torch:1", str(tmp_path)],
        ["docker", "save", "podium/example-torch:1", "-o", str(tmp_path / "image.tar")],
        ["docker", "rmi", "podium/example-torch:1"],
    ):
        subprocess.run(command, check=True, capture_output=True)
    path = tmp_path / "image.tar"
    image_id = check_archive(path, ArchiveLimits(max_bytes=30 << 30)).image_id
    archive = bench.file(path.read_bytes(), "image.tar")
    code = team_code("image", {"train.csv.gz": (competition / "public_data" / "train.csv.gz").read_bytes()})
    own = {"image": image_id, "own_image": {"archive": archive, "image_id": image_id}, "is_image_of_team": True}
    try:
        outcome = scored(bench, competition, code, own=own, mounts=[])
    finally:
        OwnImages(bench.worker.data_dir / "images", bench.worker.engine, max_bytes=0, max_age_s=0).trim()
    assert outcome.result["outcome"] == "finished", outcome.result
    assert outcome.result["scores"]["mae"] < CONSTANT_EV
