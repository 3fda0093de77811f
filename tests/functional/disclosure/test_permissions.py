"""The permission matrix: every URL of the site and the API, as each kind of person. A new URL must be put into `tests/permissions.py`."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.db.models import Model
from django.urls import reverse

from competitions.catalog.models import Series, Task
from competitions.disclosure.readers import sealed_right_used
from competitions.factsheets.models import Question
from competitions.submissions.models import Dataset, Submission
from competitions.teams.merging import merge_propose
from competitions.teams.models import RegistrationQuestion
from competitions.winners.models import Lane, Place
from tests.permissions import EVERYBODY, PAGES, PermissionSite, body_text, named_patterns, page_url
from tests.scenario import scenario

OTHERS = (
    "admin:",
    "account_",
    "mfa_",
    "django.",
    "social",
    "github_",
    "orcid_",
    "openid_connect_",
)  # Django's and allauth's own; the admin has a test of its own


def expected(name: str) -> dict[str, int | None]:
    """Status by letter; None for "an answer"."""
    _, allowed, refused = PAGES[name]
    statuses: dict[str, int | None] = dict.fromkeys(allowed)
    for letters, status in refused.items():
        statuses |= dict.fromkeys(letters, status)
    return statuses


def counts() -> list[tuple[str, int]]:
    """Rows by table, asked in one statement: it is asked after each refusal."""
    models: list[type[Model]] = [
        m for m in apps.get_models() if m._meta.app_label not in ("sessions", "admin", "usersessions", "audit")
    ]
    tables = [model._meta.db_table for model in models]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(f"SELECT '{table}', count(*) FROM \"{table}\"" for table in tables))
        return sorted(cursor.fetchall())


FORMS: dict[str, Any] = {
    "web:join": {"rules_version": "1"},
    "web:team-create": {"name": "A new team"},
    "web:team-rename": {"name": "A newer name"},
    "web:team-invite": {"person": "nobody at all"},
}


def test_every_url_stands_in_the_table() -> None:
    names = {name for name, _ in named_patterns() if not name.startswith(OTHERS) and name not in OURS_ELSEWHERE}
    assert names == set(PAGES)


OURS_ELSEWHERE = {name for name, _ in named_patterns() if name.startswith("^")}  # patterns without a name


def test_every_url_answers_each_kind_of_person_as_the_table_says_and_does_no_heavy_work(
    permissions: PermissionSite, heavy_work: list[str]
) -> None:
    """One world for all the URLs, each request in a savepoint of its own. HEAD answers as GET does, without a body."""
    patterns = dict(named_patterns())
    wrong = []
    heavy_work.clear()  # of what made the world
    before = counts()  # the same before each request: the one before it was rolled back
    for name, (method, _, _) in PAGES.items():
        url = page_url(permissions, name, patterns[name])
        for letter, expected_status in expected(name).items():
            form = dict(FORMS.get(name, {}))
            if name == "web:team-captain":
                form = {"to": permissions.site.member().username}
            save = transaction.savepoint()
            response = getattr(permissions.people[letter], method)(url, form)
            body_text(response)
            if letter == "M" and method == "get" and name.startswith("web:"):
                head = permissions.people[letter].head(url)
                if (head.status_code, body_text(head)) != (response.status_code, ""):
                    wrong.append(f"{name}: HEAD answers {head.status_code}, GET {response.status_code}")
            ok = response.status_code < 400 if expected_status is None else response.status_code == expected_status
            if expected_status == 302:
                ok = ok and "/accounts/login/" in response["Location"]
            if not ok:
                wrong.append(f"{name} as {letter}: {response.status_code}, expected {expected_status or 'an answer'}")
            if expected_status is not None and counts() != before:
                wrong.append(f"{name} as {letter}: refused, but something was changed")
            if heavy_work:
                wrong.append(f"{name} as {letter} does {', '.join(heavy_work)}")
                heavy_work.clear()
            transaction.savepoint_rollback(save)
    assert not wrong, "\n".join(wrong)


def test_every_letter_stands_in_every_row() -> None:
    for name in PAGES:
        assert "".join(sorted(expected(name))) == "".join(sorted(EVERYBODY)), name


def test_a_draft_exists_for_its_organizers_alone(permissions: PermissionSite) -> None:
    permissions.site.competition.is_published = False
    permissions.site.competition.save()
    for name in ("web:overview", "web:leaderboard", "api:competition", "api:leaderboard"):
        url = page_url(permissions, name, dict(named_patterns())[name])
        for letter, client in permissions.people.items():
            expected_status = 200 if letter in "OR" else 404
            assert client.get(url).status_code == expected_status, f"{name} as {letter}"


def admin_urls() -> list[str]:
    models = [
        m
        for m in apps.get_models()
        if m._meta.app_label
        in ("catalog", "teams", "factsheets", "submissions", "leaderboards", "winners", "resources")
    ]
    known = {name for name, _ in named_patterns()}
    return [
        f"admin:{m._meta.app_label}_{m._meta.model_name}_change"
        for m in models
        if f"admin:{m._meta.app_label}_{m._meta.model_name}_change" in known
    ]


@pytest.mark.parametrize("name", admin_urls())
def test_the_admin_shows_an_organizer_nothing_of_other_competitions(permissions: PermissionSite, name: str) -> None:
    app_label, model_name = name.removeprefix("admin:").removesuffix("_change").split("_", 1)
    model = apps.get_model(app_label, model_name)
    foreign = scenario()  # a third competition, which neither O nor X organizes
    scored = foreign.score(foreign.submit(), 0.5)
    for submission in (scored, Submission.objects.get(pk=permissions.arguments["pk"])):
        task = Task.objects.create(
            competition=submission.phase.competition,
            name="Data",
            scoring_program=submission.phase.tasks.get().scoring_program,
        )
        Dataset.objects.create(submission=submission, task=task, name="Data", joined_at=foreign.now)
    lane = Lane.objects.create(leaderboard=foreign.phase.leaderboard)
    Place.objects.create(
        lane=lane, team=foreign.team, submission=scored, rank=1, invited_at=foreign.now, due_at=foreign.now
    )
    other = foreign.join()
    for site in (permissions.site, foreign):
        Series.objects.create(
            slug=f"series-{site.competition.slug}", title=site.competition.title, owner=site.organizer
        )
        RegistrationQuestion.objects.create(competition=site.competition, key="name", title="Real name")
        Question.objects.create(competition=site.competition, key="method", title="Method")
        sealed_right_used(site.organizer, site.sealed, site.now)
    merge_propose(team=foreign.team, by=foreign.team.captain, other_name=other.name, now=foreign.now)
    pks = {str(row.pk) for row in model._default_manager.all()}
    shown = {pk for pk in pks if permissions.people["O"].get(reverse(name, args=[pk])).status_code == 200}
    for letter in "ASMT":
        assert all(permissions.people[letter].get(reverse(name, args=[pk])).status_code == 302 for pk in pks)
    assert all(permissions.people["R"].get(reverse(name, args=[pk])).status_code == 200 for pk in pks)
    assert shown
    assert shown != pks
    listed = permissions.people["O"].get(reverse(name.replace("_change", "_changelist"))).content.decode()
    assert foreign.competition.title not in listed


def test_submissions_of_others_are_not_in_the_list_of_the_api(permissions: PermissionSite) -> None:
    for letter, count in {"S": 0, "M": 1, "T": 0, "O": 1, "X": 0, "R": Submission.objects.count()}.items():
        assert len(permissions.people[letter].get(reverse("api:submissions")).json()["results"]) == count
