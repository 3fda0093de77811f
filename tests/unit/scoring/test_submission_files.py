"""Uploaded files: official ones are accepted, every fault has its code, and nothing is trusted."""

from __future__ import annotations

import errno
import io
import json
import os
import pickle
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scoring
from scoring import synthetic
from scoring.formats import seed_results, submissions
from scoring.formats.layouts import layout
from tests.soak import in_soak

OFFICIAL = Path(__file__).parents[2] / "data" / "scoring-cases" / "submissions"
MANIFEST = json.loads((OFFICIAL / "manifest.json").read_text())["files"]
GAPS = "lsc-pcqm4mv2", "test-dev"
NAME = "y_pred_pcqm4m-v2_test-dev.npz"
ROWS = 1000
EVERY_FILE = [(dataset, split) for dataset in scoring.names() for split in submissions.splits(dataset)]


def npy(array: Any, *, version: tuple[int, int] | None = None) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), version=version, allow_pickle=True)
    return buffer.getvalue()


GOOD = npy(np.linspace(3, 8, ROWS, dtype=np.float32))


def archive(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as zip_file:
        for name, data in members:
            zip_file.writestr(name, data)
    return buffer.getvalue()


def member(data: bytes) -> bytes:
    return archive(("y_pred.npy", data))


def header(text: str, payload: bytes = b"") -> bytes:
    padded = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded + payload


def refusal(folder: Path, data: bytes, *, name: str = NAME, rows: int | None = ROWS) -> scoring.ScoringInputError:
    path = folder / name
    path.write_bytes(data)
    with pytest.raises(scoring.ScoringInputError) as caught:
        submissions.read(path, *GAPS, rows=rows)
    return caught.value


@pytest.mark.parametrize("entry", MANIFEST, ids=lambda entry: entry["file"])
def test_files_of_the_official_writers_are_read_and_score_as_officially(entry: dict[str, Any]) -> None:
    arrays = submissions.read(OFFICIAL / entry["file"], entry["dataset"], entry["mode"])
    with np.load(OFFICIAL / entry["truth"]) as truth:
        scores = scoring.evaluate(entry["dataset"], {**truth, **arrays})
    for key, want in entry["expected"].items():
        assert scores[key] == pytest.approx(want, abs=entry["tol"]["abs"], rel=entry["tol"]["rel"])


@pytest.mark.parametrize(("dataset", "split"), EVERY_FILE)
def test_what_is_written_is_read_back_unchanged(dataset: str, split: str, tmp_path: Path) -> None:
    _, arrays = synthetic.make(dataset, split, rows=50)
    path = submissions.write(tmp_path, dataset, split, arrays, rows=50)
    assert path.name == submissions.official_filename(dataset, split)
    back = submissions.read(path, dataset, split, rows=50)
    assert back.keys() == arrays.keys()
    for name, array in back.items():
        np.testing.assert_array_equal(array, arrays[name])
    report = submissions.check(path, dataset, split, rows=50)
    assert report.rows == 50
    assert json.dumps(asdict(report))


@pytest.mark.parametrize(("dataset", "split"), EVERY_FILE)
def test_a_written_file_is_what_numpy_reads_under_the_official_key_type_and_shape(
    dataset: str, split: str, tmp_path: Path
) -> None:
    _, arrays = synthetic.make(dataset, split, rows=50)
    expected = layout(dataset, split, 50).members[0]
    with np.load(submissions.write(tmp_path, dataset, split, arrays, rows=50), allow_pickle=False) as stored:
        assert stored.files == [expected.key]
        assert (stored[expected.key].shape, stored[expected.key].dtype.str) == (expected.shape, expected.dtypes[0])


WRONG_FILES: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "empty_file"),
    "text": (b"hello", "not_a_zip"),
    "a bare array": (GOOD, "not_a_zip"),
    "a pickle": (pickle.dumps([1.0]), "not_a_zip"),
    "gzip": (b"\x1f\x8b" + b"\0" * 50, "not_a_zip"),
    "an empty archive": (archive(), "no_member"),
    "half of the file": (member(GOOD)[: len(member(GOOD)) // 2], "truncated"),
    "all but the last byte": (member(GOOD)[:-1], "truncated"),
    "bytes after the end": (member(GOOD) + b"x", "corrupt_archive"),
    "another key": (archive(("y_true.npy", GOOD)), "wrong_key"),
    "key without suffix": (archive(("y_pred", GOOD)), "wrong_key"),
    "an extra member": (archive(("y_pred.npy", GOOD), ("notes.txt", b"hi")), "extra_member"),
    "the same member twice": (archive(("y_pred.npy", GOOD)), ""),  # replaced below
    "a path": (archive(("../y_pred.npy", GOOD)), "path_in_member"),
    "a folder": (archive(("folder/y_pred.npy", GOOD)), "path_in_member"),
    "a backslash": (archive(("folder\\y_pred.npy", GOOD)), "path_in_member"),
    "a drive": (archive(("c:y_pred.npy", GOOD)), "path_in_member"),
    "no array": (member(b"1.0, 2.0"), "bad_header"),
    "an empty member": (member(b""), "bad_header"),
    "a header of another format": (member(b"\x93NUMPY\x09\x00" + GOOD[8:]), "bad_header"),
    "a header cut short": (member(GOOD[:40]), "bad_header"),
    "a huge header": (member(npy(np.zeros(1), version=(2, 0))[:8] + b"\xff\xff\xff\x7f" + b" " * 5000), "bad_header"),
    "a long header": (member(header(GOOD[10:128].decode().rstrip() + " " * 5000, GOOD[128:])), "bad_header"),
    "a header that is code": (member(header("{'descr': __import__('os'), 'shape': (1,)}")), "bad_header"),
    "a header of nested brackets": (member(header("(" * 3000)), "bad_header"),
    "objects": (member(npy(np.array([1.0] * ROWS, dtype=object))), "object_dtype"),
    "records": (member(npy(np.zeros(ROWS, [("a", "<f4")]))), "wrong_dtype"),
    "float64": (member(npy(np.zeros(ROWS))), "wrong_dtype"),
    "float16": (member(npy(np.zeros(ROWS, np.float16))), "wrong_dtype"),
    "integers": (member(npy(np.zeros(ROWS, np.int32))), "wrong_dtype"),
    "text in the array": (member(npy(np.array(["1.0"] * ROWS))), "wrong_dtype"),
    "big-endian": (member(npy(np.zeros(ROWS, ">f4"))), "wrong_dtype"),
    "one row too few": (member(npy(np.zeros(ROWS - 1, np.float32))), "wrong_shape"),
    "a column": (member(npy(np.zeros((ROWS, 1), np.float32))), "wrong_shape"),
    "a single number": (member(npy(np.float32(1))), "wrong_shape"),
    "no rows": (member(npy(np.zeros(0, np.float32))), "wrong_shape"),
    "the test-challenge shape": (member(npy(np.zeros(147_432, np.float32))), "wrong_split"),
    "less than the header promises": (member(GOOD[:-4]), "truncated"),
    "more than the header promises": (member(GOOD + b"\0" * 4), "too_large"),
    "a header that claims terabytes": (
        member(header("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }", b"\0" * 16)),
        "wrong_shape",
    ),
    "a header with a shape of many digits": (
        member(header("{'descr': '<f4', 'fortran_order': False, 'shape': (" + "9" * 4000 + ",), }")),
        "wrong_shape",
    ),
    "NaN": (member(npy(np.full(ROWS, np.nan, np.float32))), "nan"),
    "one NaN": (member(npy(np.array([np.nan] + [1] * (ROWS - 1), np.float32))), "nan"),
    "infinity": (member(npy(np.array([1] * (ROWS - 1) + [-np.inf], np.float32))), "infinite"),
    "bzip2": (archive(("y_pred.npy", GOOD), method=zipfile.ZIP_BZIP2), "unsupported_compression"),
    "lzma": (archive(("y_pred.npy", GOOD), method=zipfile.ZIP_LZMA), "unsupported_compression"),
}


def twice() -> bytes:
    with pytest.warns(UserWarning, match="Duplicate name"):
        return archive(("y_pred.npy", GOOD), ("y_pred.npy", GOOD))


@pytest.mark.parametrize("kind", list(WRONG_FILES))
def test_a_wrong_file_is_refused_with_the_code_of_what_is_wrong(kind: str, tmp_path: Path) -> None:
    data, code = (twice(), "extra_member") if kind == "the same member twice" else WRONG_FILES[kind]
    error = refusal(tmp_path, data)
    assert error.code == code, error
    assert str(error).isprintable()
    assert str(tmp_path) not in str(error)


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]


