"""The program as docs/client.md installs it: in a fresh environment, outside the checkout."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

from competitions.catalog.models import Phase, Task
from competitions.resources.models import Resource
from tests.client.conftest import make_token
from tests.scenario import Scenario, resource, zip_bytes
from tests.services import REPOSITORY
from tests.smoke import with_smoke_run
from tests.soak import SOAKS

CHECKOUT = ("client", "files", "scoring", "workers", "pyproject.toml", "README.md", "LICENSE")
INSTALLS = re.findall(r"^pip install [^#\n]+", (REPOSITORY / "docs" / "client.md").read_text(), re.MULTILINE)
OUTSIDE = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DJANGO_", "PODIUM_"))}
SCORER = "open('/app/output/scores.json', 'w').write('{\"mae\": 0.25}')"
NEEDS_EXTRA = {"score": "score", "bundle": "run", "verify": "run"}  # these hand on their --help, too
NEED_RUN = ("run somewhere .", "competition init mine", "image describe")


CALLS = """
import contextlib, io, json, sys, typer
from podium.cli import app, main

def verbs(group, *words):
    for name, command in group.commands.items():
        yield from verbs(command, *words, name) if hasattr(command, "commands") else [(*words, name)]

calls = json.loads(sys.argv[1]) or [[*verb, "--help"] for verb in verbs(typer.main.get_command(app))]
answers = {}
for verb in calls:
    with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.redirect_stderr(io.StringIO()) as errors:
        try:
            status = main(verb)
        except SystemExit as exit:
            status = exit.code
    answers[" ".join(verb)] = status or 0, shown.getvalue(), errors.getvalue()
print(json.dumps(answers))
"""


class Answer(NamedTuple):
    """A call's exit status and what it wrote."""

    status: int
    out: str
    err: str


class Install:
    """A virtual environment that lines of the page fill one after the other from a copy of the checkout."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "venv" / "bin"
        for name in CHECKOUT:
            if (source := REPOSITORY / name).is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
            else:
                shutil.copy(source, folder)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], env=OUTSIDE, check=True)

    def follow(self, line: str) -> None:
        """Install what the line names, in the versions of all tests.

        uv needs a sixth of pip's time where `make venv` has it; `make soak` takes pip.
        """
        versions = str(REPOSITORY / "constraints.txt")
        quick = {"PIP_CONSTRAINT": versions, "PIP_NO_COMPILE": "1", "PIP_QUIET": "1", "UV_CONSTRAINT": versions}
        pip, action, *what = shlex.split(line)
        assert (pip, action) == ("pip", "install")
        uv, python = Path(sys.executable).with_name("uv"), str(self.bin / "python")
        if uv.exists() and not SOAKS:
            command = [str(uv), "pip", "install", "--quiet", "--python", python, *what]
        else:
            command = [sys.executable, "-m", "pip", "--python", python, "install", *what]
        subprocess.run(command, cwd=self.folder, env=OUTSIDE | quick, check=True, timeout=840)

    def run(self, program: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a program of it in a folder of its own, as somebody who has no checkout."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        own = {"PODIUM_CONFIG": str(home / "sites.json"), "XDG_CACHE_HOME": str(home / "cache")}
        return subprocess.run(
            [self.bin / program, *arguments],
            cwd=home,
            env=OUTSIDE | own | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def answers(self, *calls: str, **variables: str) -> dict[str, Answer]:
        """Status, output and errors of each of these calls of the program, which one process makes in turn."""
        done = self.run("python", "-c", CALLS, json.dumps([call.split() for call in calls]), **variables)
        assert done.returncode == 0, done.stderr
        return {call: Answer(*answer) for call, answer in json.loads(done.stdout).items()}

    def helps(self) -> dict[str, str]:
        """Standard error of each verb that is asked for its help; empty where it gives it."""
        answers = self.answers()
        return {call.removesuffix(" --help"): answer.err if answer.status else "" for call, answer in answers.items()}


@dataclass(frozen=True)
class Installed:
    """The answers of the client alone, and the same environment with both extras."""

    helps: dict[str, str]
    refusals: list[str]
    whole: Install


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The client alone is asked before the extras come to it: two environments cost twice as much."""
    install = Install(tmp_path_factory.mktemp("install"))
    install.follow(INSTALLS[0])
    helps, refusals = install.helps(), [answer.err for answer in install.answers(*NEED_RUN).values()]
    install.follow(INSTALLS[1])
    return Installed(helps, refusals, install)


@pytest.fixture
def whole(installed: Installed) -> Install:
    """The client with both extras."""
    return installed.whole


def test_the_client_alone_has_every_verb_and_says_which_extra_the_others_need(installed: Installed) -> None:
    helps = installed.helps
    assert {"submit", "competition run", "weights upload"} <= set(helps)
    assert {verb for verb, fault in helps.items() if fault} == set(NEEDS_EXTRA)
    for verb, extra in NEEDS_EXTRA.items():
        assert f"pip install . './client[{extra}]'" in helps[verb]
    for verb, refusal in zip(NEED_RUN, installed.refusals, strict=True):
        assert "pip install . './client[run]'" in refusal, verb


def test_with_both_extras_every_verb_works_without_a_site(whole: Install, runtime_image: str) -> None:
    verbs = ("init FOLDER --template FOLDER", "check FOLDER", f"run FOLDER --image {runtime_image}")
    calls = [f"competition {verb}".replace("FOLDER", template) for template in ("table", "code") for verb in verbs]
    calls += ["bundle check table", "score describe lsc-pcqm4mv2", "image describe"]
    calls += [f"{verb} --help" for verb in NEEDS_EXTRA]  # the client alone gives that of all others
    *good, (_, refusal) = whole.answers(*calls, "verify nowhere.json").items()
    for call, answer in good:
        assert answer.status == 0, (call, answer)
    assert refusal.status != 0
    assert "cannot be read" in refusal.err


def test_with_both_extras_every_verb_works_with_a_site(
    whole: Install, site: Scenario, url: str, tmp_path: Path, runtime_image: str
) -> None:
    Phase.objects.filter(pk=site.phase.pk).update(accepts_code=True)
    with_smoke_run(site, Phase.objects.get(pk=site.phase.pk))
    program = zip_bytes({"metadata.yaml": "command: python3 $program/score.py", "score.py": SCORER})
    Task.objects.update(scoring_program=resource(site.organizer, Resource.Kind.SCORING_PROGRAM, program))
    kit = tmp_path / "kit"
    kit.mkdir()
    (kit / "metadata.yaml").write_text("command: python3 $program/predict.py")
    (kit / "predict.py").write_text("open('/app/output/answer.txt', 'w').write('1')")
    signed_in = {"PODIUM_SITE": url, "PODIUM_TOKEN": make_token(site.member())}
    slug = site.competition.slug
    done = whole.run("podium", "list", **signed_in)
    assert done.returncode == 0, done.stderr + done.stdout
    run, *others = (
        f"run {slug} {kit}",
        f"show {slug}",
        f"download {slug}",
        f"submit {slug} {kit}",
        f"leaderboard {slug}",
    )
    answers = whole.answers(run, *others, **signed_in)
    for verb in answers:
        assert answers[verb].status == 0, (verb, answers[verb])
    assert "mae\t0.25" in answers[run].out
