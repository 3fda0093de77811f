"""`bundle_import` turns a bundle folder into a competition, or names every fault and creates nothing."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from competitions.bundles.importing.importer import Imported, bundle_import
from competitions.bundles.imports import import_begin, import_perform
from competitions.bundles.models import BundleImport
from competitions.catalog.models import Competition, Task
from competitions.compute.models import Queue
from competitions.resources.models import Resource, StoredFile
from competitions.resources.orphans import GRACE, remove_orphans
from competitions.resources.storage import store_bytes
from examples.pcqm4mv2_small.bundle import build_bundle
from examples.pcqm4mv2_small.generate import Sizes
from files.bundles.faults import InvalidBundle
from tests.bundle_files import LEGACY, changed, packed, second, write
from tests.scenario import NOON, Scenario, person, resource, scenario, zip_bytes
from tests.unit.bundles.test_fault_places import FAULTS, documented, pattern


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    sizes = Sizes(train=20, valid=5, test_dev=10, test_challenge=10)
    return build_bundle(tmp_path / "bundle", now=NOON, sizes=sizes)


def run(site: Scenario, folder: Path, **options: str) -> None:
    call_command(
        "bundle_import", str(folder), **({"owner": site.organizer.username, "queue": site.queue.name} | options)
    )


def spoil(folder: Path, **changes: object) -> None:
    path = folder / "competition.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | changes))


def test_a_bundle_becomes_a_draft_of_its_owner(
    site: Scenario, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(site, folder)
    competition = Competition.objects.get(slug="pcqm4mv2-small")
    assert capsys.readouterr().out == "/competitions/pcqm4mv2-small/\n"
    assert (competition.is_published, list(competition.organizers.all())) == (False, [site.organizer])
    assert [(phase.slug, phase.is_sealed) for phase in competition.phases.all()] == [
        ("test-dev", False),
        ("test-challenge", True),
    ]
    assert {column.key for phase in competition.phases.all() for column in phase.leaderboard.columns.all()} == {"mae"}
    with pytest.raises(CommandError, match="exists"):
        run(site, folder)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"title": ""}, "title"),
        ({"terms": "no/such.md"}, "no/such.md"),
        ({"terms": "../../etc/passwd"}, "outside"),
        ({"phases": []}, "phases"),
        ({"version": 3}, "version"),
    ],
)
def test_a_fault_is_named_and_nothing_is_created(
    site: Scenario, folder: Path, changes: dict[str, object], words: str
) -> None:
    before = Competition.objects.count(), Resource.objects.count()
    spoil(folder, **changes)
    with pytest.raises(CommandError, match=words):
        run(site, folder)
    assert (Competition.objects.count(), Resource.objects.count()) == before


def test_all_faults_are_named_at_once(site: Scenario, folder: Path) -> None:
    spoil(folder, title="", registration_auto_approve="perhaps", pages=[{"title": "x"}])
    with pytest.raises(CommandError) as refusal:
        run(site, folder)
    for where in ("title", "registration_auto_approve", "pages[0].file"):
        assert where in str(refusal.value)


def test_a_key_given_twice_is_refused_with_its_line(site: Scenario, folder: Path) -> None:
    path = folder / "competition.yaml"
    path.write_text(path.read_text() + "title: again\n")
    with pytest.raises(CommandError, match=r"line \d+, title: the key 'title' is given twice"):
        run(site, folder)


@pytest.mark.parametrize("options", [{"owner": "nobody"}, {"queue": "nowhere"}])
def test_an_unknown_owner_or_queue_is_said(site: Scenario, folder: Path, options: dict[str, str]) -> None:
    with pytest.raises(CommandError, match="There is no"):
        run(site, folder, **options)


def test_a_bundle_of_codalab_becomes_a_competition_with_a_report(site: Scenario, tmp_path: Path) -> None:
    result = import_from(site, packed(write(tmp_path / "old", LEGACY), tmp_path / "old.zip"))
    competition = result.competition
    assert (competition.slug, competition.registration_policy) == ("small-and-old", "approval")
    assert [
        (phase.name, phase.as_on_codabench, phase.auto_migrate_to_this_phase) for phase in competition.phases.all()
    ] == [
        ("Development", True, False),
        ("Final", True, True),
    ]
    assert result.report.created[0] == "competition 'Small and old' at /competitions/small-and-old/, a draft"
    assert {note.path for note in result.report.ignored} == {"enable_forum", "phases.1.color"}
    again = import_from(site, tmp_path / "old")
    assert again.competition.slug == "small-and-old-2"


def test_a_page_written_as_html_is_shown_without_what_is_active(site: Scenario, tmp_path: Path, client: Client) -> None:
    competition = import_from(site, write(tmp_path / "b", second())).competition
    Competition.objects.filter(pk=competition.pk).update(is_published=True)
    page = client.get(f"/competitions/{competition.slug}/").content.decode()
    assert "<h2>Overview</h2>" in page
    assert "alert(1)" not in page


def test_one_file_under_two_names_is_stored_once_and_kept_as_two_resources(site: Scenario, tmp_path: Path) -> None:
    data = changed("tasks.0.reference_data", "input_data")
    task = import_from(site, write(tmp_path / "b", data)).competition.tasks.get()
    assert task.input_data is not None
    assert task.reference_data is not None
    assert (task.input_data.file_id, task.input_data.kind) == (task.reference_data.file_id, "input_data")
    assert task.reference_data.kind == "reference_data"


@pytest.mark.parametrize(
    ("owned", "kind", "words"),
    [
        (True, Resource.Kind.INPUT_DATA, ""),
        (True, Resource.Kind.REFERENCE_DATA, "is reference data, not input data"),
        (False, Resource.Kind.INPUT_DATA, "there is no dataset with the key"),
    ],
)
def test_a_key_means_a_dataset_of_ones_own(
    site: Scenario, tmp_path: Path, owned: bool, kind: Resource.Kind, words: str
) -> None:
    existing = resource(site.organizer if owned else person(is_staff=True), kind, zip_bytes({"x": "y"}))
    folder = write(tmp_path / "b", changed("tasks.0.input_data", str(existing.key)))
    if not words:
        assert import_from(site, folder).competition.tasks.get().input_data == existing
        return
    with pytest.raises(InvalidBundle, match=words):
        import_from(site, folder)
    existing.is_public = True
    existing.save()
    if not owned:
        assert import_from(site, folder).competition.tasks.get().input_data == existing


def test_phases_of_one_name_get_addresses_of_their_own(site: Scenario, tmp_path: Path) -> None:
    phase = {"name": "Round", "tasks": [0]}
    dates = [
        ("2027-01-01", "2027-01-02"),
        ("2027-02-01", "2027-02-02"),
        ("2027-03-01", "2027-03-02"),
        ("2027-04-01", "2027-04-02"),
    ]
    phases: list[dict[str, Any]] = [
        phase | {"index": number, "start": start, "end": end} for number, (start, end) in enumerate(dates)
    ]
    phases[1]["name"] = "Round 2"
    phases[3]["podium"] = {"slug": "round-3"}
    competition = import_from(site, write(tmp_path / "b", changed("phases", phases))).competition
    assert [imported_phase.slug for imported_phase in competition.phases.all()] == [
        "round",
        "round-2",
        "round-4",
        "round-3",
    ]


def test_a_task_is_named_by_its_key(site: Scenario, tmp_path: Path) -> None:
    task = site.phase.tasks.get()
    folder = write(tmp_path / "b", changed("tasks.0", {"index": 0, "key": str(task.key)}))
    assert list(import_from(site, folder).competition.phases.all()[0].tasks.all()) == [task]


def test_an_unknown_queue_is_a_fault_unless_one_is_chosen(site: Scenario, tmp_path: Path) -> None:
    folder = write(tmp_path / "b", changed("queue", "6b0c3ec7-0000-0000-0000-000000000000"))
    with pytest.raises(InvalidBundle, match="There is no queue"):
        import_from(site, folder, queue=None)
    assert import_from(site, folder, queue=site.queue).competition.queue == site.queue


def test_the_reference_has_the_faults_that_a_site_alone_finds(site: Scenario, tmp_path: Path) -> None:
    nobodys = "0b9f1c5e-1111-4222-8333-444455556666"
    existing = resource(site.organizer, Resource.Kind.PUBLIC_DATA, b"x")
    data = changed("queue", "nowhere", changed("podium", {"slug": site.competition.slug}))
    data = changed("tasks.0.input_data", nobodys, changed("tasks.0.reference_data", str(existing.key), data))
    data = changed("tasks.1", {"index": 1, "key": nobodys}, data)
    messages = faults_of_import(site, write(tmp_path / "b", data), queue=None)
    foreign = scenario().phase.tasks.get()
    Task.objects.filter(pk=foreign.pk).update(is_public=True)
    own = Queue.objects.create(name="own", owner=site.organizer)
    foreign_task = changed("tasks.0", {"index": 0, "key": str(foreign.key)})
    messages |= faults_of_import(site, write(tmp_path / "c", foreign_task), queue=own)
    known = documented(FAULTS.split("and by a site alone:")[1])
    assert {
        template for template in known if any(pattern(template).fullmatch(sentence) for sentence in messages)
    } == set(known)
    assert len(messages) == len(known) == 6


def test_a_failure_leaves_nothing_behind(site: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [model.objects.count() for model in (Competition, Resource, StoredFile)]
    monkeypatch.setattr("competitions.bundles.importing.creation.boards_write", broken)
    with pytest.raises(RuntimeError, match="the disk burst into flames"):
        import_from(site, write(tmp_path / "b", second()))
    marked = StoredFile.objects.filter(unneeded_since__isnull=False).count()
    assert [Competition.objects.count(), Resource.objects.count(), StoredFile.objects.count() - marked] == before
    assert remove_orphans(now=site.now) == 0, "somebody may be storing the same bytes"
    remove_orphans(now=timezone.now() + GRACE)
    assert StoredFile.objects.count() == before[-1]


def test_an_import_that_ended_in_a_deadlock_is_done_again(
    site: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deadlock(*arguments: object, **options: object) -> None:
        raise OperationalError("deadlock detected")

    stored = store_bytes(packed(write(tmp_path / "b", second()), tmp_path / "b.zip").read_bytes())
    job = import_begin(owner=site.organizer, stored=stored, file_name="b.zip", queue=site.queue, now=NOON)
    with monkeypatch.context() as patched:
        patched.setattr("competitions.bundles.importing.creation.boards_write", deadlock)
        with pytest.raises(OperationalError):
            import_perform(job.pk)
    BundleImport.objects.filter(pk=job.pk).update(claimed_until=NOON)
    import_perform(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempts) == (BundleImport.State.FINISHED, 2)


def faults_of_import(site: Scenario, source: Path, queue: Queue | None) -> set[str]:
    with pytest.raises(InvalidBundle) as refused:
        import_from(site, source, queue=queue)
    return {fault.message for fault in refused.value.report.faults}


def broken(*args: object, **named: object) -> None:
    raise RuntimeError("the disk burst into flames")


def import_from(site: Scenario, source: Path, queue: Queue | object | None = ...) -> Imported:
    chosen = site.queue if queue is ... else queue
    assert chosen is None or isinstance(chosen, Queue)
    return bundle_import(source=source, owner=site.organizer, queue=chosen, now=NOON)
