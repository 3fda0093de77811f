"""Programs of Codabench's bundles in real containers: writable copies, results, two at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from tests.integration.workers.harness import SECRET, Bench, Outcome

SCORER = """
import json, pathlib
res = pathlib.Path("/app/input/res")
(res / "lock").write_text("taken")
pathlib.Path("/app/program/cache").write_text("x")
pathlib.Path("/app/input/beside").write_text("x")
value = float((res / "answer.txt").read_text())
print("labels:", (pathlib.Path("/app/input/ref") / "labels.txt").exists())
print((res / "metadata").read_text())
pathlib.Path("/app/output/scores.txt").write_text(f"score: {value}\\nDuration: 3\\n")
"""


def program(bench: Bench, target: str, source: str, command: str = "python3 $program/main.py") -> dict[str, Any]:
    return bench.mount(target, {"main.py": source, "metadata": f"command: {command}\n"})


def scoring(bench: Bench, res: dict[str, Any], source: str = SCORER, **flags: Any) -> dict[str, Any]:
    mounts = [
        program(bench, "/app/program", source),
        bench.mount("/app/input/ref", {"labels.txt": SECRET}, secret=True),
        {"target": "/app/input/res", **res},
    ]
    return bench.stage("scoring", mounts) | {"writable": True, "shared": True} | flags


def ingestion(bench: Bench, source: str, submission: dict[str, str | bytes], **flags: Any) -> dict[str, Any]:
    mounts = [
        program(bench, "/app/program", source, "python3 $ingestion_program/main.py $input $output $submission_program"),
        bench.mount("/app/ingested_program", submission),
    ]
    return bench.stage("ingestion", mounts) | {"writable": True, "tolerant": True} | flags


def run(bench: Bench, *stages: dict[str, Any], **job: Any) -> Outcome:
    return bench.run(bench.job(list(stages)) | job)


FAILING = "raise SystemExit('there is no model.py')"


def test_a_result_submission_is_scored_although_the_ingestion_program_fails(bench: Bench) -> None:
    first = ingestion(bench, FAILING, {"answer.txt": "0.75"}, prefill="/app/ingested_program")
    outcome = run(bench, first, scoring(bench, {"stage_output": "ingestion"}))
    assert (outcome.reason, outcome.result["scores"]) == (None, {"score": 0.75})
    assert outcome.result["notes"] == ["scores.txt: 'Duration' is not a column of the board and was left out."]
    metadata = yaml.safe_load(outcome.outbox["scoring.log"].decode().split("labels: True\n")[1])
    assert (metadata["exitCode"], metadata["ingestionExitCode"]) == (1, 1)
    assert metadata["elapsedTime"] == metadata["ingestionElapsedTime"] > 0
    assert yaml.safe_load(outcome.archived("scoring.zip")["metadata"])["exitCode"] == 0


def test_the_teams_program_is_blamed_when_nothing_can_be_scored_behind_it(bench: Bench) -> None:
    says_its_seed = "import os; print('seed', os.environ['PODIUM_SEED'])\n" + FAILING
    first = ingestion(bench, says_its_seed, {"model.py": "pass"}, prefill="/app/ingested_program")
    outcome = run(bench, first, scoring(bench, {"stage_output": "ingestion"}), seed=7)
    assert "seed 7" in outcome.log
    assert (outcome.reason, outcome.code) == ("program_error", "exit_code")
    assert "Then nothing could be scored" in outcome.result["detail"]


def test_limits_hold_also_where_exit_codes_are_tolerated(bench: Bench) -> None:
    first = ingestion(bench, "import time; time.sleep(60)", {"answer.txt": "1"}, prefill="/app/ingested_program")
    first["limits"] = first["limits"] | {"wall_s": 1}
    assert run(bench, first, scoring(bench, {"stage_output": "ingestion"})).reason == "time_limit"


def test_a_submission_larger_than_the_output_is_its_teams_failure(bench: Bench) -> None:
    first = ingestion(bench, FAILING, {"big": b"\0" * (20 << 20)}, prefill="/app/ingested_program")
    outcome = run(bench, first, scoring(bench, {"stage_output": "ingestion"}))
    assert (outcome.reason, outcome.code) == ("disk_limit", "output_full")


def test_an_ingestion_program_without_a_command_is_not_run(bench: Bench) -> None:
    first = ingestion(bench, FAILING, {"answer.txt": "0.5"}, prefill="/app/ingested_program")
    first["mounts"][0] = bench.mount("/app/program", {"main.py": FAILING})
    outcome = run(bench, first, scoring(bench, {"stage_output": "ingestion"}))
    assert (outcome.reason, outcome.result["scores"]) == (None, {"score": 0.5})
    assert "was not run" in outcome.result["notes"][0]


def test_a_submissions_own_command_runs_beside_the_ingestion_program(bench: Bench) -> None:
    waits = "import pathlib, time\nwhile not pathlib.Path('/app/output/from_team').exists(): time.sleep(0.01)\n"
    writes = "open('/app/output/from_team', 'w').write('x'); open('/app/output/answer.txt', 'w').write('2')"
    submission = bench.stage("submission", [program(bench, "/app/program", writes)]) | {"tolerant": True}
    outcome = run(
        bench, submission, ingestion(bench, waits, {"main.py": "x"}), scoring(bench, {"stage_output": "submission"})
    )
    assert (outcome.reason, outcome.result["scores"]) == (None, {"score": 2.0})
    assert {"submission.log", "ingestion.log"} >= set(outcome.outbox) & {"submission.log", "ingestion.log"}
    assert {stage["name"] for stage in outcome.result["stages"]} == {"submission", "ingestion", "scoring"}


AGENT = """
import os, pathlib, sys, time
shared = pathlib.Path("/app/shared")
(shared / "agent").write_text(str(time.time()))
seen = {path: os.path.exists(path) for path in ("/app/input/ref", "/app/ingested_program/model.txt", "/app/input/res/model.txt")}
print(seen)
while not (shared / "question").exists(): time.sleep(0.01)
(shared / "answer.new").write_text((shared / "question").read_text() * 2)
os.rename(shared / "answer.new", shared / "answer")
pathlib.Path("/app/output/scores.json").write_text('{"score": 1000}')
"""
ENVIRONMENT = """
import json, os, pathlib, time
shared = pathlib.Path("/app/shared")
(shared / "question.new").write_text("21")
os.rename(shared / "question.new", shared / "question")
while not (shared / "answer").exists(): time.sleep(0.01)
answer = (shared / "answer").read_text()
(shared / "answer").unlink()
pathlib.Path("/app/output/detailed_results.html").write_text("<p>details</p>")
pathlib.Path("/app/output/scores.json").write_text(json.dumps({"score": float(answer)}))
"""


def concurrent(bench: Bench, agent: str, environment: str, **limits: float) -> Outcome:
    submission: dict[str, str | bytes] = {"model.txt": "m"}
    beside = ingestion(bench, agent, submission, step=2, shared=True)
    beside["mounts"].append({**bench.mount("/app/input/res", submission)})
    beside["limits"] = beside["limits"] | limits
    file = bench.mount("/app/input/res", submission)
    return run(bench, beside, scoring(bench, file, environment), detailed_results=True)


def test_agent_and_environment_run_at_the_same_time_and_talk_through_the_shared_folder(bench: Bench) -> None:
    outcome = concurrent(bench, AGENT, ENVIRONMENT)
    assert (outcome.reason, outcome.result["scores"]) == (None, {"score": 2121.0}), outcome.result["detail"]
    seen = "{'/app/input/ref': False, '/app/ingested_program/model.txt': True, '/app/input/res/model.txt': True}"
    assert seen in outcome.log, "labels are for the scoring container alone"
    assert outcome.outbox["detailed_results.html"] == b"<p>details</p>"
    first, second = sorted(outcome.result["stages"], key=lambda stage: str(stage["started_at"]))
    assert second["started_at"] < first["finished_at"], "one began before the other ended"


def test_an_agent_that_never_answers_ends_at_its_limit_and_is_to_blame(bench: Bench) -> None:
    outcome = concurrent(bench, "import time; time.sleep(60)", ENVIRONMENT, wall_s=2)
    assert (outcome.reason, outcome.code) == ("time_limit", "time_limit")


def test_an_agent_that_goes_on_after_the_end_is_stopped(bench: Bench) -> None:
    goes_on = AGENT + "\ntime.sleep(60)"
    outcome = concurrent(bench, goes_on, ENVIRONMENT)
    assert (outcome.reason, outcome.result["scores"]) == (None, {"score": 2121.0})


@pytest.mark.parametrize(("pull", "code"), [("never", "image_missing"), ("missing", "image_pull_failed")])
def test_an_image_that_is_not_there_is_the_platforms_fault_with_its_name(bench: Bench, pull: str, code: str) -> None:
    res = {"file": bench.mount("x", {"answer.txt": "1"})["file"], "unpack": True}
    outcome = run(bench, scoring(bench, res, image="podium.invalid/none:1", pull=pull))
    assert (outcome.reason, outcome.code) == ("infrastructure", code)
    assert "podium.invalid/none:1" in outcome.result["detail"]
    assert "http+docker" not in outcome.result["detail"], "no address of the engine"


def test_an_entrypoint_of_the_image_is_kept(bench: Bench) -> None:
    from workers.engines.docker.config import container_config

    outcome = run(bench, scoring(bench, {"file": bench.mount("x", {"answer.txt": "1"})["file"], "unpack": True}))
    assert outcome.result["scores"] == {"score": 1.0}
    (stage,) = outcome.execution.staged.stages.values()
    facts = replace(stage.spec.image_facts, entrypoint=("/usr/bin/env", "A=1"))
    config = container_config(replace(stage.spec, image_facts=facts), "/podium/x")
    assert config["Cmd"] == ["/usr/bin/env", "A=1", *stage.spec.argv]
    without_shell = container_config(replace(stage.spec, image_facts=replace(facts, has_shell=False)), "/podium/x")
    assert (without_shell["Entrypoint"], without_shell["Cmd"]) == (None, list(stage.spec.argv))
