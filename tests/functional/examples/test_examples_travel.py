"""Every example, exported and imported into an empty site, is the same competition."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

import examples.ogb_lsc
import examples.ogbn_arxiv
import examples.openbiolink2021
from accounts.models import User
from competitions.bundles.importing.importer import bundle_import
from competitions.bundles.writer import bundle_write
from competitions.catalog.models import Competition
from competitions.compute.models import Queue
from competitions.resources.models import Resource, StoredFile
from examples.autograph_small.bundle import build_bundle as autograph
from examples.autorl_jobshop.bundle import build_bundle as autorl
from examples.both_grow_small.bundle import build_bundle as both_grow
from examples.classroom.bundle import build_bundle as classroom
from examples.cometh_small.bundle import build_bundle as cometh
from examples.deconbench_small.bundle import build_bundle as deconbench
from examples.delivery_times.bundle import build_bundle as deliveries
from examples.pcqm4mv2_small.bundle import build_bundle as molecules
from examples.pcqm4mv2_small.generate import Sizes
from examples.tracks.bundle import build_track
from tests.rows import rows_by_model
from tests.scenario import NOON, person
from tests.soak import mostly_in_soak

pytestmark = pytest.mark.django_db
TRACKS = (*examples.ogb_lsc.TRACKS, *examples.openbiolink2021.TRACKS, *examples.ogbn_arxiv.TRACKS)
BUILDERS: dict[str, Callable[..., Path]] = {
    "autograph": autograph,
    "autorl": autorl,
    "both grow": both_grow,
    "classroom": classroom,
    "cometh": cometh,
    "deconbench": deconbench,
    "deliveries": deliveries,
    "molecules": partial(molecules, sizes=Sizes(train=20, valid=5, test_dev=10, test_challenge=10)),
    **{track.slug: lambda dest, now, track=track: build_track(dest, track, now=now) for track in TRACKS},
}


# Tracks are made by one function; of the others each has a part of its own.
IN_SOAK = {track.slug for track in TRACKS} - {"ogbn-arxiv"}


@pytest.mark.parametrize("name", mostly_in_soak(BUILDERS, always=BUILDERS.keys() - IN_SOAK))
def test_an_example_travels_to_another_site(name: str, tmp_path: Path) -> None:
    rows = sent_by_the_first_site(BUILDERS[name](tmp_path / "built", now=NOON), tmp_path / "bundle.zip")
    assert not any(model.objects.exists() for model in (Competition, Resource, StoredFile, User))
    assert rows_by_model(made(tmp_path / "bundle.zip")) == rows


def sent_by_the_first_site(bundle: Path, target: Path) -> dict[str, Any]:
    """Import and export; then nothing of this site is left but the exported file and the rows that it had."""
    with transaction.atomic():
        rows = rows_by_model(made(bundle))
        bundle_write(competition=Competition.objects.get(), target=target, with_files=True, by=User.objects.get())
        transaction.set_rollback(True)
    return rows


def made(source: Path) -> Competition:
    queue = Queue.objects.create(name="default", contact="c")
    return bundle_import(source=source, owner=person(is_staff=True), queue=queue, now=NOON).competition
