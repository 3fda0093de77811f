"""The example benchmarks are bundles without a fault, built the same each time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from examples.autograph_small.bundle import build_bundle as autograph
from examples.autorl_jobshop.bundle import build_bundle as autorl
from examples.both_grow_small.bundle import build_bundle as both_grow
from examples.cometh_small.bundle import build_bundle as cometh
from examples.deconbench_small.bundle import build_bundle as deconbench
from examples.delivery_times.bundle import build_bundle as deliveries
from files.bundles.samples import check_bundle

NOW = datetime(2030, 5, 1, tzinfo=UTC)
BUILDS = {
    "autograph": autograph,
    "autorl": autorl,
    "both grow": both_grow,
    "cometh": cometh,
    "deconbench": deconbench,
    "deliveries": deliveries,
}


@pytest.mark.parametrize("name", BUILDS)
def test_a_benchmark_is_a_bundle_built_the_same_each_time(tmp_path: Path, name: str) -> None:
    build: Callable[..., Path] = BUILDS[name]
    first, second = build(tmp_path / "one", now=NOW), build(tmp_path / "two", now=NOW)
    report = check_bundle(first)
    assert report.faults == []
    assert [note.message for note in report.warnings] == ["there is no `image`; the competition gets no logo"]
    texts = {
        path.relative_to(first): path.read_bytes()
        for path in first.rglob("*")
        if path.suffix in (".csv", ".txt", ".yaml", ".json", ".parquet")
    }
    assert texts == {path: (second / path).read_bytes() for path in texts}
    with pytest.raises(ValueError, match="not empty"):
        build(first, now=NOW)
