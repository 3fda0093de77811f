"""From answers to a competition: rebuilt while only its organizers see it, published once."""

from __future__ import annotations

import io
import json
import re
import zipfile
from typing import Any

import polars as pl
import pytest

from competitions.catalog.models import Competition, CompetitionOrganizer, SealedKey
from competitions.catalog.organizers import organizer_remove
from competitions.catalog.publishing import competition_publish
from competitions.disclosure.readers import reader_for
from competitions.disclosure.scores import may_see_scores
from competitions.organize import drafts
from competitions.organize.building import jobs
from competitions.organize.building.jobs import build_request, draft_publish
from competitions.organize.building.removal import competition_remove
from competitions.organize.models import CompetitionDraft
from competitions.organize.refusals import ALREADY_PUBLISHED, DRAFT_INCOMPLETE, NOT_BUILT
from competitions.organize.steps.paths import default_texts, find_slot
from competitions.resources.models import Resource
from competitions.resources.storage import open_stored
from competitions.runs.models import RunLog
from competitions.submissions.states import REASONS, Reason
from tests.background import run_background
from tests.functional.organize.guided import SOLUTION, Guided, npz
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import Scenario, person, zip_bytes
from tests.shared_rows import shared
from tests.soak import in_soak

Start = CompetitionDraft.Start
Build = CompetitionDraft.Build


def begun(site: Scenario, start: CompetitionDraft.Start) -> Guided:
    return Guided(site, drafts.draft_begin(owner=site.organizer, start=start, now=site.now))


@shared
def code_draft(common_site: Scenario) -> CompetitionDraft:
    """A draft of a code competition with all answers."""
    guided = begun(common_site, Start.CODE)
    guided.answer("program", minutes="20")
    guided.answer("files")
    guided.finish(title="Learn here", subtitle="From examples")
    return guided.draft


@pytest.fixture
def code(site: Scenario, code_draft: CompetitionDraft) -> Guided:
    """Its owner's browser."""
    return Guided(site, code_draft)


@shared
def code_built(common_site: Scenario, code_draft: CompetitionDraft) -> CompetitionDraft:
    """It, once its competition is made."""
    return Guided(common_site, code_draft).build()


@pytest.fixture
def built_code(site: Scenario, code_built: CompetitionDraft) -> Guided:
    """Its owner's browser."""
    return Guided(site, code_built)


def made(draft: CompetitionDraft) -> Competition:
    assert draft.competition is not None, draft.build_faults
    return draft.competition


def gives_exact_scores(competition: Competition) -> list[bool]:
    """Of each of its boards."""
    boards = competition.phases.get().leaderboards.all()
    return [board.gives_exact_scores for board in boards]


def test_a_code_competition_is_built_from_the_example_and_published(built_code: Guided) -> None:
    code = built_code
    competition = made(code.draft)
    phase = competition.phases.get()
    assert gives_exact_scores(competition) == [False]
    assert (competition.slug, competition.is_published, competition.is_trial) == ("learn-here", False, True)
    assert (phase.time_limit_s, phase.accepted_kinds, phase.max_submissions_per_day) == (1200, ["code"], 5)
    assert phase.tasks.get().ingestion_program is not None
    assert competition.rules_versions.get().text.startswith("# Rules")
    assert trial_facts(code) == ("Baseline of the example", "code", "queued")
    code.client.post(f"/host/{code.draft.key}/review/publish/")
    competition.refresh_from_db()
    assert not competition.is_published, "the trial has not been scored"
    code.score_trial(accuracy=0.5)
    assert code.client.post(f"/host/{code.draft.key}/review/publish/", {"when": "later"}).status_code == 422
    competition.refresh_from_db()
    assert not competition.is_published, "nobody knows what that means"
    code.client.post(f"/host/{code.draft.key}/review/publish/")
    competition.refresh_from_db()
    assert (competition.is_published, competition.is_trial) == (True, False)
    assert not CompetitionDraft.objects.exists()


