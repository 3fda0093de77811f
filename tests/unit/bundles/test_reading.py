"""The three shapes of bundles are told apart and read, with what real ones do beyond their schema."""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from files.bundles.archive import open_bundle
from files.bundles.faults import Report
from files.bundles.reader import BundleReader
from files.bundles.samples import check_bundle
from files.bundles.schema import CompetitionSpec
from files.bundles.types import read_instant
from tests.bundle_files import FILES, LEGACY, PARALLEL, changed, packed, second, write


def read(folder: Path) -> tuple[CompetitionSpec, Report]:
    with open_bundle(folder) as files:
        reader = BundleReader(files)
        return reader.valid_spec(), reader.report


def test_a_bundle_of_version_2_is_read_with_codabenchs_defaults(tmp_path: Path) -> None:
    spec, report = read(write(tmp_path, second()))
    first, last = spec.phases
    assert (report.shape, report.warnings, report.ignored) == ("2", [], [])
    assert (first.start, first.end) == (
        datetime(2027, 1, 1, 10, 30, tzinfo=UTC),
        datetime(2027, 2, 1, 10, 30, tzinfo=UTC),
    )
    quota = attrgetter("max_submissions_per_day", "max_submissions", "execution_time_limit")
    assert quota(first) == (5, 100, 600)
    assert last.end is None
    assert spec.leaderboards[0].submission_rule == "Add"
    assert attrgetter("sorting", "precision")(spec.leaderboards[0].columns[0]) == ("desc", 2)
    assert spec.tasks[0].ingestion_only_during_scoring is False


def test_a_bundle_of_codalab_1_5_is_mapped(tmp_path: Path) -> None:
    spec, report = read(write(tmp_path, LEGACY))
    assert report.shape == "1.5"
    assert [phase.name for phase in spec.phases] == ["Development", "Final"]
    development, final = spec.phases
    assert (development.start.hour, development.end) == (12, datetime(2027, 2, 28, tzinfo=UTC))
    assert (final.auto_migrate_to_this_phase, final.end) == (True, datetime(2027, 6, 30, tzinfo=UTC))
    assert [task.name for task in spec.tasks] == ["Development Task", "Final Task"]
    board = spec.leaderboards[0]
    assert (board.title, board.key, board.submission_rule) == ("Results", "Results", "Force_Best")
    assert [attrgetter("key", "sorting", "precision")(column) for column in board.columns] == [
        ("score one", "desc", 4),
        ("loss", "asc", 3),
        ("average", "asc", 2),
    ]
    assert (board.columns[2].computation, board.columns[2].computation_indexes) == ("avg_rank", [0, 1])
    assert spec.registration_auto_approve is False
    assert {note.path for note in report.ignored} == {"enable_forum", "phases.1.color"}
    assert {note.path for note in report.mapped} >= {"force_best_submission_to_leaderboard"}


def test_what_holds_for_all_boards_is_reported_once(tmp_path: Path) -> None:
    second_board = "    Second: &second\n      label: Second\n  columns:\n    other:\n      leaderboard: *second\n"
    _, report = read(write(tmp_path, LEGACY.replace("  columns:\n", second_board)))
    assert [note.path for note in report.mapped].count("force_best_submission_to_leaderboard") == 1


def test_a_primary_index_of_no_column_is_a_warning(tmp_path: Path) -> None:
    _, report = read(write(tmp_path / "a", changed("leaderboards.0.primary_index", 5)))
    assert [note.message for note in report.warnings] == [
        "there is no column with the index 5, so the first column decides the rank; there are 0"
    ]
    board = second()["leaderboards"][0] | {"primary_index": 7}
    _, report = read(write(tmp_path / "c", changed("phases.0.podium", {"leaderboards": [board]})))
    assert [note.path for note in report.warnings] == ["phases[0].podium.leaderboards[0].primary_index"]
    _, report = read(write(tmp_path / "b", changed("leaderboards.0.columns.0.index", 1)))
    assert report.warnings == [], "nobody named one"


def test_an_empty_page_of_codalab_is_taken(tmp_path: Path) -> None:
    assert read(write(tmp_path, LEGACY, FILES | {"overview.html": ""}))[0].pages


def test_an_empty_page_is_a_warning_and_empty_rules_are_a_fault(tmp_path: Path) -> None:
    _, report = read(write(tmp_path / "a", second(), FILES | {"overview.html": " \n"}))
    assert [str(note) for note in report.warnings] == [
        "competition.yaml, line 7, pages[0].file: the file 'overview.html' is empty; write the page into it"
    ]
    (fault,) = check_bundle(write(tmp_path / "b", second(), FILES | {"terms.md": " \n"})).faults
    assert "write the rules into it" in fault.message


