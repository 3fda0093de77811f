"""A site that goes away in the middle: calls are repeated, nothing is done twice."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from competitions.catalog import models as catalog
from competitions.submissions.models import Submission
from podium import Client, Competition, InvalidInput, PodiumError, SiteUnreachable, StillWaiting
from podium.cli import main
from podium.files import file_digest
from podium.site import Site, checked_url
from podium.uploads import PART_BYTES
from tests.bundle_files import FILES, second, write
from tests.client.conftest import Proxy, make_token
from tests.scenario import Scenario, zip_bytes
from tests.soak import in_soak


@pytest.fixture
def client(site: Scenario, proxy: Proxy) -> Client:
    client = Client(proxy.url, make_token(site.member()), patience_s=20)
    client.site._sleep = lambda seconds: None
    return client


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    path = tmp_path / "answer.zip"
    path.write_bytes(zip_bytes({"answer.txt": "1"}))
    return path


def test_a_submission_whose_answer_was_lost_is_made_once(
    site: Scenario, client: Client, proxy: Proxy, answer: Path
) -> None:
    times = itertools.count()
    proxy.fault = lambda method, path: "lost" if path.endswith("/submissions/") and next(times) < 2 else None
    submission = client.submit(site.competition.slug, answer)
    assert list(Submission.objects.values_list("pk", flat=True)) == [submission.id]
    assert proxy.calls.count(("POST", "/api/v1/submissions/")) == 3


def test_an_upload_goes_on_where_the_connection_broke(
    site: Scenario, client: Client, proxy: Proxy, tmp_path: Path
) -> None:
    path = tmp_path / "large.zip"
    path.write_bytes(zip_bytes({"answer.txt": "1", "padding.bin": b"\0" * 3_000_000}) + b"")
    times = itertools.count()
    proxy.fault = lambda method, path: ["lost", "away", None][min(next(times), 2)] if method == "PATCH" else None
    submission = client.submit(site.competition.slug, path)
    assert submission.status in ("checking", "queued")
    assert path.stat().st_size < PART_BYTES
    assert [method for method, _ in proxy.calls].count("PATCH") == 3


def send_until_the_second_part(proxy: Proxy, environment: dict[str, str], *verb: str) -> subprocess.Popen[str]:
    """Run the program, and press Ctrl-C when its second part is on its way."""
    program = "import sys; from podium_program import main; sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *verb],
        env=os.environ | {"PYTHONPATH": "client"} | environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    parts = itertools.count(1)

    def interrupt(method: str, path: str) -> None:
        if method == "PATCH" and next(parts) == 2:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=120)

    proxy.fault = interrupt
    return process


@pytest.mark.parametrize(
    "is_folder", [pytest.param(False, id="a file", marks=in_soak), pytest.param(True, id="a folder")]
)
def test_an_upload_goes_on_after_ctrl_c_where_it_stopped(
    site: Scenario, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_folder: bool
) -> None:
    content = random.Random(1).randbytes(2 * PART_BYTES + 1000)
    path = tmp_path / ("kit" if is_folder else "large.zip")
    if is_folder:
        path.mkdir()
        (path / "weights.bin").write_bytes(content)
    else:
        path.write_bytes(zip_bytes({"weights.bin": content}))
    signed_in = {"PODIUM_SITE": proxy.url, "PODIUM_TOKEN": make_token(site.member())}
    verb = ["submit", site.competition.slug, str(path)]
    with send_until_the_second_part(proxy, signed_in, *verb) as process:
        assert process.stderr is not None
        shown = process.stderr.read()
    assert (process.returncode, "Traceback" in shown) == (130, False), shown
    assert "The same command goes on from here" in shown
    proxy.fault, proxy.calls = (lambda method, path: None), []
    for name, value in signed_in.items():
        monkeypatch.setenv(name, value)
    assert main(verb) == 0
    methods = Counter(method for method, _ in proxy.calls)
    assert methods["POST"] == 1, "the submission alone"
    assert methods["PATCH"] in (1, 2), "the parts that were not there: the second one may have come through"
    assert Submission.objects.get().file.size_bytes > 2 * PART_BYTES
    assert list((tmp_path / "cache" / "podium" / "uploads").glob("*.json")) == []


def test_a_bundle_goes_on_after_ctrl_c_where_it_stopped(site: Scenario, proxy: Proxy, tmp_path: Path) -> None:
    """Packed anew by the second start, the same folder is the same file."""
    padding: dict[str, str | bytes] = {"input_data/x.bin": random.Random(1).randbytes(2 * PART_BYTES + 1000)}
    folder = write(tmp_path / "small", second(), FILES | padding)
    token_file = tmp_path / "token"
    token_file.write_text(make_token(site.organizer))
    verb = [
        "bundle",
        "import",
        str(folder),
        "--site",
        proxy.url,
        "--token-file",
        str(token_file),
        "--queue",
        site.queue.name,
    ]
    with send_until_the_second_part(proxy, {}, *verb) as process:
        assert process.stderr is not None
        shown = process.stderr.read()
    assert (process.returncode, "Traceback" in shown) == (130, False), shown
    assert "The same command goes on from here" in shown
    proxy.fault, proxy.calls = (lambda method, path: None), []
    assert main(verb) == 0
    calls = Counter(call for call in proxy.calls if call[0] == "POST")
    assert calls == {("POST", "/api/v1/bundles/"): 1}, "no second upload was begun"
    assert Counter(method for method, _ in proxy.calls)["PATCH"] in (1, 2)
    assert catalog.Competition.objects.filter(slug="small").exists()


@pytest.mark.parametrize("is_noticed_at_once", [True, False], ids=["by its time", "by its digest"])
def test_a_file_that_changed_since_is_sent_anew(
    site: Scenario, client: Client, proxy: Proxy, tmp_path: Path, is_noticed_at_once: bool
) -> None:
    path = tmp_path / "answer.zip"
    path.write_bytes(zip_bytes({"answer.txt": "1"}))
    before = path.stat()
    proxy.fault = lambda method, path: "away" if path.endswith("/submissions/") else None
    client.site.patience_s = 0
    with pytest.raises(SiteUnreachable):
        client.submit(site.competition.slug, path)
    path.write_bytes(zip_bytes({"answer.txt": "2"}))
    later_ns = before.st_mtime_ns + 1000 * is_noticed_at_once
    os.utime(path, ns=(later_ns, later_ns))
    proxy.fault = lambda method, path: None
    assert client.submit(site.competition.slug, path).sha256 == file_digest(path)
    assert [call for call in proxy.calls if call[1].endswith("/uploads/")] == [("POST", "/api/v1/uploads/")] * 2


def test_a_file_that_becomes_shorter_while_it_is_sent_is_said_so(
    site: Scenario, client: Client, proxy: Proxy, answer: Path
) -> None:
    times = itertools.count()

    def shorten(method: str, path: str) -> str | None:
        if method == "GET" and "/uploads/" in path:
            os.truncate(answer, 5)
        return "away" if method == "PATCH" and next(times) > 2 else None

    client.site.patience_s, proxy.fault = 0, shorten
    with pytest.raises(InvalidInput, match=r"answer\.zip became shorter while it was sent"):
        client.submit(site.competition.slug, answer)


def test_a_download_goes_on_where_it_broke_and_is_checked(
    site: Scenario, client: Client, proxy: Proxy, tmp_path: Path
) -> None:
    (file,) = client.files(site.competition.slug)
    times = itertools.count()
    proxy.fault = lambda method, path: "cut" if "/files/starting_kit/" in path and next(times) < 2 else None
    file = file.model_copy(
        update={"url": f"/api/v1/competitions/{site.competition.slug}/phases/test-dev/files/starting_kit/"}
    )
    pauses: list[float] = []
    client.site._sleep = pauses.append
    target = client.download(file, tmp_path)
    assert target.stat().st_size == file.size_bytes
    assert len(pauses) == 2, "none of its one chunk had come"
    assert [path.name for path in tmp_path.glob("*.part")] == []
    seen = len(proxy.calls)
    assert client.download(file, tmp_path) == target
    assert len(proxy.calls) == seen, "what is there is not fetched again"
    target.unlink()
    with pytest.raises(PodiumError, match="arrived damaged"):
        client.download(file.model_copy(update={"sha256": "0" * 64}), tmp_path)
    assert list(tmp_path.glob(f"{file.file_name}*")) == []


def test_two_downloads_of_a_file_at_once_fetch_it_once(
    site: Scenario, client: Client, proxy: Proxy, tmp_path: Path
) -> None:
    (file,) = client.files(site.competition.slug)
    url = f"/api/v1/competitions/{site.competition.slug}/phases/test-dev/files/starting_kit/"
    file = file.model_copy(update={"url": url})
    is_asked_twice = threading.Barrier(2)

    def wait_for_another(method: str, path: str) -> None:
        if path == url:
            with contextlib.suppress(threading.BrokenBarrierError):
                is_asked_twice.wait(timeout=1)

    proxy.fault = wait_for_another
    with ThreadPoolExecutor(2) as pool:
        targets = list(pool.map(lambda _: client.download(file, tmp_path), range(2)))
    assert targets == [tmp_path / file.file_name] * 2
    assert proxy.calls.count(("GET", url)) == 1
    assert [path.name for path in tmp_path.glob(f"{file.file_name}*")] == [file.file_name]


def test_an_answer_that_breaks_in_the_middle_is_asked_for_again(
    site: Scenario, client: Client, proxy: Proxy, tmp_path: Path
) -> None:
    times = itertools.count()
    proxy.fault = lambda method, path: "cut" if next(times) < 2 else None
    assert client.competition(site.competition.slug).slug == site.competition.slug
    assert len(proxy.calls) == 3


def test_a_site_that_stays_away_is_told_after_the_patience(proxy: Proxy) -> None:
    proxy.fault = lambda method, path: "away"
    pauses: list[float] = []
    with pytest.raises(SiteUnreachable):
        Site(proxy.url, patience_s=0.5, sleep=pauses.append).get("competitions/")
    proxy.server.shutdown()
    proxy.server.server_close()
    with pytest.raises(SiteUnreachable, match="cannot be reached"):
        Site(proxy.url, patience_s=0).get("competitions/")


def test_waiting_outlives_a_site_that_is_away_for_a_while(
    site: Scenario, client: Client, proxy: Proxy, answer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podium.client.time.sleep", lambda seconds: None)
    submission = client.submit(site.competition.slug, answer)
    times = itertools.count()
    proxy.fault = lambda method, path: "away" if next(times) % 2 else None
    with pytest.raises(
        StillWaiting, match=f"{submission.id} is still (checking|queued) .* it goes on without you"
    ) as waited:
        submission.wait(timeout_s=0.2)
    assert (waited.value.exit_code, waited.value.submission.id) == (1, submission.id)
    proxy.fault = lambda method, path: None
    assert client.cancel(submission.id).status == "cancelled"


@pytest.mark.parametrize("url", ["http://podium.example.org", "ftp://x", "https://", "", "https://[::1"])
def test_an_address_that_would_give_the_token_away_or_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        checked_url(url)


def test_a_server_that_is_no_site_of_podium_is_told(site: Scenario, url: str) -> None:
    with pytest.raises(InvalidInput, match="/ does not answer as a site of Podium does"):
        Site(url).get("/")
    body = Site(url).get(f"competitions/{site.competition.slug}/")
    del body["phases"][0]["slug"]
    with pytest.raises(InvalidInput, match=r"Phase\.slug: Field required\. Is the site of another version") as refusal:
        Competition.model_validate(body)
    assert refusal.value.code == "no_podium"


def test_a_token_is_sent_to_its_site_alone(url: str) -> None:
    with pytest.raises(InvalidInput, match="the token is not sent there"):
        Site(url, "secret").get("https://elsewhere.example.org/api/v1/competitions/")


def test_a_site_names_no_place_outside_the_folder(site: Scenario, client: Client, tmp_path: Path) -> None:
    (file,) = client.files(site.competition.slug)
    for name in ("../x", "/etc/x", "a\\b", "..", ""):
        with pytest.raises(InvalidInput, match="not a plain name"):
            client.download(file.model_copy(update={"file_name": name}), tmp_path)
        with pytest.raises(InvalidInput, match="not a plain name"):
            client.download(file.model_copy(update={"folder": f"main/{name}"}), tmp_path)
