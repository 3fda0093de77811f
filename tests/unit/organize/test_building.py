"""From answers to a competition: one way in, made anew while nobody else has seen it, and published once."""

from __future__ import annotations

from typing import Any

import pytest

from competitions.catalog.models import Competition, SealedKey
from competitions.organize import drafts
from competitions.organize.building import jobs
from competitions.organize.building.jobs import build_request, draft_publish
from competitions.organize.building.removal import competition_remove
from competitions.organize.models import CompetitionDraft
from competitions.organize.refusals import AlreadyPublished, DraftIncomplete, NotBuilt
from competitions.resources.models import Resource
from tests.background import run_background
from tests.permissions import client_of
from tests.scenario import Scenario, person
from tests.unit.organize.guided import Guided, npz

Start = CompetitionDraft.Start
Build = CompetitionDraft.Build


def begun(site: Scenario, start: CompetitionDraft.Start) -> Guided:
    return Guided(site, drafts.draft_begin(owner=site.organizer, start=start, now=site.now))


@pytest.fixture
def code(site: Scenario) -> Guided:
    """A draft of a code competition with all answers."""
    guided = begun(site, Start.CODE)
    guided.answer("program", minutes="20")
    guided.answer("files")
    guided.finish(title="Learn here", subtitle="From examples")
    return guided


def made(draft: CompetitionDraft) -> Competition:
    assert draft.competition is not None, draft.build_faults
    return draft.competition


def test_a_code_competition_is_built_from_the_example_and_published(code: Guided) -> None:
    competition = made(code.build())
    phase = competition.phases.get()
    assert (competition.slug, competition.is_published, competition.is_trial) == ("learn-here", False, True)
    assert (phase.time_limit_s, phase.accepted_kinds, phase.max_submissions_per_day) == (1200, ["code"], 5)
    assert phase.tasks.get().ingestion_program is not None
    assert competition.rules_versions.get().text.startswith("# Rules")
    code.client.post(f"/host/{code.draft.key}/review/publish/")
    competition.refresh_from_db()
    assert (competition.is_published, competition.is_trial) == (True, False)
    assert not CompetitionDraft.objects.exists()


def test_a_change_builds_the_competition_anew_at_the_same_address_and_leaves_nothing_behind(code: Guided) -> None:
    first = made(code.build())
    files = Resource.objects.count()
    code.answer("schedule", max_team_size="2")
    assert "You changed something" in code.page("review/")
    with pytest.raises(NotBuilt):
        draft_publish(draft=code.draft)
    again = made(code.build())
    assert (again.slug, again.max_team_size, again.pk != first.pk) == (first.slug, 2, True)
    assert not Competition.objects.filter(pk=first.pk).exists()
    assert Resource.objects.count() == files


def test_the_labels_of_a_known_dataset_become_reference_data_with_its_metric_and_format(site: Scenario) -> None:
    guided = begun(site, Start.DATASET)
    guided.answer("dataset", dataset="lsc-pcqm4mv2")
    assert guided.answer("labels").status_code == 422
    guided.attach(npz(y_true=[1.0, 2.0, 3.0]), role="labels", name="labels.npz", step="labels")
    assert guided.answer("labels").status_code == 302
    guided.finish()
    phase = made(guided.build()).phases.get()
    assert phase.prediction_format == {"dataset": "lsc-pcqm4mv2", "split": "test-dev", "rows": 3}
    assert [(column.key, column.sorting) for column in phase.leaderboard.columns.all()] == [("mae", "asc")]


def test_a_leaderboard_of_results_needs_no_labels(site: Scenario) -> None:
    guided = begun(site, Start.DATASET)
    guided.answer("dataset", dataset="ogbl-vessel")
    assert guided.answer("labels").status_code == 302
    guided.finish()
    column = made(guided.build()).phases.get().leaderboard.columns.get()
    assert (column.key, column.spread_key) == ("rocauc", "rocauc_std")


