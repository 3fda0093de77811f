"""Forms, bundles and settings refuse an invalid image name, with the part that is wrong."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError

from competitions.compute.images import validate_registries
from competitions.compute.mirrors import validate_mirror
from files.bundles.archive import open_bundle
from files.bundles.faults import InvalidBundle
from files.bundles.reader import BundleReader
from tests.bundle_files import second, write
from tests.scenario import Scenario

OPTIONS = "--privileged -v /:/host"


@pytest.mark.parametrize("of", ["competition", "phase"])
def test_a_form_refuses_options_for_an_image(site: Scenario, of: str) -> None:
    holder = getattr(site, of)
    holder.docker_image = OPTIONS
    with pytest.raises(ValidationError) as error:
        holder.full_clean()
    assert list(error.value.message_dict) == ["docker_image"]
    assert "repository '--privileged" in error.value.message_dict["docker_image"][0]


@pytest.mark.parametrize(
    ("patterns", "accepted"),
    [
        ("podium/*\nghcr.io/lab/*:[12]", True),
        ("", True),
        ("-v", False),
        ("podium/*\n$(reboot)", False),
    ],
)
def test_a_queue_allows_patterns_of_image_names_alone(site: Scenario, patterns: str, accepted: bool) -> None:
    site.queue.allowed_images = patterns
    if accepted:
        site.queue.full_clean()
        return
    with pytest.raises(ValidationError, match="matches no image name"):
        site.queue.full_clean()


@pytest.mark.parametrize("image", [OPTIONS, "podium/Runtime:1", "podium/runtime:a b"])
def test_a_bundle_with_a_wrong_image_is_refused_with_its_place(tmp_path: Path, image: str) -> None:
    bundle = second()
    bundle["docker_image"] = image
    with open_bundle(write(tmp_path, bundle)) as files, pytest.raises(InvalidBundle) as error:
        BundleReader(files).valid_spec()
    fault = error.value.report.faults[0]
    assert fault.path == "docker_image"
    assert "The image's" in str(fault)


def test_blanks_around_an_image_of_a_bundle_do_not_matter(tmp_path: Path) -> None:
    bundle = second()
    bundle["docker_image"] = " codalab/codalab-legacy:py37 "
    with open_bundle(write(tmp_path, bundle)) as files:
        assert BundleReader(files).valid_spec().docker_image == "codalab/codalab-legacy:py37"


def test_the_site_does_not_start_with_a_wrong_default_image() -> None:
    environment = os.environ | {"PODIUM_DEFAULT_IMAGE": OPTIONS, "DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run(
        [sys.executable, "manage.py", "check"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "PODIUM_DEFAULT_IMAGE: The image's repository" in done.stderr


@pytest.mark.parametrize(
    ("value", "is_right"),
    [
        ("https://mirror.example.org/simple/", True),
        ("http://mirror:3141/root/pypi/+simple/", True),
        ("mirror.example.org/simple", False),
        ("file:///etc", False),
        ("https://user:secret@mirror.example.org/simple/", False),
        ("https://mirror.example.org/simple/?x=1", False),
        ("https://", False),
    ],
)
def test_a_mirror_is_an_address_without_a_password(value: str, is_right: bool) -> None:
    with contextlib.nullcontext() if is_right else pytest.raises(ValidationError, match="package mirror"):
        validate_mirror(value)


@pytest.mark.parametrize(
    ("value", "is_right"),
    [("registry.example.org", True), ("ghcr.io/lab\nlocalhost:5000", True), ("lab", False), ("https://ghcr.io", False)],
)
def test_registries_are_hosts_with_or_without_a_folder(value: str, is_right: bool) -> None:
    with contextlib.nullcontext() if is_right else pytest.raises(ValidationError):
        validate_registries(value)
