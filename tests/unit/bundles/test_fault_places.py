"""All faults of a bundle are said at once, with file, YAML path, line and what would be right."""

from __future__ import annotations

import io
import json
import re
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from competitions.catalog.presets import PRESETS
from files.archives import ArchiveLimits
from files.bundles import archive
from files.bundles.archive import BundleFiles
from files.bundles.faults import Report
from files.bundles.reader import BundleReader
from files.bundles.rules import PRESET_NAMES
from files.bundles.samples import check_bundle
from podium.cli import main
from tests.bundle_files import FILES, LEGACY, changed, packed, second, write


def faults(folder: Path) -> Report:
    report = check_bundle(folder)
    assert report.faults, "nothing was found to be wrong"
    return report


def only(folder: Path) -> str:
    """The one fault there is, as it is shown."""
    (fault,) = faults(folder).faults
    return str(fault)


COLUMN = {"title": "Mean", "key": "mean", "index": 1}
OPEN = {"title": "Main", "key": "main", "columns": [{"title": "Accuracy", "key": "accuracy", "index": 0}]}
KEY = "0b9f1c5e-1111-2222-3333-444455556666"
CHECK = {"index": 1, "name": "Check", "scoring_program": "scoring_program"}
CASES: list[tuple[str, Any, str]] = [
    ("solutions", [{"name": "A"}], "`path` is missing; name the solution's folder or zip"),
    ("solutions", [{"name": "A", "path": "input_data"}] * 2, "the name 'A' is that of another solution"),
    ("title", ..., "`title` is missing"),
    ("title", "", "title: must not be empty"),
    ("title", "x" * 257, "257 characters long; at most 256"),
    ("version", 3, "version 3 is not known"),
    ("terms", ..., "`terms` is missing"),
    ("terms", "no.md", "the bundle has no 'no.md'"),
    ("terms", "Terms.md", "there is 'terms.md'"),
    ("terms", "input_data", "is a folder; name a Markdown or HTML file"),
    ("terms", "../../etc/passwd", "leads outside the bundle"),
    ("terms", "/etc/passwd", "leads outside the bundle"),
    ("terms", "Be fair. " * 60, "is too long for a path; write such a text into a file of the bundle, and name that"),
    ("tasks.0.input_data", "data/" * 1000, "is too long for a path"),
    ("image", "no.png", "the bundle has no 'no.png'"),
    ("pages", ..., "`pages` is missing"),
    ("pages", "overview.html", "must be a list, not 'overview.html'"),
    ("pages.0.file", ..., "`file` is missing"),
    ("tasks", [], "must not be empty"),
    ("tasks.0.index", ..., "`index` is missing"),
    ("tasks.0.name", ..., "`name` is missing"),
    ("tasks.0.scoring_program", ..., "`scoring_program` is missing"),
    ("tasks.0.scoring_program", "", "`scoring_program` is missing"),
    ("tasks.0.reference_data", "no_such", "the bundle has no 'no_such'"),
    ("tasks.0.reference_data", "-", "the bundle has no '-'"),
    ("terms", "-", "the bundle has no '-'"),
    ("tasks.0.reference_data", "0b9f1c5e-1111-2222-3333-4444555566667", "has 37 characters; the key of a dataset has 36"),
    ("tasks.1", {"index": 0, "name": "Second", "scoring_program": "scoring_program"}, "the index 0 is that of another task"),
    ("tasks.1", CHECK | {"podium": {"checks": 0}}, "a check needs both"),
    ("tasks.1", CHECK | {"podium": {"check": "permuted"}}, "a check needs both"),
    ("tasks.1", CHECK | {"podium": {"checks": 7, "check": "permuted"}}, "no task that is run by phases has the index 7"),
    ("tasks.1", CHECK | {"podium": {"checks": 1, "check": "permuted"}}, "no task that is run by phases has the index 1"),
    ("tasks.0.podium", {"checks": 0, "check": "permuted"}, "a check is run on winners' code alone; take it out"),
    ("tasks.1", CHECK | {"key": KEY, "podium": {"checks": 0, "check": "permuted"}}, "named by its key stays as it is"),
    ("tasks.1", CHECK | {"podium": {"checks": 0, "check": "moved"}}, "must be one of 'permuted', 'perturbed' or 'held_out'"),
    ("tasks.1", CHECK | {"podium": {"checks": 0, "check": "permuted", "tolerance": -1}}, "must be at least 0"),
    ("leaderboards.0.columns.0.podium", {"spread": "accuracy_std"}, "no other column has the key 'accuracy_std'"),
    ("leaderboards.0.columns.0.podium", {"spread": "accuracy"}, "no other column has the key 'accuracy'"),
    ("tasks.0.ingestion_only_during_scoring", "perhaps", "must be true or false, not 'perhaps'"),
    ("phases.0.tasks", [0, 7], "phases[0].tasks[1]: there is no task with the index 7"),
    ("phases.0.tasks", [], "must not be empty"),
    ("phases.0.start", ..., "`start` is missing"),
    ("phases.0.start", "soon", "'soon' is not a date"),
    ("phases.0.end", "2026-01-01", "ends before it starts"),
    ("phases.0.end", ..., "only the last phase may go on for ever"),
    ("phases.1.start", "2027-02-01 10:30:00", "starts at the very moment 'Development' ends"),
    ("phases.1.start", "2027-01-15", "starts before 'Development' ends"),
    ("phases.0.auto_migrate_to_this_phase", True, "nothing can migrate to the first phase"),
    ("phases.0.max_submissions", -1, "must be at least 0, not -1"),
    ("phases.0.max_submissions_per_day", "many", "must be a whole number, not 'many'"),
    ("phases.0.execution_time_limit", 0, "must be at least 1"),
    ("phases.0.podium", {"visibility": "sealed"}, "the scores 'accuracy' are shown to everybody here, and sealed on"),
    ("phases.0.podium", {"visibility": "sealed", "reveal": "2027-02-01 10:30:02"}, "in 'Development' on the same task"),
    ("phases.0.podium", {"leaderboards": [OPEN, OPEN | {"key": "final", "podium": {"visibility": "sealed"}}]}, "in the same phase"),
    ("phases.0.podium", {"leaderboards": [OPEN, OPEN | {"key": "MAIN!"}]}, "leaderboards[1].key: the key 'MAIN!' stands for 'main', as"),
    ("phases.0.podium", {"leaderboards": [OPEN | {"columns": [COLUMN, COLUMN | {"index": 2}]}]},
     "phases[0].podium.leaderboards[0].columns[1].key: the key 'mean' is that of another column"),
    ("phases.0.podium", {"leaderboards": [OPEN | {"columns": [COLUMN, COLUMN | {"key": "b"}]}]}, "the index 1 is that of another column"),
    ("phases.0.podium", {"leaderboards": [OPEN | {"columns": [COLUMN | {"computation": "avg", "computation_indexes": [5]}]}]},
     "columns[0].computation_indexes: there are no columns [5]"),
    ("phases.0.podium", {"preset": "no-such"}, "there is no preset 'no-such'"),
    ("leaderboards", ..., "`leaderboards` is missing"),
    ("leaderboards.0.columns", [], "must not be empty"),
    ("leaderboards.0.submission_rule", "Best", "must be one of 'Add', "),
    ("leaderboards.0.columns.0.title", "x" * 37, "37 characters long; at most 36"),
    ("leaderboards.0.columns.0.index", ..., "`index` is missing"),
    ("leaderboards.0.columns.0.sorting", "up", "must be one of 'asc' or 'desc', not 'up'"),
    ("leaderboards.0.columns.1", COLUMN | {"key": "accuracy"}, "the key 'accuracy' is that of another column"),
    ("leaderboards.0.columns.1", COLUMN | {"index": 0}, "the index 0 is that of another column"),
    ("leaderboards.0.columns.1", COLUMN | {"computation": "avg"}, "needs `computation_indexes`"),
    ("leaderboards.0.columns.1", COLUMN | {"computation_indexes": [0]}, "need a `computation`"),
    ("leaderboards.0.columns.1", COLUMN | {"computation": "avg", "computation_indexes": [1]}, "cannot be computed from itself"),
    ("leaderboards.0.columns.1", COLUMN | {"computation": "avg", "computation_indexes": [5]}, "there are no columns [5]"),
    ("leaderboards.0.columns.1", COLUMN | {"computation": "median", "computation_indexes": [0]}, "must be one of 'avg'"),
    ("fact_sheet", {"a": {"key": "b", "type": "text", "title": "A", "selection": "", "is_required": "true", "is_on_leaderboard": "false"}},
     "must equal the outer one"),
    ("fact_sheet", {"a": {"key": "a", "type": "radio", "title": "A"}}, "must be one of 'checkbox', 'text', 'select'"),
    ("fact_sheet", {"a?": {"key": "a?", "type": "text", "title": "A"}}, "may hold letters, digits, single blanks, and"),
    ("podium", {"slug": "no blanks"}, "may hold letters from a to z, digits, - and _ alone"),
    ("leaderboards.0.columns", [
        {"title": "A", "key": "a", "index": 0, "computation": "avg", "computation_indexes": [1]},
        {"title": "B", "key": "b", "index": 1, "computation": "sum", "computation_indexes": [0]},
     ], "computed from each other in a circle"),
    ("tasks.0.input_data", "logo.png", "is a single file that is not a zip; put it into a folder"),
    ("tasks.0", None, "must be a mapping of keys, not empty"),
    ("title", ["a"], "must be text, not a list"),
    ("phases.0.podium", {"budget": {"cpus": "two"}}, "must be a number, not 'two'"),
    ("phases.0.podium", {"priority": 10**6}, "must be at most 32767, not 1000000"),
    ("phases.0.start", "2027", "is not a whole date"),
    ("phases.0.start", "2027-01-01 10:00 CET", "names the time zone CET"),
    ("tasks.0.key", "first", "'first' is not a key"),
    ("image", "input_data", "is a folder; name a file"),
    ("fact_sheet", {"a": {"key": "a", "type": "select", "title": "A"}}, "needs a list of choices"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "words"), CASES)