def test_a_damaged_byte_of_the_data_is_a_crc_error(tmp_path: Path) -> None:
    stored = archive(("y_pred.npy", GOOD), method=zipfile.ZIP_STORED)
    assert refusal(tmp_path, flipped(stored, 2000)).code == "crc_error"


def with_flag(data: bytes, flag: int) -> bytes:
    """The archive with a general-purpose flag set in its local header and in its directory."""
    changed = bytearray(data)
    changed[6] |= flag
    changed[data.rfind(b"PK\x01\x02") + 8] |= flag
    return bytes(changed)


@pytest.mark.parametrize("flag", [0x01, 0x41], ids=["traditional", "strong"])
def test_an_encrypted_archive_is_refused_before_anything_is_inflated(flag: int, tmp_path: Path) -> None:
    assert refusal(tmp_path, with_flag(member(GOOD), flag)).code == "encrypted"


def bomb(size: int) -> bytes:
    start = header("{'descr': '<f4', 'fortran_order': False, 'shape': (1000,), }")
    return member(start + bytes(size))


@pytest.mark.parametrize("megabytes", [1, 32, pytest.param(320, marks=in_soak)])
def test_a_bomb_is_refused_without_being_inflated(megabytes: int, tmp_path: Path) -> None:
    data = bomb(megabytes << 20)
    tracemalloc.start()
    try:
        error = refusal(tmp_path, data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert error.code == "too_large"
    assert peak < 2 << 20


def test_a_huge_array_is_refused_for_its_size_before_its_header_is_read(tmp_path: Path) -> None:
    huge = header("{'descr': '<f4', 'fortran_order': False, 'shape': (83886080,), }") + bytes(320 << 20)
    assert refusal(tmp_path, member(huge)).code == "too_large"


def test_a_size_that_the_directory_hides_does_not_make_the_member_longer(tmp_path: Path) -> None:
    data = bytearray(bomb(1 << 20))
    place = data.rfind(b"PK\x01\x02") + 24
    data[place : place + 4] = struct.pack("<L", len(GOOD))
    assert refusal(tmp_path, bytes(data)).code in ("crc_error", "bad_header", "truncated", "too_large")


def test_an_end_record_that_promises_a_huge_directory_is_refused(tmp_path: Path) -> None:
    many = archive(*((f"{number}.npy", b"") for number in range(3000)))
    assert refusal(tmp_path, many).code == "corrupt_archive"


def test_any_single_damaged_byte_is_refused_or_harmless(tmp_path: Path) -> None:
    data = member(npy(np.arange(30, dtype=np.float32)))
    path = tmp_path / NAME
    for place in range(len(data)):
        path.write_bytes(flipped(data, place))
        try:
            array = submissions.read(path, *GAPS, rows=30)["y_pred"]
        except scoring.ScoringInputError:
            continue
        np.testing.assert_array_equal(array, np.arange(30, dtype=np.float32))


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    data = member(npy(np.arange(30, dtype=np.float32)))
    for length in range(len(data)):
        assert refusal(tmp_path, data[:length], rows=30).code in ("empty_file", "not_a_zip", "truncated")


def test_random_damage_never_escapes_as_another_exception(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    data = np.frombuffer(archive(("y_pred.npy", npy(np.arange(30, dtype=np.float32)))), np.uint8)
    path = tmp_path / NAME
    refused = 0
    for _ in range(1500):
        damaged = data.copy()
        damaged[rng.integers(0, len(data), rng.integers(2, 8))] = rng.integers(0, 256)
        path.write_bytes(damaged.tobytes())
        try:
            submissions.read(path, *GAPS, rows=30)
        except scoring.ScoringInputError:
            refused += 1
    assert refused > 1000


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_stored_and_deflated_members_are_equally_right(method: int, tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(archive(("y_pred.npy", GOOD), method=method))
    assert submissions.read(path, *GAPS, rows=ROWS)["y_pred"].shape == (ROWS,)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (
            np.zeros(ROWS - 1, np.float32),
            f"it is an array of {ROWS - 1} numbers; it must be an array of {ROWS} numbers.",
        ),
        (np.zeros((ROWS, 1), np.float32), f"it is an array of {ROWS} by 1 numbers; it must be"),
        (np.float32(1), "it is a single number; it must be"),
        (np.zeros(147_432, np.float32), "it is an array of 147432 numbers, as many as test-challenge has"),
    ],
)
def test_a_wrong_shape_is_told_in_words(array: Any, words: str, tmp_path: Path) -> None:
    assert words in str(refusal(tmp_path, member(npy(array))))


def test_column_order_is_read_as_numpy_reads_it(tmp_path: Path) -> None:
    _, arrays = synthetic.make("lsc-wikikg90mv2", "test-dev", rows=40)
    path = tmp_path / submissions.official_filename("lsc-wikikg90mv2", "test-dev")
    np.savez_compressed(path, t_pred_top10=np.asfortranarray(arrays["t_pred_top10"]))
    back = submissions.read(path, "lsc-wikikg90mv2", "test-dev", rows=40)["t_pred_top10"]
    np.testing.assert_array_equal(back, arrays["t_pred_top10"])


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("y_pred_pcqm4m-v2_test-challenge.npz", "wrong_split"),
        ("y_pred_mag240m_test-dev.npz", "wrong_file_name"),
        ("y_pred_pcqm4m-v2_test-dev (1).npz", "wrong_file_name"),
        ("Y_PRED_pcqm4m-v2_test-dev.npz", "wrong_file_name"),
        ("y_pred_pcqm4m-v2_test-dev.npz.npz", "wrong_file_name"),
        ("predictions.npz", "wrong_file_name"),
    ],
)
def test_only_the_official_name_is_accepted(name: str, code: str, tmp_path: Path) -> None:
    error = refusal(tmp_path, member(GOOD), name=name)
    assert error.code == code
    assert NAME in str(error)


