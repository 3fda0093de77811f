"""No web request compresses, decompresses, imports, writes bundles or sends mail; background processes do."""

from __future__ import annotations

import bz2
import lzma
import smtplib
import tarfile
import zipfile
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.mail.backends.locmem import EmailBackend
from django.test import Client

from accounts.models import Scope, token_create
from competitions.bundles import cloning, exports, imports
from files import archives
from tests.background import run_background
from tests.bundle_files import packed, second, write
from tests.permissions import PAGES, body_text, make_permission_site, named_patterns, page_url, user_client
from tests.scenario import CODE, Scenario, zip_bytes

HEAVY: list[tuple[Any, str]] = [
    (zlib, "compressobj"),
    (zlib, "decompressobj"),
    (bz2, "BZ2Decompressor"),
    (lzma, "LZMADecompressor"),
    (zipfile.ZipFile, "write"),
    (zipfile.ZipFile, "extractall"),
    (tarfile, "open"),
    (archives, "check_zip"),
    (cloning, "bundle_write"),
    (cloning, "bundle_import"),
    (exports, "bundle_write"),
    (imports, "bundle_import"),
    (imports, "task_import"),
    (imports, "competition_clone"),
    (smtplib, "SMTP"),
    (EmailBackend, "send_messages"),
]


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch, settings: LazySettings) -> list[str]:
    """The heavy things that were done, in order; mail goes the way it goes in production."""
    calls: list[str] = []

    def watched(owner: Any, name: str) -> Any:
        work = getattr(owner, name)

        def call(*arguments: Any, **named: Any) -> Any:
            calls.append(f"{owner.__name__ if isinstance(owner, ModuleType | type) else owner}.{name}")
            return work(*arguments, **named)

        return call

    for owner, name in HEAVY:
        monkeypatch.setattr(owner, name, watched(owner, name))
    settings.EMAIL_BACKEND = "accounts.outbox.OutboxBackend"
    settings.EMAIL_DELIVERY_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    return calls


@pytest.fixture
def robot(site: Scenario) -> Client:
    expires_at = site.now.replace(year=2031)
    _, secret = token_create(user=site.organizer, name="t", scopes=list(Scope.values), expires_at=expires_at)
    return Client(headers={"Authorization": f"Bearer {secret}"})


def bundle(tmp_path: Path) -> SimpleUploadedFile:
    return SimpleUploadedFile("a.zip", packed(write(tmp_path, second()), tmp_path.with_suffix(".zip")).read_bytes())


def test_imports_exports_and_clones_are_only_asked_for(
    site: Scenario, robot: Client, tmp_path: Path, done: list[str]
) -> None:
    slug, pk, visitor = site.competition.slug, site.competition.pk, user_client(site.organizer)
    sent, again = bundle(tmp_path / "a"), bundle(tmp_path / "b")
    task = SimpleUploadedFile("task.zip", zip_bytes({"task.yaml": "name: x"}))
    done.clear()  # of what made these files
    answers = [
        visitor.post("/organize/bundles/send/", {"file": sent}),
        visitor.post(f"/organize/competitions/{slug}/export/"),
        visitor.post(f"/organize/competitions/{slug}/clone/"),
        robot.post("/api/v1/bundles/", {"file": again}),
        robot.post(f"/api/v1/competitions/{slug}/bundle/", {"files": "keys"}),
        robot.post(f"/api/competitions/{pk}/create_dump/"),
        robot.post("/api/tasks/upload_task/", {"file": task}),
    ]
    assert [answer.status_code for answer in answers] == [302, 302, 302, 202, 202, 201, 202]
    assert done == []
    run_background()
    assert {"imports.bundle_import", "exports.bundle_write", "imports.competition_clone", "imports.task_import"} <= {
        name.removeprefix("competitions.bundles.") for name in done
    }, "control: the background process is seen to do them"


def test_a_submitted_file_is_read_in_the_background(site: Scenario, done: list[str]) -> None:
    content = zip_bytes(CODE)
    done.clear()
    sent = SimpleUploadedFile("code.zip", content)
    form = {"phase": site.phase.pk, "kind": "code", "file": sent}
    _, secret = token_create(
        user=site.member(), name="t", scopes=list(Scope.values), expires_at=site.now.replace(year=2031)
    )
    answer = Client(headers={"Authorization": f"Bearer {secret}"}).post("/api/v1/submissions/", form)
    assert (answer.status_code, done) == (201, []), answer.content


def test_mail_is_only_noted(site: Scenario, done: list[str]) -> None:
    Client().post("/accounts/password/reset/", {"email": site.member().email})
    assert done == []
    run_background()
    assert "EmailBackend.send_messages" in done


def test_no_url_of_the_site_does_heavy_work_for_anybody(site: Scenario, done: list[str]) -> None:
    permissions = make_permission_site(site)
    done.clear()
    for name, pattern in named_patterns():
        if name in PAGES:
            for letter in "AMOR":
                body_text(getattr(permissions.people[letter], PAGES[name][0])(page_url(permissions, name, pattern)))
            assert done == [], name
