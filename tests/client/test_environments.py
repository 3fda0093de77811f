"""`podium weights` and `podium images` against a site: sent, checked, named, removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from competitions.catalog.models import Phase
from competitions.environments.models import EnvironmentFile
from competitions.submissions.models import Submission
from podium.cli import main
from tests.client.conftest import make_token
from tests.scenario import CODE, Scenario, zip_bytes


@pytest.fixture
def slug(site: Scenario, url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a competition that takes all of it, for a member who is signed in by the environment."""
    Phase.objects.filter(pk=site.phase.pk).update(
        accepts_code=True, accepts_predictions=False, own_weights=True, own_images=True
    )
    monkeypatch.setenv("PODIUM_SITE", url)
    monkeypatch.setenv("PODIUM_TOKEN", make_token(site.member()))
    return site.competition.slug


def test_weights_are_uploaded_named_and_removed(slug: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights, code = tmp_path / "w.npz", tmp_path / "code.zip"
    weights.write_bytes(b"\1" * 9_000_000)  # two parts
    code.write_bytes(zip_bytes(CODE))
    assert main(["weights", "upload", slug, str(weights), "--name", "gap-model"]) == 0
    assert main(["submit", slug, str(code), "--weights", "gap-model@1"]) == 0
    assert Submission.objects.get().weights == EnvironmentFile.objects.get()
    capsys.readouterr()
    assert main(["weights", "list", slug, "--json"]) == 0
    listed: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    assert [(file["reference"], file["state"], file["size_bytes"]) for file in listed] == [
        ("gap-model@1", "ready", 9_000_000)
    ]
    assert main(["weights", "delete", slug, "gap-model@1", "--yes"]) == 1  # the submission waits for it
    assert "environment_file_in_use" in capsys.readouterr().err
    assert main(["weights", "delete", slug, "gap-model@9", "--yes"]) == 2


def test_an_image_that_is_refused_ends_with_1_and_the_sites_words(
    slug: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "image.tar"
    path.write_bytes(b"no image" * 200)
    assert main(["images", "upload", slug, str(path), "--name", "torch"]) == 1
    assert "not a tar archive" in capsys.readouterr().err