def test_the_name_that_counts_is_the_uploaders(tmp_path: Path) -> None:
    path = tmp_path / "a3f5"
    path.write_bytes(member(GOOD))
    assert submissions.check(path, *GAPS, rows=ROWS, filename=NAME).filename == NAME
    with pytest.raises(scoring.ScoringInputError, match="must be called") as caught:
        submissions.check(path, *GAPS, rows=ROWS, filename="y_pred_pcqm4m-v2_test-challenge.npz")
    assert caught.value.code == "wrong_split"
    with pytest.raises(scoring.ScoringInputError) as caught:
        submissions.check(path, *GAPS, rows=ROWS, filename="mine.csv")
    assert str(caught.value) == f"'mine.csv': this phase takes an .npz file named {NAME}; yours is a .csv file."


def test_a_challenge_array_under_the_test_dev_name_is_recognised_by_its_size(tmp_path: Path) -> None:
    error = refusal(tmp_path, member(npy(np.ones(147_432, np.float32))), rows=None)
    assert error.code == "wrong_split"
    assert "test-challenge" in str(error)


def ids(*rows: list[int]) -> Any:
    return np.array(rows, np.int32)


TEN = list(range(10))
WRONG_IDS: list[tuple[str, str, Any, str]] = [
    ("lsc-wikikg90mv2", "test-dev", ids(TEN, [5, 5, *range(8)]), "duplicate_ids"),
    ("lsc-wikikg90mv2", "test-dev", ids(TEN, [91_230_610, *range(9)]), "out_of_range"),
    ("lsc-wikikg90m", "test", ids(TEN, [-1, *range(9)]), "out_of_range"),
    ("lsc-wikikg90m", "test", ids(TEN, [1001, *range(9)]), "out_of_range"),
    ("lsc-wikikg90m", "test", ids(TEN, [3, 3, *range(4, 12)]), "duplicate_ids"),
    ("obl2021", "test", ids(TEN, [180_992, *range(9)]), "out_of_range"),
]