def test_a_page_in_another_encoding_is_read_or_named_with_its_line(tmp_path: Path) -> None:
    text = "<p>\nZürich</p>"
    _, report = read(write(tmp_path / "a", second(), FILES | {"overview.html": text.encode("latin-1")}))
    (warning,) = map(str, report.warnings)
    assert warning.startswith(
        "competition.yaml, line 7, pages[0].file: the file 'overview.html': the byte 0xfc in its line 2"
    )
    with open_bundle(write(tmp_path / "b", second(), FILES | {"overview.html": text.encode("utf-16")})) as files:
        assert (BundleReader(files).report.warnings, files.text("overview.html")) == ([], text)


def test_an_image_whose_name_is_too_long_for_a_file_is_left_out_with_a_warning(tmp_path: Path) -> None:
    page = f"![Plot]({'x' * 300}.png)"
    data = changed("pages.0.file", "page.md", changed("podium", {"cover": "logo.png"}))
    _, report = read(write(tmp_path, data, FILES | {"page.md": page}))
    assert ["has no such file" in note.message for note in report.warnings] == [True]


def test_the_parent_of_parallel_phases_of_1_8_is_dropped(tmp_path: Path) -> None:
    spec, report = read(write(tmp_path, PARALLEL))
    assert report.shape == "1.8"
    assert [phase.name for phase in spec.phases] == ["Final"]


@pytest.mark.parametrize("pack", [False, True], ids=["folder", "zip"])
def test_a_zip_is_read_like_its_folder(tmp_path: Path, pack: bool) -> None:
    folder = write(tmp_path / "bundle", second())
    spec, _ = read(packed(folder, tmp_path / "bundle.zip") if pack else folder)
    assert spec.title == "Small"


def test_a_program_that_can_be_run_still_can_once_its_bundle_was_unpacked(tmp_path: Path) -> None:
    folder = write(tmp_path / "bundle", second())
    (folder / "scoring_program/score.py").chmod(0o775)
    with open_bundle(packed(folder, tmp_path / "bundle.zip")) as files:
        modes = {path.name: path.stat().st_mode & 0o777 for path in (files.folder / "scoring_program").iterdir()}
        program, _ = files.zip_part("scoring_program", tmp_path)
    assert (modes["score.py"], modes["metadata.yaml"] & 0o111) == (0o755, 0)
    with zipfile.ZipFile(program) as archive:
        assert archive.getinfo("score.py").external_attr >> 16 == 0o755


def test_each_folder_is_packed_by_itself_whatever_it_is_called(tmp_path: Path) -> None:
    names = ["dev/data", "dev-data", "test/data", "x" * 255]
    files: dict[str, str | bytes] = {f"{name}/x.txt": name for name in names}
    with open_bundle(write(tmp_path / "bundle", second(), FILES | files)) as bundle:
        packs = [bundle.zip_part(name, tmp_path) for name in [*names, "dev/data/"]]
    texts = []
    for path, _ in packs:
        with zipfile.ZipFile(path) as archive:
            texts.append(archive.read("x.txt").decode())
    assert texts == [*names, "dev/data"]
    assert [name for _, name in packs] == ["data.zip", "dev-data.zip", "data.zip", "x" * 251 + ".zip", "data.zip"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("version", ...), ("version", "2"), ("version", 2.0), ("image", ...), ("phases.0.index", ...), ("phases.0.end", "2027-1-31"),
        ("leaderboards.0.columns.0.sorting", ...), ("leaderboards.0.index", 0), ("phases.0.solutions", []), ("tasks.0.is_public", True),
        ("tasks.0.description", None), ("docker_image", None), ("phases.1.end", None), ("phases.1.end", ""), ("tasks.0.index", 1.5),
        ("leaderboards.0.columns.0.key", "key with blanks"), ("leaderboards.0.columns.0.title", "<Rank>"), ("title", 2027),
        ("leaderboards.0.columns.0.computation", None), ("phases.0.max_submissions", None), ("phases.0.max_submissions_per_day", 0),
        ("tasks.0.reference_data", "input_data"), ("solutions", [{"index": 0, "tasks": [0], "path": "input_data"}]),
    ],
)  # fmt: skip
def test_what_real_bundles_do_is_read(tmp_path: Path, path: str, value: Any) -> None:
    data = changed(path, value)
    for phase in data["phases"] if path == "tasks.0.index" else []:
        phase["tasks"] = [value]
    assert read(write(tmp_path, data))[0].phases


