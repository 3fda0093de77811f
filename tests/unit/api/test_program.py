"""`podium`: one program for participants and organizers, which needs no site where none is asked."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from podium.cli import app, main
from tests.scenario import FILE_NAME, prediction_bytes


@pytest.mark.parametrize(("value", "code"), [(1.0, 0), (float("nan"), 2)], ids=["valid", "NaN"])
def test_podium_score_checks_a_file(tmp_path: Path, value: float, code: int) -> None:
    (tmp_path / FILE_NAME).write_bytes(prediction_bytes(147_037, value))
    assert main(["score", "check", "lsc-pcqm4mv2", str(tmp_path / FILE_NAME), "--split", "test-dev"]) == code


def test_checking_a_file_does_not_load_the_site() -> None:
    script = "import sys; from podium.cli import main; main(['score', 'describe', 'lsc-pcqm4mv2']); print('django' in sys.modules)"
    paths = {"PYTHONPATH": "client:.", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=paths, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_what_runs_a_site_is_no_verb_of_the_client(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrate"]) == 2
    assert "No such command 'migrate'" in capsys.readouterr().err


def test_plain_verbs_load_nothing_of_the_extras() -> None:
    script = (
        "import sys, podium.cli; heavy = {'files', 'workers', 'scoring', 'docker', 'celery', 'numpy', 'PIL'}; "
        "print(sorted(heavy & {name.split('.')[0] for name in sys.modules}))"
    )
    paths = {"PYTHONPATH": "client:.", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=paths, check=True)
    assert done.stdout.strip() == "[]"


def test_the_skill_names_verbs_and_options_that_there_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["skill", "--to", str(tmp_path)]) == 0
    text = (tmp_path / "podium" / "SKILL.md").read_text()
    assert main(["skill"]) == 0
    assert capsys.readouterr().out.endswith(text)
    lines = [line.partition("#")[0] for line in re.findall(r"^podium .*$", text, re.MULTILINE)]
    assert len(lines) > 10
    program = typer.main.get_command(app)
    assert isinstance(program, TyperGroup)
    for verb, *words in (shlex.split(line)[1:] for line in lines):
        known = {option for parameter in program.commands[verb].params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known, verb