@pytest.mark.parametrize(("dataset", "split", "array", "code"), WRONG_IDS)
def test_wrong_ids_are_refused_by_reader_and_writer(
    dataset: str, split: str, array: Any, code: str, tmp_path: Path
) -> None:
    file_layout = layout(dataset, split, 1 if dataset == "obl2021" else 2)
    path = tmp_path / file_layout.filename
    np.savez_compressed(path, **{file_layout.members[0].key: array.astype(file_layout.members[0].dtypes[0])})
    with pytest.raises(scoring.ScoringInputError) as reading:
        submissions.read(path, dataset, split, rows=file_layout.rows)
    given = {"t_pred_top10": array[:1], "h_pred_top10": array[1:]} if dataset == "obl2021" else {"t_pred_top10": array}
    with pytest.raises(scoring.ScoringInputError) as writing:
        submissions.write(tmp_path, dataset, split, given, rows=file_layout.rows)
    assert (reading.value.code, writing.value.code) == (code, code)


def test_ids_that_are_there_twice_are_named(tmp_path: Path) -> None:
    path = tmp_path / layout("lsc-wikikg90mv2", "test-dev", 2).filename
    np.savez_compressed(path, t_pred_top10=ids(TEN, [15, 15, 12, 11, 12, *range(5)]))
    with pytest.raises(scoring.ScoringInputError, match=r"row 1 \(from 0\) names 12, 15 more than once"):
        submissions.read(path, "lsc-wikikg90mv2", "test-dev", rows=2)
    seeds = [{"seed": seed, "valid": 0.5, "test": 0.5} for seed in (0, 1, 2, 3, 4, 5, 6, 7, 7, 3)]
    results = tmp_path / "results_ogbn-arxiv.json"
    results.write_text(json.dumps({"dataset": "ogbn-arxiv", "metric": "acc", "seeds": seeds}))
    with pytest.raises(scoring.ScoringInputError, match="3, 7 stands there more than once"):
        seed_results.read(results, "ogbn-arxiv")


