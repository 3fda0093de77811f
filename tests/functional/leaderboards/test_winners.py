"""The winners' lane: invitations, code, verification with its comparison, and the badge."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Leaderboard, Phase
from competitions.catalog.services import phase_reveal
from competitions.leaderboards.models import Entry, EntryUncertainty, Score
from competitions.resources.storage import store_bytes
from competitions.runs.leases import reports
from competitions.runs.models import Run, RunOutput
from competitions.submissions.models import Submission
from competitions.submissions.quota import allowances
from competitions.submissions.states import Kind
from competitions.teams.models import Registration
from competitions.teams.refusals import RegistrationDenied
from competitions.winners import refusals, services
from competitions.winners.comparison import CannotCompare, compare, read_predictions
from competitions.winners.models import NEXT, Lane, Place, PlaceEvent, State
from competitions.winners.verification import verification_start
from core.reconciler import reconcile
from tests.answers import read_result
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import CODE, FILE_NAME, Scenario, lease, prediction_bytes, zip_bytes
from tests.shared_rows import shared

OFFICIAL = FILE_NAME.replace("test-dev", "test-challenge")
COMMIT = "0123abcd" * 5
OF_A_ROW = ("phase", "team", "submitted_by", "kind", "file", "file_name", "received_at", "created_at", "status")


@shared
def lane(common_site: Scenario) -> Lane:
    """A closed and revealed phase with three ranked teams and a baseline; three places."""
    site = common_site
    for number, name in enumerate(["aa", "bb", "cc"]):
        team = site.join(name)
        site.score(
            site.submit(team=team, phase=site.sealed, content=prediction_bytes(value=1.0 + number)), 0.1 + number / 10
        )
    site.score(site.submit(team=site.join("constant", is_baseline=True), phase=site.sealed), 0.01)
    assert site.sealed.grace_ends_at is not None
    site.now = site.sealed.grace_ends_at
    phase_reveal(phase=site.sealed, now=site.now)
    return Lane.objects.create(leaderboard=site.sealed.leaderboard, top=1, tolerance=1e-6, score_tolerance=1e-6)


def invited(site: Scenario, lane: Lane) -> Place:
    (place,) = services.invite_next(lane=lane, actor="test", now=site.now)
    return place


def test_teams_that_the_board_cannot_tell_apart_from_a_winner_are_invited_too(site: Scenario, lane: Lane) -> None:
    rows = Entry.objects.filter(leaderboard=lane.leaderboard, is_baseline=False).order_by(*Entry.IN_ORDER)
    for entry, tier in zip(rows, (1, 1, 2), strict=True):
        EntryUncertainty.objects.create(entry=entry, low=0.0, high=1.0, tier=tier)
    lane.by_tier = True
    lane.save()
    places = services.invite_next(lane=lane, actor="test", now=site.now)
    assert [(place.team.name, place.rank) for place in places] == [("aa", 1), ("bb", 2)]
    with refuses(refusals.NOBODY_LEFT):
        services.invite_next(lane=lane, actor="test", now=site.now)


def bundle(site: Scenario, place: Place) -> Any:
    return site.upload(zip_bytes(CODE), "code.zip", user=site.member(place.team))


def handed_in(site: Scenario, lane: Lane) -> Place:
    """All that the team hands in."""
    place = invited(site, lane)
    who: dict[str, Any] = {"key": place.key, "by": site.member(place.team), "now": site.now}
    services.code_hand_in(
        **who, repository_url="https://example.org/team/code", commit=COMMIT, upload=bundle(site, place)
    )
    services.report_hand_in(**who, report_url="https://arxiv.org/abs/2103.09430")
    return services.hardware_hand_in(**who, hardware="1 V100 32 GB")


def verified(
    site: Scenario,
    lane: Lane,
    *,
    predictions: bytes | None,
    score: float = 0.1,
    wall_s: float = 3600.0,
    place: Place | None = None,
    name: str = OFFICIAL,
) -> Place:
    """The verification run taken to its end with these predictions, and compared."""
    place = verification_start(key=(place or handed_in(site, lane)).key, by=site.organizer, now=site.now)
    run = site.claim(site.worker(gpus=1), free_gpus=1)
    assert run.submission == place.verification
    if predictions is not None:
        RunOutput.objects.create(
            run=run, attempt=1, name="predictions.zip", file=store_bytes(zip_bytes({f"out/{name}": predictions}))
        )
    body = {"outcome": "finished", "scores": {"mae": score}, "stages": [{"name": "ingestion", "wall_s": wall_s}]}
    reports.run_complete(**lease(run), result=read_result(body, columns=["mae"]), now=site.now)
    assert reconcile(now=site.now)["winners_compared"] == 1
    return Place.objects.get(pk=place.pk)


def test_the_best_are_invited_in_order_with_a_mail_and_a_deadline(
    site: Scenario, lane: Lane, django_capture_on_commit_callbacks: Any
) -> None:
    Lane.objects.update(top=2)
    lane.refresh_from_db()
    with django_capture_on_commit_callbacks(execute=True):
        places = services.invite_next(lane=lane, actor="test", now=site.now)
    assert [(place.team.name, place.rank, place.due_at) for place in places] == [
        ("aa", 1, site.now + timedelta(days=14)),
        ("bb", 2, site.now + timedelta(days=14)),
    ]
    assert [message.subject for message in mail.outbox[-2:]] == [
        f"aa has rank 1 in {site.competition}",
        f"bb has rank 2 in {site.competition}",
    ]
    with refuses(refusals.NOBODY_LEFT):
        services.invite_next(lane=lane, actor="test", now=site.now)


def test_a_team_with_many_rows_does_not_hide_the_others(site: Scenario, lane: Lane) -> None:
    best = Entry.objects.get(leaderboard=lane.leaderboard, team__name="aa")
    scores = Score.objects.bulk_create(
        Score(leaderboard=lane.leaderboard, submission=submission, team=best.team, rank_value=0.1, received_at=site.now)
        for submission in Submission.objects.bulk_create(
            Submission(**{name: getattr(best.score.submission, name) for name in OF_A_ROW}) for _ in range(60)
        )
    )
    shown = {"achieved_at": site.now, "last_at": site.now, "submissions": 61, "rank_value": 0.1}
    Entry.objects.bulk_create(
        Entry(leaderboard=lane.leaderboard, team=best.team, score=score, **shown) for score in scores
    )
    assert invited(site, lane).team.name == "aa"
    Lane.objects.update(top=2)
    lane.refresh_from_db()
    second = invited(site, lane)
    assert (second.team.name, second.rank) == ("bb", 62)


def test_nobody_is_invited_before_the_close_or_the_reveal(site: Scenario) -> None:
    lane = Lane.objects.create(leaderboard=site.phase.leaderboard)
    with refuses(refusals.NOT_REVEALED_YET):
        services.invite_next(lane=lane, actor="test", now=site.now)
    sealed = Lane.objects.create(leaderboard=site.sealed.leaderboard)
    assert site.sealed.closes_at is not None
    with refuses(refusals.NOT_REVEALED_YET, match="tells a rank"):
        services.invite_next(lane=sealed, actor="test", now=site.sealed.closes_at)
    assert not Place.objects.exists()


def test_when_a_team_steps_back_or_fails_the_next_one_is_invited(site: Scenario, lane: Lane) -> None:
    first = invited(site, lane)
    registrations = Registration.objects.filter(user=site.member(first.team))
    registrations.update(state=Registration.State.DENIED)
    with pytest.raises(RegistrationDenied):
        services.place_decline(key=first.key, by=site.member(first.team), now=site.now)
    registrations.update(state=Registration.State.APPROVED)
    services.place_decline(key=first.key, by=site.member(first.team), now=site.now)
    second = lane.places.get(state=State.INVITED)
    services.place_fail(key=second.key, reason="no code", actor="test", now=site.now)
    third = lane.places.get(state=State.INVITED)
    assert [place.team.name for place in (first, second, third)] == ["aa", "bb", "cc"]
    services.place_fail(key=third.key, reason="no code", actor="test", now=site.now)
    with refuses(refusals.NOBODY_LEFT):
        invited(site, lane)


def test_each_step_is_dated_and_who_did_it_is_kept(site: Scenario, lane: Lane) -> None:
    place = handed_in(site, lane)
    events = [(event.target, event.at) for event in PlaceEvent.objects.filter(place=place)]
    assert events == [(state, site.now) for state in (State.INVITED, State.CODE, State.REPORT, State.HARDWARE)]
    assert (place.commit, place.report_url, place.hardware) == (
        COMMIT,
        "https://arxiv.org/abs/2103.09430",
        "1 V100 32 GB",
    )


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"repository_url": "ftp://x"}, "not an address of a repository"),
        ({"repository_url": ""}, "not an address of a repository"),
        ({"commit": "main"}, "not a commit"),
        ({"commit": ""}, "not a commit"),
    ],
)
def test_code_without_a_place_or_a_commit_is_refused(
    site: Scenario, lane: Lane, fields: dict[str, str], match: str
) -> None:
    place = invited(site, lane)
    right: dict[str, Any] = {"repository_url": "https://example.org/team/code", "commit": COMMIT}
    with refuses(refusals.HAND_IN_INVALID, match=match):
        services.code_hand_in(key=place.key, by=site.member(place.team), now=site.now, **(right | fields))
    assert Place.objects.get().state == State.INVITED


def test_steps_have_an_order_a_deadline_and_an_owner(site: Scenario, lane: Lane) -> None:
    place = invited(site, lane)
    who = site.member(place.team)
    report: dict[str, Any] = {"key": place.key, "report_url": "https://arxiv.org/abs/1"}
    with pytest.raises(refusals.NotYourTurn, match="invited"):
        services.report_hand_in(**report, by=who, now=site.now)
    code: dict[str, Any] = {"key": place.key, "repository_url": "https://example.org/team/code", "commit": COMMIT}
    with refuses(refusals.NOT_IN_THIS_LANE):
        services.code_hand_in(**code, by=site.organizer, now=site.now)
    with refuses(refusals.OVERDUE, match="2030-06-14 12:15 UTC"):
        services.code_hand_in(**code, by=who, now=place.due_at)
    services.place_extend(key=place.key, due_at=place.due_at + timedelta(days=1), actor="test", now=place.due_at)
    assert services.code_hand_in(**code, by=who, now=place.due_at).state == State.CODE


def test_without_a_bundle_there_is_nothing_to_run(site: Scenario, lane: Lane) -> None:
    place = invited(site, lane)
    who: dict[str, Any] = {"key": place.key, "by": site.member(place.team), "now": site.now}
    services.code_hand_in(**who, repository_url="https://example.org/team/code", commit=COMMIT)
    services.report_hand_in(**who, report_url="https://arxiv.org/abs/1")
    services.hardware_hand_in(**who, hardware="1 V100")
    with refuses(refusals.NO_CODE):
        verification_start(key=place.key, by=site.organizer, now=site.now)
    assert not Submission.objects.filter(is_verification=True).exists()


def test_the_run_is_in_the_phases_budget_costs_nothing_and_stands_on_no_board(site: Scenario, lane: Lane) -> None:
    Phase.objects.filter(pk=site.sealed.pk).update(gpus=1, time_limit_s=4 * 3600)
    before = Leaderboard.objects.get(phase=site.sealed).entry_count
    place = verified(site, lane, predictions=prediction_bytes(value=1.0))
    run = Run.objects.get(submission=place.verification)
    assert (run.gpus, run.receipt["budget"]["time_limit_s"]) == (1, 4 * 3600)
    assert Leaderboard.objects.get(phase=site.sealed).entry_count == before
    (_, total) = allowances(team_id=place.team_id, phase=site.sealed, now=site.now)
    assert total.used == 1


def test_the_same_predictions_are_confirmed_with_a_public_badge(site: Scenario, lane: Lane) -> None:
    place = verified(site, lane, predictions=prediction_bytes(value=1.0))
    assert (
        place.comparison.items()
        >= {
            "wall_s": 3600.0,
            "limit_s": 600,
            "rows": 40,
            "equal_share": 1.0,
            "mae": 0.0,
            "largest": 0.0,
            "notes": [],
            "score_difference": 0.0,
            "is_within": True,
            "faults": [],
            "checks": [],
        }.items()
    )
    services.place_confirm(key=place.key, actor="test", now=site.now)
    page = Client().get(reverse("web:leaderboard", args=[site.competition.slug]), {"phase": site.sealed.slug})
    assert "✓ verified, 1 h of 10 min" in page.content.decode()
    names = [site.competition.slug, site.sealed.slug]
    (row, *_) = Client().get(reverse("api:leaderboard", args=names)).json()["rows"][1:]
    assert row["verified"] == {"wall_s": 3600.0, "limit_s": 600}
    (winner,) = Client().get(reverse("api:winners", args=names)).json()
    assert (winner["team"], winner["verified_s"], winner["commit"]) == ("aa", 3600.0, COMMIT)


@pytest.mark.parametrize(
    ("predictions", "score", "message"),
    [
        (prediction_bytes(value=1.5), 0.1, "differ by 0.5 on average"),
        (prediction_bytes(value=1.0), 0.2, r"score differs by \+0.1"),
        (prediction_bytes(rows=39), 0.1, "cannot be read"),
        (None, 0.1, "left no predictions"),
    ],
)
def test_what_lies_outside_the_tolerance_is_said_and_cannot_be_confirmed(
    site: Scenario, lane: Lane, predictions: bytes | None, score: float, message: str
) -> None:
    place = verified(site, lane, predictions=predictions, score=score)
    assert not place.comparison["is_within"]
    with pytest.raises(refusals.OutsideTolerance, match=message):
        services.place_confirm(key=place.key, actor="test", now=site.now)
    assert Place.objects.get(pk=place.pk).state == State.COMPARED
    assert Submission.objects.get(pk=place.submission_id).verified_at is None


def test_a_verification_run_over_budget_is_told_and_cannot_be_confirmed(site: Scenario, lane: Lane) -> None:
    place = verification_start(key=handed_in(site, lane).key, by=site.organizer, now=site.now)
    detail = "The program ran for 14,401 s; the limit is 14,400 s."
    body = {"outcome": "failed", "reason": "time_limit", "detail": detail}
    reports.run_complete(**lease(site.claim()), result=read_result(body, columns=["mae"]), now=site.now)
    reconcile(now=site.now)
    with pytest.raises(refusals.OutsideTolerance, match="over the time limit: The program ran for 14,401 s"):
        services.place_confirm(key=place.key, actor="test", now=site.now)
    failed = services.place_fail(key=place.key, reason="Over the budget of 4 hours.", actor="test", now=site.now)
    assert (failed.state, failed.reason) == (State.FAILED, "Over the budget of 4 hours.")


def test_a_fault_of_the_organizers_puts_the_place_back_to_be_run_again(site: Scenario, lane: Lane) -> None:
    place = verification_start(key=handed_in(site, lane).key, by=site.organizer, now=site.now)
    body = {"outcome": "failed", "reason": "scoring_error"}
    reports.run_complete(**lease(site.claim()), result=read_result(body, columns=["mae"]), now=site.now)
    reconcile(now=site.now)
    assert Place.objects.get().state == State.HARDWARE
    again = verification_start(key=place.key, by=site.organizer, now=site.now)
    assert again.verification_id != place.verification_id


def test_what_is_not_ready_is_not_verified_confirmed_or_ended_without_a_reason(site: Scenario, lane: Lane) -> None:
    place = invited(site, lane)
    with pytest.raises(refusals.NotReady):
        verification_start(key=place.key, by=site.organizer, now=site.now)
    with pytest.raises(refusals.NotReady):
        services.place_confirm(key=place.key, actor="test", now=site.now)
    with refuses(refusals.REASON_MISSING):
        services.place_fail(key=place.key, reason="  ", actor="test", now=site.now)
    assert PlaceEvent.objects.count() == 1


def test_a_move_outside_the_table_is_a_fault_of_the_program(site: Scenario, lane: Lane) -> None:
    place = invited(site, lane)
    with pytest.raises(services.IllegalMove):
        services.place_move(place=place, source=State.INVITED, target=State.CONFIRMED, actor="test", now=site.now)
    assert not services.place_move(place=place, source=State.CODE, target=State.REPORT, actor="test", now=site.now)


def test_every_state_that_is_not_final_leads_somewhere() -> None:
    assert {state for targets in NEXT.values() for state in targets} | {State.INVITED} == set(State)


def test_the_team_and_the_organizers_go_the_whole_way_on_the_pages(site: Scenario, lane: Lane) -> None:
    Phase.objects.filter(pk=site.sealed.pk).update(closes_at=site.now - timedelta(days=31))  # a day ago for the pages
    organizer = user_client(site.organizer)
    url = reverse("web:winners", args=[site.competition.slug, site.sealed.slug, "main"])
    assert "No winner is confirmed yet" in Client().get(url).content.decode()
    assert Client().post(url).status_code == 404
    assert organizer.post(url).status_code == 302
    place = Place.objects.get()
    Place.objects.update(due_at=site.now + timedelta(days=10_000))
    team = user_client(site.member(place.team))
    page = reverse("web:winners-place", args=[place.key])
    upload = bundle(site, place).file
    assert upload is not None

    def step(client: Client, action: str, **form: Any) -> int:
        return int(client.post(reverse("web:winners-act", args=[place.key, action]), form).status_code)

    from django.core.files.uploadedfile import SimpleUploadedFile

    zipped = SimpleUploadedFile("code.zip", zip_bytes(CODE))
    assert "1. Code" in team.get(page).content.decode()
    assert step(team, "code", repository_url="https://example.org/team/code", commit=COMMIT, bundle=zipped) == 302
    assert step(team, "verify") == 404
    assert step(team, "report", report_url="https://arxiv.org/abs/1") == 302
    assert step(team, "hardware", hardware="1 V100") == 302
    assert "Start the verification run" in organizer.get(page).content.decode()
    assert step(organizer, "verify") == 302
    run = site.claim(at=site.now + timedelta(days=9_999))
    predictions = zip_bytes({OFFICIAL: prediction_bytes(value=1.0)})
    RunOutput.objects.create(run=run, attempt=1, name="predictions.zip", file=store_bytes(predictions))
    body = {"outcome": "finished", "scores": {"mae": 0.1}}
    reports.run_complete(**lease(run), result=read_result(body, columns=["mae"]), now=site.now)
    reconcile(now=site.now)
    assert "Equal rows" in organizer.get(page).content.decode()
    assert step(organizer, "extend", due_at="soon") == 422
    assert step(organizer, "confirm") == 302
    assert "✓ verified" in Client().get(url).content.decode()


@pytest.mark.parametrize(
    ("ours", "theirs", "equal_share", "mae"),
    [
        ([[1, 2], [3, 4]], [[1, 2], [4, 3]], 0.5, None),
        ([0.5, 1.5], [0.5, 1.0], 0.5, 0.25),
        ([1.0], [1.0], 1.0, 0.0),
    ],
)
def test_predictions_are_compared_row_by_row(ours: Any, theirs: Any, equal_share: float, mae: float | None) -> None:
    comparison = compare({"y": np.array(ours)}, {"y": np.array(theirs)})
    assert (comparison.equal_share, comparison.mae) == (equal_share, mae)


def test_arrays_of_other_names_or_shapes_are_not_compared() -> None:
    with pytest.raises(CannotCompare, match="shape"):
        compare({"y": np.zeros(2)}, {"y": np.zeros(3)})
    with pytest.raises(CannotCompare, match="submitted were"):
        compare({"y": np.zeros(2)}, {"x": np.zeros(2)})


def test_text_without_an_official_format_is_compared_line_by_line(site: Scenario, lane: Lane) -> None:
    Phase.objects.filter(pk=site.sealed.pk).update(prediction_format=None)
    first = Place(lane=lane, submission=Submission(kind=Kind.PREDICTION, file_name="p.zip"))
    ours = read_predictions(store_bytes(zip_bytes({"pred.txt": "a\nb\nc"})), "predictions.zip", None)
    theirs = read_predictions(store_bytes(zip_bytes({"pred.txt": "a\nb\nx"})), first.submission.file_name, None)
    assert compare(ours, theirs).equal_share == pytest.approx(2 / 3)
    with pytest.raises(CannotCompare, match="more than 1,000,000 lines"):
        read_predictions(store_bytes(zip_bytes({"pred.txt": "\n" * 1_000_001})), "predictions.zip", None)
    with pytest.raises(CannotCompare, match="more than 5,000,000 words"):
        read_predictions(store_bytes(zip_bytes({"pred.txt": ".5 " * 5_000_001})), "predictions.zip", None)


def test_a_word_that_differs_does_not_take_the_numbers_beside_it_out_of_the_comparison(
    site: Scenario, lane: Lane
) -> None:
    Phase.objects.filter(pk=site.sealed.pk).update(prediction_format=None)
    place = handed_in(site, lane)
    text = store_bytes(zip_bytes({"out/pred.csv": "id,gap\nm1,0.25\nm2,0.5"}))
    Submission.objects.filter(pk=place.submission_id).update(file=text, file_name="p.zip")
    place = verified(site, lane, place=place, name="pred.csv", predictions=b"ID,gap\nm1,0.75\nm2,0.9")
    assert (place.comparison["mae"], place.comparison["is_within"]) == (None, False)
    assert "0.00% of the rows are equal; 100.00% are asked for" in place.comparison["faults"]


@pytest.mark.parametrize(
    ("ours", "theirs", "mae"),
    [
        ("0.25\n0.5", "0.25\n0.75", 0.125),
        ("id,gap\nmol7,1e-2\nmol8,0.5", "id,gap\nmol7,0.01\nmol8,0.5", 0.0),
        ("1 2.0 0.5", "1 2.0 0.75", 0.125),
        ("cat 0.5", "dog 0.5", None),
        ("3", "4", None),  # classes or rows: of them a mean says nothing
        ("0.5 0.5", "0.5", None),
        ("0.5", "nan", None),
    ],
)
def test_real_numbers_in_text_are_compared_within_the_tolerance(ours: str, theirs: str, mae: float | None) -> None:
    comparison = compare(*({"p.csv": np.array(text.encode().splitlines(), dtype=object)} for text in (ours, theirs)))
    assert comparison.mae == (mae if mae is None else pytest.approx(mae))


def test_a_zip_that_cannot_be_read_is_said_and_stops_nothing(db: None) -> None:
    damaged = bytearray(zip_bytes({"pred.txt": "0.5\n" * 1000}))
    damaged[40:44] = b"\0\0\0\0"
    with pytest.raises(CannotCompare, match="cannot be read"):
        read_predictions(store_bytes(bytes(damaged)), "predictions.zip", None)


def test_winners_of_a_hidden_board_are_for_organizers_alone(site: Scenario, lane: Lane) -> None:
    Leaderboard.objects.filter(pk=lane.leaderboard_id).update(is_hidden=True)
    url = reverse("web:winners", args=[site.competition.slug, site.sealed.slug, "main"])
    assert [user_client(who).get(url).status_code for who in (site.member(), site.organizer)] == [404, 200]


def test_an_invited_captain_sees_it_on_home_team_and_submissions(site: Scenario, lane: Lane) -> None:
    place = invited(site, lane)
    link, slug = reverse("web:winners-place", args=[place.key]), [site.competition.slug]
    pages = [reverse("web:index"), reverse("web:team", args=slug), reverse("web:submissions", args=slug)]
    captain, other = user_client(site.member(place.team)), user_client(site.member(site.teams[-2]))
    assert all(link in captain.get(page).content.decode() for page in pages)
    assert not any(link in other.get(page).content.decode() for page in pages)
    assert link not in Client().get(pages[0]).content.decode()
    services.place_decline(key=place.key, by=site.member(place.team), now=site.now)
    assert not any(link in captain.get(page).content.decode() for page in pages)
