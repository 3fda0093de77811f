"""`podium competition run`: scores the templates' samples here, in a worker's containers."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from podium.cli import main
from tests.integration.workers.mirrors import index_pages, lock_line, serving, wheel_bytes

MODEL = """
import os
from pathlib import Path

import small


class Model:
    def fit(self, rows, labels):
        self.label = (Path(os.environ["PODIUM_WEIGHTS"]) / "label.txt").read_text() + small.VALUE

    def predict(self, rows):
        print("predicted", self.label)
        return [self.label for _ in rows]
"""


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages that were installed are kept there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_code_is_run_and_scored_as_on_the_site(
    runtime_image: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "learn")
    assert main(["competition", "init", folder, "--template", "code"]) == 0
    assert main(["competition", "run", folder, "--image", runtime_image]) == 0
    shown = capsys.readouterr()
    assert "Labels\taccuracy\t0.75" in shown.out
    assert "ingestion: 0." in shown.err
    assert main(["competition", "run", folder, "--phase", "nowhere"]) == 2
    assert "There is no phase 'nowhere'; there are Development" in capsys.readouterr().err


def code_competition(folder: Path, *, environment: str, has_ingestion: bool = True) -> Path:
    """The template for code, by Podium's own rules, with what teams may bring."""
    assert main(["competition", "init", str(folder), "--template", "code"]) == 0
    path = folder / "competition.yaml"
    text = path.read_text().replace(
        "    sample_submission: solution\n", f"    podium: {{accepts: [code], environment: [{environment}]}}\n"
    )
    path.write_text(text if has_ingestion else text.replace("    ingestion_program: ingestion_program\n", ""))
    return folder


def zipped(path: Path, files: dict[str, str]) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return str(path)


def test_code_has_the_weights_and_the_packages_that_it_brings(
    runtime_image: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = code_competition(tmp_path / "learn", environment="weights, requirements")
    name, wheel = wheel_bytes("small", "3.5")
    code = zipped(tmp_path / "code.zip", {"model.py": MODEL, "requirements.txt": lock_line("small", wheel, "3.5")})
    (tmp_path / "label.txt").write_text("label-")
    with serving(index_pages({name: wheel})) as address:
        run = ["competition", "run", str(folder), "--image", runtime_image, "--file", code]
        brought = ["--weights", str(tmp_path / "label.txt"), "--mirror", f"{address}/simple/"]
        assert main([*run, *brought]) == 0, capsys.readouterr().out
    shown = capsys.readouterr()
    assert "predicted label-3.5" in shown.err
    assert "Labels\taccuracy\t0.0" in shown.out


def test_code_runs_in_the_image_that_its_team_brings_and_the_scoring_program_does_not(
    runtime_image: str, archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = code_competition(tmp_path / "learn", environment="image", has_ingestion=False)
    script = "read value < /opt/model.txt; echo model $value; cd /app\n"
    script += "while read row; do echo a; done < input_data/test.txt > output/predictions.txt\n"
    code = zipped(tmp_path / "code.zip", {"metadata.yaml": "command: sh $program/run.sh\n", "run.sh": script})
    run = ["competition", "run", str(folder), "--image", runtime_image, "--file", code, "--own-image", str(archive)]
    assert main(run) == 0, capsys.readouterr().out
    shown = capsys.readouterr()
    assert "model 42.5" in shown.err
    assert "Labels\taccuracy\t" in shown.out


def test_without_an_engine_or_the_rights_for_it_what_to_do_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "prices")
    assert main(["competition", "init", folder]) == 0
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    assert main(["competition", "run", folder]) == 2
    assert "Install Docker and start it" in capsys.readouterr().err
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["competition", "run", folder]) == 2
    assert "run this as root" in capsys.readouterr().err