def trial_facts(guided: Guided) -> tuple[str, str, str]:
    """The team that was made for it, what it sends, and how far that is."""
    trial = guided.draft.trial
    assert trial is not None, guided.draft.build_faults
    assert trial.team.is_baseline
    return trial.team.name, trial.kind, trial.status


def test_programs_of_ones_own_are_tried_with_a_submission_of_ones_own_or_not_at_all(site: Scenario) -> None:
    guided = begun(site, Start.CODE)
    guided.answer("program", minutes="20", score="f1")
    program = zip_bytes({"metadata.yaml": "command: python3 $program/score.py", "score.py": "pass"})
    guided.give(program, role="scoring_program", name="scoring.zip", step="files")
    guided.finish()
    assert guided.build().trial is None
    assert "no trial submission was sent" in guided.page("review/")
    guided.give(zip_bytes({"model.py": "pass"}), role="sample", name="ours.zip", step="files")
    guided.build()
    assert trial_facts(guided) == ("Baseline", "code", "queued")
    guided.score_trial(f1=0.5)
    guided.client.post(f"/host/{guided.draft.key}/review/publish/")
    assert made(guided.draft).organizers.get() == site.organizer
    assert Competition.objects.get(pk=made(guided.draft).pk).is_published


def test_a_change_builds_the_competition_anew_at_the_same_address_and_leaves_nothing_behind(built_code: Guided) -> None:
    code = built_code
    first = made(code.draft)
    files = Resource.objects.count()
    code.answer("schedule", max_team_size="2")
    assert "You changed something" in code.page("review/")
    with refuses(NOT_BUILT):
        draft_publish(draft=code.draft)
    again = made(code.build())
    assert (again.slug, again.max_team_size, again.pk != first.pk) == (first.slug, 2, True)
    assert not Competition.objects.filter(pk=first.pk).exists()
    assert Resource.objects.count() == files


def test_the_labels_of_a_known_dataset_become_reference_data_with_its_metric_and_format(site: Scenario) -> None:
    guided = begun(site, Start.DATASET)
    guided.answer("dataset", dataset="lsc-pcqm4mv2")
    assert guided.answer("labels").status_code == 422
    guided.give(npz(y_true=[1.0, 2.0, 3.0]), role="labels", name="labels.npz", step="labels")
    assert guided.answer("labels").status_code == 302
    guided.finish()
    phase = made(guided.build()).phases.get()
    assert trial_facts(guided) == ("Random baseline", "prediction", "queued")
    assert phase.prediction_format == {"dataset": "lsc-pcqm4mv2", "split": "test-dev", "rows": 3}
    assert [(column.key, column.sorting) for column in phase.leaderboard.columns.all()] == [("mae", "asc")]


def test_a_leaderboard_of_results_needs_no_labels(site: Scenario) -> None:
    guided = begun(site, Start.DATASET)
    guided.answer("dataset", dataset="ogbl-vessel")
    assert guided.answer("labels").status_code == 302
    guided.finish()
    columns = made(guided.build()).phases.get().leaderboard.columns.all()
    assert (guided.draft.trial, guided.draft.build_faults) == (None, [])
    assert gives_exact_scores(made(guided.draft)) == [False]
    assert [(column.key, column.spread_key, column.is_hidden) for column in columns] == [
        ("rocauc", "rocauc_std", False),
        ("rocauc_std", "", True),
    ]