def test_each_fault_has_a_path_a_line_and_a_sentence(tmp_path: Path, path: str, value: Any, words: str) -> None:
    problems = faults(write(tmp_path, changed(path, value))).faults
    assert any(words in str(fault) for fault in problems), [str(fault) for fault in problems]
    assert all(fault.file == "competition.yaml" and fault.line for fault in problems)


def test_all_faults_are_said_at_once(tmp_path: Path) -> None:
    data = changed("terms", "no.md", changed("phases.0.tasks", [9], changed("image", "none.png")))
    sentences = [str(fault) for fault in faults(write(tmp_path, data)).faults]
    assert len(sentences) == 3


def test_missing_files_are_said_beside_values_of_a_wrong_type(tmp_path: Path) -> None:
    data = changed("terms", "no.md", changed("pages.0.file", "gone.md", changed("tasks.0.scoring_program", "nowhere")))
    data = changed("phases.0.max_submissions", "many", changed("title", ["a list"], data))
    sentences = {fault.path: str(fault) for fault in faults(write(tmp_path, data)).faults}
    assert set(sentences) == {
        "title",
        "phases[0].max_submissions",
        "terms",
        "pages[0].file",
        "tasks[0].scoring_program",
    }
    assert "the bundle has no 'nowhere'" in sentences["tasks[0].scoring_program"]


