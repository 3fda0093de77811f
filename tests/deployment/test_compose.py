"""The production stack: built from its own files, started by docker-compose, scores a submission."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.message import Message
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
import yaml

from examples.pcqm4mv2_small.baseline_submissions import build_baselines
from examples.pcqm4mv2_small.bundle import build_bundle
from examples.pcqm4mv2_small.generate import Sizes
from tests.services import REPOSITORY, free_port
from tests.soak import SOAKS, mostly_in_soak

pytestmark = pytest.mark.timeout(1200)  # the first build fetches packages for three images
# One for each checkout: two on one machine do not meet, and a killed run leaves nothing that the next does not take down.
PROJECT = f"podium-test-{hashlib.sha256(str(REPOSITORY).encode()).hexdigest()[:6]}"
SCORED_WITHIN_S = 120
SEED = """
import json, sys
from datetime import datetime, timezone
from pathlib import Path
import django
django.setup()
from competitions.bundles.importing.importer import bundle_import
from competitions.compute.models import Queue
from config.demo.accounts import join, person_create
now = datetime.now(timezone.utc)
owner, _ = person_create(role="organizer", username="organizer", now=now, is_staff=True)
queue = Queue.objects.get(name="default")
competition = bundle_import(source=Path("/var/lib/podium/tmp/bundle"), owner=owner, queue=queue, now=now).competition
competition.is_published = True
competition.save()
robot, account = person_create(role="robot", username="robot", now=now, is_robot=True)
join(user=robot, competition=competition, team_name="Robots", now=now)
json.dump({"token": account.token, "phase": competition.phases.get(slug="test-dev").pk}, sys.stdout)
"""


# What `prepare` finds on a new host, but for the tables.
EMPTY = "python manage.py flush --no-input && rm -r /var/lib/podium/objects"
ADMINISTRATORS = "from accounts.models import User; print(*User.objects.filter(is_superuser=True))"


def compose_command() -> list[str]:
    """Compose version 2 where it is installed, else version 1."""
    plugin = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    return ["docker", "compose"] if plugin.returncode == 0 else ["docker-compose"]


@dataclass(frozen=True)
class Stack:
    """One Compose project with secrets and folders of its own."""

    environment: dict[str, str]
    url: str
    secrets: Path

    def get(self, path: str, **headers: str) -> requests.Response:
        """As the proxy in front of the stack asks, which has taken the request over TLS."""
        return requests.get(f"{self.url}{path}", headers=self.proxied(**headers), timeout=60, allow_redirects=False)

    def proxied(self, **headers: str) -> dict[str, str]:
        host = urlsplit(self.environment["PODIUM_SITE_URL"]).netloc
        return {"Host": host, "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1", **headers}

    def compose(self, *arguments: str, given: bytes | None = None) -> str:
        done = subprocess.run(
            [*compose_command(), "--project-name", PROJECT, *arguments],
            cwd=REPOSITORY,
            env=self.environment,
            input=given,
            stdin=None if given is not None else subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, (done.stdout + done.stderr).decode(errors="replace")[-6000:]
        return done.stdout.decode()

    def up(self, *services: str) -> None:
        """Start these services or all, and wait for the site; a failure shows the containers' logs."""
        try:
            self.compose("up", "--detach", *services)
        except AssertionError as failure:
            failure.add_note(self.compose("logs", "--no-color", "--tail", "40"))
            raise
        self.wait_until_ready(reconciler=not services)

    def containers(self) -> list[dict[str, Any]]:
        label = f"label=com.docker.compose.project={PROJECT}"
        listed = subprocess.run(
            ["docker", "ps", "--all", "--quiet", "--filter", label], capture_output=True, text=True, check=True
        )
        names = listed.stdout.split()
        shown = subprocess.run(["docker", "inspect", *names], capture_output=True, text=True, check=True).stdout
        containers: list[dict[str, Any]] = json.loads(shown)
        return containers

    def wait_until_ready(self, *, reconciler: bool) -> None:
        """The site answers; `reconciler`: it was started, too, and has done its first round."""
        give_up = time.monotonic() + 300
        while time.monotonic() < give_up:
            with contextlib.suppress(requests.ConnectionError, requests.Timeout):
                ready = requests.get(f"{self.url}/readyz", timeout=30)
                if ready.ok and not (reconciler and "reconciler:" in str(ready.json()["degraded"])):
                    return
            time.sleep(0.3)
        pytest.fail(f"the site does not answer:\n{self.compose('logs', '--tail', '50')}")