def test_ogb_lsc_gets_an_open_and_a_sealed_split(site: Scenario) -> None:
    guided = begun(site, Start.LSC)
    guided.answer("dataset", dataset="lsc-mag240m")
    for split, labels in (("test-dev", [1, 2]), ("test-challenge", [3])):
        guided.give(npz(y_true=labels), role=f"labels_{split}", name="y.npz", step="labels")
    guided.answer("labels")
    guided.finish()
    phases = made(guided.build()).phases.order_by("index")
    assert trial_facts(guided) == ("Random baseline", "prediction", "queued")
    assert [(phase.slug, phase.visibility, (phase.prediction_format or {})["rows"]) for phase in phases] == [
        ("test-dev", "public", 2),
        ("test-challenge", "sealed", 1),
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"no numpy", "it is not an .npz file", id="no npz", marks=in_soak),
        pytest.param(npz(other=[1.0]), "y_true", id="no y_true"),
    ],
)
def test_labels_that_are_not_what_the_dataset_has_are_named(site: Scenario, content: bytes, words: str) -> None:
    guided = begun(site, Start.DATASET)
    guided.answer("dataset", dataset="lsc-pcqm4mv2")
    guided.give(content, role="labels", name="labels.npz", step="labels")
    guided.answer("labels")
    guided.finish()
    assert (guided.build().build, guided.draft.competition) == (Build.FAILED, None)
    assert words in guided.page("trial/")


def test_a_draft_that_is_not_finished_is_not_built(site: Scenario) -> None:
    guided = begun(site, Start.CODE)
    with refuses(DRAFT_INCOMPLETE, match="Budget and image"):
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
    assert (code.draft.build, "because of an error on our side" in code.draft.build_faults[0]) == (Build.FAILED, True)


def test_a_draft_is_its_owners_as_long_as_they_organize_its_competition(built_code: Guided) -> None:
    code = built_code
    competition = made(code.draft)
    CompetitionOrganizer.objects.create(competition=competition, user=person())
    code.answer("schedule", max_team_size="2")
    build_request(draft=code.draft, now=code.site.now)
    organizer_remove(organizer=CompetitionOrganizer.objects.get(competition=competition, user=code.draft.owner))
    run_background(at=code.site.now)
    code.draft.refresh_from_db()
    assert code.draft.build_faults == ["You no longer organize the competition that it would replace."]
    assert code.draft.title not in code.client.get("/host/").content.decode()
    for path, sent in (("trial/build/", {}), ("review/publish/", {"when": "cancel"}), ("discard/", {})):
        assert code.client.post(f"/host/{code.draft.key}/{path}", sent).status_code == 404, path
    assert code.client.get(f"/host/{code.draft.key}/trial/").status_code == 404
    competition_publish(competition, anyway=True)
    assert not CompetitionDraft.objects.exists(), "the others wait for no draft that they cannot change"


def test_what_is_published_is_neither_built_nor_thrown_away(built_code: Guided) -> None:
    code = built_code
    competition = made(code.draft)
    user_client(person(is_staff=True, is_superuser=True))
    Competition.objects.filter(pk=competition.pk).update(is_trial=False, is_published=True)
    with refuses(ALREADY_PUBLISHED):
        build_request(draft=code.draft, now=code.site.now)
    competition.refresh_from_db()
    with refuses(ALREADY_PUBLISHED):
        competition_remove(competition, now=code.site.now)
    drafts.draft_discard(draft=code.draft, now=code.site.now)
    assert Competition.objects.filter(pk=competition.pk).exists()


def test_a_trial_tells_its_organizers_sealed_scores_until_the_competition_is_published(site: Scenario) -> None:
    board = site.sealed.leaderboard
    Competition.objects.filter(pk=site.competition.pk).update(is_published=False, is_trial=True)
    site.competition.refresh_from_db()
    board.phase.competition.refresh_from_db()
    seen = {name: may_see_scores(reader_for(user), board) for name, user in people(site).items()}
    assert seen == {"organizer": True, "administrator": False, "member": False}
    user_client(site.organizer).post(f"/api/competitions/{site.competition.pk}/toggle_publish/")
    site.competition.refresh_from_db()
    board.phase.competition.refresh_from_db()
    assert (site.competition.is_published, site.competition.is_trial) == (True, False)
    assert not may_see_scores(reader_for(site.organizer), board)
    Competition.objects.filter(pk=site.competition.pk).update(is_published=False)
    assert not may_see_scores(reader_for(site.organizer), board)
    assert not SealedKey.objects.exists()


