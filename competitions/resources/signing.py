"""Signed, short-lived names of files: what a compute worker gets instead of credentials."""

from dataclasses import dataclass

from django.core import signing

SALT = "podium.resources.file"


@dataclass(frozen=True)
class FileGrant:
    """The right to read one stored file for one lease."""

    sha256: str
    lease_id: str


def sign_file(grant: FileGrant) -> str:
    """A URL-safe token for one file and one lease."""
    return signing.dumps([grant.sha256, grant.lease_id], salt=SALT)


def read_file_token(token: str, *, max_age_s: int) -> FileGrant | None:
    """The grant inside a token, or None when it is forged or older than `max_age_s`."""
    try:
        sha256, lease_id = signing.loads(token, salt=SALT, max_age=max_age_s)
    except signing.BadSignature:
        return None
    return FileGrant(sha256=sha256, lease_id=lease_id)