@pytest.mark.parametrize(("index", "named"), [("0", 0), (0, "0"), ("first", "first"), (1.5, 1.5), (1.0, 1)])
def test_tasks_are_named_by_their_index_also_in_quotes(tmp_path: Path, index: Any, named: Any) -> None:
    data = changed("tasks.0.index", index, changed("phases.0.tasks", [named], changed("phases.1.tasks", [named])))
    spec, _ = read(write(tmp_path, data))
    assert spec.phases[0].tasks == [spec.tasks[0].index]


@pytest.mark.parametrize("name", ["2024", "007", "1.50", "2024-01-01"])
def test_a_number_or_a_date_may_be_the_name_of_a_file(tmp_path: Path, name: str) -> None:
    folder = write(tmp_path, second(), FILES | {f"{name}/labels.csv": "id"})
    path = folder / "competition.yaml"
    path.write_text(path.read_text().replace("reference_data: reference_data", f"reference_data: {name}"))
    assert read(folder)[0].tasks[0].reference_data == name


def test_keys_of_version_2_without_version_and_terms_are_read_as_that(tmp_path: Path) -> None:
    data = changed("version", ..., changed("terms", ...))
    spec, report = read(write(tmp_path, data))
    assert spec.terms is None
    assert "terms" in " ".join(str(note) for note in report.warnings)


def test_a_byte_order_mark_a_document_start_comments_and_anchors_are_read(tmp_path: Path) -> None:
    folder = write(tmp_path, "\ufeff---\n" + LEGACY.replace("title: Small and old", "title: Small and old  # comment"))
    assert read(folder)[0].title == "Small and old"


def test_solutions_given_twice_are_read_with_a_warning(tmp_path: Path) -> None:
    folder = write(tmp_path, second())
    path = folder / "competition.yaml"
    path.write_text(path.read_text() + "solutions: []\nsolutions: []\n")
    assert any("twice" in note.message for note in read(folder)[1].warnings)


def test_an_unknown_key_is_a_warning_that_guesses_what_was_meant(tmp_path: Path) -> None:
    _, report = read(write(tmp_path, changed("phases.0.max_submission", 3)))
    (note,) = report.warnings
    assert (note.path, note.line is not None) == ("phases[0].max_submission", True)
    assert "is it `max_submissions`?" in note.message


def test_litter_and_what_nobody_names_are_no_matter(tmp_path: Path) -> None:
    litter: dict[str, str | bytes] = {
        "__MACOSX/._x": b"\x00",
        ".DS_Store": b"\x00",
        "utilities/old.py~": "x",
        "sample/a.zip": b"no zip",
    }
    assert read(write(tmp_path, second(), FILES | litter))[0].title == "Small"


def test_a_phase_of_the_old_shape_that_would_end_before_it_starts_is_closed_with_a_warning(tmp_path: Path) -> None:
    spec, report = read(write(tmp_path, LEGACY.replace("2027-06-30", "2026-06-30")))
    assert spec.phases[1].end is not None
    assert (spec.phases[1].end - spec.phases[1].start).total_seconds() == 1
    assert "before its start" in " ".join(map(str, report.warnings))


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2019-12-12 13:30:00", "2019-12-12T13:30:00+00:00"),
        ("2019-12-12 13:30:00+02:00", "2019-12-12T11:30:00+00:00"),
        ("2019-12-12T13:30:00.123456Z", "2019-12-12T13:30:00.123456+00:00"),
        ("8-7-2019", "2019-08-07T00:00:00+00:00"),
        ("31-12-2026", "2026-12-31T00:00:00+00:00"),
        ("12-31-2026", "2026-12-31T00:00:00+00:00"),
        ("1-1-2026", "2026-01-01T00:00:00+00:00"),
        ("2012-10-1", "2012-10-01T00:00:00+00:00"),
        ("2026-05-01 10:00 UTC", "2026-05-01T10:00:00+00:00"),
        ("May 1, 2026", "2026-05-01T00:00:00+00:00"),
    ],
)
def test_dates_keep_their_time_and_offset(text: str, instant: str) -> None:
    assert read_instant(text).isoformat() == instant


@pytest.mark.parametrize("text", ["soon", "2026", "10:30", "2026-13-45", "May", "2026-05-01 10:00 EST", "9" * 40, ""])
def test_what_is_no_whole_date_is_refused_with_the_right_form(text: str) -> None:
    with pytest.raises(ValueError, match="write it as 2027-03-31 13:30:00"):
        read_instant(text)
