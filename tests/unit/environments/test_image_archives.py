"""Archives of images are read to their last digest, and one that lies is refused with what would be right."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest

from tests.unit.environments.archives import LAYER, config_of, docker_files, oci_files, sha256, tar_of
from workers.protocol.files.image_archive import (
    ArchiveLimits,
    ImageArchiveInvalid,
    check_archive,
    describe_archive,
    loadable,
)

LIMITS = ArchiveLimits(max_bytes=10 << 20)
MANY = [tar_of({"n": str(number).encode()}) for number in range(200)]


def written(folder: Path, content: bytes) -> Path:
    path = folder / "image.tar"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("files", "layout"),
    [(docker_files(), "docker-archive"), (oci_files(), "oci-layout"), (oci_files(packed=False), "oci-layout")],
    ids=["docker save", "OCI, compressed", "OCI"],
)
def test_a_right_archive_is_known_by_the_digest_of_its_configuration(
    tmp_path: Path, files: dict[str, bytes], layout: str
) -> None:
    image = check_archive(written(tmp_path, tar_of(files)), LIMITS)
    assert (image.layout, image.platform, image.unpacked_bytes) == (layout, "linux/amd64", len(LAYER))
    assert image.image_id == f"sha256:{sha256(config_of([LAYER]))}"


def test_the_engine_is_given_the_layers_and_no_name(tmp_path: Path) -> None:
    path = written(tmp_path, tar_of(docker_files()))
    with tarfile.open(fileobj=io.BytesIO(b"".join(loadable(path, describe_archive(path))))) as archive:
        manifest = archive.extractfile("manifest.json")
        assert manifest is not None
        entries = json.load(manifest)
        assert entries[0]["RepoTags"] is None  # the archive says podium/runtime:1, which the host has
        layer = archive.extractfile(entries[0]["Layers"][0])
        assert layer is not None
        assert layer.read() == LAYER


def lying_layer() -> dict[str, bytes]:
    files = docker_files()
    return {name: LAYER + bytes(512) if name.endswith(sha256(LAYER)) else content for name, content in files.items()}


def lying_blob() -> dict[str, bytes]:
    files = oci_files()
    name = next(member for member, content in files.items() if content[:2] == b"\x1f\x8b")
    return files | {name: gzip.compress(LAYER, mtime=1)}


WRONG: dict[str, tuple[bytes, str]] = {
    "no tar": (b"hello" * 200, "not_a_tar"),
    "compressed": (gzip.compress(tar_of(docker_files())), "compressed"),
    "cut off": (tar_of(docker_files())[:600], "wrong_size"),
    "no layout": (tar_of({"a": b""}), "no_layout"),
    "absolute path": (tar_of(docker_files() | {"/etc/passwd": b"root"}), "bad_path"),
    "path that leaves": (tar_of(docker_files() | {"a/../../b": b""}), "bad_path"),
    "link": (tar_of(docker_files(), {"blobs/x": "/etc/shadow"}), "links"),
    "100,000 layers": (tar_of(docker_files(config=config_of([LAYER] * 100_000))), "too_large"),
    "200 layers": (tar_of(docker_files(MANY)), "too_many_layers"),
    "5,000 members": (tar_of({str(number): b"" for number in range(5000)}), "too_many_members"),
    "layer that is another": (tar_of(lying_layer()), "wrong_digest"),
    "blob that is another": (tar_of(lying_blob()), "wrong_digest"),
    "size that lies": (tar_of(oci_files(size=7)), "wrong_digest"),
    "missing layer": (tar_of({k: v for k, v in docker_files().items() if v != LAYER}), "missing_member"),
    "other platform": (tar_of(docker_files(config=config_of([LAYER], architecture="arm64"))), "wrong_platform"),
    "volumes": (tar_of(docker_files(config=config_of([LAYER], config={"Volumes": {"/data": {}}}))), "volumes"),
    "volumes of another kind": (tar_of(docker_files(config=config_of([LAYER], config={"Volumes": 7}))), "volumes"),
    "layers and no digests": (tar_of(docker_files(config=config_of([LAYER], rootfs={"diff_ids": []}))), "wrong_layers"),
    "two images": (tar_of(docker_files(manifest=b"[{}, {}]")), "not_one_image"),
    "deep JSON": (tar_of(docker_files(manifest=b"[" * 100_000)), "bad_json"),
    "no JSON": (tar_of(docker_files(manifest=b"{")), "bad_json"),
    "layer with an absolute path": (tar_of(docker_files([tar_of({"/etc/shadow": b"x"})])), "bad_path"),
    "layer with a path that leaves": (tar_of(docker_files([tar_of({"../../host": b"x"})])), "bad_path"),
    "layer that is no tar": (tar_of(docker_files([b"\x01" * 2000])), "damaged"),
    "larger than allowed": (tar_of(oci_files([tar_of({"zeros": bytes(11 << 20)})])), "too_large"),
}


@pytest.mark.parametrize(("content", "code"), WRONG.values(), ids=WRONG)
def test_a_wrong_archive_is_refused_by_name(tmp_path: Path, content: bytes, code: str) -> None:
    with pytest.raises(ImageArchiveInvalid) as refused:
        check_archive(written(tmp_path, content), LIMITS)
    assert refused.value.code == code
    assert len(str(refused.value)) > 30