def test_missing_files_of_the_old_shape_are_said_beside_what_else_is_wrong(tmp_path: Path) -> None:
    broken = LEGACY.replace("overview.html", "none.html").replace("    scoring_program: scoring_program\n", "")
    sentences = [str(fault) for fault in check_bundle(write(tmp_path, broken)).faults]
    assert any("the bundle has no 'none.html'" in fault for fault in sentences), sentences
    assert any("`scoring_program` is missing" in fault for fault in sentences), sentences


LEGACY_CASES = [
    ("html:\n  overview: overview.html\n  terms: terms.md\n", "html: {}\n", "there are no pages"),
    ("  terms: terms.md\n", "", "the page `terms` is missing"),
    ("  terms: terms.md\n", "  terms:\n", "the page `terms` is missing"),
    ("overview.html", "none.html", "the bundle has no 'none.html'"),
    ("    start_date: 2027-03-01\n", "", "the date is missing"),
    ("start_date: 2027-03-01", "start_date: whenever", "'whenever' is not a date"),
    ("start_date: 2027-03-01", "start_date: 9999-12-31 23:59:59", ""),
    ("phasenumber: 2", f"phasenumber: 1{400 * '0'}", "nothing can migrate to the first phase"),
    (
        "    max_submissions: 100\n",
        "    max_submissions: 100\n    auto_migration: True\n",
        "nothing can migrate to the first phase",
    ),
    ("      label: Score\n", f"      label: {'x' * 37}\n", "37 characters long"),
    ("  columns:\n", "  others:\n", "`leaderboard` must hold a mapping `columns`"),
    ("label: RESULTS", "label: RESULTS\n    Second:\n      label: Nobody", ""),
    ("    scoring_program: scoring_program\n", "", "`scoring_program` is missing"),
    ("    label: Final\n", "", "the phase has no `label`"),
    ("leaderboard: *main", "leaderboard: none", "no column belongs to the leaderboard 'RESULTS'"),
    (LEGACY[LEGACY.index("\nphases:") : LEGACY.index("\nleaderboard:")], "\nphases: {}", "there are no phases"),
    ("phases:\n", "phases:\n  2: later\n", "a phase must be a mapping of keys"),
]


