"""The ready tracks: bundles that import, true sizes and formats, no labels for participants."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path

import numpy as np
import pytest
import yaml

import examples.ogb_lsc
import examples.ogbn_arxiv
import examples.openbiolink2021
from competitions.bundles.importing.importer import bundle_import
from competitions.catalog.readiness import competition_warnings
from competitions.compute.models import Queue
from competitions.winners.checks import phase_checks
from examples.pcqm4mv2_small.smiles import parse, write
from examples.tracks.baselines import track_baselines
from examples.tracks.bundle import build_track
from examples.tracks.track import Track
from scoring import describe, reference
from scoring.formats.submissions import official_filename
from tests.scenario import person
from tests.soak import in_soak

NOW = datetime(2030, 5, 1, 12, 30, tzinfo=UTC)
FIRST, *OTHERS = examples.ogb_lsc.TRACKS
TRACKS = (*examples.ogb_lsc.TRACKS, *examples.openbiolink2021.TRACKS, *examples.ogbn_arxiv.TRACKS)


@pytest.fixture(scope="module", params=TRACKS, ids=lambda track: track.slug)
def track(request: pytest.FixtureRequest) -> Track:
    parameter: Track = request.param
    return parameter


@pytest.fixture(scope="module")
def bundle(track: Track, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_track(tmp_path_factory.mktemp("built") / "bundle", track, now=NOW)


def named_arrays(folder: Path) -> Iterator[tuple[str, np.ndarray]]:
    for path in sorted(folder.rglob("*.npz")):
        with np.load(path) as stored:
            yield from ((f"{path.name}:{name}", stored[name]) for name in stored.files)


@pytest.mark.django_db
def test_the_site_imports_it_and_lacks_nothing_but_a_worker(track: Track, bundle: Path) -> None:
    queue = Queue.objects.create(name="q", contact="c")
    result = bundle_import(source=bundle, owner=person(is_staff=True), queue=queue, now=NOW)
    competition = result.competition
    assert {warning.code for warning in competition_warnings(competition)} <= {"no_worker", "not_published"}
    assert [phase.slug for phase in competition.phases.all()] == [phase.split for phase in track.phases]
    assert competition.registration_questions.count() == len(track.registration)
    assert competition.max_team_size == 10


def test_true_sizes_are_those_of_the_official_splits(track: Track) -> None:
    official = describe(track.dataset)["splits"]
    assert all(official[split] == rows for split, rows in track.rows.items())
    if track.has_official_file:
        assert set(track.rows) == {phase.split for phase in track.phases}


def test_one_submission_a_week_goes_to_the_public_board_at_the_true_size(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    track = examples.ogb_lsc.TRACKS[0]
    small = replace(track, generate=lambda size, seed: track.generate("small", seed))
    spec = yaml.safe_load((build_track(tmp_path / "b", small, now=NOW, size="true") / "competition.yaml").read_text())
    weekly = [phase["podium"]["max_submissions_per_week"] for phase in spec["phases"]]
    assert weekly == [1, None]


@pytest.mark.parametrize(
    "track", examples.ogb_lsc.TRACKS, indirect=True
)  # the others' labels are public, as in the original
def test_no_hidden_label_lies_where_participants_look(track: Track, bundle: Path) -> None:
    public = dict(named_arrays(bundle / "public_data"))
    for phase in track.phases:
        for name, labels in reference.read(bundle / f"reference_data_{phase.split}").labels(phase.split).items():
            for where, array in public.items():
                same = array.shape[:1] == labels.shape and array.ndim == 1 and bool((array == labels).all())
                assert not same, f"{where} is {name} of {phase.split}"
    splits = [name for name, _ in named_arrays(bundle / "public_data") if name.startswith("test-")]
    assert sorted(splits) == sorted(
        {f"{phase.split}.npz:{name.split(':')[1]}" for phase in track.phases for name in splits}
    )


def test_the_starting_kit_is_a_submission_that_beats_chance(track: Track, bundle: Path, tmp_path: Path) -> None:
    baselines = track_baselines(bundle, track, tmp_path)
    files = [baseline for baseline in baselines if baseline.kind == "prediction"]
    assert sorted(baseline.phase for baseline in files) == sorted(p.split for p in track.phases)
    if track.has_official_file:
        slices = {"lsc-wikikg90mv2": "relation type", "obl2021": "relation type", "lsc-pcqm4mv2": "heavy atoms"}
        split = track.phases[0].split
        by_name = reference.read(bundle / f"reference_data_{split}").slicings(split)
        assert list(by_name) == [slices[track.dataset]] if track.dataset in slices else not by_name
        assert {baseline.filename for baseline in files} == {
            official_filename(track.dataset, p.split) for p in track.phases
        }
    chance = {"acc": 0.2, "mrr": 0.2, "h10": 0.1, "mae": 1.0}  # MAE: a constant has 1.08 eV
    for baseline in baselines:
        assert baseline.score_range is not None
        low, high = baseline.score_range
        assert high < chance["mae"] if baseline.metric == "mae" else low > chance[baseline.metric]


def test_equal_seeds_give_equal_data_and_other_seeds_others(track: Track) -> None:
    first, again, other = (track.generate("small", seed) for seed in (1, 1, 2))
    for name, arrays in first.public.items():
        for key, array in arrays.items():
            assert np.array_equal(array, again.public[name][key])
    assert any(
        not np.array_equal(array, other.public[name][key])
        for name, arrays in first.public.items()
        for key, array in arrays.items()
    )


@pytest.mark.django_db
@pytest.mark.parametrize("track", examples.ogb_lsc.TRACKS, indirect=True)
def test_phases_take_code_on_raw_input_and_the_sealed_challenge_has_its_checks(track: Track, bundle: Path) -> None:
    queue = Queue.objects.create(name=f"q-{track.slug}", contact="c")
    competition = bundle_import(source=bundle, owner=person(is_staff=True), queue=queue, now=NOW).competition
    boards = {phase.slug: (phase.visibility, phase.leaderboards.get().rule) for phase in competition.phases.all()}
    assert boards == {"test-dev": ("public", "best"), "test-challenge": ("sealed", "last")}
    assert competition.phases.get(slug="test-challenge").is_sealed
    for phase in competition.phases.all():
        assert phase.accepts_code
        assert (phase.gpus, phase.time_limit_s, phase.allow_network) == (0, 300, False)
        assert phase.tasks.get().input_data is not None
    expected = {"permuted", "held_out"} | ({"perturbed"} if track.program == "lsc-pcqm4mv2" else set())
    assert {task.check_kind for task in phase_checks(competition.phases.get(slug="test-challenge"))} == expected
    assert not phase_checks(competition.phases.get(slug="test-dev"))
    assert "{" not in (bundle / "pages" / "overview.md").read_text()


@pytest.mark.django_db
def test_the_true_rule_of_molecules_is_four_hours_on_one_gpu_without_network(tmp_path: Path) -> None:
    track = examples.ogb_lsc.TRACKS[2]
    small = replace(track, generate=lambda size, seed: track.generate("small", seed))
    bundle = build_track(tmp_path / "b", small, now=NOW, size="true")
    queue = Queue.objects.create(name="q", contact="c")
    competition = bundle_import(source=bundle, owner=person(is_staff=True), queue=queue, now=NOW).competition
    for phase in competition.phases.all():
        assert (phase.gpus, phase.time_limit_s, phase.allow_network, phase.accepts_code) == (1, 4 * 3600, False, True)
    assert "4 hours on one GPU and one CPU" in (bundle / "pages" / "overview.md").read_text()


@pytest.mark.parametrize("track", examples.ogb_lsc.TRACKS, ids=lambda track: track.slug)
def test_checks_hold_the_rows_that_they_name_and_molecules_stay_the_same(track: Track) -> None:
    data = track.generate("small", 7)
    plain, labels = data.public["test-challenge.npz"], data.labels["test-challenge"]
    for check in data.checks:
        if check.kind == "permuted":
            assert check.rows is not None
            assert all(np.array_equal(array, plain[name][check.rows]) for name, array in check.inputs.items())
            assert all(np.array_equal(array, labels[name][check.rows]) for name, array in check.labels.items())
        elif check.kind == "perturbed":
            before, after = plain["smiles"], check.inputs["smiles"]
            assert (before != after).mean() > 0.5
            assert [write(parse(smiles)) for smiles in after] == list(before)
        else:
            assert not set(check.inputs.get("smiles", ())) & set(plain.get("smiles", ()))


@pytest.mark.parametrize("track", [FIRST, *(pytest.param(track, marks=in_soak) for track in OTHERS)], indirect=True)
def test_the_code_baseline_makes_its_predictions_from_the_input_alone(
    track: Track, bundle: Path, tmp_path: Path
) -> None:
    (code,) = [baseline for baseline in track_baselines(bundle, track, tmp_path / "files") if baseline.kind == "code"]
    shutil.unpack_archive(tmp_path / "files" / code.filename, tmp_path / "program")
    for folder in sorted(bundle.glob("input_data_*")):
        output = tmp_path / folder.name
        output.mkdir()
        program = tmp_path / "program"
        words = (program / "metadata.yaml").read_text().removeprefix("command: python3 ").split()
        values = {"$program": str(program), "$output": str(output), "$input": str(folder)}
        argv = [reduce(lambda word, item: word.replace(*item), values.items(), word) for word in words]
        subprocess.run([sys.executable, *argv], check=True)
        (path,) = output.iterdir()
        labels = reference.read(bundle / folder.name.replace("input", "reference"))
        with np.load(path) as arrays:
            (array,) = (arrays[name] for name in arrays.files)
        assert len(array) == labels.rows[path.stem.rsplit("_", 1)[1]]
