"""Export, clone and import again: nothing of a competition is lost on the way, whatever it is made of."""

from __future__ import annotations

import io
import tempfile
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Scope, User, token_create
from competitions.bundles.importing.importer import bundle_import, competition_clone
from competitions.bundles.imports import (
    _step,
    import_begin,
    import_perform,
    task_import_begin,
    waiting_imports,
)
from competitions.bundles.models import BundleImport
from competitions.bundles.writer import STAND_IN, bundle_write
from competitions.catalog.models import Competition
from competitions.catalog.publishing import NotReady, competition_publish
from competitions.catalog.services import current_rules
from competitions.resources.models import Resource, Upload
from competitions.resources.storage import store_bytes
from core.background.rows import ClaimLost, claim
from examples.pcqm4mv2_small.bundle import build_bundle
from examples.pcqm4mv2_small.generate import Sizes
from files.bundles.faults import Report
from podium.cli import main
from tests.background import run_background
from tests.bundle_files import FILES, LEGACY, PARALLEL, changed, packed, second, write
from tests.integration.workers import codabench
from tests.permissions import body_text, user_client
from tests.scenario import NOON, Scenario, person
from tests.soak import examples, in_soak


def parts(competition: Competition, *, with_files: bool = True, by: User | None = None) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        who = by or competition.organizers.first() or person(is_superuser=True)
        path = bundle_write(competition=competition, target=Path(folder) / "a.zip", with_files=with_files, by=who)
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}


def imported(site: Scenario, source: Path) -> Competition:
    return bundle_import(source=source, owner=site.organizer, queue=site.queue, now=NOON).competition


def again(site: Scenario, files: dict[str, bytes], folder: Path) -> Competition:
    return imported(site, write(folder, files.pop("competition.yaml").decode(), dict(files)))


def assert_travels(site: Scenario, competition: Competition, folder: Path) -> None:
    """Out and in again, twice: the same YAML and the same files, byte by byte."""
    first = parts(competition)
    copy = again(site, dict(first), folder)
    assert copy.pk != competition.pk
    second_time = parts(copy)
    assert (first.pop(STAND_IN, b"")[:4] or b"\x89PNG") == b"\x89PNG", "drawn anew, from the new address"
    second_time.pop(STAND_IN, None)
    assert second_time == first
    assert (copy.logo is None) == (competition.logo is None)


SHEET = {
    "gpu": {
        "key": "gpu",
        "type": "select",
        "title": "Which GPU?",
        "selection": ["none", "A100"],
        "is_required": "true",
        "is_on_leaderboard": "true",
    },
    "notes": {
        "key": "notes",
        "type": "text",
        "title": "Notes",
        "selection": "",
        "is_required": "false",
        "is_on_leaderboard": "false",
    },
}
MEAN = {"title": "Mean", "key": "mean", "index": 1, "computation": "avg", "computation_indexes": [0]}
# By title of the bundle: places of the YAML with what stands there instead.
VARIANTS: dict[str, list[tuple[str, Any]]] = {
    "Boards and rules": [
        ("fact_sheet", SHEET),
        ("leaderboards.0.columns.1", MEAN),
        ("leaderboards.0.submission_rule", "Add_And_Delete_Multiple"),
        ("phases.1.auto_migrate_to_this_phase", True),
        ("phases.0.hide_output", True),
        ("tasks.0.ingestion_only_during_scoring", True),
        ("phases.0.accepts_only_result_submissions", True),
        ("phases.0.max_submissions", 0),
        ("image", ...),
        ("description", "One line."),
    ],
    "Files and dates": [
        ("enable_detailed_results", True),
        ("phases.0.starting_kit", "input_data"),
        ("phases.0.end", "2027-01-31 23:59:59+02:00"),
        ("leaderboards.0.hidden", True),
        ("competition_type", "benchmark"),
        ("auto_run_submissions", False),
        ("phases.0.podium", {"accepts": ["dataset"], "allow_network": True}),
    ],
    "Sealed, with a solution": [
        ("phases.0.podium", {"visibility": "sealed", "rule": "Force_Last", "reveal": "2027-02-01 10:30:00"}),
        ("solutions", [{"index": 0, "tasks": [0], "path": "input_data", "name": "Best", "description": "It works."}]),
    ],
}


@pytest.mark.parametrize("title", VARIANTS)
def test_a_competition_travels_unchanged(site: Scenario, tmp_path: Path, title: str) -> None:
    data = second() | {"title": title}
    for path, value in VARIANTS[title]:
        data = changed(path, value, base=data)
    assert_travels(site, imported(site, write(tmp_path / "a", data)), tmp_path / "b")


