"""A program's use is seen in its line, by the control groups of this host."""

from __future__ import annotations

from tests.integration.workers.harness import Bench

BUSY_S = 2
HELD_BYTES = 64 << 20
PROGRAM = f"""
import pathlib, time
held = bytearray({HELD_BYTES})
held[::4096] = b"x" * len(held[::4096])
end = time.process_time() + {BUSY_S}
while time.process_time() < end:
    pass
pathlib.Path("/app/output/answer.txt").write_text("1.0")
"""


def test_a_busy_program_is_seen_in_its_line(bench: Bench) -> None:
    outcome = bench.run(bench.code_job(PROGRAM, wall_s=300))
    assert outcome.reason is None, outcome.result
    lines = {line["name"]: line for line in outcome.result["usage"]}
    line = lines["ingestion"]
    points = list(zip(line["at_s"], line["cpu_cores"], line["memory_bytes"], strict=True))
    assert len(points) >= 2, "sampled once a second, and it was busy for several"
    widths = [last - first for first, last in zip((0.0, *line["at_s"]), line["at_s"], strict=False)]
    used_s = sum(width * cores for width, (_, cores, _) in zip(widths, points, strict=True))
    assert 0.2 * BUSY_S < used_s < BUSY_S + 3, points
    assert max(memory for _, _, memory in points) > HELD_BYTES
    assert set(line["gpu_share"]) == {None}
