"""Broken submissions on the real site and on a participant's machine: the same reason and code."""

from __future__ import annotations

import json
import secrets
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from accounts.models import Scope, token_create
from competitions.catalog.models import Phase, Task
from competitions.catalog.services import rules_publish
from competitions.compute.models import Queue
from competitions.environments.choice import NOTHING_NAMED, NamedEnvironment
from competitions.environments.models import EnvironmentFile
from competitions.resources.models import Resource
from competitions.resources.storage import store_bytes
from competitions.resources.uploads import upload_whole
from competitions.runs.models import Run
from competitions.submissions.models import Submission
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import Kind
from competitions.teams.models import Membership
from competitions.teams.services import register
from core.refusals import InvalidFile
from files.code_check import NOTHING, OwnEnvironment
from podium.client import Client
from podium.errors import InvalidInput
from podium.rehearsal import FILE_INVALID, Verdict, rehearse
from tests.background import run_background
from tests.engines import with_root
from tests.hostile.programs import outputs, resources, truth
from tests.integration.workers.harness import zipped
from tests.integration.workers.mirrors import index_pages, lock_line, serving, wheel_bytes
from tests.integration.workers.site import METADATA, SmallSite, ended
from tests.integration.workers.team_image import save_team_image
from tests.integration.workers.test_worker_and_site import Start, site, start_worker
from tests.soak import SOAKS
from workers.engines.docker.client import DockerEngine

__all__ = ["site", "start_worker"]  # fixtures

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("runtime_image"), with_root]

AT_ONCE: Final = 2
LIMIT_S: Final = 30  # a busy machine starts a container and an interpreter within it
PATIENCE_S: Final = 240.0
SCORER = """
import json, math, pathlib, sys
def refuse(code, message):
    pathlib.Path("/app/output/refusal.json").write_text(json.dumps({"code": code, "message": message}))
    sys.exit(65)
file = pathlib.Path("/app/input/res/answer.txt")
if not file.is_file():
    refuse("missing_file", "There is no answer.txt.")
values = file.read_text().split()
if len(values) != 3:
    refuse("wrong_rows", f"There are {len(values)} values, and 3 were asked for.")
try:
    numbers = [float(value) for value in values]
except ValueError:
    refuse("not_a_number", "A value is not a number.")
if not all(map(math.isfinite, numbers)):
    refuse("not_finite", "A value is not finite.")
pathlib.Path("/app/output/scores.json").write_text(json.dumps({"score": sum(numbers)}))
"""
RIGHT = "open('/app/output/answer.txt', 'w').write('1 2 3')\n"
NETWORK = "import socket\nsocket.create_connection(('192.0.2.1', 80), timeout=5)\n"


def program(source: str) -> bytes:
    return zipped({"main.py": source, "metadata.yaml": METADATA})


def answer(text: str) -> bytes:
    return program(f"open('/app/output/answer.txt', 'w').write({text!r})\n")


