"""No page, action, lookup or order in the admin tells organizers a sealed score without the right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest import mock
from urllib.parse import parse_qs

import pytest
import time_machine
from django.apps import apps
from django.contrib import admin
from django.db import models, transaction
from django.test import Client, RequestFactory
from django.urls import reverse

from competitions.catalog.models import Column, Leaderboard, SealedKey
from competitions.leaderboards.models import Cell, Commitment, Entry, Milestone, RankChange, Score
from competitions.leaderboards.sealing import commit_closed_boards
from competitions.runs.leases import reports
from competitions.runs.models import Run, RunLog
from core.guarded_admin import GuardedAdmin
from tests.answers import read_result
from tests.permissions import PermissionSite, body_text
from tests.scenario import Scenario, lease
from tests.shared_rows import shared
from tests.soak import SOAKS, mostly_in_soak

SECRETS = {"first": 0.987654321, "second": 0.912345678}
SHOWN = re.compile(r"0\.98765|0\.91234|0\.9877|0\.9123|(?<![0-9a-f])(98765|91234)")
CHANGING = re.compile(r'csrfmiddlewaretoken" value="\w+"|X-CSRFToken": "\w+"|nonce="[^"]+"|\d\d:\d\d:\d\d')
SECRET_FIELDS: dict[type[models.Model], tuple[str, ...]] = {
    Run: ("scores", "meters", "receipt"),
    RunLog: ("text",),
    Score: ("values", "rank_value"),
    Entry: ("values", "rank_value"),
    Cell: ("sort_value",),
    Milestone: ("rank_value",),
    Commitment: ("salt", "leaves"),
    RankChange: ("rank_before", "rank_after"),
}
DEPTH = 3


def score(site: Scenario, values: dict[str, float], **submitted: Any) -> None:
    site.submit(**submitted)
    run = site.claim()
    result = read_result({"outcome": "finished", "scores": values}, columns=list(values))
    reports.run_complete(**lease(run), result=result, now=site.now)
    RunLog.objects.create(run=run, attempt=1, stream="scoring", seq=0, text=f"{values}")


@shared
def secretive(permissions: PermissionSite) -> PermissionSite:
    """Two teams' scores in a sealed phase, and on a sealed board of the public phase."""
    site = permissions.site
    site.claim()
    final = Leaderboard.objects.create(phase=site.phase, key="final", title="Final", index=1, visibility="sealed")
    Column.objects.create(leaderboard=final, key="private", title="MAE", sorting="asc", is_primary=True)
    for team, secret in zip((site.team, site.join()), SECRETS.values(), strict=True):
        score(site, {"mae": secret}, team=team, phase=site.sealed)
        score(site, {"mae": 0.25, "private": secret}, team=team)
    commit_closed_boards(now=site.now + timedelta(days=365))
    assert SealedKey.objects.count() == 2
    return permissions


def admins() -> dict[type[models.Model], Any]:
    """Every registered model with its admin."""
    registered = [model for model in apps.get_models() if admin.site.is_registered(model)]
    return {model: admin.site.get_model_admin(model) for model in registered}


def admin_url_name(model: type[models.Model], page: str) -> str:
    return f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"


@contextmanager
def models_listed_once() -> Iterator[None]:
    """The list of all models stands on the first page; beside the others it is left out, to save time."""
    listed = admin.site.get_app_list

    def list_models(request: Any, app_label: str | None = None) -> list[Any]:
        return listed(request, app_label) if request.path == reverse("admin:index") else []

    with (
        mock.patch.object(admin.site, "enable_nav_sidebar", new=False),
        mock.patch.object(admin.site, "get_app_list", new=list_models),
    ):
        yield


def addresses(request: Any) -> Iterator[tuple[str, str]]:
    """Every page read by GET, after the whole that it is a part of.

    Lists come in each order, filtered and searched, then forms, histories and deletions, and choices. In `make test`, a
    model that is far from what is sealed has its list and one row. Choices belong to the model that is chosen from: its
    admin alone decides who is offered any, and whether they can be searched. So fields that offer the same rows are asked
    for once.
    """
    yield "index", reverse("admin:index")
    for model, model_admin in admins().items():
        changelist = reverse(admin_url_name(model, "changelist"))
        is_near = SOAKS or any(secret_paths(model, depth=1))
        lists = [changelist, f"{changelist}?_popup=1"] if is_near else [changelist]
        if model_admin.get_search_fields(request):
            lists.append(f"{changelist}?q=0.98")
        if is_near:
            lists += [f"{changelist}?o={number}" for number in orders(model, model_admin, request)]
        yield from ((changelist, url) for url in lists)
        pages = [reverse(admin_url_name(model, "add"))]
        for number, row in enumerate(model._default_manager.order_by("pk")[: 3 if is_near else 1]):
            # A history is read from no column of the row: one will do.
            shown = ("change", "delete") if number else ("change", "delete", "history")
            pages += [reverse(admin_url_name(model, page), args=[row.pk]) for page in shown]
        yield from ((url, url) for url in pages)
    offered = set()
    for model in apps.get_models():
        for field in model._meta.get_fields():
            choices = (field.related_model, str(getattr(field, "get_limit_choices_to", dict)()))
            if isinstance(field, models.ForeignKey) and choices not in offered:
                offered.add(choices)
                where = f"app_label={model._meta.app_label}&model_name={model._meta.model_name}"
                url = f"{reverse('admin:autocomplete')}?{where}&field_name={field.name}&term="
                yield f"choices of {field.related_model}", url


