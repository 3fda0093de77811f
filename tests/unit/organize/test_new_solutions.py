"""A new solution beside the one in force: what differs, what stays, and what is refused."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from competitions.organize.answers import SolutionFacts
from competitions.organize.tables.comparing import compare_solution
from scoring.errors import ScoringInputError
from scoring.tables.table_reference import ChosenMetric, read, reference_for, solution_parts, write
from tests.scenario import zip_bytes

EMPTY: Mapping[str, bytes] = {}
PRICES = pl.DataFrame(
    {"id": [1, 2, 3, 4], "price": [1.5, 2.5, 3.5, 4.5], "Usage": ["Public", "Private", "Public", "Private"]}
)
KINDS = PRICES.with_columns(price=pl.Series(["a", "b", "a", "b"]))


def reference_zip(folder: Path, solution: pl.DataFrame, metric: str, extra: Mapping[str, bytes]) -> Path:
    usage = "Usage" if "Usage" in solution.columns else None
    rule = reference_for(solution, [ChosenMetric(metric)], id_column="id", targets=["price"], usage_column=usage)
    written = write(folder / "ref", solution, rule, metric_file=b"score = print" if metric == "metric.py" else None)
    packed = zip_bytes({path.name: path.read_bytes() for path in written.parent.iterdir()} | dict(extra))
    path = folder / "old.zip"
    path.write_bytes(packed)
    return path


def compare(
    folder: Path, text: str, solution: pl.DataFrame = PRICES, metric: str = "mae", extra: Mapping[str, bytes] = EMPTY
) -> tuple[SolutionFacts, Path]:
    old = reference_zip(folder, solution, metric, extra)
    (folder / "new.csv").write_text(text)
    sample = folder / "sample.csv"
    sample.write_text("id,price\n" + "".join(f"{row},{0 if metric == 'mae' else 'a'}\n" for row in range(1, 5)))
    target = folder / "new.zip"
    facts = compare_solution(str(old), str(folder / "new.csv"), "new.csv", [str(sample), "sample.csv"], str(target))
    return facts["facts"], target


def unpacked(path: Path, folder: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        archive.extractall(folder)
    return folder


def test_rows_that_differ_are_counted_and_the_parts_stay(tmp_path: Path) -> None:
    facts, target = compare(tmp_path, "id,price\n4,4.5\n1,1.5\n2,9\n3,3.5\n", extra={"notes/about.txt": b"kept"})
    assert facts == {"rows": 4, "differ": 1, "ids": ["2"], "columns": {"price": 1}, "moved": 0, "left_out": 0}
    rule, solution = read(unpacked(target, tmp_path / "new"))
    assert solution.rows() == [(1, 1.5, "Public"), (2, 9.0, "Private"), (3, 3.5, "Public"), (4, 4.5, "Private")]
    assert (rule.usage_column, rule.schema.names) == ("Usage", ("id", "price"))
    assert (tmp_path / "new" / "notes" / "about.txt").read_text() == "kept"


def test_another_division_is_counted(tmp_path: Path) -> None:
    facts, target = compare(tmp_path, "id,price,Usage\n1,1.5,Private\n2,2.5,Public\n3,3.5,Public\n4,4.5,Private\n")
    assert (facts["differ"], facts["moved"], facts["left_out"]) == (0, 2, 0)
    assert read(unpacked(target, tmp_path / "new"))[1]["Usage"].to_list() == ["Private", "Public", "Public", "Private"]


@pytest.mark.parametrize("solution", [PRICES, PRICES.drop("Usage")], ids=["two parts", "one part"])
def test_rows_that_are_left_out_count_no_more_and_are_still_sent(tmp_path: Path, solution: pl.DataFrame) -> None:
    facts, target = compare(tmp_path, "id,price\n1,1.5\n2,2.5\n4,4.5\n", solution)
    assert (facts["differ"], facts["moved"], facts["left_out"]) == (0, 0, 1)
    rule, after = read(unpacked(target, tmp_path / "new"))
    assert after.filter(pl.col("Usage") == "Ignored").rows() == [(3, 3.5, "Ignored")]
    keys = {"public", "private"} if "Usage" in solution.columns else {""}
    assert set(solution_parts(rule, after)) == keys


def test_ids_with_zeros_in_front_stay_what_they_are(tmp_path: Path) -> None:
    texts = PRICES.with_columns(id=pl.Series(["01", "02", "03", "04"]))
    old = reference_zip(tmp_path, texts, "mae", EMPTY)
    (tmp_path / "new.csv").write_text("id,price\n01,1\n02,2.5\n03,3.5\n04,4.5\n")
    facts = compare_solution(str(old), str(tmp_path / "new.csv"), "new.csv", None, str(tmp_path / "new.zip"))
    assert facts["facts"]["ids"] == ["01"]


def test_a_metric_file_is_kept_and_not_run(tmp_path: Path) -> None:
    _, target = compare(tmp_path, "id,price\n1,0\n2,2.5\n3,3.5\n4,4.5\n", metric="metric.py")
    assert (unpacked(target, tmp_path / "new") / "metric.py").read_bytes() == b"score = print"


@pytest.mark.parametrize(
    ("text", "given", "words"),
    [
        ("id,price\n1,1.5\n2,2.5\n3,3.5\n4,4.5\n", {}, "it says the same as the present one in every row"),
        ("id,price\n1,1.5\n9,2\n", {}, "the present solution does not have the id 9; leave them out"),
        ("id,cost\n1,1.5\n", {}, "'price' is missing; it has 'id', 'cost'"),
        ("id,price\nx,1.5\n", {}, "its ids are of another kind, such as 'x' beside 1"),
        ("id,price\n1,1\n1,2\n", {}, "'id': 1 is in lines 2 and 3"),
        ("id,price\n", {}, "no row below it"),
        ('id,price\n1,"1,500.5"\n', {}, "has a separator between thousands; write 1500.5"),
        (
            "id,price,Usage\n1,2,Public\n2,2,Public\n3,1,Public\n4,1,Public\n",
            {},
            "its parts are one part, and the boards show private",
        ),
        (
            "id,price,Usage\n1,2,Public\n2,2,Private\n3,1,Public\n4,1,Public\n",
            {"solution": PRICES.drop("Usage")},
            "its parts are private",
        ),
        (
            "id,price\n1,a\n2,b\n3,c\n4,b\n",
            {"solution": KINDS, "metric": "accuracy"},
            "the classes of 'price' are others",
        ),
        ("id,price\n1,1.5\n2,\n3,3.5\n4,4.5\n", {}, "it holds something else than finite numbers"),
    ],
)
def test_a_solution_that_teams_tables_cannot_follow_is_refused(
    tmp_path: Path, text: str, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(ScoringInputError) as refused:
        compare(tmp_path, text, **given)
    assert words in str(refused.value)


def test_reference_data_without_a_description_are_named(tmp_path: Path) -> None:
    (tmp_path / "old.zip").write_bytes(zip_bytes({"labels.csv": "id,y\n1,2\n"}))
    with pytest.raises(ScoringInputError, match=r"they hold no metric\.json"):
        compare_solution(str(tmp_path / "old.zip"), "x.csv", "x.csv", None, str(tmp_path / "new.zip"))
