"""The demos that `make demo` offers: their competitions, bundles and baselines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

import examples.ogb_lsc
import examples.ogbn_arxiv
import examples.openbiolink2021
from examples.baselines import Baseline, SimulatedFile
from examples.classroom import baselines as classroom
from examples.classroom.bundle import SLUG as CLASSROOM
from examples.classroom.bundle import build_bundle as build_classroom
from examples.pcqm4mv2_small import baseline_submissions as molecules
from examples.pcqm4mv2_small.bundle import SLUG as MOLECULES
from examples.pcqm4mv2_small.bundle import build_bundle
from examples.pcqm4mv2_small.simulated_teams import simulated_files
from examples.tracks.baselines import track_baselines
from examples.tracks.bundle import build_track
from examples.tracks.track import Track


@dataclass(frozen=True)
class Built:
    """A competition's bundle folder, baselines, and a function that writes files of simulated teams.

    Files of baselines lie in a folder named like the competition. `simulate`: folder and number of teams.
    """

    bundle: Path
    baselines: list[Baseline]
    simulate: Callable[[Path, int], list[SimulatedFile]] | None = None


@dataclass(frozen=True)
class DemoSeries:
    """The series that a demo's competitions are tracks of; field names are those of `Series`."""

    slug: str
    title: str
    subtitle: str
    description: str


@dataclass(frozen=True)
class Demo:
    """One demo. `build` gets a folder for bundles, one for baseline files, and the time of opening."""

    build: Callable[[Path, Path, datetime], list[Built]]
    series: DemoSeries | None = None


def _molecules(bundles: Path, baselines: Path, now: datetime) -> list[Built]:
    bundle = build_bundle(bundles / MOLECULES, now=now)
    molecule_baselines = molecules.build_baselines(bundle, baselines / MOLECULES)
    return [Built(bundle, molecule_baselines, lambda dest, teams: simulated_files(bundle, dest, teams=teams))]


def _classroom(bundles: Path, baselines: Path, now: datetime) -> list[Built]:
    bundle = build_classroom(bundles / CLASSROOM, now=now)
    return [Built(bundle, classroom.build_baselines(bundle, baselines / CLASSROOM))]


def _tracks(tracks: Sequence[Track], bundles: Path, baselines: Path, now: datetime) -> list[Built]:
    built = []
    for track in tracks:
        bundle = build_track(bundles / track.slug, track, now=now)
        built.append(Built(bundle, track_baselines(bundle, track, baselines / track.slug)))
    return built


OGB_LSC: Final = DemoSeries(
    examples.ogb_lsc.SLUG, examples.ogb_lsc.TITLE, examples.ogb_lsc.SUBTITLE, examples.ogb_lsc.DESCRIPTION
)
DEMOS: Final[dict[str, Demo]] = {
    "pcqm4mv2-small": Demo(_molecules),
    "classroom": Demo(_classroom),
    "ogb-lsc": Demo(partial(_tracks, examples.ogb_lsc.TRACKS), series=OGB_LSC),
    "openbiolink-2021": Demo(partial(_tracks, examples.openbiolink2021.TRACKS)),
    "ogbn-arxiv": Demo(partial(_tracks, examples.ogbn_arxiv.TRACKS)),
}
DEFAULT: Final = "pcqm4mv2-small"