CASES: Final[dict[str, bytes]] = {
    "what works": program(RIGHT),
    "an exception": program("raise ValueError('no such model')\n"),
    "an exit code": program("raise SystemExit(3)\n"),
    "a syntax error": program("def broken(:\n"),
    "an import of what is not there": program("import no_such_package\n"),
    "a missing entry point": zipped({"metadata.yaml": METADATA}),
    "an unknown command": zipped({"metadata.yaml": "command: no-such-program\n"}),
    "a metadata file without a command": zipped({"metadata.yaml": "description: mine\n"}),
    "a metadata file that is not YAML": zipped({"metadata.yaml": "command: [\n"}),
    "no metadata file": zipped({"main.py": RIGHT}),
    "all in a folder": zipped({"code/main.py": RIGHT, "code/metadata.yaml": METADATA}),
    "no zip": b"import this\n",
    "a way out of the folder": zipped({"../main.py": RIGHT, "metadata.yaml": METADATA}),
    "an endless wait": program(resources.SLEEP_PAST_LIMIT),
    "too much memory": program(resources.MEM_HOG),
    "too many processes": program(resources.FORK_BOMB),
    "too much output": program(resources.DISK_FILL),
    "too many files": program(resources.INODE_FILL),
    "too many folders": program(resources.MANY_FOLDERS),
    "folders too deep": program(resources.DEEP_DIRS),
    "a killed program": program(truth.FAKE_OOM_EXIT),
    "a program that kills all": program(resources.KILL_EVERYONE),
    "a crash after the output": program(truth.CRASH_AFTER_OUTPUT),
    "no output": program(truth.NO_OUTPUT),
    "another file": program("open('/app/output/other.txt', 'w').write('1 2 3')\n"),
    "too few values": answer("1 2"),
    "NaN": answer("1 2 nan"),
    "words": answer("one two three"),
    "no UTF-8": program(outputs.NON_UTF8_TEXT),
    "a link to a host file": program(outputs.SYMLINK_ABSOLUTE),
    "a hard link": program(outputs.HARDLINK_OUTPUT),
    "a pipe": program(outputs.FIFO_SCORES),
    "a name with a newline": program(outputs.NEWLINE_NAME),
    "use of the network": program(NETWORK),
    "a write to what is read-only": program("open('/app/program/cache', 'w')\n"),
}
ONCE: Final = {  # these end in all the ways there are; `make test` runs them alone
    "what works",
    "an exception",
    "a metadata file without a command",
    "a metadata file that is not YAML",
    "no metadata file",
    "all in a folder",
    "no zip",
    "a way out of the folder",
    "an endless wait",
    "too much memory",
    "too much output",
    "too many files",
    "no output",
    "another file",
    "too few values",
    "NaN",
    "words",
    "no UTF-8",
    "a link to a host file",
    "a pipe",
    "a name with a newline",
    "use of the network",
}


@dataclass
class World:
    """The small site with a smoke run, its captain's token, and this machine's cache."""

    site: SmallSite
    token: str

    def at_home(self, path: Path, own: OwnEnvironment = NOTHING) -> Verdict:
        return rehearse(Client(self.site.url, self.token), "small", path, own=own)

    def send(self, path: Path, chosen_files: NamedEnvironment = NOTHING_NAMED) -> Submission | str:
        """The submission, or the code of the refusal of its file."""
        content, now = path.read_bytes(), datetime.now(UTC)
        upload = upload_whole(
            user=self.site.user, file_name=path.name, size_bytes=len(content), chunks=[content], now=now
        )
        phase = Phase.objects.select_related("competition").get(pk=self.site.phase.pk)
        try:
            return submission_create(
                NewSubmission(
                    user=self.site.user,
                    phase=phase,
                    upload=upload,
                    kind=Kind.CODE,
                    is_smoke=True,
                    environment=chosen_files,
                ),
                now=now,
            )
        except InvalidFile as refusal:
            return refusal.code