def people(site: Scenario) -> dict[str, Any]:
    return {
        "organizer": site.organizer,
        "administrator": person(is_staff=True, is_superuser=True),
        "member": site.member(),
    }


def table(site: Scenario, **split: Any) -> Guided:
    """A draft of a table competition with all answers."""
    guided = begun(site, Start.TABLE)
    guided.give(SOLUTION)
    guided.give("id,price\n1,3\n2,5\n", role="training", name="train.csv")
    for step, values in (
        ("data", {}),
        ("columns", {"targets": ["price"], "slices": "area", "descriptions": "id:\nprice: in euros, with tax: yes"}),
        ("metric", {"metric": "mae"}),
        ("split", split),
    ):
        answered = guided.answer(step, **values)
        assert answered.status_code == 302, answered.content.decode()
    guided.finish(title="Prices of houses")
    return guided


@shared
def table_draft(common_site: Scenario) -> CompetitionDraft:
    """A draft of a table competition with a private part."""
    return table(common_site).draft


@pytest.fixture
def prices(site: Scenario, table_draft: CompetitionDraft) -> Guided:
    """Its owner's browser."""
    return Guided(site, table_draft)


@shared
def table_built(common_site: Scenario, table_draft: CompetitionDraft) -> CompetitionDraft:
    """It, once its competition is made."""
    return Guided(common_site, table_draft).build()


@pytest.fixture
def built_prices(site: Scenario, table_built: CompetitionDraft) -> Guided:
    """Its owner's browser."""
    return Guided(site, table_built)


def test_a_table_becomes_a_competition_with_an_open_and_a_sealed_board_and_a_trial(built_prices: Guided) -> None:
    guided = built_prices
    competition = made(guided.draft)
    phase = competition.phases.get()
    assert gives_exact_scores(competition) == [False, False]
    boards = [
        (board.title, board.visibility, board.rule, board.columns.get().key) for board in phase.leaderboards.all()
    ]
    assert boards == [("Public", "phase", "best", "mae_public"), ("Private", "sealed", "selected", "mae_private")]
    assert (phase.prediction_format or {})["table"]["columns"] == [{"name": "price"}]
    assert (phase.public_data is not None, phase.sample_submission is not None, phase.reveal_at) == (
        True,
        True,
        phase.closes_at,
    )
    assert phase.described_columns == {"price": "in euros, with tax: yes"}
    shown = guided.client.get(f"/competitions/{competition.slug}/data/").content.decode()
    assert "in euros, with tax: yes" in shown
    assert trial_facts(guided) == ("Constant baseline", "prediction", "queued")
    truth = phase.tasks.get().reference_data
    assert truth is not None
    with open_stored(truth.file) as file, zipfile.ZipFile(file) as packed:
        assert json.loads(packed.read("metric.json"))["slices"] == ["area"]


def attach_unread(guided: Guided, content: bytes) -> None:
    """Upload test data that no background process reads yet."""
    upload = guided.site.upload(content, "test.csv", user=guided.draft.owner)
    slot = find_slot(guided.draft, "test")
    assert slot is not None
    drafts.draft_attach(draft=guided.draft, slot=slot, upload=upload, now=guided.site.now)
    guided.draft.refresh_from_db()


def test_nothing_is_built_while_a_file_is_being_read(site: Scenario, prices: Guided) -> None:
    guided = prices
    attach_unread(guided, b"id,price\n1,3\n")
    with refuses(DRAFT_INCOMPLETE, match="“Data”"):
        build_request(draft=guided.draft, now=site.now)
    run_background(at=site.now)
    with refuses(DRAFT_INCOMPLETE, match="“Columns”"):  # now it is known that the file tells the answers
        build_request(draft=guided.draft, now=site.now)


