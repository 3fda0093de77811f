"""The jobs that `podium competition run` makes of a folder, without running them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from files.bundles.cli import main
from files.bundles.local_jobs import PUBLIC_INDEX, local_jobs
from files.code_check import NOTHING, OwnEnvironment
from workers.protocol.jobs import BuiltEnvironment, Job, PullPolicy, StagedFile

LOCK = f"small==1.0 --hash=sha256:{'0' * 64}\n"
REFERENCE = f"registry.example.org/team/net@sha256:{'1' * 64}"


def make_folder(tmp_path: Path, template: str, extra: str = "") -> Path:
    """The template, with these settings of Podium's own in its phase."""
    folder = tmp_path / template
    assert main(["new", str(folder), "--template", template]) == 0
    path = folder / "competition.yaml"
    if extra:
        path.write_text(path.read_text().replace("    sample_submission: solution\n", f"    podium: {{{extra}}}\n"))
    return folder


def zip_part(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def local_job(folder: Path, tmp_path: Path, file: Path | None = None, own: OwnEnvironment = NOTHING) -> Job:
    ((_, job),) = local_jobs(folder, tmp_path, file=file, own=own)
    return job


def test_code_alone_is_given_what_its_team_brings(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, "code", "accepts: [code], environment: [weights, image, requirements]")
    code = zip_part(tmp_path / "code.zip", {"model.py": "", "requirements.txt": LOCK})
    weights = tmp_path / "net.pt"
    weights.write_bytes(b"7.5")
    job = local_job(folder, tmp_path, code, OwnEnvironment(weights=weights, image=REFERENCE))
    ingestion, scoring = job.stages
    brought = {mount.target: mount for mount in ingestion.mounts}
    weights_mount, built = brought["/app/weights"], brought["/app/environment"]
    assert isinstance(weights_mount, StagedFile)
    assert (weights_mount.file.name, weights_mount.unpack) == ("net.pt", False)
    assert isinstance(built, BuiltEnvironment)
    assert (Path(built.requirements.url).read_text(), built.mirror) == (LOCK, PUBLIC_INDEX)
    assert (ingestion.image, ingestion.pull, ingestion.is_image_of_team) == (REFERENCE, PullPolicy.MISSING, True)
    assert scoring.image != REFERENCE
    assert not {mount.target for mount in scoring.mounts} & {"/app/weights", "/app/environment"}


def test_a_list_of_packages_is_not_installed_where_the_phase_does_not_say_so(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, "code", "accepts: [code]")
    code = zip_part(tmp_path / "code.zip", {"model.py": "", "requirements.txt": "small\n"})
    assert not any(isinstance(mount, BuiltEnvironment) for mount in local_job(folder, tmp_path, code).stages[0].mounts)


@pytest.mark.parametrize(
    ("extra", "own", "files", "message"),
    [
        (
            "accepts: [code]",
            OwnEnvironment(weights=Path(__file__)),
            {"model.py": ""},
            "lets no team bring weights. Add `weights`",
        ),
        (
            "accepts: [code]",
            OwnEnvironment(image=REFERENCE),
            {"model.py": ""},
            "lets no team bring an image of its own. Add `image`",
        ),
        (
            "accepts: [prediction], environment: [weights]",
            OwnEnvironment(weights=Path(__file__)),
            {"a": ""},
            "`code` to what it accepts",
        ),
        ("accepts: [code], environment: [requirements]", NOTHING, {"requirements.txt": "small\n"}, "requirements.txt"),
    ],
)
def test_what_the_site_would_refuse_is_refused_with_what_to_do(
    tmp_path: Path, extra: str, own: OwnEnvironment, files: dict[str, str], message: str
) -> None:
    folder = make_folder(tmp_path, "code", extra)
    with pytest.raises(ValueError, match=message):
        local_job(folder, tmp_path, zip_part(tmp_path / "code.zip", files), own)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, "code")
    with pytest.raises(ValueError, match=r"There is no file '.*away\.zip' to score"):
        local_job(folder, tmp_path, tmp_path / "away.zip")


def test_code_needs_a_command_where_no_ingestion_program_runs_it(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, "code", "accepts: [code]")
    path = folder / "competition.yaml"
    path.write_text(path.read_text().replace("    ingestion_program: ingestion_program\n", ""))
    with pytest.raises(ValueError, match=r"no metadata\.yaml at its top level"):
        local_job(folder, tmp_path, zip_part(tmp_path / "code.zip", {"model.py": ""}))


def test_a_submitted_dataset_is_no_program(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, "datasets")
    path = folder / "competition.yaml"
    path.write_text(path.read_text().replace("    ingestion_program: algorithm\n", ""))
    job = local_job(folder, tmp_path, zip_part(tmp_path / "data.zip", {"data.txt": "1 2\n"}))
    assert [stage.name for stage in job.stages] == ["scoring"]


@pytest.mark.parametrize(("accepts", "gpus"), [("code", 1), ("prediction", 0)])
def test_a_gpu_is_given_to_programs_alone(tmp_path: Path, accepts: str, gpus: int) -> None:
    folder = make_folder(tmp_path, "code", f"accepts: [{accepts}], budget: {{gpus: 1}}")
    assert local_job(folder, tmp_path, zip_part(tmp_path / "code.zip", {"model.py": ""})).gpus == gpus
