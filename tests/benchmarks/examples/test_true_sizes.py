"""Every track at its true size: data, baseline and scoring. Run by `make bench`.

PCQM4Mv2 generates 294,469 test molecules, which takes minutes.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import examples.ogb_lsc
import examples.ogbn_arxiv
import examples.openbiolink2021
from examples.tracks import baselines
from examples.tracks.bundle import build_track
from scoring.formats.layouts import file_owner
from scoring.formats.submissions import check

TRACKS = (*examples.ogb_lsc.TRACKS, *examples.openbiolink2021.TRACKS, *examples.ogbn_arxiv.TRACKS)


def test_every_track_runs_at_its_true_size(tmp_path: Path) -> None:
    print(f"\n{'track':<22}{'build':>10}{'baseline and scores':>22}   scores")
    for track in TRACKS:
        began = time.perf_counter()
        bundle = build_track(tmp_path / track.slug, track, now=datetime.now(UTC), size="true")
        built = time.perf_counter()
        all_baselines = baselines.track_baselines(bundle, track, tmp_path / f"{track.slug}-files")
        scored = time.perf_counter()
        for baseline in all_baselines:
            if owner := file_owner(baseline.filename):
                check(tmp_path / f"{track.slug}-files" / baseline.filename, *owner)  # with the official number of rows
        scores = ", ".join(
            f"{baseline.phase} {baseline.metric} {sum(baseline.score_range or ()) / 2:.4f}"
            for baseline in all_baselines
        )
        print(f"{track.slug:<22}{built - began:>8.1f} s{scored - built:>20.1f} s   {scores}")
