"""Boards in the workspace: changes tell their effect on ranks, except where sealed."""

from __future__ import annotations

import html
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Column, Leaderboard
from competitions.leaderboards.models import Entry
from tests.admin_forms import form_fields
from tests.permissions import user_client
from tests.scenario import Scenario
from tests.shared_rows import shared


@pytest.fixture
def organizer(site: Scenario) -> Client:
    return user_client(site.organizer)


@shared
def podium(common_site: Scenario) -> Leaderboard:
    """Two teams: the first has the lower error, the second the higher."""
    site = common_site
    site.score(site.submit(), 0.25)
    site.score(site.submit(team=site.join("Second")), 0.5)
    return site.phase.leaderboard


def board_url(board: Leaderboard) -> str:
    return reverse("organize:board", args=[board.phase.competition.slug, board.pk])


def send(client: Client, url: str, **changed: Any) -> Any:
    """Open the form, change these fields, send it."""
    return client.post(url, form_fields(client.get(url)) | changed)


def scores(board: Leaderboard) -> list[tuple[int, float]]:
    return list(Entry.objects.filter(leaderboard=board).order_by("pk").values_list("team", "rank_value"))


def test_a_board_that_nobody_touched_is_saved_as_it_is(podium: Leaderboard, organizer: Client) -> None:
    before = list(Column.objects.values()), Leaderboard.objects.values("rule", "freeze_at", "title").get(pk=podium.pk)
    assert send(organizer, board_url(podium)).status_code == 302
    after = list(Column.objects.values()), Leaderboard.objects.values("rule", "freeze_at", "title").get(pk=podium.pk)
    assert before == after


def test_ranks_that_a_change_turns_over_are_said_first(site: Scenario, podium: Leaderboard, organizer: Client) -> None:
    before = scores(podium)
    form = form_fields(organizer.get(board_url(podium))) | {"columns-0-sorting": "desc"}
    confirm_page = organizer.post(board_url(podium), form)
    text = confirm_page.content.decode()
    assert "2 of 2 teams change their rank." in text
    assert f"First is Second; it was {site.team.name}." in text
    assert scores(podium) == before
    assert podium.columns.get(key="mae").sorting == "asc"
    confirmed = confirm_page.context["form"].confirmation
    assert organizer.post(board_url(podium), form | {"confirmed": confirmed}).status_code == 302
    assert scores(podium) != before
    assert podium.columns.get(key="mae").sorting == "desc"


def test_a_column_is_added_and_taken_off_in_one_change(podium: Leaderboard, organizer: Client) -> None:
    number = podium.columns.count()
    added = {f"columns-{number}-title": "Time", f"columns-{number}-kind": "meter", f"columns-{number}-key": "wall_s"}
    assert send(organizer, board_url(podium), **added).status_code == 302
    assert podium.columns.get(key="wall_s").title == "Time"
    place = list(podium.columns.values_list("key", flat=True)).index("wall_s")
    confirm_page = send(organizer, board_url(podium), **{f"columns-{place}-DELETE": "on"})
    assert "The column “Time” leaves the board." in confirm_page.content.decode()
    confirmed = {"confirmed": confirm_page.context["form"].confirmation}
    assert send(organizer, board_url(podium), **{f"columns-{place}-DELETE": "on"} | confirmed).status_code == 302
    assert not podium.columns.filter(key="wall_s").exists()


def test_a_new_column_without_scores_is_said_and_comes_last(
    site: Scenario, podium: Leaderboard, organizer: Client
) -> None:
    def added(key: str, title: str, **fields: str) -> str:
        number = podium.columns.count()
        new = {"title": title, "kind": "score", "key": key} | fields
        sent = {f"columns-{number}-{name}": text for name, text in new.items()}
        page = organizer.post(board_url(podium), form_fields(organizer.get(board_url(podium))) | sent, follow=True)
        return html.unescape(page.content.decode())

    empty = "No submission has a score “rho” so far; they have mae. The column “Rho” stays empty"
    assert empty in added("rho", "Rho")
    assert [column.key for column in podium.columns.order_by("index", "pk")][-1] == "rho"
    page = added("wall_s", "Time", kind="meter")
    assert "was saved." in page
    assert "No submission has" not in page
    assert list(podium.columns.order_by("index").values_list("key", flat=True)) == ["mae", "rho", "wall_s"]
    site.answer(site.submit(), {"outcome": "finished", "scores": {"mae": 0.5, "f1": 0.5}})
    assert "No submission has" not in added("f1", "F1"), "another board may have shown it"


