"""Faults of a team's table are named: the first ids, the lines, the values."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from scoring.errors import ScoringInputError
from scoring.tables.check import check_table, read_reordered, read_submission
from scoring.tables.reading.files import write_table
from scoring.tables.schema import Column, TableSchema

SHARES = Column("p", minimum=0, maximum=1), Column("q", minimum=0, maximum=1)
CLASSES = Column("kind", "text", allowed=("a", "b")), Column("n", "integer", allowed=(0, 1))
SCHEMA = TableSchema("id", (*SHARES, *CLASSES), probabilities=(("p", "q"),))
HEADER = "id,p,q,kind,n\n"
RIGHT = "3,0.5,0.5,a,1\n1, 1,0,b,0.0\n2,0.1,0.9,a,1\n"
IDS = pl.Series([1, 2, 3])


def checked(folder: Path, text: str, ids: pl.Series | None = IDS, *, name: str = "p.csv") -> str:
    """The message of a refusal, or nothing."""
    path = folder / name
    path.write_text(text)
    try:
        check_table(path, SCHEMA, ids)
    except ScoringInputError as error:
        return f"{error.code} {error}"
    return ""


def test_rows_may_come_in_any_order(tmp_path: Path) -> None:
    assert checked(tmp_path, HEADER + RIGHT) == ""
    table = read_submission(tmp_path / "p.csv", SCHEMA, IDS)
    assert table.rows()[1] == (1, 1.0, 0.0, "b", 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,p,q,kind\n", "missing_column column 'n' is missing; the file has 'id', 'p', 'q', 'kind'."),
        (
            HEADER,
            "empty_input the table: it has a header ('id', 'p', 'q', 'kind', 'n') and no row below it; give one row",
        ),
        ("id,p,q,kind,n,z\n", "extra_column column 'z' is not asked for; give id, p, q, kind, n alone."),
        (
            HEADER + "3,x,0.5,a,1\n1,1,0,b,0\n2,y,0.9,a,1\n",
            "wrong_type 'p': 'x' is not a number in line 2 (id '3'), line 4 (id '2');",
        ),
        (HEADER + "3,1,0,a,1.5\n1,1,0,b,0\n2,1,0,a,1\n", "wrong_type 'n': '1.5' is not a whole number in line 2"),
        (HEADER + "3,,0.5,a,1\n1,1,0,b,0\n2,1,0,a,1\n", "nan 'p': it is empty in line 2 (id 3)"),
        (HEADER + "3,NaN,0.5,a,1\n1,1,0,b,0\n2,1,0,a,1\n", "nan 'p': it is NaN in line 2"),
        (HEADER + RIGHT + '"', "unknown_format the table: it cannot be read (could not parse"),
        (HEADER + "3,inf,0.5,a,1\n1,1,0,b,0\n2,1,0,a,1\n", "infinite 'p': it is infinite in line 2"),
        (
            HEADER + "3,1.5,0.5,a,1\n1,1,0,b,0\n2,1,0,a,1\n",
            "out_of_range 'p': it is 1.5 in line 2 (id 3); the largest allowed is 1.",
        ),
        (HEADER + "3,.5,.5,a,1\n1,1,0,z,0\n2,.5,.5,,1\n", "nan 'kind': it is empty in line 4"),
        (
            HEADER + "3,.5,.5,a,1\n1,1,0,z,0\n2,.5,.5,a,1\n",
            "unknown_class 'kind': it is 'z' in line 3 (id 1); the allowed values are",
        ),
        (
            HEADER + "3,.5,.5,a,1\n1,1,0,a,0\n2,.5,0.9,a,1\n",
            "not_a_distribution p to q: the probabilities sum to 1.4 in line 4",
        ),
        (HEADER + "3,1,0,a,1\n1,1,0,a,0\n", "missing_ids 'id': 1 id is missing: 2; give a row for each of the 3 ids"),
        (HEADER + RIGHT + "7,1,0,a,1\nx,1,0,a,1\n", "unknown_ids 'id': 2 ids are not asked for: '7', 'x'; leave out"),
        (HEADER + RIGHT + "1,1,0,a,1\n", "duplicate_ids 'id': 1 is in lines 3 and 5; give each id once."),
        (HEADER + ",1,0,a,1\n1,1,0,a,0\n\n2,1,0,a,1\n", "nan 'id': it is empty in line 2, line 4"),
    ],
)
def test_a_refusal_names_what_and_where(tmp_path: Path, text: str, message: str) -> None:
    assert checked(tmp_path, text).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id;p;q;kind;n\n3;0,5;0,5;a;1\n1;1;0;b;0\n2;0,1;0,9;a;1\n", ""),
        ("id;p;q;kind;n\n3;0,5;.5;a;1\n1;1;0;b;0\n2;0,1;0,9;a;1\n", ""),
        ("id\tp\tq\tkind\tn\n3\t0,5\t0,5\ta\t1\n1\t1\t0\tb\t0\n2\t0,1\t0,9\ta\t1\n", ""),
        (
            HEADER + "3,0.5,0.5,a,1\n1,1,0,b,0\n2,0,1,0,9,a,1\n",
            "unknown_format line 4: it has 7 cells, but the header has 5 names;",
        ),
        ("id;p;q;kind;n\n3;0,5;x;a;1\n1;1;0;b;0\n2;0,1;0,9;a;1\n", "wrong_type 'q': 'x' is not a number in line 2"),
        ("id;p;q;kind;n\n3;0,5;0,5;a;1\nx;1;0;b;0\n2;0,1;0,9;a;1\n", "missing_ids 'id': 1 id is missing"),
        (
            HEADER + '3,"0,5",0.5,a,1\n1,1,0,b,0\n2,1,0,a,1\n',
            (
                "wrong_type 'p': '0,5' is not a number in line 2 (id '3'); give a number in every row, with a decimal point and nothing "
                "between"
            ),
        ),
        (
            HEADER + '3,"1,234.5",0.5,a,1\n1,1,0,b,0\n2,1,0,a,1\n',
            (
                "wrong_type 'p': '1,234.5' is not a number in line 2 (id '3'); give a number in every row, with a decimal "
                "point and nothing between thousands: 1234.5."
            ),
        ),
        (
            HEADER + "3,1'234,0.5,a,1\n1,1,0,b,0\n2,1,0,a,1\n",
            (
                "wrong_type 'p': \"1'234\" is not a number in line 2 (id '3'); give a number in every row, with a decimal "
                "point and nothing between thousands: 1234."
            ),
        ),
        (
            "id;p;q;kind;n\n3;1,500;0;a;1\n1;1;0;b;0\n2;1;0;a;1\n",  # 1.5, or fifteen hundred
            (
                "wrong_type 'p': '1,500' is not a number in line 2 (id 3); give a number in every row, with a decimal point and nothing "
                "between"
            ),
        ),
    ],
)
def test_decimal_commas_of_predictions_are_read_or_named(tmp_path: Path, text: str, message: str) -> None:
    refusal = checked(tmp_path, text)
    assert refusal.startswith(message) if message else refusal == ""


def test_only_the_first_five_ids_are_named(tmp_path: Path) -> None:
    message = checked(tmp_path, HEADER + RIGHT, pl.Series(range(1, 101)))
    assert "97 ids are missing: 4, 5, 6, 7, 8 and 92 more" in message


def test_ids_that_look_like_numbers_may_be_text(tmp_path: Path) -> None:
    text = HEADER + RIGHT.replace("3,", "03,", 1)
    assert "3 ids are missing: '01', '02'" not in checked(tmp_path, text, pl.Series(["03", "1", "2"]))
    assert checked(tmp_path, text, pl.Series(["03", "1", "2"])) == ""
    assert checked(tmp_path, HEADER + RIGHT, pl.Series(["03", "01", "02"])) == "", "pandas drops the zeros"
    assert read_reordered(tmp_path / "p.csv", SCHEMA, pl.Series(["03", "01", "02"]))["q"].to_list() == [0.5, 0.0, 0.9]
    assert read_submission(tmp_path / "p.csv", SCHEMA, pl.Series(["03", "01", "02"]))["id"].to_list() == [
        "03",
        "01",
        "02",
    ]
    assert "missing_ids" in checked(tmp_path, HEADER + RIGHT, pl.Series(["03", "3", "2"]))


PRICES = TableSchema("id", (Column("price"), Column("n", "integer")))


def stored(path: Path, **columns: pl.Series) -> Path:
    """The table, its prices and counts right where no others are given."""
    right = {"id": pl.Series([1, 2]), "price": pl.Series([0.5, 1.5]), "n": pl.Series([1, 2])}
    return write_table(pl.DataFrame(right | columns), path)


@pytest.mark.parametrize("ending", ["parquet", "npz"])
@pytest.mark.parametrize(
    "asked_for", [pl.Series([1, 2]), pl.Series(["a", "b"]), None], ids=["numbers", "texts", "none"]
)
@pytest.mark.parametrize(
    ("column", "code"),
    [
        (pl.Series([1.0, float("nan")]), "nan"),
        (pl.Series([1.0, float("inf")]), "missing_ids"),
        (pl.Series([1.0, 1e30]), "missing_ids"),
        (pl.Series([1, 2**63 + 1], dtype=pl.UInt64), "missing_ids"),
    ],
    ids=["NaN", "infinity", "1e30", "64 bits without a sign"],
)
def test_ids_that_are_odd_numbers_are_named(
    tmp_path: Path, column: pl.Series, code: str, asked_for: pl.Series | None, ending: str
) -> None:
    path = stored(tmp_path / f"p.{ending}", id=column)
    if asked_for is None and code == "missing_ids":  # nothing is known but that they differ
        assert read_submission(path, PRICES)["id"].dtype == pl.String
        return
    with pytest.raises(ScoringInputError) as refused:
        read_submission(path, PRICES, asked_for)
    assert (refused.value.code, refused.value.where) == (code, "'id'")


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "jsonl", "npz"])
@pytest.mark.parametrize(
    "texts",
    [["002", "001"], ["2.0", "1.0"], ["2e0", "10e-1"], [" 2", "1 "]],
    ids=["zeros", "points", "powers", "blanks"],
)
def test_ids_written_as_other_texts_are_the_same_numbers_in_every_format(
    tmp_path: Path, texts: list[str], ending: str
) -> None:
    path = stored(tmp_path / f"p.{ending}", id=pl.Series(texts))
    assert read_submission(path, PRICES, IDS.head(2))["id"].to_list() == [2, 1]
    path = stored(tmp_path / f"p.{ending}", id=pl.Series([texts[0], "x"]))
    with pytest.raises(ScoringInputError, match="'id': 1 id is missing: '1'; give"):
        read_submission(path, PRICES, IDS.head(2))


def test_ids_that_become_the_same_number_are_named(tmp_path: Path) -> None:
    path = stored(tmp_path / "p.parquet", id=pl.Series(["001", "1"]))
    with pytest.raises(ScoringInputError, match="'id': 1 is in rows 1 and 2"):
        read_submission(path, PRICES, IDS.head(2))


def test_ids_beyond_64_bits_are_named(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"id": 1, "price": 0.5, "n": 1}\n{"id": 99999999999999999999, "price": 0.5, "n": 1}\n')
    with pytest.raises(ScoringInputError, match="'id': 1 id is missing: '2'"):
        read_submission(path, PRICES, IDS.head(2))


@pytest.mark.parametrize("kind", [pl.Categorical(), pl.Enum(["1", "2"])], ids=["categorical", "enum"])
@pytest.mark.parametrize("name", ["id", "price", "n"])
def test_categories_are_read_as_the_texts_that_they_stand_for(tmp_path: Path, name: str, kind: pl.DataType) -> None:
    path = stored(tmp_path / "p.parquet", **{name: pl.Series(["1", "2"]).cast(kind)})
    assert [int(value) for value in read_submission(path, PRICES, IDS.head(2))[name]] == [1, 2]
    path = stored(tmp_path / "p.parquet", price=pl.Series(["2", "x"]).cast(pl.Categorical))
    with pytest.raises(ScoringInputError, match="'price': 'x' is not a number in row 2"):
        read_submission(path, PRICES, IDS.head(2))


def test_a_kind_of_column_that_cannot_be_read_is_the_teams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(column: pl.Series) -> pl.Series:
        raise pl.exceptions.InvalidOperationError("no such cast")

    monkeypatch.setattr("scoring.tables.check._whole", fail)
    with pytest.raises(ScoringInputError) as refused:
        read_submission(stored(tmp_path / "p.parquet", n=pl.Series([1.0, 2.0])), PRICES, IDS.head(2))
    assert (refused.value.code, "no such cast" in str(refused.value)) == ("wrong_type", True)


def test_another_format_than_the_competition_takes_is_refused(tmp_path: Path) -> None:
    schema = TableSchema("id", (Column("p"),), formats=("parquet",))
    (tmp_path / "p.csv").write_text("id,p\n1,2\n")
    with pytest.raises(ScoringInputError, match="it is a csv file; this competition takes parquet"):
        check_table(tmp_path / "p.csv", schema)


def test_constant_predictions_get_a_warning(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("id,p\n1,2\n2,2\n")
    assert check_table(tmp_path / "p.csv", TableSchema("id", (Column("p"),))).warnings == ("All rows are equal in p.",)


def test_a_million_rows_are_checked_within_seconds(tmp_path: Path) -> None:
    """A second on a quiet machine; the limit is what a walk over the rows in Python would not keep."""
    order = np.random.default_rng(1).permutation(1_000_000)
    path = write_table(pl.DataFrame({"id": order, "p": order / 7}), tmp_path / "p.csv")
    started = time.process_time()
    assert (
        check_table(path, TableSchema("id", (Column("p"),)), pl.Series(range(1_000_000), dtype=pl.Int64)).rows
        == 1_000_000
    )
    assert time.process_time() - started < 8
