"""The Data page: what there is to download, with size and digest, and the first rows of plain tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from competitions.catalog.models import Phase
from competitions.resources.models import ArchiveHead, Resource
from competitions.resources.table_heads import HEAD_BYTES, archives_ask, read_archive, table_head
from tests.background import run_background
from tests.permissions import user_client
from tests.scenario import Scenario, resource, zip_bytes


def store_csv(site: Scenario, content: bytes, name: str = "sample.csv") -> Resource:
    csv_resource = resource(site.organizer, Resource.Kind.PUBLIC_DATA, content)
    csv_resource.file_name = name
    csv_resource.save()
    return csv_resource


def test_a_table_shows_its_first_rows_and_how_many_columns_are_left_out(site: Scenario) -> None:
    columns = ",".join(f"c{number}" for number in range(11))
    head = table_head(store_csv(site, f"{columns}\n".encode() + b"1,2,3,4,5,6,7,8,9,10,11\n" * 1000))
    assert head is not None
    assert (len(head.rows), head.columns[-1], head.more_columns) == (5, "c7", 3)


@pytest.mark.parametrize(
    ("content", "name", "is_shown"),
    [
        (b"id\tx\n1\t2\n", "a.tsv", True),
        (b"\xef\xbb\xbfid,x\n1,2\n", "a.csv", True),
        (b"id,x\n", "a.csv", False),
        (b"", "a.csv", False),
        (b"one\n2\n", "a.csv", False),
        (b"id,x\n1,2\n", "a.csv.gz", False),
        (b"id," + b"x" * HEAD_BYTES, "a.csv", False),
        (b"\x00\x01\x02,\n\x00,1", "a.csv", True),
    ],
)
def test_only_what_begins_as_a_table_is_shown(site: Scenario, content: bytes, name: str, is_shown: bool) -> None:
    assert (table_head(store_csv(site, content, name)) is not None) == is_shown


def test_participants_see_files_with_digests_and_a_command_and_others_how_many_there_are(site: Scenario) -> None:
    Phase.objects.filter(pk=site.phase.pk).update(public_data=store_csv(site, b"id,price\n7,<b>1</b>\n"))
    url = f"/competitions/{site.competition.slug}/data/"
    page = user_client(site.member()).get(url).content.decode()
    for part in (
        "sample.csv",
        f"podium download {site.competition.slug}",
        "First rows of sample.csv",
        "&lt;b&gt;1&lt;/b&gt;",
    ):
        assert part in page
    others = Client().get(url).content.decode()
    assert "First rows" not in others
    assert "1 file, for participants" in others


def test_tables_in_a_zip_show_their_first_rows_once_the_background_has_read_them(site: Scenario) -> None:
    tables = {
        "data/train.csv": b"id,price\n1,<b>2</b>\n",
        "data/test.tsv": b"id\trooms\n7\t3\x00\n",
        "model.bin": b"id,x\n1,2\n",
        "zeros.csv": b"id,x\n" + b"0,0\n" * 100_000,
    }
    packed = store_csv(site, zip_bytes(tables), "data.zip")
    hidden = store_csv(site, zip_bytes({"truth.csv": b"id,y\n1,2\n"}), "truth.zip")
    Resource.objects.filter(pk=hidden.pk).update(kind=Resource.Kind.REFERENCE_DATA)
    broken = store_csv(site, b"PK no zip", "broken.zip")
    Phase.objects.filter(pk=site.phase.pk).update(public_data=packed)
    url = f"/competitions/{site.competition.slug}/data/"
    assert "First rows" not in user_client(site.member()).get(url).content.decode()
    assert (archives_ask(now=site.now), archives_ask(now=site.now)) == (2, 0)
    run_background(at=site.now)
    page = user_client(site.member()).get(url).content.decode()
    assert "First rows of data/train.csv in data.zip" in page
    assert "&lt;b&gt;2&lt;/b&gt;" in page
    assert "First rows of data/test.tsv in data.zip" in page
    assert "model.bin" not in page
    assert "First rows" not in Client().get(url).content.decode()
    assert [(head.sha256, head.is_read, head.tables) for head in ArchiveHead.objects.filter(tables=[])] == [
        (broken.file_id, True, [])
    ]
    assert not ArchiveHead.objects.filter(sha256=hidden.file_id).exists()
    ArchiveHead.objects.filter(sha256=broken.file_id).update(sha256="0" * 64)
    archives_ask(now=site.now)
    assert not ArchiveHead.objects.filter(sha256="0" * 64).exists(), "its file is gone"


@pytest.mark.parametrize(
    ("tables", "shown"),
    [
        ({"../train.csv": b"id,x\n1,2\n"}, []),
        ({"a.csv": b"id,x\n1,2\n", "/etc/b.csv": b"id,x\n1,2\n"}, []),
        (
            {f"{number:04d}.csv": b"id,x\n1,2\n" for number in range(9)},
            ["0000.csv", "0001.csv", "0002.csv", "0003.csv"],
        ),
        ({"wide.csv": b"id" + b",x" * 3000 + b"\n1\n"}, []),
        ({"utf16.csv": "id,x\n1,2\n".encode("utf-16")}, ["utf16.csv"]),
    ],
    ids=["outside", "absolute", "many", "wide", "another encoding"],
)
def test_a_zip_shows_a_few_tables_and_none_where_a_name_leads_out_of_it(
    tmp_path: Path, tables: dict[str, bytes], shown: list[str]
) -> None:
    (tmp_path / "data.zip").write_bytes(zip_bytes(tables))
    heads = read_archive(tmp_path / "data.zip")
    assert [head["name"] for head in heads] == shown
    assert "\x00" not in str([cell for head in heads for row in (head["columns"], *head["rows"]) for cell in row])
