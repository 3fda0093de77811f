"""A phase that takes tables keeps its columns and its sample submission in a bundle."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from competitions.bundles.importing.importer import bundle_import
from competitions.bundles.writer import bundle_write
from competitions.catalog.models import Competition, Phase
from competitions.resources.models import Resource
from competitions.resources.storage import open_stored
from tests.scenario import NOON, Scenario, resource

FORMAT = {"table": {"id_column": "id", "columns": [{"name": "price", "allowed": [1, 2]}]}}


@pytest.mark.django_db
def test_columns_and_sample_travel(site: Scenario, tmp_path: Path) -> None:
    packed = gzip.compress(b"id,price\n1,0\n")
    sample = resource(site.organizer, Resource.Kind.SAMPLE_SUBMISSION, packed)
    Resource.objects.filter(pk=sample.pk).update(file_name="sample.csv.gz")
    Phase.objects.filter(pk=site.phase.pk).update(prediction_format=FORMAT, sample_submission=sample)
    bundle_write(
        competition=Competition.objects.get(pk=site.competition.pk),
        target=tmp_path / "bundle.zip",
        with_files=True,
        by=site.organizer,
    )
    competition = bundle_import(
        source=tmp_path / "bundle.zip", owner=site.organizer, queue=site.queue, now=NOON
    ).competition
    copy = competition.phases.order_by("index")[0]
    assert copy.prediction_format == FORMAT
    assert copy.sample_submission is not None
    assert copy.sample_submission.file_name.endswith(".csv.gz")
    with open_stored(copy.sample_submission.file) as file:
        assert file.read() == packed
