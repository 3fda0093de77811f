"""`podium run` and what is sent in: files that look like code, folders that are packed, and what is missing on a machine."""

from __future__ import annotations

import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from competitions.catalog.models import Phase
from competitions.submissions.models import Submission
from podium.cli import main
from podium.commands.running import show
from podium.errors import InvalidInput
from podium.models import Kind
from podium.models import Phase as PhaseAnswer
from podium.parts import kind_of, packed
from podium.rehearsal import Verdict
from tests.client.conftest import token_of
from tests.scenario import CODE, Scenario, zip_of
from tests.smoke import with_smoke_run
from workers.projection import Interval, Projection


def phase_of(*kinds: Kind) -> PhaseAnswer:
    now = datetime.now(UTC)
    return PhaseAnswer(
        id=1, slug="p", name="P", visibility="public", is_sealed=False, opens_at=now, closes_at=None, time_limit_s=1,
        accepts_predictions="prediction" in kinds, accepts_code="code" in kinds, accepts_datasets="dataset" in kinds,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "members", "kind"),
    [
        ("code.zip", {"predict.py": "x"}, "code"),
        ("code.zip", {"metadata.yaml": "command: ./run"}, "code"),
        ("results.zip", {"y.csv": "1"}, "prediction"),
        ("y_pred.npz", {"y_pred.npy": "1"}, "prediction"),
        ("data.zip", {"input_data/x.csv": "1", "reference_data/y.csv": "1"}, "dataset"),
    ],
)
def test_of_several_kinds_a_file_is_what_it_looks_like(
    name: str, members: dict[str, str | bytes], kind: Kind, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_bytes(zip_of(members))
    assert kind_of(phase_of("prediction", "code", "dataset"), file) == kind


def test_what_it_looks_like_must_be_taken(tmp_path: Path) -> None:
    file = tmp_path / "code.zip"
    file.write_bytes(zip_of(CODE))
    with pytest.raises(InvalidInput, match="--kind"):
        kind_of(phase_of("prediction", "dataset"), file)
    assert kind_of(phase_of("prediction"), file) == "prediction", "there is no choice"


def test_a_folder_is_packed_with_its_files_at_the_top_and_always_alike(tmp_path: Path) -> None:
    folder = tmp_path / "kit"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "model").mkdir()
    for name in ("predict.py", "model/weights.bin", "__pycache__/predict.pyc"):
        (folder / name).write_text(name)
    first = packed(folder, tmp_path).read_bytes()
    with zipfile.ZipFile(packed(folder, tmp_path)) as archive:
        assert sorted(archive.namelist()) == ["model/weights.bin", "predict.py"]
    assert packed(folder, tmp_path).read_bytes() == first


@pytest.fixture
def signed_in(site: Scenario, url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PODIUM_SITE", url)
    monkeypatch.setenv("PODIUM_TOKEN", token_of(site.member()))
    return site.competition.slug


@pytest.fixture
def with_code(site: Scenario) -> Phase:
    Phase.objects.filter(pk=site.phase.pk).update(accepts_code=True)
    return with_smoke_run(site, Phase.objects.get(pk=site.phase.pk))


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    folder = tmp_path / "kit"
    folder.mkdir()
    for name, content in CODE.items():
        (folder / name).write_text(content)
    return folder


def test_a_smoke_run_is_asked_for(signed_in: str, with_code: Phase, kit: Path, capsys: Any) -> None:
    assert main(["submit", signed_in, str(kit), "--smoke"]) == 0
    made = Submission.objects.get()
    assert (made.kind, made.is_smoke, made.file_name, made.is_charged) == ("code", True, "kit.zip", False)


@pytest.mark.usefixtures("site")
def test_a_phase_without_one_says_so(signed_in: str, kit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", signed_in, str(kit)]) == 2
    assert "names no public mini split" in capsys.readouterr().err


def test_what_is_not_installed_is_named_with_what_installs_it(
    signed_in: str, with_code: Phase, kit: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name == "docker" or name.startswith(("docker.", "workers."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "docker", None)
    assert main(["run", signed_in, str(kit)]) == 2
    shown = capsys.readouterr().err
    assert "docker" in shown
    assert "pip install '.[worker]'" in shown


def test_a_zip_that_the_site_would_refuse_is_refused_in_its_words(
    signed_in: str, with_code: Phase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "code.zip"
    file.write_bytes(zip_of({"predict.py": "x"}))
    assert main(["run", signed_in, str(file)]) == 1
    at_home = capsys.readouterr().out.strip()
    assert at_home.startswith("file_invalid (no_metadata): ")
    assert main(["submit", signed_in, str(file), "--smoke"]) == 2
    assert at_home.partition(": ")[2] in capsys.readouterr().err


def test_a_machine_without_a_gpu_says_what_to_do(
    signed_in: str, with_code: Phase, kit: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Phase.objects.filter(pk=with_code.pk).update(gpus=1)
    assert main(["run", signed_in, str(kit)]) == 2
    assert "podium submit --smoke" in capsys.readouterr().err


def test_an_offer_names_no_worker_and_no_hidden_file(site: Scenario, signed_in: str, with_code: Phase) -> None:
    from competitions.catalog.models import Task
    from podium.client import Client

    worker = site.worker()
    worker.calibration = {
        "loads": 1,
        "cpu": {"digest_s": 1.5},
        "gpus": [{"uuid": "GPU-secret", "model": "m", "fma_s": 1.0}],
    }
    worker.save()
    offer = Client().site.get(f"competitions/{signed_in}/phases/{with_code.slug}/smoke/")
    assert offer["calibrations"][0]["cpu"]["digest_s"] == 1.5
    assert worker.name not in str(offer)
    assert "GPU-secret" not in str(offer)
    hidden = Task.objects.filter(is_public_split=False).values_list("reference_data__file", "input_data__file")
    assert not [digest for row in hidden for digest in row if digest and digest in str(offer)]


@pytest.mark.parametrize(
    ("high", "low", "verdict"),
    [(50.0, 30.0, "within the limit of 60.0 s"), (70.0, 50.0, "perhaps over"), (90.0, 70.0, "; over the limit")],
)
def test_what_the_run_takes_at_the_site_is_said_with_its_interval(
    high: float, low: float, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    projection = Projection(Interval(1.0, 2.0, 4.0), Interval(low, (low + high) / 2, high), 60.0)
    show(Verdict("finished", scores={"mae": 0.5}, meters={"wall_s": 2.0}, projection=projection))
    shown = capsys.readouterr().out
    assert "On the site's hardware: about 2.0 s, between 1.0 s and 4.0 s." in shown
    assert verdict in shown