def test_nothing_is_published_that_a_file_contradicts_once_it_is_read(site: Scenario, built_prices: Guided) -> None:
    guided = built_prices
    guided.score_trial(mae_public=1.25, mae_private=1.75)
    attach_unread(guided, b"id,price\n1,3\n")
    CompetitionDraft.objects.update(built_version=guided.draft.version)  # as if it was built before the file was read
    for step in ("“Data”", "“Columns”"):
        with refuses(DRAFT_INCOMPLETE, match=step):
            draft_publish(draft=guided.draft)
        run_background(at=site.now)
    assert not Competition.objects.get(pk=made(guided.draft).pk).is_published


def test_the_trial_shows_both_scores_and_the_log_and_then_it_can_be_published(built_prices: Guided) -> None:
    guided = built_prices
    trial = guided.draft.trial
    assert trial is not None
    guided.client.post(f"/host/{guided.draft.key}/review/publish/")
    assert not made(guided.draft).is_published, "the trial has not been scored"
    run = guided.score_trial(mae_public=1.25, mae_private=1.75)
    RunLog.objects.create(run=run, attempt=1, stream="scoring", seq=0, text="scored 20 and 10 rows")
    shown = guided.page("trial/")
    assert all(words in shown for words in ("1.2500", "1.7500", "scored 20 and 10 rows"))
    assert primary_buttons(shown) == ["Next"]
    assert "of the target</small>" not in shown, "what its unit is, nobody has been asked"
    assert ">Publish<" in guided.page("review/")
    assert " disabled" not in guided.page("review/")
    # The best constant is learnt from the training data: the median of 3 and 5.
    errors = [abs(row * 1.5 - 4) for row in range(30)]
    constants = {
        "mae_public": sum(error for row, error in enumerate(errors) if row % 3) / 20,
        "mae_private": sum(error for row, error in enumerate(errors) if not row % 3) / 10,
    }
    assert {score["key"]: score["constant"] for score in guided.draft.score_scale} == pytest.approx(constants)
    assert all(f"{value:.4f}" in shown for value in (*constants.values(), 0.0))
    assert "30 different values" in shown, "the distribution of the target"
    assert made(guided.build()).slug == "prices-of-houses", (
        "the trial's sealed keys do not keep it from being built anew"
    )


ONLY_IDS = "Teams get only the ids. Upload training and test data, or they have nothing to predict from."


def test_a_table_without_data_for_teams_is_warned_of_and_its_pages_name_none(
    site: Scenario, built_prices: Guided
) -> None:
    bare = begun(site, Start.TABLE)
    assert ONLY_IDS not in bare.page("steps/data/"), "nothing is uploaded yet"
    bare.give(SOLUTION)
    assert ONLY_IDS in bare.page("steps/data/")
    bare.answer("columns", targets=["price"])
    bare.answer("metric", metric="mae")
    bare.answer("split")
    bare.finish()
    bare.build()
    assert ONLY_IDS in bare.page("review/")
    assert "training data" not in default_texts(bare.draft)["overview"] + default_texts(bare.draft)["data"]
    assert not any(ONLY_IDS in built_prices.page(path) for path in ("steps/data/", "review/"))
    texts = default_texts(built_prices.draft)
    assert "Learn from the training data, predict **price**" in texts["overview"]
    assert "* the training data.\n\nCSV" in texts["data"]


def with_sample(site: Scenario, sample: str, *, metric: str = "mae", **columns: str) -> Guided:
    """A draft with the host's sample submission, whose columns are as proposed unless they are given."""
    guided = begun(site, Start.TABLE)
    guided.give(SOLUTION)
    guided.give(sample, role="sample_submission", name="sample.csv")
    for step, values in (
        ("columns", {"targets": ["price", "area"]}),
        ("metric", {"metric": metric}),
        ("predictions", columns),
    ):
        answered = guided.answer(step, **values)
        assert answered.status_code == 302, answered.content.decode()
    guided.answer("split")
    guided.finish()
    return guided


