"""The ingestion program and the starting kit, run as they run in a container, less the container."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from examples.pcqm4mv2_small.bundle import build_bundle
from examples.pcqm4mv2_small.generate import Sizes
from scoring.formats import submissions

FILENAME = "y_pred_pcqm4m-v2_test-dev.npz"
SAVE = "import sys, numpy as np\nnp.savez(sys.argv[2], y_pred=np.zeros(12, np.float32))\n"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_bundle(
        tmp_path_factory.mktemp("built") / "b", now=datetime(2030, 1, 1, tzinfo=UTC), sizes=Sizes(5, 5, 12, 5)
    )


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    folder = tmp_path / "submission"
    folder.mkdir()
    return folder


@pytest.fixture
def output(tmp_path: Path) -> Path:
    folder = tmp_path / "output"
    folder.mkdir()
    return folder


def ingest(bundle: Path, submission: Path, output: Path) -> subprocess.CompletedProcess[str]:
    program = bundle / "ingestion_program" / "ingest.py"
    command: list[str | Path] = [sys.executable, program, submission, bundle / "input_data_test-dev", output]
    # In an image `python3` has NumPy; this machine's own may have none.
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)


def test_the_starting_kit_is_a_valid_submission_and_reports_progress(bundle: Path, output: Path) -> None:
    done = ingest(bundle, bundle / "starting_kit", output)
    assert (done.returncode, done.stderr) == (0, "")
    submissions.check(output / FILENAME, "lsc-pcqm4mv2", "test-dev", rows=12)
    assert json.loads((output / "progress.json").read_text()) == {"done": 12, "total": 12}
    assert sorted(path.name for path in output.iterdir()) == ["progress.json", FILENAME]


def test_a_command_of_its_own_is_used_with_its_placeholders(bundle: Path, submission: Path, output: Path) -> None:
    (submission / "model").mkdir()
    (submission / "model" / "run.py").write_text(
        "import sys, numpy as np\n"
        "rows = open(sys.argv[1]).read().split()[1:]\n"
        "np.savez(sys.argv[2], y_pred=np.full(len(rows), float(sys.argv[3]), np.float32))\n"
    )
    (submission / "metadata.yaml").write_text('command: python3 "$program/model/run.py" $input $output 4.5\n')
    assert ingest(bundle, submission, output).returncode == 0
    with np.load(output / FILENAME) as stored:
        assert stored["y_pred"].tolist() == [4.5] * 12


def test_a_module_beside_the_program_can_be_imported(bundle: Path, submission: Path, output: Path) -> None:
    (submission / "saver.py").write_text(SAVE)
    (submission / "predict.py").write_text("import saver\n")
    assert ingest(bundle, submission, output).returncode == 0
    assert [path.name for path in submission.iterdir() if path.is_dir()] == []


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"my-code/predict.py": SAVE}, "has neither predict.py nor metadata.yaml at its top level; it has: my-code"),
        ({}, "it has: nothing"),
        ({"metadata.yaml": "description: none\n"}, "has no line of the form `command:"),
        ({"metadata.yaml": "command: no-such-program $input\n"}, "cannot be started: No such file or directory"),
        ({"predict.py": "raise SystemExit(3)"}, "ended with exit code 3"),
        ({"predict.py": "import os; os.kill(os.getpid(), 9)"}, "ended by signal 9"),
        ({"predict.py": "print('done')"}, "No predictions were written: the program ended"),
        ({"predict.py": "import sys; open(sys.argv[2], 'w').write('4.5')"}, "is not an .npz file"),
    ],
)
def test_a_submission_that_cannot_work_fails_with_a_sentence(
    bundle: Path, submission: Path, output: Path, files: dict[str, str], message: str
) -> None:
    for name, text in files.items():
        (submission / name).parent.mkdir(exist_ok=True)
        (submission / name).write_text(text)
    done = ingest(bundle, submission, output)
    failed = message.startswith("ended ")
    assert done.returncode == (1 if failed else 65)
    assert message in done.stderr
    refusal = output / "refusal.json"
    assert failed or json.loads(refusal.read_text())["message"] == done.stderr.strip()
    assert refusal.exists() is not failed
    assert "Traceback" not in done.stderr


def test_what_the_program_prints_is_passed_on_and_odd_progress_is_ignored(
    bundle: Path, submission: Path, output: Path
) -> None:
    (submission / "predict.py").write_text(SAVE + "print('progress: 5/12')\nprint('progress: lots/12')\nprint('bye')\n")
    done = ingest(bundle, submission, output)
    assert done.stdout == "progress: 5/12\nprogress: lots/12\nbye\n"
    assert json.loads((output / "progress.json").read_text()) == {"done": 5, "total": 12}
