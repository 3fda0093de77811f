"""A person's data as a file: what is in it, what is not, one at a time, and for how long."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import timedelta
from typing import Any

import time_machine
from django.core import mail
from django.urls import reverse

from accounts.models import User, token_create
from competitions.catalog.models import CompetitionOrganizer, SealedUse
from competitions.people.documents import DOCUMENTS
from competitions.people.exports import EXPORTED_LATELY, KEPT, PAUSE, export_begin, export_perform, remove_old_exports
from competitions.people.models import DataExport
from tests.functional.discussions.world import open_topic
from tests.permissions import body_text, user_client
from tests.refusals import refuses
from tests.scenario import Scenario, person


def exported(user: User, site: Scenario) -> dict[str, Any]:
    """The documents of an export that the person asked for and downloads, by name, and the whole text."""
    export = export_begin(user=user, now=site.now)
    export_perform(export.pk)
    export_perform(export.pk)
    answer: Any = user_client(user).get(reverse("web:own-data-file", args=[export.pk]))
    content = b"".join(answer.streaming_content)
    answer.close()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    return {"text": "".join(texts.values())} | {
        name.removesuffix(".json"): json.loads(text) for name, text in texts.items() if name.endswith(".json")
    }


def test_it_has_what_belongs_to_the_person_and_nothing_sealed_or_secret(site: Scenario) -> None:
    member, other = site.member(), site.join("Others")
    CompetitionOrganizer.objects.create(competition=site.competition, user=member, can_see_sealed=True)
    User.objects.filter(pk=member.pk).update(is_superuser=True)
    member.refresh_from_db()
    site.score(site.submit(), 0.25)
    site.score(site.submit(phase=site.sealed), 0.98765)
    site.score(site.submit(team=other), 0.37512)  # more digits than a time has
    open_topic(site, title="Mine", text="My own words.")
    open_topic(site, by=site.member(other), title="Theirs", text="Words of others.")
    _, secret = token_create(user=member, name="cluster", scopes=["read"], expires_at=site.now + timedelta(days=9))
    with time_machine.travel(site.now, tick=False):
        documents = exported(member, site)
    assert set(documents) == {"text", *DOCUMENTS}
    scores = {row["phase"]: row["scores"] for row in documents["submissions"]}
    assert scores == {"test-dev": [{"column": "mae", "score": "0.2500"}], "test-challenge": []}
    assert documents["registrations"][0]["rules_version__number"] == 1
    assert [row["text"] for row in documents["posts"]] == ["My own words."]
    assert documents["account"][0]["email"] == member.email
    assert documents["tokens"][0]["name"] == "cluster"
    for text in ("0.98765", "0.9877", "0.3751", "Words of others.", secret, member.password, site.member(other).email):
        assert text not in documents["text"], text
    assert not SealedUse.objects.exists()
    assert mail.outbox[-1].to == [member.email]


def test_one_at_a_time_once_a_day_for_its_person_and_for_a_week(site: Scenario) -> None:
    member, stranger = site.member(), person()
    client, address = user_client(member), reverse("web:own-data")
    assert "Have my data written" in client.get(address).content.decode()
    with time_machine.travel(site.now, tick=False):
        assert client.post(reverse("web:own-data-ask")).status_code == 302
        export = DataExport.objects.get()
        assert export_begin(user=member, now=site.now) == export
        assert "being written" in client.get(address).content.decode()
        export_perform(export.pk)
        assert "Download the zip" in client.get(address).content.decode()
        assert "Your data are ready" in body_text(client.get(reverse("web:notifications")))
        inbox = client.get("/api/v1/notifications/").json()["results"]
        assert [(row["kind"], row["competition"], row["path"]) for row in inbox] == [("account", "", "/profile/data/")]
        assert '"account"' not in body_text(client.get(reverse("web:notification-preferences")))
        assert user_client(stranger).get(reverse("web:own-data-file", args=[export.pk])).status_code == 404
        with refuses(EXPORTED_LATELY):
            export_begin(user=member, now=site.now)
        answer = client.post(reverse("web:own-data-ask"), follow=True)
        assert "within the last day" in body_text(answer)
    assert export_begin(user=member, now=site.now + PAUSE) != export
    assert remove_old_exports(now=site.now + KEPT - timedelta(seconds=1)) == 0
    assert remove_old_exports(now=site.now + KEPT) == 1


def test_what_fails_again_and_again_is_given_up(site: Scenario, settings: Any) -> None:
    export = export_begin(user=site.member(), now=site.now)
    settings.BACKGROUND_ATTEMPTS = 0
    export_perform(export.pk)
    assert DataExport.objects.get().state == DataExport.State.FAILED
    assert "could not be written" in user_client(site.member()).get(reverse("web:own-data")).content.decode()
