"""The submissions of a team that stand on a board, under each rule, and those that it may choose."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Column, Leaderboard
from competitions.leaderboards import picks
from competitions.leaderboards.models import Entry, Pick
from competitions.leaderboards.picks import pick_add, pick_remove
from competitions.leaderboards.ranking.rules import CODABENCH_RULES, PICKED, Rule
from competitions.leaderboards.services import board_freeze, board_rebuild
from competitions.runs.leases import reports
from competitions.submissions.models import Submission
from competitions.submissions.services import submission_disqualify
from tests.answers import read_result
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import Scenario, lease, person


def ruled(site: Scenario, rule: Rule, **fields: object) -> Leaderboard:
    Leaderboard.objects.filter(phase=site.phase).update(rule=rule, **fields)
    return Leaderboard.objects.select_related("phase").get(phase=site.phase)


def scored(site: Scenario, *values: float) -> list[Submission]:
    return [site.score(site.submit(at=site.now + timedelta(hours=hour)), value) for hour, value in enumerate(values)]


def standing(board: Leaderboard) -> list[float]:
    return [entry.values["mae"] for entry in board.entries.order_by("rank_value")]


BY_THEMSELVES: dict[str, list[float]] = {
    "Add": [],
    "Add_And_Delete": [],
    "Add_And_Delete_Multiple": [],
    "Force_Last": [0.2],
    "Force_Latest_Multiple": [0.1, 0.2, 0.3],
    "Force_Best": [0.1],
}


def test_each_rule_of_codabench_puts_by_itself_what_it_says(site: Scenario) -> None:
    """One phase with a board under each rule."""
    boards = {}
    for index, name in enumerate(BY_THEMSELVES, start=1):
        boards[name] = Leaderboard.objects.create(
            phase=site.phase, key=name.lower(), title=name, index=index, rule=CODABENCH_RULES[name]
        )
        Column.objects.create(leaderboard=boards[name], key="mae", title="MAE", sorting="asc", is_primary=True)
    scored(site, 0.3, 0.1, 0.2)
    assert {name: standing(board) for name, board in boards.items()} == BY_THEMSELVES
    for board in boards.values():
        board_rebuild(board)
    assert {name: standing(board) for name, board in boards.items()} == BY_THEMSELVES


@pytest.mark.parametrize(
    ("rule", "values"),
    [(Rule.ADD, [0.1]), (Rule.ADD_AND_DELETE, [0.1]), (Rule.ADD_AND_DELETE_MULTIPLE, [0.1, 0.3])],
)
def test_what_the_team_puts_on_stands_alone_or_beside_the_former(
    site: Scenario, rule: Rule, values: list[float]
) -> None:
    board = ruled(site, rule)
    first, second, _ = scored(site, 0.3, 0.1, 0.2)
    for submission in (first, second):
        pick_add(board=board, submission=submission, by=site.member(), now=site.now)
    assert standing(board) == values


@pytest.mark.parametrize("rule", PICKED)
def test_a_choice_is_taken_back_where_the_rule_allows_it(site: Scenario, rule: Rule) -> None:
    board = ruled(site, rule)
    (submission,) = scored(site, 0.3)
    pick_add(board=board, submission=submission, by=site.member(), now=site.now)
    if rule == Rule.ADD:
        with refuses(picks.STAYS_ON_BOARD, match="replaced"):
            pick_remove(board=board, submission=submission, by=site.member(), now=site.now)
        assert standing(board) == [0.3]
    else:
        assert pick_remove(board=board, submission=submission, by=site.member(), now=site.now)
        assert not pick_remove(board=board, submission=submission, by=site.member(), now=site.now)
        assert Pick.objects.count() == 0
        assert standing(board) == ([0.3] if rule == Rule.SELECTED else [])


@pytest.mark.parametrize("rule", [Rule.BEST, Rule.LAST, Rule.ALL])
def test_where_the_rule_decides_there_is_nothing_to_choose(site: Scenario, rule: Rule) -> None:
    board = ruled(site, rule)
    (submission,) = scored(site, 0.3)
    with pytest.raises(picks.NothingToPick, match=board.get_rule_display()):
        pick_add(board=board, submission=submission, by=site.member(), now=site.now)
    assert not Pick.objects.exists()


def test_the_best_among_equals_is_decided_by_the_other_columns_then_by_time(site: Scenario) -> None:
    board = ruled(site, Rule.BEST)
    Column.objects.create(leaderboard=board, key="wall_s", title="Time", kind="meter", sorting="asc", index=1)
    for hour, wall_s in enumerate((9.0, 4.0, 4.0)):
        body = {"outcome": "finished", "scores": {"mae": 0.5}, "stages": [{"name": "scoring", "wall_s": wall_s}]}
        site.answer(site.submit(at=site.now + timedelta(hours=hour)), body)
    assert board.entries.get().achieved_at == site.now + timedelta(hours=1)


def test_a_hidden_column_does_not_decide_which_of_a_teams_submissions_stands(site: Scenario) -> None:
    board = ruled(site, Rule.BEST)
    for index, (key, is_hidden) in enumerate([("secret", True), ("f1", False)], start=1):
        Column.objects.create(leaderboard=board, key=key, title=key, sorting="desc", index=index, is_hidden=is_hidden)
    for hour, (secret, f1) in enumerate([(0.1, 0.3), (0.2, 0.4), (0.3, 0.4), (0.9, 0.3)]):
        body = {"outcome": "finished", "scores": {"mae": 0.5, "secret": secret, "f1": f1}}
        site.answer(site.submit(at=site.now + timedelta(hours=hour)), body)
    assert board.entries.get().achieved_at == site.now + timedelta(hours=1)
    board.columns.filter(key="secret").update(is_hidden=False)
    board_rebuild(board)
    assert board.entries.get().achieved_at == site.now + timedelta(hours=3)


def portions(site: Scenario, **fields: object) -> tuple[Leaderboard, Leaderboard]:
    """One upload scored on two portions: a public board, and a sealed one where what was selected counts."""
    public: Leaderboard = site.phase.leaderboard
    final = Leaderboard.objects.create(
        phase=site.phase, key="final", title="Final", index=1, rule=Rule.SELECTED, visibility="sealed", **fields
    )
    Column.objects.create(leaderboard=final, key="private", title="MAE", sorting="asc", is_primary=True)
    return public, Leaderboard.objects.select_related("phase").get(pk=final.pk)


def both(site: Scenario, public: float, private: float, hour: int = 0) -> Submission:
    from tests.answers import read_result
    from tests.scenario import lease

    submission = site.submit(at=site.now + timedelta(hours=hour))
    run = site.claim(at=submission.created_at)
    assert run.receipt["columns"] == ["mae", "private"]
    body = {"outcome": "finished", "scores": {"mae": public, "private": private}}
    reports.run_complete(**lease(run), result=read_result(body, columns=["mae", "private"]), now=site.now)
    submission.refresh_from_db()
    return submission


def test_the_best_of_the_selected_counts_and_without_one_the_best_public(site: Scenario) -> None:
    public, final = portions(site)
    sent = [both(site, *values, hour) for hour, values in enumerate([(0.1, 0.9), (0.2, 0.3), (0.3, 0.2), (0.4, 0.1)])]
    assert standing(public) == [0.1]
    assert final.entries.get().values == {"private": 0.9}
    for submission in sent[1:3]:
        pick_add(board=final, submission=submission, by=site.member(), now=site.now)
    assert final.entries.get().values == {"private": 0.2}
    submission_disqualify(submission=sent[2], reason="leak", now=site.now)
    assert final.entries.get().values == {"private": 0.3}
    submission_disqualify(submission=sent[1], reason="leak", now=site.now)
    assert final.entries.get().values == {"private": 0.9}


def test_the_best_public_one_counts_also_where_a_freeze_keeps_it_off_the_public_board(site: Scenario) -> None:
    public, final = portions(site)
    both(site, 0.2, 0.3, 0)
    board_freeze(board=public, at=site.now + timedelta(minutes=30))
    both(site, 0.1, 0.9, 1)
    assert standing(public) == [0.2]
    assert final.entries.get().values == {"private": 0.9}


def test_no_more_are_selected_than_the_board_says(site: Scenario) -> None:
    _, final = portions(site, max_selected=2)
    sent = [both(site, 0.1, 0.1, hour) for hour in range(3)]
    for submission in sent[:2]:
        pick_add(board=final, submission=submission, by=site.member(), now=site.now)
    with refuses(picks.TOO_MANY_SELECTED, match="2 of 2"):
        pick_add(board=final, submission=sent[2], by=site.member(), now=site.now)
    pick_add(board=final, submission=sent[0], by=site.member(), now=site.now)  # chosen already: the same again
    assert Pick.objects.count() == 2


def test_the_choice_ends_with_the_deadline_to_the_microsecond(site: Scenario) -> None:
    ends_at = site.now + timedelta(days=1)
    _, final = portions(site, selection_closes_at=ends_at)
    submission = both(site, 0.1, 0.1)
    pick_add(board=final, submission=submission, by=site.member(), now=ends_at - timedelta(microseconds=1))
    with refuses(picks.SELECTION_CLOSED, match="2030-05-02 12:00 UTC"):
        pick_remove(board=final, submission=submission, by=site.member(), now=ends_at)
    assert Pick.objects.count() == 1


def test_a_foreign_submission_is_not_selected(site: Scenario) -> None:
    _, final = portions(site)
    submission = both(site, 0.1, 0.1)
    other = site.join("Other")
    for who in (site.member(other), site.organizer, person()):
        with refuses(picks.NOT_OF_YOUR_TEAM):
            pick_add(board=final, submission=submission, by=who, now=site.now)
    assert not Pick.objects.exists()


def test_what_has_no_score_or_is_disqualified_cannot_be_chosen(site: Scenario) -> None:
    board = ruled(site, Rule.ADD)
    waiting = site.submit()
    with refuses(picks.CANNOT_COUNT, match="no score on this leaderboard"):
        pick_add(board=board, submission=waiting, by=site.member(), now=site.now)
    failed = site.answer(waiting, {"outcome": "failed", "reason": "time_limit"})
    with refuses(picks.CANNOT_COUNT, match="it has no score"):
        pick_add(board=board, submission=failed, by=site.member(), now=site.now)
    (submission,) = scored(site, 0.3)
    submission_disqualify(submission=submission, reason="leak", now=site.now)
    with refuses(picks.CANNOT_COUNT, match="disqualified"):
        pick_add(board=board, submission=submission, by=site.member(), now=site.now)
    assert not Pick.objects.exists()


def test_selecting_on_the_page_and_by_api(site: Scenario) -> None:
    portions(site, max_selected=1)
    first, second = (both(site, 0.1, 0.123456, hour) for hour in range(2))
    client = user_client(site.member())
    page = client.get(reverse("web:submission", args=[first.pk])).content.decode()
    assert "Select as final" in page
    assert "0.1235" not in page
    listed = reverse("web:submissions", args=[site.competition.slug])
    assert "0 of 1 final submissions selected for “Final”. If you select none" in client.get(listed).content.decode()
    assert client.post(reverse("web:submission-pick", args=[first.pk, "final"])).status_code == 302
    assert "1 of 1 final submissions selected" in client.get(listed).content.decode()
    assert "Deselect" in client.get(reverse("web:submission", args=[first.pk])).content.decode()
    url = reverse("api:submission-board", args=[second.pk, "final"])
    refused = client.put(url)
    assert (refused.status_code, refused.json()["code"]) == (409, "too_many_selected")
    assert client.post(reverse("web:submission-unpick", args=[first.pk, "final"])).status_code == 302
    assert client.put(url).json()["selected_on"] == ["final"]
    assert client.delete(url).json()["selected_on"] == []
    assert client.put(reverse("api:submission-board", args=[second.pk, "nowhere"])).status_code == 404


def test_the_best_score_over_time_shows_none_that_a_team_did_not_choose(site: Scenario) -> None:
    board = ruled(site, Rule.ADD)
    scored(site, 0.3, 0.1)
    slug = site.competition.slug
    for url in (
        reverse("web:leaderboard", args=[slug]),
        reverse("web:history", args=[slug]),
        reverse("web:leader-feed", args=[slug, site.phase.slug, board.key]),
    ):
        response = Client().get(url)
        assert response.status_code == 200
        assert site.team.name not in response.content.decode()
        assert "0.1000" not in response.content.decode()
    own = user_client(site.team.captain).get(reverse("web:history", args=[slug])).content.decode()
    assert "only your own team's are drawn" in own
    assert "0.1000" in own


def test_a_frozen_board_shows_what_was_received_before(site: Scenario) -> None:
    board = ruled(site, Rule.BEST, freeze_at=site.now + timedelta(hours=1))
    scored(site, 0.3, 0.1)
    assert standing(board) == [0.3]
    assert [milestone.rank_value for milestone in board.milestones.all()] == [0.3]
    page = Client().get(reverse("web:leaderboard", args=[site.competition.slug]))
    assert "0.1000" not in page.content.decode()
    Leaderboard.objects.filter(pk=board.pk).update(freeze_at=None)
    board_rebuild(board)
    assert standing(board) == [0.1]
    assert Entry.objects.get().submissions == 2


def test_a_team_is_told_nothing_of_a_hidden_board(site: Scenario) -> None:
    hidden = Leaderboard.objects.create(
        phase=site.phase, key="kept-back", title="Kept back", index=1, is_hidden=True, rule="selected", max_selected=1
    )
    Column.objects.create(leaderboard=hidden, key="secret", title="Secret", is_primary=True)
    sent = site.submit()
    run = site.claim()
    result = read_result({"outcome": "finished", "scores": {"mae": 0.5, "secret": 77.25}}, columns=["mae", "secret"])
    reports.run_complete(**lease(run), result=result, now=site.now)
    assert hidden.entries.count() == 1
    slug = site.competition.slug
    pages = [
        reverse("web:submission", args=[sent.pk]),
        reverse("web:submissions", args=[slug]),
        reverse("api:submission", args=[sent.pk]),
    ]
    for page in pages:
        member, organizer = (user_client(who).get(page).content.decode() for who in (site.member(), site.organizer))
        assert "0.5" in member
        assert not [
            hidden_text
            for hidden_text in ("77.25", "Kept back", "Secret", "kept-back", "private score sealed")
            if hidden_text in member
        ], page
        assert "counts now" in member or page == pages[2]
        assert "“Leaderboard”" not in member, "a board is named where there are several"
        assert "counts now:" not in member
        assert "77.25" in organizer or page == pages[1]  # whose list is that of an own team
    addresses = [
        f"{reverse(name, args=[slug, site.phase.slug])}?board=kept-back"
        for name in ("web:leaderboard-csv", "api:leaderboard", "api:leaderboard-csv")
    ]
    addresses.append(f"{reverse('web:leaderboard', args=[slug])}?phase={site.phase.slug}&board=kept-back")
    addresses.append(reverse("web:embed", args=[slug, site.phase.slug, "kept-back"]))
    for address in addresses:
        assert user_client(site.member()).get(address).status_code == 404, address
    picks = [f"/api/v1/submissions/{sent.pk}/boards/kept-back/", f"/submissions/{sent.pk}/boards/kept-back/add/"]
    client = user_client(site.member())
    assert [
        answer.status_code for answer in (client.put(picks[0]), client.delete(picks[0]), client.post(picks[1]))
    ] == [404] * 3
    hidden.delete()
    Leaderboard.objects.update(is_hidden=True)
    assert client.post(f"/api/submissions/{sent.pk}/submission_leaderboard_connection/").status_code == 404


def test_final_submissions_are_chosen_at_once_from_a_list(site: Scenario) -> None:
    portions(site, max_selected=2)
    first, second, third = (both(site, 0.1, 0.123456, hour) for hour in range(3))
    client = user_client(site.member())
    url = reverse("web:finals", args=[site.competition.slug, site.phase.slug, "final"])
    page = client.get(url).content.decode()
    assert [f'value="{submission.pk}"' in page for submission in (first, second, third)] == [True, True, True]
    assert "0.1235" not in page
    shown = [first.pk, second.pk, third.pk]

    def choose(*chosen: Submission, seen: tuple[Submission, ...] = ()) -> int:
        numbers = {
            "chosen": [submission.pk for submission in chosen],
            "seen": [submission.pk for submission in seen],
            "shown": shown,
        }
        return client.post(url, numbers, headers={"Accept": "application/json"}).status_code

    def selected() -> set[int]:
        return set(Pick.objects.values_list("submission", flat=True))

    assert (choose(first, second), selected()) == (302, {first.pk, second.pk})
    assert (choose(third), selected()) == (409, {first.pk, second.pk}), "another device had selected meanwhile"
    assert (choose(first, second, third, seen=(first, second)), selected()) == (409, {first.pk, second.pk})
    assert (choose(third, seen=(first, second)), selected()) == (302, {third.pk})
    shown = [first.pk, second.pk]
    assert (choose(first), selected()) == (302, {first.pk, third.pk}), "what the list did not show stays"


def test_nobody_chooses_another_teams_finals_or_after_the_end(site: Scenario) -> None:
    portions(site, max_selected=2)
    submission = both(site, 0.1, 0.123456, 0)
    url = reverse("web:finals", args=[site.competition.slug, site.phase.slug, "final"])
    stranger = user_client(site.member(site.join("Other team")))
    numbers = {"chosen": [submission.pk], "shown": [submission.pk]}
    assert stranger.post(url, numbers).status_code == 404
    Leaderboard.objects.filter(key="final").update(selection_closes_at=site.now - timedelta(hours=1))
    assert user_client(site.member()).post(url, numbers).status_code == 409
    assert not Pick.objects.exists()