ROWS = range(30)
TWO = "id,first,second\n" + "".join(f"{row},1,2\n" for row in ROWS)


def test_the_hosts_sample_gives_the_columns_and_is_the_trial(site: Scenario) -> None:
    guided = with_sample(site, TWO, metric="mcrmse", **{"column-0": "second", "column-1": "first"})
    phase = made(guided.build()).phases.get()
    assert trial_facts(guided) == ("Sample submission", "prediction", "queued")
    assert (phase.prediction_format or {})["table"]["columns"] == [{"name": "second"}, {"name": "first"}]
    assert phase.sample_submission is not None
    with open_stored(phase.sample_submission.file) as file:
        assert file.read().decode() == TWO
    trial = guided.draft.trial
    assert trial is not None
    assert trial.file == phase.sample_submission.file
    mean, area = sum(row * 1.5 for row in ROWS) / 30, 1.0
    of_price = (sum((row * 1.5 - mean) ** 2 for row in ROWS if row % 3) / 20) ** 0.5
    of_area = (sum((row % 3 - area) ** 2 for row in ROWS if row % 3) / 20) ** 0.5
    public = guided.draft.score_scale[0]
    assert (public["constant"], public["perfect"]) == (pytest.approx((of_price + of_area) / 2), 0.0)


def test_columns_that_no_name_decides_are_shown_to_be_checked(site: Scenario) -> None:
    guided = with_sample(site, TWO, metric="mcrmse")
    page = guided.page("steps/predictions/")
    assert (page.count("No name says so: check it."), 'for="id_column-0">price' in page) == (2, True)
    twice = guided.answer("predictions", **{"column-0": "first", "column-1": "first"})
    assert "“first” is chosen for “area”, too. Choose each column only once." in twice.content.decode()


def test_a_sample_that_does_not_go_with_the_metric_is_named_before_anything_is_built(site: Scenario) -> None:
    guided = begun(site, Start.TABLE)
    guided.give(SOLUTION)
    guided.give(TWO, role="sample_submission", name="sample.csv")
    guided.answer("columns", targets=["price"])
    assert guided.answer("metric", metric="mae")["Location"].endswith("/steps/predictions/")
    words = "the sample submission: it has 2 prediction columns (&#x27;first&#x27;, &#x27;second&#x27;), and 1 column"
    assert words in guided.page("steps/predictions/")
    assert words in guided.answer("predictions").content.decode()
    with refuses(DRAFT_INCOMPLETE, match="“Predictions”"):
        build_request(draft=guided.draft, now=site.now)


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        pytest.param(
            TWO.replace("\n7,", "\n77,"),
            "the sample submission, 'id': 1 id is missing: 7; the solution has more rows",
            marks=in_soak,
        ),
        (TWO.replace("7,1,2", "7,1,"), "the sample submission, 'second': it is empty in line 9 (id 7)"),
        (
            "id,first,second\n" + "".join(f"{row},{row * 1.5},0\n" for row in ROWS),
            "the sample submission: its column 'first' holds the answers",
        ),
    ],
)
def test_a_wrong_sample_is_said_to_the_host_and_nothing_is_built(site: Scenario, sample: str, words: str) -> None:
    guided = with_sample(site, sample, metric="mcrmse")
    assert (guided.build().build, guided.draft.competition) == (Build.FAILED, None)
    assert words in guided.draft.build_faults[0]
    assert "your submission" not in guided.page("trial/").lower()


