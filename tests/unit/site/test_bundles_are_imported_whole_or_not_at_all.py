"""`bundle_import`: a bundle folder becomes a competition, or every fault is named and nothing is created."""

from pathlib import Path

import pytest
import yaml
from django.core.management import CommandError, call_command

from competitions.catalog.models import Competition
from competitions.resources.models import Resource
from examples.pcqm4mv2_small.bundle import build_bundle
from examples.pcqm4mv2_small.generate import Sizes
from tests.worlds import NOON, World


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    sizes = Sizes(train=20, valid=5, test_dev=10, test_challenge=10)
    return build_bundle(tmp_path / "bundle", now=NOON, sizes=sizes)


def run(site: World, folder: Path, **options: str) -> None:
    call_command(
        "bundle_import", str(folder), **({"owner": site.organizer.username, "queue": site.queue.name} | options)
    )


def spoil(folder: Path, **changes: object) -> None:
    path = folder / "competition.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | changes))


def test_a_bundle_becomes_a_draft_of_its_owner(site: World, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(site, folder)
    made = Competition.objects.get(slug="pcqm4mv2-small")
    assert capsys.readouterr().out == "/competitions/pcqm4mv2-small/\n"
    assert (made.is_published, list(made.organizers.all())) == (False, [site.organizer])
    assert [(phase.slug, phase.is_sealed) for phase in made.phases.all()] == [
        ("test-dev", False),
        ("test-challenge", True),
    ]
    assert {column.key for phase in made.phases.all() for column in phase.leaderboard.columns.all()} == {"mae"}
    with pytest.raises(CommandError, match="exists"):
        run(site, folder)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"title": ""}, "title"),
        ({"unknown": 1}, "unknown"),
        ({"terms": "no/such.md"}, "no/such.md"),
        ({"terms": "../../etc/passwd"}, "outside"),
        ({"phases": []}, "phases"),
        ({"version": 3}, "version"),
    ],
)
def test_a_fault_is_named_and_nothing_is_created(
    site: World, folder: Path, changes: dict[str, object], words: str
) -> None:
    before = Competition.objects.count(), Resource.objects.count()
    spoil(folder, **changes)
    with pytest.raises(CommandError, match=words):
        run(site, folder)
    assert (Competition.objects.count(), Resource.objects.count()) == before


def test_all_faults_are_named_at_once(site: World, folder: Path) -> None:
    spoil(folder, title="", registration_auto_approve="perhaps", pages=[{"title": "x"}])
    with pytest.raises(CommandError) as refusal:
        run(site, folder)
    for where in ("title", "registration_auto_approve", "pages[0].file"):
        assert where in str(refusal.value)


def test_a_key_given_twice_is_refused_with_its_line(site: World, folder: Path) -> None:
    path = folder / "competition.yaml"
    path.write_text(path.read_text() + "title: again\n")
    with pytest.raises(CommandError, match=r"line \d+: the key 'title' is given twice"):
        run(site, folder)


@pytest.mark.parametrize("options", [{"owner": "nobody"}, {"queue": "nowhere"}])
def test_an_unknown_owner_or_queue_is_said(site: World, folder: Path, options: dict[str, str]) -> None:
    with pytest.raises(CommandError, match="There is no"):
        run(site, folder, **options)
