"""No web request compresses, decompresses, imports, writes bundles or sends mail.

The walk of `disclosure/test_permissions.py` asks the same of every URL of the site.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.models import Scope, token_create
from tests.background import run_background
from tests.bundle_files import packed, second, write
from tests.permissions import user_client
from tests.scenario import CODE, Scenario, zip_bytes


@pytest.fixture
def robot(site: Scenario) -> Client:
    expires_at = site.now.replace(year=2031)
    _, secret = token_create(user=site.organizer, name="t", scopes=list(Scope.values), expires_at=expires_at)
    return Client(headers={"Authorization": f"Bearer {secret}"})


def bundle(tmp_path: Path) -> SimpleUploadedFile:
    return SimpleUploadedFile("a.zip", packed(write(tmp_path, second()), tmp_path.with_suffix(".zip")).read_bytes())


def test_imports_exports_and_clones_are_only_asked_for(
    site: Scenario, robot: Client, tmp_path: Path, heavy_work: list[str]
) -> None:
    slug, pk, visitor = site.competition.slug, site.competition.pk, user_client(site.organizer)
    sent, again = bundle(tmp_path / "a"), bundle(tmp_path / "b")
    task = SimpleUploadedFile("task.zip", zip_bytes({"task.yaml": "name: x"}))
    heavy_work.clear()  # of what made these files
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
    assert heavy_work == []
    run_background()
    assert {"imports.bundle_import", "exports.bundle_write", "imports.competition_clone", "imports.task_import"} <= {
        name.removeprefix("competitions.bundles.") for name in heavy_work
    }, "control: the background process is seen to do them"


def test_a_submitted_file_is_read_in_the_background(site: Scenario, heavy_work: list[str]) -> None:
    content = zip_bytes(CODE)
    heavy_work.clear()
    sent = SimpleUploadedFile("code.zip", content)
    form = {"phase": site.phase.pk, "kind": "code", "file": sent}
    _, secret = token_create(
        user=site.member(), name="t", scopes=list(Scope.values), expires_at=site.now.replace(year=2031)
    )
    answer = Client(headers={"Authorization": f"Bearer {secret}"}).post("/api/v1/submissions/", form)
    assert (answer.status_code, heavy_work) == (201, []), answer.content


def test_mail_is_only_noted(site: Scenario, heavy_work: list[str]) -> None:
    Client().post("/accounts/password/reset/", {"email": site.member().email})
    assert heavy_work == []
    run_background()
    assert "EmailBackend.send_messages" in heavy_work
