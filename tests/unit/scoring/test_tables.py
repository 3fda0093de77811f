"""Tables as people have them: formats, recognised columns, parts, samples and baselines."""

from __future__ import annotations

import gzip
import io
import json
import math
import resource
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import zstandard
from numpy.lib.format import write_array_header_1_0

from scoring.errors import ScoringInputError
from scoring.metrics import METRICS
from scoring.tables.align import find_places, metric_rows, read_ids, reorder
from scoring.tables.baselines import constant_baseline, sample_submission
from scoring.tables.check import check_table
from scoring.tables.choices import metrics_for
from scoring.tables.columns import schema_for
from scoring.tables.commands import find_fault
from scoring.tables.matching import match_columns
from scoring.tables.reading.encodings import EXCEL_STEPS
from scoring.tables.reading.files import Source, open_table, read_table, write_table
from scoring.tables.recognise import preview_table, recognise, require_plain_numbers
from scoring.tables.samples import require_sample
from scoring.tables.schema import Column, TableSchema
from scoring.tables.splitting import read_usage, with_usage
from scoring.tables.table_reference import ChosenMetric, reference_for

TABLE = pl.DataFrame(
    {
        "id": range(60),
        "price": [index / 7 for index in range(60)],
        "kind": ["a", "b", "b"] * 20,
        "Usage": ["Public", "Private"] * 30,
    }
)
FORMATS = ["csv", "tsv", "parquet", "jsonl", "npz"]


def zipped(path: Path) -> Path:
    target = path.with_suffix(".zip")
    with zipfile.ZipFile(target, "w") as archive:
        archive.write(path, path.name)
        archive.writestr("__MACOSX/._x", "added by an archiver")
    return target