@pytest.mark.parametrize(("old", "new", "words"), LEGACY_CASES)
def test_faults_of_the_old_shape_are_named_where_they_stand(tmp_path: Path, old: str, new: str, words: str) -> None:
    report = check_bundle(write(tmp_path, LEGACY.replace(old, new)))
    assert bool(report.faults) == bool(words)
    assert not words or any(words in str(fault) for fault in report.faults), [str(fault) for fault in report.faults]
    assert all(fault.line for fault in report.faults)


def test_an_empty_path_names_no_file(tmp_path: Path) -> None:
    spec = BundleReader(BundleFiles(write(tmp_path, changed("tasks.0.reference_data", "")))).valid_spec()
    assert spec.tasks[0].reference_data is None


def test_phases_are_sorted_by_numbers_of_any_size(tmp_path: Path) -> None:
    assert not check_bundle(write(tmp_path, changed("phases.1.index", 10**400))).faults


def test_what_follows_from_a_fault_of_the_old_shape_is_not_said_as_well(tmp_path: Path) -> None:
    without_columns, of_no_board = (
        LEGACY.replace("  columns:\n", "  others:\n"),
        LEGACY.replace("leaderboard: *main", "leaderboard: {}"),
    )
    assert "`leaderboard` must hold a mapping `columns`" in only(write(tmp_path / "a", without_columns))
    assert "no column belongs to the leaderboard" in only(write(tmp_path / "b", of_no_board))


def test_a_fault_of_the_old_shape_has_the_line_of_the_old_key(tmp_path: Path) -> None:
    text = LEGACY.replace("      label: Score\n", f"      label: {'x' * 37}\n")
    (fault,) = faults(write(tmp_path, text)).faults
    assert fault.path.startswith("leaderboard.columns.score one")
    assert (
        fault.line == text[: text.index("x" * 37)].count("\n") + 1
        or fault.line == text[: text.index("score one")].count("\n") + 1
    )


NO_BUNDLES: list[tuple[dict[str, str | bytes], str]] = [
    ({"readme.txt": "x"}, "There is no competition.yaml at the top level of the bundle. It holds readme.txt"),
    ({"bundle/competition.yaml": "title: x"}, "pack what is in the folder bundle, not the folder itself"),
    ({"competition.yml": "title: x"}, "rename it to competition.yaml"),
    ({"Competition.YAML": "title: x"}, "rename it to competition.yaml"),
    ({"inner.zip": b"PK"}, "a zip in the zip: upload that one"),
    ({"competition.yaml": b"title: \xff\xfe"}, "not UTF-8 text. Save the file in the encoding UTF-8"),
    ({"competition.yaml": "title: 'open"}, "This is not valid YAML"),
    ({"competition.yaml": "title: x\n\tterms: y"}, "not with tabs"),
    ({"competition.yaml": ""}, "the file is empty"),
    ({"competition.yaml": "- a\n- b\n"}, "the file holds a list"),
    ({"competition.yaml": "title: a\ntitle: b\n"}, "line 2, title: the key 'title' is given twice (first on line 1)"),
    ({"competition.yaml": "title: !!python/object:os.system x\n"}, "This is not valid YAML"),
    (
        {
            "competition.yaml": "a: &a [x, x]\nb: &b [*a, *a]\n"
            + "".join(
                f"c{n}: &c{n} [*{'b' if n == 0 else f'c{n - 1}'}, *{'b' if n == 0 else f'c{n - 1}'}]\n"
                for n in range(40)
            )
        },
        "too many",
    ),
    ({"competition.yaml": "[" * 5000}, "This is not valid YAML"),
    ({"competition.yaml": "a: &a\n  b: *a\n"}, "aliases"),
    ({"competition.yaml": "just words"}, "the file holds a text"),
]


