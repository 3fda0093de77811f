"""The bundle folder and its baselines."""

from __future__ import annotations

import csv
import gzip
import json
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import yaml

from examples.baselines import Baseline
from examples.pcqm4mv2_small.baseline_submissions import build_baselines
from examples.pcqm4mv2_small.bundle import build_bundle
from examples.pcqm4mv2_small.generate import Sizes
from scoring import reference
from scoring.formats import submissions
from scoring.program import main as score

NOW = datetime(2030, 5, 1, 12, 30, tzinfo=UTC)
SIZES = Sizes(train=200, valid=20, test_dev=30, test_challenge=40)
ROWS = {"test-dev": 30, "test-challenge": 40}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_bundle(tmp_path_factory.mktemp("built") / "bundle", now=NOW, sizes=SIZES)


@pytest.fixture(scope="module")
def baselines(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Baseline]]:
    folder = tmp_path_factory.mktemp("baselines")
    return folder, build_baselines(bundle, folder)


def column(path: Path, name: str) -> list[str]:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [row[name] for row in csv.DictReader(content.decode().splitlines())]


def test_every_path_in_the_yaml_exists(bundle: Path) -> None:
    spec = yaml.safe_load((bundle / "competition.yaml").read_text())
    named = [spec["image"], spec["terms"], *(page["file"] for page in spec["pages"])]
    for task in spec["tasks"]:
        named += [task[key] for key in ("ingestion_program", "scoring_program", "input_data", "reference_data")]
    named += [phase[key] for phase in spec["phases"] for key in ("public_data", "starting_kit")]
    assert [name for name in named if not (bundle / name).exists()] == []


def test_both_phases_are_open_now_one_public_one_sealed(bundle: Path) -> None:
    phases = yaml.safe_load((bundle / "competition.yaml").read_text())["phases"]
    assert [(phase["name"], phase["podium"]["visibility"]) for phase in phases] == [
        ("test-dev", "public"),
        ("test-challenge", "sealed"),
    ]
    for phase in phases:
        assert datetime.fromisoformat(phase["start"]) < NOW < datetime.fromisoformat(phase["end"]) - timedelta(days=30)


def test_test_splits_show_their_molecules_and_never_their_targets(bundle: Path) -> None:
    hidden = {split: reference.read(bundle / f"reference_data_{split}").labels(split)["y_true"] for split in ROWS}
    published = [
        path for path in bundle.rglob("*") if path.is_file() and not path.parent.name.startswith("reference_data")
    ]
    texts = {
        path: gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text(errors="replace")
        for path in published
    }
    for split, gaps in hidden.items():
        assert len(gaps) == ROWS[split]
        leaks = [path for path, text in texts.items() for gap in gaps if f"{gap:.6f}" in text]
        assert leaks == []
        assert column(bundle / "public_data" / f"{split}.smiles.csv", "smiles") == column(
            bundle / f"input_data_{split}" / "smiles.csv", "smiles"
        )


def test_the_leak_check_would_find_a_leak(bundle: Path) -> None:
    gap = column(bundle / "public_data" / "train.csv.gz", "homolumogap")[0]
    assert gap in gzip.decompress((bundle / "public_data" / "train.csv.gz").read_bytes()).decode()
    assert len(gap.partition(".")[2]) == 6


def test_train_and_valid_have_finite_targets_in_ev(bundle: Path) -> None:
    for name, size in (("train", 200), ("valid", 20)):
        gaps = np.array([float(gap) for gap in column(bundle / "public_data" / f"{name}.csv.gz", "homolumogap")])
        assert gaps.shape == (size,)
        assert np.isfinite(gaps).all()
        assert 0 < gaps.min() < gaps.max() < 20


def test_pages_state_the_true_sizes_and_leave_no_placeholder(bundle: Path) -> None:
    for page in (bundle / "pages").glob("*.md"):
        assert "{" not in page.read_text(), page.name
    evaluation = (bundle / "pages" / "evaluation.md").read_text()
    assert "| test-dev | `y_pred_pcqm4m-v2_test-dev.npz` | 30 |" in evaluation
    assert "| wall clock | 45 s | 4 hours |" in evaluation


def test_the_same_moment_and_seed_give_the_same_files(bundle: Path, tmp_path: Path) -> None:
    again = build_bundle(tmp_path / "again", now=NOW, sizes=SIZES)
    files = {path.relative_to(bundle): path.read_bytes() for path in bundle.rglob("*") if path.is_file()}
    assert {path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()} == files


def test_a_clock_without_a_time_zone_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="time zone"):
        build_bundle(tmp_path / "new", now=NOW.replace(tzinfo=None), sizes=SIZES)
    assert not (tmp_path / "new").exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ValueError, match="not empty"):
        build_bundle(tmp_path, now=NOW, sizes=SIZES)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("split", ROWS)
def test_the_constant_baselines_pass_the_official_check_and_score_as_stated(
    bundle: Path, baselines: tuple[Path, list[Baseline]], tmp_path: Path, split: str
) -> None:
    folder, stated = baselines
    baseline = next(candidate for candidate in stated if candidate.name == f"constant-{split}")
    submissions.check(folder / baseline.filename, "lsc-pcqm4mv2", split, rows=ROWS[split])
    (tmp_path / "ref").symlink_to(bundle / f"reference_data_{split}")
    (tmp_path / "res").mkdir()
    (tmp_path / "res" / baseline.filename).write_bytes((folder / baseline.filename).read_bytes())
    assert score([str(tmp_path), str(tmp_path / "out")]) == 0
    assert baseline.score_range is not None
    low, high = baseline.score_range
    assert low <= json.loads((tmp_path / "out" / "scores.json").read_text())["mae"] <= high


def test_code_baselines_have_their_program_at_the_top_and_the_ridge_its_data(
    bundle: Path, baselines: tuple[Path, list[Baseline]]
) -> None:
    folder, _ = baselines
    with zipfile.ZipFile(folder / "morgan_ridge.zip") as archive:
        assert archive.namelist() == ["predict.py", "train.csv.gz"]
        assert archive.read("train.csv.gz") == (bundle / "public_data" / "train.csv.gz").read_bytes()
    with zipfile.ZipFile(folder / "overrun.zip") as archive:
        assert archive.namelist() == ["predict.py"]


def test_expected_json_lists_every_baseline_with_its_end(baselines: tuple[Path, list[Baseline]]) -> None:
    folder, stated = baselines
    written = json.loads((folder / "expected.json").read_text())
    assert [(row["name"], row["phase"], row["kind"], row["outcome"], row["reason"]) for row in written] == [
        ("constant-test-dev", "test-dev", "prediction", "finished", None),
        ("constant-test-challenge", "test-challenge", "prediction", "finished", None),
        ("morgan-ridge", "test-dev", "code", "finished", None),
        ("overrun", "test-dev", "code", "failed", "time_limit"),
    ]
    assert len(written) == len(stated)
