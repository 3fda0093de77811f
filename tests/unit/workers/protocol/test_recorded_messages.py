"""Messages as they were recorded: the classes read them whole, and write the same again."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from workers.protocol.calls import Claim, Heartbeat, HeartbeatAnswer, Register, Registered, Release
from workers.protocol.jobs import Job
from workers.protocol.messages import PROTOCOL_VERSION, Message, MessageInvalid, read_message
from workers.protocol.plan import FileRole, Needs, Plan
from workers.protocol.results import Complete

RECORDED: Final = Path(__file__).resolve().parents[3] / "data" / "protocol"
MODELS: Final[dict[str, type[Message]]] = {
    "register": Register,
    "registered": Registered,
    "claim": Claim,
    "job": Job,
    "heartbeat": Heartbeat,
    "heartbeat_answer": HeartbeatAnswer,
    "complete": Complete,
    "release": Release,
}


def message_model(name: str) -> type[Message]:
    """By the longest beginning of the file's name: `job_predictions` is a job."""
    return MODELS[max((known for known in MODELS if name.startswith(known)), key=len)]


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.json")), ids=lambda path: path.stem)
def test_a_recorded_message_is_read_whole_and_said_the_same_again(path: Path) -> None:
    recorded = json.loads(path.read_text())
    message = read_message(message_model(path.stem), recorded).model_dump(mode="json", exclude_unset=True)
    assert message == recorded


def test_every_message_is_recorded_in_today_s_version() -> None:
    assert {message_model(path.stem) for path in RECORDED.glob("*.json")} == set(MODELS.values())
    assert json.loads((RECORDED / "register.json").read_text())["protocol"] == PROTOCOL_VERSION


def test_keys_of_a_newer_side_are_left_out() -> None:
    assert read_message(Claim, {"free_slots": 1, "mood": "fine"}) == Claim(free_slots=1)


PLAN: Final[dict[str, Any]] = {
    "stages": [
        {"name": "ingestion", "mounts": [{"target": "/app/program", "file": "submission"}]},
        {
            "name": "scoring",
            "mounts": [
                {"target": "/app/program", "file": "scoring_program"},
                {"target": "/app/input/ref", "file": "reference_data", "secret": True},
                {"target": "/app/input/res", "stage_output": "ingestion"},
            ],
        },
    ]
}


@pytest.mark.parametrize(("stage", "field"), list(product(("ingestion", "submission"), ("target", "secret"))))
def test_a_plan_that_would_show_labels_to_participants_code_cannot_be_written_down(stage: str, field: str) -> None:
    body = json.loads(json.dumps(PLAN))
    wrong = {"target": "/app/input/ref"} if field == "target" else {"secret": True}
    body["stages"][0] |= {"name": stage, "mounts": [{"target": "/app/program", "file": "reference_data"} | wrong]}
    with pytest.raises(MessageInvalid, match=f"must not be given to the {stage} stage"):
        read_message(Plan, body)


def test_after_ingestion_its_output_is_a_file_like_any_other() -> None:
    plan = read_message(Plan, PLAN)
    assert (plan.needs, [stage.name for stage in plan.first_step]) == (Needs.INGESTION, ["ingestion"])
    left = plan.after_ingestion()
    assert left.needs == Needs.SCORING
    assert [mount.target for mount in left.stages[0].mounts] == [
        mount["target"] for mount in PLAN["stages"][1]["mounts"]
    ]
    assert left.stages[0].mounts[-1].model_dump()["file"] == FileRole.PREDICTIONS