@pytest.mark.parametrize(("files", "words"), NO_BUNDLES)
def test_what_is_no_bundle_says_what_it_is(tmp_path: Path, files: dict[str, str | bytes], words: str) -> None:
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    sentences = [str(fault) for fault in faults(tmp_path).faults]
    assert any(words in fault for fault in sentences) or (
        words == "This is not valid YAML" and "nested" in sentences[0]
    ), sentences


def archived(path: Path, *entries: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zip_file:
        for name, content in entries:
            zip_file.writestr(name, content)
    return path


def link() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([("../outside.txt", b"x")], "whose path is not allowed"),
        ([("/etc/passwd", b"x")], "whose path is not allowed"),
        ([("a\\b", b"x")], "whose path is not allowed"),
        ([(link(), b"/etc/passwd")], "is a link or special file"),
        ([("zeros", b"\0" * 30_000_000)], "would unpack to 30,000,000 bytes"),
        ([("same", b"x"), ("same/inside", b"x")], "two different members called"),
    ],
)
def test_a_zip_that_must_not_be_unpacked_is_refused(
    tmp_path: Path, entries: list[tuple[zipfile.ZipInfo | str, bytes]], words: str
) -> None:
    assert words in only(archived(tmp_path / "bundle.zip", *entries))
    assert [path.name for path in tmp_path.iterdir()] == ["bundle.zip"]


def test_more_files_than_a_bundle_may_have_are_refused_before_they_are_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    with zipfile.ZipFile(path, "w") as zip_file:
        for number in range(20_001):
            zip_file.writestr(zipfile.ZipInfo(f"{number}"), b"")
    assert "more than 20,000 files" in only(path)


def test_what_is_no_zip_is_said(tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(b"hello")
    assert "is not a zip archive" in only(path)
    assert "no such file" in only(tmp_path / "none.zip")


def test_names_in_another_encoding_are_read_or_named(tmp_path: Path) -> None:
    """Old tools write names in their own code page; a name that claims UTF-8 must be it."""
    path = packed(write(tmp_path / "bundle", second()), tmp_path / "bundle.zip")
    with zipfile.ZipFile(path, "a") as zip_file:
        zip_file.writestr("t@@st.txt", b"x")
    with zipfile.ZipFile(tmp_path / "claims.zip", "w") as zip_file:
        zip_file.writestr("t\u00e9st.txt", b"x")
    path.write_bytes(path.read_bytes().replace(b"t@@st.txt", b"t\x82\x82st.txt"))
    assert check_bundle(path).faults == []
    claims = tmp_path / "claims.zip"
    claims.write_bytes(claims.read_bytes().replace("t\u00e9st.txt".encode(), b"t\x82\x82st.txt"))
    assert "says it is UTF-8 and is not" in only(claims)


def test_a_zip_in_the_bundle_is_looked_into(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as zip_file:
        zip_file.writestr("../../evil", "x")
    files = FILES | {"program.zip": inner.getvalue(), "broken.zip": b"PK\x03\x04"}
    data = changed("tasks.0.scoring_program", "program.zip", changed("tasks.0.reference_data", "broken.zip"))
    text = " ".join(map(str, faults(write(tmp_path, data, files)).faults))
    assert "'program.zip' has a member '../../evil'" in text
    assert "its end is missing" in text


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"scoring_program/metadata.yaml": "description: none\n"}, "has no line `command: ...`"),
        ({"scoring_program/metadata.yaml": "a: [\n"}, "is not valid YAML"),
        ({"scoring_program/metadata.yaml": "command: [python3, score.py]\n"}, "must be one line of text"),
        (
            {"scoring_program/metadata.yaml": None, "scoring_program/inner/metadata": "command: x\n"},
            "there is 'inner/metadata': pack what is in the folder",
        ),
        (
            {"scoring_program/metadata.yaml": None, "scoring_program/metadata": "command:python3 score.py\n"},
            "the file metadata of 'scoring_program' has no line",
        ),
        ({"scoring_program/metadata.yaml": None}, "has no metadata.yaml at its top level"),
    ],
)
def test_a_program_that_cannot_be_run_is_a_warning(tmp_path: Path, files: dict[str, str | None], words: str) -> None:
    given = {name: content for name, content in (FILES | files).items() if content is not None}
    report = check_bundle(write(tmp_path, second(), given))
    assert report.faults == []
    assert any(words in str(note) for note in report.warnings)


