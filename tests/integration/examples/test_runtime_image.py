"""The generated molecules and the code baselines in the image that runs them, on a real Docker Engine."""

from __future__ import annotations

import json
import subprocess
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from examples.baselines import Baseline
from examples.pcqm4mv2_small.baseline_submissions import build_baselines
from examples.pcqm4mv2_small.bundle import build_bundle
from tests.soak import in_soak

RDKIT_JUDGE = """
import csv, gzip, json, pathlib, sys
from rdkit import Chem, RDLogger
RDLogger.DisableLog("rdApp.*")
verdicts = []
for folder in sys.argv[1:]:
    invalid, canonical, sizes = [], [], []
    for path in sorted(pathlib.Path(folder).iterdir()):
        opened = gzip.open(path, "rt") if path.suffix == ".gz" else path.open()
        for row in csv.DictReader(opened):
            molecule = Chem.MolFromSmiles(row["smiles"])
            if molecule is None:
                invalid.append(row["smiles"])
            else:
                canonical.append(Chem.MolToSmiles(molecule))
                sizes.append(molecule.GetNumHeavyAtoms())
    verdicts.append({"invalid": invalid, "read": len(canonical), "different": len(set(canonical)), "largest": max(sizes)})
json.dump(verdicts, sys.stdout)
"""


def test_what_programs_of_codabench_import_is_there(runtime_image: str) -> None:
    program = "import filelock, psutil, matplotlib.pyplot as plt; plt.savefig('/tmp/plot.png'); print('ok')"
    assert in_container(runtime_image, {}, "python3", "-W", "error", "-c", program).strip() == "ok"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_bundle(tmp_path_factory.mktemp("built") / "bundle", now=datetime.now(UTC))


@pytest.fixture(scope="module")
def baselines(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Baseline, Path]]:
    folder = tmp_path_factory.mktemp("baselines")
    return {baseline.name: (baseline, folder / baseline.filename) for baseline in build_baselines(bundle, folder)}


def in_container(image: str, mounts: dict[str, Path], *command: str, writable: Path | None = None) -> str:
    """Run one command without a network and with a read-only root; its standard output."""
    binds = [part for target, source in mounts.items() for part in ("-v", f"{source}:{target}:ro")]
    if writable is not None:
        writable.mkdir(mode=0o777, exist_ok=True)
        writable.chmod(0o777)
        binds += ["-v", f"{writable}:/app/output"]
    limits = ["--network=none", "--read-only", "--tmpfs=/tmp", "--cpus=1", "--memory=1g"]
    done = subprocess.run(
        ["docker", "run", "--rm", *limits, *binds, image, *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def unpacked(archive: Path, folder: Path) -> Path:
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
    return folder


@pytest.fixture
def open_tmp_path(tmp_path: Path) -> Path:
    """pytest keeps its folders to their owner; the container's user must get in."""
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o755)
    return tmp_path


@pytest.fixture(autouse=True)
def _readable(bundle: Path, baselines: dict[str, tuple[Baseline, Path]]) -> None:
    for folder in (bundle.parent, bundle.parent.parent, bundle.parent.parent.parent):
        folder.chmod(0o755)


def test_rdkit_reads_every_molecule_finds_no_two_alike_and_would_object(
    runtime_image: str, bundle: Path, open_tmp_path: Path
) -> None:
    """To an impossible molecule, and to a repeated one."""
    wrong = open_tmp_path / "wrong"
    wrong.mkdir()
    (wrong / "some.csv").write_text("smiles\nCC(C)(C)(C)C\nc1ccccc1\nC1=CC=CC=C1\n")
    folders = {"/public": bundle / "public_data", "/wrong": wrong}
    ours, verdict = json.loads(in_container(runtime_image, folders, "python3", "-c", RDKIT_JUDGE, *folders))
    assert ours == {"invalid": [], "read": 3100, "different": 3100, "largest": pytest.approx(40, abs=11)}
    assert (verdict["invalid"], verdict["read"], verdict["different"]) == (["CC(C)(C)(C)C"], 2, 1)


@in_soak  # the demo runs it in `make test`
def test_the_ridge_runs_without_a_network_and_scores_as_stated(
    runtime_image: str, bundle: Path, baselines: dict[str, tuple[Baseline, Path]], open_tmp_path: Path
) -> None:
    baseline, archive = baselines["morgan-ridge"]
    submission = unpacked(archive, open_tmp_path / "submission")
    in_container(
        runtime_image,
        {
            "/app/program": bundle / "ingestion_program",
            "/app/ingested_program": submission,
            "/app/input_data": bundle / "input_data_test-dev",
        },
        *("python3", "/app/program/ingest.py", "/app/ingested_program", "/app/input_data", "/app/output"),
        writable=open_tmp_path / "predictions",
    )
    scores = in_container(
        runtime_image,
        {
            "/app/program": bundle / "scoring_program",
            "/app/input/ref": bundle / "reference_data_test-dev",
            "/app/input/res": open_tmp_path / "predictions",
        },
        *("python3", "/app/program/score_lsc_pcqm4mv2.py", "/app/input", "/app/output"),
        writable=open_tmp_path / "scores",
    )
    assert baseline.score_range is not None
    assert baseline.score_range[0] <= json.loads(scores)["mae"] <= baseline.score_range[1]
