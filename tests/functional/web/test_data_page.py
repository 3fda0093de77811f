"""The Data page: what there is to download, with size and digest, and the first rows of plain tables."""

from __future__ import annotations

import pytest
from django.test import Client

from competitions.catalog.models import Phase
from competitions.resources.models import Resource
from competitions.web.presentation.table_head import HEAD_BYTES, table_head
from tests.permissions import user_client
from tests.scenario import Scenario, resource


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
