"""Exports and clones: asked for by a row, made by a background process, kept for a day."""

from __future__ import annotations

import io
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.db.models import QuerySet
from PIL import Image

from accounts.models import User
from competitions.bundles import exports
from competitions.bundles.codabench_gaps import codabench_gaps, codabench_refusals
from competitions.bundles.exports import KEPT, export_begin, export_perform, export_recent, remove_old_exports
from competitions.bundles.imports import clone_begin
from competitions.bundles.models import BundleExport, BundleImport
from competitions.catalog.models import Column, Competition, Leaderboard, Phase
from competitions.resources.models import Resource, StoredFile
from competitions.resources.orphans import remove_orphans
from competitions.resources.storage import open_stored
from core.background.rows import claim
from tests.background import run_background
from tests.permissions import body_text, user_client
from tests.scenario import Scenario, person, resource


def begun(site: Scenario, *, with_files: bool = True) -> BundleExport:
    return export_begin(competition=site.competition, by=site.organizer, with_files=with_files, now=site.now)


def test_one_that_waits_is_not_asked_for_twice(site: Scenario) -> None:
    assert begun(site) == begun(site)
    assert begun(site) != begun(site, with_files=False)
    assert run_background() == 2
    assert begun(site).state == BundleExport.State.WAITING, "the competition may have changed since"


def test_an_address_that_is_asked_again_gets_the_one_that_is_new(site: Scenario) -> None:
    def export_after(seconds: int) -> BundleExport:
        now = site.now + timedelta(seconds=seconds)
        return export_recent(competition=site.competition, by=site.organizer, with_files=True, now=now)

    first = export_after(0)
    run_background(at=site.now)
    assert export_after(60) == first
    assert export_after(61) != first


def test_the_file_goes_a_day_after_it_was_written(site: Scenario) -> None:
    export = begun(site)
    run_background(at=site.now)
    export.refresh_from_db()
    assert export.file is not None
    assert remove_old_exports(now=site.now + KEPT - timedelta(seconds=1)) == 0
    assert remove_old_exports(now=site.now + KEPT) == 1
    remove_orphans(now=site.now + KEPT)
    assert not StoredFile.objects.filter(pk=export.file_id).exists()
    assert StoredFile.objects.filter(pk=site.phase.tasks.get().scoring_program.file_id).exists()


def test_a_process_that_dies_leaves_the_export_to_another(site: Scenario) -> None:
    export = begun(site)
    with time_machine.travel(site.now, tick=False):
        claim(exports.waiting_exports(), export.pk, lease_s=20)
        export_perform(export.pk)
    export.refresh_from_db()
    assert export.state == BundleExport.State.WAITING, "somebody else writes it"
    with time_machine.travel(site.now + timedelta(seconds=21), tick=False):
        export_perform(export.pk)
    export.refresh_from_db()
    assert export.state == BundleExport.State.FINISHED


def test_an_export_that_breaks_off_again_and_again_is_given_up(site: Scenario) -> None:
    export = begun(site)
    BundleExport.objects.update(attempts=3)
    export_perform(export.pk)
    page = body_text(user_client(site.organizer).get(f"/organize/exports/{export.pk}/"))
    assert "could not be written" in page


def test_a_fault_while_it_is_written_is_told_and_logged(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*, competition: Competition, target: Path, with_files: bool, by: User) -> Path:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(exports, "bundle_write", broken)
    export = begun(site)
    with pytest.raises(RuntimeError):
        run_background()
    export.refresh_from_db()
    assert export.state == BundleExport.State.FAILED


def test_an_export_goes_with_its_competition(site: Scenario) -> None:
    copy = clone_begin(competition=site.competition, by=site.organizer, now=site.now)
    run_background()
    copy.refresh_from_db()
    assert copy.competition is not None
    export = export_begin(competition=copy.competition, by=site.organizer, with_files=True, now=site.now)
    copy.competition.delete()
    export_perform(export.pk)
    assert not BundleExport.objects.exists()


def test_who_no_longer_organizes_the_competition_gets_no_clone_and_no_file(site: Scenario) -> None:
    export, copy = begun(site), clone_begin(competition=site.competition, by=site.organizer, now=site.now)
    site.competition.organizers.clear()
    run_background()
    copy.refresh_from_db()
    assert (copy.state, copy.competition) == (BundleImport.State.FAILED, None)
    assert "no longer organize" in copy.report["faults"][0]["message"]
    assert user_client(site.organizer).get(f"/organize/exports/{export.pk}/file/").status_code == 404


def test_an_export_is_its_askers_alone(site: Scenario) -> None:
    export = begun(site)
    run_background()
    assert user_client(site.member()).get(f"/organize/exports/{export.pk}/file/").status_code == 403


