"""Texts that people write: bounded, without line breaks where needed, rendered once, by any way."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import models
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from icalendar import Calendar

from accounts.models import Scope, token_create
from competitions.catalog.models import Announcement, Competition, Format, Page, Phase
from competitions.catalog.readiness import competition_warnings
from core.fields import TEXT_REFUSED, LongTextField
from core.markup import bounded
from core.markup.bounded import HERE_CHARACTERS, TOO_COSTLY, rendered
from core.markup.rows import WrittenRow
from files.bundles.schema import PageSpec
from files.markup import MAX_CHARACTERS, render, rendering_key
from tests.refusals import refuses
from tests.scenario import Scenario

OWN_APPS = ("accounts", "audit", "competitions.", "core")
# Written by the site itself, of what it has checked, or by people in a box of several lines; none of them is a heading or a name.
OTHER = {
    "core.StepFailures.step", "core.Turn.queue", "accounts.User.password", "accounts.ApiToken.digest", "accounts.ApiToken.hint",
    "audit.AuditEntry.actor_name", "audit.AuditEntry.method", "audit.AuditEntry.view", "audit.AuditEntry.path", "audit.AuditEntry.action",
    "resources.UploadFailures.cause", "compute.Queue.token_digest", "compute.Launcher.token_digest", "compute.ComputeWorker.instance",
    "catalog.RulesVersion.html_key", "catalog.Page.html_key", "catalog.Announcement.html_key",
    "notifications.Notification.event", "notifications.Notification.subject", "notifications.Notification.path",
    "teams.Registration.decided_reason", "teams.Team.disqualified_reason", "teams.Team.reinstated_reason",
    "webhooks.Webhook.secret", "webhooks.WebhookMessage.event",
    "webhooks.WebhookMessage.answer", "environments.EnvironmentFile.sha256", "environments.EnvironmentFile.image_id",
    "environments.EnvironmentFile.code", "environments.EnvironmentFile.detail", "submissions.Submission.description",
    "submissions.Submission.tag_text",
    "submissions.Submission.disqualified_reason", "submissions.Submission.reinstated_reason",
    "runs.Run.claim_id", "runs.Run.code", "runs.Run.detail", "runs.RunEvent.actor",
    "runs.RunEvent.note", "runs.RunOutput.name", "runs.Attempt.detail", "leaderboards.Entry.tie_key", "leaderboards.Cell.key",
    "leaderboards.Commitment.digest", "leaderboards.Commitment.salt", "leaderboards.Amendment.reason", "leaderboards.Amendment.digest",
    "winners.Place.hardware", "winners.Place.reason", "winners.PlaceEvent.actor", "winners.PlaceEvent.note", "bundles.BundleImport.step",
    "bundles.CompetitionPush.base", "bundles.CompetitionPush.step", "bundles.CompetitionPush.slug", "bundles.CompetitionPush.version",
    "bundles.CompetitionPush.result", "organize.CompetitionDraft.step", "organize.CompetitionDraft.build_step",
    "discussions.Post.html_key", "discussions.Post.state_reason", "discussions.PostWord.word", "discussions.Writer.ban_reason",
    "organize.HostRequest.purpose", "leaderboards.RemovedRow.reason",
}  # fmt: skip
CONTROL = ("a\nb", "a\rb", "a\x0bb", "a\x00b", "a\u2028b", "a\x1b[0mb", "a\ufffeb")
HOSTILE = "<img " * 20_000


def own_fields(kind: type[models.Field[Any, Any]]) -> list[tuple[str, models.Field[Any, Any]]]:
    return [
        (f"{model._meta.label}.{field.name}", field)
        for model in apps.get_models()
        if model.__module__.startswith(OWN_APPS)
        for field in model._meta.local_fields
        if isinstance(field, kind)
    ]


def is_refused(field: models.Field[Any, Any], text: str) -> bool:
    try:
        field.run_validators(text)
    except ValidationError:
        return True
    return False


def test_every_text_of_one_line_refuses_line_breaks_and_control_characters() -> None:
    free = {
        label
        for label, field in own_fields(models.CharField)
        if not field.choices
        and not label.endswith(".asker")
        and not all(is_refused(field, text) for text in ("a\nb", "a\x0bb"))
    }
    assert free == OTHER


def test_the_control_character_that_is_refused_is_named(site: Scenario) -> None:
    site.competition.title = "ab\tc"
    with refuses(TEXT_REFUSED, match="without control characters: there is a tab in place 3"):
        site.competition.save()


@pytest.mark.parametrize("text", CONTROL)
def test_a_title_with_a_control_character_reaches_no_row_by_whatever_way(site: Scenario, text: str) -> None:
    site.competition.title = text
    with pytest.raises(ValidationError):
        site.competition.full_clean()
    with refuses(TEXT_REFUSED, match="Title: Write it on one line"):
        site.competition.save()
    with refuses(TEXT_REFUSED):
        Competition.objects.filter(pk=site.competition.pk).update(title=text)
    with refuses(TEXT_REFUSED):
        Phase.objects.bulk_create([Phase(competition=site.competition, slug="x", name=text, opens_at=site.now)])


@pytest.mark.parametrize(
    "body", [{"title": "a\nb"}, {"pages": [{"title": "a\nb", "content": "x"}]}, {"terms": "x" * 100_001}]
)
def test_codabench_s_way_of_editing_answers_with_what_is_wrong(site: Scenario, body: dict[str, Any]) -> None:
    _, secret = token_create(
        user=site.organizer, name="t", scopes=[Scope.ORGANIZE], expires_at=timezone.now() + timedelta(days=1)
    )
    client = Client(headers={"Authorization": f"Token {secret}"})
    answer = client.patch(f"/api/competitions/{site.competition.pk}/", body, content_type="application/json")
    assert 400 <= answer.status_code < 500, answer.content
    assert "one line" in answer.content.decode() or "100" in answer.content.decode()


def test_a_page_may_have_a_hundred_thousand_characters_by_whatever_way(site: Scenario) -> None:
    page = Page.objects.create(competition=site.competition, title="Long", body="x" * MAX_CHARACTERS)
    page.body += "x"
    with pytest.raises(ValidationError):
        page.full_clean()
    with refuses(TEXT_REFUSED, match="Body"):
        page.save()
    with refuses(TEXT_REFUSED):
        Page.objects.filter(pk=page.pk).update(body=page.body)


def test_a_bundle_s_titles_are_the_words_of_a_yaml_block() -> None:
    assert PageSpec.model_validate({"title": "A\n  title\n", "file": "a.md"}).title == "A   title"


def test_every_text_that_is_laid_out_has_a_bound() -> None:
    shown = {
        "catalog.RulesVersion.text",
        "catalog.Page.body",
        "catalog.Announcement.body",
        "catalog.Series.description",
        "winners.Lane.instructions",
        "discussions.Post.body",
    }
    assert shown <= {label for label, field in own_fields(models.TextField) if isinstance(field, LongTextField)}
    rows = {model._meta.label for model in apps.get_models() if issubclass(model, WrittenRow)}
    assert rows == {"catalog.RulesVersion", "catalog.Page", "catalog.Announcement", "discussions.Post"}


def test_feeds_and_calendars_are_written_of_what_was_stored_before(site: Scenario) -> None:
    Announcement.objects.create(competition=site.competition, title="News", body="One\x0cTwo", published_at=site.now)
    for model, field in ((Competition, "title"), (Phase, "name"), (Announcement, "title")):
        models.QuerySet(model).update(**{field: models.Value("a\nb\x0b\ufffec")})  # as before it was refused
    slug = site.competition.slug
    feed = Client().get(reverse("web:announcement-feed", args=[slug]))
    assert feed.status_code == 200
    root = ET.fromstring(feed.content)
    assert "a b  c: announcements" in {element.text for element in root.iter() if element.text}
    calendar = Client().get(f"/competitions/{slug}/deadlines.ics")
    assert calendar.status_code == 200
    assert "a b  c: a b  c opens" in {
        str(event["summary"]) for event in Calendar.from_ical(calendar.content).walk("VEVENT")
    }


def test_a_hostile_page_costs_the_site_s_process_nothing_and_is_laid_out_once(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    grows = ("```python\n" + "a=1\n" * 4500 + "```\n") * 5  # to 20 times its length
    monkeypatch.setattr(bounded, "BOUNDS", {"wall_s": 300, "cpu_s": 2})  # on a busy machine, too, the cost decides
    began = time.process_time()
    page = Page.objects.create(competition=site.competition, title="Hostile", body=grows)
    assert time.process_time() - began < 0.5, "another process reads it"
    assert page.html_key
    assert page.html.startswith(f'<p class="muted">{TOO_COSTLY}</p>')
    monkeypatch.setattr(bounded, "BOUNDS", {})  # whoever lays a text out fails from here on
    assert Client().get(reverse("web:overview", args=[site.competition.slug])).status_code == 200
    assert Page.objects.get(pk=page.pk).rendering.html == page.html


def test_a_text_that_is_too_long_or_meets_a_busy_machine_is_shown_as_it_was_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    laid_out = rendered("<b>" * MAX_CHARACTERS, Format.MIXED)
    assert TOO_COSTLY in laid_out.html
    assert "&lt;b&gt;" in laid_out.html
    assert "<b>" not in laid_out.html
    assert len(laid_out.html) < 20 * MAX_CHARACTERS
    monkeypatch.setattr(bounded, "BOUNDS", {"wall_s": 0.01, "cpu_s": 5})
    assert rendered("a" * (HERE_CHARACTERS + 1), Format.MARKDOWN).key == "", "it is tried again"


def test_html_of_another_version_or_text_is_made_anew_when_it_is_shown(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page.objects.create(competition=site.competition, title="A", body="*one*")
    assert page.html_key == rendering_key("*one*", "markdown")
    Page.objects.filter(pk=page.pk).update(body="*two*")
    assert "<em>two</em>" in Page.objects.get(pk=page.pk).rendering.html
    assert "<em>two</em>" in Page.objects.get(pk=page.pk).html
    monkeypatch.setattr("files.markup.MARKUP_VERSION", 99)
    stale = Page.objects.get(pk=page.pk)
    assert stale.html_key != stale.rendering.key


def test_images_are_what_the_page_would_show_and_no_pattern_s_guess(site: Scenario) -> None:
    page = Page.objects.create(
        competition=site.competition, title="A", body="`![no](code.png)` ![yes](lost.png)", format=Format.MARKDOWN
    )
    assert page.image_sources == ["lost.png"]
    codes = [warning.code for warning in competition_warnings(site.competition)]
    assert "no_page_image" in codes
    Page.objects.filter(pk=page.pk).update(body=HOSTILE)
    began = time.monotonic()
    competition_warnings(site.competition)
    assert time.monotonic() - began < 20, "it was half a minute"


def test_a_mark_that_an_author_writes_shows_nothing() -> None:
    laid_out = render('![x](a.png) <img src="image-0123456789abcdef-0">', "mixed")
    forged = f'src="image-{laid_out.key[:16]}-7"'
    again = type(laid_out)(f"<p> {forged}</p>", (), laid_out.key)
    assert again.shown(lambda _: pytest.fail("there is no such image")) == "<p></p>"