def test_limits_hold_for_the_bundle_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "LIMITS", ArchiveLimits(unpacked_bytes=10, files=20_000))
    assert "at most 10 bytes" in only(packed(write(tmp_path / "b", second()), tmp_path / "b.zip"))


def test_presets_are_those_of_the_site() -> None:
    assert set(PRESET_NAMES) == set(PRESETS)


def test_the_command_ends_with_0_or_1_and_speaks_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = write(tmp_path / "good", second())
    assert main(["bundle", "check", str(good)]) == 0
    assert "It can be imported." in capsys.readouterr().out
    bad = write(tmp_path / "bad", changed("terms", "no.md"))
    assert main(["bundle", "check", str(bad), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["ok"], report["shape"], report["faults"][0]["path"], report["faults"][0]["line"]) == (
        False,
        "2",
        "terms",
        4,
    )


@pytest.mark.parametrize("template", ["code", "concurrent", "datasets", "results"])
def test_a_template_makes_a_bundle_that_can_be_imported(
    tmp_path: Path, template: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bundle", "new", str(tmp_path / "mine"), "--template", template]) == 0
    report = check_bundle(tmp_path / "mine")
    assert (report.faults, [note.message for note in report.warnings]) == (
        [],
        ["there is no `image`; the competition gets no logo"],
    )
    assert yaml.safe_load((tmp_path / "mine" / "competition.yaml").read_text())["phases"][0]["start"].year < 2100
    assert main(["bundle", "new", str(tmp_path / "mine")]) == 1, "nothing is overwritten"


FAULTS = (Path(__file__).resolve().parents[3] / "docs" / "bundles.md").read_text().split("\n## Faults\n")[1]


def pattern(sentence: str) -> re.Pattern[str]:
    """A sentence of the reference, where … stands for anything."""
    return re.compile(".*".join(map(re.escape, sentence.split("…"))), re.DOTALL)


def documented(section: str) -> list[str]:
    return [" ".join(entry.split()) for entry in re.findall(r"^\* (.*(?:\n  .*)*)$", section, re.MULTILINE)]


def every_fault(folder: Path) -> set[str]:
    """The faults that the cases of this file get."""
    bundles = [write(folder / f"new-{number}", changed(path, value)) for number, (path, value, _) in enumerate(CASES)]
    bundles += [
        write(folder / f"old-{number}", LEGACY.replace(old, new)) for number, (old, new, _) in enumerate(LEGACY_CASES)
    ]
    for number, (files, _) in enumerate(NO_BUNDLES):
        for name, content in files.items():
            path = folder / f"none-{number}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        bundles.append(folder / f"none-{number}")
    as_code = changed("phases.1.name", "Development") | {"podium": {"slug": "as-code"}}
    bundles.append(write(folder / "names", as_code))
    bundles.append(write(folder / "terms", second(), FILES | {"terms.md": ""}))
    bundles.append(write(folder / "zip", changed("tasks.0.input_data", "input.zip"), FILES | {"input.zip": "no"}))
    outside = io.BytesIO()
    with zipfile.ZipFile(outside, "w") as archive:
        archive.writestr("../x", "x")
    bundles.append(
        write(folder / "slip", changed("tasks.0.input_data", "input.zip"), FILES | {"input.zip": outside.getvalue()})
    )
    empty = write(folder / "empty", changed("tasks.0.input_data", "nothing"))
    (empty / "nothing").mkdir()
    bundles.append(empty)
    return {fault.message for bundle in bundles for fault in check_bundle(bundle).faults}


def test_the_reference_has_every_sentence_that_a_fault_is_said_in_and_no_other(tmp_path: Path) -> None:
    sentences, known = every_fault(tmp_path), documented(FAULTS.split("and by a site alone:")[0])
    assert [sentence for sentence in sentences if not any(pattern(entry).fullmatch(sentence) for entry in known)] == []
    unsaid = {entry for entry in known if not any(pattern(entry).fullmatch(sentence) for sentence in sentences)}
    assert unsaid <= {"The YAML is nested too deeply to be read."}, "whether Python finds that depends on its stack"
