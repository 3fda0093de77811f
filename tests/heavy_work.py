"""Work that no web request may do, noted while a test runs."""

from __future__ import annotations

import bz2
import lzma
import smtplib
import tarfile
import zipfile
import zlib
from types import ModuleType
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.mail.backends.locmem import EmailBackend

from competitions.bundles import exports, imports
from competitions.bundles.importing import importer
from files import archives

HEAVY: list[tuple[Any, str]] = [
    (zlib, "compressobj"),
    (zlib, "decompressobj"),
    (bz2, "BZ2Decompressor"),
    (lzma, "LZMADecompressor"),
    (zipfile.ZipFile, "write"),
    (zipfile.ZipFile, "extractall"),
    (tarfile, "open"),
    (archives, "check_zip"),
    (importer, "bundle_write"),
    (importer, "bundle_import"),
    (exports, "bundle_write"),
    (imports, "bundle_import"),
    (imports, "task_import"),
    (imports, "competition_clone"),
    (smtplib, "SMTP"),
    (EmailBackend, "send_messages"),
]


@pytest.fixture
def heavy_work(monkeypatch: pytest.MonkeyPatch, settings: LazySettings) -> list[str]:
    """The calls of heavy work, in order; mail goes the way it goes in production."""
    calls: list[str] = []

    def watch(owner: Any, name: str) -> Any:
        work = getattr(owner, name)

        def call(*arguments: Any, **named: Any) -> Any:
            calls.append(f"{owner.__name__ if isinstance(owner, ModuleType | type) else owner}.{name}")
            return work(*arguments, **named)

        return call

    for owner, name in HEAVY:
        monkeypatch.setattr(owner, name, watch(owner, name))
    settings.EMAIL_BACKEND = "accounts.outbox.OutboxBackend"
    settings.EMAIL_DELIVERY_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    return calls
