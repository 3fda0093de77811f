"""A board frozen as a snapshot: signed by its site, and checked by anybody without it.

The digest is the SHA-256 of the document in canonical form (`files.manifest.canonical`), and the signature Ed25519 (RFC 8032) of
the digest's bytes. `podium verify` checks both. That the key is the site's is seen by comparing it with the site's own page.
"""

import argparse
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, TypedDict, cast

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from files.manifest import ManifestInvalid, canonical, say

FORMAT: Final = "podium-snapshot/1"
NAMES: Final = frozenset({"url", "made_at", "key_url", "rows"})  # of a document, that every reader needs


class SignedSnapshot(TypedDict):
    """The file that a site gives."""

    format: str
    document: dict[str, Any]
    digest: str
    public_key: str
    signature: str


def sign_snapshot(document: dict[str, object], key: Ed25519PrivateKey) -> SignedSnapshot:
    """The file of a snapshot.

    >>> document = {"url": "", "made_at": "", "key_url": "", "rows": [1]}
    >>> signed = sign_snapshot(document, Ed25519PrivateKey.from_private_bytes(bytes(32)))
    >>> snapshot_faults(signed), len(snapshot_faults({**signed, "document": {"rows": [2]}}))
    ([], 3)
    """
    digest = hashlib.sha256(canonical(document))
    return {
        "format": FORMAT,
        "document": document,
        "digest": digest.hexdigest(),
        "public_key": key.public_key().public_bytes_raw().hex(),
        "signature": key.sign(digest.digest()).hex(),
    }


def snapshot_faults(snapshot: Mapping[str, object], *, digest: str = "", key: str = "") -> list[str]:
    """All that does not agree, in words; empty when the file is what its site signed.

    `digest`, `key`: those that were noted down elsewhere. Raises `ManifestInvalid`.
    """
    try:
        signed = cast("SignedSnapshot", snapshot)
        computed = hashlib.sha256(canonical(signed["document"])).hexdigest()
        faults = []
        if computed != signed["digest"]:
            faults.append(f"The document gives the digest {computed}, the file says {signed['digest']}.")
        if digest and digest.strip().lower() != computed:
            faults.append(f"The document has the digest {computed}, noted down was {digest.strip()[:80]}.")
        if key and key.strip().lower() != signed["public_key"]:
            faults.append(f"It is signed with the key {signed['public_key']}, not with {key.strip()[:80]}.")
        if missing := NAMES - signed["document"].keys():
            faults.append(f"The document does not say {', '.join(sorted(missing))}.")
        if not _is_signed(bytes.fromhex(computed), signed):
            faults.append("The signature is not of this document by this key.")
        return faults
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ManifestInvalid(
            f"This is not a snapshot of the format {FORMAT}: {type(error).__name__} {error}."
        ) from error


def _is_signed(digest: bytes, signed: SignedSnapshot) -> bool:
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signed["public_key"]))
    try:
        public.verify(bytes.fromhex(signed["signature"]), digest)
    except InvalidSignature:
        return False
    return True


def verify_snapshot(snapshot: Mapping[str, object], options: argparse.Namespace) -> int:
    """`podium verify` of a snapshot: 0 it is what its site signed, 1 it is not. Raises `ManifestInvalid`."""
    faults = snapshot_faults(snapshot, digest=options.digest, key=options.key)
    _report(snapshot, faults, as_json=options.json)
    return 1 if faults else 0


def _report(snapshot: Mapping[str, Any], faults: list[str], *, as_json: bool) -> None:
    if as_json:
        names = ("digest", "public_key")
        print(json.dumps({"ok": not faults, **{name: snapshot[name] for name in names}, "faults": faults}, indent=1))
        return
    for fault in faults:
        say(f"FAULT: {fault}")
    document = snapshot["document"]
    say(f"{document['url']}, made at {document['made_at']}: {len(document['rows'])} rows, digest {snapshot['digest']}")
    say(f"Signed with the key {snapshot['public_key']}. Compare it with the one at {document['key_url']}")
    if not faults:
        say("OK: the document is the one that was signed.")