def packed(ending: str, pack: Callable[[bytes], bytes]) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        target = path.with_name(path.name + ending)
        target.write_bytes(pack(path.read_bytes()))
        return target

    return write


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize(
    "pack",
    [lambda path: path, packed(".gz", gzip.compress), packed(".zst", zstandard.compress), zipped],
    ids=["plain", "gz", "zst", "zip"],
)
def test_a_table_is_read_in_every_format(tmp_path: Path, ending: str, pack: Callable[[Path], Path]) -> None:
    path = pack(write_table(TABLE, tmp_path / f"table.{ending}"))
    assert read_table(path).equals(TABLE)


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfid,name\r\n7,a\r\n8,b\r\n",
        b"id;name\n7;a\n8;b\n",
        b'"id","name"\n"7","a"\n8,"b"\n\n\n',
        b"id,name\n7,a\n8,b",
        b"id\tname\n7\ta\n8\tb\n",
        b"id,name\r7,a\r8,b\r",
        b"id,name,\n7,a,\n8,b,\n",
        b"id;name;;\n7;a;;\n8;b;;\n",
        b"\n\nid,name\n7,a\n8,b\n",
        b'\xef\xbb\xbf"id";"name"\r\n"7";"a"\r\n"8";"b"\r\n',
    ],
    ids=[
        "as spreadsheets write it",
        "semicolons",
        "quotes and blank lines at the end",
        "no last line end",
        "tabs",
        "CR line ends",
        "commas at the ends of lines",
        "semicolons at the ends of lines",
        "blank lines at the start",
        "byte order mark before quotes",
    ],
)
def test_text_as_programs_write_it_is_read(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.csv").write_bytes(content)
    assert read_table(tmp_path / "x.csv").rows() == [(7, "a"), (8, "b")]


@pytest.mark.parametrize(
    ("content", "names", "row"),
    [
        ('"id";"Preis, EUR";"y"\n7;1;2\n', ["id", "Preis, EUR", "y"], (7, 1, 2)),
        ('"id";"Preis, EUR"\n7;1,5\n', ["id", "Preis, EUR"], (7, 1.5)),
        ('id,"a; b; c"\n7,1\n', ["id", "a; b; c"], (7, 1)),
        ("id,a;b;c\n7,1\n8,2\n", ["id", "a;b;c"], (7, 1)),
        ('id,"price\nin EUR"\n7,1\n', ["id", "price in EUR"], (7, 1)),
        ('id,"price\r\nin EUR"\r\n7,1\r\n', ["id", "price in EUR"], (7, 1)),
        ('id,"the ""price"""\n7,1\n', ["id", 'the "price"'], (7, 1)),
        ('id,"note"\r7,"a\nb"\r', ["id", "note"], (7, "a\nb")),
        ("id\n7\n", ["id"], (7,)),
    ],
)
def test_names_are_read_as_they_are_quoted(
    tmp_path: Path, content: str, names: list[str], row: tuple[Any, ...]
) -> None:
    (tmp_path / "x.csv").write_bytes(content.encode())
    table = read_table(tmp_path / "x.csv")
    assert (table.columns, table.row(0)) == (names, row)


@pytest.mark.parametrize(
    ("content", "values"),
    [
        ("id;y\n1;1,5\n2;-,25\n3;\n4;2\n", [1.5, -0.25, None, 2.0]),
        ("id\ty\n1\t1,5e3\n2\t 2\n", [1500.0, 2.0]),
        ("id;y\n" + "1;2\n" * 11_000 + "1;1,5\n", [2.0] * 11_000 + [1.5]),
        ("id;y\n1;1.5\n2;2\n", [1.5, 2.0]),
        ("id;y\n1;1,5\n2;a, b\n", ["1,5", "a, b"]),
        ("id;y\n1;1,234\n2;999\n", ["1,234", "999"]),
        ("id;y\n1;1,234\n2;0,5\n", [1.234, 0.5]),
        ('id,y\n1,"1,5"\n', ["1,5"]),
    ],
    ids=[
        "semicolons",
        "tabs",
        "far below",
        "points",
        "texts",
        "perhaps thousands",
        "surely no thousands",
        "commas between cells",
    ],
)
def test_decimal_commas_are_read_where_nothing_else_is_meant(tmp_path: Path, content: str, values: list[Any]) -> None:
    (tmp_path / "x.csv").write_text(content)
    assert read_table(tmp_path / "x.csv")["y"].to_list() == values


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b",y\n0,1\n",
            "the header: column 1 has no name; name it, or leave it out (pandas writes its index unless index=False is given).",
        ),
        (
            b"id,y\n1,2\n2,1,5\n",
            "line 3: it has 3 cells, but the header has 2 names; quote texts that hold commas, and write numbers with a decimal point.",
        ),
        (b"id;y\n1;2;\n", "line 2: it has 3 cells, but the header has 2 names; quote texts that hold semicolons."),
        (b"id,id\n1,2\n", "the header: 'id' is there twice; name each column once."),
        (
            "id,ort\n1,Zürich\n".encode("latin-1"),
            (
                "line 2: it is not UTF-8 text (it holds the byte 0xFC, which is “ü” in Windows-1252 and Latin-1); "
                f"save the file as UTF-8: {EXCEL_STEPS}."
            ),
        ),
        (
            b"id,y\n" + b"1,2\n" * 300_000 + b"1,\x80\n",
            f"line 300,002: it is not UTF-8 text; save the file as UTF-8: {EXCEL_STEPS}.",
        ),
        (
            b"\xff\xfei\0d\0\n\0\0\xd8\n\0",
            f"the table: it begins as UTF-16 and holds something else; save it as UTF-8: {EXCEL_STEPS}.",
        ),
        (b'"id,y\n' + b"1,2\n" * 50_000, "the header: a quote in it does not end; end it."),
    ],
)
def test_text_that_is_no_right_table_is_refused_with_its_reason(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(ScoringInputError) as refused:
        read_table(tmp_path / "x.csv")
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("x.csv", b"", "empty_file"),
        ("x.csv", b"PAR1....", "unknown_format"),
        ("x.parquet", b"id,price\n", "unknown_format"),
        ("x.parquet", b"PAR1damaged", "unknown_format"),
        ("x.csv", b"id,price\n1,2,3\n", "unknown_format"),
        ("x.csv", b"id,id\n1,2\n", "extra_column"),
        ("x.csv", b"id,\xff\xfe\n1,2\n", "unknown_format"),
        ("x.jsonl", b'{"id": [1]}\n', "wrong_type"),
        ("x.jsonl", b"no json\n", "unknown_format"),
        ("x.csv.gz", b"\x1f\x8bdamaged", "corrupt_archive"),
        ("x.csv.zst", b"\x28\xb5\x2f\xfddamaged", "corrupt_archive"),
        ("x.zip", b"PK\x03\x04damaged", "corrupt_archive"),
        ("x.npz", b"PK\x03\x04damaged", "unknown_format"),
        ("x.exe", b"MZ", "wrong_file_name"),
        ("x.jsonl", '{"ort": "Zürich"}\n'.encode("latin-1"), "unknown_format"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, name: str, content: bytes, code: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ScoringInputError) as refused:
        read_table(path)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.xlsx", b"PK\x03\x04"),
        ("x.xls.gz", b"\x1f\x8b"),
        ("x.ods", b"PK"),
        ("x.csv", b"\xd0\xcf\x11\xe0 an old workbook"),
        ("x.csv", b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml"),
        ("x.zip", b"PK\x03\x04" + bytes(26) + b"xl/workbook.xml"),
    ],
)
def test_of_a_spreadsheet_it_is_said_what_to_press(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ScoringInputError) as refused:
        read_table(tmp_path / name)
    assert str(refused.value) == f"{name!r}: it is a spreadsheet; {EXCEL_STEPS}."


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
def test_text_of_any_unicode_encoding_is_read(tmp_path: Path, encoding: str, name: str) -> None:
    separator = "," if name == "x.csv" else "\t"
    (tmp_path / name).write_bytes(f"id{separator}ort\n1{separator}Zürich\n".encode(encoding))
    assert read_table(tmp_path / name).rows() == [(1, "Zürich")]


