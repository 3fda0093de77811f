"""Image archives for tests, right and wrong in every part."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from typing import Any


def tar_bytes(files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> bytes:
    """A tar with these members, and these symbolic links."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    return packed.getvalue()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


LAYER = tar_bytes({"opt/model.py": b"print('hello')\n"})


def image_config(layers: Sequence[bytes], **changes: Any) -> bytes:
    """An image's configuration; `changes` replace its keys."""
    config = {
        "os": "linux",
        "architecture": "amd64",
        "config": {"User": "root"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(layer)}" for layer in layers]},
    }
    return json.dumps(config | changes).encode()


def docker_files(
    layers: Sequence[bytes] = (LAYER,), config: bytes | None = None, manifest: bytes | None = None
) -> dict[str, bytes]:
    """The members of what `docker save` writes, tagged as the platform's own image."""
    config_bytes = image_config(layers) if config is None else config
    name = f"blobs/sha256/{sha256(config_bytes)}"
    members = {f"blobs/sha256/{sha256(layer)}": layer for layer in layers}
    listed = [
        {
            "Config": name,
            "RepoTags": ["podium/runtime:1"],
            "Layers": [f"blobs/sha256/{sha256(layer)}" for layer in layers],
        }
    ]
    return {
        name: config_bytes,
        **members,
        "manifest.json": json.dumps(listed).encode() if manifest is None else manifest,
    }


def oci_files(layers: Sequence[bytes] = (LAYER,), *, packed: bool = True, size: int | None = None) -> dict[str, bytes]:
    """The members of an OCI layout, with layers compressed or not; `size` is what it says of each layer's."""
    config_bytes = image_config(layers)
    blobs = [gzip.compress(layer, mtime=0) if packed else layer for layer in layers]
    described = [{"digest": f"sha256:{sha256(blob)}", "size": len(blob) if size is None else size} for blob in blobs]
    config = {"digest": f"sha256:{sha256(config_bytes)}", "size": len(config_bytes)}
    manifest = json.dumps({"schemaVersion": 2, "config": config, "layers": described}).encode()
    index = {
        "manifests": [
            {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": f"sha256:{sha256(manifest)}"}
        ]
    }
    return {
        "oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
        "index.json": json.dumps(index).encode(),
        **{f"blobs/sha256/{sha256(blob)}": blob for blob in (config_bytes, manifest, *blobs)},
    }
