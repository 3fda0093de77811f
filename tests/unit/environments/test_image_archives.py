"""Image archives are read to their last digest; a false one is refused with the remedy."""

from __future__ import annotations

import errno
import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest

from tests.unit.environments.archives import LAYER, docker_files, image_config, oci_files, sha256, tar_bytes
from workers.protocol.files import image_layers
from workers.protocol.files.image_archive import (
    ArchiveLimits,
    ImageArchiveInvalid,
    check_archive,
    describe_archive,
    loadable,
)

LIMITS = ArchiveLimits(max_bytes=10 << 20)
MANY = [tar_bytes({"n": str(number).encode()}) for number in range(200)]


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
    image = check_archive(written(tmp_path, tar_bytes(files)), LIMITS)
    assert (image.layout, image.platform, image.entries) == (layout, "linux/amd64", 1)
    assert image.unpacked_bytes == max(len(LAYER), 4096)
    assert image.image_id == f"sha256:{sha256(image_config([LAYER]))}"


@pytest.mark.parametrize("packed", [True, False], ids=["compressed", "plain"])
def test_a_disk_that_fails_is_the_fault_of_no_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    path, reads, limit = written(tmp_path, tar_bytes(oci_files(packed=packed))), 0, 1000

    class FailingFile(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            nonlocal reads
            if (reads := reads + 1) > limit:
                raise OSError(errno.EIO, "Input/output error")
            return super().read(size) or b""

    monkeypatch.setattr(tarfile, "bltn_open", FailingFile)
    check_archive(path, LIMITS)
    for reads_before in range(reads):
        reads, limit = 0, reads_before
        with pytest.raises(OSError, match="Input/output error"):
            check_archive(path, LIMITS)


def test_the_engine_is_given_the_layers_and_no_name(tmp_path: Path) -> None:
    path = written(tmp_path, tar_bytes(docker_files()))
    with tarfile.open(fileobj=io.BytesIO(b"".join(loadable(path, describe_archive(path))))) as archive:
        manifest = archive.extractfile("manifest.json")
        assert manifest is not None
        entries = json.load(manifest)
        assert entries[0]["RepoTags"] is None  # the archive says podium/runtime:1, which the host has
        layer = archive.extractfile(entries[0]["Layers"][0])
        assert layer is not None
        assert layer.read() == LAYER


def test_each_file_of_an_image_is_charged_as_a_block_of_the_disk(tmp_path: Path) -> None:
    layers = [tar_bytes({f"{layer}-{number}": b"" for number in range(1000)}) for layer in range(2)]
    image = check_archive(written(tmp_path, tar_bytes(docker_files(layers))), LIMITS)
    assert (image.entries, image.unpacked_bytes) == (2000, 2000 * 4096)
    with pytest.raises(ImageArchiveInvalid) as refused:
        check_archive(tmp_path / "image.tar", ArchiveLimits(max_bytes=2000 * 4096 - 1))
    assert refused.value.code == "too_large"


def test_an_image_has_at_most_so_many_files_however_large_it_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_layers, "MAX_ENTRIES", 2999)
    with pytest.raises(ImageArchiveInvalid) as refused:
        check_archive(written(tmp_path, tar_bytes(docker_files([FOLDERS]))), ArchiveLimits(max_bytes=1 << 40))
    assert refused.value.code == "too_many_files"


def lying_layer() -> dict[str, bytes]:
    files = docker_files()
    return {name: LAYER + bytes(512) if name.endswith(sha256(LAYER)) else content for name, content in files.items()}


def lying_blob() -> dict[str, bytes]:
    files = oci_files()
    name = next(member for member, content in files.items() if content[:2] == b"\x1f\x8b")
    return files | {name: gzip.compress(LAYER, mtime=1)}


def sparse_layer() -> bytes:
    """A layer of 1 KiB whose one file stands for a terabyte of zeros, as GNU tar writes it."""
    member = tarfile.TarInfo("zeros")
    member.type, member.size = tarfile.GNUTYPE_SPARSE, 0
    header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    header[386:398], header[398:410] = b"%011o\0" % (1 << 32), b"%011o\0" % 0  # one piece, at its end
    header[483:495] = b"%011o\0" % (1 << 32)  # the real size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + bytes(1024)


def layer_with_headers(headers: dict[str, str], content: bytes = b"", *, are_global: bool = False) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(
        fileobj=packed, mode="w", format=tarfile.PAX_FORMAT, pax_headers=headers if are_global else None
    ) as archive:
        member = tarfile.TarInfo("file")
        member.pax_headers = {} if are_global else headers
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


SPARSE_HEADERS = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(1 << 40)}


def with_config(inner: bytes) -> bytes:
    """An archive whose image has this as its `config`, as it is written."""
    return tar_bytes(docker_files(config=image_config([LAYER], config="HERE").replace(b'"HERE"', inner)))