def test_a_text_that_grows_beyond_the_limit_as_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(("id\n" + "語" * 1000).encode("utf-16"))
    with (
        pytest.raises(ScoringInputError, match="it unpacks to more than 2,500 bytes"),
        open_table(tmp_path / "x.csv", limit_bytes=2500),
    ):
        pass


def test_a_zip_of_two_tables_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", "id\n1\n")
        archive.writestr("b.csv", "id\n1\n")
    with pytest.raises(ScoringInputError, match="holds 2 files; put exactly one table into it"):
        read_table(tmp_path / "two.zip")


def test_a_file_that_unpacks_to_more_than_allowed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.csv.gz"
    path.write_bytes(gzip.compress(b"0" * 10_000_000))
    with pytest.raises(ScoringInputError, match="unpacks to more than 1,000 bytes"), open_table(path, limit_bytes=1000):
        pass


def test_a_disk_without_room_is_no_fault_of_the_file(tmp_path: Path) -> None:
    path, (_, most) = tmp_path / "p.csv.gz", resource.getrlimit(resource.RLIMIT_FSIZE)
    path.write_bytes(gzip.compress(b"id\n" + b"7\n" * 4_000_000))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024**2, most))
    try:
        with pytest.raises(OSError, match="File too large"):
            read_table(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def test_of_a_file_that_is_packed_twice_only_the_last_step_stays_on_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "p.zip"
    for name in ("p.csv.gz", "inner.zip"):
        packed = path.read_bytes() if name == "inner.zip" else gzip.compress(b"id\n7\n")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, packed)
    with open_table(path) as source:
        assert list(source.path.parent.iterdir()) == [source.path]
        assert source.path.read_bytes() == b"id\n7\n"


def test_arrays_of_objects_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", id=np.array([object()]))
    with pytest.raises(ScoringInputError, match="Object arrays"):
        read_table(tmp_path / "x.npz")


