"""The schema of bundles has every setting that the models declare, with its default and its bounds."""

import json
from typing import get_args

import pytest
from pydantic import BaseModel, ValidationError

from files.bundles import schema
from files.bundles.declared import FILE

ROOTS: dict[str, type[BaseModel]] = {
    "competition": schema.CompetitionSpec,
    "task": schema.TaskSpec,
    "phase": schema.PhaseSpec,
    "leaderboard": schema.LeaderboardSpec,
    "column": schema.ColumnSpec,
}
PLACES = json.loads(FILE.read_text())


def spec_at(place: str) -> type[BaseModel]:
    root, *parts = place.split(".")
    spec = ROOTS[root]
    for part in parts:
        annotation = spec.model_fields[part].annotation
        spec = next(
            kind
            for kind in (annotation, *get_args(annotation))
            if isinstance(kind, type) and issubclass(kind, BaseModel)
        )
    return spec


@pytest.mark.parametrize("place", PLACES)
def test_a_place_has_every_setting_that_is_declared_there(place: str) -> None:
    fields = spec_at(place).model_fields
    for key, setting in PLACES[place].items():
        assert fields[key].is_required() == ("default" not in setting), key
        if "default" in setting:
            assert fields[key].default == setting["default"], key


@pytest.mark.parametrize(
    ("place", "key", "value", "is_right"),
    [
        ("phase", "execution_time_limit", 0, False),
        ("phase", "execution_time_limit", 1, True),
        ("phase.podium", "visibility", "Sealed", True),
        ("phase.podium", "visibility", "secret", False),
        ("phase.podium.budget", "memory_bytes", 0, False),
        ("phase.podium.budget", "gpus", 2, False),
        ("phase.podium.grows", "max_datasets", 201, False),
        ("phase.podium", "upload_grace_minutes", 1441, False),
        ("column", "precision", 16, False),
        ("column.podium", "unit", "x" * 21, False),
        ("competition.podium", "registration_closes", "2027-01-01", True),
        ("competition.podium", "registration_closes", "soon", False),
        ("competition", "docker_image", "two words", False),
    ],
)
def test_a_value_is_held_against_what_its_field_may_be(place: str, key: str, value: object, is_right: bool) -> None:
    with pytest.raises(ValidationError) as caught:
        spec_at(place).model_validate({key: value, "where": "no place"})  # always refused for its place
    assert is_right == all(error["loc"][0] != key for error in caught.value.errors())
