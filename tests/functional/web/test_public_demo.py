"""A public demo: accounts without a password, in which nothing is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Scope, User, token_create
from competitions.teams.models import Team
from config.demo.seed import remove_data
from tests.permissions import user_client
from tests.scenario import Scenario, person

REFUSED = "nothing is saved"


@pytest.fixture
def demo(site: Scenario, settings: Any) -> Scenario:
    settings.PUBLIC_DEMO, settings.REQUIRE_STAFF_MFA = True, True
    settings.DEMO_ACCOUNTS = [site.member().username, site.organizer.username, "nobody"]
    return site


def test_a_visitor_looks_around_without_a_password_and_changes_nothing(demo: Scenario, settings: Any) -> None:
    visitor = Client()
    assert "This is a demo" in visitor.get("/").content.decode()
    page = visitor.get("/demo/").content.decode()
    assert page.count("Look around as ") - 1 == 2, "the account that there is not is left out"
    for user, path in ((demo.member(), "/profile/"), (demo.organizer, f"/host/competitions/{demo.competition.slug}/")):
        assert visitor.post(f"/demo/{user.username}/")["Location"] == "/me/"
        assert visitor.get(path).status_code == 200, "organizers need no second factor here"
        count = Team.objects.count()
        for method in ("post", "put", "patch", "delete"):
            refused = getattr(visitor, method)(path)
            assert (refused.status_code, REFUSED in refused.content.decode()) == (403, True)
            assert "read_only_demo</code>" in refused.content.decode()
        headers = {"Authorization": "Bearer podium_nonsense"}
        refused = visitor.post(f"/api/v1/competitions/{demo.competition.slug}/team/", {"name": "New"}, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (403, "read_only_demo")
        assert Team.objects.count() == count
    settings.DISCOURSE_URL, settings.DISCOURSE_SECRET = "https://forum.example.org", "x" * 32
    assert REFUSED in visitor.get(reverse("web:discourse")).content.decode(), "the forum would keep what they write"
    assert visitor.post("/accounts/logout/").status_code == 302


def test_anybody_else_is_refused_what_writes_and_administrators_and_robots_go_on(demo: Scenario) -> None:
    for path in ("/accounts/signup/", "/accounts/password/reset/", "/notifications/stop/x/"):
        assert REFUSED in Client().post(path, {"email": "a@example.org"}).content.decode()
    assert User.objects.filter(email="a@example.org").count() == 0
    assert "closed" in Client().get("/accounts/signup/").content.decode().lower()
    administrator = person(is_superuser=True, is_staff=True)
    assert REFUSED not in user_client(administrator).post("/profile/", {"first_name": "A"}).content.decode()
    _, secret = token_create(user=demo.member(), name="t", scopes=[Scope.TEAM], expires_at=demo.now.replace(year=2040))
    answer = Client().post(
        f"/api/v1/competitions/{demo.competition.slug}/team/",
        {"name": "New"},
        headers={"Authorization": f"Bearer {secret}"},
    )
    assert answer.json()["code"] == "already_in_a_team"


def test_an_account_that_may_write_is_never_entered_without_a_password(demo: Scenario, settings: Any) -> None:
    administrator, robot, other = person(is_superuser=True), person(is_robot=True), person()
    settings.DEMO_ACCOUNTS = [administrator.username, robot.username]
    for user in (administrator, robot, other):
        assert Client().post(f"/demo/{user.username}/").status_code == 404
    settings.PUBLIC_DEMO, settings.DEMO_ACCOUNTS = False, [other.username]
    visitor = Client()
    assert visitor.post(f"/demo/{other.username}/").status_code == 404
    assert "Look around" not in visitor.get("/").content.decode()


def test_a_demo_that_begins_anew_removes_what_it_made_alone(tmp_path: Path) -> None:
    for name in ("demo.json", "podium.sqlite3", "secret_key", "thesis.tex"):
        (tmp_path / name).touch()
    for name in ("objects", "pictures"):
        (tmp_path / name / "ab").mkdir(parents=True)
    remove_data(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"secret_key", "thesis.tex", "pictures"}
