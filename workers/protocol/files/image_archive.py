"""Container images as archives: of `docker save`, and OCI layouts. Nothing is unpacked to disk.

The site checks an archive to its last digest (`check_archive`). A worker, which knows the archive by its own digest, reads only
its layout (`describe_archive`) and hands the engine a new archive with the same layers and no names (`loadable`): the
names in an archive would otherwise take the place of images that the host has.
"""

import hashlib
import json
import re
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from workers.protocol.files.host_faults import raise_host_fault
from workers.protocol.files.image_layers import (
    CHUNK_BYTES,
    GZIP,
    SAVE_AGAIN,
    ImageArchiveInvalid,
    Layer,
    LayerReader,
    member_file,
)

__all__ = ["ArchiveLimits", "ImageArchive", "ImageArchiveInvalid", "check_archive", "describe_archive", "loadable"]

MAX_MEMBERS: Final = 4096
MAX_LAYERS: Final = 127  # what engines can stack
MAX_JSON_BYTES: Final = 4 << 20
MAX_NAME: Final = 1024
MAX_INDEXES: Final = 4  # an index may name an index
DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class ArchiveLimits:
    """`max_bytes` of all layers together once unpacked; `platform` as in `linux/amd64`."""

    max_bytes: int
    platform: str = "linux/amd64"


@dataclass(frozen=True)
class ImageArchive:
    """The one image of an archive. `image_id` is the digest of its configuration.

    `unpacked_bytes` is what its layers take on a disk, `entries` the number of their files and folders; 0 where they were not read.
    """

    layout: str
    image_id: str
    config: bytes
    platform: str
    layers: tuple[Layer, ...]
    unpacked_bytes: int = 0
    entries: int = 0


def check_archive(path: Path, limits: ArchiveLimits) -> ImageArchive:
    """Read all of an archive. Takes as long as decompressing and digesting its layers.

    Raises `ImageArchiveInvalid` where layout, names, platform, volumes, sizes or digests are not right.
    """
    with _open(path) as archive:
        image = _describe(archive)
        if image.platform != limits.platform:
            raise ImageArchiveInvalid(
                "wrong_platform",
                f"The image is for {image.platform[:60]}; the compute workers run {limits.platform}. Build it with `docker build "
                f"--platform {limits.platform}`.",
            )
        reader = LayerReader(archive, limits.max_bytes)
        for number, layer in enumerate(image.layers, start=1):
            reader.check(layer, number)
    return replace(image, unpacked_bytes=reader.unpacked_bytes, entries=reader.entries)


def describe_archive(path: Path) -> ImageArchive:
    """The layout of an archive, without its layers' content. Raises `ImageArchiveInvalid`."""
    with _open(path) as archive:
        return _describe(archive)


def loadable(path: Path, image: ImageArchive) -> Iterator[bytes]:
    """The image as a tar that every Docker Engine loads: configuration and layers, and no name."""
    with _open(path) as archive:
        config_name = f"{image.image_id.removeprefix('sha256:')}.json"
        names = [f"{number:03d}.tar" for number in range(len(image.layers))]
        manifest = json.dumps([{"Config": config_name, "RepoTags": None, "Layers": names}]).encode()
        yield from _member(config_name, [image.config], len(image.config))
        for name, layer in zip(names, image.layers, strict=True):
            source = member_file(archive, layer.member)
            size_bytes = archive.getmember(layer.member).size
            yield from _member(name, iter(lambda source=source: source.read(CHUNK_BYTES), b""), size_bytes)  # type: ignore[misc]  # bound at once
        yield from _member("manifest.json", [manifest], len(manifest))
        yield bytes(2 * tarfile.BLOCKSIZE)


def _member(name: str, chunks: Any, size_bytes: int) -> Iterator[bytes]:
    header = tarfile.TarInfo(name)
    header.size = size_bytes
    yield header.tobuf(tarfile.GNU_FORMAT)
    yield from chunks
    yield bytes(-size_bytes % tarfile.BLOCKSIZE)


@contextmanager
def _open(path: Path) -> Iterator[tarfile.TarFile]:
    """The archive with its list of members read and judged."""
    with path.open("rb") as file:
        if file.read(2) == GZIP:
            raise ImageArchiveInvalid("compressed", "The archive is compressed. Unpack it with gunzip first.")
    try:
        archive = tarfile.open(path, "r:")  # noqa: SIM115  # entered below
    except (tarfile.TarError, OSError, ValueError) as error:
        raise_host_fault(error)
        raise ImageArchiveInvalid("not_a_tar", f"The file is not a tar archive. {SAVE_AGAIN}") from error
    with archive:
        _read_members(archive, path.stat().st_size)
        yield archive