def test_ogb_lsc_gets_an_open_and_a_sealed_split(site: Scenario) -> None:
    guided = begun(site, Start.LSC)
    guided.answer("dataset", dataset="lsc-mag240m")
    for split, labels in (("test-dev", [1, 2]), ("test-challenge", [3])):
        guided.attach(npz(y_true=labels), role=f"labels_{split}", name="y.npz", step="labels")
    guided.answer("labels")
    guided.finish()
    phases = made(guided.build()).phases.order_by("index")
    assert [(one.slug, one.visibility, one.prediction_format["rows"]) for one in phases] == [
        ("test-dev", "public", 2), ("test-challenge", "sealed", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"no numpy", "it is no .npz file"), (npz(other=[1.0]), "y_true")],
    ids=["no npz", "no y_true"],
)
def test_labels_that_are_not_what_the_dataset_has_are_named(site: Scenario, content: bytes, words: str) -> None:
    guided = begun(site, Start.DATASET)
    guided.answer("dataset", dataset="lsc-pcqm4mv2")
    guided.attach(content, role="labels", name="labels.npz", step="labels")
    guided.answer("labels")
    guided.finish()
    assert (guided.build().build, guided.draft.competition) == (Build.FAILED, None)
    assert words in guided.page("trial/")


def test_a_draft_that_is_not_finished_is_not_built(site: Scenario) -> None:
    guided = begun(site, Start.CODE)
    with pytest.raises(DraftIncomplete, match="Budget and image"):
        build_request(draft=guided.draft, now=site.now)


def test_a_build_whose_process_died_is_done_by_another_once(code: Guided, monkeypatch: pytest.MonkeyPatch) -> None:
    build_request(draft=code.draft, now=code.site.now)
    run_background(at=code.site.now)
    jobs.build_perform(code.draft.pk)  # the message came twice
    assert Competition.objects.filter(organizers=code.draft.owner, is_trial=True).count() == 1


def test_a_build_that_breaks_off_again_and_again_is_given_up(code: Guided) -> None:
    build_request(draft=code.draft, now=code.site.now)
    CompetitionDraft.objects.update(attempts=3)
    run_background(at=code.site.now)
    code.draft.refresh_from_db()
    assert (code.draft.build, "by a fault of ours" in code.draft.build_faults[0]) == (Build.FAILED, True)


def test_what_is_published_is_neither_built_nor_thrown_away(code: Guided) -> None:
    competition = made(code.build())
    client_of(person(is_staff=True, is_superuser=True))
    Competition.objects.filter(pk=competition.pk).update(is_trial=False, is_published=True)
    with pytest.raises(AlreadyPublished):
        build_request(draft=code.draft, now=code.site.now)
    competition.refresh_from_db()
    with pytest.raises(AlreadyPublished):
        competition_remove(competition, now=code.site.now)
    drafts.draft_discard(draft=code.draft, now=code.site.now)
    assert Competition.objects.filter(pk=competition.pk).exists()


def test_a_trial_tells_its_organizers_sealed_scores_until_the_competition_is_published(site: Scenario) -> None:
    from competitions.disclosure.readers import reader_of
    from competitions.disclosure.scores import may_see_scores

    board = site.sealed.leaderboard
    Competition.objects.filter(pk=site.competition.pk).update(is_published=False, is_trial=True)
    site.competition.refresh_from_db()
    board.phase.competition.refresh_from_db()
    seen = {name: may_see_scores(reader_of(user), board) for name, user in people(site).items()}
    assert seen == {"organizer": True, "administrator": False, "member": False}
    client_of(site.organizer).post(f"/api/competitions/{site.competition.pk}/toggle_publish/")
    site.competition.refresh_from_db()
    board.phase.competition.refresh_from_db()
    assert (site.competition.is_published, site.competition.is_trial) == (True, False)
    assert not may_see_scores(reader_of(site.organizer), board)
    Competition.objects.filter(pk=site.competition.pk).update(is_published=False)
    assert not may_see_scores(reader_of(site.organizer), board)
    assert not SealedKey.objects.exists()


def people(site: Scenario) -> dict[str, Any]:
    return {
        "organizer": site.organizer,
        "administrator": person(is_staff=True, is_superuser=True),
        "member": site.member(),
    }
