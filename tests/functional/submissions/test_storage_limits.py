"""Storage limits for uploads and teams' files: enforced, refused with figures, and shown."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings as site_settings

from competitions.environments.services import TeamRoom
from competitions.resources.models import Upload
from competitions.resources.uploads import UPLOAD_ROOM_USED, remove_expired_uploads, upload_begin, upload_resize
from competitions.submissions.models import Submission
from competitions.submissions.quota import team_storage
from competitions.submissions.refusals import TEAM_STORAGE_USED
from tests.permissions import body_text, user_client
from tests.refusals import refuses
from tests.scenario import Scenario, person, prediction_bytes


def begin(site: Scenario, size_bytes: int, **changes: Any) -> Upload:
    given: dict[str, Any] = {"user": site.member(), "file_name": "a", "size_bytes": size_bytes, "now": site.now}
    return upload_begin(**(given | changes))


def test_what_is_announced_counts_until_its_time_is_over(site: Scenario, settings: Any) -> None:
    settings.UPLOAD_ROOM_BYTES = 100
    begin(site, 60)
    with refuses(UPLOAD_ROOM_USED, match="take 60 of 100 bytes, and this one has 41"):
        begin(site, 41)
    assert Upload.objects.count() == 1
    begin(site, 41, user=person())
    begin(site, 40)
    later = site.now + timedelta(seconds=site_settings.UPLOAD_EXPIRES_S)
    remove_expired_uploads(now=later)
    begin(site, 100, now=later)


def test_an_upload_that_was_announced_small_grows_within_the_room_alone(site: Scenario, settings: Any) -> None:
    settings.UPLOAD_ROOM_BYTES = 100
    begin(site, 60)
    small = begin(site, 1)
    assert upload_resize(upload=small, size_bytes=40).size_bytes == 40
    with refuses(UPLOAD_ROOM_USED):
        upload_resize(upload=small, size_bytes=41)


def test_a_team_keeps_only_so_much_and_the_same_file_counts_once(site: Scenario, settings: Any) -> None:
    first = site.submit()
    size = first.file.size_bytes
    settings.TEAM_STORAGE_BYTES = size
    assert team_storage(site.team.pk) == TeamRoom(size, size)
    site.submit()
    with refuses(TEAM_STORAGE_USED, match=f"take {size:,} of {size:,} bytes") as refused:
        site.submit(content=prediction_bytes(value=2.0))
    assert (refused.value.http_status, refused.value.extra) == (413, {"used": size, "limit": size})
    assert Submission.objects.count() == 2
    site.submit(team=site.join(), content=prediction_bytes(value=2.0))


def test_a_file_that_just_fits_is_taken_and_anothers_file_is_not_ones_own(site: Scenario, settings: Any) -> None:
    other, content = site.join(), prediction_bytes(value=2.0)
    assert team_storage(other.pk).used_bytes == 0
    settings.TEAM_STORAGE_BYTES = site.submit().file.size_bytes + len(content)
    file = site.submit(content=content).file
    settings.TEAM_STORAGE_BYTES = file.size_bytes - 1
    with refuses(
        TEAM_STORAGE_USED, match=f"take 0 of {file.size_bytes - 1:,} bytes, and this one has {file.size_bytes:,}"
    ):
        site.submit(team=other, content=content)


def test_team_page_and_api_show_it(site: Scenario, settings: Any) -> None:
    size = site.submit().file.size_bytes
    settings.TEAM_STORAGE_BYTES = 100 * 1024**3
    client = user_client(site.member())
    page = body_text(client.get(f"/competitions/{site.competition.slug}/team/"))
    assert "Submitted files: " in page
    assert "of 100 GiB" in page or "of 100.0 GiB" in page
    team = client.get(f"/api/v1/competitions/{site.competition.slug}/team/").json()
    assert team["storage"] == {"used_bytes": size, "limit_bytes": 100 * 1024**3}