def described(tmp: Path) -> Stack:
    """With the settings of the README's lines, and folders and a port of this test's own."""
    port = free_port()
    readme = (REPOSITORY / "README.md").read_text()
    exported = re.search(r"^export (.+?)(?: +#.*)?$", readme, re.MULTILINE)
    assert exported is not None
    environment = (
        os.environ
        | dict(pair.split("=", 1) for pair in exported[1].split())
        | {
            "PODIUM_SECRETS": str(tmp / "secrets"),
            "PODIUM_WORKER_FOLDER": str(tmp / "worker"),
            "PODIUM_PORT": str(port),
            "PODIUM_BACKGROUND_PROCESSES": "1",  # none is left where one was killed
        }
    )
    return Stack(environment, f"http://127.0.0.1:{port}", tmp / "secrets")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, docker_engine: None, runtime_image: str) -> Iterator[Stack]:
    tmp = tmp_path_factory.mktemp("compose")
    stack = described(tmp)
    for script in ("scripts/secrets.sh", "scripts/production.sh"):
        subprocess.run([REPOSITORY / script], env=stack.environment, check=True, capture_output=True)
    built = subprocess.run(["scripts/stack.sh"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert built.returncode == 0, (built.stdout + built.stderr)[
        -6000:
    ]  # `make test` built it before, in the background
    down = ("--profile", "tls", "down", "--volumes", "--timeout", "5")
    stack.compose(*down)  # what a run left that was killed: its database knows another password
    try:
        stack.up()
        yield stack
    finally:
        stack.compose(*down)
        subprocess.run(["umount", str(tmp / "worker")], check=False, capture_output=True)


@pytest.fixture(scope="module")
def competition(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """A competition inside the stack; a service account's token, and its baselines outside."""
    tmp = tmp_path_factory.mktemp("competition")
    bundle = build_bundle(tmp / "bundle", now=datetime.now(UTC), sizes=Sizes(300, 10, 20, 20))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(bundle, "bundle")
    stack.compose("exec", "-T", "web", "tar", "-x", "-C", "/var/lib/podium/tmp", given=packed.getvalue())
    build_baselines(bundle, tmp / "baselines")
    contest: dict[str, Any] = json.loads(stack.compose("exec", "-T", "web", "python", "-", given=SEED.encode()))
    return contest, tmp / "baselines"


def submit(stack: Stack, contest: dict[str, Any], kind: str, file: Path) -> int:
    with file.open("rb") as content:
        answer = requests.post(
            f"{stack.url}/api/v1/submissions/",
            headers=stack.proxied(Authorization=f"Bearer {contest['token']}"),
            data={"phase": contest["phase"], "kind": kind},
            files={"file": (file.name, content)},
            timeout=30,
        )
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


def outcome(stack: Stack, contest: dict[str, Any], submission: int) -> dict[str, Any]:
    """The submission as the API shows it once it has ended."""
    give_up = time.monotonic() + SCORED_WITHIN_S
    while True:
        answer = stack.get(f"/api/v1/submissions/{submission}/", Authorization=f"Bearer {contest['token']}")
        shown: dict[str, Any] = answer.json()
        if shown["status"] in ("finished", "failed", "cancelled") or time.monotonic() > give_up:
            return shown
        time.sleep(0.5)


def test_the_stack_is_described_without_a_password_and_open_on_the_loopback_alone(tmp_path: Path) -> None:
    described_stack = described(tmp_path)
    config = yaml.safe_load(described_stack.compose("config"))
    usual = {name: service for name, service in config["services"].items() if not service.get("profiles")}
    assert set(usual) == {
        "prepare",
        "front",
        "web",
        "reconciler",
        "background",
        "background-long",
        "worker",
        "postgres",
        "redis",
    }
    published = {name: service["ports"] for name, service in usual.items() if service.get("ports")}
    assert list(published) == ["front"]
    assert "127.0.0.1" in str(published["front"])
    set_here = [
        f"{name}.{key}" for name, service in config["services"].items() for key in service.get("environment", {})
    ]
    assert [key for key in set_here if ("PASSWORD" in key or "SECRET" in key) and not key.endswith("_FILE")] == []


def test_every_setting_of_the_docs_reaches_the_containers(tmp_path: Path) -> None:
    documented = set(
        re.findall(r"^\| (`PODIUM_.*?`) \|", (REPOSITORY / "docs/administrators.md").read_text(), re.MULTILINE)
    )
    names = {name for cell in documented for name in re.findall("PODIUM_[A-Z_]+", cell)}
    by_the_image = {"PODIUM_DATA_DIR", "PODIUM_STATIC_DIR"}
    by_compose = {"PODIUM_SITE_IMAGE", "PODIUM_WORKER_IMAGE", "PODIUM_POSTGRES_IMAGE"}
    stack = described(tmp_path)
    stack.environment.update(dict.fromkeys(names, "https://a.setting"))
    services = yaml.safe_load(stack.compose("config"))["services"]
    for name in ("prepare", "web", "reconciler", "background", "background-long"):
        given = {setting.removesuffix("_FILE") for setting, value in services[name]["environment"].items() if value}
        assert names - given == by_the_image | by_compose, name


def test_without_secret_files_nothing_starts(tmp_path: Path, docker_engine: None) -> None:
    described_stack = described(tmp_path)
    with pytest.raises(AssertionError, match=r"undefined secret file|postgres_password"):
        described_stack.compose("up", "--detach", "--no-build", "postgres")


def test_secrets_are_made_once_and_kept(tmp_path: Path) -> None:
    environment = os.environ | {"PODIUM_SECRETS": str(tmp_path / "secrets")}
    values = []
    for _ in range(2):
        subprocess.run([REPOSITORY / "scripts" / "secrets.sh"], env=environment, check=True, capture_output=True)
        values.append({path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()})
    assert values[0] == values[1]
    assert {name for name, value in values[0].items() if not value} == {
        "github_secret",
        "orcid_secret",
        "oidc_secret",
        "discourse_secret",
    }
    assert all(len(value) >= 32 and value == value.strip() for value in values[0].values() if value)
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700


def test_the_site_answers_and_serves_its_static_files(stack: Stack) -> None:
    assert requests.get(f"{stack.url}/healthz", timeout=60).json() == {"status": "ok"}
    ready = requests.get(f"{stack.url}/readyz", timeout=60).json()
    assert (ready["status"], ready["faults"]) == ("degraded", [])
    assert [each.partition(":")[0] for each in ready["degraded"]] == ["mail"], (
        "the stack's own default has no mail server"
    )
    assert stack.get("/accounts/login/").status_code == 200
    assert "Ten minutes each" in stack.get("/docs/").text


def test_no_container_shows_a_secret_in_its_environment_or_command(stack: Stack) -> None:
    passwords = [password for path in stack.secrets.iterdir() if (password := path.read_text())]
    shown = json.dumps(
        [
            [container["Config"]["Env"], container["Config"]["Cmd"], container["Args"]]
            for container in stack.containers()
        ]
    )
    assert [password[:4] for password in passwords if password in shown] == []


def test_what_must_outlive_a_container_is_on_volumes(stack: Stack) -> None:
    on_volumes = {
        (service_name(container), mount["Name"].removeprefix(f"{PROJECT}_"), mount["Destination"])
        for container in stack.containers()
        for mount in container["Mounts"]
        if mount["Type"] == "volume"
    }
    assert {("postgres", "database", "/var/lib/postgresql/data"), ("web", "data", "/var/lib/podium")} <= on_volumes


def test_only_the_worker_runs_as_root(stack: Stack) -> None:
    users = {
        container["Config"]["Labels"]["com.docker.compose.service"]: container["Config"]["User"]
        for container in stack.containers()
    }
    assert {name for name, user in users.items() if not user} == {"worker"}


def test_code_is_run_and_scored_by_the_worker_of_the_stack(
    stack: Stack, competition: tuple[dict[str, Any], Path]
) -> None:
    contest, baselines = competition
    code = baselines / "morgan_ridge.zip"
    submission = submit(stack, contest, "code", code)
    shown = outcome(stack, contest, submission)
    assert shown["status"] == "finished", f"{shown}\n{stack.compose('logs', '--tail', '40', 'worker', 'web')}"
    assert 0.1 < float(shown["scores"]["mae"]) < 2.0
    bearer = f"Bearer {contest['token']}"
    part = stack.get(f"/api/v1/submissions/{submission}/download/", Authorization=bearer, Range="bytes=5-14")
    assert (part.status_code, part.content) == (206, code.read_bytes()[5:15]), "the front serves the file"


def test_predictions_are_scored_although_background_processes_were_killed_while_they_waited(
    stack: Stack, competition: tuple[dict[str, Any], Path]
) -> None:
    """There is one of each kind, so nobody else can have done its work."""
    contest, baselines = competition
    waiting = [container for container in stack.containers() if service_name(container).startswith("background")]
    assert {service_name(container) for container in waiting} == {"background", "background-long"}
    for container in waiting:
        os.kill(container["State"]["Pid"], signal.SIGKILL)
    shown = outcome(stack, contest, submit(stack, contest, "prediction", baselines / "y_pred_pcqm4m-v2_test-dev.npz"))
    assert shown["status"] == "finished", f"{shown}\n{stack.compose('logs', '--tail', '40', 'background', 'web')}"
    assert 0.1 < float(shown["scores"]["mae"]) < 2.0


def service_name(container: dict[str, Any]) -> str:
    return str(container["Config"]["Labels"]["com.docker.compose.service"])


def test_nobody_reaches_stored_files_past_the_site(stack: Stack) -> None:
    assert stack.get("/_objects/").status_code == 404


def test_the_front_says_what_to_do_about_a_body_without_a_length_that_is_too_large(stack: Stack) -> None:
    def body() -> Iterator[bytes]:
        yield from (bytes(1_000_000) for _ in range(11))

    page = requests.post(f"{stack.url}/accounts/login/", data=body(), headers=stack.proxied(), timeout=60)
    assert (page.status_code, page.headers["Content-Type"]) == (413, "text/html; charset=utf-8")
    assert "send files as uploads" in page.text
    for path in re.findall(r'href="(/_front/[^"]+)"', page.text):
        assert stack.get(path).status_code == 200, path
    answer = requests.post(f"{stack.url}/api/api-token-auth/", data=body(), headers=stack.proxied(), timeout=60)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_who_sends_an_upload_is_asked_through_the_front_before_its_end(stack: Stack) -> None:
    for path in ("/api/v1/submissions/", "/api/worker/v1/claim"):
        answer = requests.post(f"{stack.url}{path}", data=bytes(30_000_000), headers=stack.proxied(), timeout=60)
        assert answer.status_code == 401, path


@pytest.mark.parametrize(
    "path",
    mostly_in_soak(
        ["/accounts/login/", "/api/v1/submissions/", "/api/worker/v1/claim"], always=["/api/v1/submissions/"]
    ),
)
def test_slow_bodies_of_many_silence_nobody_through_the_front(stack: Stack, path: str) -> None:
    address = urlsplit(stack.url)
    with ExitStack() as opened:
        clients = []
        for number in range(200):  # three times as many as there are threads, each from an address of its own
            client = opened.enter_context(socket.create_connection((address.hostname or "", address.port or 0), 10))
            fields = stack.proxied(
                **{
                    "X-Forwarded-For": f"192.0.2.{number}",
                    "Content-Length": "9000000",
                    "Content-Type": "multipart/form-data; boundary=x",
                    "Cookie": f"csrftoken={32 * 'a'}",
                }
            )
            head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
            client.sendall(
                f"POST {path} HTTP/1.1\r\n{head}\r\n--x\r\n".encode() + bytes(400_000 if number % 2 else 1200)
            )
            clients.append(client)
        for _ in range(5):
            for client in clients:
                with suppress(OSError):
                    client.send(b"a" * 1200)
            began = time.monotonic()
            assert [stack.get(each).status_code for each in ("/healthz", "/readyz", "/accounts/login/")] == [200] * 3
            assert time.monotonic() - began < 10
            time.sleep(1)


def test_the_sources_of_the_site_image_are_those_it_needs_and_no_more(stack: Stack) -> None:
    listed = stack.compose("exec", "-T", "web", "ls", "-A", "/srv/podium").split()
    assert sorted(listed) == [
        "LICENSE",
        "client",
        "competitions",
        "docker",
        "files",
        "manage.py",
        "platform",
        "scoring",
        "static",
        "var",
        "workers",
    ]


def test_the_profile_tls_answers_over_https_and_replaces_what_clients_say_of_themselves(stack: Stack) -> None:
    ports = {"PODIUM_HTTP_PORT": str(free_port()), "PODIUM_HTTPS_PORT": str(free_port())}
    with_tls = replace(stack, environment=stack.environment | ports | {"PODIUM_TLS_OPTIONS": "local_certs"})
    with_tls.compose("--profile", "tls", "up", "--detach", "--no-recreate", "tls")
    host = urlsplit(stack.environment["PODIUM_SITE_URL"]).netloc
    status, headers = over_tls(host, int(ports["PODIUM_HTTPS_PORT"]), "/accounts/login/")
    assert status == 200
    assert headers["Strict-Transport-Security"] == "max-age=31536000"
    plain = requests.get(
        f"http://127.0.0.1:{ports['PODIUM_HTTP_PORT']}/", headers={"Host": host}, timeout=60, allow_redirects=False
    )
    assert (plain.status_code, plain.headers["Location"]) == (308, f"https://{host}/")
    assert "203.0.113.9" not in stack.compose("logs", "--no-color", "--tail", "20", "web")


def over_tls(host: str, port: int, path: str) -> tuple[int, Message]:
    """Request a page of this host from this machine, trusting the stack's own certificate authority.

    A new Caddy makes the certificate first.
    """
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    give_up = time.monotonic() + 120
    while True:
        connection = HTTPSConnection(host, timeout=60)
        try:
            raw = socket.create_connection(("127.0.0.1", port), timeout=60)
            connection.sock = context.wrap_socket(raw, server_hostname=host)
            connection.request("GET", path, headers={"X-Forwarded-For": "203.0.113.9"})
            answer = connection.getresponse()
            answer.read()
            return answer.status, answer.headers
        except (ssl.SSLError, ConnectionError):
            if time.monotonic() > give_up:
                raise
            time.sleep(0.3)
        finally:
            connection.close()


def recipes() -> list[str]:
    """The lines of the docs' recipes, without comments."""
    docs = (REPOSITORY / "docs/administrators.md").read_text()
    block = docs.partition("## Recipes")[2].partition("```sh\n")[2].partition("```")[0]
    return [line for line in block.splitlines() if not line.startswith("#")]


def recipe(stack: Stack, line: str, folder: Path) -> str:
    """Run a line of the docs on this stack, in a folder for the files that it reads and writes."""
    options = [
        "--project-name",
        PROJECT,
        "--project-directory",
        REPOSITORY,
        "--file",
        REPOSITORY / "docker-compose.yml",
    ]
    compose = " ".join(map(str, [*compose_command(), *options]))
    done = subprocess.run(
        ["bash", "-c", line.replace("docker compose", compose)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env=stack.environment | {"ADMIN_PASSWORD": "quite a long secret 11"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_recipes_of_the_docs_work_line_by_line_and_what_was_submitted_outlives_the_containers(
    stack: Stack, competition: tuple[dict[str, Any], Path], tmp_path: Path
) -> None:
    """The site is emptied, and prepared as a new one is.

    In `make soak`, it comes up with the old volumes before.
    """
    contest, baselines = competition
    submission = submit(stack, contest, "prediction", baselines / "y_pred_pcqm4m-v2_test-dev.npz")
    before = outcome(stack, contest, submission)
    *lines, restore = recipes()
    outputs = {line: recipe(stack, line, tmp_path) for line in lines}
    assert any("rows" in answer for answer in outputs.values())
    assert (tmp_path / "podium-backup.tar").stat().st_mode & 0o777 == 0o600
    assert len(stack.compose("ps", "--quiet", "web").split()) == 2
    assert {stack.get("/accounts/login/").status_code for _ in range(8)} == {200}
    if SOAKS:
        stack.compose("down", "--timeout", "10")
        stack.up("front")
    else:
        stack.compose("stop", "--timeout", "5", "reconciler", "background", "background-long", "worker")
    still_there = outcome(stack, contest, submission)
    stack.compose("exec", "-T", "web", "sh", "-c", EMPTY)
    stack.compose("run", "--rm", "-T", "prepare")
    bearer = f"Bearer {contest['token']}"
    assert stack.get(f"/api/v1/submissions/{submission}/", Authorization=bearer).status_code == 401, "nobody is there"
    assert "compared and equal" in recipe(stack, restore, tmp_path)
    restored = outcome(stack, contest, submission)
    assert [(shown["status"], shown["scores"]) for shown in (still_there, restored)] == 2 * [
        (before["status"], before["scores"])
    ]
    assert (
        stack.compose("exec", "-T", "web", "python", "manage.py", "shell", "-c", ADMINISTRATORS).strip().endswith("ada")
    )