def test_padding_is_legal_where_the_official_format_has_it(tmp_path: Path) -> None:
    padded = ids([4, *[-1] * 9])
    path = submissions.write(tmp_path, "lsc-wikikg90mv2", "test-dev", {"t_pred_top10": padded}, rows=1)
    warnings = submissions.check(path, "lsc-wikikg90mv2", "test-dev", rows=1).warnings
    assert warnings == ["t_pred_top10: 9 negative ids are padding and take up ranks."]


def test_the_smallest_integer_is_pointed_out_as_a_cast_nan(tmp_path: Path) -> None:
    array = ids([4, *[np.iinfo(np.int32).min] * 9])
    path = submissions.write(tmp_path, "lsc-wikikg90mv2", "test-dev", {"t_pred_top10": array}, rows=1)
    assert "NaN" in submissions.check(path, "lsc-wikikg90mv2", "test-dev", rows=1).warnings[0]


def test_openbiolink_files_hold_the_tails_first(tmp_path: Path) -> None:
    tails, heads = ids(TEN), ids(TEN[::-1])
    path = submissions.write(tmp_path, "obl2021", "test", {"h_pred_top10": heads, "t_pred_top10": tails}, rows=1)
    with np.load(path) as stored:
        assert stored["pred_top10"].tolist() == [TEN, TEN[::-1]]


@pytest.mark.parametrize(
    ("dataset", "split", "values", "code"),
    [
        ("lsc-mag240m", "test-dev", [1.0, float("nan")], "nan"),
        ("lsc-mag240m", "test-dev", [1, 70_000], "out_of_range"),
        ("lsc-mag240m", "test-dev", [1.7, 2.0], "out_of_range"),
        ("lsc-mag240m", "test-dev", [-1, 2], "out_of_range"),
        ("lsc-mag240m", "test-dev", [[1], [2]], "wrong_shape"),
        ("lsc-pcqm4mv2", "test-dev", [1.0, 1e300], "infinite"),
        ("lsc-pcqm4mv2", "test-dev", ["1", "2"], "wrong_dtype"),
    ],
)
def test_the_writer_refuses_what_the_official_writers_would_cast_silently(
    dataset: str, split: str, values: Any, code: str, tmp_path: Path
) -> None:
    with pytest.raises(scoring.ScoringInputError) as caught:
        submissions.write(tmp_path, dataset, split, {"y_pred": values}, rows=2)
    assert caught.value.code == code
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = submissions.write(tmp_path, *GAPS, {"y_pred": [1.0]}, rows=1)
    before = path.read_bytes()

    def full(*arguments: Any, **arrays: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="No space"):
        submissions.write(tmp_path, *GAPS, {"y_pred": [2.0]}, rows=1)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == before


