"""The permission matrix of `tests/permissions.py`: every URL, as each kind of person."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.db import connection, transaction
from django.db.models import Model
from django.urls import reverse

from competitions.catalog.models import Phase
from competitions.submissions.models import Submission
from tests.permissions import EVERYBODY, PAGES, PermissionSite, body_text, depends_on_seal, named_patterns, page_url
from tests.scenario import scenario
from tests.soak import SOAKS

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


# By letter: people who may do at least as much. Where one of them is refused, so is this person.
WITH_MORE_RIGHTS = {"S": "TXM", "T": "M"}


def asked_for(name: str) -> dict[str, int | None]:
    """Those of `expected` that do not follow from another; `make soak` asks as everybody.

    A refusal follows from the same one to somebody with more rights, and an answer to the administrator from the organizer's.
    """
    statuses = expected(name)
    if SOAKS:
        return statuses
    follow = {
        letter
        for letter, others in WITH_MORE_RIGHTS.items()
        if statuses[letter] is not None and statuses[letter] in [statuses[other] for other in others]
    }
    if statuses["O"] is None and statuses["R"] is None:
        follow.add("R")
    return {letter: status for letter, status in statuses.items() if letter not in follow}


def rows_written() -> int:
    """Rows that this connection has written so far, those that it took back as well."""
    return int(connection.connection.total_changes)


def counts() -> list[tuple[str, int]]:
    """Rows by table, asked in one statement."""
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
    """One world for all URLs, each request in its own savepoint.

    M asks for pages by HEAD, which is GET without a body. Pages that a person may read whatever is sealed are asked for by
    `test_sealing_walk.py`, which holds the answer against this table as well.
    """
    patterns = dict(named_patterns())
    wrong = []
    heavy_work.clear()  # of what made the world
    before = counts()  # the same before each request: the one before it was rolled back
    for name, (method, _, _) in PAGES.items():
        url = page_url(permissions, name, patterns[name])
        for letter, expected_status in asked_for(name).items():
            is_head = letter == "M" and method == "get" and name.startswith("web:")
            if expected_status is None and method == "get" and not is_head and not depends_on_seal(patterns[name]):
                continue
            form = dict(FORMS.get(name, {}))
            if name == "web:team-captain":
                form = {"to": permissions.site.member().username}
            save, written = transaction.savepoint(), rows_written()
            response = getattr(permissions.people[letter], "head" if is_head else method)(url, form)
            if body_text(response) and is_head:
                wrong.append(f"{name}: HEAD answers with a body")
            ok = response.status_code < 400 if expected_status is None else response.status_code == expected_status
            if expected_status == 302:
                ok = ok and "/accounts/login/" in response["Location"]
            if not ok:
                wrong.append(f"{name} as {letter}: {response.status_code}, expected {expected_status or 'an answer'}")
            if expected_status is not None and rows_written() != written and counts() != before:
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


def test_the_admin_has_phases_for_organizers_and_the_rest_for_administrators(permissions: PermissionSite) -> None:
    """Rows of one's own competitions and of others; nobody but staff is let in."""
    foreign = scenario()  # a third competition, which neither O nor X organizes
    foreign.score(foreign.submit(), 0.5)
    known = {name for name, _ in named_patterns()}
    names = {f"admin:{m._meta.app_label}_{m._meta.model_name}": m for m in apps.get_models()}
    seen = 0
    for name, model in names.items():
        row = model._default_manager.order_by("-pk").first()
        if f"{name}_change" not in known or row is None:
            continue
        seen += 1
        url = reverse(f"{name}_change", args=[row.pk])
        statuses = {letter: client.get(url).status_code for letter, client in permissions.people.items()}
        is_phase = model is Phase
        assert statuses == dict.fromkeys("ASMT", 302) | dict.fromkeys("OX", 302 if is_phase else 403) | {"R": 200}, name
    assert seen > 10
    own = reverse("admin:catalog_phase_change", args=[permissions.site.phase.pk])
    assert permissions.people["O"].get(own).status_code == 200
    listed = permissions.people["O"].get(reverse("admin:catalog_phase_changelist")).content.decode()
    assert foreign.competition.title not in listed


def test_submissions_of_others_are_not_in_the_list_of_the_api(permissions: PermissionSite) -> None:
    for letter, count in {"S": 0, "M": 1, "T": 0, "O": 1, "X": 0, "R": Submission.objects.count()}.items():
        assert len(permissions.people[letter].get(reverse("api:submissions")).json()["results"]) == count