def with_header(folder: Path, shape: tuple[int, ...]) -> Path:
    """An npz of ten numbers, whose header promises what the shape says."""
    array = io.BytesIO()
    write_array_header_1_0(array, {"descr": "<f8", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(folder / "x.npz", "w") as archive:
        archive.writestr("id.npy", array.getvalue() + b"\0" * 80)
    return folder / "x.npz"


@pytest.mark.parametrize("shape", [(10**12,), (10**6, 10**6), (11,), (9,), (10**30,)], ids=str)
def test_arrays_of_another_size_than_they_promise_are_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    assert read_table(with_header(tmp_path, (10,))).height == 10
    with pytest.raises(ScoringInputError, match=r"'id\.npy': it holds 208 bytes, but its header promises"):
        read_table(with_header(tmp_path, shape))


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("File is encrypted"), EOFError()], ids=repr)
def test_what_numpy_raises_on_a_table_is_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(path: Path, **settings: Any) -> None:
        raise error

    path = with_header(tmp_path, (10,))
    monkeypatch.setattr(np, "load", fail)
    with pytest.raises(ScoringInputError) as refused:
        read_table(path)
    assert refused.value.code == "unknown_format"


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pl.Series([1, 2]).cast(pl.Duration("ms")), "'x': it holds spans of time; give them as numbers."),
        (pl.Series([b"\xff", b"a"]), "'x': it holds bytes that are no UTF-8 text; give numbers or texts."),
        (pl.Series([[1], [2]]), "'x': it holds lists or records; give one value a cell."),
    ],
    ids=["durations", "bytes", "lists"],
)
def test_columns_that_hold_neither_numbers_nor_texts_are_refused(
    tmp_path: Path, column: pl.Series, message: str
) -> None:
    path = write_table(pl.DataFrame({"id": [1, 2], "x": column}), tmp_path / "x.parquet")
    with pytest.raises(ScoringInputError) as refused:
        recognise(path)
    assert str(refused.value) == message


@pytest.mark.parametrize("name", ["x.parquet", "x.npz"])
def test_text_that_is_stored_as_bytes_is_text(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith(".npz"):
        np.savez(path, id=np.array([b"a", b"bc"]))
    else:
        write_table(pl.DataFrame({"id": [b"a", b"bc"]}), path)
    assert read_table(path)["id"].to_list() == ["a", "bc"]


def test_dates_decimals_and_empty_columns_are_recognised(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {
            "id": [1, 2, 3],
            "day": pl.Series([0, 1, 2]).cast(pl.Date),
            "price": pl.Series(["1.5", "2.5", "3.5"]).cast(pl.Decimal(10, 2)),
            "kind": pl.Series(["a", "b", "a"]).cast(pl.Categorical),
            "nothing": pl.Series([None, None, None]),
        }
    )
    preview = recognise(write_table(table, tmp_path / "x.parquet"))
    assert [column.type for column in preview.columns] == ["integer", "text", "number", "text", "text"]
    assert (preview.column("price").minimum, preview.column("kind").classes) == (1.5, ("a", "b"))


def test_bounds_that_are_not_finite_are_none() -> None:
    infinite, empty = math.inf, math.nan
    table = pl.DataFrame({"up": [1.0, infinite], "down": [-infinite, 1.0], "empty": [empty, empty]})
    preview = preview_table(table, Source(Path("s.csv"), "csv"))
    assert [(column.minimum, column.maximum) for column in preview.columns] == [(1.0, None), (None, 1.0), (None, None)]
    json.dumps(preview.as_json(), allow_nan=False)


def test_a_name_or_a_class_with_a_nul_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"id,a\0b\n1,2\n")
    with pytest.raises(ScoringInputError, match="holds a NUL character in place 2; leave that out"):
        read_table(tmp_path / "x.csv")
    with pytest.raises(ScoringInputError, match="holds a NUL character; leave that out"):
        Column("kind", "text", allowed=("a\0", "b"))


def test_a_refusal_repeats_no_character_that_cannot_be_shown(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"id,price\n1,2\0\n")
    with pytest.raises(ScoringInputError, match="could not parse `2 `"):
        read_table(tmp_path / "x.csv", types={"price": pl.Float64()})


