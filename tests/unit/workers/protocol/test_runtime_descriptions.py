"""The descriptions of the images for site and client agree with their recipes."""

import re
from pathlib import Path

import pytest

from podium.cli import main
from workers.images.runtime_image import PYTHON_VERSION, REQUIREMENTS, RUNTIME_IMAGE, TORCH, TORCH_IMAGE
from workers.protocol.images import PACKAGES, PYTHON, image_contents


def pinned_packages(*recipes: Path) -> list[str]:
    lines = [line for recipe in recipes for line in recipe.read_text().splitlines() if not line.startswith("#")]
    return [re.split(r"[<>=]", line)[0] for line in lines]


def test_the_descriptions_are_those_of_the_recipes() -> None:
    assert pinned_packages(REQUIREMENTS) == list(PACKAGES["podium/runtime"])
    assert pinned_packages(REQUIREMENTS, TORCH) == list(PACKAGES["podium/runtime-torch"])
    assert PYTHON.endswith(PYTHON_VERSION)
    assert {RUNTIME_IMAGE.partition(":")[0], TORCH_IMAGE.partition(":")[0]} == set(PACKAGES)


@pytest.mark.parametrize("image", ["podium/runtime:2", "podium/runtime", "podium/runtime@sha256:" + "0" * 64])
def test_podiums_image_is_described_under_each_of_its_names(image: str) -> None:
    assert image_contents(image).startswith(f"{image} holds Python 3.11 with numpy, scipy")


@pytest.mark.parametrize("image", ["debian:12", "ghcr.io/podium/runtime:1", "", "no image"])
def test_nothing_is_said_of_other_images(image: str) -> None:
    assert image_contents(image) == ""


def test_the_client_describes_images(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["image", "describe"]) == 0
    output = capsys.readouterr().out
    assert "podium/runtime:1 holds" in output
    assert "podium/runtime-torch:1 holds" in output
    assert "torch-geometric" in output
    assert main(["image", "describe", "debian:12"]) == 1
    assert "not an image that Podium makes" in capsys.readouterr().err
