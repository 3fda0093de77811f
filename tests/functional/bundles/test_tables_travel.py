"""A phase that takes tables keeps its columns and its sample submission in a bundle."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from competitions.bundles.importing.importer import bundle_import
from competitions.bundles.pushing.applying import push_read
from competitions.bundles.writer import bundle_write
from competitions.catalog.models import Competition, Phase
from competitions.resources.models import Resource
from competitions.resources.storage import open_stored
from files.bundles.faults import InvalidBundle
from podium.cli import main
from tests.bundle_files import FILES, second, write
from tests.scenario import NOON, Scenario, resource

pytestmark = pytest.mark.django_db
FORMAT = {"table": {"id_column": "id", "columns": [{"name": "price", "allowed": [1, 2]}]}}


def test_columns_and_sample_travel(site: Scenario, tmp_path: Path) -> None:
    packed = gzip.compress(b"id,price\n1,2\n")
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


TEMPLATE = {"id_column": "id", "columns": [{"name": "price", "minimum": 0}]}
WRONG_SAMPLES = {
    "other columns": ("id,cost\n1,2\n", "cost"),
    "no table": ("<html>No such page</html>\n", "'id', 'price' are missing"),
    "too few ids": ("id,price\n1,2\n", "give a row for each of the 2 ids of the solution"),
}


def table_bundle(folder: Path, sample: str) -> Path:
    """A competition of tables whose reference data lie as files."""
    data = second()
    data["tasks"][0]["reference_data"] = "truth"
    data["phases"][0] |= {
        "sample_submission": "sample_submission.csv",
        "podium": {"accepts": ["prediction"], "prediction_format": {"table": TEMPLATE}},
    }
    files: dict[str, str | bytes] = {
        "sample_submission.csv": sample,
        "truth/metric.json": "{}",
        "truth/solution.csv": "id,price\n1,2\n2,3\n",
    }
    return write(folder, data | {"podium": {"slug": "prices"}}, FILES | files)


@pytest.mark.parametrize("name", WRONG_SAMPLES)
def test_a_sample_that_does_not_fit_is_refused_with_its_line(
    site: Scenario, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sample, words = WRONG_SAMPLES[name]
    folder = table_bundle(tmp_path, sample)
    with pytest.raises(InvalidBundle) as refused:
        bundle_import(source=folder, owner=site.organizer, queue=site.queue, now=NOON)
    (fault,) = refused.value.report.faults
    assert fault.path == "phases[0].sample_submission"
    assert fault.line
    assert words in fault.message
    with (
        pytest.raises(InvalidBundle, match="does not fit the phase"),
        push_read(folder, owner=site.organizer, now=NOON, progress=lambda step: None),
    ):
        pytest.fail("a push reads it as an import does")
    assert main(["competition", "check", str(folder)]) == 1
    assert fault.message in capsys.readouterr().out
    assert main(["competition", "publish", str(folder)]) == 2, "nor is it published"
    assert str(fault) in capsys.readouterr().err


def test_a_sample_that_fits_is_taken(site: Scenario, tmp_path: Path) -> None:
    folder = table_bundle(tmp_path, "id,price\n2,0\n1,0\n")
    assert main(["competition", "check", str(folder)]) == 0
    assert bundle_import(source=folder, owner=site.organizer, queue=site.queue, now=NOON).competition.slug == "prices"