def test_an_export_says_what_codabench_would_do_otherwise(site: Scenario) -> None:
    board = site.phase.leaderboard
    Leaderboard.objects.filter(pk=board.pk).update(rule="selected", breaks_ties=True)
    Column.objects.create(
        leaderboard=board, key="rank", title="Rank", index=1, kind="computed", computation="avg_rank", sources=["mae"]
    )
    export = begun(site)
    run_background(at=site.now)
    client = user_client(site.organizer)
    gaps = client.get(f"/api/v1/exports/{export.pk}/").json()["codabench_gaps"]
    rule = next(gap for gap in gaps if "Force_Best" in gap)
    assert rule.startswith(f"On Codabench each team's best submission counts on “{board.title}” of “{site.phase.name}”")
    refusals = client.get(f"/api/v1/exports/{export.pk}/").json()["codabench_refusals"]
    assert any("has average ranks, which are not known there" in refusal for refusal in refusals)
    assert any(f"scores of “{site.sealed.name}” at once" in gap for gap in gaps)
    page = client.get(f"/organize/exports/{export.pk}/").content.decode()
    assert "Force_Best" in page
    export.refresh_from_db()
    assert export.file is not None
    with open_stored(export.file) as file, zipfile.ZipFile(file) as archive:
        assert f"# - {rule}" in archive.read("competition.yaml").decode()
    dump = client.post(f"/api/competitions/{site.competition.pk}/create_dump/").json()
    assert dump["warnings"] == [*(f"Codabench refuses this bundle: {reason}" for reason in refusals), *gaps]
    shape = client.get(f"/api/phases/{site.phase.pk}/get_leaderboard/").json()
    assert shape["submission_rule"] == "Selected"


def reasons(site: Scenario, *, with_files: bool = True) -> list[str]:
    return codabench_refusals(site.competition, with_files=with_files, by=site.organizer)


def one_after_the_other(site: Scenario) -> None:
    site.phase.closes_at = site.now
    site.phase.save()
    site.sealed.opens_at = site.now + timedelta(seconds=1)
    site.sealed.save()


def test_an_export_names_every_reason_for_which_codabench_would_refuse_it(site: Scenario) -> None:
    """Each is made in turn, and gone again when it is fixed."""
    one_after_the_other(site)
    assert reasons(site) == []
    phases, later = Phase.objects.filter(pk=site.phase.pk), Phase.objects.filter(pk=site.sealed.pk)
    kit = resource(site.organizer, Resource.Kind.STARTING_KIT, b"plain text")
    Resource.objects.filter(pk=kit.pk).update(file_name="kit.txt")
    changes: list[tuple[QuerySet[Phase], dict[str, Any], str]] = [
        (later, {"opens_at": site.now}, "“test-challenge” does not start after the end of “test-dev”"),
        (phases, {"closes_at": None}, "“test-dev” has no end, and “test-challenge” follows"),
        (phases, {"auto_migrate_to_this_phase": True}, "“test-dev” is the first phase"),
        (later, {"starting_kit": kit}, "The starting kit of “test-challenge”, kit.txt, is not a zip"),
    ]
    for rows, change, words in changes:
        before = dict(rows.values(*change).get())
        rows.update(**change)
        (reason,) = reasons(site)
        assert words in reason
        rows.update(**before)
    sample = resource(site.organizer, Resource.Kind.SAMPLE_SUBMISSION, b"id,price")
    later.update(sample_submission=sample)
    assert reasons(site) == [], "it reads no sample submission"
    columns = Column.objects.filter(leaderboard=site.phase.leaderboard)
    stored = list(columns)
    columns.delete()
    assert "of “test-dev” has no column; add one." in reasons(site)[0]
    Column.objects.bulk_create(stored)
    page = site.competition.pages.create(title="Soon", body=" ")
    assert reasons(site) == ["The page “Soon” is empty; write it, or delete it."]
    page.delete()
    task = site.sealed.tasks.get()
    task.competition, task.owner = None, person()
    task.save()
    assert "is another organizer's, so it is named by its key" in reasons(site)[0]
    site.sealed.tasks.clear()
    assert reasons(site) == ["“test-challenge” has no task; add one."]
    assert "which Codabench does not know" in reasons(site, with_files=False)[-1]
    site.competition.phases.all().delete()
    assert reasons(site) == ["There is no phase; there must be one."]


def test_the_page_and_the_file_of_an_export_say_why_codabench_would_refuse_it(site: Scenario) -> None:
    export = begun(site)
    run_background(at=site.now)
    page = body_text(user_client(site.organizer).get(f"/organize/exports/{export.pk}/"))
    assert "Codabench would refuse it" in page
    assert "“test-challenge” does not start after the end of “test-dev”" in page
    export.refresh_from_db()
    assert export.file is not None
    with open_stored(export.file) as file, zipfile.ZipFile(file) as archive:
        text = archive.read("competition.yaml").decode()
        image = archive.read("image.png")
    assert text.startswith("# Codabench would refuse this bundle:\n# - “test-challenge” does not start after")
    assert "image: image.png" in text
    with Image.open(io.BytesIO(image)) as drawn:
        assert (drawn.format, drawn.size) == ("PNG", (960, 320))
        assert len(drawn.getcolors(maxcolors=1000) or ()) >= 3, "the colours of a cover"


def test_an_export_of_what_codabench_does_alike_warns_of_nothing(site: Scenario) -> None:
    site.competition.phases.exclude(pk=site.phase.pk).update(visibility="public")
    Leaderboard.objects.update(breaks_ties=True)
    Column.objects.update(rank_by_shown=False)
    assert codabench_gaps(site.competition) == []