PIECES = f"1\n{1 << 40}\n0\n".encode().ljust(512, b"\0")
FOLDERS = tar_bytes({f"{number}": b"" for number in range(3000)})
WRONG: dict[str, tuple[bytes, str]] = {
    "no tar": (b"hello" * 200, "not_a_tar"),
    "compressed": (gzip.compress(tar_bytes(docker_files())), "compressed"),
    "cut off": (tar_bytes(docker_files())[:600], "wrong_size"),
    "no layout": (tar_bytes({"a": b""}), "no_layout"),
    "absolute path": (tar_bytes(docker_files() | {"/etc/passwd": b"root"}), "bad_path"),
    "path that leaves": (tar_bytes(docker_files() | {"a/../../b": b""}), "bad_path"),
    "link": (tar_bytes(docker_files(), {"blobs/x": "/etc/shadow"}), "links"),
    "100,000 layers": (tar_bytes(docker_files(config=image_config([LAYER] * 100_000))), "too_large"),
    "200 layers": (tar_bytes(docker_files(MANY)), "too_many_layers"),
    "5,000 members": (tar_bytes({str(number): b"" for number in range(5000)}), "too_many_members"),
    "layer that is another": (tar_bytes(lying_layer()), "wrong_digest"),
    "blob that is another": (tar_bytes(lying_blob()), "wrong_digest"),
    "size that lies": (tar_bytes(oci_files(size=7)), "wrong_digest"),
    "missing layer": (tar_bytes({k: v for k, v in docker_files().items() if v != LAYER}), "missing_member"),
    "other platform": (tar_bytes(docker_files(config=image_config([LAYER], architecture="arm64"))), "wrong_platform"),
    "volumes": (tar_bytes(docker_files(config=image_config([LAYER], config={"Volumes": {"/data": {}}}))), "volumes"),
    "volumes in small letters": (with_config(b'{"volumes": {"/data": {}}}'), "volumes"),
    "volumes in letters that fold": (with_config('{"volume\u017f": {"/data": {}}}'.encode()), "volumes"),
    "volumes of a configuration in capitals": (with_config(b'{}, "CONFIG": {"Volumes": {"/data": {}}}'), "bad_json"),
    "volumes in the first of two configurations": (
        with_config(b'{"Volumes": {"/data": {}}}, "config": {}'),
        "bad_json",
    ),
    "volumes said twice": (with_config(b'{"Volumes": {"/data": {}}, "VOLUMES": null}'), "bad_json"),
    "volumes of another kind": (
        tar_bytes(docker_files(config=image_config([LAYER], config={"Volumes": 7}))),
        "volumes",
    ),
    "layers and no digests": (
        tar_bytes(docker_files(config=image_config([LAYER], rootfs={"diff_ids": []}))),
        "wrong_layers",
    ),
    "two images": (tar_bytes(docker_files(manifest=b"[{}, {}]")), "not_one_image"),
    "deep JSON": (tar_bytes(docker_files(manifest=b"[" * 100_000)), "bad_json"),
    "no JSON": (tar_bytes(docker_files(manifest=b"{")), "bad_json"),
    "layer with an absolute path": (tar_bytes(docker_files([tar_bytes({"/etc/shadow": b"x"})])), "bad_path"),
    "layer with a path that leaves": (tar_bytes(docker_files([tar_bytes({"../../host": b"x"})])), "bad_path"),
    "layer that is not a tar": (tar_bytes(docker_files([b"\x01" * 2000])), "damaged"),
    "file with holes": (tar_bytes(docker_files([sparse_layer()])), "sparse"),
    "a terabyte of zeros that Docker writes out": (
        tar_bytes(docker_files([layer_with_headers(SPARSE_HEADERS, PIECES)])),
        "sparse",
    ),
    "holes that are not described": (tar_bytes(docker_files([layer_with_headers(SPARSE_HEADERS)])), "damaged"),
    "file that is said to have holes": (
        tar_bytes(docker_files([layer_with_headers({"GNU.sparse.name": "x"})])),
        "sparse",
    ),
    "headers for all files": (tar_bytes(docker_files([layer_with_headers({"size": "9"}, are_global=True)])), "sparse"),
    "empty files, each of which takes a block": (tar_bytes(docker_files([FOLDERS])), "too_large"),
    "larger than allowed": (tar_bytes(oci_files([tar_bytes({"zeros": bytes(11 << 20)})])), "too_large"),
}


@pytest.mark.parametrize(("content", "code"), WRONG.values(), ids=WRONG)
def test_a_wrong_archive_is_refused_by_name(tmp_path: Path, content: bytes, code: str) -> None:
    with pytest.raises(ImageArchiveInvalid) as refused:
        check_archive(written(tmp_path, content), LIMITS)
    assert refused.value.code == code
    assert len(str(refused.value)) > 30