def _read_members(archive: tarfile.TarFile, end: int) -> None:
    names: set[str] = set()
    try:
        while (member := archive.next()) is not None:
            if len(names) >= MAX_MEMBERS:
                raise ImageArchiveInvalid("too_many_members", f"The archive has more than {MAX_MEMBERS} members.")
            _judge(member, names, end)
            names.add(member.name)
    except (tarfile.TarError, OSError, ValueError, OverflowError) as error:
        if isinstance(error, ImageArchiveInvalid):
            raise
        raise_host_fault(error)
        raise ImageArchiveInvalid("damaged", f"The archive is damaged. {SAVE_AGAIN}") from error


def _judge(member: tarfile.TarInfo, names: set[str], end: int) -> None:
    shown = ascii(member.name[:200])
    if member.name.startswith("/") or ".." in member.name.split("/") or len(member.name) > MAX_NAME:
        raise ImageArchiveInvalid("bad_path", f"The archive has the member {shown}, whose path leaves it.")
    if not (member.isreg() or member.isdir()):
        raise ImageArchiveInvalid(
            "links", f"The archive has the member {shown}, which is a link or device. {SAVE_AGAIN}"
        )
    if member.sparse is not None or member.size < 0 or member.offset_data + member.size > end:
        raise ImageArchiveInvalid("wrong_size", f"The member {shown} is cut off or lies about its size. {SAVE_AGAIN}")
    if member.name in names and not member.isdir():
        raise ImageArchiveInvalid("twice", f"The archive has the member {shown} twice. {SAVE_AGAIN}")


def _describe(archive: tarfile.TarFile) -> ImageArchive:
    names = set(archive.getnames())
    if "manifest.json" in names:
        return _docker_layout(archive)
    if "index.json" in names and "oci-layout" in names:
        return _oci_layout(archive)
    raise ImageArchiveInvalid(
        "no_layout", f"The archive has neither a manifest.json nor an index.json with oci-layout. {SAVE_AGAIN}"
    )


def _docker_layout(archive: tarfile.TarFile) -> ImageArchive:
    manifest = _json(_content(archive, "manifest.json"), "manifest.json")
    if not isinstance(manifest, list) or len(manifest) != 1 or not isinstance(manifest[0], dict):
        count = len(manifest) if isinstance(manifest, list) else "no"
        raise ImageArchiveInvalid("not_one_image", f"The archive has {count} images. Save exactly one.")
    config_name, members = _field(manifest[0], "Config"), _field(manifest[0], "Layers")
    if (
        not isinstance(config_name, str)
        or not isinstance(members, list)
        or not all(isinstance(m, str) for m in members)
    ):
        raise ImageArchiveInvalid("bad_manifest", f"The manifest.json names no configuration or layers. {SAVE_AGAIN}")
    config = _content(archive, config_name)
    digest = _sha256(config)
    named = re.search(r"[0-9a-f]{64}", config_name)
    if named is not None and f"sha256:{named[0]}" != digest:
        raise ImageArchiveInvalid("wrong_digest", f"The configuration {config_name[:100]} is not what its name says.")
    return _image("docker-archive", config, [Layer(member, "") for member in members])


def _oci_layout(archive: tarfile.TarFile) -> ImageArchive:
    descriptor = _manifest_descriptor(archive)
    manifest = _json(_blob(archive, descriptor), "the image's manifest")
    layers, config = _field(manifest, "layers"), _field(manifest, "config")
    if not isinstance(layers, list) or not isinstance(config, dict):
        raise ImageArchiveInvalid("bad_manifest", "The image's manifest names no configuration or layers.")
    if len(layers) > MAX_LAYERS:
        raise _too_many_layers(len(layers))
    image_layers = []
    for layer in layers:
        digest, size = _file_digest(layer), _field(layer, "size")
        image_layers.append(
            Layer(_blob_name(digest), "", digest=digest, size_bytes=size if isinstance(size, int) else -1)
        )
    return _image("oci-layout", _blob(archive, config), image_layers)


def _manifest_descriptor(archive: tarfile.TarFile) -> dict[str, object]:
    """The one image that is not an attestation, through the indexes that lead to it."""
    index = _json(_content(archive, "index.json"), "index.json")
    for _ in range(MAX_INDEXES):
        listed = _field(index, "manifests")
        descriptors = listed if isinstance(listed, list) else []
        images = [each for each in descriptors if isinstance(each, dict) and not _is_attestation(each)]
        if len(images) != 1:
            raise ImageArchiveInvalid(
                "not_one_image", f"The archive has {len(images)} images. Save exactly one, of one platform."
            )
        media_type = str(_field(images[0], "mediaType"))
        if "index" not in media_type and "manifest.list" not in media_type:
            return images[0]
        index = _json(_blob(archive, images[0]), "an index")
    raise ImageArchiveInvalid("bad_manifest", f"The archive's indexes lie deeper than {MAX_INDEXES}.")