def orders(model: type[models.Model], model_admin: Any, request: Any) -> list[int]:
    """Columns by which a list of this model can be put in another order; downwards it is the same column."""
    if model._default_manager.count() < 2:
        return []
    changelist = model_admin.get_changelist_instance(request)
    names = model_admin.get_list_display(request)
    return [number for number, name in enumerate(names, start=1) if changelist.get_ordering_field(name)]


def after_actions(client: Client, request: Any) -> Iterator[tuple[str, str]]:
    """The answer of each action of each list for all of its rows; whatever it did is taken back."""
    for model, model_admin in admins().items():
        chosen = [str(pk) for pk in model._default_manager.values_list("pk", flat=True)]
        for action in model_admin.get_actions(request) if chosen else ():
            with transaction.atomic():
                posted = {"action": action, "_selected_action": chosen, "index": 0}
                answer = client.post(reverse(admin_url_name(model, "changelist")), posted, follow=True)
                yield f"{model.__name__}: {action}", body_text(answer)
                transaction.set_rollback(True)


def request_by(user: Any) -> Any:
    request = RequestFactory().get("/")
    request.user = user
    return request


def person_behind(permissions: PermissionSite, letter: str) -> Any:
    return permissions.people[letter].get("/").wsgi_request.user


def walked(permissions: PermissionSite, letter: str) -> dict[str, str]:
    """This person's admin pages, text by address; the clock is frozen, because pages show the time."""
    client, request = permissions.people[letter], request_by(person_behind(permissions, letter))
    with (
        time_machine.travel(permissions.site.now + timedelta(hours=1), tick=False),
        models_listed_once(),
    ):
        pages = dict(read_pages(client, request))
        pages |= dict(after_actions(client, request))
    return {url: CHANGING.sub("", text) for url, text in pages.items()}


@pytest.mark.filterwarnings("ignore:Pagination may yield inconsistent results")  # of lists that a library registers
@pytest.mark.parametrize("letter", mostly_in_soak("OXR", always="OR"))
def test_no_page_of_the_admin_says_or_follows_a_sealed_score(secretive: PermissionSite, letter: str) -> None:
    before = walked(secretive, letter)
    assert not [url for url, text in before.items() if SHOWN.search(text)]
    turn_around()
    after = walked(secretive, letter)
    assert not [url for url in before if before[url] != after[url]], "the answer depends on the scores"


def read_pages(client: Client, request: Any) -> Iterator[tuple[str, str]]:
    """The answers of each page. Of what is refused as a whole, only the first is asked."""
    statuses: dict[str, int] = {}  # of the first answer
    for whole, url in addresses(request):
        if statuses.get(whole) not in (403, 404):
            answer = client.get(url)
            statuses.setdefault(whole, answer.status_code)
            yield url, body_text(answer)


def turn_around() -> None:
    """Give every sealed score to the other team, so that every order by it is the other way round."""
    both = sum(SECRETS.values())
    changed: dict[type[models.Model], tuple[str, ...]] = {
        Run: ("scores",),
        Score: ("values",),
        Entry: ("values",),
        Milestone: (),
    }
    for model, names in changed.items():
        for row in model._default_manager.all():
            for name in names:
                values: dict[str, float] = getattr(row, name)
                setattr(row, name, {key: both - value if value > 0.9 else value for key, value in values.items()})
            if isinstance(row, Score | Entry | Milestone) and row.rank_value > 0.9:
                row.rank_value = both - row.rank_value
            row.save()


def secret_paths(model: type[models.Model], depth: int = DEPTH, prefix: str = "") -> Iterator[str]:
    """Lookups from this model to every field that holds what is sealed, over so many relations."""
    yield from (f"{prefix}{name}" for name in SECRET_FIELDS.get(model, ()))
    for field in model._meta.get_fields():
        if depth and field.is_relation and field.related_model and not field.name.endswith("+"):
            target: Any = field.related_model
            yield from secret_paths(target, depth - 1, f"{prefix}{field.name}__")


