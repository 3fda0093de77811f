"""The runtime image: what is in it, and that an unchanged one costs nothing."""

from __future__ import annotations

import subprocess
import sys

from workers.images.engine import REPOSITORY, image_label, run
from workers.images.runtime_image import DIGEST_LABEL, ensure_runtime

CHECK = """
import os, numpy, pandas, scipy, sklearn, rdkit, scoring, shutil, yaml
from rdkit import Chem
assert Chem.MolFromSmiles('c1ccccc1O') is not None
assert os.getuid() == 10001
assert shutil.which('python') and shutil.which('python3') and not shutil.which('pip')
print('ok', numpy.__version__)
"""


def test_the_runtime_image_has_python_the_packages_and_scoring_for_an_ordinary_user(runtime_image: str) -> None:
    output = run(
        "docker",
        "run",
        "--rm",
        "--network",
        "none",
        "--read-only",
        "--cap-drop",
        "ALL",
        runtime_image,
        "python",
        "-c",
        CHECK,
    )
    assert output.startswith("ok")


def test_an_unchanged_image_is_not_built_again(runtime_image: str) -> None:
    before = image_label(runtime_image, DIGEST_LABEL)
    assert ensure_runtime(runtime_image) is False
    assert image_label(runtime_image, DIGEST_LABEL) == before
    assert before is not None


def test_the_engine_script_has_nothing_to_do_where_an_engine_answers(docker_engine: None) -> None:
    done = subprocess.run(
        ["bash", str(REPOSITORY / "workers" / "engine.sh")], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_the_self_test_finds_that_every_limit_holds_here(runtime_image: str) -> None:
    argv = [sys.executable, "-m", "workers.cli", "self-test", "--image", runtime_image]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAILS" not in done.stdout
    assert "15 of 15 limits hold." in done.stdout