def test_a_text_target_with_a_metric_file_is_tried_on_the_sample_that_is_made(site: Scenario) -> None:
    guided = begun(site, Start.TABLE)
    guided.give("id,name,when\n" + "".join(f"{row:03},name {row},2024-01-01\n" for row in ROWS))
    guided.answer("columns", targets=["name", "when"])
    source = "def score(solution, submission, row_id_column_name):\n    return 1.0\n"
    guided.give(source, role="metric", name="m.py", step="metric")
    guided.answer("metric", metric="metric.py", own_title="Distance")
    guided.answer("split")
    guided.finish()
    guided.build()
    assert trial_facts(guided) == ("Constant baseline", "prediction", "queued")
    run_background(at=site.now)
    assert guided.draft.trial is not None
    guided.draft.trial.refresh_from_db()
    assert (guided.draft.trial.status, guided.draft.trial.reason) == ("queued", "")


def test_a_metric_file_gets_the_columns_of_the_hosts_sample(site: Scenario) -> None:
    guided = begun(site, Start.TABLE)
    guided.give(SOLUTION)
    guided.give(TWO.encode("utf-16"), role="sample_submission", name="sample.csv")
    guided.answer("columns", targets=["price"])
    source = "def score(solution, submission, row_id_column_name):\n    return submission['first'].mean()\n"
    guided.give(source, role="metric", name="m.py", step="metric")
    asked_next = guided.answer("metric", metric="metric.py", own_title="Distance")["Location"]
    assert asked_next.endswith("/steps/split/"), "no column of it answers a target"
    guided.answer("split")
    guided.finish()
    phase = made(guided.build()).phases.get()
    assert [column["name"] for column in (phase.prediction_format or {})["table"]["columns"]] == ["first", "second"]
    assert phase.sample_submission is not None
    with open_stored(phase.sample_submission.file) as file:
        assert file.read().decode("utf-8") == TWO, "what teams download is UTF-8"


@pytest.mark.parametrize("is_named", [True, False])
def test_columns_of_many_classes_are_matched_by_name_alone(site: Scenario, is_named: bool) -> None:
    kinds = [f"kind{number}" for number in range(25)]
    columns = kinds[::-1] if is_named else [f"p{number}x" for number in range(25)]
    guided = begun(site, Start.TABLE)
    guided.give("id,kind\n" + "".join(f"{row},{kinds[row % 25]}\n" for row in range(150)))
    sample = f"id,{','.join(columns)}\n" + "".join(f"{row}{',0.04' * 25}\n" for row in range(150))
    guided.give(sample, role="sample_submission", name="sample.csv")
    guided.answer("columns", targets=["kind"])
    assert guided.answer("metric", metric="class_log_loss")["Location"].endswith("/steps/split/")
    guided.answer("split", how="none")
    guided.finish()
    draft = guided.build()
    if is_named:
        written = (made(draft).phases.get().prediction_format or {})["table"]["columns"]
        assert [column["name"] for column in written] == sorted(kinds)
    else:
        assert "no name says which column answers" in draft.build_faults[0]


def test_several_metrics_are_columns_of_each_board_and_the_first_one_ranks(prices: Guided) -> None:
    guided = prices
    guided.answer("metric", metric="mae", more=["rmse", "huber_loss"], **{"huber_loss-delta": "2"})
    phase = made(guided.build()).phases.get()
    keys = [
        [(column.key, column.is_primary) for column in board.columns.order_by("index")]
        for board in phase.leaderboards.all()
    ]
    assert keys == [
        [(f"{name}_{part}", name == "mae") for name in ("mae", "rmse", "huber_loss")] for part in ("public", "private")
    ]
    guided.score_trial(
        **{f"{name}_{part}": 1.5 for name in ("mae", "rmse", "huber_loss") for part in ("public", "private")}
    )
    assert "Huber loss" in guided.page("trial/")
    assert "Root mean squared error" in guided.page("steps/pages/")