def test_what_a_column_is_computed_from_is_typed_as_keys(podium: Leaderboard, organizer: Client) -> None:
    number = podium.columns.count()
    added = {
        f"columns-{number}-{name}": value
        for name, value in {
            "title": "All",
            "kind": "computed",
            "key": "all",
            "computation": "avg",
            "sources": "mae , f1",
        }.items()
    }
    assert send(organizer, board_url(podium), **added).status_code == 302
    assert podium.columns.get(key="all").sources == ["mae", "f1"]
    assert 'value="mae, f1"' in organizer.get(board_url(podium)).content.decode()
    wrong = send(organizer, board_url(podium), **{"columns-0-precision": "99"})
    assert wrong.status_code == 422
    assert "less than or equal to 15" in wrong.content.decode()


def test_a_sealed_board_stays_sealed_and_tells_no_ranks(site: Scenario, organizer: Client) -> None:
    site.score(site.submit(phase=site.sealed), 0.123456)
    board = site.sealed.leaderboard
    assert "It is sealed" in organizer.get(board_url(board)).content.decode()
    confirm_page = send(organizer, board_url(board), **{"columns-0-sorting": "desc"})
    assert "rank changes are not shown" in confirm_page.content.decode()
    assert site.team.name not in confirm_page.content.decode()
    gone = send(organizer, board_url(board), **{"columns-0-DELETE": "on"})
    assert gone.status_code == 422
    assert "has sealed scores" in gone.content.decode()
    opened = send(organizer, board_url(site.phase.leaderboard), visibility="sealed")
    assert opened.status_code == 302
    assert site.phase.leaderboard.is_set_sealed


def test_a_freeze_says_what_stays_off(site: Scenario, podium: Leaderboard, organizer: Client) -> None:
    confirm_page = send(organizer, board_url(podium), freeze_at=f"{site.now:%Y-%m-%dT%H:%M}")
    assert "stays off the board: 2 submissions so far." in confirm_page.content.decode()
    confirmed = {"confirmed": confirm_page.context["form"].confirmation}
    assert send(organizer, board_url(podium), freeze_at=f"{site.now:%Y-%m-%dT%H:%M}", **confirmed).status_code == 302
    assert not scores(podium)


def test_somebody_who_changed_the_columns_meanwhile_is_said(podium: Leaderboard, organizer: Client) -> None:
    form = form_fields(organizer.get(board_url(podium))) | {"title": "Mine"}
    Column.objects.filter(leaderboard=podium).update(unit="meV")
    conflict = organizer.post(board_url(podium), form)
    assert conflict.status_code == 409
    assert "Somebody else has changed this meanwhile: Unit of the column" in conflict.content.decode()
    assert 'value="meV"' in conflict.content.decode()


def test_a_phase_gets_a_further_board(site: Scenario, organizer: Client) -> None:
    url = reverse("organize:board-new", args=[site.competition.slug, site.phase.pk])
    column = {
        "columns-0-title": "Time",
        "columns-0-kind": "meter",
        "columns-0-key": "wall_s",
        "columns-0-is_primary": "on",
    }
    assert send(organizer, url, title="Fastest", **column).status_code == 302
    board = site.phase.leaderboards.get(title="Fastest")
    assert (board.key, board.columns.get().key) == ("fastest", "wall_s")
    assert site.phase.leaderboards.first() != board


