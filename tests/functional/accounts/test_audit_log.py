"""The audit log: every organizer's or administrator's changing request, without secrets."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import token_create
from audit.models import AuditEntry
from tests.permissions import user_client
from tests.scenario import Scenario, person, scenario

pytestmark = pytest.mark.django_db


@pytest.fixture
def site() -> Scenario:
    return scenario()


def test_an_organizers_action_is_kept_with_what_it_was_about(site: Scenario) -> None:
    submission = site.submit()
    form = {"action": "cancel", "confirmed": "yes", "chosen": [str(submission.pk)]}
    user_client(site.organizer).post(reverse("organize:submissions", args=[site.competition.slug]), form)
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.actor_name, entry.action, entry.status) == (
        site.organizer,
        site.organizer.username,
        "cancel",
        302,
    )
    assert entry.view == "organize:submissions"
    assert entry.fields["chosen"] == str(submission.pk)
    assert entry.address == "127.0.0.1"


def test_what_was_refused_is_kept_too(site: Scenario) -> None:
    other = user_client(person(is_staff=True))
    other.post(reverse("admin:catalog_competition_change", args=[site.competition.pk]), {"title": "Mine now"})
    assert AuditEntry.objects.get().status in (302, 403, 404)
    site.competition.refresh_from_db()
    assert site.competition.title != "Mine now"


def test_reading_and_participants_leave_no_entry(site: Scenario) -> None:
    user_client(site.organizer).get(reverse("admin:index"))
    user_client(site.member()).post(reverse("web:team-rename", args=[site.competition.slug]), {"name": "New name"})
    assert not AuditEntry.objects.exists()


def test_an_administrators_call_of_the_api_is_kept(site: Scenario) -> None:
    submission, root = site.submit(), person(is_staff=True, is_superuser=True)
    expires = timezone.now() + timedelta(days=1)
    _, secret = token_create(user=root, name="robot", scopes=["submit", "organize"], expires_at=expires)
    url = reverse("api:submission-cancel", args=[submission.pk])
    Client().post(url, headers={"Authorization": f"Bearer {secret}"})
    entry = AuditEntry.objects.get()
    assert (entry.actor_name, entry.view, entry.status) == (root.username, "api:submission-cancel", 200)


def test_what_a_phase_accepts_is_kept_and_a_one_time_code_is_not(site: Scenario) -> None:
    url = reverse("admin:catalog_phase_change", args=[site.phase.pk])
    user_client(site.organizer).post(url, {"accepts_code": "on", "code": "123456"})
    assert AuditEntry.objects.get().fields == {"accepts_code": "on"}


def test_secrets_are_not_kept_and_nul_does_no_harm(site: Scenario) -> None:
    secrets = ("password", "Password1", "webhook_secret", "token", "csrfmiddlewaretoken", "otp_code", "code")
    form = {"action": "cancel", "odd": "a\0b", **dict.fromkeys(secrets, "correct horse battery")}
    user_client(site.organizer).post(reverse("organize:submissions", args=[site.competition.slug]), form)
    assert AuditEntry.objects.get().fields == {"action": "cancel", "odd": "a b"}


def test_a_new_password_leaves_an_entry_without_it() -> None:
    user = person(is_staff=True)
    user.set_password("correct horse battery")
    user.save()
    form = {"oldpassword": "correct horse battery", "password1": "staple staple", "password2": "staple staple"}
    user_client(user).post(reverse("account_change_password"), form)
    user.refresh_from_db()
    assert user.check_password("staple staple")
    entry = AuditEntry.objects.get()
    assert (entry.view, entry.fields) == ("account_change_password", {})


def test_the_log_is_the_administrators_to_read_and_nobodys_to_change(site: Scenario) -> None:
    entry = AuditEntry.objects.create(
        at=timezone.now() - timedelta(days=1),
        actor=site.organizer,
        actor_name="o",
        method="POST",
        path="/x",
        status=200,
    )
    root = user_client(person(is_staff=True, is_superuser=True))
    listed = reverse("admin:audit_auditentry_changelist")
    assert root.get(listed).status_code == 200
    assert user_client(site.organizer).get(listed).status_code == 403
    change = reverse("admin:audit_auditentry_change", args=[entry.pk])
    assert root.get(change).status_code == 200
    assert root.post(change, {"path": "/y"}).status_code == 403
    assert root.post(reverse("admin:audit_auditentry_delete", args=[entry.pk]), {"post": "yes"}).status_code == 403
    assert AuditEntry.objects.get(pk=entry.pk).path == "/x"