def test_written_files_are_the_same_bytes_every_time(tmp_path: Path) -> None:
    first = submissions.write(tmp_path, *GAPS, {"y_pred": [1.0]}, rows=1).read_bytes()
    assert submissions.write(tmp_path, *GAPS, {"y_pred": [1.0]}, rows=1).read_bytes() == first


@pytest.mark.parametrize(
    ("make", "code"),
    [(Path.mkdir, "no_file"), (os.mkfifo, "no_file"), (lambda path: None, "no_file")],
    ids=["folder", "pipe", "nothing"],
)
def test_what_is_no_file_is_refused_without_waiting(make: Callable[[Path], None], code: str, tmp_path: Path) -> None:
    make(tmp_path / NAME)
    with pytest.raises(scoring.ScoringInputError) as caught:
        submissions.read(tmp_path / NAME, *GAPS, rows=1)
    assert caught.value.code == code


@pytest.mark.parametrize(("dataset", "split"), [("lsc-pcqm4m", "test"), pytest.param("obl2021", "test", marks=in_soak)])
def test_reading_takes_at_most_twice_the_memory_of_the_arrays(dataset: str, split: str, tmp_path: Path) -> None:
    _, arrays = synthetic.make(dataset, split)
    path = submissions.write(tmp_path, dataset, split, arrays)
    size = layout(dataset, split).largest_bytes
    del arrays
    tracemalloc.start()
    try:
        submissions.check(path, dataset, split)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 2 * size + (4 << 20)


def test_datasets_without_a_file_format_say_so(tmp_path: Path) -> None:
    with pytest.raises(scoring.ScoringInputError, match="no official file") as caught:
        submissions.read(tmp_path / "x.npz", "ogbl-ddi", "test")
    assert caught.value.code == "unknown_split"


@pytest.mark.parametrize("rows", [0, -5])
def test_a_number_of_rows_below_one_is_refused(rows: int, tmp_path: Path) -> None:
    with pytest.raises(scoring.ScoringInputError) as caught:
        submissions.read(tmp_path / NAME, *GAPS, rows=rows)
    assert caught.value.code == "bad_parameter"


def test_the_checksum_of_the_archive_is_compared_even_when_the_header_is_right(tmp_path: Path) -> None:
    data = bytearray(archive(("y_pred.npy", GOOD), method=zipfile.ZIP_STORED))
    wrong = struct.pack("<L", zlib.crc32(GOOD) ^ 1)
    data[14:18] = wrong
    place = data.rfind(b"PK\x01\x02") + 16
    data[place : place + 4] = wrong
    assert refusal(tmp_path, bytes(data)).code == "crc_error"


def test_a_disk_that_fails_is_no_fault_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, left, open_zip = tmp_path / NAME, 1000, zipfile.ZipFile
    path.write_bytes(archive(("y_pred.npy", GOOD)))

    class FailingFile(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            nonlocal left
            if (left := left - 1) < 0:
                raise OSError(errno.EIO, "Input/output error")
            return super().read(size) or b""

    @contextmanager
    def failing_zip(path: Path) -> Iterator[zipfile.ZipFile]:
        with FailingFile(path) as file, open_zip(file) as opened:
            yield opened

    monkeypatch.setattr("scoring.formats.npz.zipfile.ZipFile", failing_zip)
    submissions.read(path, *GAPS, rows=ROWS)
    for reads_before in range(1000 - left):
        left = reads_before
        with pytest.raises((OSError, zipfile.BadZipFile)):
            submissions.read(path, *GAPS, rows=ROWS)
