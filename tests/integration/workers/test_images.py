"""The runtime image: what is in it, and that an unchanged one costs nothing."""

from __future__ import annotations

import subprocess

import pytest

from workers import selftest
from workers.cli import main
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


def test_the_self_test_prints_which_limits_hold(
    runtime_image: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two programs of it, and one that gets through; a worker that registers runs them all."""
    network = next(probe for probe in selftest.PROBES if probe.name == "no network")
    gravity = selftest.Probe("gravity", "print('nothing')", lambda seen: False)
    monkeypatch.setattr(selftest, "PROBES", (network,))
    assert main(["self-test", "--image", runtime_image]) == 0
    printed = capsys.readouterr().out
    assert "FAILS" not in printed
    assert "1 of 1 limits hold." in printed
    monkeypatch.setattr(selftest, "PROBES", (network, gravity))
    assert main(["self-test", "--image", runtime_image]) == 1
    assert "1 of 2 limits hold. DO NOT run submissions here." in capsys.readouterr().out
