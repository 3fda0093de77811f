"""`podium run`: files that look like code, packed folders, and missing parts of a machine."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from competitions.catalog.models import Phase, Task
from competitions.compute.models import Queue
from competitions.submissions.models import Submission
from podium.cli import main
from podium.client import Client
from podium.commands.running import show
from podium.errors import InvalidInput, PodiumError
from podium.files import packed
from podium.output import write_json
from podium.rehearsal import MIRROR_UNREACHABLE, Verdict, require_mirror
from tests.client.conftest import make_token
from tests.scenario import CODE, Scenario, zip_bytes
from tests.smoke import with_smoke_run
from tests.unit.environments.archives import LAYER, docker_files, image_config, tar_bytes
from workers.agent.host.gpus import GpuError, GpuSource
from workers.projection import Interval, Projection
from workers.protocol.hosts import Gpu
from workers.protocol.results import Complete, Outcome
from workers.protocol.smoke import WholeTime


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


SECRETS = [
    ".env",
    ".env.local",
    ".netrc",
    "model/.aws/credentials",
    ".ssh/id_rsa",
    ".podium/state.json",
    ".git/config",
    ".GIT/hooks/x",
]


def test_secrets_beside_the_code_are_not_packed_by_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "kit"
    for name in ("predict.py", ".venv/pyvenv.cfg", *SECRETS):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "settings.txt").symlink_to(".env")
    (folder / ".venv" / "python").symlink_to("/bin/sh")  # what is left out may lead anywhere
    (folder / "again.py").symlink_to("predict.py")
    with zipfile.ZipFile(packed(folder, tmp_path)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            "again.py": b"predict.py",
            "predict.py": b"predict.py",
        }


@pytest.mark.parametrize("target", ["/proc/self/environ", "../id_rsa", "..", "../nowhere"])
def test_a_link_out_of_the_folder_is_refused_and_named(tmp_path: Path, target: str) -> None:
    folder = tmp_path / "kit"
    folder.mkdir()
    (tmp_path / "id_rsa").write_text("a key")
    (folder / "data.csv").symlink_to(target)
    with pytest.raises(InvalidInput, match=r"kit/data.csv' is a link to something outside the folder"):
        packed(folder, tmp_path)


def test_a_pipe_and_a_link_to_nothing_are_refused_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "kit"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    with pytest.raises(InvalidInput, match="kit/pipe' is neither a file nor a folder"):
        packed(folder, tmp_path)
    (folder / "pipe").unlink()
    (folder / "loop").symlink_to("loop")
    with pytest.raises(InvalidInput, match="kit/loop' is neither a file nor a folder"):
        packed(folder, tmp_path)
    (folder / "loop").unlink()
    Path(os.fsdecode(bytes(folder / "caf") + b"\xe9.py")).touch()
    with pytest.raises(
        InvalidInput, match=r"The name 'caf\\udce9.py' is not UTF-8, so it cannot be packed. Rename the file."
    ):
        packed(folder, tmp_path)


@pytest.fixture
def signed_in(site: Scenario, url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PODIUM_SITE", url)
    monkeypatch.setenv("PODIUM_TOKEN", make_token(site.member()))
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
    submission = Submission.objects.get()
    assert (submission.kind, submission.is_smoke, submission.file_name, submission.is_charged) == (
        "code",
        True,
        "kit.zip",
        False,
    )


def test_of_several_kinds_the_site_says_which_a_file_looks_like(signed_in: str, with_code: Phase, kit: Path) -> None:
    assert main(["submit", signed_in, str(kit)]) == 0
    assert Submission.objects.get().kind == "code"
    assert main(["submit", signed_in, str(kit), "--kind", "prediction"]) == 0
    assert Submission.objects.latest("pk").kind == "prediction"


@pytest.mark.usefixtures("site")
def test_a_phase_without_one_says_so(signed_in: str, kit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", signed_in, str(kit)]) == 2
    assert "names no public mini split" in capsys.readouterr().err


def test_what_is_not_installed_is_named_with_what_installs_it(
    signed_in: str, with_code: Phase, kit: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith(("docker", "workers", "podium.rehearsal"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "docker", None)
    assert main(["run", signed_in, str(kit)]) == 2
    shown = capsys.readouterr().err
    assert "docker" in shown
    assert "pip install . './client[run]'" in shown


def test_a_zip_that_the_site_would_refuse_is_refused_in_its_words(
    signed_in: str, with_code: Phase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "code.zip"
    file.write_bytes(zip_bytes({"predict.py": "x"}))
    assert main(["run", signed_in, str(file)]) == 1
    at_home = capsys.readouterr().out.strip()
    assert at_home.startswith("file_invalid (no_metadata): ")
    assert main(["submit", signed_in, str(file), "--smoke"]) == 2
    assert at_home.partition(": ")[2] in capsys.readouterr().err


REFERENCE = f"registry.example.org/lab/model@sha256:{'c' * 64}"
LOCK = f"numpy==2.3.1 --hash=sha256:{'a' * 64}\n"


@pytest.fixture
def takes_all(with_code: Phase) -> Phase:
    """A phase that takes weights, images and requirements, on a queue with a mirror."""
    Phase.objects.filter(pk=with_code.pk).update(own_weights=True, own_images=True, own_requirements=True)
    Queue.objects.update(package_mirror="https://mirror.example.org/simple/", image_registries="ghcr.io/lab")
    return with_code


def test_what_a_phase_does_not_take_is_refused_in_the_site_s_words(
    signed_in: str,
    with_code: Phase,
    kit: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("w.npz").write_bytes(b"weights")
    Path("image.tar").write_bytes(tar_bytes(docker_files()))
    for option, at_home, at_the_site in (
        ("--weights", "w.npz", "w@1"),
        ("--image", "image.tar", "torch@1"),
        ("--image", REFERENCE, REFERENCE),
    ):
        assert main(["run", signed_in, str(kit), option, at_home]) == 3, at_home
        refused = capsys.readouterr().err
        assert "does not take" in refused, at_home
        assert main(["submit", signed_in, str(kit), "--smoke", option, at_the_site]) == 3, at_the_site
        assert refused.strip() in capsys.readouterr().err, at_the_site


def test_a_registry_that_is_not_allowed_is_refused_in_the_site_s_words(
    signed_in: str, takes_all: Phase, kit: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", signed_in, str(kit), "--image", REFERENCE]) == 2
    refused = capsys.readouterr().err
    assert "ghcr.io/lab" in refused
    assert main(["submit", signed_in, str(kit), "--smoke", "--image", REFERENCE]) == 2
    assert refused.strip() in capsys.readouterr().err


def test_requirements_are_read_by_the_site_s_rules_where_the_phase_takes_them(
    signed_in: str, takes_all: Phase, kit: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (kit / "requirements.txt").write_text("\nnumpy>=2\n")
    assert main(["run", signed_in, str(kit)]) == 1
    assert capsys.readouterr().out.startswith("file_invalid (requirements_invalid): requirements.txt, line 2")
    (kit / "requirements.txt").write_text(LOCK)
    Queue.objects.update(package_mirror="")
    assert main(["run", signed_in, str(kit)]) == 1
    assert capsys.readouterr().out.startswith("setup_error (no_package_mirror): The queue ")


def test_what_cannot_be_meant_is_said_before_anything_runs(
    signed_in: str,
    takes_all: Phase,
    kit: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.tar").write_text("no archive")
    Path("arm.tar").write_bytes(tar_bytes(docker_files(config=image_config([LAYER], architecture="arm64"))))
    for arguments, message in (
        (("--weights", "nowhere.npz"), "no file 'nowhere.npz'"),
        (("--image", "torch@1"), "registry/repository@sha256:"),
        (("--image", "text.tar"), "not a tar archive"),
        (("--image", "arm.tar"), "linux/arm64"),
        (("--mirror", "pypi.org"), "https://pypi.org/simple/"),
    ):
        assert main(["run", signed_in, str(kit), *arguments]) == 2, arguments
        assert message in capsys.readouterr().err


def test_an_offer_has_what_is_brought_for_the_program_and_not_for_the_scorer(
    signed_in: str, takes_all: Phase, settings: Any
) -> None:
    address = f"competitions/{signed_in}/phases/{takes_all.slug}/smoke/"
    image_id = f"sha256:{'d' * 64}"
    offer = Client().site.get(address, weights_bytes=7, image=image_id, image_bytes=9)
    first, scoring = offer["job"]["stages"]
    assert {"/app/weights", "/app/environment"} <= {mount["target"] for mount in first["mounts"]}
    assert not {"/app/weights", "/app/environment"} & {mount["target"] for mount in scoring["mounts"]}
    assert (first["image"], scoring["own_image"]) == (image_id, None)
    assert offer["image_platform"] == settings.IMAGE_PLATFORM
    settings.ENVIRONMENT_FILE_MAX_BYTES = 6
    with pytest.raises(PodiumError, match="at most 6"):
        Client().site.get(address, weights_bytes=7)


def test_a_mirror_that_this_machine_cannot_use_is_said_in_one_sentence() -> None:
    detail = "the queue's package mirror cannot be used: it answers 403"
    ended = Complete(outcome=Outcome.CANCELLED, code=MIRROR_UNREACHABLE, detail=detail)
    with pytest.raises(InvalidInput) as caught:
        require_mirror(ended, "https://mirror.example.org/simple/")
    assert str(caught.value).startswith("The package mirror https://mirror.example.org/simple/ cannot be used")
    assert "it answers 403. Name another one, such as --mirror https://" in str(caught.value)


def test_a_machine_without_a_gpu_says_what_to_do(
    signed_in: str, with_code: Phase, kit: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Phase.objects.filter(pk=with_code.pk).update(gpus=1)
    assert main(["run", signed_in, str(kit)]) == 2
    assert "podium submit --smoke" in capsys.readouterr().err

    class LostGpus(GpuSource):
        def devices(self) -> list[Gpu]:
            raise GpuError("NVML cannot list the GPUs: GPU is lost")

    monkeypatch.setattr("workers.local.find_gpus", LostGpus)
    assert main(["run", signed_in, str(kit)]) == 2
    assert capsys.readouterr().err == "podium: NVML cannot list the GPUs: GPU is lost [cannot_run]\n"


def test_an_offer_names_no_worker_and_no_hidden_file(site: Scenario, signed_in: str, with_code: Phase) -> None:
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
    ("least_s", "most_s", "verdict"),
    [
        (2.0, 50.0, "That is within the limit of 60.0 s."),
        (2.0, 500.0, "The limit is 60.0 s: whether the code stays within it depends on how long the start-up takes."),
        (70.0, 500.0, "That is over the limit of 60.0 s."),
    ],
)
def test_what_the_run_takes_at_the_site_is_said_with_and_without_its_start_up(
    least_s: float, most_s: float, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    projection = Projection(Interval(1.0, 2.0, 4.0), WholeTime(least_s, most_s), 60.0)
    show(Verdict("finished", scores={"mae": 0.5}, meters={"wall_s": 2.0}, projection=projection))
    shown = capsys.readouterr().out
    assert "On the site's hardware: about 2.0 s, between 1.0 s and 4.0 s." in shown
    assert f"at least {least_s:.1f} s, if all of that was start-up" in shown
    assert verdict in shown
    write_json(asdict(Verdict("finished", projection=projection)))
    assert json.loads(capsys.readouterr().out)["projection"]["whole"] == {"least_s": least_s, "most_s": most_s}