def _is_attestation(descriptor: dict[str, object]) -> bool:
    annotations, platform = _field(descriptor, "annotations"), _field(descriptor, "platform")
    is_noted = isinstance(annotations, dict) and "vnd.docker.reference.type" in annotations
    return is_noted or _field(platform, "os") == "unknown"


def _image(layout: str, config: bytes, layers: list[Layer]) -> ImageArchive:
    """The image, by its configuration.

    Raises `ImageArchiveInvalid` for layers that do not fit it, and for volumes.
    """
    configuration = _json(config, "the image's configuration")
    diff_ids = _field(_field(configuration, "rootfs"), "diff_ids")
    if not isinstance(diff_ids, list) or not all(
        isinstance(diff_id, str) and DIGEST.fullmatch(diff_id) for diff_id in diff_ids
    ):
        raise ImageArchiveInvalid("bad_config", "The image's configuration names no digests of its layers.")
    if max(len(diff_ids), len(layers)) > MAX_LAYERS:
        raise _too_many_layers(max(len(diff_ids), len(layers)))
    if len(diff_ids) != len(layers) or not layers:
        raise ImageArchiveInvalid(
            "wrong_layers", f"The configuration names {len(diff_ids)} layers, the manifest {len(layers)}. {SAVE_AGAIN}"
        )
    if volumes := _field(_field(configuration, "config"), "Volumes"):
        raise ImageArchiveInvalid(
            "volumes", f"The image declares volumes ({ascii(volumes)[:200]}). Build it without VOLUME."
        )
    return ImageArchive(
        layout=layout,
        image_id=_sha256(config),
        config=config,
        platform=f"{str(_field(configuration, 'os') or '')[:20]}/{str(_field(configuration, 'architecture') or '')[:20]}",
        layers=tuple(replace(layer, diff_id=diff_id) for layer, diff_id in zip(layers, diff_ids, strict=True)),
    )


def _too_many_layers(count: int) -> ImageArchiveInvalid:
    return ImageArchiveInvalid(
        "too_many_layers",
        f"The image has {count} layers; engines take {MAX_LAYERS}. Join some of its RUN and COPY lines.",
    )


def _sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _file_digest(descriptor: object) -> str:
    digest = _field(descriptor, "digest")
    if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
        raise ImageArchiveInvalid("bad_manifest", "A part of the image is named by no sha256 digest.")
    return digest


def _blob_name(digest: str) -> str:
    return f"blobs/sha256/{digest.removeprefix('sha256:')}"


def _blob(archive: tarfile.TarFile, descriptor: dict[str, object]) -> bytes:
    """A small part of an OCI layout, with its digest checked."""
    digest = _file_digest(descriptor)
    content = _content(archive, _blob_name(digest))
    if _sha256(content) != digest:
        raise ImageArchiveInvalid("wrong_digest", f"The part {digest} is not what its digest says. {SAVE_AGAIN}")
    return content


def _content(archive: tarfile.TarFile, name: str) -> bytes:
    content = member_file(archive, name).read(MAX_JSON_BYTES + 1)
    if len(content) > MAX_JSON_BYTES:
        raise ImageArchiveInvalid("too_large", f"{name[:200]!a} is larger than {MAX_JSON_BYTES:,} bytes.")
    return content


def _field(document: object, name: str) -> Any:
    """A field by its name in any case of letters, as engines take it; None where there is none.

    Raises `ImageArchiveInvalid` where it is there twice: engines join both values.
    """
    pairs = document.items() if isinstance(document, dict) else ()
    values = [value for key, value in pairs if key.casefold() == name.casefold()]
    if len(values) > 1:
        raise _said_twice(name)
    return values[0] if values else None


def _said_twice(name: str) -> ImageArchiveInvalid:
    return ImageArchiveInvalid("bad_json", f"The archive's JSON says {name[:60]!a} twice. {SAVE_AGAIN}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, object]:
    """An object of JSON in which no key comes again."""
    document: dict[str, object] = {}
    for key, value in pairs:
        if key in document:
            raise _said_twice(key)
        document[key] = value
    return document


def _json(content: bytes, what: str) -> Any:
    try:
        document = json.loads(content, object_pairs_hook=_object)
    except ImageArchiveInvalid:
        raise
    except (ValueError, RecursionError) as error:
        raise ImageArchiveInvalid("bad_json", f"{what} cannot be read as JSON.") from error
    if not isinstance(document, dict | list) or (isinstance(document, list) and what != "manifest.json"):
        raise ImageArchiveInvalid("bad_json", f"{what} is not a JSON object.")
    return document