def test_no_lookup_reaches_what_is_sealed(secretive: PermissionSite) -> None:
    request = request_by(person_behind(secretive, "O"))
    reached = 0
    for model, model_admin in admins().items():
        for path in secret_paths(model):
            for lookup in (path, f"{path}__mae__regex", f"{path}__gt", f"{path}__mae__gte", f"{path}__isnull"):
                assert not model_admin.lookup_allowed(lookup, "0.9", request), f"{model.__name__}: {lookup}"
                reached += 1
    assert reached > 500


@pytest.mark.parametrize(
    "query", ["scores__mae__regex=^0.98", "scores__mae__gt=0.95", "submission__scores__rank_value__lt=1"]
)
def test_a_list_of_runs_refuses_to_be_asked_about_scores(secretive: PermissionSite, query: str) -> None:
    assert secretive.people["R"].get(f"/admin/runs/run/?{query}").status_code == 400


def test_no_list_is_searched_filtered_or_sorted_by_what_is_sealed(secretive: PermissionSite) -> None:
    request = request_by(person_behind(secretive, "R"))
    for model, model_admin in admins().items():
        searched = {str(name).lstrip("^=@") for name in model_admin.get_search_fields(request)}
        filtered = {
            list_filter if isinstance(list_filter, str) else list_filter[0]
            for list_filter in model_admin.get_list_filter(request)
            if not isinstance(list_filter, type)
        }
        sorted_by = {str(name) for name in model_admin.get_list_display(request)}
        assert not [name for name in searched | filtered | sorted_by if is_secret(model, name)], model.__name__


def is_secret(model: type[models.Model], path: str) -> bool:
    """True if the lookup leads from this model to a field that holds what is sealed."""
    first, _, rest = path.partition("__")
    if first in SECRET_FIELDS.get(model, ()):
        return True
    target: Any = {field.name: field.related_model for field in model._meta.get_fields()}.get(first)
    return bool(rest and target) and is_secret(target, rest)


def test_a_lookup_to_what_is_sealed_is_told_from_others() -> None:
    assert [is_secret(Run, path) for path in ("scores", "submission__scores__values", "submission__team__name")] == [
        True,
        True,
        False,
    ]


@models_listed_once()
def test_the_filters_that_a_list_shows_still_work(secretive: PermissionSite) -> None:
    client = secretive.people["R"]
    for model, model_admin in admins().items():
        if not isinstance(model_admin, GuardedAdmin):
            continue
        page = body_text(client.get(reverse(admin_url_name(model, "changelist"))))
        offered = {query.replace("&amp;", "&") for query in re.findall(r'href="(\?[^"]+)"', page)}
        by_names = {tuple(sorted(parse_qs(query[1:], keep_blank_values=True))): query for query in sorted(offered)}
        for query in by_names.values():  # a lookup is let through by its name, whatever its value
            answer = client.get(reverse(admin_url_name(model, "changelist")) + query)
            assert answer.status_code == 200, f"{model.__name__}: {query}"


def test_every_admin_of_ours_is_guarded() -> None:
    ours = [
        model_admin
        for model_admin in admins().values()
        if type(model_admin).__module__.split(".")[0] in ("competitions", "accounts", "audit")
    ]
    assert len(ours) > 20
    assert not [model_admin for model_admin in ours if not isinstance(model_admin, GuardedAdmin)]


def test_no_text_of_a_row_follows_from_a_score(secretive: PermissionSite) -> None:
    names = [str(row) for model in SECRET_FIELDS for row in model._default_manager.all()]
    assert len(names) > 10
    assert not [name for name in names if SHOWN.search(name)]


def test_a_board_with_sealed_scores_is_deleted_by_nobody(secretive: PermissionSite) -> None:
    final = Leaderboard.objects.get(key="final")
    for letter in "OR":
        client = secretive.people[letter]
        delete, chosen = (
            reverse("admin:catalog_leaderboard_delete", args=[final.pk]),
            {"_selected_action": [final.pk]},
        )
        pages = [
            client.get(delete),
            client.post(delete, {"post": "yes"}),
            client.post(
                reverse("admin:catalog_leaderboard_changelist"),
                chosen | {"action": "delete_selected", "post": "yes"},
            ),
        ]
        assert "Are you sure" not in body_text(pages.pop()), "boards are deleted in the workspace alone"
        assert {page.status_code for page in pages} == {403}
    assert Leaderboard.objects.filter(pk=final.pk).exists()
    with pytest.raises(models.ProtectedError):
        final.delete()