def test_columns_are_recognised(tmp_path: Path) -> None:
    description = recognise(write_table(TABLE, tmp_path / "solution.csv"))
    assert (description.rows, description.id_column, description.targets, description.usage_column) == (
        60,
        "id",
        ("price", "kind"),
        "Usage",
    )
    assert [column.kind for column in description.columns] == ["unique", "number", "binary", "binary"]
    assert description.column("kind").classes == ("a", "b")
    assert description.first_rows[0] == ("0", "0.0", "a", "Public")
    assert description.as_json()["columns"][1]["maximum"] == pytest.approx(59 / 7)


@pytest.mark.parametrize(
    ("targets", "first"),
    [
        (["price"], "rmse"),
        (["kind"], "roc_auc"),
        (["price", "count"], "mcrmse"),
        (["price", "kind01"], "concordance_index"),
    ],
)
def test_fitting_metrics_come_first(tmp_path: Path, targets: list[str], first: str) -> None:
    table = TABLE.with_columns(kind01=pl.Series([0, 1, 1] * 20), count=pl.Series(range(100, 160)))
    with open_table(write_table(table, tmp_path / "solution.csv")) as source:
        assert metrics_for(preview_table(table, source), targets)[0].name == first


@pytest.mark.parametrize("value", [math.inf, math.nan, 1e30])
def test_odd_numbers_are_no_classes(value: float) -> None:
    solution = pl.DataFrame({"id": [1, 2], "kind": [1.0, value]})
    with pytest.raises(ScoringInputError, match="'kind': it holds"):
        schema_for(solution, METRICS["accuracy"], id_column="id", targets=["kind"])


def test_long_texts_and_columns_far_to_the_right_are_cut_short() -> None:
    wide = {f"c{place}": [0.5, 1.5] for place in range(60)}
    preview = preview_table(pl.DataFrame({"note": ["x" * 500, "y"], **wide}), Source(Path("s.csv"), "csv"))
    first = preview.column("note")
    assert first.examples == first.classes == ("x" * 79 + "…", "y")
    assert (len(preview.columns), len(preview.first_rows[0]), preview.first_rows[0][0]) == (61, 50, first.examples[0])
    assert [preview.column(name).examples for name in ("c48", "c49")] == [("0.5", "1.5"), ()]
    assert (preview.column("c59").maximum, preview.column("c59").distinct) == (1.5, 2)


@pytest.mark.parametrize("columns_before", [0, 60])
@pytest.mark.parametrize(
    ("value", "group"), [("1 20 " * 60 + "5 {}", "segmentation"), ("car 1 2 3 4 " * 40 + "car 1 2 3 {}", "detection")]
)
def test_masks_and_boxes_are_known_by_their_whole_texts(value: str, group: str, columns_before: int) -> None:
    numbers = {f"c{place}": range(30) for place in range(columns_before)}
    table = pl.DataFrame({**numbers, "target": [value.format(place) for place in range(30)]})
    preview = preview_table(table, Source(Path("s.csv"), "csv"))
    assert metrics_for(preview, ["target"])[0].group == group


def test_texts_without_a_pattern_are_texts_wherever_they_stand() -> None:
    columns = {f"c{place}": [f"words {row}" for row in range(30)] for place in range(60)}
    preview = preview_table(pl.DataFrame(columns), Source(Path("s.csv"), "csv"))
    assert {metrics_for(preview, [name])[0].group for name in ("c0", "c59")} == {"text"}


@pytest.mark.parametrize("fraction", [0.2, 0.5])
def test_a_part_is_drawn_by_its_seed(fraction: float) -> None:
    table = TABLE.drop("Usage")
    parts = [with_usage(table, fraction=fraction, seed=seed)["Usage"].to_list() for seed in (1, 1, 2)]
    assert parts[0] == parts[1] != parts[2]
    assert parts[0].count("Public") == 60 * fraction


