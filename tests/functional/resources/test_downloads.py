"""A stored file is served by its store, by the site's front, or by the site itself."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from competitions.catalog.models import Competition
from competitions.resources import downloads, storage
from competitions.resources.storage import local_copy, store_bytes
from competitions.resources.stores import open_store
from competitions.runs.worker_api import jobs
from tests.images import png_bytes
from tests.permissions import user_client
from tests.scenario import Scenario, lease
from tests.stores import MemoryStore

FRONT = {"X-Sendfile-Type": "X-Accel-Redirect"}


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    """Objects that do not lie on this host."""
    store = MemoryStore()
    for module in (downloads, storage):
        monkeypatch.setattr(module, "object_store", lambda: store)
    return store


@pytest.fixture
def behind_the_front(settings: object) -> Iterator[None]:
    """A site whose front serves the folder of the objects."""
    settings.STORE_FRONT_LOCATION = "/_objects"  # type: ignore[attr-defined]
    open_store.cache_clear()
    yield
    open_store.cache_clear()


def test_a_store_with_addresses_of_its_own_serves_its_files_itself(elsewhere: MemoryStore, site: Scenario) -> None:
    submission = site.submit()
    answer = user_client(site.member()).get(f"/submissions/{submission.pk}/file/")
    assert (answer.status_code, answer["Cache-Control"]) == (302, "no-store")
    assert answer["Location"] == f"https://objects.example/{submission.file_id}?as={submission.file_name}&for=900"


def test_an_address_is_given_to_nobody_who_may_not_have_the_file(elsewhere: MemoryStore, site: Scenario) -> None:
    submission = site.submit()
    stranger = site.join("Strangers").captain
    for client in (user_client(stranger), Client()):
        answer = client.get(f"/submissions/{submission.pk}/file/")
        assert "objects.example" not in answer.get("Location", "")
        assert answer.status_code in (302, 404)


def test_a_worker_fetches_its_files_from_the_store(elsewhere: MemoryStore, site: Scenario) -> None:
    site.submit()
    run = site.claim(at=site.now)
    for digest, url in jobs.file_urls(run).items():
        parts = urlsplit(url)
        answer = Client(headers={"Authorization": f"Bearer {site.token}"}).get(parts.path)
        assert answer["Location"].startswith(f"https://objects.example/{digest}")
    assert lease(run)


def test_what_lies_elsewhere_is_copied_for_those_who_need_a_path(elsewhere: MemoryStore, db: None) -> None:
    stored = store_bytes(b"far away")
    with local_copy(stored) as path:
        assert path.read_bytes() == b"far away"
    assert not path.exists()


@pytest.mark.usefixtures("behind_the_front")
def test_the_front_serves_the_file_where_it_offers_to(site: Scenario) -> None:
    submission = site.submit()
    client, digest = user_client(site.member()), submission.file_id
    answer = client.get(f"/submissions/{submission.pk}/file/", headers=FRONT)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer["X-Accel-Redirect"] == f"/_objects/{digest[:2]}/{digest[2:4]}/{digest}"
    assert answer["Content-Disposition"] == f'attachment; filename="{submission.file_name}"'
    direct = client.get(f"/submissions/{submission.pk}/file/")
    assert "X-Accel-Redirect" not in direct, "a worker that passes by the front gets the bytes"
    assert b"".join(direct.streaming_content)  # type: ignore[attr-defined]
    direct.close()


@pytest.mark.usefixtures("behind_the_front")
@pytest.mark.parametrize("headers", [FRONT, {}, {"Range": "bytes=1-"}], ids=["by the front", "by the site", "a part"])
def test_a_browser_keeps_no_file_without_asking_for_it_again(site: Scenario, headers: dict[str, str]) -> None:
    address = f"/submissions/{site.submit().pk}/file/"
    answer = user_client(site.member()).get(address, headers=headers)
    assert answer["Cache-Control"] == "private, no-cache"
    answer.close()
    conditions = {"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT", "If-None-Match": "*"}
    for client in (user_client(site.join("Strangers").captain), Client()):
        refused = client.get(address, headers=headers | conditions)
        assert refused.status_code in (302, 404), "whoever asks again is asked for the right to it again"
        assert "X-Accel-Redirect" not in refused


def test_without_the_setting_the_site_serves_files_itself(site: Scenario) -> None:
    submission = site.submit()
    answer = user_client(site.member()).get(f"/submissions/{submission.pk}/file/", headers=FRONT)
    assert "X-Accel-Redirect" not in answer
    assert b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    answer.close()


@pytest.mark.usefixtures("behind_the_front")
def test_a_logo_is_shown_in_place(site: Scenario) -> None:
    Competition.objects.filter(pk=site.competition.pk).update(logo=store_bytes(png_bytes()))
    answer = Client().get(f"/competitions/{site.competition.slug}/logo/", headers=FRONT)
    assert (answer["Content-Type"], "Content-Disposition" in answer) == ("image/png", False)
    assert answer["X-Accel-Redirect"].startswith("/_objects/")
    assert answer["Cache-Control"] == "public, max-age=3600", "what decorates pages may be kept for a while"


def test_a_store_without_room_refuses_an_upload_in_words(elsewhere: MemoryStore, site: Scenario) -> None:
    elsewhere.fill()
    client = user_client(site.organizer)
    answer = client.post("/organize/bundles/send/", {"file": SimpleUploadedFile("a.zip", b"PK")})
    assert answer.status_code == 507
    assert "full" in answer.content.decode()