def test_a_deviation_is_a_column_of_the_board(podium: Leaderboard, organizer: Client) -> None:
    refused = send(organizer, board_url(podium), **{"columns-0-spread_key": "mae_std"})
    assert refused.status_code == 422
    assert "There is no other column with the key &#x27;mae_std&#x27; on this board." in refused.content.decode()
    assert not podium.columns.exclude(spread_key="").exists()
    number = podium.columns.count()
    added = {
        f"columns-{number}-title": "Deviation",
        f"columns-{number}-kind": "score",
        f"columns-{number}-key": "mae_std",
    }
    saved = send(organizer, board_url(podium), **added, **{"columns-0-spread_key": "mae_std"})
    assert saved.status_code == 302
    assert podium.columns.exclude(spread_key="").get().spread_key == "mae_std"
    gone = send(organizer, board_url(podium), **{f"columns-{number}-DELETE": "on"})
    assert gone.status_code == 422, "the deviation that another column shows"


def test_two_who_change_columns_at_once_both_keep_what_they_entered(podium: Leaderboard, organizer: Client) -> None:
    url = board_url(podium)
    own_form = form_fields(organizer.get(url)) | {"columns-0-unit": "eV"}
    number = podium.columns.count()
    own_form |= {
        f"columns-{number}-title": "Mine",
        f"columns-{number}-kind": "meter",
        f"columns-{number}-key": "wall_s",
    }
    theirs = {f"columns-{number}-title": "Theirs", f"columns-{number}-kind": "meter", f"columns-{number}-key": "cpu_s"}
    assert send(organizer, url, **theirs, **{"columns-0-precision": "7"}).status_code == 302
    late = organizer.post(url, own_form)
    assert late.status_code == 409
    text = late.content.decode()
    assert "Digits of the column" in text
    assert "which columns there are" in text
    assert not podium.columns.filter(key="wall_s").exists()
    assert organizer.post(url, form_fields(late)).status_code == 302
    first = podium.columns.get(key="mae")
    assert (first.unit, first.precision) == ("eV", 7)
    assert set(podium.columns.values_list("title", flat=True)) >= {"Mine", "Theirs"}


def test_a_column_that_somebody_deletes_while_another_changes_it_is_offered_anew(
    podium: Leaderboard, organizer: Client
) -> None:
    url, extra = board_url(podium), Column.objects.create(leaderboard=podium, key="f1", title="F1", index=7)
    place = list(podium.columns.values_list("pk", flat=True)).index(extra.pk)
    own_form = form_fields(organizer.get(url)) | {f"columns-{place}-unit": "%"}
    extra.delete()
    late = organizer.post(url, own_form)
    assert late.status_code == 409
    assert organizer.post(url, form_fields(late)).status_code == 302
    assert podium.columns.get(key="f1").unit == "%"


def delete_url(board: Leaderboard) -> str:
    return reverse("organize:board-delete", args=[board.phase.competition.slug, board.pk])


def test_a_board_is_deleted_once_what_goes_with_it_was_read(
    site: Scenario, podium: Leaderboard, organizer: Client
) -> None:
    page = organizer.get(delete_url(podium)).content.decode()
    assert "2 rows of 2 teams go" in page
    assert "has no board then" in page
    site.score(site.submit(team=site.join("Known", is_baseline=True)), 0.75)
    assert "2 rows of 2 teams and 1 row of baselines go" in organizer.get(delete_url(podium)).content.decode()
    form = form_fields(organizer.get(delete_url(podium)))
    site.score(site.submit(team=site.join("Third")), 0.75)
    assert organizer.post(delete_url(podium), form).status_code == 409, "a third team has come since"
    assert Leaderboard.objects.filter(pk=podium.pk).exists()
    assert organizer.post(delete_url(podium), form_fields(organizer.get(delete_url(podium)))).status_code == 302
    assert not Leaderboard.objects.filter(pk=podium.pk).exists()


def test_a_board_with_scores_under_seal_is_not_deleted(site: Scenario, organizer: Client) -> None:
    site.score(site.submit(phase=site.sealed), 0.5)
    board = site.sealed.leaderboard
    page = organizer.get(delete_url(board))
    assert "recorded under its seal" in page.content.decode()
    confirmed = page.context["deletion"].confirmation
    assert organizer.post(delete_url(board), {"confirmed": confirmed}).status_code == 409
    assert Leaderboard.objects.filter(pk=board.pk).exists()
