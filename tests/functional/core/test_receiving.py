"""One rule decides, before reading a body, what the site takes from whom at every address."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import get_resolver

from competitions.api.views.base import ApiView
from core.serving.receiving import ASKING, UNASKED_BYTES
from tests.scenario import Scenario, zip_bytes
from tests.services import REPOSITORY

LARGE = 30_000_000
KEY = "7d2ab6cc-3c6f-4bd8-a4d5-6d0c9ba2a6ff"
AS_COMES = re.compile(r"location ~ \"(\^[^\"]+)\" \{\s+client_max_body_size 0;\s+proxy_request_buffering off;")


def patterns(part: Any, prefix: str = "") -> Iterator[tuple[str, Callable[..., Any]]]:
    for each in part.url_patterns:
        if hasattr(each, "url_patterns"):
            yield from patterns(each, prefix + str(each.pattern))
        else:
            yield prefix + str(each.pattern), each.callback


def takes_more_than_a_form(view: Any) -> bool:
    own_room = getattr(getattr(view, "cls", ApiView), "body_room", ApiView.body_room)
    return hasattr(view, "takes_body") or own_room is not ApiView.body_room


def example(pattern: str) -> str:
    """An address of this pattern."""
    return "/" + re.sub(r"<[^>]+>", "7", pattern.replace("\\Z", "").replace("^", ""))


def test_the_front_passes_on_at_once_the_addresses_that_take_more_than_a_form_and_no_others() -> None:
    (streamed,) = AS_COMES.findall((REPOSITORY / "docker" / "front.conf").read_text())
    addresses = {example(pattern): view for pattern, view in patterns(get_resolver())}
    declared = {address for address, view in addresses.items() if takes_more_than_a_form(view)}
    declared -= {"/api/v1/pushes/"}  # its JSON is below 10 MB, which the front takes in
    assert {address for address in addresses if re.fullmatch(streamed, address)} == declared


def stranger() -> Client:
    """A browser with the CSRF cookie, so that the site reads its body to compare the token."""
    client = Client(enforce_csrf_checks=True)
    client.get("/accounts/login/")
    return client


def announce(client: Client, path: str, method: str = "POST", **extra: Any) -> Any:
    """The answer to a large body that has not come: whoever reads it finds nothing."""
    described = {
        "CONTENT_LENGTH": str(LARGE),
        "CONTENT_TYPE": "multipart/form-data; boundary=x",
        "wsgi.input": BytesIO(),
    }
    return client.generic(method, path, **{**described, ASKING: True, **extra})


@pytest.mark.parametrize(
    "path",
    ["/accounts/login/", "/accounts/signup/", "/api/api-token-auth/", "/api/v1/competitions/", "/", "/admin/login/"],
)
def test_a_large_body_of_nobody_is_refused_before_it_comes(client: Client, db: None, path: str) -> None:
    assert announce(client, path).status_code in (405, 413)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/submissions/"),
        ("POST", "/api/v1/bundles/"),
        ("POST", "/api/tasks/upload_task/"),
        ("POST", "/api/competitions/"),
        ("PATCH", f"/api/v1/uploads/{KEY}/"),
        ("POST", "/api/worker/v1/claim"),
        ("POST", "/api/worker/v1/register"),
        ("PUT", f"/api/worker/v1/runs/{KEY}/outputs/scoring.zip"),
    ],
)
def test_an_upload_without_a_valid_token_is_refused_before_it_comes(
    client: Client, db: None, method: str, path: str
) -> None:
    assert announce(client, path, method).status_code == 401
    assert announce(client, path, method, HTTP_AUTHORIZATION="Bearer wrong").status_code == 401


def test_a_form_that_takes_no_file_is_refused_with_one_and_nothing_is_written(
    db: None, settings: LazySettings, tmp_path: Any
) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path)
    for path in ("/accounts/login/", "/api/api-token-auth/", "/accounts/signup/"):
        answer = stranger().post(path, {"login": "a", "file": SimpleUploadedFile("a.bin", b"a" * 1000)})
        assert answer.status_code == 400, path
        assert b"takes no files" in answer.content, path
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_nobody_is_refused_where_people_send_files(
    site: Scenario, settings: LazySettings, tmp_path: Any
) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path)
    file, client = SimpleUploadedFile("a.bin", b"a" * 1000), stranger()
    assert client.post(f"/competitions/{site.competition.slug}/submit/", {"file": file}).status_code == 400
    assert list(tmp_path.iterdir()) == []


def test_who_is_signed_in_may_send_a_file_as_large_as_their_room(
    client: Client, site: Scenario, settings: LazySettings
) -> None:
    client.force_login(site.member(site.join("Team")))
    path = f"/competitions/{site.competition.slug}/submit/"
    answer = announce(client, path)
    assert answer.status_code == 204
    assert answer.admission.takes_files
    assert answer.admission.room_bytes >= LARGE
    settings.UPLOAD_ROOM_BYTES = 1_000_000
    assert announce(client, path).status_code == 413
    settings.UPLOAD_ROOM_BYTES = 100 * LARGE
    settings.UPLOAD_MAX_BYTES = 1_000_000
    assert announce(client, path).status_code == 413


def test_who_is_signed_in_sends_a_file_to_the_api_from_a_page(site: Scenario) -> None:
    client = stranger()
    client.force_login(site.member(site.join("Team")))
    secret = client.cookies["csrftoken"].value
    form = {
        "phase": site.phase.pk,
        "kind": "code",
        "file": SimpleUploadedFile("a.zip", zip_bytes({"metadata.yaml": "command: python3 a.py"})),
    }
    answer = client.post("/api/v1/submissions/", form, headers={"X-CSRFToken": secret})
    assert answer.status_code == 201, answer.content
    assert client.post("/api/v1/submissions/", form).status_code == 403, "without the form's secret"


def test_no_more_comes_when_the_site_is_receiving_all_that_it_has_room_for(
    client: Client, site: Scenario, settings: LazySettings, tmp_path: Any
) -> None:
    settings.UPLOADS_DIR, settings.RECEIVING_BYTES = tmp_path, 2 * LARGE
    client.force_login(site.member(site.join("Team")))
    path = f"/competitions/{site.competition.slug}/submit/"
    assert announce(client, path).status_code == 204
    (tmp_path / "receiving-of-another-process").write_bytes(bytes(LARGE + 1))
    assert announce(client, path).status_code == 503


def test_one_sender_leaves_half_of_that_room_to_others(site: Scenario, settings: LazySettings, tmp_path: Any) -> None:
    settings.UPLOADS_DIR, settings.RECEIVING_BYTES = tmp_path, 4 * LARGE
    path = f"/competitions/{site.competition.slug}/submit/"
    statuses = []
    for name in ("Greedy", "Other"):
        client = Client()
        client.force_login(user := site.member(site.join(name)))
        (tmp_path / f"receiving-person{user.pk}-").write_bytes(bytes(LARGE * 3 // 2 if name == "Greedy" else 0))
        statuses.append(announce(client, path).status_code)
    assert statuses == [503, 204]


def test_an_address_that_does_not_exist_takes_no_body(client: Client, db: None) -> None:
    assert announce(client, "/api/nothing/here/").status_code == 404
    assert UNASKED_BYTES < LARGE