@pytest.fixture
def world(site: SmallSite, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    settings.SMOKE_RUNS_PER_DAY = settings.REFUSED_FILES_PER_DAY = settings.SCORING_ERRORS_PER_DAY = 1000
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    now = datetime.now(UTC)
    mini = Task.objects.create(
        competition=site.competition,
        name="Mini split",
        is_public_split=True,
        scoring_program=site.resource(Resource.Kind.SCORING_PROGRAM, {"main.py": SCORER, "metadata.yaml": METADATA}),
        input_data=site.resource(Resource.Kind.INPUT_DATA, {"x.txt": "public input"}),
        reference_data=site.resource(Resource.Kind.REFERENCE_DATA, {"labels.txt": "public labels"}),
    )
    Phase.objects.filter(pk=site.phase.pk).update(smoke_task=mini, time_limit_s=LIMIT_S, smoke_scale=10)
    rules_publish(competition=site.competition, text="Be fair.", now=now)
    register(user=site.user, competition=site.competition, rules_version=1, now=now)
    Membership.objects.get_or_create(
        team=site.team, user=site.user, competition=site.competition, defaults={"joined_at": now}
    )
    _, token = token_create(user=site.user, name="t", scopes=list(Scope), expires_at=now.replace(year=2100))
    return World(site, token)


@pytest.mark.timeout(900)  # seventy containers in `make soak`: on a busy machine they take their time
def test_broken_submissions_get_the_same_verdict_at_home_and_on_the_server(
    world: World, start_worker: Start, tmp_path: Path
) -> None:
    assert set(CASES) > ONCE, "a case was renamed"
    paths = {name: tmp_path / f"{number}.zip" for number, name in enumerate(CASES if SOAKS else sorted(ONCE))}
    for name, path in paths.items():
        path.write_bytes(CASES[name])
    sent = {name: world.send(path) for name, path in paths.items()}
    run_background()
    start_worker("w1", ("--slots", str(AT_ONCE)))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        verdicts = dict(zip(paths, pool.map(world.at_home, paths.values()), strict=True))
    runs = list(Run.objects.filter(submission__in=[reply for reply in sent.values() if isinstance(reply, Submission)]))
    by_submission = {run.submission_id: run for run in ended(runs, PATIENCE_S)}
    on_the_server = {
        name: (FILE_INVALID, reply) if isinstance(reply, str) else _said(by_submission[reply.pk])
        for name, reply in sent.items()
    }
    at_home = {name: (verdict.reason, verdict.code) for name, verdict in verdicts.items()}
    assert at_home == on_the_server
    assert at_home.pop("what works") == ("", "")
    assert len(at_home) >= (30 if SOAKS else 21)
    assert set(at_home.values()) == {at_home[name] for name in ONCE & at_home.keys()}
    assert all(reason not in ("", "infrastructure", "setup_error") for reason, _ in at_home.values()), at_home
    assert verdicts["what works"].scores == by_submission[_number(sent["what works"])].scores == {"score": 6.0}
    assert json.loads(json.dumps(asdict(verdicts["what works"])))["outcome"] == "finished", "as --json prints it"
    assert set(verdicts["what works"].meters) >= {"wall_s", "cpu_s", "memory_peak_bytes", "output_bytes"}


READS_WEIGHTS = (
    "import os, pathlib\nvalues = (pathlib.Path(os.environ['PODIUM_WEIGHTS']) / 'w.txt').read_text()\n"
    "open('/app/output/answer.txt', 'w').write(values)\n"
)
USES_PACKAGE = "import small\nopen('/app/output/answer.txt', 'w').write(f'1 2 {small.VALUE}')\n"


def with_lock(lock: str) -> bytes:
    return zipped({"main.py": USES_PACKAGE, "metadata.yaml": METADATA, "requirements.txt": lock})


@pytest.mark.timeout(600)
def test_what_code_brings_gets_the_same_verdict_at_home_and_on_the_server(
    world: World, start_worker: Start, tmp_path: Path
) -> None:
    Phase.objects.filter(pk=world.site.phase.pk).update(own_weights=True, own_requirements=True)
    now, weights = datetime.now(UTC), tmp_path / "w.txt"
    weights.write_text("2 3 4")
    EnvironmentFile.objects.create(
        team=world.site.team,
        kind=EnvironmentFile.Kind.WEIGHTS,
        name="w",
        version=1,
        file=store_bytes(weights.read_bytes()),
        file_name="w.txt",
        size_bytes=5,
        state=EnvironmentFile.State.READY,
        uploaded_by=world.site.user,
        created_at=now,
        last_used_at=now,
    )
    name, wheel = wheel_bytes("small", "3.0")
    cases = {
        "weights": (program(READS_WEIGHTS), OwnEnvironment(weights), NamedEnvironment(weights="w@1")),
        "no weights": (program(READS_WEIGHTS), OwnEnvironment(), NOTHING_NAMED),
        "an invalid list": (with_lock("small>=3\n"), OwnEnvironment(), NOTHING_NAMED),
        "a package that the mirror lacks": (
            with_lock(lock_line("absent", wheel, "3.0")),
            OwnEnvironment(),
            NOTHING_NAMED,
        ),
        "a package": (with_lock(lock_line("small", wheel, "3.0")), OwnEnvironment(), NOTHING_NAMED),
    }
    paths = {case: tmp_path / f"{number}.zip" for number, case in enumerate(cases)}
    with serving(index_pages({name: wheel})) as address:
        Queue.objects.update(package_mirror=f"{address}/simple/")
        sent = {}
        for case, (content, _, chosen_files) in cases.items():
            paths[case].write_bytes(content)
            sent[case] = _number(world.send(paths[case], chosen_files))
        run_background()
        start_worker("w1", ("--slots", str(AT_ONCE)))
        at_home = {case: world.at_home(paths[case], own) for case, (_, own, _) in cases.items()}
        runs = {
            run.submission_id: run for run in ended(list(Run.objects.filter(submission__in=sent.values())), PATIENCE_S)
        }
    on_the_server = {case: (*_said(runs[pk]), runs[pk].scores) for case, pk in sent.items()}
    assert {case: (verdict.reason, verdict.code, verdict.scores) for case, verdict in at_home.items()} == on_the_server
    assert on_the_server == {
        "weights": ("", "", {"score": 9.0}),
        "no weights": ("program_error", "exit_code", {}),
        "an invalid list": ("file_invalid", "requirements_invalid", {}),
        "a package that the mirror lacks": ("environment_error", "not_on_mirror", {}),
        "a package": ("", "", {"score": 6.0}),
    }
    again = world.at_home(paths["a package"])  # the mirror is gone: nothing asks it
    assert again.scores == {"score": 6.0}, again
    with pytest.raises(InvalidInput, match="cannot be used from this machine") as caught:
        world.at_home(paths["a package that the mirror lacks"])
    assert "--mirror" in str(caught.value)


@pytest.mark.timeout(600)
def test_at_home_another_mirror_may_have_its_files_on_another_host(world: World, tmp_path: Path) -> None:
    Phase.objects.filter(pk=world.site.phase.pk).update(own_requirements=True)
    Queue.objects.update(package_mirror="http://127.0.0.1:9/simple/")
    name, wheel = wheel_bytes("small", "3.0")
    path = tmp_path / "code.zip"
    path.write_bytes(with_lock(lock_line("small", wheel, "3.0")))
    with (
        serving({f"/files/{name}": wheel}) as files,
        serving(index_pages({name: wheel}, elsewhere=f"{files}/files")) as pages,
    ):
        verdict = world.at_home(path, OwnEnvironment(mirror=f"{pages}/simple/"))
    assert verdict.scores == {"score": 6.0}, verdict
    assert any("the site installs from http://127.0.0.1:9/simple/" in remark for remark in verdict.remarks)


@pytest.mark.timeout(600)
def test_at_home_an_archive_s_image_is_the_program_s_alone_and_goes_with_the_run(world: World, tmp_path: Path) -> None:
    Phase.objects.filter(pk=world.site.phase.pk).update(own_images=True)
    engine, archive, path = DockerEngine(), tmp_path / "image.tar", tmp_path / "code.zip"
    image_id = save_team_image(engine.api, archive, tag=f"podium/brought-home:{secrets.token_hex(4)}")
    source = "command -v python3 && exit 1; echo 1 2 3 > /app/output/answer.txt\n"
    path.write_bytes(zipped({"main": source, "metadata.yaml": "command: sh $program/main\n"}))
    verdict = world.at_home(path, OwnEnvironment(image=str(archive)))
    assert verdict.scores == {"score": 6.0}, verdict
    assert engine.find_image(image_id) is None


def _said(run: Run) -> tuple[str, str]:
    return run.reason, run.code


def _number(sent: Submission | str) -> int:
    assert isinstance(sent, Submission)
    return sent.pk