def test_strata_are_shared_out_and_groups_stay_whole() -> None:
    table = pl.DataFrame({"label": [0] * 90 + [1] * 10, "patient": [index // 5 for index in range(100)]})
    strata = with_usage(table, fraction=0.3, seed=1, stratify="label")
    assert strata.filter(pl.col("Usage") == "Public")["label"].sum() == 3
    groups = with_usage(table, fraction=0.3, seed=1, group="patient")
    assert groups.group_by("patient").agg(pl.col("Usage").n_unique())["Usage"].max() == 1


def test_a_column_of_parts_says_what_is_wrong() -> None:
    assert read_usage(pl.DataFrame({"split": ["public", " Private", "IGNORED"]}), "split").to_list() == [
        "Public",
        "Private",
        "Ignored",
    ]
    with pytest.raises(ScoringInputError, match="it holds 'test'; use Public, Private and Ignored alone"):
        read_usage(pl.DataFrame({"split": ["public", "test"]}), "split")


@pytest.mark.parametrize(
    "value",
    [
        {"id_column": "id", "columns": [{"name": "id"}]},
        {"id_column": "id", "columns": []},
        {"id_column": "id", "columns": [{"name": "x", "minimum": 2, "maximum": 1}]},
        {"id_column": "id", "columns": [{"name": "x", "type": "date"}]},
        {"id_column": "id", "columns": [{"name": "x"}], "rows": 0},
        {"id_column": "id", "columns": [{"name": "x"}], "probabilities": [["y"]]},
        {"id_column": "id", "columns": [{"name": "x"}], "formats": ["xlsx"]},
        {"id_column": "id", "columns": [{"name": "x", "maximum": "1"}]},
        {"id": "id"},
        [],
    ],
)
def test_a_schema_that_contradicts_itself_is_refused(value: object) -> None:
    with pytest.raises(ScoringInputError) as refused:
        TableSchema.from_json(value)
    assert refused.value.code == "bad_schema"


def test_a_schema_survives_json() -> None:
    columns = (
        Column("a", "text", allowed=("x", "y")),
        Column("b", minimum=0, maximum=1),
        Column("c", minimum=0, maximum=1),
    )
    schema = TableSchema("id", columns, rows=3, formats=("csv",), probabilities=(("b", "c"),))
    assert TableSchema.from_json(schema.as_json()) == schema


@pytest.mark.parametrize("name", ["rmse", "poisson_deviance", "mean_pinball_loss", "crps_ensemble", "crps_normal"])
def test_the_constant_baseline_beats_the_sample(name: str) -> None:
    metric = METRICS[name]
    solution = TABLE.with_columns(price=pl.col("price") + 1)
    schema = schema_for(solution, metric, id_column="id", targets=["price"])
    tables = (
        sample_submission(solution, schema),
        constant_baseline(solution, metric, id_column="id", targets=["price"]),
    )
    sample, baseline = (
        metric.score(metric_rows(metric, solution, table, targets=["price"], schema=schema)) for table in tables
    )
    assert baseline < sample


def test_a_baseline_is_learnt_from_the_training_data() -> None:
    train = pl.DataFrame({"kind": ["b", "b", "a", "c"]})
    solution = pl.DataFrame({"id": [1, 2, 3], "kind": ["a", "b", "c"]})
    table = constant_baseline(solution, METRICS["class_log_loss"], id_column="id", targets=["kind"], train=train)
    assert table.row(0) == (1, 0.25, 0.5, 0.25)


@pytest.mark.parametrize(
    "ids",
    [
        range(60),
        range(60, 0, -1),
        range(-30, 90, 2),
        range(10**17, 10**17 + 60),
        [7**place % 10**12 for place in range(60)],
        [f"id {place * 7 % 60}" for place in range(60)],
    ],
    ids=["in order", "backwards", "gaps and below zero", "large", "sparse", "text"],
)
def test_rows_are_matched_by_id_in_any_order(ids: Any) -> None:
    table = pl.DataFrame(
        {
            "id": pl.Series(ids).cast(pl.Int64 if isinstance(ids[0], int) else pl.String),
            "price": range(60),
            "note": map(str, range(60)),
        }
    )
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=3)
    places = find_places(shuffled["id"], table["id"])
    assert places is not None
    assert reorder(shuffled, places, table["id"], "id").equals(table)


@pytest.mark.parametrize(
    "wrong", [[0, 1, 1], [0, 1, 3], [0, 1], [0, 1, None], [-1, 1, 2], [0, 1, 5_000_000_000]], ids=str
)
@pytest.mark.parametrize("ids", [[0, 1, 2], [2, 0, 1], [0, 2, 10**12]], ids=str)
def test_ids_that_are_not_the_ones_asked_for_have_no_places(ids: list[int], wrong: list[int | None]) -> None:
    assert find_places(pl.Series(wrong, dtype=pl.Int64), pl.Series(ids)) is None


def test_ids_that_are_there_twice_are_found_near_and_far_apart() -> None:
    for ids in ([3, 4, 3], [3, 10**15, 3], [-3, -2, -3], ["a", "b", "a"]):
        with pytest.raises(ScoringInputError, match="is in rows 1 and 3; give each row"):
            read_ids(pl.DataFrame({"id": ids}), "id")


DATES = [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 3)]
TARGETS: dict[str, tuple[pl.Series, str]] = {
    "numbers": (pl.Series([1.5, 2.5, 3.5]), "mae"),
    "numbers, some missing": (pl.Series([1.5, None, 3.5]), "metric.py"),
    "whole numbers": (pl.Series([10, 20, 30]), "metric.py"),
    "classes": (pl.Series([1, 2, 3]), "accuracy"),
    "classes in text": (pl.Series(["a", "b", "c"]), "accuracy"),
    "classes, one of them empty": (pl.Series(["", "b", "c"]), "accuracy"),
    "shares of classes": (pl.Series(["a, b", 'c "d"', "e\nf"]), "class_log_loss"),
    "texts": (pl.Series(["one", "two", "three"]), "metric.py"),
    "texts, some missing": (pl.Series(["one", None, "three"]), "metric.py"),
    "quoted texts": (pl.Series(["a, b", 'c "d"', "e\nf"]), "metric.py"),
    "texts of a metric": (pl.Series(["one", "two", "three"]), "word_error_rate"),
    "true and false": (pl.Series([True, False, True]), "metric.py"),
    "true and false in text": (pl.Series(["True", "false", "True"]), "metric.py"),
    "true and false as classes": (pl.Series([True, False, True]), "accuracy"),
    "dates": (pl.Series(DATES), "metric.py"),
    "instants": (pl.Series(DATES).cast(pl.Datetime()), "metric.py"),
    "dates in text": (pl.Series(["2024-01-01", "2024-01-02", "2024-01-03"]), "metric.py"),
}
IDS = {
    "numbers": pl.Series([3, 1, 2]),
    "texts": pl.Series(["a, b", 'c "d"', "e\nf"]),
    "zeros in front": pl.Series(["007", "008", "010"]),
}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("name", TARGETS)
def test_a_sample_that_is_made_passes_the_check_that_is_made(tmp_path: Path, name: str, ids: str, ending: str) -> None:
    truth, metric = TARGETS[name]
    table = pl.DataFrame({"id": IDS[ids], "target": truth})
    solution = read_table(write_table(table, tmp_path / f"solution.{ending}"))
    rule = reference_for(solution, [ChosenMetric(metric)], id_column="id", targets=["target"])
    path = write_table(sample_submission(solution, rule.schema), tmp_path / "sample.csv")
    assert check_table(path, rule.schema, read_ids(solution, "id")).rows == 3
    assert find_fault(str(path), "sample.csv", rule.schema.as_json(), (str(path), "sample.csv")) == {}
    values = set(read_table(path)["target"].cast(pl.String)) if "target" in rule.schema.names else set()
    assert not values & {"one", "two", "three", "2024-01-01", "2024-01-02", "2024-01-03"}, "it tells no answer"


def test_columns_of_a_sample_are_matched_by_name_then_by_kind_and_order() -> None:
    def matched(expected: str, given: str) -> tuple[list[str], tuple[str, ...]]:
        match = match_columns(
            *({name: not name.startswith("text") for name in names.split()} for names in (expected, given))
        )
        return list(match.columns.values()), match.guessed

    assert matched("price area", "area price") == (["price", "area"], ())
    assert matched("price", "prediction") == (["prediction"], ())  # there is no other
    assert matched("Sale_Price area", "saleprice AREA") == (["saleprice", "AREA"], ())
    assert matched("cat dog", "prob_dog prob_cat") == (["prob_cat", "prob_dog"], ())
    assert matched("a b text1", "text9 x y") == (["x", "y", "text9"], ("a", "b", "text1"))
    with pytest.raises(ScoringInputError, match=r"it has 1 prediction column \('x'\), and 2 columns \('a', 'b'\) must"):
        matched("a b", "x")


def sample_fault(folder: Path, text: str, targets: list[str], schema: TableSchema) -> str:
    solution = pl.DataFrame({"id": [1, 2, 3], "price": [1.5, 2.5, 3.5], "kind": ["a", "b", "a"]})
    (folder / "s.csv").write_text(text)
    try:
        require_sample(folder / "s.csv", "s.csv", schema, solution, read_ids(solution, "id"), targets)
    except ScoringInputError as error:
        return str(error)
    return ""


PRICE = TableSchema("id", (Column("price"),))
SHARES = TableSchema(
    "id", (Column("a", minimum=0, maximum=1), Column("b", minimum=0, maximum=1)), probabilities=(("a", "b"),)
)


@pytest.mark.parametrize(
    ("text", "targets", "schema", "words"),
    [
        ("id,price\n1,0\n2,0\n3,0\n", ["price"], PRICE, ""),
        (
            "id,price\n1,0\n3,0\n",
            ["price"],
            PRICE,
            "'id': 1 id is missing: 2; the solution has more rows than the sample",
        ),
        ("id,price\n1,0\n2,0\n3,0\n9,0\n", ["price"], PRICE, "1 id is not asked for: 9; the solution has no such rows"),
        ("id,price\n1,0\n2,0\n2,0\n", ["price"], PRICE, "'id': 2 is in lines 3 and 4; give each id once"),
        ("id,price\n1,0\n2,\n3,0\n", ["price"], PRICE, "'price': it is empty in line 3 (id 2); give a value"),
        ("id,price\n3,3.5\n2,2.5\n1,1.5\n", ["price"], PRICE, "its column 'price' holds the answers"),
        ("id,a,b\n1,.9,.1\n2,.1,.9\n3,1,0\n", ["kind"], SHARES, "its column 'a' holds the answers"),
        ("id,a,b\n1,.9,.1\n2,.9,.1\n3,1,0\n", ["kind"], SHARES, ""),
    ],
)
def test_a_wrong_sample_is_named_to_the_organizer(
    tmp_path: Path, text: str, targets: list[str], schema: TableSchema, words: str
) -> None:
    fault = sample_fault(tmp_path, text, targets, schema)
    assert (words in fault) if words else fault == ""
    assert not fault or fault.startswith("the sample submission")


def test_a_column_with_separators_between_thousands_is_named(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text('id,price\n1,950\n2,"1,250.5"\n')
    with open_table(tmp_path / "s.csv") as source:
        table = read_table(tmp_path / "s.csv")
        with pytest.raises(ScoringInputError, match=r"'price': '1,250.5' in line 3 has a .* thousands; write 1250.5\."):
            require_plain_numbers(table, source)
        require_plain_numbers(table.with_columns(price=pl.Series(["1,250", "7 items"])), source)


def test_ids_that_are_there_twice_are_named_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("id,y\na,1\nb,2\na,3\nc,4\n")
    assert recognise(tmp_path / "s.csv").column("id").repeats == "'a' is in lines 2 and 4"
    many = pl.DataFrame({"id": [*range(7), *range(7)]})
    with pytest.raises(
        ScoringInputError, match=r"0 is in rows 1 and 8; .*4 is in rows 5 and 12; and 2 more are repeated"
    ):
        read_ids(many, "id")
    with pytest.raises(ScoringInputError, match="'id': it is empty in row 2; give each row an id"):
        read_ids(pl.DataFrame({"id": [1, None]}), "id")
