"""An organizer's own metric that fails in the real container: clear words, no charge, no label."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from competitions.submissions.states import REASONS, Reason
from files.bundles.cli import main
from files.bundles.local_jobs import local_jobs
from tests.engines import with_root
from workers.local import LocalRun, run_locally

pytestmark = with_root

LABEL = "70.3"  # of the first row of the template's solution
SCORE = "import time\n\ndef score(solution, submission, row_id_column_name):\n    print(solution['price'].iloc[0], flush=True)\n"
METRICS = {
    "right": "    return 0.5\n",
    "raises": "    raise ValueError(f'no price {solution[\"price\"].iloc[0]}')\n",
    "gives NaN": "    return float('nan')\n",
    "hangs": "    time.sleep(600)\n",
    "eats memory": "    rows = []\n    while True:\n        rows.append(bytearray(8 << 20))\n",
}
# What the organizers read; the team reads the verdict's sentence alone.
WORDS = {"raises": "it raised ValueError: no price", "gives NaN": "it returned nan; return a finite number"}
CODES = {"raises": "exit_code", "gives NaN": "exit_code", "hangs": "time_limit", "eats memory": "out_of_memory"}


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory, runtime_image: str) -> Mapping[str, LocalRun]:
    """Each metric on the sample of the template for tables, three at a time."""

    folders = {name: tmp_path_factory.mktemp("metric") for name in METRICS}  # here: two threads may make one twice

    def run(name: str) -> LocalRun:
        folder, scratch = folders[name] / "prices", folders[name] / "scratch"
        scratch.mkdir()
        assert main(["new", str(folder), "--template", "table"]) == 0
        (folder / "reference_data/metric.py").write_text(SCORE + METRICS[name])
        path = folder / "competition.yaml"
        text = path.read_text()
        if name == "hangs":  # a container's start counts, with pandas in it
            text = text.replace("execution_time_limit: 600", "execution_time_limit: 60")
        path.write_text(
            text.replace(
                "accepts: [prediction]", "accepts: [prediction]\n      budget: {scoring_memory_bytes: 536870912}"
            )
        )
        ((_, job),) = local_jobs(folder, scratch, image=runtime_image)
        return run_locally(job)

    with ThreadPoolExecutor(3) as pool:
        return dict(zip(METRICS, pool.map(run, METRICS), strict=True))


def test_a_metric_that_is_right_gives_its_score(tried: Mapping[str, LocalRun]) -> None:
    assert tried["right"].result.scores == {"error": 0.5}
    assert LABEL in tried["right"].logs["scoring"], "control: it can print labels"


@pytest.mark.parametrize("name", CODES)
def test_a_metric_that_goes_wrong_is_the_organizers_and_tells_a_team_no_label(
    tried: Mapping[str, LocalRun], name: str
) -> None:
    result = tried[name].result
    assert (result.reason, result.code, result.scores) == ("scoring_error", CODES[name], {}), result.detail
    assert result.detail.startswith("The scoring program")
    assert LABEL not in result.detail
    assert not REASONS[Reason.SCORING_ERROR].charged
    assert LABEL in tried[name].logs["scoring"]
    assert WORDS.get(name, "") in tried[name].logs["scoring"]