@pytest.mark.parametrize("text", [LEGACY, PARALLEL], ids=["1.5", "1.8"])
def test_one_of_codalab_travels_as_version_2(site: Scenario, tmp_path: Path, text: str) -> None:
    assert_travels(site, imported(site, write(tmp_path / "a", text)), tmp_path / "b")


def test_empty_pages_and_rules_of_codalab_travel(site: Scenario, tmp_path: Path) -> None:
    competition = imported(site, write(tmp_path / "a", LEGACY, FILES | {"overview.html": "", "terms.md": "\n"}))
    assert current_rules(competition) is None, "nobody has to accept an empty text"
    assert b"no terms" in parts(competition)["pages/terms.md"]
    assert_travels(site, competition, tmp_path / "b")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("TODO", marks=in_soak),
        pytest.param("# Terms and conditions\n\nTo be announced.", marks=in_soak),
        "<h1>Rules</h1><p>Lorem ipsum dolor</p>",
    ],
)
def test_a_placeholder_for_terms_is_no_rules(site: Scenario, tmp_path: Path, text: str) -> None:
    source = write(tmp_path / "a", second(), FILES | {"terms.md": text})
    drafted = bundle_import(source=source, owner=site.organizer, queue=site.queue, now=NOON)
    assert current_rules(drafted.competition) is None
    assert any("nobody is asked to accept it" in str(warning) for warning in drafted.report.warnings)
    with pytest.raises(NotReady, match="no rules"):
        competition_publish(drafted.competition)
    assert_travels(site, drafted.competition, tmp_path / "b")


@pytest.mark.parametrize("name", sorted(path.parent.name for path in codabench.FILES.glob("*/competition.yaml")))
def test_bundles_as_others_write_them_travel(site: Scenario, tmp_path: Path, name: str) -> None:
    (tmp_path / "a.zip").write_bytes(codabench.bundle(name))
    assert_travels(site, imported(site, tmp_path / "a.zip"), tmp_path / "b")


def test_the_example_travels_unchanged(site: Scenario, tmp_path: Path) -> None:
    sizes = Sizes(train=20, valid=5, test_dev=10, test_challenge=10)
    assert_travels(site, imported(site, build_bundle(tmp_path / "a", now=NOON, sizes=sizes)), tmp_path / "b")


@pytest.mark.parametrize("template", ["code", "concurrent", "datasets", "results"])
def test_templates_travel_unchanged(site: Scenario, tmp_path: Path, template: str) -> None:
    assert main(["bundle", "new", str(tmp_path / "a"), "--template", template]) == 0
    assert_travels(site, imported(site, tmp_path / "a"), tmp_path / "b")


def test_with_keys_the_files_stay_where_they_are(site: Scenario, tmp_path: Path) -> None:
    competition = imported(site, write(tmp_path / "a", second()))
    files = parts(competition, with_files=False)
    assert not any(name.startswith("files/") for name in files)
    task = yaml.safe_load(files["competition.yaml"])["tasks"][0]
    assert Resource.objects.get(key=task["scoring_program"]).kind == "scoring_program"
    before = Resource.objects.count()
    copy = again(site, dict(files), tmp_path / "b")
    assert copy.tasks.get().scoring_program == competition.tasks.get().scoring_program
    assert Resource.objects.count() == before


def test_a_clone_is_a_draft_of_its_own(site: Scenario, tmp_path: Path) -> None:
    original = imported(site, write(tmp_path / "a", second()))
    copy = competition_clone(competition=original, by=site.organizer, now=NOON)
    assert (copy.is_published, copy.slug) == (False, "small-2")
    assert parts(copy) == parts(original)
    assert not set(copy.tasks.all()) & set(original.tasks.all())


def test_downloads_of_a_clone_keep_their_names(site: Scenario, tmp_path: Path) -> None:
    data = changed("phases.0.starting_kit", "kit/starting_kit.ipynb", changed("phases.0.public_data", "Makefile"))
    data = changed("phases.1.starting_kit", "Für alle.ipynb", changed("phases.1.public_data", "input_data", data))
    files: dict[str, str | bytes] = {"kit/starting_kit.ipynb": "{}", "Makefile": "all:\n", "Für alle.ipynb": "{}"}
    original = imported(site, write(tmp_path / "a", data, FILES | files))
    copy = competition_clone(competition=original, by=site.organizer, now=NOON)
    assert [
        (phase.starting_kit.file_name, phase.public_data.file_name)
        for phase in copy.phases.order_by("index")
        if phase.starting_kit and phase.public_data
    ] == [("starting_kit.ipynb", "Makefile"), ("Für alle.ipynb", "input_data.zip")]
    assert_travels(site, copy, tmp_path / "b")


names = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=30
).filter(lambda text: bool(text.strip()))
columns = st.lists(
    st.fixed_dictionaries(
        {
            "title": names,
            "key": names,
            "sorting": st.sampled_from(["asc", "desc"]),
            "precision": st.integers(0, 10),
            "hidden": st.booleans(),
        }
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda column: column["key"],
)


@settings(max_examples=examples(16), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    title=names,
    columns=columns,
    limit=st.integers(0, 50),
    seconds=st.integers(1, 86400),
    number=st.integers(0, 10**6),
    rule=st.sampled_from(["Add", "Force_Best", "Force_Last", "Force_Latest_Multiple"]),
)
def test_whatever_is_in_it_a_competition_travels_unchanged(
    site: Scenario,
    tmp_path: Path,
    title: str,
    columns: list[dict[str, Any]],
    limit: int,
    seconds: int,
    number: int,
    rule: str,
) -> None:
    data = second()
    data["title"] = title
    data["leaderboards"][0] |= {
        "columns": [column | {"index": index} for index, column in enumerate(columns)],
        "submission_rule": rule,
        "primary_index": len(columns) - 1,
    }
    data["phases"][0] |= {"max_submissions_per_day": limit, "execution_time_limit": seconds}
    folder = tmp_path / f"{number}-{Competition.objects.count()}"
    assert_travels(site, imported(site, write(folder / "a", data)), folder / "b")


def test_an_organizer_imports_in_the_browser_and_reads_the_report(site: Scenario, tmp_path: Path) -> None:
    visitor = user_client(site.organizer)
    content = packed(write(tmp_path / "a", LEGACY), tmp_path / "a.zip").read_bytes()
    sent = visitor.post(
        "/organize/bundles/send/", {"file": SimpleUploadedFile("old.zip", content), "queue": site.queue.pk}
    )
    page = visitor.get(sent["Location"]).content.decode()
    assert "The bundle has arrived" in page
    assert not Competition.objects.filter(title="Small and old").exists(), "no request imports"
    run_background()
    ran = visitor.get(sent["Location"] + "status/").content.decode()
    assert "is there, as a draft" in ran
    assert "competition.yaml, line 7, enable_forum</code>" in ran
    assert Competition.objects.get(title="Small and old").queue == site.queue
    import_perform(BundleImport.objects.get().pk)
    assert Competition.objects.filter(title="Small and old").count() == 1, "run twice, made once"


def test_a_bundle_with_faults_shows_them_all_and_makes_nothing(site: Scenario, tmp_path: Path) -> None:
    visitor = user_client(site.organizer)
    data = changed("terms", "no.md", changed("phases.0.tasks", [4]))
    content = packed(write(tmp_path / "a", data), tmp_path / "a.zip").read_bytes()
    before = Competition.objects.count()
    sent = visitor.post("/organize/bundles/send/", {"file": SimpleUploadedFile("bad.zip", content)})
    run_background()
    page = visitor.get(sent["Location"] + "status/").content.decode()
    assert "It cannot be imported, and nothing was created." in " ".join(page.split())
    assert page.count("<li>") >= 2
    assert Competition.objects.count() == before


@pytest.mark.parametrize("kind", ["competition", "task"])
def test_a_file_that_is_no_bundle_is_named_as_its_organizer_knows_it(site: Scenario, kind: str) -> None:
    stored = store_bytes(b"no zip at all")
    begin = import_begin if kind == "competition" else task_import_begin
    job = begin(owner=site.organizer, stored=stored, file_name="My bundle.zip", now=timezone.now())
    run_background()
    job.refresh_from_db()
    (fault,) = job.report["faults"]
    assert (fault["file"], stored.sha256 in str(job.report)) == ("My bundle.zip", False)


@pytest.mark.parametrize("kind", ["competition", "task"])
def test_a_zip_that_costs_too_much_to_read_is_given_up_in_words(
    site: Scenario, settings: Any, tmp_path: Path, kind: str
) -> None:
    settings.IMPORT_WALL_S = 0.0
    begin = import_begin if kind == "competition" else task_import_begin
    content = packed(write(tmp_path / "a", second()), tmp_path / "a.zip").read_bytes()
    job = begin(owner=site.organizer, stored=store_bytes(content), file_name="My bundle.zip", now=timezone.now())
    run_background()
    job.refresh_from_db()
    (fault,) = job.report["faults"]
    assert (job.state, fault["file"]) == (BundleImport.State.FAILED, "My bundle.zip")
    assert "more time to read than an import may use" in fault["message"]


def test_a_bundle_that_there_is_no_room_for_is_refused_in_words(site: Scenario, tmp_path: Path, settings: Any) -> None:
    settings.ORGANIZER_STORAGE_BYTES = 10
    visitor = user_client(site.organizer)
    content = packed(write(tmp_path / "a", second()), tmp_path / "a.zip").read_bytes()
    sent = visitor.post("/organize/bundles/send/", {"file": SimpleUploadedFile("a.zip", content)})
    run_background()
    page = visitor.get(sent["Location"] + "status/").content.decode()
    assert "of 10 bytes, and" in page
    assert "The fault is ours" not in page


def test_export_and_clone_in_the_browser(site: Scenario, tmp_path: Path) -> None:
    competition = imported(site, write(tmp_path / "a", second()))
    visitor = user_client(site.organizer)
    for files, name in (("all", "small.zip"), ("keys", "small-keys.zip")):
        page = visitor.post(f"/organize/competitions/{competition.slug}/export/", {"content": files})["Location"]
        assert "is being written" in body_text(visitor.get(page))
        assert visitor.get(page + "file/").status_code == 404
        run_background()
        assert f"Download {name}" in body_text(visitor.get(page + "status/"))
        response = visitor.get(page + "file/")
        assert response["Content-Disposition"] == f'attachment; filename="{name}"'
        assert zipfile.is_zipfile(io.BytesIO(b"".join(response.streaming_content)))  # type: ignore[attr-defined]
        response.close()
    page = visitor.post(f"/organize/competitions/{competition.slug}/clone/")["Location"]
    assert "is cloned next" in body_text(visitor.get(page))
    run_background()
    assert "/competitions/small-2/" in body_text(visitor.get(page + "status/"))


def test_a_program_imports_and_exports_by_the_api(site: Scenario, tmp_path: Path) -> None:
    _, secret = token_create(
        user=site.organizer, name="t", scopes=list(Scope.values), expires_at=site.now.replace(year=2031)
    )
    headers = {"Authorization": f"Bearer {secret}"}
    content = packed(write(tmp_path / "a", second()), tmp_path / "a.zip").read_bytes()
    fields = {"file": SimpleUploadedFile("a.zip", content), "queue": site.queue.name}
    response = Client().post("/api/v1/bundles/", fields, headers=headers)
    assert (response.status_code, response.json()["state"]) == (202, "waiting")
    run_background()
    (job,) = Client().get("/api/v1/bundles/", headers=headers).json()
    assert job == Client().get(response["Location"], headers=headers).json()
    assert job["url"] == "/competitions/small/"
    assert job["report"]["created"]
    assert (job["state"], job["file_name"], job["slug"]) == ("finished", "a.zip", "small")
    export = Client().post("/api/v1/competitions/small/bundle/", {"files": "keys"}, headers=headers)
    assert (export.status_code, export.json()["state"], export.json()["url"]) == (202, "waiting", None)
    run_background()
    ready = Client().get(export["Location"], headers=headers).json()
    assert (ready["state"], ready["file_name"]) == ("finished", "small-keys.zip")
    assert body_text(Client().get(ready["url"], headers=headers)).startswith("PK")
    upload = site.upload(content, "sent.zip", user=site.organizer)  # in parts, as the client sends it
    half = Upload.objects.create(
        user=site.organizer, file_name="h.zip", size_bytes=9, began_at=site.now, expires_at=upload.expires_at
    )
    incomplete = Client().post("/api/v1/bundles/", {"upload": str(half.key)}, headers=headers)
    assert (incomplete.status_code, incomplete.json()["code"]) == (409, "upload_incomplete")
    by_key = Client().post("/api/v1/bundles/", {"upload": str(upload.key)}, "application/json", headers=headers)
    assert (by_key.status_code, by_key.json()["file_name"]) == (202, "sent.zip")
    BundleImport.objects.filter(file_name="sent.zip").delete()
    bad = packed(write(tmp_path / "b", changed("title", ...)), tmp_path / "b.zip").read_bytes()
    sent = Client().post("/api/v1/bundles/", {"file": SimpleUploadedFile("b.zip", bad)}, headers=headers)
    run_background()
    refused = Client().get(sent["Location"], headers=headers).json()
    assert (refused["state"], refused["report"]["faults"][0]["path"]) == ("failed", "title")
    jobs = Client().get("/api/v1/bundles/", headers=headers).json()
    assert [(job["state"], job["url"], len(job["report"]["faults"])) for job in jobs] == [
        ("failed", None, 1),
        ("finished", "/competitions/small/", 0),
    ]
    assert Client().get("/api/v1/bundles/").status_code == 401


@pytest.mark.parametrize("with_files", [True, False])
def test_another_organizers_task_is_used_and_its_labels_are_not_handed_out(
    site: Scenario, tmp_path: Path, with_files: bool
) -> None:
    task = site.phase.tasks.get()
    task.is_public = True
    task.save()
    other = person(is_staff=True)
    data = changed("tasks.0", {"index": 0, "key": str(task.key)})
    competition = bundle_import(source=write(tmp_path / "b", data), owner=other, queue=site.queue, now=NOON).competition
    files = parts(competition, with_files=with_files, by=other)
    described = yaml.safe_load(files["competition.yaml"])["tasks"]
    assert {"index": 0, "key": str(task.key)} in described
    labels = task.reference_data
    assert labels is not None
    assert not any(labels.file_id[:16] in name for name in files)
    assert str(labels.key) not in files["competition.yaml"].decode()
    copy = competition_clone(competition=competition, by=other, now=NOON)
    assert task in copy.phases.earliest("index").tasks.all(), "a clone goes on using it"
    theirs = parts(competition, by=person(is_superuser=True))
    assert any(labels.file_id[:16] in name for name in theirs), "control: those who may read it get it"


def test_an_import_that_broke_off_says_so_to_a_robot(site: Scenario) -> None:
    _, secret = token_create(
        user=site.organizer, name="t", scopes=list(Scope.values), expires_at=site.now.replace(year=2031)
    )
    job = BundleImport.objects.create(
        owner=site.organizer,
        file=store_bytes(b"x"),
        file_name="b.zip",
        state=BundleImport.State.FAILED,
        created_at=site.now,
        changed_at=site.now,
        report=Report().as_json(),
    )
    status = (
        Client()
        .get(f"/api/competitions/{job.pk}/creation_status/", headers={"Authorization": f"Token {secret}"})
        .json()
    )
    assert (status["status"], "nothing was created" in status["details"]) == ("Failed", True)


def test_a_robot_of_codabench_sends_a_bundle(site: Scenario, tmp_path: Path) -> None:
    _, secret = token_create(
        user=site.organizer, name="t", scopes=list(Scope.values), expires_at=site.now.replace(year=2031)
    )
    robot = Client(headers={"Authorization": f"Token {secret}"})
    content = packed(write(tmp_path / "a", changed("queue", site.queue.name)), tmp_path / "a.zip").read_bytes()
    dataset = robot.post("/api/datasets/", {"type": "competition_bundle", "request_sassy_file_name": "a.zip"}).json()
    assert Client().put(dataset["sassy_url"], content, content_type="application/zip").status_code == 200
    status = robot.put(f"/api/datasets/completed/{dataset['key']}/").json()["status_id"]
    assert robot.get(f"/api/competitions/{status}/creation_status/").json()["status"] == "Starting"
    run_background()
    answer = robot.get(f"/api/competitions/{status}/creation_status/").json()
    assert answer["status"] == "Finished"
    assert answer["resulting_competition"] == BundleImport.objects.get(pk=status).competition_id


def test_an_import_whose_process_was_killed_is_made_once_by_the_next(site: Scenario, tmp_path: Path) -> None:
    visitor = user_client(site.organizer)
    content = packed(write(tmp_path / "a", LEGACY), tmp_path / "a.zip").read_bytes()
    visitor.post("/organize/bundles/send/", {"file": SimpleUploadedFile("old.zip", content)})
    job = BundleImport.objects.get()
    now = timezone.now()
    killed = claim(waiting_imports(), job.pk, lease_s=20)
    assert killed is not None
    import_perform(job.pk)
    assert BundleImport.objects.get().state == "waiting", "somebody has it"
    run_background(at=now + timedelta(seconds=21))
    assert BundleImport.objects.get().state == "finished"
    assert Competition.objects.filter(title="Small and old").count() == 1
    with pytest.raises(ClaimLost):
        _step(killed, "comes to life again")