def test_a_trial_that_fails_speaks_to_the_host(built_prices: Guided) -> None:
    guided = built_prices
    body = {"outcome": "failed", "reason": Reason.OUTPUT_INVALID, "code": "nan", "detail": "'price': it is empty."}
    guided.answer_trial(body, columns=["mae_public"])
    page = guided.page("trial/")
    assert "A team that sends in the sample would read this. Read the log, change the solution" in page
    assert REASONS[Reason.OUTPUT_INVALID].advice not in page
    assert primary_buttons(page) == ["Build again"]
    review = guided.page("review/")
    assert "an array holds NaN where a number is required.\n" in review, "one full stop"
    assert 'disabled aria-describedby="not-scored">Publish' in review
    assert "You can publish it once the trial is scored." in review
    assert "Publish it later" not in review


def test_the_trial_is_not_taken_for_the_organizers_own_team(built_prices: Guided) -> None:
    guided = built_prices
    guided.score_trial(mae_public=1.25, mae_private=1.75)
    guided.client.post(f"/host/{guided.draft.key}/review/publish/")
    address = f"/competitions/{made(guided.draft).slug}"
    board = guided.client.get(f"{address}/leaderboard/").content.decode()
    assert board.count("Constant baseline</a>") == 1, "its row is not pinned, too"
    assert "your team" not in board
    assert not primary_buttons(board)
    assert "Constant baseline" not in guided.client.get("/me/").content.decode()


def primary_buttons(page: str) -> list[str]:
    """The words on the buttons that stand out."""
    return re.findall(r'class="button primary"[^>]*>([^<]*)<', page)


def test_one_board_where_there_is_no_private_part(site: Scenario) -> None:
    phase = made(table(site, how="none").build()).phases.get()
    assert [(board.title, board.columns.get().key) for board in phase.leaderboards.all()] == [("Leaderboard", "mae")]


def test_a_metric_of_ones_own_needs_its_file_and_a_name(site: Scenario) -> None:
    guided = begun(site, Start.TABLE)
    guided.give(SOLUTION)
    guided.answer("columns", targets=["price"])
    page = guided.answer("metric", metric="metric.py").content.decode()
    assert "Upload the Python file" in page
    assert "Give your metric a name" in page
    guided.give(
        "def score(solution, submission, row_id_column_name):\n    return 1.0\n",
        role="metric",
        name="m.py",
        step="metric",
    )
    guided.answer("metric", metric="metric.py", own_title="Distance", own_direction="min")
    guided.answer("split")
    guided.finish()
    column = made(guided.build()).phases.get().leaderboard.columns.get()
    assert (column.title, column.key, column.sorting) == ("Distance", "score_public", "asc")


def test_a_split_by_time_keeps_what_comes_later_private_and_tells_of_training_data_that_reach_into_it(
    site: Scenario,
) -> None:
    guided = begun(site, Start.TABLE)
    guided.give("id,day,price\n" + "".join(f"{row},2026-05-{row + 1:02d},{row * 1.5}\n" for row in range(30)))
    guided.give("id,day,price\n90,2026-04-30,2\n91,2026-05-09,3\n", role="training", name="train.csv")
    guided.answer("columns", targets=["price"])
    guided.answer("metric", metric="mae")
    by_time = {"how": "time", "time": "day", "cut": "2026-05-21T00:00"}
    shown = guided.client.post(f"/host/{guided.draft.key}/steps/split/preview/", by_time).content.decode()
    assert "20 rows" in shown
    assert "about 50 % of their rows are not before 2026-05-01, when" in shown
    refused = guided.answer("split", **by_time | {"cut": "2026-07-01T00:00"})
    assert "One part would be empty: rows are from 2026-05-01 to 2026-05-30" in refused.content.decode()
    assert guided.answer("split", **by_time).status_code == 302
    guided.finish()
    truth = made(guided.build()).phases.get().tasks.get().reference_data
    assert truth is not None
    with open_stored(truth.file) as file, zipfile.ZipFile(file) as packed:
        rows = pl.read_parquet(io.BytesIO(packed.read("solution.parquet")))
    assert sorted(rows.filter(pl.col("Usage") == "Private")["id"].to_list()) == list(range(20, 30))
    assert "before 2026-05-21T00:00 UTC by `day`" in guided.page("steps/pages/")
